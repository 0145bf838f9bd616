//! The process that makes collections for the page of `dwell view --collect`.
//!
//! The server reads results that others wrote, and is confined; this process has the rights to record, and reads one thing only:
//! questions from the server, a line each ([`dwell_server::CollectorQuestion`]), which it checks as if anybody had written them. It records by
//! `dwell collect`, as whoever started it: under sudo programs run as the user who called sudo, and results are that user's.
//! When the server is gone, it ends the collections that run, and what they recorded is kept.

mod looks;
mod picture;
mod plan;
mod processes;
mod running;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use dwell_server::{Collector, CollectorAnswer, CollectorQuestion, MOST_QUESTION_BYTES};
use serde::Serialize;

use crate::error::{Hinted, Result};
use running::PageCollections;

/// Starts the process, for results in `folder`. Returns the server's end of the sockets between them.
pub fn start(folder: &Path) -> Result<Collector> {
    let failed = |error: std::io::Error| Hinted::new(format!("cannot start the process that collects: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    // Its end is the end of the sockets: it is not waited for.
    command.arg("collector").arg(folder).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn().map_err(failed)?;
    Ok(Collector::behind(ours.into()))
}

/// Answers until nobody asks any more.
pub fn run(folder: &Path) -> Result<ExitCode> {
    let failed = |error: std::io::Error| Hinted::new(format!("cannot answer the server: {error}"));
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut answers = UnixStream::from(socket);
    // Who types this command has no server at the other end.
    answers
        .peer_addr()
        .map_err(|_| Hinted::usage("only dwell view --collect starts this").hint("dwell view --collect"))?;
    // Ctrl-C is for the server: collections end when it is gone, each by a signal of its own.
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, ignored).map_err(failed)?;
    let folder = std::path::absolute(folder).map_err(failed)?;
    let mut handler = QuestionHandler { folder, collections: PageCollections::default() };
    let mut questions = BufReader::new(answers.try_clone().map_err(failed)?);
    loop {
        let mut line = String::new();
        let length = (&mut questions).take(MOST_QUESTION_BYTES as u64).read_line(&mut line);
        if !matches!(length, Ok(1..)) || !line.ends_with('\n') {
            break;
        }
        let answer = handler.answer(&line).unwrap_or_else(|error| refused(&error));
        let mut text = serde_json::to_string(&answer).unwrap_or_default();
        text.push('\n');
        if answers.write_all(text.as_bytes()).is_err() {
            break;
        }
    }
    handler.collections.end();
    Ok(ExitCode::SUCCESS)
}

/// Who answers.
struct QuestionHandler {
    folder: PathBuf,
    collections: PageCollections,
}

impl QuestionHandler {
    fn answer(&mut self, line: &str) -> Result<CollectorAnswer> {
        let strange = |error| Hinted::new(format!("this is no question: {error}"));
        match serde_json::from_str(line).map_err(strange)? {
            CollectorQuestion::Collections => document(&self.collections.list()),
            CollectorQuestion::Processes => document(&processes::processes()?),
            CollectorQuestion::Plan(wanted) => document(&plan::plan(&self.folder, &wanted)),
            CollectorQuestion::Start(wanted) => document(&self.collections.start(&self.folder, &wanted)?),
            CollectorQuestion::Picture(collection) => document(&self.collections.picture(collection)?),
            CollectorQuestion::Steer { collection, request } => {
                document(&self.collections.steer(collection, &request)?)
            }
        }
    }
}

fn document(answer: &impl Serialize) -> Result<CollectorAnswer> {
    let failed = |error| Hinted::new(format!("cannot write the answer: {error}"));
    Ok(CollectorAnswer::Document(serde_json::to_value(answer).map_err(failed)?))
}

fn refused(error: &Hinted) -> CollectorAnswer {
    CollectorAnswer::Refused { error: error.message().to_owned(), hint: error.advice().unwrap_or_default().to_owned() }
}
