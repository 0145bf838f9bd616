//! Row numbers of the result's tables as types of their own, so that a thread is never taken for a stack.

/// The number of a row, or of anything else that is kept in a list.
pub trait Id: Copy {
    /// "No row".
    const NONE: Self;

    /// The row number, or `None`.
    fn get(self) -> Option<usize>;
}

/// Declares types of row numbers.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// "No row": null in the table's file.
            pub const NONE: Self = Self(u32::MAX);

            /// The id of row `row`; `NONE` beyond 2^32 - 2 rows.
            pub fn new(row: usize) -> Self {
                Self(u32::try_from(row).unwrap_or(u32::MAX))
            }

            /// The row number, or `None`.
            pub fn get(self) -> Option<usize> {
                (self.0 != u32::MAX).then_some(self.0 as usize)
            }

            /// Whether this names a row.
            pub fn is_some(self) -> bool {
                self.0 != u32::MAX
            }

            /// The number as stored: `u32::MAX` for `NONE`.
            pub fn raw(self) -> u32 {
                self.0
            }

            /// The id from its stored number.
            pub fn from_raw(raw: u32) -> Self {
                Self(raw)
            }
        }

        impl $crate::Id for $name {
            const NONE: Self = Self::NONE;

            fn get(self) -> Option<usize> {
                Self::get(self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.get() {
                    Some(row) => write!(f, concat!(stringify!($name), "({})"), row),
                    None => f.write_str(concat!(stringify!($name), "::NONE")),
                }
            }
        }
    )*};
}

ids! {
    /// A row of `processes`.
    ProcessId;
    /// A row of `threads`: one life of one kernel thread id.
    ThreadId;
    /// A row of `modules`: one mapped file.
    ModuleId;
    /// A row of `frames`: one function at one address, inlined ones apart.
    FrameId;
    /// A row of `stacks`: the leaf of a chain of frames.
    StackId;
    /// A row of `objects`: what threads waited on.
    ObjectId;
    /// A row of `code`: a function whose machine code the result holds.
    CodeId;
    /// A row of `inlines`: a function inlined at one place.
    InlineId;
    /// A row of `sources`: a source file.
    SourceId;
    /// A row of `task_types`: what tasks, frames or markers are called.
    TaskTypeId;
    /// A row of `tasks`: one task, frame, region or event.
    TaskId;
    /// A row of `counters`: one counter of a process.
    CounterId;
    /// A row of `sockets`: one end of a connection.
    SocketId;
    /// A row of `socket_waits`: one wait on a socket.
    SocketWaitId;
    /// A row of `delay_sources`: what delayed threads.
    DelaySourceId;
    /// A row of `fibers`: one goroutine.
    FiberId;
}
