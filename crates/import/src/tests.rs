//! Whole imports of small files that are made here, in the form of a pipe.

use std::io::{Cursor, Empty};

use dwell_store::raw::wire::{kind as raw_kind, waker_context};
use dwell_store::raw::{Record, Records, SpoolReader, Stream};
use dwell_store::{Manifest, ResultFolder};
use proptest::prelude::*;

use crate::attribute::part;
use crate::formats::tests::{SWITCH, section};
use crate::records::kind;
use crate::records::tests::record;
use crate::{Error, PerfSource, import};

const WAKING: &str = "name: sched_waking\nID: 8\nformat:\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
const PARTS: u64 = part::IDENTIFIER | part::IP | part::TID | part::TIME | part::CPU | part::RAW;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const CLOCK: u64 = 100;
const SWITCHES: u64 = 101;
const WAKES: u64 = 102;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An event with one id.
fn event(ty: u32, config: u64, id: u64, period: u64) -> Vec<u8> {
    let mut body = ty.to_le_bytes().to_vec();
    body.extend_from_slice(&64u32.to_le_bytes());
    body.extend(words(&[config, period, PARTS, 0, SAMPLE_ID_ALL, 0, 0, id]));
    record(kind::HEADER_ATTRIBUTE, 0, &body)
}

fn pipe(records: &[Vec<u8>]) -> Vec<u8> {
    pipe_with_each(1, records)
}

/// The same, with a sample for each `period`th event of a tracepoint.
fn pipe_with_each(period: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let formats = section(&[SWITCH, WAKING]);
    let mut bytes = b"PERFILE2".to_vec();
    bytes.extend(words(&[16]));
    bytes.extend(event(1, 0, CLOCK, 1_000_000));
    bytes.extend(event(2, 7, SWITCHES, period));
    bytes.extend(event(2, 8, WAKES, period));
    bytes.extend(record(kind::HEADER_TRACING_DATA, 0, &(formats.len() as u32).to_le_bytes()));
    bytes.extend(formats);
    bytes.extend(records.concat());
    bytes
}

/// Thread `tid` of process 7 on CPU 1.
fn sampled(id: u64, tid: u64, time_ns: u64, raw: &[u8]) -> Vec<u8> {
    let mut body = words(&[id, 0x1234, tid << 32 | 7, time_ns, 1]);
    body.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    body.extend_from_slice(raw);
    record(kind::SAMPLE, 2, &body)
}

fn switched(time_ns: u64, out: u32, state: u64, next: u32) -> Vec<u8> {
    let mut raw = vec![0; 60];
    raw[24..28].copy_from_slice(&out.to_le_bytes());
    raw[32..40].copy_from_slice(&state.to_le_bytes());
    raw[56..60].copy_from_slice(&next.to_le_bytes());
    sampled(SWITCHES, out.into(), time_ns, &raw)
}

fn woken(time_ns: u64, by: u64, tid: u32) -> Vec<u8> {
    let mut raw = vec![0; 28];
    raw[24..28].copy_from_slice(&tid.to_le_bytes());
    sampled(WAKES, by, time_ns, &raw)
}

fn named(tid: u32, name: &[u8]) -> Vec<u8> {
    let mut body = 7u32.to_le_bytes().to_vec();
    body.extend_from_slice(&tid.to_le_bytes());
    body.extend_from_slice(name);
    body.resize(16, 0);
    body.extend(words(&[u64::from(tid) << 32 | 7, 0, 1, CLOCK]));
    record(kind::COMM, 0, &body)
}

/// What the import of `bytes` wrote: its manifest, and of each switch time, who left, state, who came, by whom and when woken.
type Switches = Vec<(u64, u32, u32, u32, u32, u64)>;

fn imported(bytes: &[u8]) -> Result<(Manifest, Switches), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = ResultFolder::create(&folder.path().join("result")).expect("a result");
    let source = PerfSource::of_pipe(Box::new(Cursor::new(bytes.to_vec())))?;
    import(source, &folder, || None::<Empty>, "")?;
    Ok((folder.manifest()?, switches(&folder, Stream::Events)?))
}

fn switches(folder: &ResultFolder, stream: Stream) -> Result<Switches, Error> {
    let mut reader = SpoolReader::open(&folder.spool()?, stream)?;
    let (mut chunk, mut found) = (Vec::new(), Vec::new());
    while reader.next_chunk(&mut chunk).is_some() {
        found.extend(Records::new(&chunk).filter_map(|record| match record {
            Record::Switch(switch) if switch.h.kind == raw_kind::SWITCH => {
                let by = if switch.waker_context == waker_context::TASK { switch.waker_tid } else { 0 };
                Some((switch.h.time_ns, switch.h.tid, switch.state, switch.next_tid, by, switch.wake_time_ns))
            }
            _ => None,
        }));
    }
    Ok(found)
}

/// Switches that the import found out about later: where threads were before the first one, and arrivals that nothing told.
fn found_later(bytes: &[u8]) -> Switches {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = ResultFolder::create(&folder.path().join("result")).expect("a result");
    let source = PerfSource::of_pipe(Box::new(Cursor::new(bytes.to_vec()))).expect("a source");
    import(source, &folder, || None::<Empty>, "").expect("an import");
    switches(&folder, Stream::Meta).expect("switches")
}

fn two_threads() -> Vec<Vec<u8>> {
    vec![
        named(11, b"one"),
        named(12, b"two"),
        switched(1000, 11, 1, 12),
        record(kind::FINISHED_ROUND, 0, &[]),
        woken(1500, 12, 11),
        switched(2000, 12, 0x100, 11),
        sampled(CLOCK, 11, 2500, &[]),
        switched(3000, 11, 0x20, 12),
    ]
}

#[test]
fn switches_have_states_and_wakers() {
    let (manifest, switches) = imported(&pipe(&two_threads())).expect("an import");
    assert_eq!(switches, [(1000, 11, 1, 12, 0, 0), (2000, 12, 0, 11, 12, 1500), (3000, 0, 0, 12, 0, 0)]);
    assert_eq!((manifest.start_ns, manifest.end_ns, manifest.events), (1000, 3000, 4));
    assert_eq!(manifest.losses, []);
}

#[test]
fn who_comes_first_was_off_the_cpus_before() {
    assert_eq!(found_later(&pipe(&two_threads())), [(1000, 12, 1, 0, 0, 0)]);
    // Of 12 nothing was known when it came: it did when the other one left.
    let stranger = [named(11, b"one"), switched(1000, 11, 1, 12), switched(2000, 12, 1, 11)];
    assert_eq!(found_later(&pipe(&stranger)), [(1000, 12, 1, 0, 0, 0), (1000, 0, 0, 12, 0, 0)]);
}

#[test]
fn some_of_the_switches_tell_nothing() {
    let (manifest, switches) = imported(&pipe_with_each(100, &two_threads())).expect("an import");
    assert!(switches.is_empty(), "{switches:?}");
    let told: Vec<&str> = manifest.notices.iter().map(|notice| notice.id.as_str()).collect();
    assert!(told.contains(&"imported-switches-sampled") && !told.contains(&"imported-samples-only"), "{told:?}");
}

#[test]
fn records_of_rounds_are_put_in_order() {
    let mut records = two_threads();
    records.swap(4, 5);
    let (manifest, switches) = imported(&pipe(&records)).expect("an import");
    assert_eq!(switches[1], (2000, 12, 0, 11, 12, 1500));
    assert_eq!(manifest.losses, []);
}

#[test]
fn a_cut_file_says_so() {
    let bytes = pipe(&two_threads());
    let (manifest, switches) = imported(&bytes[..bytes.len() - 1]).expect("an import");
    assert_eq!(switches.len(), 2);
    assert!(manifest.notices.iter().any(|notice| notice.id == "imported-cut"));
}

proptest! {
    #[test]
    fn any_changed_file_is_imported_or_refused(at in 16usize..1500, byte in any::<u8>(), length in 0usize..2000) {
        let mut bytes = pipe(&two_threads());
        let last = bytes.len() - 1;
        bytes[at.min(last)] = byte;
        bytes.truncate(length.max(16));
        let _ = imported(&bytes);
    }

    #[test]
    fn any_bytes_are_imported_or_refused(rest in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = pipe(&[]);
        bytes.extend(&rest);
        let _ = imported(&bytes);
    }
}
