//! The parts of an ELF file that probes need. Only what is asked for is read of it.

use std::path::Path;

use dwell_files::BoundedFile;
use object::elf::{PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, ReadRef as _};

use crate::error::{Error, Result};

/// No more than this is read of a file.
const MOST_BYTES: u64 = 512 << 20;

/// An open file, parsed by [`Elf::parse`].
pub struct Data(BoundedFile);

impl Data {
    pub fn open(path: &Path) -> Result<Self> {
        let file = BoundedFile::open(path, MOST_BYTES);
        file.map(Self).map_err(|source| Error::Io { file: path.to_owned(), source })
    }
}

struct Segment {
    file_offset: u64,
    vaddr: u64,
    file_size: u64,
    executable: bool,
}

/// An x86-64 ELF file.
pub struct Elf<'d> {
    pub file: ElfFile64<'d, LittleEndian, &'d BoundedFile>,
    segments: Vec<Segment>,
}

impl<'d> Elf<'d> {
    pub fn parse(data: &'d Data, path: &Path) -> Result<Self> {
        let no_elf = |_| Error::Elf { file: path.to_owned() };
        let file = ElfFile64::<LittleEndian, _>::parse(&data.0).map_err(no_elf)?;
        let machine = file.elf_header().e_machine(LittleEndian);
        if machine != object::elf::EM_X86_64 {
            return Err(Error::Elf { file: path.to_owned() });
        }
        let loaded = file.elf_program_headers().iter().filter(|header| header.p_type(LittleEndian) == PT_LOAD);
        let segments = loaded.map(|header| Segment {
            file_offset: header.p_offset(LittleEndian),
            vaddr: header.p_vaddr(LittleEndian),
            file_size: header.p_filesz(LittleEndian),
            executable: header.p_flags(LittleEndian).contains(PF_X),
        });
        let segments = segments.collect();
        Ok(Self { file, segments })
    }

    fn segment(&self, vaddr: u64) -> Option<&Segment> {
        self.segments
            .iter()
            .find(|segment| vaddr.checked_sub(segment.vaddr).is_some_and(|within| within < segment.file_size))
    }

    /// Where in the file the byte of link-time address `vaddr` is.
    pub fn file_offset(&self, vaddr: u64) -> Option<u64> {
        let segment = self.segment(vaddr)?;
        segment.file_offset.checked_add(vaddr - segment.vaddr)
    }

    /// The link-time address of the byte at `file_offset`.
    pub fn vaddr(&self, file_offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            file_offset.checked_sub(segment.file_offset).is_some_and(|within| within < segment.file_size)
        };
        // A page at the end of one segment can be the first of the next: a mapping is told from the page's beginning on.
        let page =
            self.segments.iter().find(|segment| segment.executable && segment.file_offset & !0xfff == file_offset);
        let segment = page.or_else(|| self.segments.iter().find(holds))?;
        Some(segment.vaddr.wrapping_sub(segment.file_offset).wrapping_add(file_offset))
    }

    /// The same of code.
    pub fn code_offset(&self, vaddr: u64) -> Option<u64> {
        self.segment(vaddr).filter(|segment| segment.executable)?;
        self.file_offset(vaddr)
    }

    /// The code at link-time address `vaddr`.
    pub fn code(&self, vaddr: u64, length: u64) -> Option<&'d [u8]> {
        let segment = self.segment(vaddr).filter(|segment| segment.executable)?;
        let length = length.min(segment.file_size - (vaddr - segment.vaddr));
        self.file.data().read_bytes_at(self.file_offset(vaddr)?, length).ok()
    }
}
