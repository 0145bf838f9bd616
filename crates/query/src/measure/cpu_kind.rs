//! What CPU time was for: work, spinning, or a runtime's overhead.

use dwell_model::ObjectType;

/// What a thread burnt CPU time for while it logically waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpinKind {
    /// A barrier, or a scheduler without work.
    Imbalance,
    /// A lock.
    Lock,
    /// Anything else.
    Other,
}

impl SpinKind {
    /// Spinning for an object of this type, by the program's own word.
    pub fn on(object: ObjectType) -> Self {
        match object {
            ObjectType::Barrier | ObjectType::OpenMpBarrier | ObjectType::TbbScheduler => Self::Imbalance,
            ObjectType::Mutex | ObjectType::RwLock | ObjectType::SpinLock => Self::Lock,
            _ => Self::Other,
        }
    }
}

/// What a runtime did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OverheadKind {
    /// Made threads or tasks.
    Creation,
    /// Distributed work, waited or woke.
    Scheduling,
    /// Combined results.
    Reduction,
    /// Took or released locks.
    Atomics,
    /// Anything else.
    Other,
}

/// What CPU time was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuKind {
    /// The program's work.
    Effective,
    /// Waiting on a CPU.
    Spin(SpinKind),
    /// The runtime.
    Overhead(OverheadKind),
}
