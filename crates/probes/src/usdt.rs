//! USDT probes: notes that name an instruction, and the counter that says whether somebody listens.

use object::read::elf::SectionHeader as _;
use object::{LittleEndian, Object as _, ObjectSection as _};

use crate::elf::Elf;

/// Type of these notes, whose owner is "stapsdt".
const STAPSDT: u32 = 3;
/// No honest file has more.
const MOST_PROBES: usize = 100_000;

/// A probe in the file; link-time addresses.
#[derive(Debug)]
pub struct Usdt {
    pub provider: String,
    pub name: String,
    pub address: u64,
    /// 0 = none.
    pub semaphore: u64,
    /// Where its arguments are: `8@%rax -4@-20(%rbp)`.
    pub arguments: String,
}

/// All probes of a file. A damaged note is passed over.
pub fn probes(elf: &Elf<'_>) -> Vec<Usdt> {
    let base = elf.file.section_by_name(".stapsdt.base").map_or(0, |section| section.address());
    let sections = elf.file.elf_section_table().iter();
    let lists = sections.filter_map(|section| section.notes(LittleEndian, elf.file.data()).ok().flatten());
    let mut found = Vec::new();
    for mut notes in lists {
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"stapsdt" && note.n_type(LittleEndian).0 == STAPSDT && found.len() < MOST_PROBES {
                found.extend(probe(note.desc(), base));
            }
        }
    }
    found
}

/// pc, base, semaphore: words; provider, name, arguments: texts that end with a zero. A linker that moved the code after
/// the note was written (prelink) moved the base as well.
fn probe(note: &[u8], base: u64) -> Option<Usdt> {
    let word = |at: usize| Some(u64::from_le_bytes(note.get(at..at + 8)?.try_into().ok()?));
    let (address, told_base, semaphore) = (word(0)?, word(8)?, word(16)?);
    let moved = if base == 0 { 0 } else { base.wrapping_sub(told_base) };
    let mut texts = note.get(24..)?.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
    Some(Usdt {
        provider: texts.next()?,
        name: texts.next()?,
        address: address.wrapping_add(moved),
        semaphore: if semaphore == 0 { 0 } else { semaphore.wrapping_add(moved) },
        arguments: texts.next().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_and_moved_with_its_base() {
        let mut note: Vec<u8> = [0x1000u64, 0x2000, 0x3000].iter().flat_map(|word| word.to_le_bytes()).collect();
        note.extend_from_slice(b"python\0gc__start\08@%eax\0");
        let usdt = probe(&note, 0x2010).expect("good note");
        assert_eq!((usdt.provider.as_str(), usdt.name.as_str()), ("python", "gc__start"));
        assert_eq!((usdt.address, usdt.semaphore), (0x1010, 0x3010));
        assert_eq!(probe(&note, 0).expect("good note").address, 0x1000);
        for cut in 0..30 {
            assert!(probe(&note[..cut], 0).is_none());
        }
    }
}
