//! A model of a machine on which instruction traces are replayed: caches, TLBs, branch prediction, front end and an
//! out-of-order core. It says where the cycles of each block went, by the four-way top-down split, and what missed where.
//!
//! [`Machine`] describes one (a TOML file; [`MACHINES`] are embedded), [`Replay`] runs a trace of `dwell-itrace` through it,
//! [`Counts`] is what comes out, per row that an [`Observer`] names. A replay is deterministic and allocates nothing per
//! event. What the model leaves out is listed in docs/anatomy-machine.md.

mod branches;
mod cache;
mod check;
mod class;
mod core;
mod counts;
mod description;
mod error;
mod frontend;
mod hierarchy;
mod machines;
mod observer;
mod plan;
mod prefetch;
mod ranges;
mod replay;
mod tage;
mod translation;

pub use counts::{Counts, Level, TICKS_PER_CYCLE, TopDown};
pub use description::{
    Branch, CacheLevel, Class, Classes, CoreDescription, Cost, FrontendDescription, Inclusion, Machine,
    MemoryDescription, Ports, Predictor, Prefetcher, Replacement, Reservation, Reserved, Tlb, Translation, UopCache,
    WritePolicy,
};
pub use error::MachineError;
pub use hierarchy::Traffic;
pub use machines::{DEFAULT_MACHINE, MACHINES};
pub use observer::{Instruction, Observer};
pub use replay::{Depth, Lost, Replay, UnknownBlock};

#[cfg(test)]
mod tests;
