//! Long computations: on all CPUs, and left when nobody waits for them.
//!
//! Takes closures over numbered pieces; gives what each made, in order. It knows nothing of what is computed.

pub mod parallel;
pub mod stop;
