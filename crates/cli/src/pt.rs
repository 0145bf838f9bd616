//! `dwell pt`: an Intel PT trace as a timeline of functions.

use std::collections::HashMap;
use std::process::ExitCode;

use dwell_pt::calls::{Stretch, Timeline};
use dwell_pt::decoder::Decoder;
use dwell_pt::perf_data::{MappedCode, PerfData, Trace};
use dwell_resolve::CodeNames;
use dwell_view::{Column, Prose, Row, Value, View, json};

use crate::args::{Format, PtArgs};
use crate::error::{Hinted, Result, status};
use crate::reading::Reading;
use crate::text::style::Style;
use crate::{csv, output, text};

/// Decodes and prints.
pub fn run(args: &PtArgs) -> Result<ExitCode> {
    Reading::of([&*args.file])?.confine()?;
    let data = PerfData::open(&args.file).map_err(|error| explain(&error))?;
    let mut view = View { title: "Instruction trace".into(), columns: columns(), ..View::default() };
    let mut functions = Functions::default();
    for trace in &data.traces {
        functions.addresses.clear();
        let Some(code) = data.process_of(trace).map(|pid| data.code_of(pid)) else {
            view.notes.push(Prose::plain(format!("{}: not decoded: no process has a mapping.", whose(trace))));
            continue;
        };
        if trace.cut > 0 {
            view.notes.push(Prose::plain(format!("{}: the file ends {} bytes too early.", whose(trace), trace.cut)));
        }
        let decoder = Decoder::new(&trace.bytes, &code, &data.processor).map_err(|error| explain(&error))?;
        let timeline = Timeline::of(decoder, args.limit, |ip| functions.at(&code, ip));
        view.notes.extend(notes(&whose(trace), &timeline).into_iter().map(Prose::plain));
        let least = timeline.stretches.iter().map(|stretch| stretch.depth).min().unwrap_or(0);
        let first = timeline.stretches.first().and_then(|stretch| data.conversion.ns(stretch.tsc));
        for stretch in &timeline.stretches {
            let since = data.conversion.ns(stretch.tsc).zip(first).map(|(ns, first)| ns.saturating_sub(first));
            view.rows.push(row(trace, stretch, least, since, &functions));
        }
    }
    output::print(&match args.format {
        Format::Text => text::render(&view, 0, &Style::of_stdout()),
        Format::Csv => csv::render(&view),
        Format::Json => json::render(&view),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &dwell_pt::Error) -> Hinted {
    let hinted = Hinted::new(error);
    match error {
        dwell_pt::Error::NoLibrary(_) => hinted.hint("sudo apt-get install libipt2").with_status(status::UNAVAILABLE),
        _ => hinted.hint("perf record -e intel_pt//u -o perf.data PROGRAM records one"),
    }
}

fn columns() -> Vec<Column> {
    let column = |id, title, help, detail| Column { id, title, help, detail };
    vec![
        column("function", "Function", "The function, indented by how deep in calls it ran.", false),
        column("instructions", "Instructions", "How many of it ran until another function did.", false),
        column("start_ns", "Start", "Since the trace began, as exact as its packets tell.", false),
        column("module", "Module", "The file that it is in.", false),
        column("trace", "Trace", "The thread or CPU that was traced.", false),
        column("depth", "Depth", "Calls, relative to where the trace begins.", true),
        column("address", "Address", "Of the first instruction.", true),
        column("tsc", "Time Stamp", "The time stamp counter.", true),
    ]
}

fn whose(trace: &Trace) -> String {
    match (trace.tid, trace.cpu) {
        (Some(tid), _) => format!("thread {tid}"),
        (None, Some(cpu)) => format!("CPU {cpu}"),
        (None, None) => "trace".into(),
    }
}

fn row(trace: &Trace, stretch: &Stretch<u32>, least: i32, since: Option<u64>, functions: &Functions) -> Row {
    let (name, module) = functions.known.get(stretch.function as usize).cloned().unwrap_or_default();
    let values = vec![
        Value::Text(name),
        Value::Count(stretch.instructions),
        since.map_or(Value::None, Value::Ns),
        Value::Text(module),
        Value::Text(whose(trace)),
        Value::CountChange(i64::from(stretch.depth)),
        Value::Text(format!("{:#x}", stretch.ip)),
        Value::Count(stretch.tsc),
    ];
    Row { depth: usize::try_from(i64::from(stretch.depth) - i64::from(least)).unwrap_or(0), values }
}

/// What a reader must know of one trace.
fn notes(whose: &str, timeline: &Timeline<u32>) -> Vec<String> {
    let mut notes =
        vec![format!("{whose}: {} instructions; tracing paused {} times.", timeline.instructions, timeline.pauses)];
    let gaps = timeline.gaps.iter().map(|(why, count)| format!("{whose}: the way was lost {count} times: {why}."));
    notes.extend(gaps);
    if timeline.left_out > 0 {
        notes.push(format!("{whose}: {} stretches are not shown; --limit shows more.", timeline.left_out));
    }
    notes
}

/// Functions by their number, and the number of each address that was met.
#[derive(Default)]
struct Functions {
    known: Vec<(String, String)>,
    numbers: HashMap<(String, String), u32>,
    addresses: HashMap<u64, u32>,
    names: CodeNames,
}

impl Functions {
    fn at(&mut self, code: &MappedCode, ip: u64) -> u32 {
        if let Some(number) = self.addresses.get(&ip) {
            return *number;
        }
        let (name, module) = match code.place(ip) {
            None => ("[unknown]".to_owned(), String::new()),
            Some((path, offset)) => {
                let module = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let name = self.names.names(path, &[offset]).into_iter().next().flatten();
                (name.unwrap_or_else(|| format!("[{module}]")), module)
            }
        };
        let next = self.known.len() as u32;
        let number = *self.numbers.entry((name.clone(), module.clone())).or_insert(next);
        if number == next {
            self.known.push((name, module));
        }
        self.addresses.insert(ip, number);
        number
    }
}
