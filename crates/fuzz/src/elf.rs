//! ELF files as input: whole ones, or pieces that a file is made of, so that mutations damage what is in a section and
//! not always the headers around it.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dwell_probes::{TaskProbe, ValueProbe, sites, value_sites};
use dwell_resolve::readers;
use dwell_unwind::{CallFrames, Code, Memory, Registers, Rule, Step, UnwindTable, walk};
use tempfile::NamedTempFile;

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const RELA: u32 = 4;
const DYNAMIC: u32 = 6;
const NOTE: u32 = 7;
const DYNSYM: u32 = 11;
/// Flags: loaded, executable.
const LOADED: u64 = 2;
const CODE: u64 = 2 | 4;

/// A section that a piece of the input can be: its name, type and flags.
type Kind = (&'static str, u32, u64);

/// By the number that a piece begins with. The section of number n is loaded at (n + 1) MiB.
const SECTIONS: &[Kind] = &[
    (".text", PROGBITS, CODE),
    (".eh_frame", PROGBITS, LOADED),
    (".eh_frame_hdr", PROGBITS, LOADED),
    (".debug_frame", PROGBITS, 0),
    (".gopclntab", PROGBITS, LOADED),
    (".symtab", SYMTAB, 0),
    (".strtab", STRTAB, 0),
    (".dynsym", DYNSYM, LOADED),
    (".dynstr", STRTAB, LOADED),
    (".rela.plt", RELA, LOADED),
    (".dynamic", DYNAMIC, LOADED),
    (".note.gnu.build-id", NOTE, LOADED),
    (".note.stapsdt", NOTE, 0),
    (".stapsdt.base", PROGBITS, LOADED),
    (".interp", PROGBITS, LOADED),
    (".gnu_debuglink", PROGBITS, 0),
    (".gnu_debugdata", PROGBITS, 0),
    (".data", PROGBITS, LOADED),
    (".debug_info", PROGBITS, 0),
    (".debug_abbrev", PROGBITS, 0),
    (".debug_line", PROGBITS, 0),
    (".debug_str", PROGBITS, 0),
    (".debug_line_str", PROGBITS, 0),
    (".debug_ranges", PROGBITS, 0),
    (".debug_rnglists", PROGBITS, 0),
    (".debug_addr", PROGBITS, 0),
    (".debug_str_offsets", PROGBITS, 0),
    (".debug_aranges", PROGBITS, 0),
];
/// Where `.text` and `.data` are loaded, and where the stack of [`call_frames`] begins.
const TEXT: u64 = 1 << 20;
const DATA: u64 = 18 << 20;
const STACK: u64 = 1 << 40;
/// Bytes of the headers: of the file, of a segment, of a section.
const FILE_HEADER: usize = 64;
const SEGMENT_HEADER: usize = 56;
const SECTION_HEADER: usize = 64;

/// A section's number and its bytes.
type Piece<'b> = (usize, &'b [u8]);

/// The pieces of an input: a number, a length in two bytes, and so many bytes; the last one may be shorter.
fn pieces(mut bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some((&[number, low, high], rest)) = bytes.split_first_chunk() {
        let (piece, behind) = rest.split_at(usize::from(u16::from_le_bytes([low, high])).min(rest.len()));
        pieces.push((usize::from(number) % SECTIONS.len(), piece));
        bytes = behind;
    }
    pieces
}

/// An input as an ELF file: as it is when it begins as one, else made of its pieces.
fn file_of(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.starts_with(b"\x7fELF") { bytes.into() } else { made_of(&pieces(bytes)).into() }
}

/// A little-endian writer of headers.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn half(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn word(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn longs(&mut self, values: &[u64]) {
        values.iter().for_each(|value| self.long(*value));
    }
}

/// The type of the segment that a section is in, beside the loaded one.
fn segment_type(name: &str) -> Option<u32> {
    match name {
        ".dynamic" => Some(2),
        ".interp" => Some(3),
        ".note.gnu.build-id" => Some(4),
        ".eh_frame_hdr" => Some(0x6474_e550),
        _ => None,
    }
}

fn made_of(pieces: &[Piece<'_>]) -> Vec<u8> {
    let loaded = |piece: &&Piece<'_>| SECTIONS[piece.0].2 & LOADED != 0;
    let segments = pieces.iter().filter(loaded).count()
        + pieces.iter().filter(|piece| segment_type(SECTIONS[piece.0].0).is_some()).count();
    let mut at = FILE_HEADER + segments * SEGMENT_HEADER;
    let mut offsets = Vec::new();
    for (_, bytes) in pieces {
        at = at.next_multiple_of(16);
        offsets.push(at);
        at += bytes.len();
    }
    let (names_at, names) = (at, names(pieces));
    let sections_at = (at + names.len()).next_multiple_of(8);
    let mut out = file_header((segments, pieces.len() + 2), sections_at);
    for (&(number, bytes), &offset) in pieces.iter().zip(&offsets) {
        let (name, _, flags) = SECTIONS[number];
        let types = [(flags & LOADED != 0).then_some(1), segment_type(name)];
        for ty in types.into_iter().flatten() {
            out.word(ty);
            out.word(if flags == CODE { 5 } else { 4 });
            let (size, address) = (bytes.len() as u64, address_of(number));
            out.longs(&[offset as u64, address, address, size, size, 1]);
        }
    }
    for ((_, bytes), offset) in pieces.iter().zip(&offsets) {
        out.0.resize(*offset, 0);
        out.0.extend(*bytes);
    }
    out.0.extend(&names);
    out.0.resize(sections_at + SECTION_HEADER, 0);
    section_headers(&mut out, pieces, &offsets);
    section_header(&mut out, (1, STRTAB, 0), (0, names_at, names.len()), (0, 0));
    out.0
}

fn file_header((segments, sections): (usize, usize), sections_at: usize) -> Out {
    let mut out = Out(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec());
    out.half(3); // ET_DYN
    out.half(62); // EM_X86_64
    out.word(1);
    out.longs(&[TEXT, FILE_HEADER as u64, sections_at as u64]);
    out.word(0);
    for value in [FILE_HEADER, SEGMENT_HEADER, segments, SECTION_HEADER, sections, sections - 1] {
        out.half(value as u16);
    }
    out
}

fn address_of(number: usize) -> u64 {
    (number as u64 + 1) << 20
}

/// The names of the sections: nothing, that of the names' own section, then each.
fn names(pieces: &[Piece<'_>]) -> Vec<u8> {
    let all = pieces.iter().map(|(number, _)| SECTIONS[*number].0);
    [".shstrtab"].into_iter().chain(all).fold(vec![0], |mut names, name| {
        names.extend(name.as_bytes());
        names.push(0);
        names
    })
}

fn section_headers(out: &mut Out, pieces: &[Piece<'_>], offsets: &[usize]) {
    let mut name_at = 1 + ".shstrtab".len() + 1;
    let numbered = |wanted: &str| pieces.iter().position(|piece| SECTIONS[piece.0].0 == wanted).map_or(0, |at| at + 1);
    for (&(number, bytes), &offset) in pieces.iter().zip(offsets) {
        let (name, ty, flags) = SECTIONS[number];
        let (link, entry) = match ty {
            SYMTAB => (numbered(".strtab"), 24),
            DYNSYM => (numbered(".dynstr"), 24),
            RELA => (numbered(".dynsym"), 24),
            DYNAMIC => (numbered(".dynstr"), 16),
            _ => (0, 0),
        };
        let address = if flags & LOADED != 0 { address_of(number) } else { 0 };
        section_header(out, (name_at, ty, flags), (address, offset, bytes.len()), (link, entry));
        name_at += name.len() + 1;
    }
}

/// A header: name, type and flags; address, offset and size; the section that belongs to it, and the size of an entry.
fn section_header(out: &mut Out, kind: (usize, u32, u64), place: (u64, usize, usize), (link, entry): (usize, u64)) {
    out.word(kind.0 as u32);
    out.word(kind.1);
    out.longs(&[kind.2, place.0, place.1 as u64, place.2 as u64]);
    out.word(link as u32);
    out.word(0);
    out.longs(&[1, entry]);
}

/// The file with this content, for readers that take a path.
fn saved(bytes: &[u8]) -> Option<NamedTempFile> {
    let mut file = NamedTempFile::new().ok()?;
    file.write_all(&file_of(bytes)).ok()?;
    Some(file)
}

/// Unwind tables, and look-ups in them.
pub fn unwind(bytes: &[u8]) {
    if let Ok(table) = UnwindTable::of_bytes(&file_of(bytes)) {
        for pc in [0, 1, 255, 256, 4096, u32::MAX / 2, u32::MAX] {
            let _ = table.lookup(pc);
        }
    }
}

/// The steps of a file's table and of its call frame information.
struct Steps(Rc<CallFrames>, Option<UnwindTable>);

impl Code for Steps {
    fn step(&mut self, pc: u64) -> Step {
        let place = |table: &UnwindTable| u32::try_from(pc.checked_sub(table.layout().base())?).ok();
        let step = self.1.as_ref().and_then(|table| Some(table.lookup(place(table)?)));
        step.unwrap_or(Step { rule: Rule::Unsupported, cfa: 0, rbp: 0 })
    }

    fn frames(&mut self, pc: u64) -> Option<(Rc<CallFrames>, u64)> {
        Some((self.0.clone(), pc))
    }
}

/// A stack that is the section `.data`, as long as it is.
struct Stack<'b>(&'b [u8]);

impl Memory for Stack<'_> {
    fn word(&mut self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(STACK)?).ok()?;
        self.0.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
    }
}

/// Complete call frame information, by which stacks are walked.
pub fn call_frames(bytes: &[u8]) {
    let file = file_of(bytes);
    let Ok(frames) = CallFrames::of_bytes(&file) else { return };
    let mut code = Steps(Rc::new(frames), UnwindTable::of_bytes(&file).ok());
    let all = pieces(bytes);
    let stack = all.iter().find(|(number, _)| address_of(*number) == DATA).map_or(&[][..], |piece| piece.1);
    for place in 0..24 {
        let registers = Registers { ip: TEXT + place * 5, all: [Some(STACK + place * 8); 16] };
        let walked = walk(registers, &mut code, &mut Stack(stack));
        assert!(walked.frames.len() <= dwell_unwind::MAX_FRAMES && !walked.frames.is_empty());
    }
}

/// What is read of a mapped file beside its unwind table: build id, debug link, what it needs, probes, and the bounds
/// of its tables.
pub fn elf_file(bytes: &[u8]) {
    let Some(file) = saved(bytes) else { return };
    let _ = File::open(file.path()).map(|file| dwell_unwind::build_id_of(&file));
    let _ = dwell_unwind::dynamic_linker(file.path());
    let _ = dwell_unwind::program_files(file.path());
    let _ = readers::elf_facts(file.path());
    for probe in PROBES {
        let _ = TaskProbe::parse(probe).map(|probe| sites(file.path(), &probe.place));
    }
}

/// Probes that [`elf_file`] looks for; the functions are those of its seeds.
const PROBES: &[&str] = &["t=uprobe:main", "t=uprobe:f::g", "t=usdt:app:begin..end", "t=uprobe:+0x100000..+0x100008"];

/// Names, lines, scopes and machine code of a file with debug information.
pub fn debug_info(bytes: &[u8]) {
    let Some(file) = saved(bytes) else { return };
    let _ = readers::names_in(file.path(), TEXT);
    for probe in VALUE_PROBES {
        let _ = ValueProbe::parse(probe).map(|probe| value_sites(file.path(), &probe));
    }
}

/// Probes whose parameters [`debug_info`] looks for.
const VALUE_PROBES: &[&str] =
    &["v=uprobe:main(argc, argv, p->next.a)", "v=uprobe:+0x100000(a->b, c)", "v=uprobe:f::g(this->a)"];

/// The pieces of a real file: its code and data lie elsewhere in what is made of them. None of a file whose headers lead
/// nowhere.
fn pieces_of(path: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let long = |at: usize| bytes.get(at..)?.first_chunk().map(|it| u64::from_le_bytes(*it) as usize);
    let half = |at: usize| bytes.get(at..)?.first_chunk().map(|it| usize::from(u16::from_le_bytes(*it)));
    let section = |number: usize| Some(long(40)? + number * SECTION_HEADER);
    let content = |header: usize| bytes.get(long(header + 24)?..)?.get(..long(header + 32)?);
    let names = content(section(half(62)?)?)?;
    let mut all = Vec::new();
    for header in (1..half(60)?).filter_map(section) {
        let name = names.get(long(header)? & 0xffff_ffff..)?.split(|&byte| byte == 0).next()?;
        let Some(number) = SECTIONS.iter().position(|known| known.0.as_bytes() == name) else { continue };
        let Some(data) = content(header) else { continue };
        let data = data.get(..usize::from(u16::MAX)).unwrap_or(data);
        all.push(number as u8);
        all.extend((data.len() as u16).to_le_bytes());
        all.extend(data);
    }
    Some(all)
}

/// Small programs of this system, whole and in pieces: of several compilers' making, where there are several.
pub(crate) fn programs() -> Vec<Vec<u8>> {
    let paths = ["/bin/true", "/usr/bin/env"].map(PathBuf::from);
    let whole = paths.iter().filter_map(|path| std::fs::read(path).ok());
    whole.chain(paths.iter().filter_map(|path| pieces_of(path))).collect()
}
