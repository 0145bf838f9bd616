//! What reads bytes that others wrote: the readers that a fuzzer drives, and the good inputs that it starts from.
//!
//! `fuzz/` gives each of these functions to libFuzzer (`cargo +nightly fuzz run spool`); `tests/mutations.rs` gives them
//! a bounded, repeatable number of mutated inputs in every `make test`. A target takes any bytes and returns; the
//! finding is a panic, a hang or memory without bound.

mod anatomy;
mod itt;
mod seeds;

use std::os::unix::fs::FileExt;
use std::path::Path;

use dwell_itt_wire::{Reader, Sink, layout};
use dwell_machine::{Depth, Machine, Replay};
use dwell_resolve::readers;
use dwell_store::raw::{Record, Records, SpoolReader, Stream};
use dwell_store::{Folder, ResultFolder, Trace};
use dwell_unwind::UnwindTable;
use tempfile::TempDir;

/// A reader under test.
pub struct Target {
    /// Name, as in `fuzz/fuzz_targets/NAME.rs`.
    pub name: &'static str,
    /// Feeds it with `bytes`.
    pub run: fn(&[u8]),
    /// Good inputs. Empty when they could not be made.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every reader.
pub const TARGETS: &[Target] = &[
    Target { name: "records", run: records, seeds: seeds::records },
    Target { name: "spool", run: spool, seeds: seeds::spool },
    Target { name: "manifest", run: manifest, seeds: seeds::manifest },
    Target { name: "table", run: table, seeds: seeds::table },
    Target { name: "unwind", run: unwind, seeds: seeds::unwind },
    Target { name: "maps", run: maps, seeds: seeds::maps },
    Target { name: "perf_map", run: perf_map, seeds: seeds::perf_map },
    Target { name: "jit_dump", run: jit_dump, seeds: seeds::jit_dump },
    Target { name: "debug_data", run: debug_data, seeds: seeds::debug_data },
    Target { name: "itt_rows", run: itt_rows, seeds: itt::good },
    Target { name: "python_lines", run: python_lines, seeds: seeds::python_lines },
    Target { name: "itt_records", run: itt_records, seeds: seeds::itt_records },
    Target { name: "itt_file", run: itt_file, seeds: seeds::itt_file },
    Target { name: "machine", run: machine, seeds: seeds::machine },
    Target { name: "instruction_trace", run: instruction_trace, seeds: anatomy::traces },
    Target { name: "recorder_messages", run: recorder_messages, seeds: anatomy::messages },
];

/// Records of a decompressed chunk.
pub fn records(bytes: &[u8]) {
    let mut reader = Records::new(bytes);
    let frames: usize =
        reader.by_ref().map(|record| if let Record::Stack(_, frames) = record { frames.len() } else { 0 }).sum();
    assert!(frames * 8 <= bytes.len() && reader.rest() <= bytes.len(), "more was read than is there");
}

/// A machine's file, complete or on top of another one. What is accepted can be built.
pub fn machine(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for text in [text.to_string(), format!("base = \"zen5\"\n{text}")] {
        if let Ok(machine) = Machine::parse(&text) {
            assert!(Replay::new(&machine, Depth::Full).is_ok(), "a machine that passed its check cannot be built");
        }
    }
}

/// A spool file: chunks, and the records in those that are whole.
pub fn spool(bytes: &[u8]) {
    let Some(folder) = folder_with("events-000000.dws", bytes) else { return };
    let Ok(held) = Folder::open(folder.path()) else { return };
    let Ok(mut reader) = SpoolReader::open(&held, Stream::Events) else { return };
    let mut chunk = Vec::new();
    while reader.next_chunk(&mut chunk).is_some() {
        records(&chunk);
    }
}

/// A result's manifest.
pub fn manifest(bytes: &[u8]) {
    let Some(folder) = folder_with("manifest.json", bytes) else { return };
    if let Ok(result) = ResultFolder::open(folder.path()) {
        let _ = result.manifest();
    }
}

/// A result whose table of waits is `bytes`.
pub fn table(bytes: &[u8]) {
    let Some((folder, path)) = seeds::result() else { return };
    if std::fs::write(path, bytes).is_ok() {
        let _ = ResultFolder::open(&folder.path().join("result")).and_then(|result| Trace::read(&result));
    }
}

/// An ELF file's unwind table, and look-ups in it.
pub fn unwind(bytes: &[u8]) {
    if let Ok(table) = UnwindTable::of_bytes(bytes) {
        for pc in [0, 1, 255, 256, 4096, u32::MAX / 2, u32::MAX] {
            let _ = table.lookup(pc);
        }
    }
}

/// The text of `/proc/PID/maps`, in which a program chooses the paths.
pub fn maps(bytes: &[u8]) {
    let _ = dwell_unwind::parse_maps(1, bytes);
}

/// The map of run-time code that a runtime writes.
pub fn perf_map(bytes: &[u8]) {
    let _ = readers::perf_map(bytes);
}

/// The log of run-time code that a runtime writes.
pub fn jit_dump(bytes: &[u8]) {
    let _ = readers::jit_dump(bytes);
}

/// The compressed symbol table of a stripped file.
pub fn debug_data(bytes: &[u8]) {
    let _ = readers::debug_data(bytes);
}

/// What a program wrote through ITT, on its way to the rows of a result.
pub fn itt_rows(bytes: &[u8]) {
    itt::run(bytes);
}

/// A line table of CPython: its version, then an instruction, then the table.
pub fn python_lines(bytes: &[u8]) {
    if let Some((&version, rest)) = bytes.split_first()
        && let Some((instruction, table)) = rest.split_first_chunk()
    {
        let _ = readers::python_line(version, table, u32::MAX, i32::from_le_bytes(*instruction));
    }
}

/// What a program said through ITT, as names and as events.
pub fn itt_records(bytes: &[u8]) {
    let mut events = dwell_itt_wire::events(bytes);
    let values: usize = events.by_ref().map(|stamped| stamped.event.words()).sum();
    assert!(values * 8 + events.rest() <= bytes.len(), "more was read than is there");
    let mut names = dwell_itt_wire::names(bytes);
    let texts: usize = names.by_ref().map(|named| named.bytes()).sum();
    assert!(texts + names.rest() <= bytes.len(), "more was read than is there");
}

/// The file that a program shares with the collector: its header, two slots and what both regions begin with.
pub fn itt_file(bytes: &[u8]) {
    let Ok(file) = tempfile::tempfile() else { return };
    let mut rest = bytes;
    for (at, length) in ITT_PARTS {
        let (part, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        if file.write_all_at(part, at).is_err() {
            return;
        }
    }
    let Ok(mut reader) = Reader::open(file) else { return };
    let mut drained = Drained(0);
    for _ in 0..3 {
        let Ok(round) = reader.drain(&mut drained) else { return };
        assert!(round.bytes <= 128 << 20, "a round without bound");
    }
}

/// Where the parts of [`itt_file`]'s input go, and how long they are.
const ITT_PARTS: [(u64, usize); 4] = [
    (0, layout::header::WORDS * 8),
    (layout::SLOTS_AT, 2 * layout::SLOT_BYTES as usize),
    (layout::NAMES_AT, 1024),
    (layout::RINGS_AT, usize::MAX),
];

/// Reads all that was drained.
struct Drained(usize);

impl Sink for Drained {
    fn names(&mut self, bytes: &[u8]) {
        self.0 += dwell_itt_wire::names(bytes).count();
    }

    fn events(&mut self, _tid: u32, _lost: u32, bytes: &[u8]) {
        self.0 += dwell_itt_wire::events(bytes).count();
    }
}

/// An instruction trace, whose checksums are made right: what is behind them is looked at.
pub fn instruction_trace(bytes: &[u8]) {
    anatomy::read(bytes);
}

/// What the plug-in in an emulator says.
pub fn recorder_messages(bytes: &[u8]) {
    let mut from = bytes;
    while let Ok(Some(_)) = dwell_itrace::Message::read(&mut from) {}
}

fn folder_with(name: &str, bytes: &[u8]) -> Option<TempDir> {
    let folder = TempDir::new().ok()?;
    write(folder.path(), name, bytes).then_some(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> bool {
    std::fs::write(folder.join(name), bytes).is_ok()
}
