//! What a program wrote through ITT, on its way to the rows of a result.

use dwell_itt_wire::{Event, Id, Method, Name, Named, NamesBuffer, Numbers, Value};
use dwell_resolve::{NoProgress, Options, finalize};
use dwell_store::raw::wire::{IttHeader, RecordHeader, ThreadNewRecord, kind};
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};
use dwell_store::{ResultFolder, Trace};
use tempfile::TempDir;

use crate::seeds;

const PROCESS: u32 = 10;
/// Longest piece that one record holds.
const PIECE: usize = 60_000;

/// How many bytes of names there are, in two bytes; the names; the events of one thread.
pub(crate) fn run(bytes: &[u8]) {
    let Some((split, rest)) = bytes.split_first_chunk() else { return };
    let (names, events) = rest.split_at(usize::from(u16::from_le_bytes(*split)).min(rest.len()));
    let Some((_folder, result)) = collected(names, events) else { return };
    let Ok(written) = finalize(&result, &Options::default(), &NoProgress) else { return };
    let read = Trace::read(&result).map(|trace| trace.annotations);
    assert_eq!(read.ok(), Some(written.annotations), "what was written is not what is read");
}

fn header(kind: u16, tid: u32) -> IttHeader {
    let h = RecordHeader { kind, size: 0, tid, time_ns: 1_000 };
    let ns_per_tick = 1 << 32;
    IttHeader { h, tgid: PROCESS, source: 1, base_ticks: 0, base_ns: 0, ns_per_tick, lost: 0, bytes: 0 }
}

/// A result that is collected and not finalized, of a process that wrote these bytes.
fn collected(names: &[u8], events: &[u8]) -> Option<(TempDir, ResultFolder)> {
    let folder = TempDir::new().ok()?;
    let result = ResultFolder::create(&folder.path().join("result")).ok()?;
    result.write_manifest(&seeds::a_manifest()).ok()?;
    let (mut meta, mut rest) = (RecordBuffer::default(), RecordBuffer::default());
    let h = RecordHeader { kind: kind::THREAD_NEW, size: 0, tid: PROCESS, time_ns: 0 };
    meta.fixed(&ThreadNewRecord { h, tgid: PROCESS, ..bytemuck::Zeroable::zeroed() });
    names.chunks(PIECE).for_each(|piece| meta.itt(header(kind::ITT_NAMES, 0), piece));
    events.chunks(PIECE).for_each(|piece| rest.itt(header(kind::ITT_EVENTS, PROCESS), piece));
    for (stream, bytes) in [(Stream::Meta, meta.bytes), (Stream::Events, rest.bytes)] {
        SpoolWriter::create(&result.spool().ok()?, stream).ok()?.append(&bytes, 0, 1_000).ok()?;
    }
    Some((folder, result))
}

fn some_names() -> Vec<u8> {
    let method = Method { id: 4, address: 0x1000, size: 64, name: b"run", class: b"Pool", ..Method::default() };
    let names = [
        Name::Domain { id: 1, text: b"app" },
        Name::String { id: 1, text: b"parse" },
        Name::Counter { id: 1, kind: 8, domain: b"net", name: b"bytes" },
        Name::Event { id: 1, text: b"tick" },
        Name::SyncCreate { address: 0x100, attribute: 2, class: b"Mutex", name: b"lock" },
        Name::ThreadName { text: b"worker" },
        Name::Method(method),
        Name::Object { id: 1, module: 5, bytes: 64, name: b"jit" },
        Name::Section { object: 1, kind: 3, flags: 0, address: 0x5000, size: 64, file_offset: 0, name: b".text" },
        Name::ObjectBytes { object: 1, offset: 0, bytes: b"\x7fELF\x02\x01\x01" },
    ];
    let mut buffer = NamesBuffer::default();
    names.into_iter().for_each(|name| buffer.push(&Named { ticks: 1, tid: PROCESS, name }));
    buffer.bytes
}

fn some_events() -> Vec<u8> {
    let (domain, name, id, parent) = (1, 1, Id { d1: 7, d2: 1 }, Id::NONE);
    let values = [Value::Signed(-1), Value::Signed(2)];
    let events = [
        Event::TaskBegin { domain, name, id: Id::NONE, parent },
        Event::OverlappedBegin { domain, name, id, parent },
        Event::TaskBeginFn { domain, function: 0x1010, id: Id::NONE, parent: id },
        Event::Numbers { domain, key: 1, id, scope: 0, values: Numbers::Given(&values) },
        Event::Text { domain, key: 1, id: Id::NONE, scope: 0, text: b"text" },
        Event::FrameSubmit { domain, id: Id::NONE, begin: 3, end: 8 },
        Event::Marker { domain, name, id, scope: 2 },
        Event::EventStart { event: 1 },
        Event::CounterSet { counter: 1, value: Value::Float(0.5) },
        Event::NamedCounterAdd { domain, name, delta: -3 },
        Event::SyncPrepare { address: 0x100 },
        Event::StackEnter { id: 9 },
        Event::SyncAcquired { address: 0x100 },
        Event::EventEnd { event: 1 },
        Event::TaskEnd { domain },
        Event::OverlappedEnd { domain, id },
        Event::TaskEnd { domain },
    ];
    let mut bytes = Vec::new();
    for (ticks, event) in events.iter().enumerate() {
        event.encode(ticks as u64 * 10, |word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    bytes
}

pub(crate) fn good() -> Vec<Vec<u8>> {
    let names = some_names();
    vec![[&(names.len() as u16).to_le_bytes()[..], &names, &some_events()].concat()]
}
