//! The routes under `/api`: each understands its question, and has it answered from the cache or on the pool.
//! They take requests and give JSON documents, drawings, or a [`Problem`].
//! They compute nothing themselves, and do not decide who may ask.

mod anatomy;
mod calls;
mod collections;
mod document;
mod explore;
mod export;
mod info;
mod params;
mod timeline;
mod trace_answers;
mod transport;
mod views;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dwell_analyze::explore::{FilterValues, Flame, Grid, LatencyPane, StackPane};
use dwell_analyze::timeline::{Arrows, Charts, CounterCurves, Histogram, IntervalInfo, TaskInfo, WaitChain};
use dwell_analyze::{Analysis, Fold, Level, Query};
use dwell_view::json;

use self::calls::{Call, call};
pub use self::collections::routes as collection_routes;
use self::document::Document;
use self::params::Params;
use self::timeline::{Bands, TaskSpans};
#[cfg(test)]
pub use self::views::MOST_ROWS;
use crate::problem::Problem;
use crate::state::App;

/// Every route.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/results", get(info::results))
        .route("/api/compare", get(compare))
        .route("/api/r/{id}/info", get(info))
        .route("/api/r/{id}/log", get(info::log))
        .route("/api/r/{id}/source", get(source))
        .route("/api/r/{id}/tile", get(tile))
        .route("/api/r/{id}/{view}", get(view))
        .route("/api/r/{id}/report/{name}", get(report))
        .route("/api/r/{id}/view/{name}", get(columns))
        .route("/api/{*other}", get(unknown))
        .merge(anatomy::routes())
        .merge(export::routes())
}

/// How often a request is answered again because an index was damaged.
const ATTEMPTS: usize = 3;

/// Answers a request; once more when an index turned out to be damaged meanwhile, which is made anew then.
pub async fn answer_soundly(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, _) = request.into_parts(); // nobody sends a body
    for _ in 0..ATTEMPTS {
        let before = app.damages();
        let response = next.clone().run(Request::from_parts(parts.clone(), Body::empty())).await;
        if app.damages() == before {
            return response;
        }
    }
    Problem::internal().into_response()
}

/// Makes a view's document from a fold and a question.
type Make = fn(&Fold<'_>, &Params) -> Result<String, Problem>;

/// The views that need a fold and a question only.
const VIEWS: &[Call<Make>] = &[
    call!("filters": FilterValues = |fold, params| explore::filters),
    call!("flame": Flame = |fold, params| explore::flames),
    call!("grid": Grid = |fold, params| explore::rows),
    call!("latency": LatencyPane = |fold, params| explore::latency),
    call!("socket-lengths": Histogram = |fold, params| explore::socket_lengths),
    call!("stacks": StackPane = |fold, params| explore::stacks),
];

/// Makes a document from a result and a question, by the timeline's own ways through the events.
type MakeTimeline = fn(&Analysis, &Params) -> Result<String, Problem>;

const TIMELINE: &[Call<MakeTimeline>] = &[
    call!("arrows": Arrows = |analysis, params| timeline::transitions),
    call!("bands": Bands = |analysis, params| timeline::order_of_tasks),
    call!("charts": Charts = |analysis, params| timeline::curves),
    call!("counters": CounterCurves = |analysis, params| timeline::counter_curves),
    call!("interval": IntervalInfo = |analysis, params| timeline::interval),
    call!("task": TaskInfo = |analysis, params| timeline::task),
    call!("tasks": TaskSpans = |analysis, params| timeline::task_spans),
];

/// What a view of the timeline needs folded, if anything.
type Folded = fn(&Params) -> Result<Option<Query>, Problem>;

/// Makes a document from a result and the fold of what it needs.
type MakeOfFold = fn(&Analysis, &Fold<'_>, &Params) -> Result<String, Problem>;

const FOLDED: &[(Folded, Call<MakeOfFold>)] = &[
    (timeline::folded_for_bands, call!("bands": Bands = |analysis, fold, params| timeline::order)),
    (timeline::folded_for_chain, call!("chain": WaitChain = |analysis, fold, params| timeline::chain)),
    (timeline::folded_for_durations, call!("histogram": Histogram = |analysis, fold, params| timeline::lengths)),
];

async fn view(
    State(app): State<Arc<App>>,
    Path((id, view)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let mut params = Params::parse(&uri)?;
    if let Some(call) = VIEWS.iter().find(|call| call.name == view) {
        let make = |_: &Analysis, fold: &Fold<'_>, params: &Params| (call.make)(fold, params);
        return document(&app, (&id, call.name), params, make).await;
    }
    if let Some((folded, call)) = FOLDED.iter().find(|(_, call)| call.name == view)
        && let Some(query) = folded(&params)?
    {
        params.query = query;
        return document(&app, (&id, call.name), params, call.make).await;
    }
    let call = TIMELINE.iter().find(|call| call.name == view);
    let call = call.ok_or_else(|| Problem::missing("there is no such view"))?;
    let analysis = app.analysis(&id).await?;
    let key = format!("{id} {} {params:?}", call.name);
    let made = || app.compute(move || Ok(Arc::new((call.make)(&analysis, &params)?.into_bytes())));
    Ok(Document(app.documents.get(key, made).await?))
}

/// A drawing of a part of the timeline: binary, and not kept, since no two requests for one are alike.
async fn tile(State(app): State<Arc<App>>, Path(id): Path<String>, uri: Uri) -> Result<Response, Problem> {
    let params = Params::parse(&uri)?;
    let analysis = app.analysis(&id).await?;
    let bytes = app.compute(move || timeline::drawing(&analysis, &params)).await?;
    Ok(([("content-type", "application/octet-stream")], bytes).into_response())
}

async fn report(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let report = views::parse(&name)?;
    let make = move |_: &Analysis, fold: &Fold<'_>, params: &Params| views::report(report, fold, params);
    document(&app, (&id, &format!("report/{name}")), views::asked(report, Params::parse(&uri)?), make).await
}

async fn columns(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let report = views::parse(&name)?;
    let make = move |_: &Analysis, fold: &Fold<'_>, params: &Params| views::columns(report, fold, params);
    document(&app, (&id, &format!("view/{name}")), views::asked(report, Params::parse(&uri)?), make).await
}

async fn info(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Document, Problem> {
    let analysis = app.analysis(&id).await?;
    let make = || app.compute(move || Ok(Arc::new(info::info(analysis.trace())?.into_bytes())));
    Ok(Document(app.documents.get(format!("{id} info"), make).await?))
}

/// A function's lines and machine code, which lie in tables of their own that no other view needs.
async fn source(State(app): State<Arc<App>>, Path(id): Path<String>, uri: Uri) -> Result<Document, Problem> {
    let params = Params::parse(&uri)?;
    let analysis = app.analysis(&id).await?;
    let key = format!("{id} source {params:?}");
    let shared = app.clone();
    let make = || {
        app.compute(move || {
            let tables = shared.library.code(&id)?;
            Ok(Arc::new(views::source(analysis.trace(), &tables, &params)?.into_bytes()))
        })
    };
    Ok(Document(app.documents.get(key, make).await?))
}

/// Two results side by side.
async fn compare(State(app): State<Arc<App>>, uri: Uri) -> Result<Document, Problem> {
    let params = Params::parse(&uri)?;
    let (a, b) = (params.needed(words::A)?, params.needed(words::B)?);
    let folds = (app.fold(a, &params.query).await?, app.fold(b, &params.query).await?);
    let level = Level::parse(params.text(words::LEVEL).unwrap_or(Level::Function.id()))?;
    dwell_analyze::refuse_handles([&folds.0, &folds.1].map(|fold| fold.analysis().trace()), &params.query)?;
    let key = format!("compare {params:?}");
    let asked = params.clone();
    let make = || {
        app.compute(move || {
            let (first, second) = (folds.0.asked(&asked.query), folds.1.asked(&asked.query));
            let mut view = dwell_analyze::compare::compare(&first, &second, level);
            transport::cut(&mut view);
            Ok(Arc::new(json::render(&view).into_bytes()))
        })
    };
    Ok(Document(app.documents.get(key, make).await?))
}

async fn unknown() -> Problem {
    Problem::missing("there is no such address")
}

/// The document of `view` of the result `id`: from the cache, or made on the pool from the selection's fold.
async fn document(
    app: &Arc<App>,
    (id, view): (&str, &str),
    params: Params,
    make: impl Fn(&Analysis, &Fold<'_>, &Params) -> Result<String, Problem> + Send + 'static,
) -> Result<Document, Problem> {
    let key = format!("{id} {view} {params:?}");
    let made = || async {
        let fold = app.fold(id, &params.query).await?;
        let params = params.clone();
        let make = move || make(fold.analysis(), &fold.asked(&params.query), &params);
        app.compute(move || Ok(Arc::new(make()?.into_bytes()))).await
    };
    Ok(Document(app.documents.get(key, made).await?))
}
