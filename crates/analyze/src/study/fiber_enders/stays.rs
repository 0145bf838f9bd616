//! Where sampled fibers were when, and waits that are cut by who kept them.

use std::collections::{BTreeSet, HashMap};

use dwell_model::{ObjectId, Outcome, ProcessId, StackId, ThreadId, WakerKind};
use dwell_store::tables::{OffCpu, OffCpuRow};
use dwell_store::{Table, Trace};

/// What a fiber does at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It runs.
    Runs,
    /// It is ready, and others run.
    Ready,
    /// It waits.
    Waits,
}

/// A stretch of time in which a fiber was at one place.
pub struct Stay {
    /// Its start and end, ns.
    pub from: u64,
    pub to: u64,
    /// The fiber.
    pub fiber: ThreadId,
    /// Where it was.
    pub stack: StackId,
    /// What it did.
    pub doing: Doing,
    /// What it waits for there.
    pub object: ObjectId,
}

/// A stretch of time in which a fiber held a lock, or kept others in another way, and where it was.
#[derive(Clone, Copy)]
pub struct Held {
    /// Its start and end, ns.
    pub from: u64,
    pub to: u64,
    /// The fiber.
    pub fiber: ThreadId,
    /// Where it was.
    pub stack: StackId,
}

/// Whether the thread is one of the first so many, which are fibers.
pub fn is_fiber(thread: ThreadId, fibers: usize) -> bool {
    thread.get().is_some_and(|row| row < fibers)
}

/// Where each fiber was, by start.
pub fn stays(view: &Trace, fibers: usize) -> Vec<Stay> {
    let (off, samples) = (&view.off_cpu, &view.samples);
    // Whoever was woken may have been handed what it waited for, and has it while it is ready.
    let waits = (0..off.len()).filter(|&row| is_fiber(off.thread[row], fibers)).flat_map(|row| {
        let woken = off.start_ns[row] + off.wait_ns[row];
        let (fiber, stack) = (off.thread[row], off.stack[row]);
        let waits =
            Stay { from: off.start_ns[row], to: woken, fiber, stack, doing: Doing::Waits, object: off.object[row] };
        let to = woken + off.runnable_ns[row];
        [waits, Stay { from: woken, to, fiber, stack, doing: Doing::Ready, object: ObjectId::NONE }]
    });
    let runs = (0..samples.len()).filter(|&row| is_fiber(samples.thread[row], fibers)).map(|row| {
        let (time, weight) = (samples.time_ns[row], samples.weight_ns[row]);
        // One that stands for a stretch without samples is in its middle, any other one at its end.
        let to = if samples.estimated[row] { time + weight / 2 } else { time };
        let (fiber, stack) = (samples.thread[row], samples.stack[row]);
        let from = to.saturating_sub(weight);
        Stay { from, to, fiber, stack, doing: Doing::Runs, object: ObjectId::NONE }
    });
    let mut stays: Vec<Stay> = waits.chain(runs).filter(|stay| stay.to > stay.from).collect();
    stays.sort_by_key(|stay| stay.from);
    stays
}

/// Which fibers one fiber made for the same work: of each a number of their own.
pub fn crews(view: &Trace, fibers: usize) -> Vec<u32> {
    let threads = &view.threads;
    let mut numbers: HashMap<(ProcessId, ThreadId, &str), u32> = HashMap::new();
    let number = |fiber: usize| {
        let next = numbers.len() as u32;
        *numbers.entry((threads.process[fiber], threads.parent[fiber], threads.name[fiber].as_str())).or_insert(next)
    };
    (0..fibers).map(number).collect()
}

/// Pushes the row in pieces, each ended by whoever its span names, who had what was waited for if `is_lock`.
pub fn split_row(row: &OffCpuRow, spans: &[Held], is_lock: bool, rows: &mut OffCpu) {
    let end = row.start_ns + row.wait_ns;
    let first = spans.partition_point(|span| span.to <= row.start_ns);
    let within: Vec<Held> =
        spans[first..].iter().copied().take_while(|span| span.from < end).filter(|it| it.fiber != row.thread).collect();
    let mut at = row.start_ns;
    let mut piece = |to: u64, held: Option<&Held>| {
        let is_last = to == end;
        if to == at && !is_last {
            return;
        }
        let unheld = OffCpuRow {
            start_ns: at,
            wait_ns: to - at,
            runnable_ns: if is_last { row.runnable_ns } else { 0 },
            outcome: if is_last { row.outcome } else { Outcome::Woken.code() },
            same_call: at > row.start_ns,
            ..row.clone()
        };
        rows.push(match held {
            Some(Held { fiber, stack, .. }) => OffCpuRow {
                waker: *fiber,
                waker_kind: WakerKind::Thread.code(),
                waker_stack: *stack,
                holder: if is_lock { *fiber } else { row.holder },
                ..unheld
            },
            None => unheld,
        });
        at = to;
    };
    for span in &within {
        piece(span.from.clamp(row.start_ns, end), None);
        piece(span.to.min(end), Some(span));
    }
    if within.last().is_none_or(|last| last.to < end) {
        piece(end, None);
    }
}

/// Whether nobody is known to have ended the wait, but somebody did.
pub fn is_open(off: &OffCpu, row: usize) -> bool {
    !off.waker[row].is_some() && off.outcome[row] != Outcome::Unfinished.code()
}

/// The parts of a stay within stretches of time that are apart.
pub fn parts_within(stay: &Stay, waited: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    let (from, to) = (stay.from, stay.to);
    let first = waited.partition_point(|(_, end)| *end <= from);
    let parts = waited[first..].iter().take_while(move |(begin, _)| *begin < to);
    parts.map(move |(begin, end)| (from.max(*begin), to.min(*end)))
}

/// Who was at work when, within stretches of time that are apart: at each instant the surest one, and the same as before among equals.
pub fn at_work<'s>(stays: impl Iterator<Item = (&'s Stay, u8)>, waited: &[(u64, u64)]) -> Vec<Held> {
    let mut edges: Vec<(u64, bool, usize)> = Vec::new();
    let mut parts: Vec<(Held, u8)> = Vec::new();
    for (stay, surety) in stays {
        for (from, to) in parts_within(stay, waited) {
            edges.extend([(from, true, parts.len()), (to, false, parts.len())]);
            parts.push((Held { from, to, fiber: stay.fiber, stack: stay.stack }, surety));
        }
    }
    edges.sort_unstable();
    let mut active: BTreeSet<(u8, usize)> = BTreeSet::new();
    let (mut spans, mut since): (Vec<Held>, u64) = (Vec::new(), 0);
    let mut last: Option<usize> = None;
    for (time, begins, number) in edges {
        if let Some(&(surest, first)) = active.first().filter(|_| time > since) {
            let number = last.filter(|last| active.contains(&(surest, *last))).unwrap_or(first);
            last = Some(number);
            let held = parts[number].0;
            match spans.last_mut() {
                Some(span) if (span.fiber, span.stack, span.to) == (held.fiber, held.stack, since) => span.to = time,
                _ => spans.push(Held { from: since, to: time, ..held }),
            }
        }
        since = time;
        let of_part = (parts[number].1, number);
        if begins {
            active.insert(of_part);
        } else {
            active.remove(&of_part);
        }
    }
    spans
}
