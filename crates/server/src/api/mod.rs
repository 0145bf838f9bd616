//! The routes under `/api`: each understands its question, and has it answered from the cache or on the pool.

mod info;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dwell_store::Trace;

use crate::params::Params;
use crate::problem::Problem;
use crate::state::App;

/// Every route.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/results", get(info::results))
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

/// Makes a view's document from a trace and a question.
type Make = fn(&Trace, &Params) -> Result<String, Problem>;

/// The views that need a trace and a question only.
const VIEWS: &[(&str, Make)] = &[("info", info::info)];

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
    let make = move |trace: &Trace, params: &Params| views::report(report, trace, params);
    document(&app, (&id, &format!("report/{name}")), Params::parse(&uri)?, make).await
}

async fn columns(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Document, Problem> {
    let report = views::parse(&name)?;
    let make = move |trace: &Trace, params: &Params| views::columns(report, trace, params);
    document(&app, (&id, &format!("view/{name}")), Params::parse(&uri)?, make).await
}

async fn unknown() -> Problem {
    Problem::missing("there is no such address")
}

/// The document of `view` of the result `id`: from the cache, or made on the pool.
async fn document(
    app: &Arc<App>,
    (id, view): (&str, &str),
    params: Params,
    make: impl Fn(&Trace, &Params) -> Result<String, Problem> + Send + 'static,
) -> Result<Document, Problem> {
    let trace = app.trace(id).await?;
    let key = format!("{id} {view} {params:?}");
    let make = || app.compute(move || Ok(Arc::new(make(&trace, &params)?.into_bytes())));
    Ok(Document(app.documents.get(key, make).await?))
}
