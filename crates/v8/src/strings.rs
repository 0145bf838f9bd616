//! Strings in V8's heap: what has its characters itself, in one piece or in parts.

use crate::layout::Layout;
use crate::memory::{HeapMemory, number_at, object_of, short_at, word_at};

/// Parts of a string that are followed.
const MOST_PARTS: usize = 32;
/// Of the address of the characters in a string that has them outside of the heap (`ExternalString::resource_data_`), behind the length
/// and the resource.
const EXTERNAL_DATA: u64 = 24;

/// The type of an object, by its map.
pub fn type_of(memory: &mut impl HeapMemory, layout: &Layout, object: u64) -> Option<u32> {
    let map = object_of(word_at(memory, object + u64::from(layout.map))?)?;
    short_at(memory, map + u64::from(layout.instance_type)).map(u32::from)
}

/// Whether a value refers to a string.
pub fn is_string(memory: &mut impl HeapMemory, layout: &Layout, value: u64) -> bool {
    let kind = object_of(value).and_then(|object| type_of(memory, layout, object));
    kind.is_some_and(|kind| kind < layout.first_non_string)
}

/// The text of a string of `most` characters or less; `None` of any other value, and of a longer one.
pub fn text(memory: &mut impl HeapMemory, layout: &Layout, value: u64, most: usize) -> Option<String> {
    let mut characters: Vec<u16> = Vec::new();
    let mut parts = vec![object_of(value)?];
    for _ in 0..MOST_PARTS {
        let Some(part) = parts.pop() else { return Some(String::from_utf16_lossy(&characters)) };
        let kind = type_of(memory, layout, part).filter(|kind| *kind < layout.first_non_string)?;
        let mut reference = |offset: u32| object_of(word_at(memory, part + u64::from(offset))?);
        let representation = kind & layout.representation_mask;
        if representation == layout.cons {
            let (first, second) = (reference(layout.cons_first)?, reference(layout.cons_second)?);
            parts.extend([second, first]);
        } else if representation == layout.thin {
            parts.push(reference(layout.thin_actual)?);
        } else {
            let length = number_at(memory, part + u64::from(layout.length))? as usize;
            if length > most.saturating_sub(characters.len()) {
                return None;
            }
            let at = match representation {
                _ if representation == layout.sequential => part + u64::from(layout.characters),
                _ if representation == layout.external => word_at(memory, part + EXTERNAL_DATA)?,
                _ => return None,
            };
            characters.extend(characters_at(memory, layout, (at, length), kind)?);
        }
    }
    None
}

fn characters_at(
    memory: &mut impl HeapMemory,
    layout: &Layout,
    (at, length): (u64, usize),
    kind: u32,
) -> Option<Vec<u16>> {
    if length == 0 {
        return Some(Vec::new());
    }
    if kind & layout.encoding_mask == layout.one_byte {
        return Some(memory.bytes_at(at, length)?.into_iter().map(u16::from).collect());
    }
    let bytes = memory.bytes_at(at, 2 * length)?;
    Some(bytes.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two)).collect())
}
