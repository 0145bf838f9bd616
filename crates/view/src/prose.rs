//! Sentences with typed values: what Dwell says, which each language writes by its own template.
//!
//! Takes a template and its values; gives the English, or the parts for JSON. The templates belong to the crates that speak.

use std::fmt;

use dwell_model::{MessageDef, TemplatePiece, template_pieces};
use serde_json::{Map, Value as Json, json};

use crate::cut::cut_text;
use crate::duration::duration;

/// Text in the words of others.
pub const PLAIN: MessageDef = MessageDef { id: "plain", text: "{text}", japanese: "{text}" };

/// A value of a sentence, by which each language writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// A name.
    Text(String),
    /// Nanoseconds.
    Ns(u64),
    /// How many.
    Count(u64),
    /// A part of 1.
    Share(f64),
    /// A number, and the digits behind its point.
    Real(f64, usize),
    /// A place in the program, if it is known.
    Place(Option<String>),
}

impl Word {
    /// A part of a whole; of nothing it is none.
    pub fn part(part: u64, whole: u64) -> Self {
        Self::Share(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
    }

    /// A time that is told beside another one; nothing where a reader would see the same number twice.
    pub fn beside(told_ns: u64, ns: u64) -> Self {
        if duration(told_ns) == duration(ns) { Self::Place(None) } else { Self::Ns(ns) }
    }

    fn json(&self) -> Json {
        match self {
            Self::Text(text) => json!({ "text": text }),
            Self::Ns(ns) => json!({ "ns": ns }),
            Self::Count(count) => json!({ "count": count }),
            Self::Share(share) => json!({ "share": share }),
            Self::Real(real, digits) => json!({ "real": real, "digits": digits }),
            Self::Place(place) => json!({ "place": place }),
        }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Word {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Word {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<u32> for Word {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<Option<String>> for Word {
    fn from(place: Option<String>) -> Self {
        Self::Place(place)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Place(Some(text)) => f.write_str(text),
            Self::Ns(ns) => f.write_str(&duration(*ns)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => write!(f, "{:.1} %", share * 100.0),
            Self::Real(real, digits) => write!(f, "{real:.digits$}"),
            Self::Place(None) => f.write_str("an unknown place"),
        }
    }
}

/// A sentence with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    def: &'static MessageDef,
    values: Vec<(&'static str, Word)>,
}

impl Sentence {
    /// `values` are those that `def` names, all of them.
    pub fn new(def: &'static MessageDef, values: Vec<(&'static str, Word)>) -> Self {
        debug_assert!(
            template_pieces(def.text).all(|piece| value_of(piece, &values).is_some()),
            "{}: a value is missing",
            def.id
        );
        debug_assert!(values.iter().all(|(name, _)| template_pieces(def.text).any(|piece| piece.name() == Some(name))));
        Self { def, values }
    }

    fn json(&self) -> Json {
        let values: Map<String, Json> =
            self.values.iter().map(|(name, word)| ((*name).to_owned(), word.json())).collect();
        json!({ "id": self.def.id, "values": values })
    }
}

/// What a piece becomes; `None` where its value is missing.
fn value_of(piece: TemplatePiece<'_>, values: &[(&'static str, Word)]) -> Option<String> {
    let of = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, word)| word);
    Some(match piece {
        TemplatePiece::Text(text) => text.to_owned(),
        TemplatePiece::Value(name) => of(name)?.to_string(),
        TemplatePiece::Number(name, one, more) => if of(name)?.to_string() == "1" { one } else { more }.to_owned(),
    })
}

/// The parts of a template, in order, and whether each is left out where a number in it is zero, or a place is not known.
fn parts(template: &str) -> impl Iterator<Item = (bool, &str)> {
    template.split('[').enumerate().flat_map(|(index, part)| match part.split_once(']') {
        Some((optional, text)) if index > 0 => [(true, optional), (false, text)],
        _ => [(false, part), (false, "")],
    })
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_none = |word: &Word| matches!(word, Word::Ns(0) | Word::Count(0) | Word::Place(None));
        let tells_nothing = |piece: TemplatePiece<'_>| {
            self.values.iter().any(|(name, word)| piece.name() == Some(name) && is_none(word))
        };
        let shown =
            parts(self.def.text).filter(|(optional, part)| !optional || !template_pieces(part).any(tells_nothing));
        shown
            .flat_map(|(_, part)| template_pieces(part))
            .try_for_each(|piece| f.write_str(&value_of(piece, &self.values).unwrap_or_default()))
    }
}

/// Sentences that follow one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prose(Vec<Sentence>);

impl Prose {
    /// What others said, in their words.
    pub fn plain(text: impl Into<String>) -> Self {
        Sentence::new(&PLAIN, vec![("text", Word::Text(text.into()))]).into()
    }

    /// With another sentence behind it, if there is one.
    pub fn and(mut self, more: impl IntoIterator<Item = Sentence>) -> Self {
        self.0.extend(more);
        self
    }

    /// This and then `more`.
    #[must_use]
    pub fn then(self, more: Prose) -> Self {
        self.and(more.0)
    }

    /// Its sentences: ids and values.
    pub fn parts(&self) -> Json {
        self.0.iter().map(Sentence::json).collect()
    }

    /// Cuts names of more than `longest` bytes.
    pub fn cut(&mut self, longest: usize) {
        for (_, word) in self.0.iter_mut().flat_map(|sentence| &mut sentence.values) {
            if let Word::Text(text) | Word::Place(Some(text)) = word {
                cut_text(text, longest);
            }
        }
    }
}

impl From<Sentence> for Prose {
    fn from(sentence: Sentence) -> Self {
        Self(vec![sentence])
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, sentence) in self.0.iter().enumerate() {
            let blank = if index > 0 { " " } else { "" };
            write!(f, "{blank}{sentence}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: MessageDef = MessageDef {
        id: "account",
        text: "Lived {life} = running {running}[ + queue {queue}][ + idle {idle}{names}].",
        japanese: "{life} = {running}[ + {queue}][ + {idle}{names}]。",
    };

    fn account(queue: u64, idle: u64) -> String {
        let times = [("life", 7), ("running", 0), ("queue", queue), ("idle", idle)];
        let times = times.map(|(name, ns)| (name, Word::Ns(ns)));
        let names = ("names", Word::Text(" (a [b])".into()));
        Sentence::new(&ACCOUNT, times.into_iter().chain([names]).collect()).to_string()
    }

    #[test]
    fn a_part_in_brackets_is_left_out_where_its_place_is_not_known() {
        const QUOTA: MessageDef = MessageDef { id: "quota", text: "The quota[ of {group}] was used up.", japanese: "" };
        let quota = |group: Option<&str>| {
            Sentence::new(&QUOTA, vec![("group", Word::Place(group.map(str::to_owned)))]).to_string()
        };
        assert_eq!(quota(Some("/app")), "The quota of /app was used up.");
        assert_eq!(quota(None), "The quota was used up.");
    }

    #[test]
    fn a_time_beside_the_same_time_is_not_told() {
        assert_eq!(Word::beside(1_000_000, 1_000_001), Word::Place(None));
        assert_eq!(Word::beside(2_000_000, 1_000_000), Word::Ns(1_000_000));
    }

    #[test]
    fn a_part_in_brackets_is_left_out_where_its_time_is_zero() {
        assert_eq!(account(3, 4), "Lived 7 ns = running 0 ns + queue 3 ns + idle 4 ns (a [b]).");
        assert_eq!(account(0, 7), "Lived 7 ns = running 0 ns + idle 7 ns (a [b]).");
        assert_eq!(account(7, 0), "Lived 7 ns = running 0 ns + queue 7 ns.");
        assert_eq!(account(0, 0), "Lived 7 ns = running 0 ns.");
    }
}
