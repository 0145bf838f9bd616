//! Good inputs: what the product itself writes, so that mutations get past the first check.

use dwell_itt_wire::layout::{self, header, slot};
use dwell_itt_wire::{Clock, Event, EventsBuffer, Id, Lines, Method, Name, Named, NamesBuffer, Numbers, Value};
use dwell_pt::perf_data::Mapping;
use dwell_pt::snapshot::{self, Settings};
use dwell_store::raw::wire::{
    MapHeader, RecordHeader, ScriptFunctionHeader, ScriptStackHeader, StackHeader, SwitchRecord, kind,
};
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};
use dwell_store::{Folder, Manifest, State};
use tempfile::TempDir;

pub(crate) fn records() -> Vec<Vec<u8>> {
    let mut buffer = RecordBuffer::default();
    for time_ns in 0..20 {
        let size = size_of::<SwitchRecord>() as u16;
        let header = RecordHeader { kind: kind::SWITCH, size, tid: 7, time_ns };
        buffer.fixed(&SwitchRecord { h: header, ..bytemuck::Zeroable::zeroed() });
        buffer.stack(StackHeader { h: header, ..bytemuck::Zeroable::zeroed() }, &[0x1000, 0x2000, 0x3000]);
        buffer.map(MapHeader { h: header, ..bytemuck::Zeroable::zeroed() }, b"/usr/lib/libc.so.6");
        buffer.text(RecordHeader { kind: kind::COMMAND, ..header }, 0, b"app\0argument\0");
        let (stack, code) = (size_of::<ScriptStackHeader>() as u16, size_of::<ScriptFunctionHeader>() as u16);
        let h = RecordHeader { kind: kind::SCRIPT_STACK, size: stack, ..header };
        buffer.fixed(&ScriptStackHeader { h, ..bytemuck::Zeroable::zeroed() });
        let h = RecordHeader { kind: kind::SCRIPT_FUNCTION, size: code, ..header };
        buffer.fixed(&ScriptFunctionHeader { h, table_bytes: 9, ..bytemuck::Zeroable::zeroed() });
        buffer.mark(kind::ROUND, time_ns);
    }
    vec![buffer.bytes]
}

pub(crate) fn python_lines() -> Vec<Vec<u8>> {
    let table = [0x80 | 13 << 3 | 7, 70, 5, 0x80 | 11 << 3, 1, 2, 0x80 | 14 << 3 | 3, 64, 8, 0, 0, 0].repeat(40);
    [8, 10, 13].map(|version| [&[version, 0, 1, 0, 0][..], &table].concat()).into()
}

pub(crate) fn spool() -> Vec<Vec<u8>> {
    written_spool().into_iter().collect()
}

fn written_spool() -> Option<Vec<u8>> {
    let folder = TempDir::new().ok()?;
    let mut writer = SpoolWriter::create(&Folder::open(folder.path()).ok()?, Stream::Events).ok()?;
    for chunk in records() {
        writer.append(&chunk, 0, 20).ok()?;
        writer.append(&chunk, 20, 40).ok()?;
    }
    std::fs::read(folder.path().join("events-000000.dws")).ok()
}

pub(crate) fn manifest() -> Vec<Vec<u8>> {
    serde_json::to_vec(&a_manifest()).into_iter().collect()
}

pub(crate) fn a_manifest() -> Manifest {
    Manifest {
        state: State::Collected,
        command: vec!["app".into()],
        end_ns: 1_000,
        exit_status: Some(0),
        ..Manifest::default()
    }
}

pub(crate) fn perf_map() -> Vec<Vec<u8>> {
    let lines = (0..40).map(|i| format!("{:x} {:x} JS:*f{i} /srv/app.js:{i}:1\n", 0x1000 + i * 0x28, 0x20 + i));
    vec![lines.collect::<String>().into_bytes(), b"0x1000 0x20 int Main.run(int)\n1010 10 py::run:/a.py\n".to_vec()]
}

/// A header, then pieces of code that come with lines, move and end (jitdump-specification.txt).
pub(crate) fn jit_dump() -> Vec<Vec<u8>> {
    let mut log: Vec<u8> =
        [0x4a69_5444u32, 1, 40, 62, 0, 7, 0, 0, 0, 0].iter().flat_map(|it| it.to_le_bytes()).collect();
    for index in 0..10u64 {
        let (start, size) = (0x1000 + index * 0x18, 0x20);
        let lines = [words(&[start, 1, start]), 7u32.to_le_bytes().to_vec(), vec![0; 4], b"/srv/app.js\0".to_vec()];
        log_record(&mut log, 2, index, &lines.concat());
        let load = [words(&[7, start, start, size, index]), b"JS:*f /srv/app.js:1:2\0".to_vec(), vec![0x90; 32]];
        log_record(&mut log, 0, index, &load.concat());
        log_record(&mut log, 1, index + 5, &words(&[7, start, start, start + 0x4000, size, index]));
    }
    log_record(&mut log, 3, 99, &[]);
    vec![log]
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn log_record(log: &mut Vec<u8>, kind: u32, time_ns: u64, body: &[u8]) {
    log.extend(kind.to_le_bytes());
    log.extend((16 + body.len() as u32).to_le_bytes());
    log.extend(time_ns.to_le_bytes());
    log.extend(body);
}

/// `/bin/true` of Debian, compressed with xz as it is: an ELF file, if one without symbols.
pub(crate) fn debug_data() -> Vec<Vec<u8>> {
    let compressed = std::process::Command::new("xz").args(["--stdout", "--keep", "/bin/true"]).output();
    let compressed = compressed.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    // Where there is no xz, the readers still get what is no table.
    vec![compressed.unwrap_or_else(|| b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec())]
}

/// Some events, and some names.
pub(crate) fn machine() -> Vec<Vec<u8>> {
    let small = "[l1d]\nways = 4\nsize-kib = 16\n[[llc.reserve]]\nways = 2\naddresses = \"kernel\"\n";
    dwell_machine::MACHINES.iter().map(|(_, text)| *text).chain([small]).map(|text| text.as_bytes().to_vec()).collect()
}

pub(crate) fn itt_records() -> Vec<Vec<u8>> {
    let (mut events, mut names) = (EventsBuffer::default(), NamesBuffer::default());
    let (domain, name, id, parent) = (1, 2, Id { d1: 3, d2: 4 }, Id::NONE);
    let values = Numbers::Given(&[Value::Signed(-1), Value::Signed(2)]);
    for ticks in 0..8 {
        events.push(ticks, &Event::TaskBegin { domain, name, id, parent });
        events.push(ticks, &Event::CounterSet { counter: 1, value: Value::Float(0.5) });
        events.push(ticks, &Event::Numbers { domain, key: name, id, scope: 0, values });
        events.push(ticks, &Event::Text { domain, key: name, id, scope: 1, text: b"some text" });
        events.push(ticks, &Event::FrameSubmit { domain, id, begin: ticks, end: ticks + 1 });
        events.push(ticks, &Event::TaskEnd { domain });
        let method = Method { id: 1, address: 2, size: 3, name: b"f", ..Method::default() };
        let said = [
            Name::Domain { id: domain, text: b"domain" },
            Name::SyncCreate { address: 1, attribute: 2, class: b"Mutex", name: b"lock" },
            Name::ObjectBytes { object: 1, offset: 2, bytes: b"ELF" },
            Name::Method(method),
            Name::MethodLines { id: 1, address: 2, lines: Lines::Given(&[(0, 1), (2, 3)]) },
        ];
        said.iter().for_each(|name| names.push(&Named { ticks, tid: 7, name: *name }));
    }
    vec![events.bytes, names.bytes]
}

/// A shared file with two rings.
pub(crate) fn itt_file() -> Vec<Vec<u8>> {
    let [events, mut names] = itt_records().try_into().unwrap_or_default();
    names.truncate(1024);
    let mut head = vec![0; header::WORDS];
    head[header::MAGIC] = layout::MAGIC;
    head[header::VERSION] = u64::from(layout::VERSION) | (Clock::Tsc as u64) << 32;
    head[header::NAMES_HEAD] = names.len() as u64;
    head[header::SLOTS] = 2;
    for offset in [layout::RINGS_AT, layout::RINGS_AT + 16] {
        let mut words = vec![0; slot::WORDS];
        words[slot::SEQUENCE] = 2;
        words[slot::HEAD] = events.len() as u64 - 16;
        words[slot::THREAD] = 7;
        words[slot::OFFSET] = offset;
        words[slot::CAPACITY] = layout::SMALLEST_RING;
        head.extend(words);
    }
    let mut file = words(&head);
    file.extend(names.iter().copied().chain(std::iter::repeat(0)).take(1024));
    file.extend(events);
    vec![file]
}

/// Names of C++, of Rust in both manglings, and one with its bare name before it.
pub(crate) fn symbol_names() -> Vec<Vec<u8>> {
    let names = [
        "_ZNSt6vectorIiSaIiEE9push_backERKi",
        "_ZZN3app3runEvENKUlT_E_clIiEEDaS0_",
        "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
        "_RNvNtCs1234_7mycrate3foo3bar",
        "_RINvNtC3std3mem8align_ofNtNtC3foo3bar3BazE",
        "__GI___pthread_mutex_lock",
        "_Z1fv.cold",
        "run\n_ZN3app12_GLOBAL__N_13runIiEEvT_",
    ];
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

pub(crate) fn perf_data() -> Vec<Vec<u8>> {
    let mapping = |address| Mapping { pid: 7, address, length: 0x1000, offset: 0, path: "/bin/app".into() };
    let settings = Settings { ty: 8, config: 0x300, mtc_bits: 0x3c00, clock: [10, 1000, 5], ..Settings::default() };
    vec![snapshot::perf_data(
        &settings,
        &[mapping(0x1000), mapping(0x9000)],
        &[(0, vec![0x02; 40]), (1, vec![0x99; 9])],
    )]
}
