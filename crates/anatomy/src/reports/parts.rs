//! The parts of a trace by time: what its marks tell apart, and its packets.

use dwell_view::{Column, Row as Line, Value, View};

use super::calls::cycles;
use super::columns::named;
use super::sections::buffer_bytes;
use crate::annotate::Anatomy;

const COLUMNS: &[Column] = &[
    named("part", "Part", "A packet; buffers of one size; what follows another mark."),
    named("kind", "Kind", "packet, buffers or mark."),
    named("number", "Number", "Of the packet; bytes of a buffer; of the mark."),
    named("times", "Times", "How often the mark was passed."),
    named("clock", "Clock", "Cycles since the beginning, when it began."),
    named("part_cycles", "Cycles", "Cycles until the next one of its kind began."),
];

/// A part, before it is known when the next one begins.
struct Part {
    kind: &'static str,
    number: u64,
    times: u64,
    begin: u64,
}

/// One row for each part, sections first.
pub fn parts(anatomy: &Anatomy, limit: usize) -> View {
    let mut sections: Vec<Part> = Vec::new();
    for &(begin, mark) in &anatomy.marks {
        let (kind, number) = buffer_bytes(mark).map_or(("mark", u64::from(mark)), |bytes| ("buffers", bytes));
        match sections.last_mut() {
            Some(last) if (last.kind, last.number) == (kind, number) => last.times += 1,
            _ => sections.push(Part { kind, number, times: 1, begin }),
        }
    }
    let packets = anatomy.packets.iter().zip(1..);
    let packets: Vec<Part> = packets.map(|(&begin, number)| Part { kind: "packet", number, times: 1, begin }).collect();
    let mut rows = lines(&sections, anatomy.ticks);
    rows.extend(lines(&packets, anatomy.ticks));
    rows.truncate(limit);
    View { title: "Parts".into(), columns: COLUMNS.to_vec(), rows, ..View::default() }
}

fn lines(parts: &[Part], end: u64) -> Vec<Line> {
    let ends = parts.iter().skip(1).map(|part| part.begin).chain([end]);
    let line = |(part, end): (&Part, u64)| {
        let name = match part.kind {
            "buffers" => format!("{} bytes", part.number),
            kind => format!("{kind} {}", part.number),
        };
        let values = vec![
            Value::Text(name),
            Value::Text(part.kind.to_owned()),
            Value::Count(part.number),
            Value::Count(part.times),
            Value::Count(cycles(part.begin)),
            Value::Count(cycles(end.saturating_sub(part.begin))),
        ];
        Line { depth: 0, values }
    };
    parts.iter().zip(ends).map(line).collect()
}
