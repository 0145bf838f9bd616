//! What is asked about an instruction trace: its reports, and the chart of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::routing::get;
use dwell_anatomy::annotate::{self, Anatomy, Detail, Lit, Sought, Wanted};
use dwell_anatomy::reports::{self, By, REPORTS};
use dwell_machine::{DEFAULT_MACHINE, MACHINES, Machine, TICKS_PER_CYCLE};
use dwell_view::{View, json};
use serde_json::Map;

use super::calls::{Call, Shape, call};
use super::document::{Document, made};
use super::params::Params;
use super::trace_answers::{
    CallAnswer, CallsAnswer, ChartTile, ReplayProgress, TraceCall, TraceInfo, TraceMachine, TraceReport,
};
use super::transport::{self, document};
use super::views::{self, MOST_ROWS};
use super::words::{self, RequestWord};
use crate::problem::{Fault, Problem};
use crate::state::{App, Asked, Replayed};

/// Pixels of a piece of the chart at most.
const MOST_WIDTH: u32 = 1 << 13;
/// Instructions that are shown of a call, unless asked otherwise, and at most.
const INSTRUCTIONS: usize = 2000;
const MOST_INSTRUCTIONS: usize = 20_000;

/// The routes.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/t/{id}/progress", get(progress))
        .route("/api/t/{id}/report/{name}", get(report))
        .route("/api/t/{id}/view/{name}", get(columns))
        .route("/api/t/{id}/{question}", get(question))
        .route("/api/compare-traces", get(compare))
}

/// What the words of a question name: one of Dwell's machines, no file.
fn asked_of(id: &str, params: &Params, word: RequestWord) -> Result<Asked, Problem> {
    let wanted = params.text(word).unwrap_or(DEFAULT_MACHINE);
    let known = MACHINES.iter().find(|machine| machine.0 == wanted);
    let machine = known.ok_or_else(|| {
        let names: Vec<_> = MACHINES.iter().map(|machine| machine.0).collect();
        Problem::new(Fault::UnknownName, "there is no such machine")
            .hint(format!("the machines are {}", names.join(", ")))
    })?;
    Ok(Asked { id: id.to_owned(), machine: machine.0 })
}

/// How far the replay is; `null` when none is under way.
async fn progress(State(app): State<Arc<App>>, Path(id): Path<String>, uri: Uri) -> Result<Document, Problem> {
    let asked = asked_of(&id, &Params::parse(&uri)?, words::MACHINE)?;
    let instructions = format!("{} instructions", asked.key());
    let found = app.replays.progress(&asked.key()).or_else(|| app.replays.progress(&instructions));
    Ok(made(document(&found.map(|(read_bytes, size_bytes)| ReplayProgress { read_bytes, size_bytes }))?))
}

/// Makes a document of a trace.
type Make = fn(&Replayed, &Params) -> Result<String, Problem>;

/// The calls about an instruction trace.
pub const TRACE_CALLS: &[Call<Make>] = &[
    call!("call": CallAnswer = |replayed, params| call_of),
    call!("calls": CallsAnswer = |replayed, params| calls),
    // Its texts are short already, and it is large.
    Call {
        name: "chart",
        shape: Shape::of::<ChartTile>(),
        make: |replayed, params| transport::written(&chart(replayed, params)?),
    },
    call!("info": TraceInfo = |replayed, params| info),
];

async fn question(
    State(app): State<Arc<App>>,
    Path((id, question)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let params = Params::parse(&uri)?;
    let known = TRACE_CALLS.iter().find(|known| known.name == question);
    let make = known.ok_or_else(|| Problem::missing("there is no such question"))?.make;
    let replayed = app.replayed(&asked_of(&id, &params, words::MACHINE)?).await?;
    Ok(made(app.compute(move || make(&replayed, &params)).await?))
}

/// The document of `dwell anatomy report NAME --format json`.
async fn report(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    view(&app, &id, &name, &uri, |view| Ok(json::render(view))).await
}

/// A report with a description of its columns.
async fn columns(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    view(&app, &id, &name, &uri, with_columns).await
}

/// A view with its columns; sums of a trace's rows mean nothing.
fn with_columns(view: &View) -> Result<String, Problem> {
    transport::written(&views::with_columns(view, Map::new()))
}

async fn view(
    app: &Arc<App>,
    id: &str,
    name: &str,
    uri: &Uri,
    render: fn(&View) -> Result<String, Problem>,
) -> Result<Document, Problem> {
    let params = Params::parse(uri)?;
    let name = REPORTS.iter().find(|report| report.0 == name).map(|report| report.0);
    let name = name.ok_or_else(|| Problem::missing("there is no such report"))?;
    let asked = asked_of(id, &params, words::MACHINE)?;
    let key = format!("{} {name} {uri}", asked.key());
    let make = async || {
        let of_instructions = wanted(name, &params)?;
        let (shared, asked) = (app.clone(), asked);
        let rendered = move |anatomy: &Anatomy| Ok(Arc::new(render(&made_of(anatomy, name, &params)?)?.into_bytes()));
        if let Some(detail) = of_instructions {
            return app.compute(move || rendered(&shared.detailed(&asked, detail)?)).await;
        }
        let replayed = app.replayed(&asked).await?;
        app.compute(move || rendered(&replayed.anatomy)).await
    };
    Ok(Document(app.documents.get(key, make).await?))
}

/// The instructions that a report needs.
fn wanted(name: &str, params: &Params) -> Result<Option<Detail>, Problem> {
    let limit = params.number(words::LIMIT)?.unwrap_or(INSTRUCTIONS).min(MOST_INSTRUCTIONS);
    let function = || params.text(words::FUNCTION).map(|function| Wanted::Functions(function.to_owned()));
    let wanted = match name {
        "instructions" => params.number(words::CALL)?.map(Wanted::Call).or_else(function),
        "code" => function(),
        _ => return Ok(None),
    };
    let wanted = wanted.ok_or_else(|| Problem::query("`function` is missing"))?;
    Ok(Some(Detail::new(wanted, limit)))
}

fn made_of(anatomy: &Anatomy, name: &str, params: &Params) -> Result<View, Problem> {
    let asked = reports::Asked {
        limit: params.number(words::LIMIT)?.unwrap_or(MOST_ROWS).min(MOST_ROWS),
        function: params.text(words::FUNCTION).map(str::to_owned),
        depth: params.number(words::DEPTH)?.unwrap_or(u16::MAX),
    };
    let mut view = reports::report(name, anatomy, &asked).unwrap_or_default();
    transport::cut(&mut view);
    Ok(view)
}

/// Two traces, or one on two machines, side by side.
async fn compare(State(app): State<Arc<App>>, uri: Uri) -> Result<Document, Problem> {
    let params = Params::parse(&uri)?;
    let asked = (
        asked_of(params.needed(words::A)?, &params, words::MACHINE)?,
        asked_of(params.needed(words::B)?, &params, words::SECOND)?,
    );
    let by = match params.text(words::BY) {
        None | Some("phase") => By::Phase,
        Some("function") => By::Function,
        Some(_) => return Err(Problem::query("`by` is phase or function")),
    };
    let limit = params.number(words::LIMIT)?.unwrap_or(MOST_ROWS).min(MOST_ROWS);
    let first = app.replayed(&asked.0).await?;
    let second = app.replayed(&asked.1).await?;
    let make = move || {
        let mut view = reports::compare(&first.anatomy, &second.anatomy, by, limit);
        transport::cut(&mut view);
        with_columns(&view)
    };
    Ok(made(app.compute(make).await?))
}

/// What a reader must know of the trace before anything else.
fn info(replayed: &Replayed, _: &Params) -> Result<TraceInfo, Problem> {
    let anatomy = &replayed.anatomy;
    let machines = MACHINES.iter().map(|(name, _)| {
        let title = Machine::named(name).map_or_else(|_| (*name).to_owned(), |machine| machine.title);
        TraceMachine { id: name, title }
    });
    let report = |(id, help): &(&'static str, &'static str)| TraceReport { id, help };
    Ok(TraceInfo {
        command: replayed.head.command.join(" "),
        system: replayed.head.system,
        machines: machines.collect(),
        reports: REPORTS.iter().map(report).collect(),
        phases: anatomy.phases.clone(),
        ticks: anatomy.ticks,
        ticks_per_cycle: TICKS_PER_CYCLE,
        depths: replayed.chart.depths(),
        missing: replayed.chart.missing,
        is_cut: replayed.chart.is_cut,
        calls: anatomy.calls.len(),
    })
}

/// A part of the chart.
fn chart(replayed: &Replayed, params: &Params) -> Result<ChartTile, Problem> {
    let anatomy = &replayed.anatomy;
    let (from, to) = params.query.range.unwrap_or((0, anatomy.ticks));
    let width = params.number(words::WIDTH)?.unwrap_or(1000).clamp(1, MOST_WIDTH);
    let seen = replayed.chart.pieces(anatomy, &Sought { from, to, width, lit: lit(anatomy, params)? });
    let calls: Vec<&annotate::Call> = seen.call.iter().map(|&call| &anatomy.calls[call as usize]).collect();
    let since = |ticks: &u64| i128::from(*ticks) - i128::from(from);
    let function: Vec<u32> = calls.iter().map(|call| call.function).collect();
    let numbers: BTreeSet<u32> = function.iter().copied().collect();
    Ok(ChartTile {
        from,
        to,
        depth: seen.depth,
        begin: seen.begin.iter().map(since).collect(),
        end: seen.end.iter().map(since).collect(),
        calls: seen.calls,
        ticks: seen.ticks,
        phase: calls.iter().map(|call| call.phase).collect(),
        names: numbers
            .into_iter()
            .map(|number| (number, transport::cut_name(&anatomy.functions[number as usize].name)))
            .collect(),
        function,
        call: seen.call,
    })
}

/// Which calls are looked for.
fn lit(anatomy: &Anatomy, params: &Params) -> Result<Lit, Problem> {
    if let Some(number) = function(anatomy, params) {
        return Ok(Lit::Function(number?));
    }
    let named = |name: &str| anatomy.phases.iter().position(|phase| phase == name).map(|phase| phase as u16);
    let phases: Option<Vec<u16>> = params.all(words::PHASE).map(named).collect();
    let phases = phases.ok_or_else(|| Problem::query("there is no such phase"))?;
    Ok(if phases.is_empty() { Lit::All } else { Lit::Phases(phases) })
}

/// The function that the question names.
fn function(anatomy: &Anatomy, params: &Params) -> Option<Result<u32, Problem>> {
    let (name, module) = (params.text(words::FUNCTION)?, params.text(words::MODULE));
    let is_it =
        |function: &dwell_anatomy::Function| function.name == name && module.is_none_or(|it| function.module == it);
    let found = anatomy.functions.iter().position(is_it);
    Some(found.map(|number| number as u32).ok_or_else(|| Problem::missing("there is no such function in the trace")))
}

/// What is known of one call: with those above it, the outermost first.
fn call_of(replayed: &Replayed, params: &Params) -> Result<CallAnswer, Problem> {
    let number: usize = params.needed_number(words::NUMBER)?;
    let calls = &replayed.anatomy.calls;
    let call = calls.get(number).ok_or_else(|| Problem::missing("there is no such call"))?;
    let active = replayed.chart.active(call.begin);
    let above = active.iter().take(usize::from(call.depth)).filter(|&&above| (above as usize) < number);
    Ok(CallAnswer {
        call: told(&replayed.anatomy, number),
        above: above.map(|&above| told(&replayed.anatomy, above as usize)).collect(),
    })
}

fn told(anatomy: &Anatomy, number: usize) -> TraceCall {
    let call = &anatomy.calls[number];
    let function = &anatomy.functions[call.function as usize];
    TraceCall {
        number,
        function: function.name.clone(),
        module: function.module.clone(),
        phase: anatomy.phases[usize::from(call.phase)].clone(),
        depth: call.depth,
        thread: call.thread,
        begin: call.begin,
        end: call.end,
        instructions: call.instructions,
    }
}

/// How often a function was called, and its call before or behind another one.
fn calls(replayed: &Replayed, params: &Params) -> Result<CallsAnswer, Problem> {
    let anatomy = &replayed.anatomy;
    let number = function(anatomy, params).ok_or_else(|| Problem::query("`function` is missing"))??;
    let numbered = anatomy.calls.iter().enumerate();
    let all: Vec<(usize, &annotate::Call)> = numbered.filter(|(_, call)| call.function == number).collect();
    let at: Option<usize> = params.number(words::AT)?;
    let before = all.iter().take_while(|(call, _)| at.is_some_and(|at| *call < at)).last();
    let next = all.iter().find(|(call, _)| at.is_none_or(|at| *call > at));
    let longest = all.iter().max_by_key(|(call, it)| (it.end - it.begin, usize::MAX - call));
    let told = |found: Option<&(usize, &annotate::Call)>| found.map(|(number, _)| told(anatomy, *number));
    Ok(CallsAnswer { count: all.len(), before: told(before), next: told(next), longest: told(longest) })
}
