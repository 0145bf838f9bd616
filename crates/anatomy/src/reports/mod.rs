//! The reports of an [`Anatomy`]: each is a view, from which text, CSV and JSON are made.
//! They take the sums, calls, marks and packets of a replay, and give tables.
//! They replay nothing and format nothing.

mod calls;
mod columns;
mod compare;
mod instructions;
mod losses;
mod measures;
mod parts;
mod sections;
mod sums;

use dwell_view::{Column, Prose, Row as Line, Value, View};

use self::columns::{FUNCTION, MODULE, PHASE, named, with_measures};
use self::losses::losses;
use self::measures::{MEASURES, Measure, measures};
use self::sums::{sums, table};
use crate::annotate::{Anatomy, Half};

pub use calls::{Asked, packets, trace};
pub use compare::{By, compare};
pub use instructions::{code, instructions};
pub use sections::buffers;

/// A report's name and what it shows.
pub const REPORTS: &[(&str, &str)] = &[
    ("summary", "how much was executed, and where the cycles went"),
    ("hotspots", "functions, by cycles"),
    ("topdown", "the four-way split of each function's slots"),
    ("phases", "the parts of the work: user, system call, interrupt, device, IP, TCP, socket, scheduler"),
    ("halves", "top half and bottom half, with the phases of each"),
    ("trace", "the annotated trace: each call with its clock"),
    ("instructions", "each instruction of a function or a call, with what the model says of it"),
    ("code", "the code of a function: each instruction with the sum of its executions"),
    ("packets", "the life of the first 64 packets, stage by stage"),
    ("parts", "what the marks tell apart, and the packets, by time"),
    ("buffers", "what a buffer costs, by its size"),
];

/// The report of this name; none when there is no such report.
pub fn report(name: &str, anatomy: &Anatomy, asked: &Asked) -> Option<View> {
    let mut view = match name {
        "summary" => summary(anatomy),
        "hotspots" => hotspots(anatomy, asked.limit),
        "topdown" => topdown(anatomy, asked.limit),
        "phases" => phases(anatomy),
        "halves" => halves(anatomy),
        "trace" => trace(anatomy, asked),
        "instructions" => instructions(anatomy),
        "code" => code(anatomy, asked.limit),
        "packets" => packets(anatomy),
        "parts" => parts::parts(anatomy, asked.limit),
        "buffers" => buffers(anatomy),
        _ => return None,
    };
    view.notes.extend(losses(anatomy).into_iter().map(Prose::plain));
    Some(view)
}

fn functions(anatomy: &Anatomy, limit: usize, columns: &[&'static Measure]) -> Vec<Line> {
    let name = |function: &u32| {
        let function = &anatomy.functions[*function as usize];
        vec![Value::Text(function.name.clone()), Value::Text(function.module.clone())]
    };
    table(sums(anatomy, |row| Some(row.function)), &anatomy.total(), limit, name, columns)
}

fn hotspots(anatomy: &Anatomy, limit: usize) -> View {
    let columns: Vec<&Measure> = MEASURES.iter().collect();
    View {
        title: "Hotspots".into(),
        columns: with_measures(&[FUNCTION, MODULE], &columns),
        rows: functions(anatomy, limit, &columns),
        ..View::default()
    }
}

fn topdown(anatomy: &Anatomy, limit: usize) -> View {
    let columns: Vec<&'static Measure> = measures(SPLIT);
    let mut titles = with_measures(&[FUNCTION, MODULE], &columns);
    titles.iter_mut().for_each(|column| column.detail = false);
    View { title: "Top-down".into(), columns: titles, rows: functions(anatomy, limit, &columns), ..View::default() }
}

const SPLIT: &[&str] =
    &["cycles_share", "cpi", "retiring", "bad_speculation", "frontend_bound", "backend_bound", "memory_bound"];

fn phases(anatomy: &Anatomy) -> View {
    let columns: Vec<&Measure> = MEASURES.iter().collect();
    let name = |phase: &u16| vec![Value::Text(anatomy.phases[usize::from(*phase)].clone())];
    View {
        title: "Phases".into(),
        columns: with_measures(&[PHASE], &columns),
        rows: table(sums(anatomy, |row| Some(row.phase)), &anatomy.total(), usize::MAX, name, &columns),
        ..View::default()
    }
}

fn halves(anatomy: &Anatomy) -> View {
    let columns: Vec<&Measure> = MEASURES.iter().collect();
    let total = anatomy.total();
    let mut rows = Vec::new();
    for half in Half::ALL {
        let name = |_: &Half| vec![Value::Text(half.name().to_owned())];
        rows.extend(table(sums(anatomy, |row| (row.half == half).then_some(half)), &total, 1, name, &columns));
        let name = |phase: &u16| vec![Value::Text(anatomy.phases[usize::from(*phase)].clone())];
        let inner = sums(anatomy, |row| (row.half == half).then_some(row.phase));
        let inner = table(inner, &total, usize::MAX, name, &columns);
        rows.extend(inner.into_iter().map(|line| Line { depth: 1, ..line }));
    }
    View {
        title: "Halves".into(),
        columns: with_measures(&[named("half", "Half", "Where the work is done.")], &columns),
        rows,
        ..View::default()
    }
}

fn summary(anatomy: &Anatomy) -> View {
    let total = anatomy.total();
    let own = [
        (named("threads", "Threads", "Threads, or virtual CPUs."), Value::Count(u64::from(anatomy.threads))),
        (named("calls", "Calls", "Calls of functions."), Value::Count(anatomy.calls.len() as u64 + anatomy.more_calls)),
    ];
    let shown: Vec<&Measure> = MEASURES.iter().filter(|measure| !measure.column.id.ends_with("_share")).collect();
    let values = shown.iter().map(|measure| (measure.value)(&total, &total));
    let mut columns: Vec<Column> = own.iter().map(|it| it.0.clone()).collect();
    columns.extend(shown.iter().map(|measure| Column { detail: false, ..measure.column.clone() }));
    View {
        title: "Summary".into(),
        columns,
        rows: vec![Line { depth: 0, values: own.iter().map(|it| it.1.clone()).chain(values).collect() }],
        single: true,
        ..View::default()
    }
}
