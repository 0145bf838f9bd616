//! The recorded run, replayed event by event.
//! It takes events in the order of time; it gives lives, intervals off the CPU, samples' weights and what programs said.
//! It does not name code or objects: stacks, waits and types of tasks stay numbers.

pub mod annotations;
pub mod creations;
mod fiber_records;
pub mod fibers;
pub mod intervals;
pub mod lock_owner;
pub mod numbers;
pub mod rows;
pub mod samples;
pub mod state;
mod thread_accounts;
mod thread_record;
pub mod threads;
pub mod waits;
