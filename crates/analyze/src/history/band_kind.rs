//! What a band of the timeline is.

use crate::question::words::words;

words! { "kind of band";
    /// What a band of the timeline is.
    BandKind {
        Thread = "thread", "Thread", "A band per thread.";
        Process = "process", "Process", "A band per process: all its threads.";
        Object = "object", "Sync Object", "A band per object: when threads waited on it.";
        Cpu = "cpu", "CPU", "A band per CPU: when threads of the program ran on it.";
        Task = "task", "Task", "A band per name of tasks and frames: when any thread was in one.";
    }
}
