//! What a band of the timeline is.

use crate::question::level::Level;
use crate::question::query::Query;
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

impl BandKind {
    /// What is to be folded for bands of what `query` lets through; none for tasks, which need no fold.
    #[must_use]
    pub fn asked(self, query: &Query) -> Option<Query> {
        // CPUs are told apart only where the query asks for them.
        Some(Query { group_by: vec![self.level()?], only_cpus: self == Self::Cpu, ..query.clone() })
    }

    /// The level whose groups are the bands; none for tasks, which are bands of their own.
    #[must_use]
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Thread => Some(Level::Thread),
            Self::Process => Some(Level::Process),
            Self::Object => Some(Level::Object),
            Self::Cpu => Some(Level::Cpu),
            Self::Task => None,
        }
    }
}
