//! The error of this crate: what of a machine's description is wrong, and what to do.

/// Why a machine cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct MachineError {
    what: String,
    hint: String,
}

impl MachineError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    /// What to do.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}
