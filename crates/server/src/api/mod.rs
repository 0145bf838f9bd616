//! The routes under `/api`: each understands its question, and has it answered from the cache or on the pool.

mod explore;
mod info;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dwell_analyze::Fold;

use crate::params::Params;
use crate::problem::Problem;
use crate::state::App;

/// Every route.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/results", get(info::results))
        .route("/api/r/{id}/info", get(info))
        .route("/api/r/{id}/log", get(info::log))
        .route("/api/r/{id}/{view}", get(view))
        .route("/api/r/{id}/report/{name}", get(report))
        .route("/api/r/{id}/view/{name}", get(columns))
        .route("/api/{*other}", get(unknown))
}

/// A finished JSON document.
struct Document(Arc<Vec<u8>>);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([("content-type", "application/json")], Body::from(self.0.as_slice().to_vec())).into_response()
    }
}

/// Makes a view's document from a fold and a question.
type Make = fn(&Fold<'_>, &Params) -> Result<String, Problem>;

/// The views that need a fold and a question only.
const VIEWS: &[(&str, Make)] =
    &[("filters", explore::filters), ("flame", explore::flames), ("grid", explore::rows), ("stacks", explore::stacks)];

async fn view(
    State(app): State<Arc<App>>,
    Path((id, view)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let known = VIEWS.iter().find(|(name, _)| *name == view);
    let (name, make) = known.ok_or_else(|| Problem::missing("there is no such view"))?;
    document(&app, (&id, name), Params::parse(&uri)?, *make).await
}

async fn report(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let report = views::parse(&name)?;
    let make = move |fold: &Fold<'_>, params: &Params| views::report(report, fold, params);
    document(&app, (&id, &format!("report/{name}")), Params::parse(&uri)?, make).await
}

async fn columns(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let report = views::parse(&name)?;
    let make = move |fold: &Fold<'_>, params: &Params| views::columns(report, fold, params);
    document(&app, (&id, &format!("view/{name}")), Params::parse(&uri)?, make).await
}

async fn info(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Document, Problem> {
    let trace = app.trace(&id).await?;
    let make = || app.compute(move || Ok(Arc::new(info::info(&trace)?.into_bytes())));
    Ok(Document(app.documents.get(format!("{id} info"), make).await?))
}

async fn unknown() -> Problem {
    Problem::missing("there is no such address")
}

/// The document of `view` of the result `id`: from the cache, or made on the pool from the selection's fold.
async fn document(
    app: &Arc<App>,
    (id, view): (&str, &str),
    params: Params,
    make: impl Fn(&Fold<'_>, &Params) -> Result<String, Problem> + Send + 'static,
) -> Result<Document, Problem> {
    let key = format!("{id} {view} {params:?}");
    let made = || async {
        let fold = app.fold(id, &params.query).await?;
        let params = params.clone();
        app.compute(move || Ok(Arc::new(make(&fold.asked(&params.query), &params)?.into_bytes()))).await
    };
    Ok(Document(app.documents.get(key, made).await?))
}
