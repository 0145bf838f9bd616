//! What is wrong with the words of a probe, and where in them.

use std::fmt;

/// Why words are no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct ValueProbeError {
    sentence: String,
    text: String,
    at: usize,
    /// What to write instead.
    pub hint: String,
}

impl ValueProbeError {
    /// The probe as the user wrote it, and a caret under what is wrong.
    pub fn pointing(&self) -> String {
        pointing(&self.text, self.at)
    }
}

/// `text`, and below it a caret under its byte `at`.
pub(crate) fn pointing(text: &str, at: usize) -> String {
    let before = text.char_indices().take_while(|(index, _)| *index < at).count();
    format!("  {text}\n  {:before$}^", "")
}

pub(crate) type Parsed<T> = std::result::Result<T, ValueProbeError>;

/// The words, of which each part knows where it begins.
pub(crate) struct Words<'t> {
    pub text: &'t str,
}

impl Words<'_> {
    /// Where `part`, a part of the words, begins.
    pub fn place(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len())
    }

    pub fn wrong(&self, part: &str, sentence: impl fmt::Display, hint: impl Into<String>) -> ValueProbeError {
        self.wrong_at(self.place(part), sentence, hint)
    }

    pub fn wrong_at(&self, at: usize, sentence: impl fmt::Display, hint: impl Into<String>) -> ValueProbeError {
        let (sentence, hint) = (sentence.to_string(), hint.into());
        ValueProbeError { sentence, text: self.text.to_owned(), at, hint }
    }
}

/// Most names that a hint lists.
const MOST_LISTED: usize = 20;

/// A hint that has the nearest of `names`, and the others.
pub(crate) fn nearest(word: &str, names: &[&str]) -> String {
    let likeness = |name: &&&str| (1e6 * strsim::normalized_damerau_levenshtein(word, name)) as u64;
    let more = if names.len() > MOST_LISTED { ", …" } else { "" };
    let all = format!("{}{more}", names[..names.len().min(MOST_LISTED)].join(", "));
    match names.iter().max_by_key(likeness).filter(|name| likeness(name) >= 500_000) {
        Some(name) => format!("the nearest is {name}; there is {all}"),
        None => format!("there is {all}"),
    }
}
