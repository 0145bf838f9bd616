//! Where a mapped file's exported variables lie in its process.

use std::path::Path;

use object::read::elf::Sym as _;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::elf::{Data, Elf};
use crate::error::Result;

/// The runtime address of each of `names`, none where the file does not export it. The process has the file's bytes from
/// `file_offset` on at address `start`.
///
/// # Errors
///
/// The file cannot be read, or is no ELF file.
pub fn exported_addresses(path: &Path, names: &[&str], start: u64, file_offset: u64) -> Result<Vec<Option<u64>>> {
    let data = Data::open(path)?;
    let elf = Elf::parse(&data, path)?;
    // Read at once: to read each of thousands of names takes longer than all else.
    let texts = elf.file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
    let mut addresses = vec![None; names.len()];
    let Some(mapped) = elf.vaddr(file_offset) else { return Ok(addresses) };
    for symbol in elf.file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
        let at = symbol.elf_symbol().st_name(LittleEndian) as usize;
        let name = texts.get(at..).and_then(|rest| rest.split(|byte| *byte == 0).next()).unwrap_or_default();
        if let Some(found) = names.iter().position(|wanted| wanted.as_bytes() == name) {
            addresses[found] = Some(symbol.address().wrapping_sub(mapped).wrapping_add(start));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_where_the_file_is_mapped() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let libc = maps.lines().find(|line| line.contains("libc.so") && line.contains(" r-xp ")).expect("libc");
        let fields: Vec<&str> = libc.split_whitespace().collect();
        let number = |text: &str| u64::from_str_radix(text, 16).expect("number");
        let start = number(fields[0].split('-').next().expect("start"));
        let names = ["no such variable", "environ"];
        let found = exported_addresses(Path::new(fields[5]), &names, start, number(fields[2])).expect("addresses");
        assert_eq!(found[0], None);
        let place = found[1].expect("a variable of libc's");
        let holds = |line: &&str| {
            let (from, to) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("range");
            (number(from)..number(to)).contains(&place)
        };
        let mapping = maps.lines().find(holds).expect("a mapping");
        assert!(mapping.contains(" rw-p "), "{mapping}");
    }
}
