//! The flight recorder: what was recorded lately is kept as a result of its own when the trigger finds an outlier, a moment
//! after it, and not more often than allowed. What cannot be kept is counted; the recording goes on.

use std::collections::VecDeque;
use std::io;

use dwell_model::{Notice, losses, notice};
use dwell_store::{Folder, Manifest, ResultFolder, State};

use crate::error::Result;
use crate::output::linked_result::{ResultParts, link_all, make};
use crate::output::processor_trace::ProcessorTrace;
use crate::output::recorder::Recorder;
use crate::output::watch::{IntervalWatch, Outlier};
use crate::programs::process_lifetimes::ProcessLifetimes;

/// How long after an outlier's end the recording goes on before it is kept: what came of it is in it too.
const AFTER_NS: u64 = 100_000_000;
const MINUTE_NS: u64 = 60_000_000_000;
/// The folder of a result in which the outliers' results are.
pub const FOLDER: &str = "outliers";

/// Which outliers are kept, and how many.
pub struct Outliers {
    /// The recording's result.
    recording: ResultFolder,
    per_minute: usize,
    most_bytes: u64,
    traces: Option<ProcessorTrace>,
    pending: Option<Outlier>,
    /// What the processors traced up to that.
    trace: Vec<u8>,
    /// When results were kept, within the last minute.
    kept_ns: VecDeque<u64>,
    /// Of the results that were kept; held open, each would take a descriptor.
    names: Vec<String>,
    bytes: u64,
    over_limit: u64,
    failed: u64,
    failure: Option<String>,
}

impl Outliers {
    /// At most `per_minute` results in a minute, and `most_bytes` (0 = no limit) of spool in all, each with what
    /// `traces` has then.
    pub fn new(folder: &ResultFolder, per_minute: u32, most_bytes: u64, traces: Option<ProcessorTrace>) -> Self {
        Self {
            recording: folder.clone(),
            per_minute: per_minute as usize,
            most_bytes,
            traces,
            pending: None,
            trace: Vec::new(),
            kept_ns: VecDeque::new(),
            names: Vec::new(),
            bytes: 0,
            over_limit: 0,
            failed: 0,
            failure: None,
        }
    }

    /// Takes in what the trigger found since the last time, of these processes. Whether something is to be kept now.
    pub fn is_due(&mut self, recorder: &mut Recorder, lifetimes: &ProcessLifetimes, now_ns: u64) -> bool {
        if let Some(found) = recorder.watch.as_mut().and_then(IntervalWatch::take) {
            // Programs choose the times of what they announce: nothing ends later than now.
            let end_ns = found.end_ns.min(now_ns);
            let found = Outlier { end_ns, begin_ns: found.begin_ns.min(end_ns), ..found };
            let longer = self.pending.is_none_or(|pending| pending.length_ns() < found.length_ns());
            if self.pending.is_none() && !self.may_keep(now_ns) {
                self.over_limit += 1;
            } else if longer {
                self.pending = Some(found);
                // At once: a processor's trace of a moment ago is written over.
                let trace = self.traces.as_ref().map(|traces| traces.snapshot(lifetimes.ids()));
                self.trace = trace.unwrap_or_default();
            }
        }
        self.pending.is_some_and(|outlier| outlier.end_ns + AFTER_NS <= now_ns)
    }

    fn may_keep(&mut self, now_ns: u64) -> bool {
        while self.kept_ns.front().is_some_and(|kept| kept + MINUTE_NS <= now_ns) {
            self.kept_ns.pop_front();
        }
        self.kept_ns.len() < self.per_minute && (self.most_bytes == 0 || self.bytes < self.most_bytes)
    }

    /// Keeps what is pending, if something is. Fails when the recording itself cannot be written.
    pub fn keep(&mut self, recorder: &mut Recorder, manifest: &Manifest, modules: &Folder, now_ns: u64) -> Result<()> {
        let Some(outlier) = self.pending.take() else { return Ok(()) };
        self.kept_ns.push_back(now_ns);
        recorder.cut(now_ns)?;
        let name = format!("{:04}", self.names.len() + self.failed as usize);
        let manifest = described(manifest, outlier, recorder, now_ns);
        let trace = std::mem::take(&mut self.trace);
        let parts = ResultParts { spool: recorder.folder(), modules, manifest: &manifest, trace: &trace };
        match outliers_of(&self.recording).and_then(|all| make(&all, &name, &parts)) {
            Ok(bytes) => {
                self.bytes += bytes + trace.len() as u64;
                self.names.push(name);
            }
            Err(error) => {
                // A full disk, most likely: what was made of it must not take what is left.
                let _ = outliers_of(&self.recording).and_then(|all| all.remove(&name));
                self.failed += 1;
                self.failure.get_or_insert(error.to_string());
            }
        }
        Ok(())
    }

    /// Gives the results the files that were copied for the recording since. Returns notices and losses.
    pub fn finish(&mut self, modules: &Folder, watch: Option<&IntervalWatch>) -> (Vec<Notice>, Vec<(String, u64)>) {
        for name in &self.names {
            // What is missing of them leaves a few functions without a name.
            let own = outliers_of(&self.recording)
                .ok()
                .and_then(|all| ResultFolder::open_in(&all, name).ok()?.modules().ok());
            let _ = own.map(|own| link_all(modules, &own));
        }
        let mut notices = Vec::new();
        if !self.names.is_empty() {
            let folder = self.recording.path().join(FOLDER);
            notices.push(notice!(OUTLIERS_KEPT, outliers = self.names.len(), folder = folder.display()));
        }
        if let Some(failure) = self.failure.take() {
            notices.push(notice!(OUTLIERS_NOT_KEPT, failure = failure));
        }
        let losses = [
            (losses::OUTLIERS_OVER_LIMIT, self.over_limit),
            (losses::OUTLIERS_NOT_KEPT, self.failed),
            (losses::INTERVALS_NOT_WATCHED, watch.map_or(0, |watch| watch.forgotten)),
        ];
        let losses = losses.into_iter().filter(|(_, count)| *count > 0);
        (notices, losses.map(|(name, count)| (name.to_owned(), count)).collect())
    }
}

/// The recording's manifest as one of what it holds now.
fn described(manifest: &Manifest, outlier: Outlier, recorder: &Recorder, now_ns: u64) -> Manifest {
    let mut manifest = manifest.clone();
    manifest.state = State::Collected;
    manifest.start_ns = manifest.start_ns.max(recorder.kept_since_ns);
    manifest.end_ns = now_ns;
    manifest.events = recorder.event_count;
    let begin_ns = outlier.begin_ns.saturating_sub(manifest.start_ns);
    let (tid, length_ns) = (outlier.tid, outlier.length_ns());
    manifest.notices.push(notice!(OUTLIER_KEPT, thread = tid, length = length_ns, begin = begin_ns));
    manifest
}

/// The folder of the outliers' results, made when the first one is.
fn outliers_of(recording: &ResultFolder) -> io::Result<Folder> {
    let held = recording.held();
    if held.has(FOLDER) { held.folder(FOLDER) } else { held.make_folder(FOLDER, 0o777) }
}
