//! The readers of what a profiled program can choose in the kernel's own words, for the fuzzer: how much each finds.

use dwell_store::raw::wire::ObjectRecord;

use crate::kernel::perf::{parse_mapping, read_u64, split_record};
use crate::programs::proc;
use crate::stacks::waiting;
use crate::topics::fault_places;
use crate::unprivileged::proc_syscall::SyscallState;
use crate::unprivileged::record::{CallLayout, RecordKind, SampledEvent, parse, stamp};
use crate::unprivileged::sockets::SocketTable;

/// The event identifier whose samples have a kernel stack, in the fuzzer's input.
const WITH_CHAIN: u64 = 1;

/// Records of perf events, one behind the other: those of `unprivileged`, and those that tell mappings.
pub fn perf_records(mut bytes: &[u8]) -> usize {
    let mut found = 0;
    while let Some((ty, misc, body, rest)) = split_record(bytes) {
        let record = &bytes[..bytes.len() - rest.len()];
        found += perf_record(record);
        if ty == crate::kernel::perf::RECORD_MMAP2 {
            found += parse_mapping(misc, body, read_u64(body, 0).unwrap_or(0)).map_or(0, |mapping| mapping.path.len());
        }
        if rest.len() == bytes.len() {
            break;
        }
        bytes = rest;
    }
    found
}

fn perf_record(record: &[u8]) -> usize {
    let Some((stamped, what)) = parse(record, |identifier| identifier == WITH_CHAIN) else { return 0 };
    assert_eq!(stamp(record), Some(stamped), "two readers of one stamp");
    match what {
        RecordKind::Map(mapping) => mapping.path.len(),
        RecordKind::Sample(_, sample) => {
            let sorts = [SampledEvent::Clock, SampledEvent::Leave, SampledEvent::Enter, SampledEvent::Fault];
            let pieces = sorts.iter().filter_map(|&sort| sample.piece(sort)).map(|piece| piece.bytes.len()).max();
            let found = sample.kernel_frames().len() * 8 + pieces.unwrap_or(0);
            assert!(found <= 2 * record.len(), "more was read than is there");
            let layouts =
                [(false, false), (true, false), (true, true)].map(|(lazy, every)| CallLayout::new(lazy, every));
            found + layouts.into_iter().filter(|&layout| sample.call(layout).is_some()).count()
        }
        _ => 1,
    }
}

/// The text of `/proc/PID/maps`, as it is read for mappings and for the places of page faults.
pub fn memory_maps(text: &[u8]) -> usize {
    proc::mappings_of(text, 1, 0).len() + fault_places::ranges(text).len()
}

/// The text of a table in `/proc/PID/net`, by the table's name.
pub fn sockets(table: &str, text: &str) -> usize {
    let mut sockets = SocketTable::default();
    sockets.read(&|name| if name == table { text.to_owned() } else { String::new() });
    for (inode, socket) in sockets.found() {
        let mut record: ObjectRecord = bytemuck::Zeroable::zeroed();
        socket.describe(&mut record);
        let _ = sockets.peer(inode, socket);
    }
    sockets.found().count()
}

/// The texts of a thread: its system call and its status.
pub fn thread(text: &str) -> usize {
    let place = SyscallState::parse(text).map(|place| place.registers().ip);
    usize::from(place.is_some()) + usize::from(waiting::place(text).is_some() || waiting::switches(text).is_some())
}
