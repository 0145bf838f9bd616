//! A finalized result in memory: its tables, and its events in the order in which they are analyzed.
//! It takes the folder of a result and gives a checked [`Trace`], with an index or without.
//! It does not analyze: sums and reports are made elsewhere.

mod annotations;
mod code_tables;
mod delays;
mod events;
mod fiber_view;
mod fibers;
mod finalized;
mod indexing;
mod nesting;
mod sockets;
mod stack_answers;
mod states;

pub use annotations::Annotations;
pub use code_tables::CodeTables;
pub use delays::DelayTables;
pub use events::{Estimate, EventKey, EventTotals, Events, KeyWaits, OffCpuEvents, OffCpuTimes, SampleEvents};
pub use fibers::FiberTables;
pub use finalized::Trace;
pub use indexing::Opened;
pub use nesting::{Nesting, OUTSIDE, Scope};
pub use sockets::SocketTables;
pub use stack_answers::{STACK_QUESTIONS, StackAnswers};
pub use states::{SpanState, ThreadStates};
