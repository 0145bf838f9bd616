//! How long reports take on a trace of ten million context switches: 64 threads take turns on 8 CPUs; 200 locks, 2,000 stacks.
//! Who wakes another runs at that time, as on a real machine.
//!
//! `cargo run --release -p dwell-analyze --example speed [rows] [report]`

use std::time::Instant;

use dwell_analyze::{Query, Report, report};
use dwell_model::{FrameId, ModuleId, ObjectId, ProcessId, StackId, ThreadId};
use dwell_store::tables::{FrameRow, ObjectRow, OffCpuRow, ProcessRow, SampleRow, StackRow, ThreadRow};
use dwell_store::{CpuInfo, Manifest, Trace};

const THREADS: u64 = 64;
const CPUS: u64 = 8;
/// A thread runs for this long at a time, ns.
const TURN_NS: u64 = 16_000;
const OBJECTS: u64 = 200;
const STACKS: u64 = 2_000;

/// Numbers without order, the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn manifest(end_ns: u64) -> Manifest {
    Manifest {
        cpus: CpuInfo { online: 8, usable: 8, model: String::new() },
        end_ns,
        exit_status: Some(0),
        ..Manifest::default()
    }
}

fn threads_and_stacks(trace: &mut Trace, end_ns: u64) {
    trace.processes.push(ProcessRow {
        pid: 1,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: String::new(),
        command_line: String::new(),
        start_ns: 0,
        end_ns,
        exit_code: 0,
        cgroup: String::new(),
        unit: String::new(),
        container: String::new(),
        pod: String::new(),
    });
    for thread in 0..THREADS as u32 {
        trace.threads.push(ThreadRow {
            tid: thread,
            process: ProcessId::new(0),
            parent: ThreadId::NONE,
            name: format!("worker-{thread}"),
            start_ns: 0,
            end_ns,
            kernel_cpu_ns: 0,
            read_calls: 0,
            read_bytes: 0,
            write_calls: 0,
            write_bytes: 0,
            policy: 0,
            nice: 0,
            cpus_allowed: 0,
            exited: false,
            ignored: false,
        });
    }
    for row in 0..STACKS as usize {
        trace.frames.push(FrameRow {
            module: ModuleId::NONE,
            offset: row as u64,
            function: format!("function_{row}"),
            file: String::new(),
            line: 0,
            inlined: false,
            kernel: false,
            after_call: false,
            script: false,
        });
        let parent = if row % 12 == 0 { StackId::NONE } else { StackId::new(row - 1) };
        trace.stacks.push(StackRow { parent, frame: FrameId::new(row), end: 1 });
    }
    for row in 0..OBJECTS as usize {
        trace.objects.push(ObjectRow {
            kind: 1 + (row % 4) as u8,
            name: format!("lock_{row}"),
            detail: String::new(),
            process: ProcessId::new(0),
            address: 0,
            first_stack: StackId::new(row),
            created_stack: StackId::NONE,
        });
    }
}

/// The thread that runs on a CPU at an instant.
fn running(cpu: u64, time_ns: u64) -> ThreadId {
    ThreadId::new((cpu + CPUS * (time_ns / TURN_NS % (THREADS / CPUS))) as usize)
}

fn trace(rows: u64) -> serde_json::Result<Trace> {
    let off_ns = TURN_NS * (THREADS / CPUS - 1);
    let end_ns = (rows / CPUS + THREADS) * TURN_NS;
    let mut trace = Trace::new(manifest(end_ns));
    threads_and_stacks(&mut trace, end_ns);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for row in 0..rows {
        let (cpu, start_ns) = (row % CPUS, (row / CPUS + 1) * TURN_NS);
        let thread = running(cpu, start_ns - 1);
        let wait_ns = 1 + numbers.below(off_ns - 1);
        let stack = thread.get().map_or(0, |thread| thread as u64 * 31 + numbers.below(3));
        trace.off_cpu.push(OffCpuRow {
            thread,
            start_ns,
            wait_ns,
            runnable_ns: off_ns - wait_ns,
            cpu: cpu as u16,
            reason: 1,
            outcome: 1,
            syscall: 202,
            object: ObjectId::new((stack % OBJECTS) as usize),
            stack: StackId::new(stack as usize),
            waker: running(numbers.below(CPUS), start_ns + wait_ns),
            waker_kind: 1,
            waker_stack: StackId::new(numbers.below(3) as usize),
            holder: ThreadId::NONE,
            same_call: false,
        });
        if row % 10 == 0 {
            trace.samples.push(SampleRow {
                thread,
                time_ns: start_ns,
                weight_ns: TURN_NS,
                cpu: cpu as u16,
                stack: StackId::new(stack as usize),
                estimated: false,
            });
        }
    }
    Ok(trace)
}

fn main() -> serde_json::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let only = arguments.next();
    let trace = trace(rows)?;
    trace.events(); // as from the index
    for kind in Report::ALL.iter().filter(|kind| only.as_deref().is_none_or(|only| only == kind.id())) {
        let query = Query { subject: (*kind == Report::Blame).then(|| "lock_1".to_owned()), ..Query::default() };
        let begin = Instant::now();
        let rows = report(*kind, &trace, &query).map_or(0, |view| view.rows.len());
        println!("{:14} {:6.3} s, {rows} rows", kind.id(), begin.elapsed().as_secs_f64());
    }
    Ok(())
}
