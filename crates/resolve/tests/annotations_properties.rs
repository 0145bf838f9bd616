//! What holds whatever programs say of themselves.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use dwell_itt_wire::{Event, Id, Name, Named, NamesBuffer, Numbers, Value};
use dwell_resolve::Options;
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::*;
use dwell_store::{Table, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use trace::{START_NS, check_conservation, finalize_bytes, loss, manifest};

const LENGTH_NS: u64 = 1000;
const DOMAINS: [&[u8]; 3] = [b"app", b"lib", b"app"];

fn header(kind: u16, tid: u32, time_ns: u64) -> IttHeader {
    IttHeader {
        h: RecordHeader { kind, size: 0, tid, time_ns },
        tgid: 10,
        source: 1,
        base_ticks: 0,
        base_ns: START_NS,
        ns_per_tick: 1 << 32,
        lost: 0,
        bytes: 0,
    }
}

/// A process with two threads, and some names.
fn meta() -> RecordBuffer {
    let mut meta = RecordBuffer::default();
    for tid in [10, 11] {
        meta.fixed(&ThreadNewRecord {
            h: RecordHeader { kind: kind::THREAD_NEW, size: 0, tid, time_ns: START_NS },
            tgid: 10,
            parent_tid: 0,
            parent_tgid: 0,
            flags: u32::from(tid == 11),
            creator_stack: 0,
            comm: [b'x'; 16],
            inner_tid: 0,
            pid_namespace: 0,
        });
    }
    let mut names = NamesBuffer::default();
    for (number, text) in DOMAINS.into_iter().enumerate() {
        names.push(&Named { ticks: 0, tid: 10, name: Name::Domain { id: number as u16 + 1, text } });
        names.push(&Named { ticks: 0, tid: 10, name: Name::String { id: number as u32 + 1, text: b"task" } });
    }
    meta.itt(header(kind::ITT_NAMES, 0, START_NS + LENGTH_NS), &names.bytes);
    meta
}

fn encode(event: &Event<'_>, ticks: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    event.encode(ticks, |word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes
}

/// Any event, about few things, at a time that it chooses.
fn event((what, domain, name, a, b): (u8, u16, u32, u64, u64)) -> Vec<u8> {
    let (id, parent) = (Id { d1: a, d2: 0 }, Id { d1: b, d2: 0 });
    let values = Numbers::Given(&[Value::Float(f64::NAN), Value::Unsigned(u64::MAX)]);
    let event = match what % 24 {
        0 | 1 => Event::TaskBegin { domain, name, id, parent },
        2 | 3 => Event::TaskEnd { domain },
        4 => Event::TaskBeginFn { domain, function: a, id, parent },
        5 => Event::OverlappedBegin { domain, name, id, parent },
        6 => Event::OverlappedEnd { domain, id },
        7 => Event::RegionBegin { domain, name, id, parent },
        8 => Event::RegionEnd { domain, id },
        9 => Event::FrameBegin { domain, id },
        10 => Event::FrameEnd { domain, id },
        11 => Event::FrameSubmit { domain, id, begin: a * 200, end: b * 200 },
        12 => Event::Marker { domain, name, id, scope: name },
        13 => Event::EventStart { event: name },
        14 => Event::EventEnd { event: name },
        15 => Event::CounterSet { counter: name, value: Value::Float(f64::from_bits(a.wrapping_mul(b) << 50)) },
        16 => Event::NamedCounterAdd { domain, name, delta: a as i64 },
        17 => Event::Numbers { domain, key: name, id, scope: name, values },
        18 => Event::Text { domain, key: name, id, scope: name, text: b"text" },
        19 | 20 => Event::SyncPrepare { address: a },
        21 => Event::SyncAcquired { address: a },
        22 => Event::SyncCancel { address: a },
        _ => Event::SyncReleasing { address: a },
    };
    encode(&event, (u64::from(name) + a * 97 + b * 13) % (LENGTH_NS + 100))
}

/// A record of one event at a time, or of bytes that are none.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let parts = (any::<u8>(), 0u16..5, 0u32..4, 0u64..5, 0u64..5);
    let times = (10u32..13, 0..LENGTH_NS + 50, any::<bool>(), 0u32..12);
    (parts, times, vec(any::<u8>(), 0..20)).prop_map(|(parts, (tid, time_ns, chosen, lost), junk)| {
        let mut bytes = event(parts);
        if !chosen {
            bytes[8..16].copy_from_slice(&time_ns.to_le_bytes());
        }
        if lost == 3 {
            bytes.extend(junk);
        }
        let mut buffer = RecordBuffer::default();
        let header = header(kind::ITT_EVENTS, tid, START_NS + time_ns);
        buffer.itt(IttHeader { lost: lost.saturating_sub(9), ..header }, &bytes);
        buffer.bytes
    })
}

/// What is nested lies within; nothing outlives the collection.
fn check_nesting(trace: &Trace) {
    let tasks = &trace.annotations.tasks;
    for row in 0..tasks.len() {
        assert!(tasks.end_ns[row] <= trace.elapsed_ns());
        assert_eq!(tasks.finished[row], tasks.end_thread[row].is_some());
        let Some(parent) = tasks.parent[row].get() else { continue };
        assert!(parent < row);
        if tasks.thread[parent] == tasks.thread[row] {
            assert!(tasks.start_ns[parent] <= tasks.start_ns[row] && tasks.end_ns[row] <= tasks.end_ns[parent]);
        }
    }
    assert!(trace.annotations.counter_values.value.iter().all(|value| value.is_finite()));
    assert!(trace.annotations.task_metadata.number.iter().all(|value| value.is_finite()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_makes_valid_rows(mut events in vec(record(), 0..80), sorted in any::<bool>()) {
        if sorted {
            events.sort_by_key(|bytes| u64::from_ne_bytes(bytes[8..16].try_into().expect("a header")));
        }
        let trace = finalize_bytes(
            &meta().bytes, &events.concat(), &manifest(START_NS + LENGTH_NS), &Options::default(),
        );
        check_conservation(&trace);
        check_nesting(&trace);
    }

    /// Two threads that begin and end tasks of two domains properly: every task has its length and its place.
    #[test]
    fn what_is_well_formed_comes_out_whole(steps in vec((any::<bool>(), any::<bool>(), 1u16..4, 1u64..9), 1..100)) {
        let mut stacks: [Vec<(u16, u64, usize)>; 2] = [Vec::new(), Vec::new()];
        let (mut now, mut expected, mut buffer) = (1u64, Vec::new(), RecordBuffer::default());
        let mut say = |thread: usize, event: &Event<'_>, now: u64| {
            buffer.itt(header(kind::ITT_EVENTS, 10 + thread as u32, START_NS + LENGTH_NS), &encode(event, now));
        };
        for (second, begins, domain, step) in steps {
            let thread = usize::from(second);
            now += step;
            if begins || stacks[thread].is_empty() {
                let id = Id { d1: now, d2: 1 };
                say(thread, &Event::TaskBegin { domain, name: 1, id, parent: Id::NONE }, now);
                let parent = stacks[thread].last().map(|(_, _, row)| *row);
                stacks[thread].push((domain, now, expected.len()));
                expected.push((now, LENGTH_NS, parent, false));
            } else if let Some((domain, start, row)) = stacks[thread].pop() {
                say(thread, &Event::TaskEnd { domain }, now);
                let parent = expected[row].2;
                expected[row] = (start, now, parent, true);
            }
        }
        let trace = finalize_bytes(
            &meta().bytes, &buffer.bytes, &manifest(START_NS + LENGTH_NS), &Options::default(),
        );
        check_nesting(&trace);
        let tasks = &trace.annotations.tasks;
        let rows = (0..tasks.len()).map(|row| {
            (tasks.start_ns[row], tasks.end_ns[row], tasks.parent[row].get(), tasks.finished[row])
        });
        prop_assert_eq!(rows.collect::<Vec<_>>(), expected);
        prop_assert_eq!(loss(&trace, "itt_ends_unmatched"), 0);
    }
}
