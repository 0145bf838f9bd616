//! The law that every trace keeps, on any records in any order; and no panic on any bytes.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use dwell_resolve::Options;
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::*;
use proptest::collection::vec;
use proptest::prelude::*;
use trace::{START_NS, check_conservation, finalize_bytes, manifest};

const LENGTH_NS: u64 = 1000;

/// One record of any kind about a few threads, at any time around the collection.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let time = START_NS - 50..START_NS + LENGTH_NS + 50;
    let ids = (0u32..6, 0u32..6, 0u32..4);
    (0u8..22, time, ids, any::<u64>()).prop_map(|(what, time_ns, (a, b, tgid), bits)| {
        let mut buffer = RecordBuffer::default();
        write(&mut buffer, what, time_ns, (a, b, tgid), bits);
        buffer.bytes
    })
}

fn write(buffer: &mut RecordBuffer, what: u8, time_ns: u64, ids: (u32, u32, u32), bits: u64) {
    let (a, b, tgid) = ids;
    let h = |kind: u16, tid: u32| RecordHeader { kind, size: 0, tid, time_ns };
    match what {
        0 | 1 => buffer.fixed(&ThreadNewRecord {
            h: h(kind::THREAD_NEW, a),
            tgid,
            parent_tid: b,
            parent_tgid: b,
            flags: (bits & 1) as u32,
            creator_stack: bits % 4,
            comm: [b'x'; 16],
            inner_tid: (bits >> 2) as u32 % 4,
            pid_namespace: (bits >> 4) as u32 % 2,
        }),
        2 => buffer.fixed(&ThreadExitRecord { h: h(kind::THREAD_EXIT, a), tgid, exit_code: 1, cpu_ns: bits }),
        3 => buffer.fixed(&ExecRecord { h: h(kind::EXEC, a), tgid, old_tid: b, comm: [0; 16], path: [b'y'; 256] }),
        4 => buffer.mark(kind::PAUSE, time_ns),
        5 => buffer.mark(kind::RESUME, time_ns),
        6 => buffer.mark(kind::ROUND, time_ns),
        7 => buffer.fixed(&ThreadNameRecord { h: h(kind::THREAD_NAME, a), comm: [0xff; 16] }),
        8 | 9 => buffer.fixed(&SampleRecord {
            h: h(kind::SAMPLE, a),
            cpu: 1,
            in_kernel: 0,
            period_ns: 1,
            user_stack: bits % 4,
            kernel_stack: 0,
        }),
        10 => {
            let key = bits % 4;
            let stack = StackHeader { h: h(kind::STACK, a), key, tgid, count: 0, flags: (bits >> 8) as u8 & 1, end: 9 };
            buffer.stack(stack, &[bits, 0, u64::MAX]);
        }
        11 => {
            let map = MapHeader {
                h: h(kind::MAP, tgid),
                start: bits,
                length: u64::MAX,
                file_offset: bits,
                inode: 0,
                device: 0,
                protection: 7,
                build_id: [0; 20],
                build_id_bytes: bits as u32,
                path_bytes: 0,
                reserved: 0,
            };
            buffer.map(map, if bits & 1 == 0 { b"/proc/self/exe" } else { b"[heap]" });
        }
        _ => buffer.fixed(&SwitchRecord {
            h: h(kind::SWITCH, a),
            next_tid: b,
            cpu: bits as u16,
            // Seeded records less often than the bits would have it.
            flags: (bits >> 16) as u8 & if bits & 7 == 0 { 0xff } else { !switch_flag::SEEDED },
            waker_context: (bits >> 24) as u8 % 7,
            state: [0, 0, 1, 1, 2, 4, 0x80, 0x2001][(bits >> 32) as usize % 8],
            syscall: [-1, 202, 35, 61, 0, 7, 74, 24, 426, 100_000][(bits >> 36) as usize % 10],
            object: bits % 3,
            detail: bits,
            user_stack: bits % 5,
            kernel_stack: bits % 3,
            wake_time_ns: if bits & 1 == 0 { 0 } else { time_ns.wrapping_sub(bits % 300) },
            waker_stack: bits % 5,
            waker_tid: tgid,
            waker_syscall: -1,
            owner_tid: 0,
            owner_inner_tid: 0,
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_trace_conserves_time(
        meta in vec(record(), 0..12),
        mut events in vec(record(), 0..60),
        sorted in any::<bool>(),
        died in any::<bool>(),
    ) {
        if sorted {
            events.sort_by_key(|bytes| u64::from_ne_bytes(bytes[8..16].try_into().expect("a header")));
        }
        let end_ns = if died { 0 } else { START_NS + LENGTH_NS };
        let trace = finalize_bytes(&meta.concat(), &events.concat(), &manifest(end_ns), &Options::default());
        check_conservation(&trace);
    }

    #[test]
    fn no_bytes_make_it_panic(
        meta in vec(record(), 0..12),
        events in vec(record(), 0..30),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        rest in vec(any::<u8>(), 0..200),
    ) {
        let (mut meta, mut events) = (meta.concat(), events.concat());
        for (at, byte) in damage {
            for bytes in [&mut meta, &mut events] {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
        }
        events.extend(rest);
        let trace = finalize_bytes(&meta, &events, &manifest(START_NS + LENGTH_NS), &Options::default());
        check_conservation(&trace);
    }
}
