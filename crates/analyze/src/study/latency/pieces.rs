//! What delayed one thread: its recorded delays, its time off the CPU and its announced waits, cut so that no two overlap.

use std::cmp::Reverse;

use dwell_model::{Delay, ObjectType, Reason, ThreadId};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::latency::causes::Causes;
use crate::study::latency::collectors::CollectorPauses;
use crate::study::latency::rows::ThreadRows;

/// A stretch of a thread's time with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayPiece {
    /// Where it begins, ns since the start of the collection.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Why.
    pub cause: Delay,
    /// What tells so.
    pub origin: Origin,
}

impl DelayPiece {
    /// Its length, ns.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The row that a piece is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Of the table of delays.
    Delay(usize),
    /// Of the events off the CPU.
    OffCpu(usize),
    /// Of the announced waits.
    Announced(usize),
}

/// Time that was lost at some time in between: stolen, or to a slow CPU.
#[derive(Clone, Copy, Debug)]
struct Spread {
    start_ns: u64,
    end_ns: u64,
    lost_ns: u64,
}

impl Spread {
    /// How much of it is in `from .. to`.
    fn overlap_ns(&self, from: u64, to: u64) -> u64 {
        self.end_ns.min(to).saturating_sub(self.start_ns.max(from))
    }
}

/// Those of a thread that overlap `from .. to`; they are in order and do not overlap one another.
fn overlapping(all: &[Spread], from: u64, to: u64) -> impl Iterator<Item = &Spread> {
    let first = all.partition_point(|it| it.end_ns <= from);
    all[first..].iter().take_while(move |it| it.start_ns < to)
}

/// What delayed one thread.
#[derive(Debug, Default)]
pub struct ThreadDelays {
    /// In order; no two overlap.
    pieces: Vec<DelayPiece>,
    steals: Vec<Spread>,
    slow: Vec<Spread>,
}

impl ThreadDelays {
    /// Of `thread`, whose rows are `rows`.
    pub fn new(trace: &Trace, collectors: &CollectorPauses, thread: ThreadId, rows: &ThreadRows) -> Self {
        let delays = &trace.delays.delays;
        let (mut found, mut steals, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows.delays.iter().map(|row| *row as usize) {
            let (start_ns, end_ns) = (delays.start_ns[row], delays.end_ns[row]);
            let spread = Spread { start_ns, end_ns, lost_ns: delays.delay_ns[row] };
            match Delay::from_code(delays.kind[row]) {
                Delay::Steal => steals.push(spread),
                Delay::Frequency => slow.push(spread),
                cause => found.push(DelayPiece { start_ns, end_ns, cause, origin: Origin::Delay(row) }),
            }
        }
        off_cpu(trace, collectors, thread, &mut found);
        let announced = &trace.annotations.sync_waits;
        for row in rows.announced.iter().map(|row| *row as usize) {
            let (start_ns, end_ns) = (announced.start_ns[row], announced.end_ns[row]);
            found.push(DelayPiece { start_ns, end_ns, cause: Delay::Spin, origin: Origin::Announced(row) });
        }
        Self { pieces: disjoint(found), steals, slow }
    }

    /// The pieces in `from .. to`, cut to it.
    pub fn within(&self, from: u64, to: u64) -> impl Iterator<Item = DelayPiece> + '_ {
        let first = self.pieces.partition_point(|piece| piece.end_ns <= from);
        let inside = self.pieces[first..].iter().take_while(move |piece| piece.start_ns < to);
        inside.map(move |piece| DelayPiece {
            start_ns: piece.start_ns.max(from),
            end_ns: piece.end_ns.min(to),
            ..*piece
        })
    }

    /// The time of each cause in `from .. to`: no more than that. What was stolen is part of what nothing else explains, and so
    /// is what a slow CPU took of the rest, the thread's own work.
    pub fn causes(&self, from: u64, to: u64) -> Causes {
        let mut causes = Causes::default();
        self.within(from, to).for_each(|piece| causes.put(piece.cause, piece.length_ns()));
        let left = (to - from).saturating_sub(causes.total_ns());
        let stolen_ns = self.stolen_ns(from, to).min(left);
        causes.put(Delay::Steal, stolen_ns);
        causes.put(Delay::Frequency, self.slow_ns(from, to, left - stolen_ns));
        causes
    }

    fn stolen_ns(&self, from: u64, to: u64) -> u64 {
        let part = |steal: &Spread| steal.lost_ns.min(steal.overlap_ns(from, to));
        overlapping(&self.steals, from, to).fold(0, |sum, steal| sum.saturating_add(part(steal)))
    }

    /// What slow CPUs took of `own_ns`, which lie somewhere in `from .. to`: the part of it all that they took.
    fn slow_ns(&self, from: u64, to: u64, own_ns: u64) -> u64 {
        let part = |slow: &Spread| {
            let length_ns = (slow.end_ns - slow.start_ns).max(1);
            u128::from(slow.overlap_ns(from, to)) * u128::from(slow.lost_ns.min(length_ns)) / u128::from(length_ns)
        };
        let lost_ns: u128 = overlapping(&self.slow, from, to).map(part).sum();
        let of_own = lost_ns * u128::from(own_ns) / u128::from((to - from).max(1));
        (of_own as u64).min(own_ns)
    }
}

/// Its time off the CPU: waiting, then runnable.
fn off_cpu(trace: &Trace, collectors: &CollectorPauses, thread: ThreadId, found: &mut Vec<DelayPiece>) {
    let events = trace.events();
    let rows = thread.get().map_or(0..0, |thread| events.off_cpu.of(thread));
    for row in rows {
        let key = events.off_cpu_key(row);
        let (start_ns, woken_ns) = (events.off_cpu.start_ns(row), events.off_cpu.woken_ns(row));
        let origin = Origin::OffCpu(row);
        let cause = if collectors.pause(&key) { Delay::GarbageCollection } else { wait_cause(trace, &key) };
        found.push(DelayPiece { start_ns, end_ns: woken_ns, cause, origin });
        let waited = key.reason() == Some(Reason::Waiting);
        let cause = if waited { Delay::RunQueue } else { Delay::Preemption };
        found.push(DelayPiece { start_ns: woken_ns, end_ns: events.off_cpu.end_ns(row), cause, origin });
    }
}

/// What kind of wait an event off the CPU is.
fn wait_cause(trace: &Trace, key: &EventKey) -> Delay {
    match object_type(trace, key.object()) {
        ObjectType::Mutex
        | ObjectType::RwLock
        | ObjectType::SpinLock
        | ObjectType::Once
        | ObjectType::KernelLock
        | ObjectType::FileLock
        | ObjectType::Gil
        | ObjectType::JvmMonitor => Delay::Lock,
        ObjectType::Sleep | ObjectType::Timer => Delay::Sleep,
        ObjectType::BlockIo => Delay::BlockIo,
        ObjectType::PageFault => Delay::MajorFault,
        ObjectType::Signal if is_stop(trace, key) => Delay::Stopped,
        _ => Delay::Wait,
    }
}

/// Whether the thread was stopped, rather than asked for a signal: it was in no system call that does.
fn is_stop(trace: &Trace, key: &EventKey) -> bool {
    let name = key.object().get().and_then(|row| trace.objects.name.get(row));
    name.is_some_and(|name| name.starts_with("Stopped"))
}

/// Cuts pieces so that at each instant the one that began last holds; of those that began at once, the one of the higher
/// [`Delay::rank`], and what was recorded of it rather than that it was.
pub fn disjoint(mut found: Vec<DelayPiece>) -> Vec<DelayPiece> {
    found.retain(|piece| piece.start_ns < piece.end_ns);
    let recorded = |piece: &DelayPiece| matches!(piece.origin, Origin::Delay(_));
    found.sort_by_key(|piece| (piece.start_ns, piece.cause.rank(), recorded(piece), Reverse(piece.end_ns)));
    let mut cut: Vec<DelayPiece> = Vec::with_capacity(found.len());
    let mut open: Vec<DelayPiece> = Vec::new();
    let mut at = 0;
    for next in found {
        run_to(next.start_ns, &mut at, &mut open, &mut cut);
        at = next.start_ns;
        open.push(next);
    }
    run_to(u64::MAX, &mut at, &mut open, &mut cut);
    cut
}

/// Hands out what is open from `at` up to `to`, innermost first.
fn run_to(to: u64, at: &mut u64, open: &mut Vec<DelayPiece>, cut: &mut Vec<DelayPiece>) {
    while let Some(piece) = open.last() {
        let end = piece.end_ns.min(to);
        if *at < end {
            cut.push(DelayPiece { start_ns: *at, end_ns: end, ..*piece });
            *at = end;
        }
        if piece.end_ns > to {
            return;
        }
        open.pop();
    }
}
