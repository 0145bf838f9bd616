//! The functions that programs call, by the names in their static parts' lists.
//! They take what a program announces and write it as events and names.
//! A function that is not here is not ours to bind: the program keeps its null function.

mod arguments;
mod control;
mod counters;
mod creating;
mod function;
mod metadata;
mod modules;
pub mod stitch;
mod sync;
mod tasks;

use core::ffi::{CStr, c_void};

use function::Function;

const TABLES: [&[Function]; 8] = [
    creating::FUNCTIONS,
    tasks::FUNCTIONS,
    counters::FUNCTIONS,
    metadata::FUNCTIONS,
    sync::FUNCTIONS,
    control::FUNCTIONS,
    modules::FUNCTIONS,
    stitch::FUNCTIONS,
];

/// The function called `name`.
pub fn called(name: &CStr) -> Option<*const c_void> {
    let mut all = TABLES.iter().flat_map(|table| table.iter());
    all.find(|(known, _)| *known == name).map(|(_, address)| address.0)
}
