//! The tables in which a JVM describes its structures to debuggers: fields with their offsets, types with their sizes.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::memory::{RemoteMemory, c_text, number, records, word, word_at};

/// Entries of a table that are read at most; JDK 17 to 25 have 335 to 811.
const MOST_ENTRIES: usize = 8192;
/// Read at once.
const ENTRIES_AT_ONCE: usize = 256;
/// Longest entry that is believed, bytes.
const MOST_STRIDE: u64 = 256;
/// Of a name, bytes.
const MOST_NAME: usize = 96;

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its offset in the structure; of a static one its address.
    pub place: u64,
    /// Its type, as C++ writes it.
    pub type_name: String,
}

/// Where the exported variables say that a table and the parts of its entries lie.
struct TableShape {
    first: u64,
    stride: u64,
    offsets: Vec<u64>,
}

impl TableShape {
    /// From the addresses of the variables: the table, its stride, then the offsets.
    fn read(memory: &mut impl RemoteMemory, variables: &[u64]) -> Result<Self> {
        let values: Vec<u64> = variables.iter().map(|&variable| word_at(memory, variable)).collect();
        let [first, stride, offsets @ ..] = values.as_slice() else {
            return Err(Error::Implausible { what: "the number of exported variables" });
        };
        if *first == 0 {
            return Err(Error::Unreadable { what: "the JVM's description of itself" });
        }
        if !(8..=MOST_STRIDE).contains(stride) || offsets.iter().any(|offset| offset >= stride) {
            return Err(Error::Implausible { what: "the shape of the JVM's description of itself" });
        }
        Ok(Self { first: *first, stride: *stride, offsets: offsets.to_vec() })
    }

    /// All entries up to the first one without a name, the first of `offsets`.
    fn entries(&self, memory: &mut impl RemoteMemory) -> Vec<Vec<u8>> {
        let mut entries = Vec::new();
        let mut bytes = Vec::new();
        for first in (0..MOST_ENTRIES).step_by(ENTRIES_AT_ONCE) {
            let place = |index: usize| self.first.wrapping_add(self.stride.wrapping_mul(index as u64));
            let places: Vec<u64> = (first..first + ENTRIES_AT_ONCE).map(place).collect();
            for entry in records(memory, &places, self.stride as usize, &mut bytes) {
                if self.offsets.first().is_none_or(|&name| word(entry, name) == 0) {
                    return entries;
                }
                entries.push(entry.to_vec());
            }
        }
        entries
    }

    /// The texts to which the entries' pointers at one of the offsets lead.
    fn texts(&self, memory: &mut impl RemoteMemory, entries: &[Vec<u8>], which: usize) -> Vec<String> {
        let places: Vec<u64> = entries.iter().map(|entry| self.part(entry, which)).collect();
        let mut bytes = Vec::new();
        records(memory, &places, MOST_NAME, &mut bytes).map(c_text).collect()
    }

    fn part(&self, entry: &[u8], which: usize) -> u64 {
        self.offsets.get(which).map_or(0, |&offset| word(entry, offset))
    }
}

/// Fields by `Type::field`. `variables`: as [`crate::EXPORTS`] names those of the fields.
pub fn fields(memory: &mut impl RemoteMemory, variables: &[u64]) -> Result<HashMap<String, Field>> {
    let shape = TableShape::read(memory, variables)?;
    let entries = shape.entries(memory);
    let types = shape.texts(memory, &entries, 0);
    let names = shape.texts(memory, &entries, 1);
    let type_names = shape.texts(memory, &entries, 2);
    let described = entries.iter().zip(types.iter().zip(names).zip(type_names));
    let field = |(entry, ((of, name), type_name)): (&Vec<u8>, ((&String, String), String))| {
        let is_static = shape.offsets.get(3).is_some_and(|&offset| number(entry, offset) != 0);
        let place = shape.part(entry, if is_static { 5 } else { 4 });
        (format!("{of}::{name}"), Field { place, type_name })
    };
    Ok(described.map(field).collect())
}

/// Sizes of types in bytes, by name. `variables`: as [`crate::EXPORTS`] names those of the types.
pub fn sizes(memory: &mut impl RemoteMemory, variables: &[u64]) -> Result<HashMap<String, u64>> {
    let shape = TableShape::read(memory, variables)?;
    let entries = shape.entries(memory);
    let names = shape.texts(memory, &entries, 0);
    Ok(names.into_iter().zip(entries.iter().map(|entry| shape.part(entry, 1))).collect())
}
