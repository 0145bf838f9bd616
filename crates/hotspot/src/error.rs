//! Why a code cache cannot be read.

/// Result of reading a code cache.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Memory that the JVM must have is not there: it ends, or has not begun.
    #[error("{what} cannot be read")]
    Unreadable {
        /// What lies there.
        what: &'static str,
    },
    /// The JVM does not describe a structure that is needed.
    #[error("this JVM does not describe {name}")]
    Undescribed {
        /// `Type::field`.
        name: &'static str,
    },
    /// A number that no JVM has.
    #[error("{what} makes no sense")]
    Implausible {
        /// What it is.
        what: &'static str,
    },
}
