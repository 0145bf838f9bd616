//! The collections that run or ran: each a `dwell collect` of its own, steered through the socket in its result's folder.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use dwell_server::{CollectedAnalysis, CollectionInfo, CollectionList, CollectionPicture, CollectionRequest};
use dwell_store::{ControlReply, ControlRequest, ControlStatus, Manifest, ResultFolder, State};
use rustix::process::{Pid, Signal, kill_process};

use crate::collector::looks::CollectionLooks;
use crate::collector::plan::{check, command_line, words};
use crate::control::ask;
use crate::error::{Hinted, Result};
use crate::output_end::OutputEnd;

/// Those that are kept in the list.
const MOST_LISTED: usize = 100;
/// Those that run at once, at most: two already measure each other.
const MOST_RUNNING: usize = 4;

/// The collections, in the order of their starts.
#[derive(Default)]
pub struct PageCollections {
    all: Vec<Collection>,
    started: u32,
}

/// One of them.
struct Collection {
    id: u32,
    path: PathBuf,
    command: String,
    child: Child,
    began: Instant,
    output: OutputEnd,
    messages: OutputEnd,
    /// What it said last.
    status: Option<ControlStatus>,
    stage: Stage,
    /// How long it took, once it has ended, ns.
    lasted_ns: Option<u64>,
    /// Switches and samples recorded.
    events: u64,
    /// What is seen of its threads, once somebody has watched.
    looks: Option<CollectionLooks>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Recording,
    Finalizing,
    Ended,
}

impl PageCollections {
    /// All of them, the newest first, as they are now.
    pub fn list(&mut self) -> CollectionList {
        self.all.iter_mut().for_each(Collection::look);
        CollectionList { enabled: true, collections: self.all.iter().rev().map(Collection::info).collect() }
    }

    /// Starts one.
    pub fn start(&mut self, folder: &Path, wanted: &CollectionRequest) -> Result<CollectionInfo> {
        check(folder, wanted)?;
        self.all.iter_mut().for_each(Collection::look);
        if self.all.iter().filter(|collection| collection.is_running()).count() >= MOST_RUNNING {
            let message = format!("{MOST_RUNNING} collections run already");
            return Err(Hinted::new(message).hint("stop one of them first: they measure each other"));
        }
        let suffix = if wanted.analysis == CollectedAnalysis::Latency { "la" } else { "th" };
        let name = ResultFolder::next_name(folder, suffix);
        let collection = Collection::start(self.started, folder, &name, wanted)?;
        self.started += 1;
        let info = collection.info();
        self.all.push(collection);
        if self.all.len() > MOST_LISTED
            && let Some(over) = self.all.iter().position(|collection| !collection.is_running())
        {
            self.all.remove(over);
        }
        Ok(info)
    }

    /// Steers one.
    pub fn steer(&mut self, id: u32, request: &ControlRequest) -> Result<CollectionInfo> {
        let found = self.all.iter_mut().find(|collection| collection.id == id);
        let collection =
            found.ok_or_else(|| Hinted::new("there is no such collection").hint("look at the list again"))?;
        collection.steer(request)?;
        collection.look();
        Ok(collection.info())
    }

    /// What the threads of one do; who asks is taken to look at the answer, until some seconds after the last question.
    pub fn picture(&mut self, id: u32) -> Result<CollectionPicture> {
        let found = self.all.iter_mut().find(|collection| collection.id == id);
        let collection =
            found.ok_or_else(|| Hinted::new("there is no such collection").hint("look at the list again"))?;
        collection.look();
        if collection.stage != Stage::Recording {
            return Err(Hinted::new("the collection is over").hint("open its result once it is finalized"));
        }
        let status = collection.status.as_ref();
        let (elapsed_ns, paused) = status.map_or((0, false), |status| (status.elapsed_ns, status.paused));
        let path = &collection.path;
        let looks = collection.looks.get_or_insert_with(|| CollectionLooks::of(path.clone()));
        Ok(looks.picture(elapsed_ns, paused))
    }

    /// Ends those that run, and waits until their results are complete.
    pub fn end(&mut self) {
        self.all.iter_mut().for_each(Collection::look);
        let running: Vec<&mut Collection> = self.all.iter_mut().filter(|collection| collection.is_running()).collect();
        for collection in &running {
            // The next signal would end Dwell itself while it finalizes.
            if collection.stage == Stage::Recording {
                let _ = kill_process(Pid::from_child(&collection.child), Signal::INT); // it may have ended
            }
        }
        running.into_iter().for_each(|collection| drop(collection.child.wait()));
    }
}

/// Makes a snapshot a result that can be read, in a process that nobody waits for.
fn finalize(snapshot: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Hinted::new(format!("cannot finalize the snapshot: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["finalize", "--quiet"]).arg(snapshot).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
    Ok(())
}

impl Collection {
    fn start(id: u32, folder: &Path, name: &str, wanted: &CollectionRequest) -> Result<Self> {
        let failed = |error: std::io::Error| Hinted::new(format!("cannot start the collection: {error}"));
        let path = folder.join(name);
        let mut words = words(wanted);
        // Behind the analysis, where options stand.
        words.splice(2..2, ["--quiet".to_owned(), format!("--result-dir={}", path.display())]);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(words).current_dir(folder);
        // A group of its own: Ctrl-C in the server's terminal is not for it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let none = || Hinted::new("cannot read what the collection prints");
        Ok(Self {
            id,
            path,
            command: command_line(wanted),
            output: OutputEnd::of(stdout.ok_or_else(none)?),
            messages: OutputEnd::of(stderr.ok_or_else(none)?),
            child,
            began: Instant::now(),
            status: None,
            stage: Stage::Recording,
            lasted_ns: None,
            events: 0,
            looks: None,
        })
    }

    fn is_running(&self) -> bool {
        self.stage != Stage::Ended
    }

    /// Looks how far it is.
    fn look(&mut self) {
        if !self.is_running() {
            return;
        }
        if let Ok(Some(_)) = self.child.try_wait() {
            self.stage = Stage::Ended;
            self.looks = None;
            self.lasted_ns = Some(self.began.elapsed().as_nanos() as u64);
            // What it said last was before its end.
            if let Some(manifest) = self.manifest() {
                self.lasted_ns = Some(manifest.end_ns.saturating_sub(manifest.start_ns));
                self.events = manifest.events;
            }
            return;
        }
        match ask(&self.path, &ControlRequest::Status) {
            Ok(ControlReply::Status(status)) => {
                self.events = status.events;
                self.status = Some(status);
            }
            _ if self.state() == Some(State::Collected) => self.stage = Stage::Finalizing,
            _ => {}
        }
    }

    /// What the result says of itself.
    fn manifest(&self) -> Option<Manifest> {
        ResultFolder::open(&self.path).ok()?.manifest().ok()
    }

    fn state(&self) -> Option<State> {
        Some(self.manifest()?.state)
    }

    fn steer(&mut self, request: &ControlRequest) -> Result<()> {
        if matches!(request, ControlRequest::Mark(text) if text.is_empty()) {
            return Err(Hinted::new("a mark has a text").hint("type what happens now"));
        }
        match ask(&self.path, request)? {
            ControlReply::Refused(why) => Err(Hinted::new(why).hint("look at the list again")),
            ControlReply::Snapshot(name) => finalize(&self.path.join(name)),
            _ => Ok(()),
        }
    }

    fn info(&self) -> CollectionInfo {
        let result = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let status = self.status.as_ref();
        let so_far = || status.map_or_else(|| self.began.elapsed().as_nanos() as u64, |status| status.elapsed_ns);
        CollectionInfo {
            id: self.id,
            result,
            command: self.command.clone(),
            state: self.state_word(),
            elapsed_ns: self.lasted_ns.unwrap_or_else(so_far),
            threads: status.map_or(0, |status| status.threads),
            events: self.events,
            losses: status.map_or(0, |status| status.losses),
            bytes: status.map_or(0, |status| status.bytes),
            output: self.output.text(),
            problem: self.messages.text(),
        }
    }

    fn state_word(&self) -> &'static str {
        match self.stage {
            Stage::Recording if self.status.is_none() => "starting",
            Stage::Recording if self.status.as_ref().is_some_and(|status| status.paused) => "paused",
            Stage::Recording => "recording",
            Stage::Finalizing => "finalizing",
            Stage::Ended if self.state() == Some(State::Finalized) => "finished",
            Stage::Ended if !self.path.exists() && self.status.is_some() => "cancelled",
            Stage::Ended => "failed",
        }
    }
}
