//! How to walk through a JVM's code: rows of an unwind table, made of the sizes of frames.

use dwell_hotspot::{CodeBlob, CodeRegion};
use dwell_store::raw::wire::JAVA_INTERPRETER;
use dwell_unwind::{Row, Rule, Step};

/// Only the return address is on the stack.
const AT_ENTRY: Step = Step { rule: Rule::Rsp, cfa: 1, rbp: 0 };
/// Below the return address a compiled frame keeps its caller's rbp (`frame::sender_for_compiled_frame`).
const SAVED_RBP: i8 = -2;

/// The rows of a region, of which `blobs` are all, ascending by address. Frames without a fixed size, such as the interpreter's,
/// have a frame pointer.
pub fn rows<'b>(region: CodeRegion, blobs: impl Iterator<Item = &'b CodeBlob>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |address: u64, step: Step| {
        let Some(pc) = address.checked_sub(region.start).and_then(|pc| u32::try_from(pc).ok()) else { return };
        let follows = rows.last().is_none_or(|last| last.pc < pc && last.step != step);
        if follows {
            rows.push(Row { pc, step });
        }
    };
    for blob in blobs.filter(|blob| region.start <= blob.start && blob.end <= region.end) {
        let is_interpreter = blob.name == JAVA_INTERPRETER;
        add(blob.start, Step::of(if is_interpreter { Rule::Interpreted } else { Rule::NoTable }));
        let Ok(cfa) = i32::try_from(blob.frame_words) else { continue };
        if cfa < 2 || is_interpreter {
            add(blob.end, Step::of(Rule::NoTable));
            continue;
        }
        if blob.code_start < blob.frame_from {
            add(blob.code_start, AT_ENTRY);
        }
        add(blob.frame_from, Step { rule: Rule::Rsp, cfa, rbp: SAVED_RBP });
        add(blob.end, Step::of(Rule::NoTable));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_complete_behind_its_prologue() {
        let region = CodeRegion { start: 0x1000, end: 0x2000 };
        let blob = |start: u64, frame_words| CodeBlob {
            start,
            end: start + 0x100,
            code_start: start + 0x40,
            frame_from: start + 0x4c,
            frame_words,
            name: String::new(),
        };
        let blobs = [blob(0x1000, 0), blob(0x1200, 6), blob(0x1fff, 6)];
        let found: Vec<_> =
            rows(region, blobs.iter()).iter().map(|row| (row.pc, row.step.rule, row.step.cfa)).collect();
        let expected = [(0, Rule::NoTable, 0), (0x240, Rule::Rsp, 1), (0x24c, Rule::Rsp, 6), (0x300, Rule::NoTable, 0)];
        assert_eq!(found, expected);
    }
    #[test]
    fn the_interpreter_has_a_rule_of_its_own() {
        let region = CodeRegion { start: 0x1000, end: 0x2000 };
        let (start, end, name) = (0x1100, 0x1800, JAVA_INTERPRETER.to_owned());
        let blob = CodeBlob { start, end, code_start: 0x1140, frame_from: 0x1140, frame_words: 0, name };
        let found: Vec<_> = rows(region, [blob].iter()).iter().map(|row| (row.pc, row.step.rule)).collect();
        assert_eq!(found, [(0x100, Rule::Interpreted), (0x800, Rule::NoTable)]);
    }
}
