//! The raw trace, read.
//! It takes the chunks of the spool; it gives what they tell once, and what happens at a time, in the order of time.
//! It does not know which thread or program a record is about.

pub mod annotation_event;
pub mod belonging;
pub mod event;
pub mod itt;
pub mod meta;
pub mod order;
pub mod probe_hit;
pub mod sockets;
pub mod spool;
pub mod texts;
pub mod ticks;
