//! What a source of records hands out, on its way into the trace.
//! Takes records and mappings of all CPUs; gives them to the recorder, and news of processes to the unwind tables.
//! It does not know where records come from: a source is whatever answers the trait `Source`.

pub mod copies;
pub mod drained;
mod epoll_sets;
pub mod follow;
mod lock_holders;
pub mod mapping_scope;
pub mod proc_maps_poller;
pub mod process_events;
pub mod source;
