//! What a request that cannot be answered gets: a status, one sentence, and a hint.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dwell_analyze::QueryError;
use dwell_anatomy::trace::TraceError;
use dwell_machine::MachineError;
use serde_json::json;

/// A failed request.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    error: String,
    hint: Option<String>,
}

impl Problem {
    /// One sentence, no capital, no full stop.
    pub fn new(status: StatusCode, error: impl std::fmt::Display) -> Self {
        Self { status, error: error.to_string(), hint: None }
    }

    /// A query that makes no sense.
    pub fn query(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// What was asked for is not there.
    pub fn missing(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// Our own mistake.
    pub fn internal() -> Self {
        let problem = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "this view cannot be computed");
        problem.hint("the same report on the command line may say why; please report it")
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let problem = Self::query(&error);
        error.hint().map_or(problem.clone(), |hint| problem.hint(hint))
    }
}

impl From<dwell_store::Error> for Problem {
    fn from(error: dwell_store::Error) -> Self {
        use dwell_store::Error as E;
        let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, &error);
        match &error {
            E::NotFinalized { path } => problem.hint(format!("dwell finalize '{}'", path.display())),
            E::NewerVersion { .. } => problem.hint("view it with the Dwell that wrote it, or a newer one"),
            _ => problem.hint("dwell finalize makes the tables again where the raw data was kept; else collect again"),
        }
    }
}

impl From<TraceError> for Problem {
    fn from(error: TraceError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, &error).hint(error.hint())
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        Self::query(&error).hint(error.hint())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({ "error": self.error });
        if let Some(hint) = self.hint {
            body["hint"] = json!(hint);
        }
        (self.status, [("content-type", "application/json")], body.to_string()).into_response()
    }
}
