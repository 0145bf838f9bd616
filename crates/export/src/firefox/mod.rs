//! Firefox Profiler's processed profile: for each thread samples of running, waiting and the run queue with their stacks, a marker for
//! each wait, and markers for what the program announced.
//!
//! The weight of a sample is the time that it stands for, in µs (the format has whole numbers), so that the weights of a thread add up to
//! its life in the range. What a sample is of, its category says. Its CPU delta is its running time. The profile is built in memory:
//! the format has columns, and the library has no other way. Of a long recording it tells less ([`grain`]).

mod grain;
mod marker;

use std::collections::HashMap;
use std::io::{Error, Result, Write};

use dwell_analyze::Fold;
use dwell_analyze::selected::{
    SelectedPiece, ThreadActivity, WaitDetails, for_each_piece, frame_rows, idle_wait_ns, thread_name,
};
use dwell_model::{ObjectType, Reason, StackId, TaskKind, TaskTypeId, ThreadId, WakerKind};
use flate2::Compression;
use flate2::write::GzEncoder;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerTiming, ProcessHandle, Profile,
    ReferenceTimestamp, SamplingInterval, StackHandle, StringHandle, ThreadHandle, Timestamp,
};

use crate::losses;
use grain::Grain;
use marker::{TaskMarker, WaitMarker};

/// What a stack without a known frame is called.
const UNKNOWN: &str = "[unknown]";

/// Writes what the fold's query selects as JSON. What was lost, and that waits of idle workers have no weight, is told in the
/// product's name. Fails where `out` does.
pub fn write(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    write_at(fold, Grain::new(fold), out)
}

/// The same, compressed with gzip, as Firefox Profiler takes it too.
pub fn write_compressed(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    let mut compressed = GzEncoder::new(out, Compression::default());
    write(fold, &mut compressed)?;
    compressed.finish().map(drop)
}

fn write_at(fold: &Fold<'_>, grain: Grain, out: &mut dyn Write) -> Result<()> {
    let mut builder = ProfileBuilder::new(fold, grain);
    for thread in 0..fold.trace.threads.tid.len() {
        builder.thread(thread);
    }
    builder.tasks();
    builder.instants();
    serde_json::to_writer(out, &builder.profile).map_err(Error::from)
}

/// What a sample can be of.
#[derive(Clone, Copy)]
struct Categories {
    running: CategoryHandle,
    waiting: CategoryHandle,
    idle: CategoryHandle,
    queued: CategoryHandle,
    /// Off the CPU, for no known object.
    absent: CategoryHandle,
}

/// What a sample is of.
#[derive(Clone, Copy)]
struct SampleKind {
    /// Stack and category; they say the rest.
    place: (StackId, CategoryHandle),
    stack: Option<StackHandle>,
    is_running: bool,
    /// Whether it has no weight.
    is_left_out: bool,
}

/// A thread whose samples are being told.
struct ToldThread {
    handle: ThreadHandle,
    stacks: HashMap<(StackId, CategoryHandle), Option<StackHandle>>,
    /// What its samples stood for so far.
    told_ns: u64,
    /// Short stretches since `summed_from_ns`, by what they are of.
    sums: Vec<(SampleKind, u64)>,
    summed_from_ns: u64,
}

impl ToldThread {
    fn add(&mut self, kind: SampleKind, length_ns: u64) {
        match self.sums.iter_mut().find(|(other, _)| other.place == kind.place) {
            Some((_, sum)) => *sum += length_ns,
            None => self.sums.push((kind, length_ns)),
        }
    }
}

struct ProfileBuilder<'f, 't> {
    fold: &'f Fold<'t>,
    profile: Profile,
    grain: Grain,
    categories: Categories,
    processes: Vec<ProcessHandle>,
    /// Handle of each thread that has anything selected.
    threads: Vec<Option<ThreadHandle>>,
}

impl<'f, 't> ProfileBuilder<'f, 't> {
    fn new(fold: &'f Fold<'t>, grain: Grain) -> Self {
        let (trace, manifest) = (fold.trace, &fold.trace.manifest);
        let start = ReferenceTimestamp::from_millis_since_unix_epoch(manifest.started_at * 1000.0);
        let interval = SamplingInterval::from_nanos(manifest.sampling_interval_ns.max(1));
        let title = losses::title(trace, idle_wait_ns(fold), grain.remarks());
        let mut profile = Profile::new(&title, start, interval);
        profile.set_os_name("Linux");
        profile.set_symbolicated(true);
        let categories = Categories {
            running: profile.add_category("Running", CategoryColor::Green),
            waiting: profile.add_category("Waiting", CategoryColor::Orange),
            idle: profile.add_category("Idle", CategoryColor::Transparent),
            queued: profile.add_category("Run queue", CategoryColor::Red),
            absent: profile.add_category("Off the CPU", CategoryColor::Gray),
        };
        let rows = trace.processes.pid.iter().zip(&trace.processes.name).zip(&trace.processes.start_ns);
        let processes = rows.map(|((pid, name), start)| profile.add_process(name, *pid, at(*start))).collect();
        Self { fold, profile, grain, categories, processes, threads: Vec::new() }
    }

    /// The samples and waits of a thread.
    fn thread(&mut self, thread: usize) {
        let mut told = None;
        for_each_piece(self.fold, thread, |piece| {
            if piece.selected && piece.from_ns < piece.to_ns {
                let mut of = told.take().unwrap_or_else(|| self.begin(thread, piece.from_ns));
                self.piece(&mut of, &piece);
                told = Some(of);
            }
        });
        if let Some(of) = &mut told {
            self.flush(of);
        }
        self.threads.push(told.map(|of| of.handle));
    }

    fn begin(&mut self, thread: usize, from_ns: u64) -> ToldThread {
        let handle = self.add_thread(thread);
        // Readers ignore the CPU delta of a thread's first sample.
        self.profile.add_sample(handle, at(from_ns), None, CpuDelta::ZERO, 0);
        ToldThread { handle, stacks: HashMap::new(), told_ns: 0, sums: Vec::new(), summed_from_ns: 0 }
    }

    fn piece(&mut self, of: &mut ToldThread, piece: &SelectedPiece) {
        let category = self.category(piece);
        let handle = of.handle;
        let stack =
            *of.stacks.entry((piece.stack, category)).or_insert_with(|| self.stack(handle, piece.stack, category));
        let is_left_out =
            matches!(&piece.did, ThreadActivity::Waited(wait) if wait.idle && !self.fold.query.include_idle);
        let length_ns = piece.to_ns - piece.from_ns;
        let kind = SampleKind {
            place: (piece.stack, category),
            stack,
            is_running: piece.did == ThreadActivity::Ran,
            is_left_out,
        };
        if length_ns < self.grain.sum_below_ns {
            if of.sums.is_empty() || piece.from_ns >= of.summed_from_ns.saturating_add(self.grain.sum_below_ns) {
                self.flush(of);
                of.summed_from_ns = piece.from_ns;
            }
            of.add(kind, length_ns);
        } else {
            self.flush(of);
            self.sample(of, piece.to_ns, kind, length_ns);
        }
        if let ThreadActivity::Waited(wait) = &piece.did
            && length_ns >= self.grain.markers_from_ns
        {
            self.wait(handle, piece, wait, stack);
        }
    }

    /// Tells what was summed, one after the other from where the sums began.
    fn flush(&mut self, of: &mut ToldThread) {
        let mut to_ns = of.summed_from_ns;
        for (kind, length_ns) in std::mem::take(&mut of.sums) {
            to_ns = to_ns.saturating_add(length_ns);
            self.sample(of, to_ns, kind, length_ns);
        }
    }

    fn add_thread(&mut self, thread: usize) -> ThreadHandle {
        let threads = &self.fold.trace.threads;
        let process = threads.process[thread].get().unwrap_or(0);
        let tid = threads.tid[thread];
        let is_main = self.fold.trace.processes.pid.get(process) == Some(&tid);
        let handle = self.profile.add_thread(self.processes[process], tid, at(threads.start_ns[thread]), is_main);
        self.profile.set_thread_name(handle, &threads.name[thread]);
        self.profile.set_thread_end_time(handle, at(threads.end_ns[thread]));
        self.profile.set_thread_show_markers_in_timeline(handle, true);
        handle
    }

    fn category(&self, piece: &SelectedPiece) -> CategoryHandle {
        match &piece.did {
            ThreadActivity::Ran => self.categories.running,
            ThreadActivity::Waited(wait) if wait.idle => self.categories.idle,
            ThreadActivity::Waited(wait) if wait.reason != Reason::Waiting => self.categories.absent,
            ThreadActivity::Waited(_) => self.categories.waiting,
            ThreadActivity::Queued => self.categories.queued,
        }
    }

    fn stack(&mut self, thread: ThreadHandle, stack: StackId, category: CategoryHandle) -> Option<StackHandle> {
        let mut rows: Vec<usize> = frame_rows(&self.fold.sums.stacks, stack).collect();
        rows.reverse();
        let functions = &self.fold.trace.frames.function;
        let mut names: Vec<&str> = rows.iter().map(|row| functions[*row].as_str()).collect();
        if names.is_empty() {
            names.push(UNKNOWN);
        }
        let names: Vec<StringHandle> = names.into_iter().map(|name| self.profile.intern_string(name)).collect();
        let frame =
            |name| FrameInfo { frame: Frame::Label(name), category_pair: category.into(), flags: FrameFlags::empty() };
        self.profile.intern_stack_frames(thread, names.into_iter().map(frame))
    }

    /// A sample at the end of the time that it stands for. Whole µs are told, of all that the thread's samples stood for so far, so that
    /// nothing is lost by rounding.
    fn sample(&mut self, of: &mut ToldThread, to_ns: u64, kind: SampleKind, length_ns: u64) {
        let before = of.told_ns / 1000;
        of.told_ns += length_ns;
        let micros = of.told_ns / 1000 - before;
        let ran = if kind.is_running { CpuDelta::from_micros(micros) } else { CpuDelta::ZERO };
        let weight = if kind.is_left_out { 0 } else { i32::try_from(micros).unwrap_or(i32::MAX) };
        self.profile.add_sample(of.handle, at(to_ns), kind.stack, ran, weight);
    }

    fn wait(&mut self, thread: ThreadHandle, piece: &SelectedPiece, wait: &WaitDetails, stack: Option<StackHandle>) {
        if wait.reason != Reason::Waiting {
            return;
        }
        let objects = &self.fold.trace.objects;
        let object = wait.object.get().filter(|row| *row < objects.name.len());
        let kind = object.map_or(ObjectType::Unknown, |row| ObjectType::from_code(objects.kind[row]));
        let waker = match wait.waker_kind {
            WakerKind::Thread => thread_name(self.fold, wait.waker),
            kind => kind.id().to_owned(),
        };
        let texts = [kind.id(), wait.outcome.id(), &waker].map(|text| self.profile.intern_string(text));
        let object = self.profile.intern_string(object.map_or("[no object]", |row| objects.name[row].as_str()));
        let category = self.category(piece);
        let timing = MarkerTiming::Interval(at(piece.from_ns), at(piece.to_ns));
        let marker = self.profile.add_marker(thread, timing, WaitMarker { category, object, fields: texts });
        self.profile.set_marker_stack(thread, marker, stack);
    }

    /// Tasks, regions, frames and events of the threads that are told, as far as they lie in the range.
    fn tasks(&mut self) {
        let tasks = &self.fold.trace.annotations.tasks;
        for row in 0..tasks.start_ns.len() {
            let within: Vec<(u64, u64)> = self.fold.sums.windows.clip(tasks.start_ns[row], tasks.end_ns[row]).collect();
            if let (Some((from, _)), Some((_, to))) = (within.first(), within.last()) {
                let timing = MarkerTiming::Interval(at(*from), at(*to));
                self.announced(tasks.thread[row], tasks.task_type[row], timing);
            }
        }
    }

    fn instants(&mut self) {
        let markers = &self.fold.trace.annotations.markers;
        for row in 0..markers.time_ns.len() {
            if self.fold.sums.windows.contains(markers.time_ns[row]) {
                let timing = MarkerTiming::Instant(at(markers.time_ns[row]));
                self.announced(markers.thread[row], markers.task_type[row], timing);
            }
        }
    }

    fn announced(&mut self, thread: ThreadId, task_type: TaskTypeId, timing: MarkerTiming) {
        let types = &self.fold.trace.annotations.task_types;
        let handle = thread.get().and_then(|row| self.threads.get(row).copied().flatten());
        let task_type = task_type.get().filter(|row| *row < types.name.len());
        if let (Some(handle), Some(task_type)) = (handle, task_type) {
            let name = self.profile.intern_string(&types.name[task_type]);
            let kind = self.profile.intern_string(TaskKind::from_code(types.kind[task_type]).id());
            self.profile.add_marker(handle, timing, TaskMarker { name, kind });
        }
    }
}

fn at(ns: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(ns)
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Query;
    use serde_json::Value;

    use super::*;
    use crate::test_trace::two_threads;

    #[test]
    fn weights_are_microseconds_and_waits_are_markers() {
        let (trace, query) = (two_threads(), Query::default());
        let mut out = Vec::new();
        write(&Fold::new(&trace, &query).unwrap(), &mut out).unwrap();
        let profile: Value = serde_json::from_slice(&out).unwrap();
        let threads = profile["threads"].as_array().unwrap();
        let weights = |thread: &Value| thread["samples"]["weight"].clone();
        assert_eq!(weights(&threads[0]), serde_json::json!([0, 1000, 1000, 1000, 1000]));
        assert_eq!(weights(&threads[1]), serde_json::json!([0, 1000, 3000]));
        let data = &threads[1]["markers"]["data"][0];
        assert_eq!(data["type"], "DwellWait");
        assert_eq!(threads[1]["markers"]["length"], 1);
    }

    #[test]
    fn with_a_grain_weights_add_up_and_short_waits_have_no_marker() {
        let (trace, query) = (two_threads(), Query::default());
        let grain = Grain { sum_below_ns: 100_000_000, markers_from_ns: 100_000_000, unmarked: 1 };
        let mut out = Vec::new();
        write_at(&Fold::new(&trace, &query).unwrap(), grain, &mut out).unwrap();
        let profile: Value = serde_json::from_slice(&out).unwrap();
        let threads = profile["threads"].as_array().unwrap();
        let weights = |thread: &Value| thread["samples"]["weight"].clone();
        assert_eq!(weights(&threads[0]), serde_json::json!([0, 4000]));
        assert_eq!(weights(&threads[1]), serde_json::json!([0, 1000, 3000]));
        assert_eq!(threads[1]["markers"]["length"], 0);
        assert!(profile["meta"]["product"].as_str().unwrap().contains("have no marker"), "{}", profile["meta"]);
    }
}
