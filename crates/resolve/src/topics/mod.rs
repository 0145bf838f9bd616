//! What is recorded only on request: sockets, delays, the machine's counters.
//! It takes the records of each topic and the replayed run; it gives the topic's tables.
//! It does not change what the other folders found; it adds counters only.

pub mod accept_queues;
pub mod connects;
pub mod delays;
pub mod event_counts;
pub mod open_requests;
pub mod sockets;
pub mod system;
pub mod vain_tries;
