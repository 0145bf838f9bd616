//! Puts source text, machine code and costs together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{InlineId, SourceId};
use dwell_query::engine::fold::Fold;
use dwell_store::CodeTables;
use dwell_view::{Prose, Sentence};

use crate::sentences::say;
use crate::source::asked::Syntax;
use crate::source::cost::Cost;
use crate::source::costs::{Address, Costs, Means};
use crate::source::disassembly::{self, disassemble};
use crate::source::subject::Subject;
use crate::source::view::{Inlined, Instruction, SourceLine, SourceView};
use crate::tables::notes::notes;

/// Lines shown before the first and behind the last line of a function that has code.
const MARGIN: u32 = 2;
/// Most lines between two that have code or time of one function: what is farther apart is from two places.
const MOST_LINES: u32 = 20_000;

/// The view of `subject`.
pub fn view(fold: &Fold<'_>, tables: &CodeTables, subject: &Subject, costs: &Costs<'_>, syntax: Syntax) -> SourceView {
    let sources: HashMap<&str, usize> =
        tables.sources.path.iter().enumerate().map(|(row, path)| (path.as_str(), row)).collect();
    let reader = Reader { tables, subject, sources };
    let rows = reader.code_rows();
    let instructions = reader.instructions(&rows, costs, syntax);
    let own = reader.own_lines(&rows, costs);
    let file = main_file(&own);
    let lines = reader.lines(&own, &file, costs);
    let modules = &fold.trace.modules.path;
    let mut view = SourceView {
        function: subject.name.clone(),
        module: subject.module.get().and_then(|row| modules.get(row)).cloned().unwrap_or_default(),
        file: file.to_owned(),
        total: costs.total,
        lines,
        instructions,
        notes: Vec::new(),
    };
    view.notes = remarks(&reader, &view, || subject.missing(fold.trace, tables));
    view.notes.extend(notes(fold));
    view
}

/// The file that most of the lines are in.
fn main_file(own: &BTreeMap<(&str, u32), usize>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    own.iter().for_each(|((file, _), count)| *counts.entry(file).or_default() += count);
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(String::new(), |(file, _)| file.to_owned())
}

struct Reader<'t> {
    tables: &'t CodeTables,
    subject: &'t Subject,
    sources: HashMap<&'t str, usize>,
}

/// A place in source: function, file and line.
type SourcePlace<'t> = (&'t str, &'t str, u32);

impl<'t> Reader<'t> {
    /// The listed code that is of the subject, or that the subject is inlined into.
    fn code_rows(&self) -> Vec<usize> {
        let (code, inlines, lines) = (&self.tables.code, &self.tables.inlines, &self.tables.lines);
        let subject = self.subject;
        let mut rows = BTreeSet::new();
        if subject.is_file {
            let of_file = |source: &SourceId| self.path(*source) == subject.name;
            rows.extend(
                lines.file.iter().zip(&lines.code).filter(|(file, _)| of_file(file)).filter_map(|(_, code)| code.get()),
            );
        } else {
            let named = |row: &usize| subject.has(&code.function[*row], code.module[*row], "");
            rows.extend((0..code.bytes.len()).filter(named));
            let inlined =
                inlines.function.iter().zip(&inlines.code).filter_map(|(name, code)| Some((name, code.get()?)));
            rows.extend(inlined.filter(|(name, row)| subject.has(name, code.module[*row], "")).map(|(_, row)| row));
        }
        rows.into_iter().filter(|&row| !code.bytes[row].is_empty()).collect()
    }

    fn path(&self, source: SourceId) -> &'t str {
        source.get().and_then(|row| self.tables.sources.path.get(row)).map_or("", String::as_str)
    }

    /// What row `line` of the lines comes from: the code's function, then what is inlined there, outermost first.
    fn places(&self, line: usize) -> Vec<SourcePlace<'t>> {
        let (lines, inlines) = (&self.tables.lines, &self.tables.inlines);
        let mut places = Vec::new();
        let (mut file, mut number, mut inline) = (lines.file[line], lines.line[line], lines.inline[line]);
        while let Some(row) = inline.get() {
            places.push((inlines.function[row].as_str(), self.path(file), number));
            // Parents come before their children, so that this ends.
            (file, number, inline) = (inlines.call_file[row], inlines.call_line[row], inlines.parent[row].min(inline));
            inline = if inline.get() == Some(row) { InlineId::NONE } else { inline };
        }
        let function = lines.code[line].get().map_or("", |row| self.tables.code.function[row].as_str());
        places.push((function, self.path(file), number));
        places.reverse();
        places
    }

    /// The rows of the lines of code row `row`.
    fn line_rows(&self, row: usize) -> std::ops::Range<usize> {
        let codes = &self.tables.lines.code;
        let first = codes.partition_point(|code| code.get() < Some(row));
        let last = codes.partition_point(|code| code.get() <= Some(row));
        first..last
    }

    /// The subject's own lines that have code or time, with the number of runs of instructions on each.
    fn own_lines(&self, rows: &[usize], costs: &Costs<'t>) -> BTreeMap<(&'t str, u32), usize> {
        let mut own = BTreeMap::new();
        for &row in rows {
            let module = self.tables.code.module[row];
            for (function, file, line) in self.line_rows(row).flat_map(|line| self.places(line)) {
                if line > 0 && !file.is_empty() && self.subject.has(function, module, file) {
                    *own.entry((file, line)).or_default() += 1;
                }
            }
        }
        for (file, line, inlined) in costs.lines.keys() {
            if inlined.is_none() && *line > 0 && !file.is_empty() {
                *own.entry((*file, *line)).or_default() += 1;
            }
        }
        own
    }

    fn text(&self, file: &str) -> Option<&'t str> {
        let row = *self.sources.get(file)?;
        (self.tables.sources.state[row] == 0).then(|| self.tables.sources.text[row].as_str())
    }

    fn lines(&self, own: &BTreeMap<(&'t str, u32), usize>, file: &str, costs: &Costs<'t>) -> Vec<SourceLine> {
        let numbers = || own.keys().filter(|(of, _)| *of == file).map(|(_, line)| *line);
        let mut wanted: BTreeSet<(&str, u32)> = own.keys().copied().collect();
        let text = self.text(file);
        if let (Some(first), Some(last), Some(text)) = (numbers().min(), numbers().max(), text) {
            let end = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
            let (first, last) = if self.subject.is_file {
                (1, end)
            } else {
                (first.saturating_sub(MARGIN).max(1), last.saturating_add(MARGIN))
            };
            if let Some((&(file, _), _)) = own.iter().find(|((of, _), _)| *of == file) {
                wanted.extend((first..=last.min(end)).take(MOST_LINES as usize).map(|line| (file, line)));
            }
        }
        let cost = |file: &str, line: u32| {
            let found =
                costs.lines.iter().filter(|((of, at, inlined), _)| (*of, *at) == (file, line) && inlined.is_none());
            found.map(|(_, cost)| *cost).next().unwrap_or_default()
        };
        // The function's own file comes first.
        let (main, others): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(of, _)| *of == file);
        let mut texts = Texts::default();
        let mut lines: Vec<SourceLine> = main
            .into_iter()
            .chain(others)
            .map(|(file, line)| SourceLine {
                file: file.to_owned(),
                line,
                text: texts.line(self, file, line),
                cost: cost(file, line),
                inlined_from: None,
            })
            .collect();
        let inlined =
            costs.lines.iter().filter_map(|((file, line, inlined), cost)| Some((file, line, (*inlined)?, cost)));
        for (file, line, function, cost) in inlined {
            lines.push(SourceLine {
                file: (*file).to_owned(),
                line: *line,
                text: texts.line(self, file, *line),
                cost: *cost,
                inlined_from: Some(function.to_owned()),
            });
        }
        lines
    }

    fn instructions(&self, rows: &[usize], costs: &Costs<'_>, syntax: Syntax) -> Vec<Instruction> {
        let mut instructions = Vec::new();
        for &row in rows {
            let module = self.tables.code.module[row];
            let decoded = disassemble(self.tables, row, syntax);
            let own = costs_of_instructions(&decoded, |from, to| {
                let range = (module, from, Means::There)..=(module, to, Means::BeforeIfSystemCall);
                costs.addresses.range(range).map(|(address, cost)| (*address, *cost)).collect()
            });
            let range = self.line_rows(row);
            let start = self.tables.code.address[row];
            let offsets = &self.tables.lines.offset[range.clone()];
            for (line, cost) in decoded.into_iter().zip(own) {
                let at = offsets.partition_point(|&offset| u64::from(offset) <= line.address.wrapping_sub(start));
                let places = at.checked_sub(1).map(|at| self.places(range.start + at)).unwrap_or_default();
                if self.is_part(row, &places) {
                    instructions.push(instruction(line, &places, cost));
                }
            }
        }
        instructions
    }

    fn is_part(&self, row: usize, places: &[SourcePlace<'_>]) -> bool {
        let code = &self.tables.code;
        let has = |(function, file, _): &SourcePlace<'_>| self.subject.has(function, code.module[row], file);
        places.iter().any(has) || (!self.subject.is_file && self.subject.has(&code.function[row], code.module[row], ""))
    }
}

fn instruction(line: disassembly::InstructionLine, places: &[SourcePlace<'_>], cost: Cost) -> Instruction {
    let (file, number) = places.last().map_or(("", 0), |(_, file, line)| (*file, *line));
    let inlined = places.windows(2).map(|pair| Inlined {
        function: pair[1].0.to_owned(),
        call_file: pair[0].1.to_owned(),
        call_line: pair[0].2,
    });
    Instruction {
        address: line.address,
        bytes: line.bytes,
        text: line.text,
        file: file.to_owned(),
        line: number,
        inlined: inlined.collect(),
        cost,
        target: line.target,
    }
}

/// The cost of each instruction. `of_range` has those of all addresses of a range, its end included.
fn costs_of_instructions(
    instructions: &[disassembly::InstructionLine],
    of_range: impl Fn(u64, u64) -> Vec<(Address, Cost)>,
) -> Vec<Cost> {
    let mut costs = vec![Cost::default(); instructions.len()];
    let (Some(first), Some(last)) = (instructions.first(), instructions.last()) else { return costs };
    let end = last.address.saturating_add(last.bytes.len() as u64);
    // Code at the end of the address space, which no sound file has, wraps around.
    for ((_, address, means), cost) in of_range(first.address.min(end), end) {
        let before = instructions.partition_point(|line| line.address < address).checked_sub(1);
        let there = instructions.partition_point(|line| line.address <= address).checked_sub(1);
        let is_call = |at: usize| {
            let line = &instructions[at];
            line.is_system_call && line.address.saturating_add(line.bytes.len() as u64) == address
        };
        let at = match means {
            Means::There => there.filter(|_| address < end),
            Means::Before => before,
            Means::BeforeIfSystemCall => before.filter(|&at| is_call(at)).or(there.filter(|_| address < end)),
        };
        if let Some(at) = at {
            costs[at].add(&cost);
        }
    }
    costs
}

/// The texts of files, split once.
#[derive(Default)]
struct Texts<'t> {
    lines: HashMap<String, Option<Vec<&'t str>>>,
}

impl<'t> Texts<'t> {
    fn line(&mut self, reader: &Reader<'t>, file: &str, line: u32) -> Option<String> {
        let split = || reader.text(file).map(|text| text.lines().collect());
        let lines = self.lines.entry(file.to_owned()).or_insert_with(split);
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.as_ref()?.get(at).map(|text| (*text).to_owned())
    }
}

/// What is missing, and why.
fn remarks(reader: &Reader<'_>, view: &SourceView, no_code: impl FnOnce() -> Sentence) -> Vec<Prose> {
    let mut notes = Vec::new();
    let (file, module) = (view.file.as_str(), view.module.as_str());
    if view.instructions.is_empty() {
        notes.push(Prose::from(say!(NO_CODE)).and([no_code()]));
    }
    if view.lines.is_empty() {
        notes.push(say!(NO_LINES, module = module).into());
        return notes;
    }
    let Some(&row) = reader.sources.get(file) else {
        notes.push(say!(NO_TEXT, file = file).into());
        return notes;
    };
    match reader.tables.sources.state[row] {
        0 => {}
        1 => notes.push(say!(TEXT_NOT_FOUND, file = file).into()),
        2 => notes.push(say!(TEXT_NOT_READABLE, file = file, module = module).into()),
        4 => notes.push(say!(TEXT_TOO_LARGE, file = file).into()),
        _ => notes.push(say!(NO_TEXT_FILE, file = file).into()),
    }
    if reader.tables.sources.newer[row] {
        notes.push(say!(TEXT_NEWER, file = file).into());
    }
    notes
}
