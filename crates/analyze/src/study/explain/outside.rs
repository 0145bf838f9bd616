//! Who ended a wait that no thread of the program ended.

use dwell_model::{CallKind, ObjectType, Outcome, Syscall, WakerKind};
use dwell_store::Trace;

use crate::study::explain::terms::{CauseKind, is_of_event_loop};

/// What goroutines wait for that the collector puts aside.
const COLLECTION: &str = "Garbage collection";

/// What ended the waits of a key that no thread of the program ended.
pub fn ended_from_outside(trace: &Trace, key: u32, kind: ObjectType) -> CauseKind {
    let key = trace.events().key(key);
    // A file system has threads of its own that write.
    let flushes = key.syscall() >= 0 && Syscall::kind_of(key.syscall()) == CallKind::FileSync;
    let is_for_collector = || key.object().get().is_some_and(|row| trace.objects.name[row].contains(COLLECTION));
    let outcome = Outcome::from_code(key.outcome());
    let is_interrupted = outcome == Outcome::Interrupted;
    if outcome == Outcome::Unfinished {
        return CauseKind::Unfinished;
    }
    match WakerKind::from_code(key.waker_kind()) {
        // What reads and writes for a device are threads of the kernel.
        WakerKind::KernelThread | WakerKind::OtherThread if flushes || kind == ObjectType::BlockIo => CauseKind::Device,
        WakerKind::KernelThread => CauseKind::Kernel,
        WakerKind::OtherThread | WakerKind::Answer | WakerKind::Publisher => CauseKind::Outside,
        // What tells a runtime's poller is called the network.
        WakerKind::Network if kind == ObjectType::Stream => CauseKind::Unknown,
        WakerKind::Network => CauseKind::Network,
        // A timer's signal is how long the program wanted to wait: PostgreSQL looks for deadlocks then.
        WakerKind::Timer | WakerKind::Interrupt if is_interrupted => CauseKind::TimedOut,
        WakerKind::Timer if is_of_event_loop(key.syscall()) => CauseKind::TimedOut,
        WakerKind::Timer => CauseKind::Timer,
        WakerKind::IoQuota => CauseKind::IoQuota,
        WakerKind::MemoryLimit => CauseKind::MemoryLimit,
        WakerKind::Interrupt if flushes || matches!(kind, ObjectType::PageFault | ObjectType::BlockIo) => {
            CauseKind::Device
        }
        WakerKind::Interrupt => CauseKind::Interrupt,
        _ if kind == ObjectType::GoRuntime && is_for_collector() => CauseKind::Collected,
        _ => CauseKind::Unknown,
    }
}
