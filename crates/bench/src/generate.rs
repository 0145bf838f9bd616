//! Writes the synthetic result as it would have been recorded, in order of time and in pieces: memory does not grow
//! with the number of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::path::Path;

use dwell_model::{ObjectId, ObjectType, Outcome, Reason, StackId, ThreadId, WakerKind};
use dwell_store::tables::{OffCpu, OffCpuRow, SampleRow, Samples};
use dwell_store::{CodeTables, ResultFolder, Table, TableWriter};

use crate::program::{Dice, GROUPS, Program, THREADS};

/// Running time for which one sample stands.
const SAMPLING_NS: u64 = 1_000_000;
/// Rows written at once.
const PIECE: usize = 1 << 20;
/// Phases of the program, which differ in where threads wait.
const PHASES: u64 = 12;
/// Places that are busy in one phase.
const BUSY: usize = 24;
/// Intervals off the CPU of one thread per second, about, and samples: what the durations below come to.
const EVENTS_PER_THREAD_SECOND: u64 = 745;

struct ThreadState {
    dice: Dice,
    /// When it next leaves the CPU.
    leaves: u64,
    /// Running time since its last sample.
    unsampled: u64,
    stack: StackId,
}

struct Generator {
    program: Program,
    elapsed_ns: u64,
    threads: Vec<ThreadState>,
    off_cpu: OffCpu,
    samples: Samples,
}

/// Writes a result of about `events` intervals off the CPU and samples, and of so many tasks, into `folder`, which must not
/// be there.
pub fn run(folder: &Path, events: u64, tasks: usize) -> Result<(), Box<dyn Error>> {
    let elapsed_ns = (events * 1_000_000_000 / EVENTS_PER_THREAD_SECOND / THREADS as u64).max(1_000_000);
    let folder = ResultFolder::create(folder)?;
    let mut program = Program::new(elapsed_ns);
    if tasks > 0 {
        program.say(tasks);
    }
    program.trace.write(&folder, &CodeTables::default())?;
    let mut tables = (TableWriter::replace(&folder)?, TableWriter::replace(&folder)?);
    let threads = (0..THREADS as u64).map(|thread| ThreadState {
        dice: Dice(thread * 7919 + 1),
        leaves: thread * 10_000 + 5_000,
        unsampled: 0,
        stack: StackId::NONE,
    });
    let threads = threads.collect();
    let (off_cpu, samples) = (OffCpu::default(), Samples::default());
    let mut generator = Generator { program, elapsed_ns, threads, off_cpu, samples };
    let mut written = (0, 0);
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> =
        generator.threads.iter().enumerate().map(|(thread, state)| Reverse((state.leaves, thread))).collect();
    let mut pending = Pending::new();
    while let Some(Reverse((time, thread))) = heap.pop() {
        generator.samples_until(time, &mut pending);
        if let Some(next) = generator.leave(thread, time, &mut pending) {
            heap.push(Reverse((next, thread)));
        }
        if generator.off_cpu.len() >= PIECE || generator.samples.len() >= PIECE {
            written = generator.write(&mut tables, written)?;
        }
    }
    generator.samples_until(u64::MAX, &mut pending);
    written = generator.write(&mut tables, written)?;
    tables.0.close()?;
    tables.1.close()?;
    let mut manifest = generator.program.trace.manifest;
    manifest.events = (written.0 + written.1) as u64;
    folder.write_manifest(&manifest)?;
    println!("{}: {} intervals off the CPU, {} samples", folder.path().display(), written.0, written.1);
    Ok(())
}

type Tables = (TableWriter<OffCpu>, TableWriter<Samples>);

/// Samples to come, in order of time: time, thread, stack, weight.
type Pending = BinaryHeap<Reverse<(u64, usize, u32, u64)>>;

impl Generator {
    fn samples_until(&mut self, time: u64, pending: &mut Pending) {
        while let Some(Reverse((at, thread, stack, weight_ns))) =
            pending.peek().copied().filter(|next| next.0.0 <= time)
        {
            pending.pop();
            self.samples.push(SampleRow {
                thread: ThreadId::new(thread),
                time_ns: at,
                weight_ns,
                cpu: (thread % 64) as u16,
                stack: StackId::from_raw(stack),
                estimated: false,
            });
        }
    }

    fn write(&mut self, tables: &mut Tables, written: (usize, usize)) -> Result<(usize, usize), Box<dyn Error>> {
        tables.0.write(&self.off_cpu)?;
        tables.1.write(&self.samples)?;
        let written = (written.0 + self.off_cpu.len(), written.1 + self.samples.len());
        self.off_cpu = OffCpu::default();
        self.samples = Samples::default();
        Ok(written)
    }

    /// The thread leaves the CPU; returns when it leaves it next, having told the samples until then.
    fn leave(&mut self, thread: usize, time: u64, pending: &mut Pending) -> Option<u64> {
        let phase = time * PHASES / self.elapsed_ns;
        let row = self.interval(thread, time, phase);
        let runs = time + row.wait_ns + row.runnable_ns;
        self.off_cpu.push(row);
        let group = &self.program.groups[thread % GROUPS];
        let state = &mut self.threads[thread];
        let busy = (phase as usize % 4) * BUSY;
        state.stack = group.runs[(busy + state.dice.skewed(BUSY * 4)) % group.runs.len()];
        let end = self.elapsed_ns;
        let leaves = (runs + state.dice.duration(700_000.0)).min(end);
        // A sample whenever enough running time has come together, and one at the end for the rest.
        let mut at = runs;
        while at < leaves {
            let step = (SAMPLING_NS - state.unsampled).min(leaves - at);
            (at, state.unsampled) = (at + step, state.unsampled + step);
            if state.unsampled >= SAMPLING_NS {
                pending.push(Reverse((at, thread, state.stack.raw(), state.unsampled)));
                state.unsampled = 0;
            }
        }
        if leaves >= end && state.unsampled > 0 {
            pending.push(Reverse((end, thread, state.stack.raw(), state.unsampled)));
        }
        (leaves < end).then_some(leaves)
    }

    fn interval(&mut self, thread: usize, time: u64, phase: u64) -> OffCpuRow {
        let group = &self.program.groups[thread % GROUPS];
        let left = self.elapsed_ns - time;
        let dice = &mut self.threads[thread].dice;
        let place = ((phase as usize % 4) * BUSY + dice.skewed(BUSY)) % group.waits.len();
        let site = group.waits[place];
        let is_preempted = dice.below(10) == 0;
        let wait_ns = if is_preempted { 0 } else { dice.duration(site.typical_ns).min(left) };
        let runnable_ns = dice.duration(if is_preempted { 300_000.0 } else { 20_000.0 }).min(left - wait_ns);
        let waker = (thread + GROUPS * (1 + dice.skewed(8))) % THREADS;
        let by_thread = !is_preempted && site.kind != ObjectType::Sleep;
        let pick = |id: ObjectId, none: ObjectId| if is_preempted { none } else { id };
        let kind = match (is_preempted, by_thread) {
            (true, _) => WakerKind::Unknown,
            (false, true) => WakerKind::Thread,
            (false, false) => WakerKind::Timer,
        };
        OffCpuRow {
            thread: ThreadId::new(thread),
            start_ns: time,
            wait_ns,
            runnable_ns,
            cpu: dice.below(64) as u16,
            reason: if is_preempted { Reason::Preempted } else { Reason::Waiting }.code(),
            outcome: if is_preempted { Outcome::Unknown } else { Outcome::Woken }.code(),
            syscall: if is_preempted { -1 } else { 202 },
            object: pick(site.object, ObjectId::NONE),
            stack: if is_preempted { self.threads[thread].stack } else { site.stack },
            waker: if by_thread { ThreadId::new(waker) } else { ThreadId::NONE },
            waker_kind: kind.code(),
            waker_stack: if by_thread { site.waker_stack } else { StackId::NONE },
            holder: ThreadId::NONE,
            same_call: false,
        }
    }
}
