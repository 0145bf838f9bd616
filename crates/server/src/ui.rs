//! The files of the web UI, which are part of the binary. Everyone may have them: nothing of a result is in them.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::state::App;

/// Name relative to `web/dist`, and content.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ui_files.rs"));

const PAGE: &str = "index.html";
const NOT_BUILT: &str = "This dwell was built without its web UI: run `make web` in its source folder and build it \
                         again. The calls under /api answer all the same, with the header `Authorization: Bearer TOKEN`.\n";

/// Whether there is a UI.
pub fn is_built() -> bool {
    file(PAGE).is_some()
}

/// The routes of the UI beside those of `api`.
pub fn routes(api: Router<Arc<App>>) -> Router<Arc<App>> {
    api.route("/", get(page)).route("/{*path}", get(asset))
}

async fn page() -> Response {
    file(PAGE).unwrap_or_else(|| ([("content-type", TEXT)], NOT_BUILT).into_response())
}

async fn asset(Path(path): Path<String>) -> Response {
    file(&path).unwrap_or_else(|| (StatusCode::NOT_FOUND, "there is no such file\n").into_response())
}

/// The file of this name: found in a list, so that no path leads out of it.
fn file(name: &str) -> Option<Response> {
    let (name, content) = FILES.iter().find(|(known, _)| *known == name)?;
    let named_by_content = name.starts_with("assets/");
    let caching = if named_by_content { "private, max-age=31536000, immutable" } else { "no-store" };
    Some(([("content-type", content_type(name)), ("cache-control", caching)], *content).into_response())
}

const TEXT: &str = "text/plain; charset=utf-8";

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        _ => TEXT,
    }
}
