//! Why a thread was off the CPU, how its wait ended and who ended it.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $id:literal, $title:literal;)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $code,)* }

        impl $name {
            /// Every kind, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The number that the tables store.
            pub fn code(self) -> u8 {
                self as u8
            }

            /// The kind of a stored number; the first one (unknown) for a number that this version does not know.
            pub fn from_code(code: u8) -> Self {
                match code { $($code => Self::$variant,)* _ => Self::ALL[0] }
            }

            /// The word in JSON, CSV and on the command line.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The word on the screen.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    )*};
}
pub(crate) use codes;

codes! {
    /// Why a thread left the CPU.
    Reason {
        /// The trace does not say: it begins inside the interval, or records were lost.
        Unknown = 0, "unknown", "Unknown";
        /// It blocked: `object` says on what.
        Waiting = 1, "waiting", "Waiting";
        /// The scheduler took the CPU away; the thread stayed runnable.
        Preempted = 2, "preempted", "Preempted";
        /// It gave the CPU away by `sched_yield`; the thread stayed runnable.
        Yielded = 3, "yielded", "Yielded";
        /// New thread, not yet run.
        Starting = 4, "starting", "Starting";
    }

    /// How a wait ended.
    Outcome {
        /// Not known.
        Unknown = 0, "unknown", "Unknown";
        /// What it waited for came.
        Woken = 1, "woken", "Woken";
        /// Its timer ran out.
        TimedOut = 2, "timed-out", "Timed out";
        /// A signal ended it.
        Interrupted = 3, "interrupted", "Interrupted";
        /// It lasted until the end of the collection or of the thread.
        Unfinished = 4, "unfinished", "Unfinished";
    }

    /// In what context the wake-up happened.
    WakerKind {
        /// Not known.
        Unknown = 0, "unknown", "Unknown";
        /// A thread of the profiled program, in the row's `waker`.
        Thread = 1, "thread", "Thread";
        /// A thread outside the profiled program.
        OtherThread = 2, "other-thread", "Other thread";
        /// A timer.
        Timer = 3, "timer", "Timer";
        /// The network's soft interrupt.
        Network = 4, "network", "Network";
        /// Another interrupt.
        Interrupt = 5, "interrupt", "Interrupt";
        /// A device, done with a request that the control group's I/O quota held back for most of the wait.
        IoQuota = 6, "io-quota", "I/O quota";
        /// Nobody of the program, in a wait that would not be if the control group were not at its limit of memory.
        MemoryLimit = 7, "memory-limit", "Memory limit";
        /// A thread of the kernel.
        KernelThread = 8, "kernel-thread", "Kernel thread";
        /// A thread outside the profiled program that answered, over a connection that it had accepted.
        Answer = 9, "answer", "Answer";
        /// The same that sent more, though nothing came over the connection since it last sent.
        Publisher = 10, "publisher", "Publisher";
    }

    /// How the scheduler treats a thread, as sched(7) numbers it.
    SchedulingPolicy {
        /// As usual, by its nice value.
        Other = 0, "other", "SCHED_OTHER";
        /// Before all of these, until it waits.
        Fifo = 1, "fifo", "SCHED_FIFO";
        /// The same in turns.
        RoundRobin = 2, "rr", "SCHED_RR";
        /// By its nice value, for work without a user.
        Batch = 3, "batch", "SCHED_BATCH";
        /// With next to no weight beside others.
        Idle = 5, "idle", "SCHED_IDLE";
        /// By deadlines.
        Deadline = 6, "deadline", "SCHED_DEADLINE";
    }

    /// How the walk of a user stack ended.
    StackEnd {
        /// Not known.
        Unknown = 0, "unknown", "Unknown";
        /// At the program's or the thread's entry, or in the kernel.
        Complete = 1, "complete", "Complete";
        /// No unwind row for an address: JIT code, or a file without tables.
        NoTable = 2, "no-table", "No unwind table";
        /// The stack's memory could not be read.
        Unreadable = 3, "unreadable", "Unreadable memory";
        /// Longer than the limit on frames.
        TooDeep = 4, "too-deep", "Too deep";
        /// The row's rule is not supported.
        BadRule = 5, "bad-rule", "Unsupported rule";
    }
}
