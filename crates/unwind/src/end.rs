//! How the walk of a stack ends.

/// How a walk ended, with the numbers of a trace's stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// At the outermost frame.
    Complete = 1,
    /// In code without a table or frame pointers.
    NoTable = 2,
    /// At memory that could not be read.
    Unreadable = 3,
    /// At [`crate::MAX_FRAMES`].
    TooDeep = 4,
    /// At a rule that is not supported.
    BadRule = 5,
}
