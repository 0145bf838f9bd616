//! The words of a probe with values: `NAME=uprobe:[FILE:]FUNCTION(VALUE=arg0:u32, …)`.

use std::path::PathBuf;

use crate::error::Error;
use crate::probe_value::{ProbeValue, TYPES, ValueSource, ValueType};
use crate::spec::{path, single_colon};
use crate::value_error::{Parsed, ValueProbeError, Words, nearest};
use crate::value_filter::{self, FilterTerm};
use crate::value_path::is_path;
use crate::value_read::ValueRead;

/// Most values of a probe: the hook has room for no more.
pub const MOST_VALUES: usize = 8;
/// Most texts among them.
pub const MOST_TEXTS: usize = 4;

/// Arguments of a function that can be named: six in registers, the others on the stack.
pub const MOST_ARGUMENTS: u8 = 12;

/// A probe that reads values at each hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueProbe {
    /// What its hits are called.
    pub name: String,
    /// The program or library, by path or by name; `None` for the profiled program.
    pub file: Option<PathBuf>,
    /// Where in it.
    pub place: ValuePlace,
    /// What is read, in order.
    pub values: Vec<ProbeValue>,
    /// What must all hold of the values of a hit that is recorded.
    pub filter: Vec<FilterTerm>,
    /// As the user wrote it, and where in it the place is.
    text: String,
    place_at: usize,
}

/// Where a probe with values is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePlace {
    /// A function's entry, or an address.
    Entry(String),
    /// A function's returns.
    Return(String),
    /// A tracepoint of the kernel.
    Tracepoint {
        /// Its group.
        group: String,
        /// Its name.
        name: String,
    },
    /// A USDT probe.
    Usdt {
        /// Whose.
        provider: String,
        /// Its name.
        name: String,
    },
}

const KINDS: [&str; 4] = ["uprobe", "uretprobe", "usdt", "tracepoint"];

impl Words<'_> {
    fn source(&self, word: &str, place: &ValuePlace) -> Parsed<ValueSource> {
        if matches!(place, ValuePlace::Return(_)) {
            let hint = "a uretprobe reads what the function returns: VALUE=ret:i64, ret or ret->MEMBER";
            let is_result = is_path(word) && word.split(['-', '.']).next() == Some("ret");
            return if word == "ret" {
                Ok(ValueSource::Returned)
            } else if is_result {
                Ok(ValueSource::Path(word.to_owned()))
            } else {
                Err(self.wrong(word, format_args!("`{word}` is not there when a function returns"), hint))
            };
        }
        if matches!(place, ValuePlace::Tracepoint { .. }) {
            let is_word = is_path(word) && !word.contains(['-', '.']);
            let hint = "a tracepoint has fields: NAME=tracepoint:GROUP:EVENT(FIELD, OTHER)";
            return if is_word {
                Ok(ValueSource::Path(word.to_owned()))
            } else {
                Err(self.wrong(word, format_args!("`{word}` is no field"), hint))
            };
        }
        let digits = word.strip_prefix("arg").filter(|rest| !rest.is_empty());
        let number = digits.filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        match number.map(str::parse) {
            Some(Ok(number)) if number < MOST_ARGUMENTS => Ok(ValueSource::Argument(number)),
            None if matches!(place, ValuePlace::Entry(_)) && word != "ret" && is_path(word) => {
                Ok(ValueSource::Path(word.to_owned()))
            }
            _ => {
                let hint = if word == "ret" {
                    "what a function returns is read by a uretprobe: NAME=uretprobe:[FILE:]FUNCTION(VALUE=ret:i64)"
                        .into()
                } else {
                    format!("arguments are arg0, the first, to arg{}", MOST_ARGUMENTS - 1)
                };
                Err(self.wrong(word, format_args!("`{word}` is no argument"), hint))
            }
        }
    }

    fn ty(&self, word: &str) -> Parsed<ValueType> {
        let known = TYPES.iter().find(|(name, _)| *name == word);
        known.map(|(_, ty)| *ty).ok_or_else(|| {
            let names = TYPES.map(|(name, _)| name);
            self.wrong(word, format_args!("`{word}` is no type of a value"), nearest(word, &names))
        })
    }

    /// `NAME=SOURCE:TYPE`; of what the debug information knows, `SOURCE` alone.
    fn value(&self, text: &str, place: &ValuePlace) -> Parsed<ProbeValue> {
        let form = "a value is NAME=arg0:u32, with u8 to u64, i8 to i64, x8 to x64 or str; where there is debug information, \
                    PARAMETER or PARAMETER->MEMBER";
        let (name, rest) =
            text.split_once('=').map_or((None, text), |(name, rest)| (Some(name.trim_end()), rest.trim()));
        let (source_text, ty) =
            rest.rsplit_once(':').map_or((rest, None), |(source, ty)| (source.trim_end(), Some(ty.trim())));
        let name = name.unwrap_or(source_text);
        if name.is_empty() || name.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(self.wrong(text, "a value has no name", form));
        }
        let mut source = self.source(source_text, place)?;
        let ty = ty.map(|ty| self.ty(ty)).transpose()?;
        match (&source, ty) {
            (ValueSource::Argument(_), None) => return Err(self.wrong(rest, "a value has no type", form)),
            (ValueSource::Returned, None) => source = ValueSource::Path("ret".to_owned()),
            _ => {}
        }
        Ok(ProbeValue { name: name.to_owned(), source, ty, at: self.place(source_text) })
    }

    fn values(&self, list: &str, place: &ValuePlace) -> Parsed<Vec<ProbeValue>> {
        let mut values: Vec<ProbeValue> = Vec::new();
        let mut texts = 0;
        for text in list.split(',').map(str::trim) {
            let value = self.value(text, place)?;
            if values.iter().any(|other| other.name == value.name) {
                return Err(self.wrong(
                    text,
                    format_args!("`{}` is there twice", value.name),
                    "give each value a name of its own",
                ));
            }
            texts += usize::from(value.ty == Some(ValueType::Text));
            values.push(value);
            if values.len() > MOST_VALUES || texts > MOST_TEXTS {
                return Err(self.wrong(text, "this value is one too many", too_many()));
            }
        }
        Ok(values)
    }

    fn place_of(&self, kind: &str, rest: &str) -> Parsed<(Option<PathBuf>, ValuePlace, usize)> {
        let incomplete = |part: &str, form: &str| self.wrong(part, "the probe has no place", form);
        if kind == "tracepoint" {
            let form = "name it as tracepoint:GROUP:EVENT, such as tracepoint:irq:irq_handler_entry";
            let is_word =
                |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let parts = rest.split_once(':').filter(|(group, name)| is_word(group) && is_word(name));
            let (group, name) = parts.ok_or_else(|| incomplete(rest, form))?;
            let place = ValuePlace::Tracepoint { group: group.to_owned(), name: name.to_owned() };
            return Ok((None, place, self.place(group)));
        }
        if kind == "usdt" {
            let form = "name it as usdt:[FILE:]PROVIDER:NAME";
            let (before, name) = rest.rsplit_once(':').ok_or_else(|| incomplete(rest, form))?;
            let (file, provider) =
                before.rsplit_once(':').map_or((None, before), |(file, provider)| (Some(file), provider));
            if provider.is_empty() || name.is_empty() {
                return Err(incomplete(rest, form));
            }
            let place = ValuePlace::Usdt { provider: provider.to_owned(), name: name.to_owned() };
            return Ok((path(file), place, self.place(provider)));
        }
        let (file, function) = single_colon(rest).map_or((None, rest), |at| (Some(&rest[..at]), &rest[at + 1..]));
        if function.is_empty() {
            return Err(incomplete(rest, "name a function: uprobe:[FILE:]FUNCTION"));
        }
        let name = function.to_owned();
        let place = if kind == "uprobe" { ValuePlace::Entry(name) } else { ValuePlace::Return(name) };
        Ok((path(file), place, self.place(function)))
    }
}

/// What to do when a probe has too many values.
pub(crate) fn too_many() -> String {
    format!(
        "a probe has at most {MOST_VALUES} values, of which {MOST_TEXTS} are texts: set another one at the same place"
    )
}

impl ValueProbe {
    /// Reads `NAME=uprobe:[FILE:]FUNCTION(VALUE=arg0:u32, PARAMETER->MEMBER, …)`, `NAME=uretprobe:[FILE:]FUNCTION(VALUE=ret:i64)` or
    /// `NAME=usdt:[FILE:]PROVIDER:PROBE(VALUE=arg0:u64, …)` or `NAME=tracepoint:GROUP:EVENT(FIELD, …)`; the values can be left out. Behind it there can be a condition:
    /// `if VALUE > 100 && OTHER == "text"`.
    ///
    /// # Errors
    ///
    /// A sentence, and where in the words it points.
    pub fn parse(text: &str) -> std::result::Result<Self, ValueProbeError> {
        let words = Words { text };
        let form = "a probe is NAME=uprobe:[FILE:]FUNCTION(VALUE=arg0:u32), NAME=uretprobe:[FILE:]FUNCTION(VALUE=ret:i64) , \
                    NAME=usdt:[FILE:]PROVIDER:PROBE(VALUE=arg0:u64) or NAME=tracepoint:GROUP:EVENT(FIELD)";
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(['(', ':']));
        let (name, probe) = named.ok_or_else(|| words.wrong(text, "the probe has no name", form))?;
        let (probe, condition) = condition_of(probe);
        let (kind, rest) = probe.split_once(':').unwrap_or((probe, &probe[probe.len()..]));
        if !KINDS.contains(&kind) {
            let hint = format!("{}; {form}", nearest(kind, &KINDS));
            return Err(words.wrong(kind, format_args!("`{kind}` is no kind of probe"), hint));
        }
        let (rest, list) = values_of(rest);
        let (file, place, place_at) = words.place_of(kind, rest)?;
        let values = list.map_or_else(|| Ok(Vec::new()), |list| words.values(list, &place))?;
        let filter = condition.map(|condition| value_filter::filter(&words, condition, &values)).transpose()?;
        let (name, filter) = (name.to_owned(), filter.unwrap_or_default());
        Ok(Self { name, file, place, values, filter, text: text.to_owned(), place_at })
    }

    /// The condition as the user wrote it; empty = none.
    pub fn condition(&self) -> &str {
        condition_of(&self.text).1.unwrap_or_default().trim()
    }

    /// The probe's condition, as far as it can be met by what is read so.
    pub(crate) fn checked(&self, reads: &[ValueRead]) -> Parsed<Vec<FilterTerm>> {
        let texts = || reads.iter().zip(&self.values).filter(|(read, _)| read.ty == ValueType::Text);
        if let Some((_, value)) = texts().nth(MOST_TEXTS) {
            return Err(self.words().wrong_at(value.at, "this text is one too many", too_many()));
        }
        let resolved = |term: &FilterTerm| {
            let read = reads.get(term.value);
            read.map_or_else(|| Ok(term.clone()), |read| term.resolved(&self.words(), read))
        };
        self.filter.iter().map(resolved).collect()
    }

    /// The words.
    pub(crate) fn words(&self) -> Words<'_> {
        Words { text: &self.text }
    }

    /// What is wrong with the probe's place.
    pub(crate) fn wrong_place(&self, error: &Error) -> ValueProbeError {
        self.words().wrong_at(self.place_at, error, error.hint())
    }

    /// Points at the word `wanted`, which begins `from` bytes behind the begin of the probe's place; the hint has the nearest of `names`.
    pub fn no_such_place(&self, sentence: &str, (wanted, from): (&str, usize), names: &[&str]) -> ValueProbeError {
        let list = "`ls /sys/kernel/tracing/events` lists the groups, and each folder there its events".to_owned();
        let hint = if names.is_empty() { list } else { nearest(wanted, names) };
        self.words().wrong_at(self.place_at + from, sentence, hint)
    }
}

/// What is before the condition, and what is behind its `if`: the first behind a list of values, since paths can have that word.
fn condition_of(text: &str) -> (&str, Option<&str>) {
    let is_word = |at: &usize| {
        let rest = &text[at + 3..];
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    };
    let words = || text.match_indices(" if").map(|(at, _)| at).filter(is_word);
    let at = words().find(|at| text[..*at].trim_end().ends_with(')')).or_else(|| words().next());
    at.map_or((text, None), |at| (text[..at].trim_end(), Some(&text[at + 3..])))
}

/// Words that only the types of a function's parameters have.
const TYPE_WORDS: [&str; 14] = [
    "void", "char", "short", "int", "long", "float", "double", "bool", "unsigned", "signed", "const", "struct", "enum",
    "auto",
];

/// What is before the list of values, and the list: not the parameters' types, by which a function can be named. Behind these an
/// empty list is none.
fn values_of(text: &str) -> (&str, Option<&str>) {
    let open = text.rfind('(').filter(|_| text.ends_with(')'));
    let Some((before, list)) = open.map(|open| (&text[..open], &text[open + 1..text.len() - 1])) else {
        return (text, None);
    };
    let is_word = |word: &str| TYPE_WORDS.contains(&word);
    let has_types = list.contains("::")
        || list.contains(['*', '&', '<'])
        || list.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_word);
    match list.trim() {
        "" if before.ends_with(')') => (before, None),
        "" => (text, None),
        _ if has_types && !list.contains('=') => (text, None),
        _ => (before, Some(list)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> ValueProbe {
        ValueProbe::parse(text).expect("good")
    }

    #[test]
    fn functions_returns_and_usdt_probes_have_values() {
        let probe = parse("charge=uprobe:./app:process_request(id=arg0:u32, who=arg1:str)");
        assert_eq!((probe.name.as_str(), probe.file.clone()), ("charge", Some("./app".into())));
        assert_eq!(probe.place, ValuePlace::Entry("process_request".into()));
        assert_eq!(
            shown(&probe),
            [
                ("id".into(), ValueSource::Argument(0), Some(ValueType::Unsigned { bytes: 4 })),
                ("who".into(), ValueSource::Argument(1), Some(ValueType::Text))
            ]
        );
        let pointing = probe.wrong_place(&Error::NoCode { address: 0, file: "app".into() }).pointing();
        let caret = pointing.lines().nth(1).and_then(|line| line.find('^')).expect("a caret");
        assert_eq!(&pointing[caret..caret + 7], "process");
        let returned = parse("end=uretprobe:http::parse(int, char)(ret=ret:i64)");
        assert_eq!(returned.place, ValuePlace::Return("http::parse(int, char)".into()));
        assert_eq!(returned.values[0].source, ValueSource::Returned);
        let usdt = parse("gc=usdt:/usr/bin/python3:python:gc__start(generation=arg0:i32)");
        assert_eq!(usdt.place, ValuePlace::Usdt { provider: "python".into(), name: "gc__start".into() });
        assert_eq!(parse("x=uprobe:f(int)").place, ValuePlace::Entry("f(int)".into()));
        assert!(parse("x=uprobe:f").values.is_empty());
    }

    fn shown(probe: &ValueProbe) -> Vec<(String, ValueSource, Option<ValueType>)> {
        probe.values.iter().map(|value| (value.name.clone(), value.source.clone(), value.ty)).collect()
    }

    #[test]
    fn parameters_are_named_and_lead_to_members() {
        let probe = parse("x=uprobe:./app:f(req->queue.len, who = req->name:str, id) if req->queue.len > 3");
        let path = |path: &str| ValueSource::Path(path.into());
        assert_eq!(
            shown(&probe),
            [
                ("req->queue.len".into(), path("req->queue.len"), None),
                ("who".into(), path("req->name"), Some(ValueType::Text)),
                ("id".into(), path("id"), None),
            ]
        );
        assert_eq!(probe.filter.len(), 1);
        let returned = parse("x=uretprobe:f(ret, ret->code, c=ret:u8)");
        let sources: Vec<ValueSource> = returned.values.iter().map(|value| value.source.clone()).collect();
        assert_eq!(sources, [path("ret"), path("ret->code"), ValueSource::Returned]);
        for function in ["f(int)", "f(std::string)", "f(Foo*)", "f()", "a::f(Foo const&, X)"] {
            assert_eq!(parse(&format!("x=uprobe:{function}")).place, ValuePlace::Entry(function.into()));
        }
        assert_eq!(parse("x=uprobe:f(Foo)()").place, ValuePlace::Entry("f(Foo)".into()));
        assert_eq!(parse("x=uprobe:f(int)(id)").values.len(), 1);
    }

    /// The sentence, the text from the caret on, and the hint.
    fn refused(text: &str) -> (String, String, String) {
        let error = ValueProbe::parse(text).expect_err(text);
        let shown = error.pointing();
        let (words, below) = shown.split_once('\n').expect("two lines");
        let caret = below.find('^').expect("a caret");
        (error.to_string(), words.chars().skip(caret).collect(), error.hint)
    }

    #[test]
    fn what_is_wrong_is_pointed_at_and_has_a_nearest_word() {
        for (text, sentence, from, hint) in [
            ("f", "the probe has no name", "f", "NAME=uprobe"),
            ("x=uprob:f", "`uprob` is no kind of probe", "uprob:f", "the nearest is uprobe;"),
            ("x=uprobe:", "the probe has no place", "", "FUNCTION"),
            ("x=usdt:p", "the probe has no place", "p", "PROVIDER"),
            ("x=tracepoint:irq", "the probe has no place", "irq", "tracepoint:GROUP:EVENT"),
            ("x=tracepoint:irq:../x", "the probe has no place", "irq:../x", "tracepoint:GROUP:EVENT"),
            ("x=tracepoint:irq:a(b->c)", "`b->c` is no field", "b->c)", "FIELD"),
            ("x=uprobe:f(a=arg0:u23)", "`u23` is no type of a value", "u23)", "the nearest is u"),
            ("x=uprobe:f(ä=arg0:u8, b=arg12:u8)", "`arg12` is no argument", "arg12:u8)", "arg11"),
            ("x=uprobe:f(a=ret:u8)", "`ret` is no argument", "ret:u8)", "uretprobe"),
            ("x=uretprobe:f(a=arg0:u8)", "`arg0` is not there when a function returns", "arg0:u8)", "ret"),
            ("x=uprobe:f(a=arg0)", "a value has no type", "arg0)", "u32"),
            ("x=uprobe:f(=arg0:u32)", "a value has no name", "=arg0:u32)", "NAME=arg0"),
            ("x=uprobe:f(a->)", "`a->` is no argument", "a->)", "arg0"),
            ("x=usdt:p:n(a)", "`a` is no argument", "a)", "arg0"),
            ("x=uprobe:f(a=arg0:u8,a=arg1:u8)", "`a` is there twice", "a=arg1:u8)", "own"),
        ] {
            let (told, pointed, hinted) = refused(text);
            assert_eq!((told.as_str(), pointed.as_str()), (sentence, from), "{text}");
            assert!(hinted.contains(hint), "{text}: {hinted}");
        }
        let texts: Vec<String> = (0..5).map(|at| format!("v{at}=arg{at}:str")).collect();
        assert_eq!(refused(&format!("x=uprobe:f({})", texts.join(","))).0, "this value is one too many");
    }

    proptest! {
        #[test]
        fn no_words_cause_a_panic(text in "([a-z]{0,3}=)?(uprobe|usdt|uretprobe|\\PC{0,4}):?\\PC{0,12}(\\(\\PC{0,6}=?(arg|ret)?[0-9]{0,3}:?(u8|str|\\PC{0,3})[,)]{0,2}){0,2}") {
            match ValueProbe::parse(&text) {
                Ok(probe) => prop_assert!(probe.values.len() <= MOST_VALUES && probe.place_at <= text.len()),
                Err(error) => prop_assert!(error.pointing().ends_with('^') && !error.hint.is_empty()),
            }
        }
    }
}
