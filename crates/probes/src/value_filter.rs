//! The condition of a probe with values: `if id > 100 && who == "bob"`. A hit that does not meet it is counted, not recorded.

use crate::probe_value::{ProbeValue, ValueType};
use crate::value_error::{Parsed, Words, nearest};
use crate::value_path::is_path;
use crate::value_read::ValueRead;

/// Most comparisons of a condition.
pub const MOST_TERMS: usize = 8;
/// Most of them with a text.
pub const MOST_TERM_TEXTS: usize = 4;
/// Most bytes of a text that is compared: those that are kept of a value.
const MOST_TEXT_BYTES: usize = 64;

/// A comparison of a value with a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterTerm {
    /// Number of the value in the probe's list.
    pub value: usize,
    /// How they are compared.
    pub comparison: Comparison,
    /// The constant.
    pub operand: Operand,
    /// Where in the words the constant is.
    pub(crate) at: usize,
}

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Number(i128),
    /// A text of at most 64 bytes.
    Text(String),
    /// One of the names that the value's type has for its numbers; a number once the debug information was read.
    Name(String),
}

/// How a value is compared with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// The longer ones first: `<` begins `<=`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const FORM: &str =
    "a condition is VALUE > 100, VALUE == \"text\", with == != < <= > >=, or several of these joined by &&";

impl Comparison {
    /// Whether it looks only at whether both are the same.
    fn is_of_equality(self) -> bool {
        matches!(self, Self::Equal | Self::Unequal)
    }
}

/// Reads the condition `text` over these values.
pub(crate) fn filter(words: &Words<'_>, text: &str, values: &[ProbeValue]) -> Parsed<Vec<FilterTerm>> {
    let mut terms: Vec<FilterTerm> = Vec::new();
    let mut texts = 0;
    if let Some(at) = outside_quotes(text).find(|&at| text[at..].starts_with("||")) {
        let hint = "set a second probe at the same place, with the other condition";
        return Err(words.wrong(&text[at..], "conditions cannot be joined by `||`", hint));
    }
    for part in split(text) {
        let term = one(words, part, values)?;
        texts += usize::from(matches!(term.operand, Operand::Text(_)));
        terms.push(term);
        if terms.len() > MOST_TERMS || texts > MOST_TERM_TEXTS {
            let hint =
                format!("a condition has at most {MOST_TERMS} comparisons, of which {MOST_TERM_TEXTS} are with texts");
            return Err(words.wrong(part, "this comparison is one too many", hint));
        }
    }
    Ok(terms)
}

/// The byte offsets of `text` outside of quotes.
fn outside_quotes(text: &str) -> impl Iterator<Item = usize> {
    let (mut inside, mut escaped) = (false, false);
    text.char_indices().filter_map(move |(at, c)| {
        let is_outside = !inside && c != '"';
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ => {}
        }
        is_outside.then_some(at)
    })
}

/// The parts between `&&`, without the blanks around them.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for at in outside_quotes(text) {
        if at >= from && text[at..].starts_with("&&") {
            parts.push(text[from..at].trim());
            from = at + 2;
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// `VALUE > 100`.
fn one(words: &Words<'_>, text: &str, values: &[ProbeValue]) -> Parsed<FilterTerm> {
    let is_arrow = |at: usize| text[at..].starts_with('>') && text[..at].ends_with('-');
    let operator = outside_quotes(text).find(|&at| text[at..].starts_with(['=', '!', '<', '>']) && !is_arrow(at));
    let Some(at) = operator else { return Err(words.wrong(text, "the condition compares nothing", FORM)) };
    let known = COMPARISONS.iter().find(|(word, _)| text[at..].starts_with(word));
    let Some(&(operator, comparison)) = known else {
        let wrong = format!("`{}` compares nothing", &text[at..=at]);
        return Err(words.wrong(&text[at..], wrong, format!("{}; {FORM}", nearest(&text[at..=at], &["==", "!="]))));
    };
    let (name, operand) = (text[..at].trim(), text[at + operator.len()..].trim());
    let value = values.iter().position(|value| value.name == name).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        let hint = if names.is_empty() {
            "give the probe values: NAME=uprobe:FUNCTION(VALUE=arg0:u32) if VALUE > 100".to_owned()
        } else {
            nearest(name, &names)
        };
        words.wrong(text, format_args!("the probe has no value `{name}`"), hint)
    })?;
    let at = words.place(operand);
    let is_name = |text: &str| is_path(text) && !text.contains(['-', '.']);
    let operand = match values[value].ty {
        None if is_name(operand) => Operand::Name(operand.to_owned()),
        _ => operand_of(words, operand)?,
    };
    let term = FilterTerm { value, comparison, operand, at };
    // Of others the type is known when the debug information was read.
    values[value].ty.map_or(Ok(()), |ty| term.check(words, ty))?;
    Ok(term)
}

/// A number in base 10 or, with 0x, in base 16, or a text in quotes.
fn operand_of(words: &Words<'_>, text: &str) -> Parsed<Operand> {
    if let Some(rest) = text.strip_prefix('"') {
        return quoted(rest).map(Operand::Text).ok_or_else(|| {
            words.wrong(text, "the text has no end", "a text is \"between quotes\"; within it, a quote is \\\"")
        });
    }
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let number = number.filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.starts_with("0x+"));
    number.map(|number| Operand::Number(sign * i128::from(number))).ok_or_else(|| {
        let hint = format!("a number is 100, -7 or 0x1f; a text is in quotes: \"{}\"", text.trim_matches('"'));
        words.wrong(text, format_args!("`{text}` is neither a number nor a text"), hint)
    })
}

/// What is before the closing quote, which is the end.
fn quoted(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '"' => return letters.as_str().is_empty().then_some(plain),
            '\\' => plain.push(letters.next()?),
            letter => plain.push(letter),
        }
    }
}

impl FilterTerm {
    /// With a number in place of a name, once it is known how the value is read.
    pub(crate) fn resolved(&self, words: &Words<'_>, read: &ValueRead) -> Parsed<Self> {
        let mut term = self.clone();
        if let Operand::Name(name) = &self.operand {
            let known = read.enumerators.iter().find(|(own, _)| own == name);
            let Some((_, number)) = known else {
                let names: Vec<&str> = read.enumerators.iter().map(|(name, _)| name.as_str()).collect();
                let hint = if names.is_empty() {
                    "compare it with a number: VALUE == 100".to_owned()
                } else {
                    nearest(name, &names)
                };
                return Err(words.wrong_at(self.at, format_args!("no number of this value is called `{name}`"), hint));
            };
            term.operand = Operand::Number(*number);
        }
        term.check(words, read.ty).map(|()| term)
    }

    /// Whether a value of this type can be compared so.
    pub(crate) fn check(&self, words: &Words<'_>, ty: ValueType) -> Parsed<()> {
        let wrong = |sentence: &str, hint: String| Err(words.wrong_at(self.at, sentence, hint));
        match (&self.operand, ty.range()) {
            (Operand::Text(_), Some(_)) => {
                wrong("a number is compared with a text", "compare it with a number: VALUE == 100".into())
            }
            (Operand::Number(_) | Operand::Name(_), None) => {
                wrong("a text is compared with a number", "compare it with a text: VALUE == \"100\"".into())
            }
            (Operand::Text(_), None) if !self.comparison.is_of_equality() => {
                wrong("texts have no order", "texts are equal (==) or not (!=)".into())
            }
            (Operand::Text(text), None) if text.len() > MOST_TEXT_BYTES || text.contains('\0') => {
                wrong("no value can be this text", format!("texts are compared up to {MOST_TEXT_BYTES} bytes"))
            }
            (Operand::Number(number), Some((least, most))) if !(least..=most).contains(number) => {
                wrong(&format!("no value can be {number}"), format!("this value is from {least} to {most}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value_spec::ValueProbe;

    fn terms(condition: &str) -> Vec<(usize, Comparison, Operand)> {
        let text = format!("p=uprobe:f(id=arg0:u32, delta=arg1:i16, who=arg2:str) if {condition}");
        let probe = ValueProbe::parse(&text).expect(condition);
        assert_eq!(probe.values.len(), 3);
        probe.filter.into_iter().map(|term| (term.value, term.comparison, term.operand)).collect()
    }

    #[test]
    fn conditions_are_comparisons_joined_by_and() {
        use Comparison::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
        assert_eq!(terms("id > 100"), [(0, Greater, Operand::Number(100))]);
        assert_eq!(
            terms(r#"id>=0x10&&delta < -7 && who!="a && \"b\"" && id <=9 && delta== 0"#),
            [
                (0, AtLeast, Operand::Number(16)),
                (1, Less, Operand::Number(-7)),
                (2, Unequal, Operand::Text("a && \"b\"".into())),
                (0, AtMost, Operand::Number(9)),
                (1, Equal, Operand::Number(0)),
            ]
        );
        let spaced = ValueProbe::parse("p=uprobe:./what if/app:f(a=arg0:u8)  if  a == 1").expect("good");
        assert_eq!((spaced.file, spaced.filter.len()), (Some("./what if/app".into()), 1));
    }

    #[test]
    fn what_is_wrong_with_a_condition_is_pointed_at() {
        for (condition, sentence, from, hint) in [
            ("", "the condition compares nothing", "", "VALUE > 100"),
            ("id", "the condition compares nothing", "id", "=="),
            ("idd > 1", "the probe has no value `idd`", "idd > 1", "the nearest is id;"),
            ("id = 1", "`=` compares nothing", "= 1", "=="),
            ("id > 1 || id < 9", "conditions cannot be joined by `||`", "|| id < 9", "second probe"),
            ("id > 1 && ", "the condition compares nothing", "", "VALUE"),
            ("id > x", "`x` is neither a number nor a text", "x", "in quotes"),
            ("id == \"x\"", "a number is compared with a text", "\"x\"", "number"),
            ("who == 1", "a text is compared with a number", "1", "text"),
            ("who < \"x\"", "texts have no order", "\"x\"", "=="),
            ("who == \"x", "the text has no end", "\"x", "quote"),
            ("id > -1", "no value can be -1", "-1", "from 0 to 4294967295"),
            ("delta > 40000", "no value can be 40000", "40000", "from -32768 to 32767"),
        ] {
            let text = format!("p=uprobe:f(id=arg0:u32, delta=arg1:i16, who=arg2:str) if {condition}");
            let error = ValueProbe::parse(&text).expect_err(condition);
            let shown = error.pointing();
            let (words, below) = shown.split_once('\n').expect("two lines");
            let pointed = &words[below.find('^').expect("a caret")..];
            assert_eq!((error.to_string().as_str(), pointed.trim()), (sentence, from.trim()), "{condition}");
            assert!(error.hint.contains(hint), "{condition}: {}", error.hint);
        }
    }

    proptest! {
        #[test]
        fn numbers_in_the_range_of_a_type_are_taken_and_no_others(number in any::<i64>(), bits in 0..4u32, signed in any::<bool>()) {
            let width = 8u32 << bits;
            let name = format!("{}{width}", if signed { 'i' } else { 'u' });
            let parsed = ValueProbe::parse(&format!("p=uprobe:f(a=arg0:{name}) if a == {number}"));
            let fits = if signed { i128::from(number) >> (width - 1) == i128::from(number >> 63) } else { i128::from(number) >> width == 0 };
            prop_assert_eq!(parsed.is_ok(), fits);
        }

        #[test]
        fn no_condition_causes_a_panic(condition in "(id|who|\\PC{0,3})? ?(==|!=|<|>=|\\||\\PC)? ?(-?[0-9x]{0,22}|\"\\PC{0,4}\"?)( ?&& ?\\PC{0,6}){0,9}") {
            let text = format!("p=uprobe:f(id=arg0:u32, who=arg2:str) if {condition}");
            if let Err(error) = ValueProbe::parse(&text) {
                prop_assert!(error.pointing().ends_with('^') && !error.hint.is_empty());
            }
        }
    }
}
