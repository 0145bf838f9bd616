//! What programs say of themselves (ITT, `--task-probe`).
//! It takes each thing said, with the thread that said it; it gives tasks, metadata, markers, counters and announced waits.
//! It does not trust them: every number of things is bounded, what is too much is counted, each thing costs a bounded time.

mod annotation_builder;
mod async_stacks;
mod counted;
mod counters;
mod event_context;
mod sync;
mod tasks;

pub use annotation_builder::{Annotations, UnresolvedAnnotations};
pub use async_stacks::CreatorStack;
pub use counted::UnkeptCounts;
pub use event_context::EventContext;
pub use sync::{AnnouncedWait, SyncObject};
pub use tasks::{NestedTasks, TypeKey};
