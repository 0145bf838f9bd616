//! What a program says of itself: kinds of tasks, markers, counters and announced waits.

use crate::state::codes;

codes! {
    /// What a row of `task_types` names.
    TaskKind {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// A task: begun and ended by one thread, nested in its others.
        Task = 1, "task", "Task";
        /// A task that may overlap others and end on another thread.
        Overlapped = 2, "overlapped", "Overlapped task";
        /// A region of the program's course.
        Region = 3, "region", "Region";
        /// A frame: one turn of work that comes again and again, such as a picture or a request.
        Frame = 4, "frame", "Frame";
        /// An event that a thread starts and ends.
        Event = 5, "event", "Event";
        /// A visit between two probes that the user named (`--task-probe`).
        Probe = 6, "probe", "Probe";
        /// An instant.
        Marker = 7, "marker", "Marker";
        /// What a thread did from receiving on a socket to sending on it: handling a request.
        Request = 8, "request", "Request";
        /// A hit of a probe with values that the user named (`--probe`).
        ProbeHit = 9, "probe-hit", "Probe hit";
    }

    /// What a value of a marker is.
    MarkerValueKind {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// A number without sign.
        Unsigned = 1, "unsigned", "Unsigned number";
        /// A number with a sign.
        Signed = 2, "signed", "Signed number";
        /// A number that people read in base 16.
        Hex = 3, "hex", "Hexadecimal number";
        /// A text.
        Text = 4, "text", "Text";
        /// It could not be read.
        Faulted = 5, "faulted", "Faulted";
    }

    /// Whom a marker concerns.
    MarkerScope {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// All processes.
        Global = 1, "global", "Global";
        /// Its process.
        Process = 2, "process", "Process";
        /// Its thread.
        Thread = 3, "thread", "Thread";
        /// The task that it is in.
        Task = 4, "task", "Task";
    }

    /// How a counter's values come about.
    CounterKind {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// The program sets each value.
        Set = 1, "set", "Set";
        /// The program adds to it and takes from it.
        Sum = 2, "sum", "Added up";
    }

    /// How an announced wait ended.
    SyncOutcome {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// The thread had the object.
        Acquired = 1, "acquired", "Acquired";
        /// The thread gave up.
        Cancelled = 2, "cancelled", "Cancelled";
        /// The collection ended before.
        Unfinished = 3, "unfinished", "Unfinished";
    }
}
