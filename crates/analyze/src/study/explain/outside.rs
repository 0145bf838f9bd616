//! Who ended a wait that no thread of the program ended.

use dwell_model::{CallKind, ObjectType, Syscall, WakerKind};
use dwell_store::Trace;

use crate::study::explain::terms::CauseKind;

/// What ended the waits of a key that no thread of the program ended.
pub fn ended_from_outside(trace: &Trace, key: u32, kind: ObjectType) -> CauseKind {
    let key = trace.events().key(key);
    // A file system has threads of its own that write.
    let flushes = key.syscall() >= 0 && Syscall::kind_of(key.syscall()) == CallKind::FileSync;
    match WakerKind::from_code(key.waker_kind()) {
        WakerKind::OtherThread if flushes => CauseKind::Device,
        WakerKind::OtherThread => CauseKind::Outside,
        // What tells a runtime's poller is called the network.
        WakerKind::Network if kind == ObjectType::Stream => CauseKind::Unknown,
        WakerKind::Network => CauseKind::Network,
        WakerKind::Timer => CauseKind::Timer,
        WakerKind::IoQuota => CauseKind::IoQuota,
        WakerKind::MemoryLimit => CauseKind::MemoryLimit,
        WakerKind::Interrupt if flushes || matches!(kind, ObjectType::PageFault | ObjectType::BlockIo) => {
            CauseKind::Device
        }
        WakerKind::Interrupt => CauseKind::Interrupt,
        _ => CauseKind::Unknown,
    }
}
