//! BPF as a source of records: every family of hooks, loaded, attached and drained.
//! Takes the options of a collection; gives records from the rings, and notices of what this kernel cannot tell.
//! It does not follow what records say: `drain` does.

mod connects;
mod control;
mod counting;
mod creations;
pub mod families;
mod goroutines;
mod open_requests;
mod probes;
mod rivals;
pub mod sampling;
mod seeding;
pub mod source;
mod unwind_maps;
mod wanted;
