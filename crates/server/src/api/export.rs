//! `/api/r/ID/export/FORMAT` and `/api/r/ID/pack`: a result as a file for other tools, with the view's filters and time range.
//!
//! A file is made whole, in memory and up to a size, before any of it is sent: who gets a part would take it for all. A larger one is
//! refused with the command that writes it. The script of SQL views is not among the formats: it names paths of this machine.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dwell_analyze::{FilterKey, Fold, Query};
use dwell_export::{StackWeight, firefox, folded, otlp, perfetto, pprof, speedscope};
use dwell_store::PackFailure;

use super::params::Params;
use super::words;
use crate::problem::{Fault, Problem};
use crate::state::App;

/// Bytes of a file, at most: the browser has all of it in memory, too.
const MOST_BYTES: usize = 64 << 20;
/// Context switches of a format that has each of them, at most: more need more memory than a page is worth.
const MOST_SWITCHES: u64 = 2_000_000;

/// A format, and how it is written.
struct ExportFormat {
    /// As `dwell export` calls it.
    name: &'static str,
    /// How the file's name ends.
    ending: &'static str,
    /// Whether it has events in order of time, and not only sums.
    has_events: bool,
    write: fn(&Fold<'_>, StackWeight, &mut dyn Write) -> io::Result<()>,
}

const FORMATS: &[ExportFormat] = &[
    ExportFormat { name: "folded", ending: "folded", has_events: false, write: folded::write },
    ExportFormat {
        name: "speedscope",
        ending: "speedscope.json",
        has_events: false,
        write: |fold, _, out| speedscope::write(fold, out),
    },
    ExportFormat { name: "pprof", ending: "pb.gz", has_events: false, write: |fold, _, out| pprof::write(fold, out) },
    ExportFormat { name: "otlp", ending: "otlp.pb", has_events: false, write: |fold, _, out| otlp::write(fold, out) },
    ExportFormat {
        name: "firefox",
        ending: "profile.json.gz",
        has_events: true,
        write: |fold, _, out| firefox::write_compressed(fold, out),
    },
    ExportFormat {
        name: "perfetto",
        ending: "pftrace",
        has_events: true,
        write: |fold, _, out| perfetto::write(fold, out),
    },
];

/// The routes.
pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/r/{id}/export/{format}", get(export)).route("/api/r/{id}/pack", get(pack))
}

async fn export(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, Problem> {
    let format = FORMATS.iter().find(|format| format.name == name).ok_or_else(|| unknown_format(&name))?;
    let params = Params::parse(&uri)?;
    refuse_classes(format, &params.query)?;
    let weight = weight(&params)?;
    let fold = app.fold(&id, &params.query).await?;
    let file = format!("{id}.{}", format.ending);
    let bytes = app.compute(move || {
        let fold = fold.asked(&params.query);
        if format.has_events && fold.whole().switches > MOST_SWITCHES {
            return Err(too_large(&format!("dwell export {} {id}", format.name)));
        }
        let mut out = BoundedBuffer::default();
        match (format.write)(&fold, weight, &mut out) {
            Ok(()) => Ok(out.bytes),
            Err(_) if out.is_full => Err(too_large(&format!("dwell export {} {id}", format.name))),
            Err(error) => Err(Problem::new(Fault::Internal, format!("the file cannot be made: {error}"))),
        }
    });
    Ok(download(&file, bytes.await?))
}

async fn pack(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let file = format!("{id}.dwell");
    let shared = app.clone();
    let bytes = app.compute(move || {
        let result = shared.library.find(&id)?;
        let mut out = BoundedBuffer::default();
        match dwell_store::pack(&result, &BTreeSet::new(), &mut out) {
            Ok(()) => Ok(out.bytes),
            Err(_) if out.is_full => Err(too_large(&format!("dwell pack {id}"))),
            Err(PackFailure::Output(error)) => {
                Err(Problem::new(Fault::Internal, format!("the file cannot be made: {error}")))
            }
            Err(PackFailure::Result(error)) => Err(error.into()),
        }
    });
    Ok(download(&file, bytes.await?))
}

fn unknown_format(name: &str) -> Problem {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    Problem::missing(format!("there is no format `{name}` here")).hint(format!("formats: {}", names.join(", ")))
}

/// A class of utilization cuts waits to pieces that are sums: formats with events have no place for these.
fn refuse_classes(format: &ExportFormat, query: &Query) -> Result<(), Problem> {
    let mut filters = query.filters.iter().chain(&query.exclude);
    if format.has_events && filters.any(|filter| filter.key == FilterKey::Utilization) {
        let problem = Problem::new(Fault::BadFilter, "a filter by utilization is of sums, and this format has events");
        return Err(problem.hint("pprof takes it; a time range cuts events"));
    }
    Ok(())
}

/// What numbers of folded stacks are.
fn weight(params: &Params) -> Result<StackWeight, Problem> {
    match params.text(words::WEIGHT) {
        None | Some("cpu") => Ok(StackWeight::Cpu),
        Some("wait") => Ok(StackWeight::Wait),
        Some(other) => Err(Problem::query(format!("`{other}` is no weight of folded stacks")).hint("cpu or wait")),
    }
}

fn too_large(command: &str) -> Problem {
    let problem = Problem::new(Fault::TooLarge, "the file would be too large for the page");
    problem.hint(format!("{command} writes it; a time range or filters make it smaller"))
}

/// A file to be saved. Its name is an id of the library, of which only plain letters reach the header.
fn download(file: &str, bytes: Vec<u8>) -> Response {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = file.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_DISPOSITION, disposition)], bytes).into_response()
}

/// Keeps what is written, up to [`MOST_BYTES`].
#[derive(Default)]
struct BoundedBuffer {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MOST_BYTES - self.bytes.len() {
            self.is_full = true;
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_bounded() {
        let mut out = BoundedBuffer::default();
        out.write_all(&vec![0; MOST_BYTES]).unwrap();
        assert!(!out.is_full);
        assert!(out.write_all(b"x").is_err());
        assert!(out.is_full);
        assert_eq!(out.bytes.len(), MOST_BYTES);
    }
}
