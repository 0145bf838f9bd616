//! What reads bytes that others wrote: the readers that a fuzzer drives, and the good inputs that it starts from.
//!
//! `fuzz/` gives each of these functions to libFuzzer (`cargo +nightly fuzz run spool`, all of them: `make fuzz`);
//! `tests/mutations.rs` gives them the inputs in `fuzz/corpus` and a bounded, repeatable number of mutations in every
//! `make test`. A target takes any bytes and returns; the finding is a panic, a hang or memory without bound.

mod anatomy;
mod capture;
mod elf;
mod itt;
mod memory;
mod raw;
mod result;
mod seeds;

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dwell_itt_wire::{Reader, Sink, layout};
use dwell_machine::{Depth, Machine, Replay};
use dwell_pt::perf_data::PerfData;
use dwell_resolve::readers;
use dwell_store::raw::{Record, Records, SpoolReader, Stream};
use dwell_store::{Folder, ResultFolder};
use tempfile::TempDir;

/// Who can write what a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The profiled program, or the kernel in words that the program chose.
    Program,
    /// Whoever hands on a result, a trace or another file.
    Giver,
    /// Whoever can reach the server and has the token.
    Client,
}

/// A reader under test.
pub struct Target {
    /// Name, as in `fuzz/fuzz_targets/NAME.rs`.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Who can write that.
    pub writer: Writer,
    /// Feeds it with `bytes`.
    pub run: fn(&[u8]),
    /// Good inputs. Empty when they could not be made.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The inputs that earlier runs found and that reach all that they reached.
    pub fn corpus(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(self.name);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
    }
}

macro_rules! targets {
    ($($name:ident, $writer:ident, $seeds:path, $reads:literal;)*) => {
        /// Every reader.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            reads: $reads,
            writer: Writer::$writer,
            run: $name,
            seeds: $seeds,
        },)*];
    };
}

targets! {
    perf_records, Program, capture::some_perf_records, "the kernel's records of perf events, with names and stacks";
    proc_texts, Program, capture::texts, "texts of `/proc`: mappings, sockets, a thread's call, the environment";
    unwind, Program, elf::programs, "an ELF file's `.eh_frame`, `.debug_frame`, `.gopclntab` and CPython's structures";
    call_frames, Program, elf::programs, "complete call frame information, by which a hostile stack is walked";
    elf_file, Program, elf::programs, "an ELF file's build id, links, needed libraries, probes and symbols";
    debug_info, Program, elf::programs, "DWARF and symbols: names, lines, scopes and machine code";
    debug_data, Program, seeds::debug_data, "the compressed symbols in `.gnu_debugdata`";
    symbol_name, Program, seeds::symbol_names, "mangled names of C++ and Rust";
    perf_map, Program, seeds::perf_map, "`perf-PID.map`";
    jit_dump, Program, seeds::jit_dump, "`jit-PID.dump`";
    code_cache, Program, memory::code_caches, "the memory of a JVM, where its compiled code is described";
    goroutines, Program, memory::go_programs, "the memory of a Go program: its goroutines and their stacks";
    python_lines, Program, seeds::python_lines, "line tables of CPython";
    itt_file, Program, seeds::itt_file, "the file of rings that a program shares through ITT";
    itt_records, Program, seeds::itt_records, "names and events in these rings";
    itt_rows, Program, itt::good, "the same, up to the rows of a result";
    recorder, Program, anatomy::messages, "what the emulator's plug-in says, and the memory that it shares";
    records, Giver, seeds::records, "records of a chunk of a raw trace";
    spool, Giver, seeds::spool, "chunks of a raw trace";
    finalized, Giver, raw::seeds, "a raw trace: finalized, merged with itself, every report of it";
    manifest, Giver, seeds::manifest, "a result's `manifest.json`";
    table, Giver, result::tables, "one of a result's tables, and every report of the result";
    index, Giver, result::good_index, "a result's `index.cache`, and every report through it";
    instruction_trace, Giver, anatomy::traces, "an instruction trace: replayed, every report of it";
    machine, Giver, seeds::machine, "a machine's description";
    perf_data, Giver, seeds::perf_data, "a file of `perf record`";
    query, Client, result::requests, "requests to `dwell view`: address and headers";
}

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
pub fn recorder(bytes: &[u8]) {
    anatomy::recorder(bytes);
}

/// A mangled name, or a bare one and a mangled one.
pub fn symbol_name(bytes: &[u8]) {
    let _ = readers::symbol_name(&String::from_utf8_lossy(bytes));
}

/// What `perf record` wrote.
pub fn perf_data(bytes: &[u8]) {
    let Ok(data) = PerfData::parse(bytes) else { return };
    let traced: usize = data.traces.iter().map(|trace| trace.bytes.len()).sum();
    assert!(traced <= bytes.len(), "more was read than is there");
    for process in data.traces.iter().filter_map(|trace| data.process_of(trace)) {
        let code = data.code_of(process);
        let _ = [0, 0x1000, u64::MAX].map(|address| code.place(address));
    }
}

pub use capture::{perf_records, proc_texts};
pub use elf::{call_frames, debug_info, elf_file, unwind};
pub use memory::{code_cache, goroutines};
pub use result::{finalized, index, query, table};

fn folder_with(name: &str, bytes: &[u8]) -> Option<TempDir> {
    let folder = TempDir::new().ok()?;
    write(folder.path(), name, bytes).then_some(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> bool {
    std::fs::write(folder.join(name), bytes).is_ok()
}
