//! What threads did, piece by piece: stretches of running, waiting and the run queue, in order of time.

use dwell_model::{ObjectId, Outcome, Reason, StackId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::site::Site;
use dwell_store::{OUTSIDE, Trace};

/// A stretch of a thread's time, cut where the query's windows are. Times in ns since the start of the collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectedPiece {
    /// What the thread did.
    pub did: ThreadActivity,
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
    /// Where the thread was, as the query's call-stack mode shows it.
    pub stack: StackId,
    /// CPU that it ran on, or that it ran on after the wait; none where that is not known.
    pub cpu: Option<u16>,
    /// Whether the query's filters let it through.
    pub selected: bool,
}

/// What a thread did in a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThreadActivity {
    /// It ran.
    Ran,
    /// It was off the CPU, blocked.
    Waited(WaitDetails),
    /// It could run and had no CPU, after a wait or because the scheduler took it away.
    Queued,
}

/// What is known of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitDetails {
    /// What it waited on; none where it did not wait for an object.
    pub object: ObjectId,
    /// Why it left the CPU.
    pub reason: Reason,
    /// How it ended.
    pub outcome: Outcome,
    /// Who or what ended it.
    pub waker_kind: WakerKind,
    /// The thread that did, where it is one of the program.
    pub waker: ThreadId,
    /// Whether it is the wait of an idle worker.
    pub idle: bool,
    /// Whether the piece has its end: it is not cut there by a window.
    pub has_end: bool,
}

/// Tells what `thread`, a row, did in the query's windows. Running and waiting and queueing are told without a gap, so that they add up
/// to the part of the thread's life in the windows. A sample stands for the running time since the sample before, as in the sums.
pub fn for_each_piece(fold: &Fold<'_>, thread: usize, mut emit: impl FnMut(SelectedPiece)) {
    let threads = &fold.trace.threads;
    let (Some(born), Some(died)) = (threads.start_ns.get(thread), threads.end_ns.get(thread)) else { return };
    let off_cpu = &fold.trace.events().off_cpu;
    let mut running = RunningTime::new(fold, thread);
    let (mut reached, mut cpu) = (*born, None);
    for row in off_cpu.of(thread) {
        // Of intervals that overlap, in a damaged trace, the later part counts.
        let start = off_cpu.start_ns(row).clamp(reached, (*died).max(reached));
        running.emit((reached, start), cpu, &mut emit);
        let woken = off_cpu.woken_ns(row).clamp(start, (*died).max(start));
        let ran = off_cpu.end_ns(row).clamp(woken, (*died).max(woken));
        cpu = Some(off_cpu.cpu(row)).filter(|cpu| *cpu != u16::MAX);
        absence(fold, row, [start, woken, ran], &mut emit);
        reached = ran;
    }
    running.emit((reached, *died), cpu, &mut emit);
}

/// A sample that was taken of a running thread. Times in ns since the start of the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedSample {
    /// When.
    pub time_ns: u64,
    /// CPU that it ran on.
    pub cpu: u16,
    /// Where it was, as the query's call-stack mode shows it.
    pub stack: StackId,
}

/// Tells the samples of `thread`, a row, that lie in the query's windows and that its filters let through.
pub fn for_each_sample(fold: &Fold<'_>, thread: usize, mut emit: impl FnMut(SelectedSample)) {
    let events = fold.trace.events();
    for row in events.samples.of(thread) {
        let (time_ns, key, cpu) = (events.samples.time_ns(row), events.samples.key(row), events.samples.cpu(row));
        let site = fold.running_site(key, Some(cpu), context(fold.trace, thread, time_ns.saturating_sub(1)));
        if fold.sums.windows.contains(time_ns) && is_selected(fold, site) {
            emit(SelectedSample { time_ns, cpu, stack: fold.sums.stacks.shown(events.key(key).stack()) });
        }
    }
}

fn absence(fold: &Fold<'_>, row: usize, [start, woken, ran]: [u64; 3], emit: &mut impl FnMut(SelectedPiece)) {
    let key = fold.trace.events().off_cpu_key(row);
    let site = fold.site_of_row(row);
    let details = WaitDetails {
        object: key.object(),
        reason: key.reason().unwrap_or(Reason::Unknown),
        outcome: Outcome::from_code(key.outcome()),
        waker_kind: WakerKind::from_code(key.waker_kind()),
        waker: key.waker(),
        idle: site.is_some_and(|site| site.idle),
        has_end: false,
    };
    let cpu = Some(fold.trace.events().off_cpu.cpu(row)).filter(|cpu| *cpu != u16::MAX);
    let (stack, selected) = (fold.sums.stacks.shown(key.stack()), is_selected(fold, site));
    for (from_ns, to_ns) in fold.sums.windows.clip(start, woken) {
        let did = ThreadActivity::Waited(WaitDetails { has_end: to_ns == woken, ..details });
        emit(SelectedPiece { did, from_ns, to_ns, stack, cpu, selected });
    }
    for (from_ns, to_ns) in fold.sums.windows.clip(woken, ran) {
        emit(SelectedPiece { did: ThreadActivity::Queued, from_ns, to_ns, stack, cpu, selected });
    }
}

/// Splits a thread's running time by its samples, in order of time.
struct RunningTime<'f, 't> {
    fold: &'f Fold<'t>,
    thread: usize,
    next_sample: usize,
    samples_end: usize,
}

impl<'f, 't> RunningTime<'f, 't> {
    fn new(fold: &'f Fold<'t>, thread: usize) -> Self {
        let samples = fold.trace.events().samples.of(thread);
        Self { fold, thread, next_sample: samples.start, samples_end: samples.end }
    }

    fn emit(&mut self, (mut from, to): (u64, u64), cpu: Option<u16>, emit: &mut impl FnMut(SelectedPiece)) {
        let samples = &self.fold.trace.events().samples;
        while from < to {
            // The last sample stands for what follows it too.
            while self.next_sample + 1 < self.samples_end && samples.time_ns(self.next_sample) <= from {
                self.next_sample += 1;
            }
            let has_next = self.next_sample + 1 < self.samples_end;
            let until = if has_next { samples.time_ns(self.next_sample).clamp(from, to) } else { to };
            let (stack, site, sampled_on) = self.place(from);
            let (cpu, selected) = (cpu.or(sampled_on), is_selected(self.fold, site));
            for (from_ns, to_ns) in self.fold.sums.windows.clip(from, until) {
                emit(SelectedPiece { did: ThreadActivity::Ran, from_ns, to_ns, stack, cpu, selected });
            }
            from = until.max(from + 1);
        }
    }

    /// Stack, site and CPU of the sample at hand; of a thread without samples, of the place that most of its time is estimated at.
    fn place(&self, time: u64) -> (StackId, Option<&'f Site>, Option<u16>) {
        let events = self.fold.trace.events();
        let (key, cpu) = if self.next_sample < self.samples_end {
            (Some(events.samples.key(self.next_sample)), Some(events.samples.cpu(self.next_sample)))
        } else {
            let most = events.estimates_of(self.thread).iter().max_by_key(|estimate| estimate.weight_ns);
            (most.map(|estimate| estimate.key), None)
        };
        let Some(key) = key else { return (StackId::NONE, None, cpu) };
        let site = self.fold.running_site(key, cpu, context(self.fold.trace, self.thread, time));
        (self.fold.sums.stacks.shown(events.key(key).stack()), site, cpu)
    }
}

/// What is of no known place passes only where nothing is filtered.
fn is_selected(fold: &Fold<'_>, site: Option<&Site>) -> bool {
    site.map_or(!fold.query.is_filtered(), |site| site.selected)
}

/// The tasks that the thread is in.
fn context(trace: &Trace, thread: usize, time: u64) -> u32 {
    if trace.nesting().is_empty() { OUTSIDE } else { trace.nesting().at(thread, time) }
}
