//! What an ELF file says about itself that unwinding needs: its segments, its build-id, its call frame information and
//! the libraries it asks for. Reads only the parts of the file that it needs.

use std::fs::File;

use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PF_X, PT_GNU_EH_FRAME, PT_LOAD};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ReadRef};

use crate::error::{Error, Result};
use dwell_files::{BoundedFile, section_data};

/// Page size of the processor; mappings and segments are rounded to it.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Many entries can have one string, which is as long as the file.
const MOST_DYNAMIC_STRINGS: usize = 1000;
/// `PATH_MAX`.
const LONGEST_PATH: usize = 4096;
/// The most that is read of a file; the largest libraries need 100 MiB.
pub(crate) const MOST_BYTES: u64 = 512 << 20;
/// The most that is read of a program for its notes.
const MOST_NOTE_BYTES: u64 = 1 << 20;

/// The GNU build-id of an x86-64 ELF file, whose position it moves; `None` without one, or when the file is no ELF file.
pub fn build_id_of(file: &File) -> Option<Vec<u8>> {
    let data = BoundedFile::new(file.try_clone().ok()?, MOST_BYTES);
    let elf = Elf::parse(&data).ok()?;
    Some(elf.build_id()).filter(|id| !id.is_empty())
}

/// The GNU build-id of a 64-bit ELF program, whose position it moves, by its program headers: a few KiB are read, whatever its symbols
/// weigh. `None` without one, or when the file is no such program.
pub fn program_build_id(file: &File) -> Option<Vec<u8>> {
    let data = BoundedFile::new(file.try_clone().ok()?, MOST_NOTE_BYTES);
    let header = FileHeader64::<LittleEndian>::parse(&data).ok().filter(|header| header.is_little_endian())?;
    for header in header.program_headers(LittleEndian, &data).ok()? {
        let Ok(Some(mut notes)) = header.notes(LittleEndian, &data) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == ELF_NOTE_GNU && note.n_type(LittleEndian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec()).filter(|id| !id.is_empty());
            }
        }
    }
    None
}

/// A loadable segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins in the file.
    pub file_offset: u64,
    /// The address that the file was linked for.
    pub vaddr: u64,
    /// Its bytes in the file.
    pub file_size: u64,
    /// Whether it holds code.
    pub executable: bool,
}

impl Segment {
    /// The page-aligned file offset at which the loader maps it.
    fn mapped_offset(&self) -> u64 {
        self.file_offset & !(PAGE_BYTES - 1)
    }

    /// The link-time address of the byte at `file_offset`, when a mapping from there on shows this segment.
    pub(crate) fn vaddr_of(&self, file_offset: u64) -> Option<u64> {
        let within =
            file_offset >= self.mapped_offset() && file_offset < self.file_offset.checked_add(self.file_size)?;
        within.then(|| self.vaddr.wrapping_sub(self.file_offset).wrapping_add(file_offset))
    }

    pub(crate) fn end(&self) -> u64 {
        self.vaddr.saturating_add(self.file_size)
    }
}

/// A section of call frame information.
pub(crate) struct FrameSection<'data> {
    pub bytes: std::borrow::Cow<'data, [u8]>,
    /// Its link-time address, from which its pointers are counted.
    pub vaddr: u64,
    /// `.debug_frame` rather than `.eh_frame`.
    pub debug: bool,
    /// Link-time addresses of `.text` and `.got`, for pointers relative to them.
    pub text: u64,
    pub got: u64,
}

/// An x86-64 ELF file, its headers parsed.
pub(crate) struct Elf<'data, R: ReadRef<'data>> {
    file: ElfFile64<'data, LittleEndian, R>,
    pub segments: Vec<Segment>,
}

impl<'data, R: ReadRef<'data>> Elf<'data, R> {
    pub fn parse(data: R) -> Result<Self> {
        let header = FileHeader64::<LittleEndian>::parse(data)?;
        if !header.is_little_endian() || header.e_machine(LittleEndian) != object::elf::EM_X86_64 {
            return Err(Error::Machine);
        }
        let file = ElfFile64::parse(data)?;
        let segments = file
            .elf_program_headers()
            .iter()
            .filter(|header| header.p_type(LittleEndian) == PT_LOAD)
            .map(|header| Segment {
                file_offset: header.p_offset(LittleEndian),
                vaddr: header.p_vaddr(LittleEndian),
                file_size: header.p_filesz(LittleEndian),
                executable: header.p_flags(LittleEndian).contains(PF_X),
            })
            .collect();
        Ok(Self { file, segments })
    }

    /// The parsed file.
    pub fn file(&self) -> &ElfFile64<'data, LittleEndian, R> {
        &self.file
    }

    /// The `length` bytes that the file holds for link-time address `vaddr`.
    pub fn loaded_bytes(&self, vaddr: u64, length: u64) -> Option<&'data [u8]> {
        let segment = self.segments.iter().find(|segment| (segment.vaddr..segment.end()).contains(&vaddr))?;
        let skip = vaddr - segment.vaddr;
        if segment.file_size - skip < length {
            return None;
        }
        self.file.data().read_bytes_at(segment.file_offset.checked_add(skip)?, length).ok()
    }

    /// The GNU build-id; empty when the file has none.
    pub fn build_id(&self) -> Vec<u8> {
        self.file.build_id().ok().flatten().unwrap_or_default().to_vec()
    }

    /// The path of the program interpreter (the dynamic linker).
    pub fn interpreter(&self) -> Option<Vec<u8>> {
        let headers = self.file.elf_program_headers();
        let found =
            headers.iter().find_map(|header| header.interpreter(LittleEndian, self.file.data()).ok().flatten())?;
        Some(found.to_vec())
    }

    /// The strings of the dynamic section's entries with this tag: `DT_NEEDED`, `DT_RUNPATH`, `DT_RPATH`. Not those behind a
    /// thousand, which no honest file has.
    pub fn dynamic_strings(&self, tag: object::elf::DynamicTag) -> Vec<Vec<u8>> {
        let Ok(table) = self.file.elf_dynamic_table() else { return Vec::new() };
        let entries = table.iter().filter(|entry| entry.tag == tag).take(MOST_DYNAMIC_STRINGS);
        let strings = entries.filter_map(|entry| table.string(entry).ok());
        strings.filter(|string| string.len() < LONGEST_PATH).map(<[u8]>::to_vec).collect()
    }

    /// The call frame information: `.eh_frame` by its section or, in a file without sections, by its program header;
    /// else `.debug_frame`.
    pub fn frame_section(&self) -> Result<FrameSection<'data>> {
        self.section(".eh_frame", false)
            .or_else(|| self.eh_frame_by_header())
            .or_else(|| self.section(".debug_frame", true))
            .ok_or(Error::NoFrameInformation)
    }

    fn section(&self, name: &str, debug: bool) -> Option<FrameSection<'data>> {
        let section = self.file.section_by_name(name)?;
        let bytes = section_data(&section)?;
        if bytes.is_empty() {
            return None;
        }
        Some(FrameSection {
            bytes,
            vaddr: section.address(),
            debug,
            text: self.address(".text"),
            got: self.address(".got"),
        })
    }

    fn address(&self, name: &str) -> u64 {
        self.file.section_by_name(name).map_or(0, |section| section.address())
    }

    /// The content of a section, uncompressed.
    pub fn section_bytes(&self, name: &str) -> Option<std::borrow::Cow<'data, [u8]>> {
        section_data(&self.file.section_by_name(name)?)
    }

    /// Where Go's code begins: `runtime.text`, or `.text` where Go's own linker has put nothing else there.
    pub fn go_text(&self) -> Option<u64> {
        dwell_pclntab::text_start(&self.file)
    }

    /// The code from link-time address `start` to `end`.
    pub fn code(&self, start: u64, end: u64) -> Option<&'data [u8]> {
        let segment = self.segments.iter().find(|segment| segment.vaddr <= start && end <= segment.end())?;
        let offset = segment.file_offset.checked_add(start - segment.vaddr)?;
        self.file.data().read_bytes_at(offset, end.checked_sub(start)?).ok()
    }

    /// The section's extent is not known here: it is read to the end of its segment, and its own terminator ends it.
    fn eh_frame_by_header(&self) -> Option<FrameSection<'data>> {
        let header =
            self.file.elf_program_headers().iter().find(|header| header.p_type(LittleEndian) == PT_GNU_EH_FRAME)?;
        let index = self.bytes_at(header.p_vaddr(LittleEndian))?;
        let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(header.p_vaddr(LittleEndian));
        let parsed = gimli::EhFrameHdr::new(index, gimli::LittleEndian).parse(&bases, 8).ok()?;
        let vaddr = parsed.eh_frame_ptr().direct().ok()?;
        Some(FrameSection { bytes: self.bytes_at(vaddr)?.into(), vaddr, debug: false, text: 0, got: 0 })
    }

    /// The file's bytes from link-time address `vaddr` to the end of its segment.
    fn bytes_at(&self, vaddr: u64) -> Option<&'data [u8]> {
        let segment = self.segments.iter().find(|segment| (segment.vaddr..segment.end()).contains(&vaddr))?;
        let skip = vaddr - segment.vaddr;
        self.file.data().read_bytes_at(segment.file_offset.checked_add(skip)?, segment.file_size - skip).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_build_id() {
        let own = File::open("/proc/self/exe").unwrap();
        assert_eq!(program_build_id(&own), build_id_of(&own));
        assert!(program_build_id(&File::open("/bin/sh").unwrap()).is_some_and(|id| id.len() == 20));
        assert_eq!(program_build_id(&File::open("/proc/self/comm").unwrap()), None);
    }

    /// A file that needs so many libraries, all of one name of so many letters.
    fn with_needed(count: usize, letters: usize) -> Vec<u8> {
        let (strings_at, strings) = (64, letters + 2);
        let dynamic_at = (strings_at + strings).next_multiple_of(8);
        let headers_at = dynamic_at + (count + 1) * 16;
        let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
        [0, 0, headers_at as u64].iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend([0; 4]);
        [64u16, 56, 0, 64, 3, 2].iter().for_each(|half| out.extend(half.to_le_bytes()));
        out.push(0);
        out.resize(strings_at + 1 + letters, b'a');
        out.resize(dynamic_at, 0);
        let needed = [1u64; 2].map(u64::to_le_bytes).concat(); // DT_NEEDED, the name behind the first byte
        (0..count).for_each(|_| out.extend(&needed));
        out.resize(headers_at + 64, 0);
        for (ty, at, size, link) in [(6u32, dynamic_at, (count + 1) * 16, 2u32), (3, strings_at, strings, 0)] {
            [0, ty].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [0, 0, at as u64, size as u64].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [link, 0].iter().for_each(|word| out.extend(word.to_le_bytes()));
            [8, if ty == 6 { 16u64 } else { 0 }].iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
        out
    }

    #[test]
    fn a_file_needs_a_bounded_number_of_libraries() {
        let needed = |count, letters| {
            let file = with_needed(count, letters);
            Elf::parse(&*file).expect("an ELF file").dynamic_strings(object::elf::DT_NEEDED)
        };
        assert_eq!(needed(3, 5), vec![b"aaaaa".to_vec(); 3]);
        assert_eq!(needed(100_000, 5).len(), MOST_DYNAMIC_STRINGS);
        assert!(needed(100, 1 << 20).is_empty(), "longer than a path can be");
    }
}
