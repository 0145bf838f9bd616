//! The switches of a JVM's command line, as it runs with them.

use std::collections::HashMap;

use crate::error::Result;
use crate::layout::Description;
use crate::memory::{RemoteMemory, c_text, records, word, word_at};

/// Read at most; JDK 17 to 25 have 1,250 to 1,300.
const MOST_SWITCHES: u64 = 8192;
/// Of a switch's name, bytes.
const NAME_BYTES: usize = 32;

/// Whether each of `names` is on; `false` also where the JVM has no such switch.
pub fn switches<const COUNT: usize>(
    memory: &mut impl RemoteMemory,
    is: &Description,
    names: [&str; COUNT],
) -> Result<[bool; COUNT]> {
    let (name, value, size) = (is.offset("JVMFlag::_name")?, is.offset("JVMFlag::_addr")?, is.size("JVMFlag")?);
    let first = word_at(memory, is.field("JVMFlag::flags")?.place);
    let count = word_at(memory, is.field("JVMFlag::numFlags")?.place).min(MOST_SWITCHES);
    let places: Vec<u64> = (0..count).map(|index| first.wrapping_add(index * size)).collect();
    let mut bytes = Vec::new();
    let flags: Vec<(u64, u64)> =
        records(memory, &places, size as usize, &mut bytes).map(|flag| (word(flag, name), word(flag, value))).collect();
    let texts: Vec<u64> = flags.iter().map(|(name, _)| *name).collect();
    let found: HashMap<String, u64> = records(memory, &texts, NAME_BYTES, &mut bytes)
        .map(c_text)
        .zip(flags.iter().map(|(_, value)| *value))
        .collect();
    Ok(names.map(|name| found.get(name).is_some_and(|&place| memory.read_pieces(&[(place, 1)]).first() == Some(&1))))
}
