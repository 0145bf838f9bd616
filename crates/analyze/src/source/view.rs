//! The answer: lines and instructions with their times.

use dwell_view::{Column, Prose, Row, Value, View};

use crate::source::cost::Cost;

/// A line of source.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLine {
    /// Source file.
    pub file: String,
    /// Line in it, counted from 1.
    pub line: u32,
    /// What it says, when the result has the file.
    pub text: Option<String>,
    /// The time.
    pub cost: Cost,
    /// Inlined function that the line is of; none: the line is of what was asked for.
    pub inlined_from: Option<String>,
}

/// A call that the compiler replaced by the function's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The function.
    pub function: String,
    /// Source file of the call, empty when unknown.
    pub call_file: String,
    /// Line of the call, 0 when unknown.
    pub call_line: u32,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Address in its ELF file.
    pub address: u64,
    /// Machine code.
    pub bytes: Vec<u8>,
    /// What it says.
    pub text: String,
    /// Source file that it comes from, empty when unknown.
    pub file: String,
    /// Line in it, 0 when unknown.
    pub line: u32,
    /// The inlined functions that it is of, outermost first.
    pub inlined: Vec<Inlined>,
    /// The time.
    pub cost: Cost,
    /// Where it jumps to, or what it calls: `function+0x12`.
    pub target: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceView {
    /// The function, or the file.
    pub function: String,
    /// File that its code is in, empty when unknown.
    pub module: String,
    /// Its source file, empty when unknown.
    pub file: String,
    /// All of its time.
    pub total: Cost,
    /// Its lines in their order, without a gap as far as the text is known; then those of what is inlined into it that
    /// took time, by file and line.
    pub lines: Vec<SourceLine>,
    /// Its instructions by address.
    pub instructions: Vec<Instruction>,
    /// What a reader must know.
    pub notes: Vec<Prose>,
}

impl SourceView {
    /// As one record with the lines and the instructions in it: the document that programs read.
    pub fn document(&self) -> View {
        let fields: [(&'static str, Value); 10] = [
            ("function", text(&self.function)),
            ("module", text(&self.module)),
            ("file", text(&self.file)),
            ("cpu_ns", Value::Ns(self.total.cpu_ns)),
            ("cpu_total_ns", Value::Ns(self.total.cpu_total_ns)),
            ("wait_ns", Value::Ns(self.total.wait_ns)),
            ("wait_total_ns", Value::Ns(self.total.wait_total_ns)),
            ("waits", Value::Count(self.total.waits)),
            ("lines", Value::Rows(Box::new(self.lines_view()))),
            ("instructions", Value::Rows(Box::new(self.instructions_view()))),
        ];
        let (ids, values): (Vec<&'static str>, Vec<Value>) = fields.into_iter().unzip();
        let rows = vec![Row { depth: 0, values }];
        View { title: "Source".into(), columns: columns(&ids), rows, single: true, notes: self.notes.clone() }
    }

    /// A row per line.
    pub fn lines_view(&self) -> View {
        let ids =
            ["file", "line", "text", "cpu_ns", "cpu_total_ns", "wait_ns", "wait_total_ns", "waits", "inlined_from"];
        let row = |line: &SourceLine| {
            let mut values = vec![
                text(&line.file),
                Value::Count(line.line.into()),
                line.text.clone().map_or(Value::None, Value::Text),
            ];
            values.extend(cells(&line.cost));
            values.push(line.inlined_from.clone().map_or(Value::None, Value::Text));
            Row { depth: 0, values }
        };
        View { columns: columns(&ids), rows: self.lines.iter().map(row).collect(), ..View::default() }
    }

    /// A row per instruction.
    pub fn instructions_view(&self) -> View {
        let ids = [
            "address",
            "bytes",
            "text",
            "file",
            "line",
            "inlined",
            "cpu_ns",
            "cpu_total_ns",
            "wait_ns",
            "wait_total_ns",
            "waits",
            "target",
        ];
        let row = |instruction: &Instruction| {
            let bytes: String = instruction.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut values = vec![
                Value::Count(instruction.address),
                Value::Text(bytes),
                text(&instruction.text),
                text(&instruction.file),
                if instruction.line == 0 { Value::None } else { Value::Count(instruction.line.into()) },
                Value::Rows(Box::new(inlined_view(&instruction.inlined))),
            ];
            values.extend(cells(&instruction.cost));
            values.push(instruction.target.clone().map_or(Value::None, Value::Text));
            Row { depth: 0, values }
        };
        View { columns: columns(&ids), rows: self.instructions.iter().map(row).collect(), ..View::default() }
    }
}

fn inlined_view(inlined: &[Inlined]) -> View {
    let row = |call: &Inlined| Row {
        depth: 0,
        values: vec![text(&call.function), text(&call.call_file), Value::Count(call.call_line.into())],
    };
    let ids = ["function", "call_file", "call_line"];
    View { columns: columns(&ids), rows: inlined.iter().map(row).collect(), ..View::default() }
}

fn cells(cost: &Cost) -> [Value; 5] {
    [
        Value::Ns(cost.cpu_ns),
        Value::Ns(cost.cpu_total_ns),
        Value::Ns(cost.wait_ns),
        Value::Ns(cost.wait_total_ns),
        Value::Count(cost.waits),
    ]
}

/// Unknown text is null.
fn text(text: &str) -> Value {
    if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) }
}

fn columns(ids: &[&'static str]) -> Vec<Column> {
    ids.iter().map(|id| Column { id, title: id, help: "", detail: false }).collect()
}
