//! Why a tool has no answer: one sentence, and what to do.

use std::fmt::Display;

/// An answer to arguments that make no sense, or to what cannot be read.
#[derive(Debug)]
pub struct Refusal {
    /// No capital, no full stop.
    pub sentence: String,
    /// What to ask instead; may be empty.
    pub hint: String,
}

impl Refusal {
    /// What is wrong.
    pub fn new(sentence: impl Display) -> Self {
        Self { sentence: sentence.to_string(), hint: String::new() }
    }

    /// The same where a child that began in the folder of a result calls it `.`.
    #[must_use]
    pub fn naming(self, result: &str) -> Self {
        let named = |rest: &str| rest.starts_with(['/', ':', ' ']).then(|| format!("{result}{rest}"));
        let sentence = self.sentence.strip_prefix('.').and_then(named).unwrap_or(self.sentence);
        let hint = self.hint.strip_suffix(" .").map(|command| format!("{command} {result}")).unwrap_or(self.hint);
        Self { sentence, hint }
    }

    /// The same with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = hint.to_string();
        self
    }
}
