//! What each thread did in a part of the time, piece by piece.

use crate::history::states::TimelineState;
use crate::history::thread_history::ThreadHistory;

/// A stretch of time in which a thread did one thing; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPiece {
    /// What it did.
    pub state: TimelineState,
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// What it waited on, as a row; `u32::MAX` for nothing.
    pub object: u32,
    /// Off-CPU row that it is of; none: it ran.
    pub row: Option<usize>,
}

/// Tells what `thread` did in `from .. to`, in order of time, within its life. Work in proportion to the intervals and
/// samples that are told.
pub fn for_each_piece(
    history: &ThreadHistory,
    thread: usize,
    (from, to): (u64, u64),
    mut emit: impl FnMut(HistoryPiece),
) {
    let Some(life) = history.life(thread) else { return };
    let (from, to) = (from.max(life.0), to.min(life.1));
    if from >= to {
        return;
    }
    let mut running = Running::new(history, thread, from);
    let mut reached = from;
    for_each_absence(history, thread, (from, to), |row, [start, woken, ran]| {
        running.emit((reached, start), &mut emit);
        off_cpu_pieces(history, row, [start, woken, ran], &mut emit);
        reached = ran.max(reached);
    });
    running.emit((reached, to), &mut emit);
}

/// Tells what `thread` did off the CPU in `from .. to`.
pub fn for_each_off_cpu(
    history: &ThreadHistory,
    thread: usize,
    (from, to): (u64, u64),
    mut emit: impl FnMut(HistoryPiece),
) {
    let Some(life) = history.life(thread) else { return };
    let (from, to) = (from.max(life.0), to.min(life.1));
    if from < to {
        for_each_absence(history, thread, (from, to), |row, times| off_cpu_pieces(history, row, times, &mut emit));
    }
}

fn off_cpu_pieces(
    history: &ThreadHistory,
    row: usize,
    [start, woken, ran]: [u64; 3],
    emit: &mut impl FnMut(HistoryPiece),
) {
    if start < woken {
        let (state, object) = history.waiting(row);
        emit(HistoryPiece { state, from: start, to: woken, object, row: Some(row) });
    }
    if woken < ran {
        let state = history.queueing(row);
        emit(HistoryPiece { state, from: woken, to: ran, object: u32::MAX, row: Some(row) });
    }
}

/// Tells the rows of `thread` in `from .. to`, cut there: when it left the CPU, was woken, ran again.
fn for_each_absence(
    history: &ThreadHistory,
    thread: usize,
    (from, to): (u64, u64),
    mut emit: impl FnMut(usize, [u64; 3]),
) {
    let off_cpu = &history.events().off_cpu;
    let rows = off_cpu.of(thread);
    let first = off_cpu.partition_point(rows.clone(), |start| start < from);
    // The row before may reach into the range.
    let first = first.saturating_sub(1).max(rows.start);
    let start_of = |row: usize| if row < rows.end { off_cpu.start_ns(row) } else { u64::MAX };
    let mut next = start_of(first);
    for row in first..rows.end {
        let (begin, start) = (next, next.clamp(from, to));
        if begin >= to {
            return;
        }
        next = start_of(row + 1);
        // Of intervals that overlap, in a damaged trace, the later one counts.
        let end = next.min(to).max(start);
        let wakes = begin.saturating_add(off_cpu.wait_ns(row));
        let woken = wakes.clamp(start, end);
        let ran = wakes.saturating_add(off_cpu.runnable_ns(row)).clamp(woken, end);
        emit(row, [start, woken, ran]);
    }
}

/// Splits running time by what the samples say of it.
struct Running<'a> {
    history: &'a ThreadHistory,
    /// The next sample, and the thread's last one: that stands for what follows too.
    next: usize,
    end: usize,
}

impl<'a> Running<'a> {
    fn new(history: &'a ThreadHistory, thread: usize, from: u64) -> Self {
        let samples = &history.events().samples;
        let rows = samples.of(thread);
        let next = samples.partition_point(rows.clone(), |time| time <= from);
        let next = if next == rows.end { next.saturating_sub(1).max(rows.start) } else { next };
        Self { history, next, end: rows.end }
    }

    fn emit(&mut self, (mut from, to): (u64, u64), emit: &mut impl FnMut(HistoryPiece)) {
        let samples = &self.history.events().samples;
        while from < to {
            while self.next + 1 < self.end && samples.time_ns(self.next) <= from {
                self.next += 1;
            }
            let is_last = self.next + 1 >= self.end;
            let until = if is_last { to } else { samples.time_ns(self.next).min(to) };
            let state = match self.next < self.end {
                true => self.history.state_of_key(samples.key(self.next)),
                false => TimelineState::Running,
            };
            emit(HistoryPiece { state, from, to: until, object: u32::MAX, row: None });
            from = until;
        }
    }
}

/// Tells when `thread` ran on which CPU: from the end of an interval off the CPU, which says where it then ran, to the
/// next one.
pub fn for_each_run(
    history: &ThreadHistory,
    thread: usize,
    (from, to): (u64, u64),
    mut emit: impl FnMut(u32, (u64, u64)),
) {
    let Some((_, end)) = history.life(thread) else { return };
    let off_cpu = &history.events().off_cpu;
    let rows = off_cpu.of(thread);
    let first = off_cpu.partition_point(rows.clone(), |start| start < from);
    for row in first.saturating_sub(1).max(rows.start)..rows.end {
        if off_cpu.start_ns(row) >= to {
            return;
        }
        let next = if row + 1 < rows.end { off_cpu.start_ns(row + 1) } else { end };
        let (ran, until) = (off_cpu.end_ns(row).clamp(from, to), next.min(end).clamp(from, to));
        if ran < until {
            emit(u32::from(off_cpu.cpu(row)), (ran, until));
        }
    }
}
