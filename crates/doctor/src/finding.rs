//! What a check found: a state, what to think of it, what it does, and what would better it.

use crate::change::Change;

/// What to think of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing better is known.
    Good,
    /// It adds to latency, or to the cost of a recording.
    Costs,
    /// Something that Dwell uses is not there.
    Missing,
    /// The machine does not tell.
    Unknown,
}

impl Verdict {
    /// As in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Costs => "costs",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What to think of it.
    pub verdict: Verdict,
    /// How it is.
    pub state: String,
    /// What that does to programs, or to a recording.
    pub effect: String,
    /// What would better it.
    pub change: Option<Change>,
}

impl Finding {
    pub(crate) fn new(verdict: Verdict, state: impl Into<String>, effect: impl Into<String>) -> Self {
        Self { verdict, state: state.into(), effect: effect.into(), change: None }
    }

    pub(crate) fn good(state: impl Into<String>, effect: impl Into<String>) -> Self {
        Self::new(Verdict::Good, state, effect)
    }

    pub(crate) fn costs(state: impl Into<String>, effect: impl Into<String>) -> Self {
        Self::new(Verdict::Costs, state, effect)
    }

    pub(crate) fn missing(state: impl Into<String>, effect: impl Into<String>) -> Self {
        Self::new(Verdict::Missing, state, effect)
    }

    pub(crate) fn unknown(state: impl Into<String>, effect: impl Into<String>) -> Self {
        Self::new(Verdict::Unknown, state, effect)
    }

    pub(crate) fn change(mut self, change: impl Into<Option<Change>>) -> Self {
        self.change = change.into();
        self
    }
}
