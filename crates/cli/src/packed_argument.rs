//! A packed result where a command takes a result: it is unpacked into a private folder, the command is run on that, and the folder
//! is deleted at the end.
//!
//! Both are done by a process of their own, each confined to what it needs. This one reads nothing of the file but its first bytes,
//! so that it can clean up whatever becomes of them: a reader that is confined could not delete its folder, one that is killed
//! could do nothing at all.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command as Process, ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use crate::args::Command;
use crate::error::{Hinted, Result, status};
use crate::owner::Invoker;
use crate::{pack, reading};

/// This program, even where its file has been replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// A terminal interrupts all processes of a command. One that has not ended by then was not told.
const TOLD_BY_TERMINAL: Duration = Duration::from_millis(400);

/// Runs the command on what its packed results hold; `None` where it names none.
pub fn run_unpacked(command: &Command, words: &[OsString]) -> Result<Option<ExitCode>> {
    let named = results_of(command);
    // A collection's process is to have no thread before it starts its program.
    if named.is_empty() {
        return Ok(None);
    }
    reading::await_answers(&named)?;
    let packed: Vec<&OsStr> = named.into_iter().filter(|name| is_packed(Path::new(name))).collect();
    if packed.is_empty() {
        return Ok(None);
    }
    let run = Run::begin()?;
    let mut folders: Vec<TempDir> = Vec::new();
    let mut words = words.to_vec();
    for file in packed {
        let folder = private_folder()?;
        let unpacked = folder.path().join(pack::name_of(Path::new(file)));
        folders.push(folder);
        let unpack = ["unpack".as_ref(), "--quiet".as_ref(), "--".as_ref(), file, unpacked.as_os_str()];
        let ended = run.process(&words, unpack)?;
        if !ended.success() {
            return Ok(Some(code_of(ended)));
        }
        replace(&mut words, file, unpacked.as_os_str());
    }
    let ended = run.process(&words, words.iter().skip(1).map(OsString::as_os_str))?;
    Ok(Some(code_of(ended)))
}

/// The words that can name a result. A report's name is among them, and names no file as a rule.
fn results_of(command: &Command) -> Vec<&OsStr> {
    fn of<'w>(words: impl IntoIterator<Item = &'w (impl AsRef<OsStr> + ?Sized + 'w)>) -> Vec<&'w OsStr> {
        words.into_iter().map(AsRef::as_ref).collect()
    }
    match command {
        Command::Report(args) => of(&args.words),
        Command::Source(args) => of(&args.words),
        Command::Compare(args) => of([&args.first, &args.second]),
        Command::Merge(args) => of([&args.first, &args.second]),
        Command::Export(args) => of(&args.result),
        Command::Sql(args) => of(&args.result),
        Command::View(args) => of([&args.path]),
        _ => Vec::new(),
    }
}

/// Whether the file is a packed result, or is called like one: then unpacking says what is wrong with it.
fn is_packed(file: &Path) -> bool {
    let Ok(opened) = dwell_files::open_regular(file) else { return false };
    file.extension().is_some_and(|ending| ending == pack::ENDING) || dwell_store::begins_packed_result(opened)
}

/// Puts the folder in the place of the file, but not where the file is to be written.
fn replace(words: &mut [OsString], file: &OsStr, folder: &OsStr) {
    for at in 1..words.len() {
        let is_output = words[at - 1] == "-o" || words[at - 1] == "--output" || words[at - 1] == "--html";
        if words[at] == file && !is_output {
            words[at] = folder.to_owned();
        }
    }
}

/// A folder that only this user can use, the one who called sudo if root does so.
fn private_folder() -> Result<TempDir> {
    let failed = |error: std::io::Error| {
        Hinted::new(format!("cannot make a folder to unpack into: {error}"))
            .hint("TMPDIR=FOLDER names another place; dwell unpack FILE FOLDER unpacks for good")
    };
    let folder = tempfile::Builder::new().prefix("dwell-").tempdir().map_err(failed)?;
    if let Some(invoker) = Invoker::of_sudo() {
        dwell_store::Folder::open(folder.path()).and_then(|held| invoker.take_folder(&held)).map_err(failed)?;
    }
    Ok(folder)
}

/// As a shell reports it.
fn code_of(ended: ExitStatus) -> ExitCode {
    const SIGNALLED: i32 = 128;
    let code = ended.code().or_else(|| ended.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(status::FAILURE).into()
}

/// The processes of the command, one after the other; signals that end this one end them.
struct Run {
    state: Arc<Mutex<RunState>>,
}

#[derive(Default)]
struct RunState {
    /// The one that runs, not yet waited for.
    child: Option<Pid>,
    is_ended: bool,
}

impl Run {
    fn begin() -> Result<Self> {
        let failed = |error: std::io::Error| Hinted::new(format!("cannot handle signals: {error}"));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
        let state = Arc::<Mutex<RunState>>::default();
        let shared = Arc::clone(&state);
        let pass_on = move || signals.forever().for_each(|signal| end(&shared, signal));
        thread::Builder::new().name("signals".into()).spawn(pass_on).map_err(failed)?;
        Ok(Self { state })
    }

    /// Runs this program with other arguments, and waits for its end.
    fn process<'w>(&self, words: &[OsString], arguments: impl IntoIterator<Item = &'w OsStr>) -> Result<ExitStatus> {
        let failed = |error: std::io::Error| Hinted::new(format!("cannot run dwell: {error}"));
        let mut process = Process::new(OWN_PROGRAM);
        process.args(arguments);
        if let Some(name) = words.first() {
            process.arg0(name);
        }
        let mut child = self.start(&mut process)?.map_err(failed)?;
        let pid = Pid::from_child(&child);
        // The process stays until the lock is held: no other one can get its number before.
        while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).is_err_and(is_interrupted) {}
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.child = None;
        child.wait().map_err(failed)
    }

    fn start(&self, process: &mut Process) -> Result<std::io::Result<Child>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_ended {
            return Err(Hinted::new("interrupted").with_status(status::INTERRUPTED));
        }
        let started = process.spawn();
        state.child = started.as_ref().ok().map(Pid::from_child);
        Ok(started)
    }
}

fn is_interrupted(error: rustix::io::Errno) -> bool {
    error == rustix::io::Errno::INTR
}

/// No process is started any more, and the one that runs gets the signal.
fn end(state: &Mutex<RunState>, signal: i32) {
    let told = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_ended = true;
        state.child
    };
    if signal == SIGINT {
        thread::sleep(TOLD_BY_TERMINAL);
    }
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let still_runs = told.filter(|_| state.child == told);
    if let (Some(pid), Some(signal)) = (still_runs, Signal::from_named_raw(signal)) {
        let _ = kill_process(pid, signal); // it may have ended
    }
}
