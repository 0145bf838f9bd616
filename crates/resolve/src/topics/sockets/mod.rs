//! Sockets: their table, the waits on them, why each lasted as long as it did, and what TCP did.
//! It takes the records of sockets and the named intervals; it gives the tables of sockets and their throughput as counters.
//! It does not know both ends of a connection between two hosts: dwell-merge does.

mod causes;
mod counters;
mod ends;
mod input;
mod parts;
mod tables;
mod tcp;
mod waits;

pub use input::{Input, SocketKeys};
pub use tables::resolve;
