//! The name and the place of a compiled function, in its `ScopeInfo`.
//!
//! Which fields one has is said by flags whose bits differ between versions, so that its fields tell themselves: flags, number of
//! parameters and of variables (small integers); in newer versions where it begins and ends; names of variables, as many small integers
//! about them; perhaps one about its class; its own name with a small integer, or an inferred one; in older versions where it begins
//! and ends (`src/objects/scope-info.tq` of V8 9 to 13).

use crate::layout::Layout;
use crate::memory::{HeapMemory, small_integer, words};
use crate::strings::{is_string, text};

/// Fields before the names of variables: flags, parameters, variables.
const FIXED: usize = 3;
/// Variables of a function whose names stand there; of more there is a table instead.
const MOST_VARIABLES: usize = 75;
/// Fields behind the variables that are looked at.
const LOOKED_AT: usize = 8;
/// Longest name that is read.
pub const MOST_NAME: usize = 400;

/// What a `ScopeInfo` says of its function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ScopeInfo {
    /// Its name; empty where it has none.
    pub name: String,
    /// Where it begins in its script, characters.
    pub begins: Option<usize>,
}

/// Reads the `ScopeInfo` at an address.
pub fn scope_info(memory: &mut impl HeapMemory, layout: &Layout, at: u64) -> Option<ScopeInfo> {
    // Map, then the fields. It may end before the last of them, and what follows it is no part of it.
    let count = 1 + FIXED + 2;
    let head: Vec<u64> = words(&memory.bytes_at(at, 8 * count)?).skip(1).collect();
    let variables = usize::try_from(small_integer(*head.get(FIXED - 1)?)?).ok()?;
    let early = span(head.get(FIXED..)?);
    let names_at = if early.is_some() { FIXED + 2 } else { FIXED };
    let behind = match variables {
        0..MOST_VARIABLES => names_at + 2 * variables,
        _ => names_at + 1 + variables,
    };
    let behind_at = at.checked_add(8 * (1 + behind as u64))?;
    let rest = (1..=LOOKED_AT).rev().find_map(|fields| memory.bytes_at(behind_at, 8 * fields))?;
    let rest: Vec<u64> = words(&rest).collect();
    // Something about its class may come first, an inferred name behind the own one and its slot.
    let mut strings =
        (0..rest.len().min(5)).filter(|field| is_string(memory, layout, rest[*field])).collect::<Vec<_>>();
    strings.retain(|field| *field <= strings_end(&rest));
    let names = strings.iter().filter_map(|field| text(memory, layout, rest[*field], MOST_NAME));
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let later = strings.first().map_or(0, |field| field + 1);
    Some(ScopeInfo { name, begins: early.or_else(|| late_span(rest.get(later..).unwrap_or_default())) })
}

/// The field before which names are: behind it is where the function begins.
fn strings_end(fields: &[u64]) -> usize {
    let pairs = fields.windows(2).position(|pair| span(pair).is_some());
    pairs.unwrap_or(fields.len())
}

/// Where a function begins, by two fields that can be its begin and its end.
fn span(fields: &[u64]) -> Option<usize> {
    let [begin, end, ..] = fields else { return None };
    let (begin, end) = (small_integer(*begin)?, small_integer(*end)?);
    usize::try_from(begin).ok().filter(|_| begin < end)
}

/// The same behind a name, whose slot may come first.
fn late_span(fields: &[u64]) -> Option<usize> {
    let integers = fields.iter().take_while(|field| small_integer(**field).is_some()).count();
    if integers > 2 {
        return span(&fields[1..]).or_else(|| span(fields));
    }
    fields.windows(2).find_map(span)
}
