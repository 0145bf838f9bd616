//! `dwell control`: asks a collection that runs, over the socket in its result's folder.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use dwell_store::{CONTROL_SOCKET, ControlReply, ControlRequest, ControlStatus, ResultFolder, State, control_line};

use crate::args::{ControlArgs, ControlWord, FinalizeArgs, Format, NamingArgs};
use crate::error::{Hinted, Result, quoted};
use crate::text::units;
use crate::{finalize, output};

/// A collector that is busy answers within a round; one that is stopped, never.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_REPLY_BYTES: u64 = 1 << 20;
const HINT: &str = "dwell control status, or with the result's folder before the word: dwell control r000th status";

/// Asks, and prints the answer.
pub fn run(args: &ControlArgs) -> Result<ExitCode> {
    let (path, request) = request(&args.words)?;
    let folder = match path {
        Some(path) => path,
        None => ResultFolder::latest(Path::new(".")).ok_or_else(|| {
            Hinted::new("there is no result in this folder that you may read")
                .hint("sudo dwell control status, where it is collected under sudo; or name its folder: dwell control PATH status")
        })?,
    };
    let reply = ask(&folder, &request)?;
    match reply {
        ControlReply::Done => {}
        ControlReply::Status(status) => output::print(&words(&folder, &status, args.format))?,
        ControlReply::Snapshot(name) => return finalize_snapshot(&folder.join(name)),
        // Only the page's collector asks for them.
        ControlReply::Processes(_) => {}
        ControlReply::Refused(why) => return Err(Hinted::new(why).hint("dwell control status says how it goes")),
    }
    Ok(ExitCode::SUCCESS)
}

/// `[RESULT] WORD [TEXT]`.
fn request(words: &[PathBuf]) -> Result<(Option<PathBuf>, ControlRequest)> {
    let word = |path: &PathBuf| path.to_str().and_then(|text| ControlWord::from_str(text, false).ok());
    let (path, rest) = match words {
        [first, rest @ ..] if word(first).is_some() => (None, (word(first), rest)),
        [path, second, rest @ ..] if word(second).is_some() => (Some(path.clone()), (word(second), rest)),
        [.., last] => {
            let message = format!("`{}` is nothing that a collection can be asked", last.display());
            return Err(Hinted::usage(message).hint(HINT));
        }
        [] => return Err(Hinted::usage("nothing was asked").hint(HINT)),
    };
    let text = rest.1.iter().map(|text| text.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let request = match rest.0 {
        Some(ControlWord::Mark) if text.is_empty() => {
            return Err(Hinted::usage("a mark has a text").hint("dwell control mark 'deployed 1.2'"));
        }
        Some(ControlWord::Mark) => ControlRequest::Mark(text),
        _ if !text.is_empty() => return Err(Hinted::usage(format!("`{text}` is too much")).hint(HINT)),
        Some(ControlWord::Pause) => ControlRequest::Pause,
        Some(ControlWord::Resume) => ControlRequest::Resume,
        Some(ControlWord::Stop) => ControlRequest::Stop,
        Some(ControlWord::Cancel) => ControlRequest::Cancel,
        Some(ControlWord::Snapshot) => ControlRequest::Snapshot,
        Some(ControlWord::Status) | None => ControlRequest::Status,
    };
    Ok((path, request))
}

pub fn ask(path: &Path, request: &ControlRequest) -> Result<ControlReply> {
    let folder = ResultFolder::open(path)?;
    let held = folder.held();
    // By way of the held folder: a path to a socket has 107 bytes at most.
    let socket = format!("/proc/self/fd/{}/{CONTROL_SOCKET}", held.as_fd().as_raw_fd());
    let stream = UnixStream::connect(socket).map_err(|error| nobody_there(&folder, &error))?;
    let exchanged = exchange(&stream, request);
    exchanged.map_err(|error| {
        let hint = "the collector may be stopped, or gone: ps -C dwell";
        Hinted::new(format!("the collection of {} does not answer: {error}", path.display())).hint(hint)
    })
}

fn exchange(mut stream: &UnixStream, request: &ControlRequest) -> io::Result<ControlReply> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(control_line(request).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).take(MOST_REPLY_BYTES).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(io::Error::other)
}

/// Why nobody listens.
fn nobody_there(folder: &ResultFolder, error: &io::Error) -> Hinted {
    let path = folder.path().display();
    let is_collecting = folder.manifest().is_ok_and(|manifest| manifest.state == State::Collecting);
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Hinted::new(format!("the collection of {path} is another user's")).hint("its owner and root may steer it")
        }
        ErrorKind::ConnectionRefused | ErrorKind::NotFound if is_collecting => {
            Hinted::new(format!("the collector of {path} is gone without an end"))
                .hint(format!("dwell finalize {} shows what was recorded until then", quoted(folder.path())))
        }
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => Hinted::new(format!("the collection of {path} is over"))
            .hint(format!("dwell report summary {}", quoted(folder.path()))),
        _ => Hinted::new(format!("{path} cannot be asked: {error}")).hint("ps -C dwell lists the collections that run"),
    }
}

fn words(folder: &Path, status: &ControlStatus, format: Format) -> String {
    let ControlStatus { pid, elapsed_ns, paused, threads, events, losses, bytes } = status;
    match format {
        Format::Json => control_line(status),
        Format::Csv => format!(
            "pid,elapsed_ns,paused,threads,events,losses,bytes\r\n{pid},{elapsed_ns},{paused},{threads},{events},{losses},{bytes}\r\n"
        ),
        Format::Text => format!(
            "{}: {} {}, {} threads, {} events, {}{}; collector {pid}\n",
            folder.display(),
            if *paused { "paused" } else { "recording" },
            units::duration(*elapsed_ns),
            units::count(*threads),
            units::count(*events),
            units::bytes(*bytes),
            if *losses > 0 { format!(", {} lost", units::count(*losses)) } else { String::new() },
        ),
    }
}

/// Makes the snapshot a result that can be read, and prints its path.
fn finalize_snapshot(path: &Path) -> Result<ExitCode> {
    let args = FinalizeArgs { result: path.to_owned(), naming: NamingArgs::default(), quiet: true };
    let status = finalize::run(&args)?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(status)
}
