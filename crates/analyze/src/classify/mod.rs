//! What time is, judged by the functions on its stack: work, spinning, overhead of a runtime, or an idle worker's wait.

mod idle;
mod spin;

pub use idle::IdleWaits;
pub use spin::{CpuKind, CpuKinds, SpinKind};
