//! Source lines and machine code with the time spent there, for the terminal.
//!
//! What took no time and is farther than the context from what did is folded. Text comes from the profiled program's
//! files and is stripped of what could steer a terminal.

use std::collections::BTreeMap;

use dwell_analyze::source::{Cost, Instruction, SourceLine, SourceView};

use super::bars::bar;
use super::style::{Ink, Style, printable, truncate_end, truncate_middle, width};
use super::{note_lines, units};
use crate::args::SourcePart;

/// Columns of the bar beside a row.
const BAR_WIDTH: usize = 8;
/// Columns that line numbers or addresses and the text have at least, as long as there is a cost to leave out.
const LEAST_TEXT: usize = 56;
/// Columns between tab stops.
const TAB: usize = 8;
/// Share of the function's own time from which on a row stands out.
const HOT: f64 = 0.1;

/// The view as text that ends with a newline. The first `warnings` of the notes behind its own remarks are warnings.
pub fn render(view: &SourceView, show: SourcePart, context: usize, warnings: usize, style: &Style) -> String {
    let mut lines = heading(view, style);
    let source = matches!(show, SourcePart::Both | SourcePart::Source) && !view.lines.is_empty();
    let assembly = matches!(show, SourcePart::Both | SourcePart::Assembly) && !view.instructions.is_empty();
    if source {
        lines.extend(source_lines(view, context, style));
    }
    if assembly {
        lines.extend(assembly_lines(view, context, style));
    }
    if !view.notes.is_empty() {
        lines.push(String::new());
        lines.extend(note_lines(&view.notes, warnings, style));
    }
    lines.join("\n") + "\n"
}

fn heading(view: &SourceView, style: &Style) -> Vec<String> {
    let title = truncate_middle(&printable(&view.function), style.width).into_owned();
    let mut lines = vec![style.paint(Ink::Title, title).into_owned()];
    if !view.module.is_empty() {
        lines.push(truncate_middle(&format!("in {}", printable(&view.module)), style.width).into_owned());
    }
    let Cost { cpu_ns, cpu_total_ns, wait_ns, wait_total_ns, waits } = view.total;
    let [own, total] = [cpu_ns, cpu_total_ns].map(units::duration);
    lines.push(format!("CPU Time   {own:>8}   {total} with what it calls"));
    if wait_total_ns > 0 || waits > 0 {
        let [own, total] = [wait_ns, wait_total_ns].map(units::duration);
        lines.push(format!("Wait Time  {own:>8}   in {}; {total} with what it calls", counted(waits, "wait")));
    }
    lines
}

fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", units::count(count), if count == 1 { "" } else { "s" })
}

/// A column of costs.
#[derive(Clone, Copy)]
struct Column {
    title: &'static str,
    value: fn(&Cost) -> u64,
    is_count: bool,
    /// For a total, what it is the total of: it says something only where it differs.
    part: Option<fn(&Cost) -> u64>,
    width: usize,
}

const COLUMNS: [Column; 5] = [
    Column { title: "CPU Time", value: |cost| cost.cpu_ns, is_count: false, part: None, width: 0 },
    Column {
        title: "CPU Total",
        value: |cost| cost.cpu_total_ns,
        is_count: false,
        part: Some(|cost| cost.cpu_ns),
        width: 0,
    },
    Column { title: "Wait Time", value: |cost| cost.wait_ns, is_count: false, part: None, width: 0 },
    Column { title: "Waits", value: |cost| cost.waits, is_count: true, part: None, width: 0 },
    Column {
        title: "Wait Total",
        value: |cost| cost.wait_total_ns,
        is_count: false,
        part: Some(|cost| cost.wait_ns),
        width: 0,
    },
];

/// The columns of costs that have anything to show and for which there is room, and a bar.
struct Columns {
    shown: Vec<Column>,
    /// Columns of the bar, 0 for none.
    bar: usize,
    /// What fills a whole bar.
    full: u64,
}

impl Columns {
    fn new<'c>(costs: impl Iterator<Item = &'c Cost> + Clone, style: &Style) -> Self {
        let mut shown = Vec::new();
        for column in COLUMNS {
            let value = column.value;
            let tells = |cost: &Cost| value(cost) > 0 && column.part.is_none_or(|part| part(cost) != value(cost));
            if costs.clone().any(tells) {
                let widest = costs.clone().map(|cost| width(&words(value(cost), column.is_count))).max().unwrap_or(0);
                shown.push(Column { width: widest.max(width(column.title)), ..column });
            }
        }
        let full = costs.map(|cost| cost.cpu_ns.saturating_add(cost.wait_ns)).max().unwrap_or(0);
        let mut columns = Self { shown, bar: BAR_WIDTH, full };
        columns.fit(style);
        columns
    }

    /// Leaves columns out until there is room for the text: totals of waits, the bar, counts, then totals.
    fn fit(&mut self, style: &Style) {
        let narrow = |columns: &Self| columns.width() + LEAST_TEXT > style.width;
        for title in ["Wait Total", "", "Waits", "CPU Total"] {
            if narrow(self) {
                self.shown.retain(|column| column.title != title);
                self.bar = if title.is_empty() { 0 } else { self.bar };
            }
        }
    }

    /// The cells of a row and its bar.
    fn cells(&self, cost: &Cost, hot: bool, style: &Style) -> String {
        let cell = |column: &Column| {
            let words = words((column.value)(cost), column.is_count);
            format!("{words:>columns$}  ", columns = column.width)
        };
        let cells = self.shown.iter().map(cell).collect::<String>();
        if self.bar == 0 {
            return cells;
        }
        let bar = bar(cost.cpu_ns.saturating_add(cost.wait_ns), self.full, self.bar);
        let pad = " ".repeat(self.bar.saturating_sub(width(&bar)));
        let ink = if hot { Ink::Bad } else { Ink::Ideal };
        format!("{cells}{}{pad} ", style.paint(ink, bar))
    }

    fn heading(&self) -> String {
        let cell = |column: &Column| format!("{:>columns$}  ", column.title, columns = column.width);
        self.shown.iter().map(cell).collect::<String>() + &" ".repeat(self.bar + usize::from(self.bar > 0))
    }

    fn width(&self) -> usize {
        width(&self.heading())
    }
}

fn words(value: u64, is_count: bool) -> String {
    match (value, is_count) {
        (0, _) => String::new(),
        (count, true) => units::count(count),
        (ns, false) => units::duration(ns),
    }
}

/// Which of the rows are shown: those with a cost, and the context around them; all when none has one.
fn visible(costs: &[Cost], context: usize) -> Vec<bool> {
    let any = costs.iter().any(|cost| !cost.is_zero());
    let mut visible = vec![!any; costs.len()];
    for at in costs.iter().enumerate().filter(|(_, cost)| !cost.is_zero()).map(|(at, _)| at) {
        let end = costs.len().min(at.saturating_add(context).saturating_add(1));
        visible[at.saturating_sub(context)..end].fill(true);
    }
    // A mark for one row would take as much room as the row.
    let alone = |at: usize| {
        let shown = |at: Option<usize>| at.and_then(|at| visible.get(at)).is_none_or(|visible| *visible);
        shown(at.checked_sub(1)) && shown(Some(at + 1))
    };
    (0..visible.len()).map(|at| visible[at] || alone(at)).collect()
}

fn is_hot(cost: &Cost, whole: &Cost) -> bool {
    let whole = whole.cpu_ns.saturating_add(whole.wait_ns).max(1);
    cost.cpu_ns.saturating_add(cost.wait_ns) as f64 >= whole as f64 * HOT
}

/// Lines of one file, and of one inlined function in it.
struct Section<'v> {
    file: &'v str,
    inlined: Option<&'v str>,
    lines: Vec<&'v SourceLine>,
}

/// The lines by file and inlined function, in the order of the view. Of what is inlined, lines that only lead on to other
/// lines tell nothing.
fn sections(view: &SourceView) -> Vec<Section<'_>> {
    let tells = |line: &&SourceLine| line.inlined_from.is_none() || line.cost.cpu_ns > 0 || line.cost.wait_ns > 0;
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in view.lines.iter().filter(tells) {
        let (file, inlined) = (line.file.as_str(), line.inlined_from.as_deref());
        match sections.iter_mut().find(|known| (known.file, known.inlined) == (file, inlined)) {
            Some(section) => section.lines.push(line),
            None => sections.push(Section { file, inlined, lines: vec![line] }),
        }
    }
    sections
}

fn source_lines(view: &SourceView, context: usize, style: &Style) -> Vec<String> {
    let columns = Columns::new(view.lines.iter().map(|line| &line.cost), style);
    let digits = view.lines.iter().map(|line| line.line).max().unwrap_or(0).to_string().len().max("Line".len());
    let whole = sum(view.lines.iter().map(|line| &line.cost));
    let room = style.width.saturating_sub(columns.width() + digits + 2);
    let heading = format!("{}{:>digits$}  Source", columns.heading(), "Line");
    let mut text = vec![String::new(), style.paint(Ink::Title, heading).into_owned()];
    for Section { file, inlined, lines } in sections(view) {
        let inlined = inlined.map_or(String::new(), |function| format!("  inlined {}", printable(function)));
        let name = format!("{}{inlined}", printable(file));
        text.push(style.paint(Ink::Faint, truncate_middle(&name, style.width).into_owned()).into_owned());
        let costs: Vec<Cost> = lines.iter().map(|line| line.cost).collect();
        let row = |at: usize| {
            let line = lines[at];
            let words = line.text.as_deref().map_or(String::new(), plain);
            let cells = columns.cells(&line.cost, is_hot(&line.cost, &whole), style);
            format!("{cells}{:>digits$}  {}", line.line, truncate_end(&words, room))
        };
        text.extend(folded(&visible(&costs, context), row, columns.width(), style));
    }
    text
}

fn sum<'c>(costs: impl Iterator<Item = &'c Cost>) -> Cost {
    let mut sum = Cost::default();
    costs.for_each(|cost| sum.add(cost));
    sum
}

/// The visible rows; what is left out between them is counted.
fn folded(visible: &[bool], row: impl Fn(usize) -> String, indent: usize, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut hidden = 0;
    for (at, visible) in visible.iter().enumerate() {
        if !visible {
            hidden += 1;
            continue;
        }
        lines.extend(fold_mark(hidden, indent, style));
        hidden = 0;
        lines.push(row(at).trim_end().to_owned());
    }
    lines.extend(fold_mark(hidden, indent, style));
    lines
}

/// Says how many rows are left out.
fn fold_mark(hidden: usize, indent: usize, style: &Style) -> Option<String> {
    let mark = format!("{}⋮ {hidden} more", " ".repeat(indent));
    (hidden > 0).then(|| style.paint(Ink::Faint, mark).into_owned())
}

fn assembly_lines(view: &SourceView, context: usize, style: &Style) -> Vec<String> {
    let columns = Columns::new(view.instructions.iter().map(|instruction| &instruction.cost), style);
    let costs: Vec<Cost> = view.instructions.iter().map(|instruction| instruction.cost).collect();
    let whole = sum(costs.iter());
    let digits = view.instructions.last().map_or(1, |last| format!("{:x}", last.address).len());
    let texts: BTreeMap<(&str, u32), &str> =
        view.lines.iter().filter_map(|line| Some(((line.file.as_str(), line.line), line.text.as_deref()?))).collect();
    let heading = format!("{}{:>digits$}  Instruction", columns.heading(), "Address", digits = digits.max(7));
    let mut text = vec![String::new(), style.paint(Ink::Title, heading).into_owned()];
    let digits = digits.max(7);
    let room = style.width.saturating_sub(columns.width() + digits + 2);
    let shown = visible(&costs, context);
    let mut last: Option<usize> = None;
    let mut hidden = 0usize;
    for (at, instruction) in view.instructions.iter().enumerate() {
        if !shown[at] {
            hidden += 1;
            continue;
        }
        text.extend(fold_mark(hidden, columns.width(), style));
        if last.is_none_or(|last| hidden > 0 || !same_place(&view.instructions[last], instruction)) {
            text.extend(place_line(instruction, &texts, style));
        }
        (last, hidden) = (Some(at), 0);
        let cells = columns.cells(&instruction.cost, is_hot(&instruction.cost, &whole), style);
        let target = instruction.target.as_ref().map_or(String::new(), |target| format!("  → {}", printable(target)));
        let words = format!("{}{target}", instruction.text);
        text.push(
            format!("{cells}{:>digits$x}  {}", instruction.address, truncate_end(&words, room)).trim_end().to_owned(),
        );
    }
    text.extend(fold_mark(hidden, columns.width(), style));
    text
}

fn same_place(a: &Instruction, b: &Instruction) -> bool {
    (&a.file, a.line, &a.inlined) == (&b.file, b.line, &b.inlined)
}

/// `hot.cpp:16  x = step(x);`, and for inlined code through which calls it came there.
fn place_line(instruction: &Instruction, texts: &BTreeMap<(&str, u32), &str>, style: &Style) -> Option<String> {
    if instruction.file.is_empty() {
        return None;
    }
    let base = |file: &str| printable(file.rsplit('/').next().unwrap_or(file)).into_owned();
    let mut place = format!("{}:{}", base(&instruction.file), instruction.line);
    for call in instruction.inlined.iter().rev() {
        place.push_str(&format!(" {} ← {}:{}", printable(&call.function), base(&call.call_file), call.call_line));
    }
    if let Some(text) = texts.get(&(instruction.file.as_str(), instruction.line)) {
        place.push_str(&format!("  {}", plain(text).trim()));
    }
    Some(style.paint(Ink::Faint, truncate_end(&place, style.width).into_owned()).into_owned())
}

/// A line of a file with its tabs as blanks, and nothing that steers a terminal.
fn plain(text: &str) -> String {
    let mut line = String::new();
    for c in text.trim_end().chars() {
        if c == '\t' {
            let blanks = TAB - width(&line) % TAB;
            line.push_str(&" ".repeat(blanks));
        } else {
            line.push(c);
        }
    }
    printable(&line).into_owned()
}
