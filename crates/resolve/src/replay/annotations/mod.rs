//! What programs say of themselves (ITT, `--task-probe`).
//! It takes each thing said, with the thread that said it; it gives tasks, metadata, markers, counters and announced waits.
//! It does not trust them: every number of things is bounded, what is too much is counted, each thing costs a bounded time.

mod counted;
mod counters;
mod stitches;
mod sync;
mod tasks;
mod told;
mod who;

pub use counted::Counted;
pub use stitches::Asker;
pub use sync::SyncObject;
pub use tasks::{Nested, TypeKey};
pub use told::{Told, Unnamed};
pub use who::Who;
