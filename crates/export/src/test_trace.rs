//! A small trace, for tests.

use dwell_model::{FrameId, ModuleId, ObjectId, ObjectType, ProcessId, Reason, StackId, ThreadId, WakerKind};
use dwell_store::tables::{
    FrameRow, LossRow, ModuleRow, ObjectRow, OffCpuRow, ProcessRow, SampleRow, StackRow, ThreadRow,
};
use dwell_store::{CpuInfo, Manifest, Trace};

const MS: u64 = 1_000_000;

/// `main` runs in `work` for 4 ms on CPU 0; `work;er` runs there for 1 ms on CPU 1 and waits for `queue_lock` until `main` wakes it
/// after 3 ms.
pub fn two_threads() -> Trace {
    let mut trace = Trace::new(Manifest {
        command: vec!["app".into()],
        cpus: CpuInfo { online: 2, usable: 2, model: String::new() },
        sampling_interval_ns: MS,
        start_ns: 5,
        end_ns: 5 + 4 * MS,
        started_at: 1000.0,
        ..Manifest::default()
    });
    lives(&mut trace);
    code(&mut trace);
    trace.objects.push(ObjectRow {
        kind: ObjectType::Mutex.code(),
        name: "queue_lock".into(),
        process: ProcessId::new(0),
        detail: String::new(),
        address: 0x4000,
        first_stack: StackId::new(4),
        created_stack: StackId::NONE,
    });
    trace.off_cpu.push(OffCpuRow {
        thread: ThreadId::new(1),
        start_ns: MS,
        wait_ns: 3 * MS,
        cpu: u16::MAX,
        reason: Reason::Waiting.code(),
        outcome: 4,
        object: ObjectId::new(0),
        stack: StackId::new(4),
        waker: ThreadId::new(0),
        waker_kind: WakerKind::Thread.code(),
        runnable_ns: 0,
        syscall: 202,
        waker_stack: StackId::new(1),
        holder: ThreadId::NONE,
        same_call: false,
    });
    for (time, thread) in [(1, 0), (1, 1), (2, 0), (3, 0), (4, 0)] {
        trace.samples.push(SampleRow {
            thread: ThreadId::new(thread),
            time_ns: time * MS,
            weight_ns: MS,
            cpu: thread as u16,
            stack: StackId::new(1),
            estimated: false,
        });
    }
    let doc = "Switches are missing.".into();
    trace.losses.push(LossRow {
        name: dwell_model::losses::SWITCHES_LOST.into(),
        count: 7,
        doc,
        start_ns: 0,
        end_ns: 0,
    });
    trace
}

/// Stacks: 1 is main, work; 4 is main, push_item (inlined into main), pthread_mutex_lock.
fn code(trace: &mut Trace) {
    let module = |path: &str, build_id: &str| ModuleRow { path: path.into(), build_id: build_id.into() };
    trace.modules.push(module("/bin/app", "abcdef"));
    trace.modules.push(module("/lib/libc.so.6", ""));
    for (module, offset, function, line, inlined) in [
        (0, 0x1000, "main", 7, false),
        (0, 0x1100, "work", 17, false),
        (0, 0x1200, "main", 9, false),
        (0, 0x1200, "push_item", 20, true),
        (1, 0x9000, "pthread_mutex_lock", 0, false),
    ] {
        trace.frames.push(FrameRow {
            module: ModuleId::new(module),
            offset,
            function: function.into(),
            file: if line > 0 { "app.c".into() } else { String::new() },
            line,
            inlined,
            kernel: false,
            after_call: function != "pthread_mutex_lock",
            script: false,
        });
    }
    for (parent, frame) in [(None, 0), (Some(0), 1), (None, 2), (Some(2), 3), (Some(3), 4)] {
        let parent = parent.map_or(StackId::NONE, StackId::new);
        trace.stacks.push(StackRow { parent, frame: FrameId::new(frame), end: 1 });
    }
}

fn lives(trace: &mut Trace) {
    trace.processes.push(ProcessRow {
        pid: 10,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: "/bin/app".into(),
        command_line: "app".into(),
        start_ns: 0,
        end_ns: 4 * MS,
        exit_code: 0,
        cgroup: String::new(),
        unit: String::new(),
        container: String::new(),
        pod: String::new(),
    });
    for (tid, name) in [(10, "main"), (11, "work;er")] {
        let row = ThreadRow {
            tid,
            process: ProcessId::new(0),
            parent: ThreadId::NONE,
            name: name.into(),
            start_ns: 0,
            end_ns: 4 * MS,
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
        };
        trace.threads.push(row);
    }
}
