//! Copies the machine code of the functions that threads were in, with the line and the inlined functions that each
//! instruction comes from: the files may be others tomorrow.
//!
//! Which functions are worth it is decided by their share of the time; what an instruction is, the decoder says. Only
//! the lengths of instructions matter here: what they say is the reader's business.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use dwell_files::BoundedFile;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::read::ReadRef;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use serde::{Deserialize, Serialize};

use crate::code::demangle::readable;
use crate::code::files::MOST_ELF_BYTES;
use crate::code::function::Function;

/// Least share of all CPU time or of all wait time, callees included, of a function that is listed.
const LEAST_SHARE: f64 = 0.0002;
/// Most machine code of one file that is listed: what it takes to look its lines up shows in the time to finalize.
const MOST_BYTES_OF_FILE: u64 = 1 << 20;
/// Larger functions do not exist: the symbol table lies.
const MOST_BYTES_OF_FUNCTION: u64 = 512 << 10;

/// Bytes of a stub in a procedure linkage table, and how many instructions it has at most.
const STUB_BYTES: u64 = 16;
const STUB_INSTRUCTIONS: usize = 3;
/// What their names end with.
const STUB: &str = "@plt";
/// Most called functions of one file that are named.
const MOST_TARGETS: usize = 20_000;

type Elf<'d> = ElfFile64<'d, Endianness, &'d BoundedFile>;

/// Where a function's code lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeExtent {
    /// Address in the ELF file.
    pub start: u64,
    /// Length.
    pub bytes: u64,
}

/// A function that is worth a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    extent: CodeExtent,
    function: String,
    share: f64,
}

/// A function's machine code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Address in the ELF file.
    pub start: u64,
    /// Its name, as frames have it; empty when it has none, or is only called.
    pub function: String,
    /// The code.
    pub bytes: Vec<u8>,
    /// Runs of instructions from one place: offset of the first, and the function with what is inlined into it there,
    /// outermost first; empty where nothing is known.
    pub places: Vec<(u32, Vec<Function>)>,
}

/// The listings of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listings {
    /// By address.
    pub functions: Vec<Listing>,
    /// How many functions were worth it and left out because they are too many or too large.
    pub left_out: usize,
}

/// Fills in where the code at `addresses` lies where symbols do not tell it: functions in several pieces, and stripped
/// files. Call frame information tells it of every piece.
pub fn complete(file: &Path, addresses: &[u64], extents: &mut [Option<CodeExtent>]) {
    let Ok(bytes) = BoundedFile::open(file, MOST_ELF_BYTES) else { return };
    let Ok(elf) = Elf::parse(&bytes) else { return };
    let section = |name: &str| {
        let section = elf.section_by_name(name)?;
        Some((section.address(), section.data().ok()?))
    };
    let (Some((header_at, header)), Some((frames_at, frames))) = (section(".eh_frame_hdr"), section(".eh_frame"))
    else {
        return;
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at).set_eh_frame(frames_at);
    let frames = EhFrame::new(frames, LittleEndian);
    let Ok(header) = EhFrameHdr::new(header, LittleEndian).parse(&bases, 8) else { return };
    let Some(table) = header.table() else { return };
    for (address, extent) in addresses.iter().zip(extents).filter(|(_, extent)| extent.is_none()) {
        if let Ok(entry) = table.fde_for_address(&frames, &bases, *address, EhFrame::cie_from_offset) {
            *extent = Some(CodeExtent { start: entry.initial_address(), bytes: entry.len() });
        }
    }
}

/// Where the functions begin that `addresses` are in, as call frame information tells it; none where it does not, and in the
/// stubs of procedure linkage tables, which have one range for all.
pub fn function_starts(file: &Path, addresses: &[u64]) -> Vec<Option<u64>> {
    let mut extents = vec![None; addresses.len()];
    complete(file, addresses, &mut extents);
    let stubs = stub_sections(file);
    let is_stub = |start: &u64| stubs.iter().any(|section| start.wrapping_sub(section.start) < section.bytes);
    extents.into_iter().map(|extent| extent.map(|extent| extent.start).filter(|start| !is_stub(start))).collect()
}

/// The procedure linkage tables of a file: `.plt`, `.plt.got`, `.plt.sec`.
fn stub_sections(file: &Path) -> Vec<CodeExtent> {
    let Ok(bytes) = BoundedFile::open(file, MOST_ELF_BYTES) else { return Vec::new() };
    let Ok(elf) = Elf::parse(&bytes) else { return Vec::new() };
    let names = [".plt", ".plt.got", ".plt.sec"];
    let sections = names.iter().filter_map(|name| elf.section_by_name(name));
    sections.map(|section| CodeExtent { start: section.address(), bytes: section.size() }).collect()
}

/// The functions at addresses whose `shares` are given, that are worth a listing, the hottest first. `extents` and
/// `chains` say what is at each address.
pub fn worth_listing(shares: &[f64], extents: &[Option<CodeExtent>], chains: &[Vec<Function>]) -> Vec<Candidate> {
    let mut candidates: HashMap<CodeExtent, Candidate> = HashMap::new();
    for ((share, extent), chain) in shares.iter().zip(extents).zip(chains) {
        let Some(extent) = extent else { continue };
        let name = || chain.first().map_or(String::new(), |outer| outer.name.clone());
        let candidate =
            candidates.entry(*extent).or_insert_with(|| Candidate { extent: *extent, function: name(), share: 0.0 });
        candidate.share += share;
    }
    let mut worth: Vec<Candidate> = candidates.into_values().filter(|found| found.share >= LEAST_SHARE).collect();
    worth.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.extent.start.cmp(&b.extent.start)));
    worth
}

/// Who names the code of a file.
pub trait CodeNaming {
    /// For each address the function there, then what is inlined into it, outermost first; empty when unknown.
    fn chains(&self, addresses: &[u64]) -> Vec<Vec<Function>>;
    /// For each address the function that has it inside.
    fn functions(&self, addresses: &[u64]) -> Vec<Option<String>>;
}

/// Reads the code of `candidates`, the first ones first, from `file`.
pub fn list(file: &Path, candidates: Vec<Candidate>, names: &dyn CodeNaming) -> Listings {
    let mut listings = Listings::default();
    if candidates.is_empty() {
        return listings;
    }
    let Ok(file) = BoundedFile::open(file, MOST_ELF_BYTES) else { return listings };
    let Ok(elf) = Elf::parse(&file) else { return listings };
    let mut bytes_left = MOST_BYTES_OF_FILE;
    let mut targets = BTreeSet::new();
    for Candidate { extent, function, .. } in candidates {
        if extent.bytes > bytes_left.min(MOST_BYTES_OF_FUNCTION) {
            listings.left_out += 1;
            continue;
        }
        let Some(bytes) = loaded(&elf, extent.start, extent.bytes).map(<[u8]>::to_vec) else { continue };
        bytes_left -= extent.bytes;
        let places = places(&bytes, extent.start, &mut targets, names);
        listings.functions.push(Listing { start: extent.start, function, bytes, places });
    }
    listings.functions.extend(called(&targets, &Imports::new(&elf), names));
    listings.functions.sort_by_key(|listing| (listing.start, listing.bytes.is_empty()));
    // Symbols that overlap, as aliases of other sizes do, would count an address twice.
    let mut end = 0;
    listings.functions.retain(|listing| {
        let apart = listing.start >= end;
        if apart {
            end = listing.start.saturating_add(listing.bytes.len() as u64);
        }
        // A linkage table without symbols is one piece of code with a stub for each function.
        apart || (listing.bytes.is_empty() && listing.function.ends_with(STUB))
    });
    listings
}

/// The bytes that are loaded at `address`. Only these are read, not their whole segment.
fn loaded<'d>(elf: &Elf<'d>, address: u64, bytes: u64) -> Option<&'d [u8]> {
    let place = |segment: object::read::elf::ElfSegment64<'_, '_, Endianness, &'d BoundedFile>| {
        let inside = address.checked_sub(segment.address())?;
        let (offset, size) = segment.file_range();
        inside.checked_add(bytes).filter(|&end| end <= size)?;
        offset.checked_add(inside)
    };
    let offset = elf.segments().find_map(place)?;
    elf.data().read_bytes_at(offset, bytes).ok()
}

/// The names of the functions at `targets`: addresses that code calls, or of pointers that it calls through.
fn called(targets: &BTreeSet<u64>, imports: &Imports<'_, '_>, names: &dyn CodeNaming) -> Vec<Listing> {
    let targets: Vec<u64> = targets.iter().copied().take(MOST_TARGETS).collect();
    let named = targets.iter().zip(names.functions(&targets)).filter_map(|(&start, function)| {
        let function = imports.name(start).or(function)?;
        Some(Listing { start, function, bytes: Vec::new(), places: Vec::new() })
    });
    named.collect()
}

/// Functions of other files: pointers to them, which the dynamic linker fills in, and stubs that jump through these.
struct Imports<'f, 'd> {
    elf: &'f Elf<'d>,
    pointers: HashMap<u64, String>,
}

impl<'f, 'd> Imports<'f, 'd> {
    fn new(elf: &'f Elf<'d>) -> Self {
        let symbols = elf.dynamic_symbol_table();
        let pointer = |(slot, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let name = symbols.as_ref()?.symbol_by_index(index).ok()?.name().ok()?.to_owned();
            (!name.is_empty()).then(|| (slot, readable(name)))
        };
        let pointers = elf.dynamic_relocations().into_iter().flatten().filter_map(pointer).collect();
        Self { elf, pointers }
    }

    /// The function that the pointer at `address` points to, or that the stub there jumps to.
    fn name(&self, address: u64) -> Option<String> {
        if let Some(name) = self.pointers.get(&address) {
            return Some(name.clone());
        }
        let stub = loaded(self.elf, address, STUB_BYTES)?;
        let jump = Decoder::with_ip(64, stub, address, DecoderOptions::NONE).into_iter().take(STUB_INSTRUCTIONS);
        let jump = jump.into_iter().find(|instruction| instruction.mnemonic() == Mnemonic::Jmp)?;
        let slot = jump.is_ip_rel_memory_operand().then(|| jump.ip_rel_memory_address())?;
        self.pointers.get(&slot).map(|name| format!("{name}{STUB}"))
    }
}

/// Where each instruction comes from, equal neighbours together. Where they jump to outside of the code is added to
/// `targets`.
fn places(bytes: &[u8], start: u64, targets: &mut BTreeSet<u64>, names: &dyn CodeNaming) -> Vec<(u32, Vec<Function>)> {
    let end = start.saturating_add(bytes.len() as u64);
    let mut addresses = Vec::new();
    for instruction in Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
        addresses.push(instruction.ip());
        let through_pointer = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        let target = match instruction.near_branch_target() {
            0 if through_pointer && instruction.is_ip_rel_memory_operand() => instruction.ip_rel_memory_address(),
            target => target,
        };
        if target != 0 && !(start..end).contains(&target) {
            targets.insert(target);
        }
    }
    let chains = names.chains(&addresses);
    let mut places: Vec<(u32, Vec<Function>)> = Vec::new();
    for (address, chain) in addresses.iter().zip(chains) {
        if places.last().is_none_or(|(_, last)| *last != chain) {
            places.push((u32::try_from(address.wrapping_sub(start)).unwrap_or(u32::MAX), chain));
        }
    }
    places
}
