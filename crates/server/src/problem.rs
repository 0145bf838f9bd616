//! What a request that cannot be answered gets: a status, its kind, one sentence, and a hint. The sentence is for logs and in
//! English; who shows it in another language has words of its own by the kind.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use dwell_analyze::QueryError;
use dwell_anatomy::trace::TraceError;
use dwell_machine::MachineError;
use serde::Serialize;

/// Declares the kinds: what is wrong, its name in JSON, its status.
macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident = $id:literal, $status:ident;)*) => {
        /// What is wrong, as the page names it (`web/src/base/texts/problems-ja.ts`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $fault,)*
        }

        impl Fault {
            /// Its name in JSON.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$fault => $id,)*
                }
            }

            fn status(self) -> StatusCode {
                match self {
                    $(Self::$fault => StatusCode::$status,)*
                }
            }
        }
    };
}

faults! {
    /// The question makes no sense.
    Question = "question", BAD_REQUEST;
    /// It names what is not there: a function, an object, a machine.
    UnknownName = "unknown-name", BAD_REQUEST;
    /// A name that several have.
    Ambiguous = "ambiguous", BAD_REQUEST;
    /// A filter without a meaning.
    BadFilter = "bad-filter", BAD_REQUEST;
    /// The result holds nothing of the function's code.
    NoListing = "no-listing", BAD_REQUEST;
    /// The time range lies outside the recording.
    EmptyRange = "empty-range", BAD_REQUEST;
    /// It is longer than any of the page's.
    TooLong = "too-long", URI_TOO_LONG;
    /// A file for other tools is larger than the server makes.
    TooLarge = "too-large", PAYLOAD_TOO_LARGE;
    /// It is no question.
    NotARead = "not-a-read", METHOD_NOT_ALLOWED;
    /// It is addressed to somebody else.
    OtherHost = "other-host", MISDIRECTED_REQUEST;
    /// It comes from somebody else's page.
    OtherPage = "other-page", FORBIDDEN;
    /// It comes from a program of another user.
    OtherUser = "other-user", FORBIDDEN;
    /// Who asks has no session.
    NotSignedIn = "not-signed-in", UNAUTHORIZED;
    /// This server starts no collections.
    StartsNone = "starts-none", FORBIDDEN;
    /// A collection cannot be started or steered so.
    NotCollected = "not-collected", UNPROCESSABLE_ENTITY;
    /// The process that makes them has ended.
    CollectorGone = "collector-gone", BAD_GATEWAY;
    /// The address names nothing.
    Missing = "missing", NOT_FOUND;
    /// The result or trace is not in the folder.
    NoResult = "no-result", NOT_FOUND;
    /// The log cannot be read.
    LogUnread = "log-unread", NOT_FOUND;
    /// A file cannot be read.
    Unreadable = "unreadable", UNPROCESSABLE_ENTITY;
    /// Dwell did not write the folder or file.
    NotAResult = "not-a-result", UNPROCESSABLE_ENTITY;
    /// It is of another version of Dwell.
    OtherVersion = "other-version", UNPROCESSABLE_ENTITY;
    /// It is not finalized yet.
    NotFinalized = "not-finalized", UNPROCESSABLE_ENTITY;
    /// It is cut off or changed.
    Damaged = "damaged", UNPROCESSABLE_ENTITY;
    /// Our own mistake.
    Internal = "internal", INTERNAL_SERVER_ERROR;
}

impl Fault {
    /// Why a result cannot be read.
    pub fn of(error: &dwell_store::Error) -> Self {
        use dwell_store::Error as E;
        match error {
            E::Io { .. } | E::Exists { .. } => Self::Unreadable,
            E::NotAResult { .. } | E::Strange { .. } => Self::NotAResult,
            E::OtherFormat { .. } => Self::OtherVersion,
            E::NotFinalized { .. } => Self::NotFinalized,
            E::Table { .. } | E::TooLarge { .. } | E::Packed { .. } => Self::Damaged,
        }
    }
}

/// A problem as JSON.
#[derive(Serialize)]
struct ErrorBody {
    kind: &'static str,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// A failed request.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What is wrong.
    pub fault: Fault,
    error: String,
    hint: Option<String>,
}

impl Problem {
    /// One sentence, no capital, no full stop.
    pub fn new(fault: Fault, error: impl std::fmt::Display) -> Self {
        Self { fault, error: error.to_string(), hint: None }
    }

    /// A query that makes no sense.
    pub fn query(error: impl std::fmt::Display) -> Self {
        Self::new(Fault::Question, error)
    }

    /// The address names nothing.
    pub fn missing(error: impl std::fmt::Display) -> Self {
        Self::new(Fault::Missing, error)
    }

    /// Our own mistake.
    pub fn internal() -> Self {
        let problem = Self::new(Fault::Internal, "this view cannot be computed");
        problem.hint("the same report on the command line may say why; please report it")
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        use QueryError as E;
        let fault = match &error {
            E::Unknown { .. } | E::UnknownHandle { .. } => Fault::UnknownName,
            E::Ambiguous { .. } => Fault::Ambiguous,
            E::HandleOfOne { .. } | E::ThreadOfFibers { .. } => Fault::BadFilter,
            E::FilterForm { .. } | E::LengthForm { .. } | E::CounterForm { .. } | E::NumberForm { .. } => {
                Fault::BadFilter
            }
            E::NoListing { .. } => Fault::NoListing,
            E::EmptyRange { .. } => Fault::EmptyRange,
            E::FrameRates { .. } | E::SubjectMissing { .. } | E::NoFibers => Fault::Question,
        };
        let problem = Self::new(fault, &error);
        error.hint().map_or(problem.clone(), |hint| problem.hint(hint))
    }
}

impl From<dwell_store::Error> for Problem {
    fn from(error: dwell_store::Error) -> Self {
        use dwell_store::Error as E;
        let problem = Self::new(Fault::of(&error), &error);
        match &error {
            E::NotFinalized { path } => problem.hint(format!("dwell finalize '{}'", path.display())),
            E::Strange { path, .. } => problem.hint(format!("ls -ld '{}' shows what is there", path.display())),
            E::OtherFormat { .. } => problem.hint("view it with the Dwell that wrote it, or record the program anew"),
            E::TooLarge { .. } => problem.hint(dwell_store::error::TOO_LARGE_HINT),
            _ => problem.hint("dwell finalize makes the tables again where the raw data was kept; else collect again"),
        }
    }
}

impl From<TraceError> for Problem {
    fn from(error: TraceError) -> Self {
        let fault = match &error {
            TraceError::Io(_) => Fault::Unreadable,
            TraceError::NotATrace => Fault::NotAResult,
            TraceError::Version(_) => Fault::OtherVersion,
            TraceError::Truncated { .. } | TraceError::Damaged { .. } => Fault::Damaged,
        };
        Self::new(fault, &error).hint(error.hint())
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        Self::query(&error).hint(error.hint())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let told = ErrorBody { kind: self.fault.id(), error: self.error, hint: self.hint };
        let body = serde_json::to_string(&told).unwrap_or_default();
        (self.fault.status(), [("content-type", "application/json")], body).into_response()
    }
}
