//! The bytes that the BPF programs and user space share: the records of the raw trace, as the programs write them into
//! the ring and as the spool keeps them, and what user space tells the programs.
//!
//! One declaration of each constant, enum and record is both the Rust item and a table, from which [`c_header`] makes
//! the C text; the build script of `capture` writes that as `wire.h`. The names in C are those that the declarations
//! give.
//!
//! A raw trace has the records: whoever changes a number, a size or the order of fields changes the trace format. All times are
//! CLOCK_MONOTONIC nanoseconds, all thread and process ids those of the initial pid namespace. A record whose size
//! varies has a fixed part here, and says what follows it.

mod connects;
mod control;
mod declare;
mod delay;
mod event_count;
mod fiber;
mod header;
mod java;
mod linux;
mod machine;
mod object;
mod open_requests;
mod probe;
mod snapshot;
mod socket;
mod stack;
mod sums;
mod switch;
mod thread;
mod unwind;
mod vain_try;

pub use connects::*;
pub use control::*;
pub use declare::Char;
pub use delay::*;
pub use event_count::*;
pub use fiber::*;
pub use header::*;
pub use java::*;
pub use linux::*;
pub use machine::*;
pub use object::*;
pub use open_requests::*;
pub use probe::*;
pub use snapshot::*;
pub use socket::*;
pub use stack::*;
pub use sums::*;
pub use switch::*;
pub use thread::*;
pub use unwind::*;
pub use vain_try::*;

use declare::{Constant, Enum, Record};

const CONSTANTS: &[&[Constant]] = &[
    header::CONSTANTS,
    stack::CONSTANTS,
    object::CONSTANTS,
    delay::CONSTANTS,
    socket::CONSTANTS,
    control::CONSTANTS,
    linux::CONSTANTS,
    sums::CONSTANTS,
    unwind::CONSTANTS,
    event_count::CONSTANTS,
    open_requests::CONSTANTS,
    probe::CONSTANTS,
    vain_try::CONSTANTS,
    connects::CONSTANTS,
];
const ENUMS: &[&[Enum]] = &[
    header::ENUMS,
    switch::ENUMS,
    stack::ENUMS,
    object::ENUMS,
    thread::ENUMS,
    open_requests::ENUMS,
    probe::ENUMS,
    delay::ENUMS,
    socket::ENUMS,
    fiber::ENUMS,
    machine::ENUMS,
    snapshot::ENUMS,
    sums::ENUMS,
    control::ENUMS,
    unwind::ENUMS,
    unwind::CODES,
];
/// A record that has another in it comes after that one.
const RECORDS: &[&[Record]] = &[
    header::RECORDS,
    switch::RECORDS,
    stack::RECORDS,
    object::RECORDS,
    thread::RECORDS,
    open_requests::RECORDS,
    probe::RECORDS,
    delay::RECORDS,
    socket::RECORDS,
    fiber::RECORDS,
    machine::RECORDS,
    snapshot::RECORDS,
    sums::RECORDS,
    control::RECORDS,
    java::RECORDS,
    unwind::RECORDS,
    event_count::RECORDS,
    vain_try::RECORDS,
    connects::RECORDS,
];

/// All of it in C, to be included after vmlinux.h (u8 .. u64, s32).
pub fn c_header() -> String {
    let declarations = [text_of(CONSTANTS), text_of(ENUMS), text_of(RECORDS)].concat();
    format!("/* Made of crates/wire. */\n#ifndef DWELL_WIRE_H\n#define DWELL_WIRE_H\n\n{declarations}\n#endif\n")
}

fn text_of(tables: &[&[impl ToString]]) -> String {
    tables.iter().copied().flatten().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes and alignment of a type in C, as x86-64 and BPF have it.
    fn layout_in_c(ty: &str) -> (usize, usize) {
        match ty {
            "u8" | "char" => (1, 1),
            "u16" => (2, 2),
            "u32" | "s32" => (4, 4),
            "u64" => (8, 8),
            _ => {
                let record = RECORDS.concat().into_iter().find(|record| record.name == ty).expect("a record");
                let alignments = record.fields.iter().map(|field| layout_in_c(field.ty).1);
                (record.bytes, alignments.max().expect("a field"))
            }
        }
    }

    /// Rust's structs have no padding: those that bytemuck takes for plain bytes never have. So in both languages each
    /// field begins where the one before it ends.
    #[test]
    fn no_record_has_padding_in_c() {
        for record in RECORDS.concat() {
            let mut end = 0;
            for field in record.fields {
                let (bytes, alignment) = layout_in_c(field.ty);
                assert_eq!(end % alignment, 0, "padding before {} of {}", field.name, record.name);
                end += bytes * field.count.unwrap_or(1);
            }
            assert_eq!(end, record.bytes, "{} ends elsewhere", record.name);
            assert_eq!(end % layout_in_c(record.name).1, 0, "padding behind {}", record.name);
        }
    }

    /// What a change of a declaration does to the records. Those of results that there are must stay as they are.
    #[test]
    fn the_header_has_what_is_declared() {
        insta::assert_snapshot!(c_header());
    }

    #[test]
    fn names_and_records_are_declared_once_and_before_their_use() {
        let names: Vec<&str> = RECORDS.concat().iter().map(|record| record.name).collect();
        for (at, record) in RECORDS.concat().iter().enumerate() {
            assert!(!names[..at].contains(&record.name), "{} is declared twice", record.name);
            let inner = record.fields.iter().filter(|field| field.ty.starts_with("struct "));
            for field in inner {
                assert!(names[..at].contains(&field.ty), "{} comes after {}", field.ty, record.name);
            }
        }
    }
}
