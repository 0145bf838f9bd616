//! What a buffer costs, by its size: sections of the trace that the receiver's marks tell apart.

use dwell_machine::Counts;
use dwell_view::{Column, Prose, Row as Line, Value, View};

use super::columns::named;
use super::sums::sums;
use crate::annotate::Anatomy;

/// The mark before each buffer of `1 << n` bytes is `BUFFER_MARK + n`.
pub const BUFFER_MARK: u32 = 0x100;
/// The largest buffer is `1 << MOST_SHIFT` bytes.
const MOST_SHIFT: u32 = 30;

/// What a column counts.
type Counted = fn(&Counts) -> f64;

/// The columns after the size, with what they count.
const COLUMNS: &[(Column, Counted)] = &[
    (named("buffer_instructions", "Instructions", "Per buffer."), |counts| counts.instructions as f64),
    (named("buffer_branches", "Branches", "Per buffer."), |counts| counts.branches as f64),
    (named("buffer_accesses", "Memory accesses", "Loads and stores, per buffer."), |counts| {
        (counts.loads + counts.stores) as f64
    }),
    (named("buffer_tlb_misses", "TLB misses", "Of instructions and data, per buffer."), |counts| {
        (counts.itlb_misses + counts.dtlb_misses) as f64
    }),
    (named("buffer_l1i_misses", "I-cache misses", "Of L1I, per buffer."), |counts| counts.l1i_misses as f64),
    (named("buffer_l1d_misses", "D-cache misses", "Of L1D, per buffer."), |counts| {
        (counts.l1d_load_misses + counts.l1d_store_misses) as f64
    }),
    (named("buffer_cycles", "Cycles", "Per buffer."), Counts::cycles),
];

/// The bytes of the buffers that follow a mark, if it is theirs.
pub fn buffer_bytes(mark: u32) -> Option<u64> {
    mark.checked_sub(BUFFER_MARK).filter(|&shift| shift <= MOST_SHIFT).map(|shift| 1u64 << shift)
}

/// One row for each size.
pub fn buffers(anatomy: &Anatomy) -> View {
    let by_section = sums(anatomy, |row| Some(row.section));
    let mut sections: Vec<(u64, u64, Counts)> = anatomy
        .sections
        .iter()
        .enumerate()
        .filter_map(|(number, section)| {
            let counts = by_section.get(&(number as u16))?;
            Some((buffer_bytes(section.mark?)?, section.times, *counts))
        })
        .collect();
    sections.sort_by_key(|section| section.0);
    let mut columns = vec![
        named("buffer_bytes", "Bytes", "The size of a buffer."),
        named("buffers", "Buffers", "How many of this size the program filled."),
    ];
    columns.extend(COLUMNS.iter().map(|column| column.0.clone()));
    columns.push(named("cpi", "CPI", "Cycles per instruction."));
    let rows = sections.iter().map(|(bytes, times, counts)| {
        let per_buffer = COLUMNS.iter().map(|column| Value::Real((column.1)(counts) / (*times).max(1) as f64));
        let values = [Value::Count(*bytes), Value::Count(*times)].into_iter().chain(per_buffer);
        Line { depth: 0, values: values.chain([Value::Real(counts.cpi())]).collect() }
    });
    let rows: Vec<Line> = rows.collect();
    let notes = if rows.is_empty() {
        vec!["No buffer sizes are told apart: dwell anatomy system --scenario tcp-receive marks them.".to_owned()]
    } else {
        Vec::new()
    };
    View {
        title: "Buffers".into(),
        columns,
        rows,
        notes: notes.into_iter().map(Prose::plain).collect(),
        ..View::default()
    }
}
