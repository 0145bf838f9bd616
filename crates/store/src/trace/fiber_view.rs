//! The result as fibers saw it.

use dwell_model::{FiberId, ProcessId, ThreadId, WakerKind};

use super::finalized::Trace;
use crate::table::Table;
use crate::tables::{OffCpu, OffCpuRow, SampleRow, Samples, ThreadRow, Threads};

/// Stands for a CPU that is not known.
const NO_CPU: u16 = u16::MAX;

impl Trace {
    /// The result with fibers in the place of the threads that carried them: every report of it is one of fibers. Threads of programs
    /// without fibers are in it as they are. `None` where no fiber was seen.
    pub fn with_fibers_as_threads(&self) -> Option<Self> {
        let tables = &self.fibers;
        if tables.off_cpu.is_empty() && tables.samples.is_empty() {
            return None;
        }
        let mut view = Self::new(self.manifest.clone());
        view.processes = self.processes.clone();
        view.stacks = self.stacks.clone();
        view.frames = self.frames.clone();
        view.modules = self.modules.clone();
        view.objects = self.objects.clone();
        view.pauses = self.pauses.clone();
        view.open_requests = self.open_requests.clone();
        view.accept_queues = self.accept_queues.clone();
        view.sampled_sends = self.sampled_sends.clone();
        view.send_queues = self.send_queues.clone();
        view.losses = self.losses.clone();
        view.notices = self.notices.clone();
        let mut carries = vec![false; self.processes.len()];
        tables.fibers.process.iter().filter_map(|process| process.get()).for_each(|process| carries[process] = true);
        view.fibers.fibers = tables.fibers.clone();
        view.fiber_threads = tables.fibers.len();
        let kept = self.threads_outside(&carries, tables.fibers.len());
        view.threads = self.threads_and_fibers(&kept);
        view.beside_fibers = (0..kept.len()).filter(|&row| kept[row].is_some()).collect();
        view.off_cpu = self.intervals_of(&kept);
        view.samples = self.samples_of(&kept);
        Some(view)
    }

    /// For each thread of a process without fibers its row behind the fibers.
    fn threads_outside(&self, carries: &[bool], fibers: usize) -> Vec<Option<ThreadId>> {
        let mut next = fibers;
        let row = |process: &ProcessId| {
            let outside = process.get().is_some_and(|process| !carries[process]);
            outside.then(|| {
                next += 1;
                ThreadId::new(next - 1)
            })
        };
        self.threads.process.iter().map(row).collect()
    }

    fn threads_and_fibers(&self, kept: &[Option<ThreadId>]) -> Threads {
        let mut threads = Threads::default();
        let fibers = &self.fibers.fibers;
        for row in 0..fibers.len() {
            threads.push(ThreadRow {
                tid: u32::try_from(fibers.number[row]).unwrap_or(u32::MAX),
                process: fibers.process[row],
                parent: thread_of(fibers.parent[row]),
                name: fibers.name[row].clone(),
                start_ns: fibers.start_ns[row],
                end_ns: fibers.end_ns[row],
                kernel_cpu_ns: 0,
                read_calls: 0,
                read_bytes: 0,
                write_calls: 0,
                write_bytes: 0,
                policy: 0,
                nice: 0,
                cpus_allowed: 0,
                exited: fibers.exited[row],
                ignored: false,
            });
        }
        for row in (0..self.threads.len()).filter(|&row| kept[row].is_some()) {
            if let Some(thread) = self.threads.row(row) {
                threads.push(ThreadRow { parent: moved(thread.parent, kept), ..thread });
            }
        }
        threads
    }

    fn intervals_of(&self, kept: &[Option<ThreadId>]) -> OffCpu {
        let mut rows = OffCpu::default();
        let off = &self.fibers.off_cpu;
        for row in 0..off.len() {
            rows.push(OffCpuRow {
                thread: thread_of(off.fiber[row]),
                start_ns: off.start_ns[row],
                wait_ns: off.wait_ns[row],
                runnable_ns: off.runnable_ns[row],
                cpu: NO_CPU,
                reason: off.reason[row],
                outcome: off.outcome[row],
                syscall: off.syscall[row],
                object: off.object[row],
                stack: off.stack[row],
                waker: thread_of(off.waker[row]),
                waker_kind: off.waker_kind[row],
                waker_stack: off.waker_stack[row],
                holder: thread_of(off.holder[row]),
                same_call: false,
            });
        }
        for row in 0..self.off_cpu.len() {
            let Some(thread) = moved_row(self.off_cpu.thread[row], kept) else { continue };
            let Some(interval) = self.off_cpu.row(row) else { continue };
            let waker = moved(interval.waker, kept);
            let is_carrier = interval.waker.is_some() && !waker.is_some();
            let waker_kind = if is_carrier { WakerKind::Unknown.code() } else { interval.waker_kind };
            rows.push(OffCpuRow { thread, waker, waker_kind, holder: moved(interval.holder, kept), ..interval });
        }
        rows.in_order_of(|rows| &rows.start_ns)
    }

    fn samples_of(&self, kept: &[Option<ThreadId>]) -> Samples {
        let mut rows = Samples::default();
        let samples = &self.fibers.samples;
        for row in 0..samples.len() {
            rows.push(SampleRow {
                thread: thread_of(samples.fiber[row]),
                time_ns: samples.time_ns[row],
                weight_ns: samples.weight_ns[row],
                cpu: NO_CPU,
                stack: samples.stack[row],
                estimated: samples.estimated[row],
            });
        }
        for row in 0..self.samples.len() {
            let Some(thread) = moved_row(self.samples.thread[row], kept) else { continue };
            let Some(sample) = self.samples.row(row) else { continue };
            rows.push(SampleRow { thread, ..sample });
        }
        rows.in_order_of(|rows| &rows.time_ns)
    }
}

fn thread_of(fiber: FiberId) -> ThreadId {
    fiber.get().map_or(ThreadId::NONE, ThreadId::new)
}

fn moved_row(thread: ThreadId, kept: &[Option<ThreadId>]) -> Option<ThreadId> {
    thread.get().and_then(|row| kept[row])
}

fn moved(thread: ThreadId, kept: &[Option<ThreadId>]) -> ThreadId {
    moved_row(thread, kept).unwrap_or(ThreadId::NONE)
}
