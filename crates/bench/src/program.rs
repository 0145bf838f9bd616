//! The program that the synthetic result is of: what its threads are called, where they wait and run, on what.

use dwell_model::{
    FrameId, ModuleId, ObjectId, ObjectType, ProcessId, StackId, TaskId, TaskKind, TaskTypeId, ThreadId,
};
use dwell_store::tables::{FrameRow, ModuleRow, ObjectRow, ProcessRow, StackRow, TaskRow, TaskTypeRow, ThreadRow};
use dwell_store::{CpuInfo, Manifest, Trace};

pub const THREADS: usize = 200;
pub const GROUPS: usize = 8;
const STACKS: usize = 5_000;
const OBJECTS: usize = 300;
const CPUS: u32 = 64;

/// Numbers that look random and are the same in every run (splitmix64).
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Below `end`, the small ones more often: about as one over the number.
    pub fn skewed(&mut self, end: usize) -> usize {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((end as f64 + 1.0).powf(part) - 1.0) as usize
    }

    /// A duration about `typical` ns, now and then many times as long.
    pub fn duration(&mut self, typical: f64) -> u64 {
        let part = ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        (-part.ln() * typical) as u64 + 50
    }
}

/// A place where threads of a group wait: on what, from which stack, how long.
#[derive(Clone, Copy)]
pub struct WaitSite {
    pub object: ObjectId,
    pub kind: ObjectType,
    pub stack: StackId,
    pub waker_stack: StackId,
    pub typical_ns: f64,
}

/// What threads of a group do.
pub struct Group {
    pub waits: Vec<WaitSite>,
    pub runs: Vec<StackId>,
}

pub struct Program {
    pub trace: Trace,
    pub groups: Vec<Group>,
}

/// Names of the groups' threads, what they wait on, and the library function that does.
const ROLES: [(&str, ObjectType, &str, f64); GROUPS] = [
    ("worker", ObjectType::Mutex, "pthread_mutex_lock", 400_000.0),
    ("io", ObjectType::Socket, "recv", 900_000.0),
    ("render", ObjectType::Barrier, "pthread_barrier_wait", 700_000.0),
    ("pool", ObjectType::ConditionVariable, "pthread_cond_wait", 1_500_000.0),
    ("db", ObjectType::Stream, "read", 500_000.0),
    ("timer", ObjectType::Sleep, "clock_nanosleep", 1_000_000.0),
    ("net", ObjectType::Event, "epoll_wait", 800_000.0),
    ("log", ObjectType::Semaphore, "sem_wait", 600_000.0),
];

impl Program {
    pub fn new(elapsed_ns: u64) -> Self {
        let mut trace = Trace::new(manifest(elapsed_ns));
        for path in ["/srv/app/bin/server", "/lib/x86_64-linux-gnu/libc.so.6", "/srv/app/lib/libengine.so"] {
            trace.modules.push(ModuleRow { path: path.into(), build_id: "00".into() });
        }
        for process in 0..4u32 {
            trace.processes.push(ProcessRow {
                pid: 1000 + process,
                parent: if process == 0 { ProcessId::NONE } else { ProcessId::new(0) },
                name: format!("server-{process}"),
                executable: "/srv/app/bin/server".into(),
                command_line: "server".into(),
                start_ns: 0,
                end_ns: elapsed_ns,
                exit_code: -1,
                cgroup: String::new(),
                unit: String::new(),
                container: String::new(),
                pod: String::new(),
            });
        }
        for thread in 0..THREADS {
            trace.threads.push(ThreadRow {
                tid: 2000 + thread as u32,
                process: ProcessId::new(thread % 4),
                parent: if thread == 0 { ThreadId::NONE } else { ThreadId::new(0) },
                name: format!("{}-{}", ROLES[thread % GROUPS].0, thread / GROUPS),
                start_ns: 0,
                end_ns: elapsed_ns,
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
        let mut dice = Dice(7);
        let groups = (0..GROUPS).map(|group| group_of(&mut trace, group, &mut dice)).collect();
        Self { trace, groups }
    }
}

/// Tasks of one request: itself, and those in it, each with its begin and end as parts of the request's, of 100.
const REQUEST: [(&str, u64, u64); 4] = [("request", 0, 100), ("parse", 5, 25), ("handle", 30, 80), ("reply", 85, 99)];

impl Program {
    /// Lets the threads say that they work on requests, one after the other: about so many tasks in all.
    pub fn say(&mut self, tasks: usize) {
        let elapsed_ns = self.trace.elapsed_ns();
        let said = &mut self.trace.annotations;
        for (name, ..) in REQUEST {
            let kind = TaskKind::Task.code();
            said.task_types.push(TaskTypeRow { kind, domain: "server".into(), name: name.into() });
        }
        let requests = (tasks / REQUEST.len() / THREADS).max(1) as u64;
        let period = elapsed_ns / requests;
        // Begin, end, thread, request, place in it.
        let mut all: Vec<(u64, u64, usize, u64, usize)> = Vec::with_capacity(tasks);
        for thread in 0..THREADS {
            let mut dice = Dice(thread as u64 * 104_729 + 3);
            for request in 0..requests {
                let length = (dice.duration(period as f64 / 4.0)).min(period * 9 / 10).max(200);
                let begin = request * period + dice.next() % (period - length).max(1);
                let of = |(place, (_, from, to)): (usize, &(&str, u64, u64))| {
                    (begin + length * from / 100, begin + length * to / 100, thread, request, place)
                };
                all.extend(REQUEST.iter().enumerate().map(of));
            }
        }
        all.sort_unstable();
        let mut open = vec![TaskId::NONE; THREADS];
        for (start_ns, end_ns, thread, _, place) in all {
            let parent = if place == 0 { TaskId::NONE } else { open[thread] };
            let (task_type, id) = (TaskTypeId::new(place), ThreadId::new(thread));
            let row =
                TaskRow { task_type, thread: id, end_thread: id, start_ns, end_ns, parent, id: 0, finished: true };
            let task = TaskId::new(said.tasks.push(row));
            if place == 0 {
                open[thread] = task;
            }
        }
    }
}

fn manifest(elapsed_ns: u64) -> Manifest {
    Manifest {
        dwell_version: env!("CARGO_PKG_VERSION").into(),
        command: vec!["/srv/app/bin/server".into()],
        host: "synthetic".into(),
        cpus: CpuInfo { online: CPUS, usable: CPUS, model: "synthetic".into() },
        start_ns: 1,
        end_ns: 1 + elapsed_ns,
        ..Manifest::default()
    }
}

fn frame(trace: &mut Trace, module: usize, function: String, line: u32) -> FrameId {
    FrameId::new(trace.frames.push(FrameRow {
        module: ModuleId::new(module),
        offset: trace.frames.function.len() as u64 * 16,
        file: if module == 1 { String::new() } else { format!("/srv/app/src/part{}.cpp", line % 40) },
        function,
        line: if module == 1 { 0 } else { line },
        inlined: false,
        kernel: false,
        after_call: true,
        script: false,
    }))
}

fn stack(trace: &mut Trace, parent: StackId, frame: FrameId) -> StackId {
    StackId::new(trace.stacks.push(StackRow { parent, frame, end: 1 }))
}

/// A group's stacks: callers that it shares, then a function each, and for waits the library's call.
fn group_of(trace: &mut Trace, group: usize, dice: &mut Dice) -> Group {
    let (name, kind, call, typical_ns) = ROLES[group];
    let call = frame(trace, 1, call.into(), 0);
    let mut callers = Vec::new();
    let mut caller = StackId::NONE;
    for depth in 0..10u32 {
        let of = frame(trace, 0, format!("{name}::level{depth}()"), depth + 1);
        caller = stack(trace, caller, of);
        callers.push(caller);
    }
    let per_group = STACKS / GROUPS;
    let mut leaf = |trace: &mut Trace, number: usize| {
        let under = callers[dice.below(callers.len())];
        let of = frame(trace, 2, format!("engine::{name}::step{number}(Request const&)"), number as u32 + 10);
        stack(trace, under, of)
    };
    let runs: Vec<StackId> = (0..per_group / 2).map(|number| leaf(trace, number)).collect();
    let mut objects = Vec::new();
    for number in 0..OBJECTS / GROUPS {
        let row = ObjectRow {
            kind: kind.code(),
            name: format!("{name}_{number}"),
            detail: String::new(),
            process: ProcessId::new(number % 4),
            address: 0,
            first_stack: StackId::NONE,
            created_stack: StackId::NONE,
        };
        objects.push(ObjectId::new(trace.objects.push(row)));
    }
    let wait = |number: usize| {
        let above = leaf(trace, per_group / 2 + number);
        WaitSite {
            object: objects[number % objects.len()],
            kind,
            stack: stack(trace, above, call),
            waker_stack: runs[number % runs.len()],
            // Some objects are an order of magnitude slower: two humps.
            typical_ns: if number.is_multiple_of(7) { typical_ns * 12.0 } else { typical_ns * 0.7 },
        }
    };
    Group { waits: (0..per_group / 2).map(wait).collect(), runs }
}
