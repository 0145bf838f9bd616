//! Who waited for whom, and why: blame, the critical path, sockets, delays, turns of event loops, counters beside waits.
//!
//! Takes a fold or a trace; gives what the findings and reports tell. It makes no tables and no sentences.

pub mod accept_queues;
pub mod acquisitions;
pub mod blame;
pub mod correlation;
pub mod critical_path;
pub mod event_loop_turns;
pub mod explain;
pub mod fiber_enders;
pub mod holding;
pub mod intervals;
pub mod latency;
pub mod lives;
pub mod poll_loops;
pub mod send_queues;
pub mod socket_groups;
pub mod sockets;
pub mod step_function;
pub mod thread_index;
