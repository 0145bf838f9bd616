//! Replays what was seen of fibers: their states become intervals off a thread and stretches on one.
//!
//! A fiber's state lasts until its next record. What its thread did when it was seen says whether a fiber in a system call waited or
//! ran, and where one that ran was: its thread carries others before and after.
//! Where every change was recorded, a fiber has its thread to itself until the next one: then the thread's own intervals say so.
//! While the collection is paused nothing is known of it.

use dwell_model::{CallKind, Outcome, ProcessId, Reason, Syscall, ThreadId, WakerKind};
use dwell_store::raw::wire::{FIBER_FLAG_SEEDED, FiberStateRecord, fiber_state};
use dwell_store::tables::Pauses;

use crate::hash::FastMap;
use crate::input::meta::Meta;
use crate::replay::fiber_records::{FiberHistory, FiberKey, by_fiber};
use crate::replay::numbers::{StackNumber, WaitNumber};
use crate::replay::rows::{RawOffCpu, RawOffCpuRow, RawSampleRow, RawSamples};
use crate::replay::state::Replay;
use crate::replay::threads::ImageId;
use crate::replay::waits::{Sleep, WaitKey, WaitTarget};

/// Stands for a CPU that is not known.
const NO_CPU: u16 = u16::MAX;
/// A state that is shorter than so many times between two looks was seen once, or twice.
const SEEN_ONCE: u64 = 2;
/// From when the collector wakes up until it looks, at most.
const LOOK_NS: u64 = 200_000;
/// A sample of the thread so near to the look is of the fiber: threads are sampled each ms that they run.
const NEAR_NS: u64 = 1_500_000;

/// One fiber.
pub struct RawFiber {
    /// A `fiber_kind`.
    pub kind: u16,
    /// The runtime's number for it.
    pub number: u64,
    /// Its process.
    pub process: ProcessId,
    /// The fiber that made it.
    pub parent: ThreadId,
    /// The function that it began with.
    pub entry: StackNumber,
    /// Where it was made.
    pub created: StackNumber,
    /// ns since the collection's start.
    pub start_ns: u64,
    /// See above.
    pub end_ns: u64,
    /// Whether its end was seen.
    pub exited: bool,
}

/// All fibers. The `thread` of a row is the fiber's number in `fibers`, and so is its `waker` and its `owner`.
#[derive(Default)]
pub struct RawFibers {
    /// Every one.
    pub fibers: Vec<RawFiber>,
    /// When each was not on a thread.
    pub off_cpu: RawOffCpu,
    /// Where each ran.
    pub samples: RawSamples,
}

/// What the threads did.
pub struct ThreadRows<'r> {
    /// Their intervals off the CPU, by start.
    pub off_cpu: &'r RawOffCpu,
    /// Their samples, by time.
    pub samples: &'r RawSamples,
    /// When nothing was recorded.
    pub pauses: &'r Pauses,
    /// End of the collection, ns since its start.
    pub end_ns: u64,
    /// Mean time between two looks at fibers, ns; 0 where every change of theirs was recorded.
    pub interval_ns: u64,
}

/// A state of a fiber from one record to the next, outside of pauses.
struct Stay<'r> {
    from: u64,
    to: u64,
    /// When the fiber was seen in it first.
    seen_ns: u64,
    record: &'r FiberStateRecord,
}

/// Replays the records of fibers. Stacks and waits are numbered among those of threads.
pub fn replay(meta: &Meta, replay: &mut Replay, threads: &ThreadRows<'_>) -> RawFibers {
    if meta.fibers.is_empty() {
        return RawFibers::default();
    }
    let seen = by_fiber(&meta.fibers, replay);
    let number_of: FastMap<FiberKey, usize> = seen.iter().enumerate().map(|(number, it)| (it.key, number)).collect();
    let mut maker = Maker {
        meta,
        replay,
        threads,
        rows_of: rows_by_thread(threads),
        made: RawFibers::default(),
        last_stack: StackNumber::NONE,
        number_of,
    };
    for (number, seen) in seen.iter().enumerate() {
        maker.fiber(ThreadId::new(number), seen);
    }
    let RawFibers { fibers, off_cpu, samples } = maker.made;
    RawFibers {
        fibers,
        off_cpu: off_cpu.in_order_of(|it| &it.start_ns),
        samples: samples.in_order_of(|it| &it.time_ns),
    }
}

/// Rows of `off_cpu` and of `samples`, by thread.
type RowsOf = FastMap<ThreadId, (Vec<usize>, Vec<usize>)>;

fn rows_by_thread(threads: &ThreadRows<'_>) -> RowsOf {
    let mut rows = RowsOf::default();
    threads.off_cpu.thread.iter().enumerate().for_each(|(row, &thread)| rows.entry(thread).or_default().0.push(row));
    threads.samples.thread.iter().enumerate().for_each(|(row, &thread)| rows.entry(thread).or_default().1.push(row));
    rows
}

/// Makes rows of what was seen.
struct Maker<'m> {
    meta: &'m Meta,
    replay: &'m mut Replay,
    threads: &'m ThreadRows<'m>,
    rows_of: RowsOf,
    made: RawFibers,
    /// Where the fiber stood last, for when it runs and no sample says where.
    last_stack: StackNumber,
    number_of: FastMap<FiberKey, usize>,
}

impl Maker<'_> {
    fn fiber(&mut self, fiber: ThreadId, seen: &FiberHistory<'_>) {
        let new = &seen.new;
        let image = seen.key.0;
        let parent = Some(self.fiber_of(image, new.parent)).filter(|&parent| parent != fiber).unwrap_or(ThreadId::NONE);
        let seen_ns = self.replay.relative(new.h.time_ns);
        let program = self.replay.thread_table.images.get(image as usize);
        let was_there = new.flags & FIBER_FLAG_SEEDED != 0;
        let start_ns = program.filter(|_| was_there).map_or(seen_ns, |program| program.start_ns.min(seen_ns));
        let ended = seen.states.last().filter(|state| state.state == fiber_state::ENDED);
        let last_ns = self.replay.thread_table.image_end(image, self.threads.end_ns);
        let end_ns = ended.map_or(last_ns, |state| self.replay.relative(state.h.time_ns)).max(start_ns);
        let process = program.map_or(ProcessId::NONE, |program| program.process);
        let entry = self.replay.user_stack(new.entry_stack);
        self.last_stack = entry;
        let created = self.replay.user_stack(new.creator_stack);
        self.made.fibers.push(RawFiber {
            kind: new.kind,
            number: new.fiber,
            process,
            parent,
            entry,
            created,
            start_ns,
            end_ns,
            exited: ended.is_some(),
        });
        let first = self.made.off_cpu.len();
        for (at, record) in seen.states.iter().enumerate() {
            let from = if at == 0 { start_ns } else { self.replay.relative(record.h.time_ns).clamp(start_ns, end_ns) };
            let next = seen.states.get(at + 1).map_or(end_ns, |next| self.replay.relative(next.h.time_ns));
            for (from, to) in recorded_pieces(from, next.clamp(from, end_ns), self.threads.pauses) {
                let seen_ns = self.replay.relative(record.seen_ns).clamp(from, to);
                self.stay(fiber, image, &Stay { from, to, seen_ns, record });
            }
        }
        if ended.is_none() && self.made.off_cpu.len() > first {
            let last = self.made.off_cpu.len() - 1;
            let rows = &mut self.made.off_cpu;
            if rows.start_ns[last] + rows.wait_ns[last] + rows.runnable_ns[last] == end_ns {
                rows.outcome[last] = Outcome::Unfinished.code();
            }
        }
    }

    fn stay(&mut self, fiber: ThreadId, image: ImageId, stay: &Stay<'_>) {
        match stay.record.state {
            fiber_state::WAITING => self.waits(fiber, image, stay),
            fiber_state::READY => self.is_ready(fiber, image, stay),
            fiber_state::IN_CALL => self.is_in_call(fiber, stay),
            fiber_state::ON_THREAD => self.has_thread(fiber, stay),
            _ => self.is_running(fiber, stay),
        }
    }

    fn waits(&mut self, fiber: ThreadId, image: ImageId, stay: &Stay<'_>) {
        let stack = self.replay.user_stack(stay.record.user_stack);
        self.last_stack = stack;
        let wait = WaitKey {
            image,
            stack,
            syscall: -1,
            operation: 0,
            sleep: Sleep::Fiber,
            hint: WaitTarget::None,
            object: stay.record.object,
            announced: None,
            owner_source: None,
            lacks_memory: false,
        };
        let wait = self.replay.intern_wait(wait, stay.record.h.time_ns);
        let reason = Reason::Waiting;
        self.made.off_cpu.push(RawOffCpuRow {
            wait,
            wait_ns: stay.to - stay.from,
            ..off_row(fiber, stay.from, reason, stack)
        });
    }

    /// What was woken is ready until it runs; what ran gave its thread to another fiber.
    fn is_ready(&mut self, fiber: ThreadId, image: ImageId, stay: &Stay<'_>) {
        let runnable_ns = stay.to - stay.from;
        let waker = self.fiber_of(image, stay.record.waker);
        let waker_stack = self.replay.user_stack(stay.record.waker_stack);
        let rows = &mut self.made.off_cpu;
        if let Some(last) = rows.len().checked_sub(1)
            && rows.thread[last] == fiber
            && rows.start_ns[last] + rows.wait_ns[last] + rows.runnable_ns[last] == stay.from
        {
            rows.runnable_ns[last] += runnable_ns;
            if waker.is_some() {
                rows.waker[last] = waker;
                rows.waker_kind[last] = WakerKind::Thread.code();
                rows.waker_stack[last] = waker_stack;
            }
            return;
        }
        let stack = self.stand_at(stay.record.user_stack);
        self.made.off_cpu.push(RawOffCpuRow { runnable_ns, ..off_row(fiber, stay.from, Reason::Yielded, stack) });
    }

    /// Its thread may have been ready, and had no CPU: of one that was seen there again and again whenever that was, else as at the look. That
    /// the thread waited is said of another fiber, or of none.
    fn is_running(&mut self, fiber: ThreadId, stay: &Stay<'_>) {
        let thread = self.thread_of(stay);
        if self.is_seen_again(stay) {
            return self.runs_as_its_thread(fiber, thread, stay);
        }
        let is_ready = |row: &usize| self.threads.off_cpu.wait_ns[*row] == 0;
        match self.row_at(thread, stay.seen_ns).filter(is_ready) {
            Some(row) => {
                let rows = self.threads.off_cpu;
                let off = off_row(fiber, stay.from, Reason::from_code(rows.reason[row]), rows.stack[row]);
                self.made.off_cpu.push(RawOffCpuRow { runnable_ns: stay.to - stay.from, ..off });
            }
            None => self.runs(fiber, thread, stay),
        }
    }

    /// A stay that is longer than between two looks.
    fn is_seen_again(&self, stay: &Stay<'_>) -> bool {
        stay.to - stay.from > SEEN_ONCE * self.threads.interval_ns
    }

    fn runs_as_its_thread(&mut self, fiber: ThreadId, thread: ThreadId, stay: &Stay<'_>) {
        let rows = self.threads.off_cpu;
        let mut at = stay.from;
        for (row, [from, _, to]) in self.off_within(thread, stay).into_iter().filter(|(row, _)| rows.wait_ns[*row] == 0)
        {
            let off = off_row(fiber, from, Reason::from_code(rows.reason[row]), rows.stack[row]);
            self.runs_within(fiber, thread, (at, from));
            if to > from {
                self.made.off_cpu.push(RawOffCpuRow { runnable_ns: to - from, ..off });
            }
            at = to;
        }
        self.runs_within(fiber, thread, (at, stay.to));
    }

    /// What its thread waited for is what it waits for, if the thread was in its call.
    fn is_in_call(&mut self, fiber: ThreadId, stay: &Stay<'_>) {
        let stand = self.stand_at(stay.record.user_stack);
        let thread = self.thread_of(stay);
        let row = self.row_at(thread, stay.seen_ns);
        let row = row.filter(|&row| self.is_of_call(row, stay.record.user_stack) || self.waits_throughout(row, stay));
        let Some(row) = row else { return self.runs(fiber, thread, stay) };
        let rows = self.threads.off_cpu;
        let has_stack = rows.stack[row].get().is_some_and(|number| self.replay.stacks.keys()[number].user != 0);
        let stack = if has_stack { rows.stack[row] } else { stand };
        let is_waiting = stay.seen_ns < rows.start_ns[row] + rows.wait_ns[row];
        let length = stay.to - stay.from;
        if !is_waiting {
            let off = off_row(fiber, stay.from, Reason::Preempted, stack);
            self.made.off_cpu.push(RawOffCpuRow { runnable_ns: length, ..off });
            return;
        }
        self.made.off_cpu.push(RawOffCpuRow {
            wait_ns: length,
            outcome: rows.outcome[row],
            syscall: rows.syscall[row],
            wait: rows.wait[row],
            waker_kind: match WakerKind::from_code(rows.waker_kind[row]) {
                WakerKind::Thread => WakerKind::Unknown.code(), // which fiber it ran is not known
                kind => kind.code(),
            },
            ..off_row(fiber, stay.from, Reason::from_code(rows.reason[row]), stack)
        });
    }

    /// Whether a thread waits in an interval from when a stay was seen first to its end: then nothing of what has it runs, whatever the stacks say.
    /// When the stay began is not known.
    fn waits_throughout(&self, row: usize, stay: &Stay<'_>) -> bool {
        let rows = self.threads.off_cpu;
        rows.start_ns[row] <= stay.seen_ns && stay.to <= rows.start_ns[row] + rows.wait_ns[row]
    }

    /// Whether the thread was in the fiber's call in an interval of its own: the stacks begin with the same frame, below which the fiber's
    /// runtime has one of its own.
    fn is_of_call(&self, row: usize, fiber_stack: u64) -> bool {
        let frames = |key: u64| self.meta.stack(key).map_or(&[][..], |stack| self.meta.frames(stack));
        let of_thread =
            self.threads.off_cpu.stack[row].get().map_or(0, |number| self.replay.stacks.keys()[number].user);
        match frames(fiber_stack) {
            [.., entry, _] => frames(of_thread).contains(entry),
            // Where it stood is not known: then the call tells whether the runtime waits, or the program.
            _ => !matches!(
                Syscall::kind_of(self.threads.off_cpu.syscall[row]),
                CallKind::Futex | CallKind::Poll | CallKind::Sleep
            ),
        }
    }

    /// The interval of `thread` off the CPU at a time.
    fn row_at(&self, thread: ThreadId, time_ns: u64) -> Option<usize> {
        let (rows, _) = self.rows_of.get(&thread)?;
        let off = self.threads.off_cpu;
        let end = |row: usize| off.start_ns[row] + off.wait_ns[row] + off.runnable_ns[row];
        let at = rows.partition_point(|&row| end(row) <= time_ns);
        // To look, the collector may have taken the CPU from the very thread.
        let looked_ns = |row: usize| if off.wait_ns[row] == 0 { time_ns.saturating_sub(LOOK_NS) } else { time_ns };
        rows.get(at).copied().filter(|&row| off.start_ns[row] <= looked_ns(row))
    }

    /// A stretch on a thread: where the thread's sample nearest to the look was, else where the fiber stood last. One that was seen again
    /// and again has had the thread all the time.
    fn runs(&mut self, fiber: ThreadId, thread: ThreadId, stay: &Stay<'_>) {
        if self.is_seen_again(stay) {
            return self.runs_within(fiber, thread, (stay.from, stay.to));
        }
        let near = self.samples_within(thread, (stay.seen_ns.saturating_sub(NEAR_NS), stay.seen_ns + NEAR_NS));
        let nearest = near.into_iter().min_by_key(|&row| self.threads.samples.time_ns[row].abs_diff(stay.seen_ns));
        self.ran(fiber, (stay.from, stay.to), nearest.as_slice());
    }

    /// A time in which the fiber has the thread: what is sampled of that.
    fn runs_within(&mut self, fiber: ThreadId, thread: ThreadId, span: (u64, u64)) {
        let sampled = self.samples_within(thread, span);
        self.ran(fiber, span, &sampled);
    }

    /// The thread's samples between two instants.
    fn samples_within(&self, thread: ThreadId, (first, last): (u64, u64)) -> Vec<usize> {
        let all = self.threads.samples;
        let rows = self.rows_of.get(&thread).map_or(&[][..], |(_, rows)| rows);
        let begin = rows.partition_point(|&row| all.time_ns[row] < first);
        rows[begin..].iter().copied().take_while(|&row| all.time_ns[row] <= last).collect()
    }

    /// The fiber ran, as samples tell.
    fn ran(&mut self, fiber: ThreadId, (from, to): (u64, u64), sampled: &[usize]) {
        if to <= from {
            return;
        }
        let all = self.threads.samples;
        let row = |time_ns: u64, weight_ns, stack, estimated| {
            let time_ns = time_ns.clamp(from, to);
            RawSampleRow { thread: fiber, time_ns, weight_ns, cpu: NO_CPU, stack, estimated }
        };
        let mut since = from;
        for (at, &sample) in sampled.iter().enumerate() {
            let until = if at + 1 == sampled.len() { to } else { all.time_ns[sample].clamp(since, to) };
            self.made.samples.push(row(until, until - since, all.stack[sample], false));
            since = until;
        }
        if sampled.is_empty() {
            self.made.samples.push(row(from.midpoint(to), to - from, self.last_stack, true));
        }
    }

    /// Its thread's intervals are its own. What the thread waited for is below the goroutine's stack.
    fn has_thread(&mut self, fiber: ThreadId, stay: &Stay<'_>) {
        self.stand_at(stay.record.user_stack);
        let thread = self.thread_of(stay);
        let mut at = stay.from;
        for (row, [from, woken, to]) in self.off_within(thread, stay) {
            let rows = self.threads.off_cpu;
            let copied = RawOffCpuRow {
                wait_ns: woken - from,
                runnable_ns: to - woken,
                outcome: rows.outcome[row],
                syscall: rows.syscall[row],
                wait: rows.wait[row],
                waker_kind: match WakerKind::from_code(rows.waker_kind[row]) {
                    WakerKind::Thread => WakerKind::Unknown.code(), // which fiber it ran is not known
                    kind => kind.code(),
                },
                ..off_row(fiber, from, Reason::from_code(rows.reason[row]), rows.stack[row])
            };
            self.runs(fiber, thread, &Stay { from: at, to: from, ..*stay });
            if to > from {
                self.made.off_cpu.push(copied);
            }
            at = to;
        }
        self.runs(fiber, thread, &Stay { from: at, ..*stay });
    }

    /// The intervals of `thread` off the CPU that overlap a stay, each with its begin, wake-up and end, cut there and behind the one before.
    fn off_within(&self, thread: ThreadId, stay: &Stay<'_>) -> Vec<(usize, [u64; 3])> {
        let Some((rows, _)) = self.rows_of.get(&thread) else { return Vec::new() };
        let off = self.threads.off_cpu;
        let times = |row: usize| {
            let woken = off.start_ns[row] + off.wait_ns[row];
            [off.start_ns[row], woken, woken + off.runnable_ns[row]]
        };
        let first = rows.partition_point(|&row| times(row)[2] <= stay.from);
        let within = rows[first..].iter().copied().take_while(|&row| off.start_ns[row] < stay.to);
        let cut = |at: &mut u64, row: usize| {
            let cut = times(row).map(|time| time.clamp(*at, stay.to));
            *at = cut[2];
            Some((row, cut))
        };
        within.scan(stay.from, cut).collect()
    }

    /// The fiber stands at this stack now, or where it stood.
    fn stand_at(&mut self, user_stack: u64) -> StackNumber {
        if user_stack != 0 {
            self.last_stack = self.replay.user_stack(user_stack);
        }
        self.last_stack
    }

    /// The fiber that a program's runtime numbers so.
    fn fiber_of(&self, image: ImageId, number: u64) -> ThreadId {
        self.number_of.get(&(image, number)).map_or(ThreadId::NONE, |&row| ThreadId::new(row))
    }

    fn thread_of(&self, stay: &Stay<'_>) -> ThreadId {
        let thread_table = &self.replay.thread_table;
        let tid = match stay.record.state {
            fiber_state::ON_THREAD => Some(stay.record.h.tid),
            _ => thread_table.outer_id(stay.record.tgid, stay.record.h.tid),
        };
        let tid = tid.filter(|_| stay.record.h.tid != 0);
        tid.and_then(|tid| thread_table.find_at(tid, stay.from)).unwrap_or(ThreadId::NONE)
    }
}

fn off_row(fiber: ThreadId, start_ns: u64, reason: Reason, stack: StackNumber) -> RawOffCpuRow {
    RawOffCpuRow {
        thread: fiber,
        start_ns,
        wait_ns: 0,
        runnable_ns: 0,
        cpu: NO_CPU,
        reason: reason.code(),
        outcome: Outcome::Woken.code(),
        syscall: -1,
        wait: WaitNumber::NONE,
        stack,
        waker: ThreadId::NONE,
        waker_kind: WakerKind::Unknown.code(),
        waker_stack: StackNumber::NONE,
        owner: ThreadId::NONE,
        same_call: false,
    }
}

/// The parts of the time from `from` to `to` that lie outside of pauses.
fn recorded_pieces(from: u64, to: u64, pauses: &Pauses) -> Vec<(u64, u64)> {
    let mut pieces = Vec::new();
    let mut at = from;
    for (&start, &end) in pauses.start_ns.iter().zip(&pauses.end_ns).filter(|(start, end)| **start < to && **end > from)
    {
        pieces.push((at, start.max(at)));
        at = end.clamp(at, to);
    }
    pieces.push((at, to));
    pieces.retain(|(from, to)| from < to);
    pieces
}
