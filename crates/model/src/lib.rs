//! The vocabulary of Dwell: ids, states, kinds of waits and objects, and the types of the metric and finding tables.
//!
//! What is here is plain data that every stage shares. It reads no file, knows no kernel and formats nothing for people
//! beyond the one title of each kind, and the remarks of a result.

mod annotation;
mod delay;
mod finding;
mod id;
pub mod losses;
mod message;
mod metric;
pub mod notices;
mod object_type;
mod signals;
mod socket;
mod state;
mod syscall;
pub mod system;
mod topic;
mod vain_try;

pub use annotation::{CounterKind, MarkerScope, MarkerValueKind, SyncOutcome, TaskKind};
pub use delay::Delay;
pub use finding::FindingDef;
pub use id::{
    CodeId, CounterId, DelaySourceId, FiberId, FrameId, Id, InlineId, ModuleId, ObjectId, ProcessId, SocketId,
    SocketWaitId, SourceId, StackId, TaskId, TaskTypeId, ThreadId,
};
pub use message::{MessageDef, TemplatePiece, template_pieces};
pub use metric::{Better, Collector, MetricDef, Unit};
pub use notices::Notice;
pub use object_type::{MMAP_LOCK, ObjectType};
pub use signals::signal_name;
pub use socket::{HoldEnd, HoldKind, SocketCause, SocketDirection, SocketProtocol, TcpEventKind};
pub use state::{Outcome, Reason, SchedulingPolicy, StackEnd, WakerKind};
pub use syscall::{BETWEEN_SAMPLES, CallKind, SYSCALLS, Syscall, SyscallClass, UNSEEN};
/// How the names of modules begin of code that is made at run time; that of its process follows.
pub const RUN_TIME_CODE: &str = "[jit] ";

pub use topic::Topic;
pub use vain_try::VainTry;
