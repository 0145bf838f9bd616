//! Stacks: the unwind tables of what is mapped, for the kernel side, and the walks that user space does itself.
//! Takes mappings and registers; gives tables in the maps of the hooks, and frames.
//! It does not name functions, and parses no debug information: the crates resolve and unwind do.

pub mod lock_owner;
pub mod python;
pub mod unwinding;
pub mod waiting;
