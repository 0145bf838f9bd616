//! What a collection records beside threads: sockets, delays, goroutines, the machine's counters, tasks by probes and by ITT, values by probes.
//! Takes loaded hooks, `/proc` and files of programs; gives records, one file of this folder for each topic.
//! It does not decide when a topic is read: the rounds of a collection do.

pub mod accept_queues;
mod code_log;
pub mod connects;
pub mod edges;
pub mod event_counts;
mod exported_by_mapping;
pub mod fault_places;
mod goroutine_sockets;
pub mod goroutines;
mod interpreted;
pub mod itt;
pub mod java_code;
pub mod javascript;
pub mod latency;
pub mod open_requests;
pub mod sockets;
pub mod system;
pub mod task_probes;
pub mod value_probes;
