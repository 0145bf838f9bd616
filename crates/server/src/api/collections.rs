//! Collections: those that the page started, and what it may ask of the process that makes them. The only routes that change anything,
//! and only in a `dwell view --collect`.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::routing::{get, post};
use dwell_store::ControlRequest;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::document::{Document, made};
use super::transport::written;
use crate::collector::{
    COLLECTIONS, CollectionList, CollectionRequest, Collector, CollectorQuestion, MOST_QUESTION_BYTES,
};
use crate::problem::{Fault, Problem};
use crate::state::App;

/// The routes.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(COLLECTIONS, get(collections).post(start))
        .route("/api/collections/plan", post(plan))
        .route("/api/collections/{id}/picture", get(picture))
        .route("/api/collections/{id}/{word}", post(steer))
        .route("/api/processes", get(processes))
}

async fn collections(State(app): State<Arc<App>>) -> Result<Document, Problem> {
    if app.collector.is_none() {
        return Ok(made(written(&CollectionList { enabled: false, collections: Vec::new() })?));
    }
    ask(app, CollectorQuestion::Collections).await
}

async fn processes(State(app): State<Arc<App>>) -> Result<Document, Problem> {
    ask(app, CollectorQuestion::Processes).await
}

/// Who asks watches: the threads are looked at as long as somebody asks again.
async fn picture(State(app): State<Arc<App>>, Path(collection): Path<u32>) -> Result<Document, Problem> {
    ask(app, CollectorQuestion::Picture(collection)).await
}

async fn plan(State(app): State<Arc<App>>, request: Request) -> Result<Document, Problem> {
    let wanted: CollectionRequest = body(request.into_body()).await?;
    ask(app, CollectorQuestion::Plan(wanted)).await
}

async fn start(State(app): State<Arc<App>>, request: Request) -> Result<Document, Problem> {
    let wanted: CollectionRequest = body(request.into_body()).await?;
    ask(app, CollectorQuestion::Start(wanted)).await
}

async fn steer(
    State(app): State<Arc<App>>,
    Path((collection, word)): Path<(u32, String)>,
    request: Request,
) -> Result<Document, Problem> {
    let none = |_| Problem::missing("a collection cannot be told that");
    let text: String = body(request.into_body()).await?;
    let request = match word.as_str() {
        "mark" => ControlRequest::Mark(text),
        _ => serde_json::from_value(Json::String(word)).map_err(none)?,
    };
    ask(app, CollectorQuestion::Steer { collection, request }).await
}

/// What was sent, as far as it is what is expected.
async fn body<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let too_long = |_| Problem::new(Fault::TooLong, "the request is too long");
    let bytes = to_bytes(body, MOST_QUESTION_BYTES / 2).await.map_err(too_long)?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::query(format!("this is no request: {error}")))
}

/// Asks the process that makes collections, one question after the other.
async fn ask(app: Arc<App>, question: CollectorQuestion) -> Result<Document, Problem> {
    let none = || {
        let problem = Problem::new(Fault::StartsNone, "this dwell view starts no collections");
        problem.hint("sudo dwell view --collect")
    };
    let asked = tokio::task::spawn_blocking(move || {
        let collector: &Collector = app.collector.as_ref().ok_or_else(none)?;
        collector.ask(&question)
    });
    Ok(made(asked.await.map_err(|_| Problem::internal())??))
}
