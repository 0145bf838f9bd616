//! What the replay calls things that have no row yet. Threads and processes have theirs from the beginning.

use dwell_model::ids;

ids! {
    /// A stack as events name it: a place in `Replay::stacks`.
    StackNumber;
    /// A wait: a place in `Replay::waits`.
    WaitNumber;
    /// A synchronization object that a program told of: a place in `SyncBook::objects`.
    SyncNumber;
    /// A type of tasks or markers: a place in `TaskBook::types`.
    TypeNumber;
    /// A task, in the order in which tasks were told of.
    TaskNumber;
}
