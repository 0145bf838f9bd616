//! Traces as pictures, for tests: a thread per line, a millisecond per character.
//!
//! `#` runs in `work`, `1` … `9` run in `f1` … `f9`, `~` runs in `read`, `-` is in a run queue, a letter waits on the object of that name,
//! `?` is off the CPU for no known reason, a blank is before the start or after the end. Who wakes: the first other thread in the picture that runs in the
//! millisecond before the wake-up; sleeps (`s`) are ended by the timer. A wait is at `pthread_mutex_lock` called by
//! `use_m`, running is at its function, both called by `main`.
//!
//! A line of two words is what the thread of the first one says of itself, see [`annotations`](crate::annotations).

use std::collections::HashMap;

use dwell_model::{FrameId, ModuleId, ObjectId, ObjectType, Outcome, ProcessId, Reason, StackId, ThreadId, WakerKind};
use dwell_store::tables::{FrameRow, ModuleRow, ObjectRow, OffCpuRow, ProcessRow, SampleRow, StackRow, ThreadRow};
use dwell_store::{CpuInfo, Manifest, Trace};
use dwell_view::{Value, View};

use crate::annotations;
use crate::cell::CELL;

/// The objects' types and waiting functions, by letter.
fn object(letter: char) -> (ObjectType, &'static str) {
    match letter {
        'm' | 'l' => (ObjectType::Mutex, "pthread_mutex_lock"),
        'c' => (ObjectType::ConditionVariable, "pthread_cond_wait"),
        'b' => (ObjectType::Barrier, "pthread_barrier_wait"),
        's' => (ObjectType::Sleep, "clock_nanosleep"),
        'e' => (ObjectType::Event, "epoll_wait"),
        'n' => (ObjectType::Socket, "recv"),
        'g' => (ObjectType::Gil, "take_gil"),
        'j' => (ObjectType::ThreadJoin, "pthread_join"),
        _ => (ObjectType::Futex, "syscall"),
    }
}

/// What a recording on `cpus` CPUs of `cells` characters says of itself.
pub fn manifest(cpus: u32, cells: u64) -> Manifest {
    Manifest {
        command: vec!["app".into()],
        cpus: CpuInfo { online: cpus, usable: cpus, model: String::new() },
        sampling_interval_ns: CELL,
        start_ns: 5,
        end_ns: 5 + cells * CELL,
        exit_status: Some(0),
        collector_cpu_ns: 7,
        ..Manifest::default()
    }
}

struct Builder {
    trace: Trace,
    frames: HashMap<String, FrameId>,
    stacks: HashMap<(StackId, FrameId), StackId>,
    objects: HashMap<char, ObjectId>,
    off_cpu: Vec<OffCpuRow>,
    samples: Vec<SampleRow>,
}

/// The trace of a picture, on two CPUs.
pub fn trace(picture: &str) -> Trace {
    let lines: Vec<(&str, Vec<char>)> = picture
        .lines()
        .filter_map(|line| line.trim_start().split_once(": "))
        .map(|(name, cells)| (name.trim_end(), cells.chars().collect()))
        .collect();
    let (said, threads): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(name, _)| name.contains(' '));
    let mut trace = build(&threads, 2);
    for (name, cells) in said {
        annotations::line(&mut trace, name, &cells);
    }
    annotations::in_order(&mut trace);
    trace
}

/// The trace of lines of characters.
pub fn build(lines: &[(&str, Vec<char>)], cpus: u32) -> Trace {
    let cells = lines.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0) as u64;
    let mut builder = Builder {
        trace: Trace::new(manifest(cpus, cells)),
        frames: HashMap::new(),
        stacks: HashMap::new(),
        objects: HashMap::new(),
        off_cpu: Vec::new(),
        samples: Vec::new(),
    };
    builder.trace.processes.push(ProcessRow {
        pid: 100,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: "/srv/app".into(),
        command_line: "app".into(),
        start_ns: 0,
        end_ns: cells * CELL,
        exit_code: 0,
        cgroup: String::new(),
        unit: String::new(),
        container: String::new(),
        pod: String::new(),
    });
    for path in ["/srv/app", "/lib/x86_64-linux-gnu/libc.so.6"] {
        builder.trace.modules.push(ModuleRow { path: path.into(), build_id: String::new() });
    }
    for index in 0..lines.len() {
        builder.thread(lines, index);
    }
    builder.finish()
}

fn alive(cell: char) -> bool {
    cell != ' '
}

fn running(cell: char) -> bool {
    cell == '#' || cell == '~' || cell.is_ascii_digit()
}

impl Builder {
    fn frame(&mut self, function: &str, system: bool) -> FrameId {
        if let Some(frame) = self.frames.get(function) {
            return *frame;
        }
        let line = if system { 0 } else { 10 + self.frames.len() as u32 };
        let row = FrameRow {
            module: ModuleId::new(usize::from(system)),
            offset: self.frames.len() as u64,
            function: function.into(),
            file: if system { String::new() } else { "app.c".into() },
            line,
            inlined: false,
            kernel: false,
            after_call: false,
            script: false,
        };
        let frame = FrameId::new(self.trace.frames.push(row));
        self.frames.insert(function.into(), frame);
        frame
    }

    /// A stack of functions, root first; the last one is the system's when `system`.
    fn stack(&mut self, functions: &[&str], system: bool) -> StackId {
        let mut stack = StackId::NONE;
        for (index, function) in functions.iter().enumerate() {
            let frame = self.frame(function, system && index + 1 == functions.len());
            let stacks = &mut self.trace.stacks;
            stack = *self
                .stacks
                .entry((stack, frame))
                .or_insert_with(|| StackId::new(stacks.push(StackRow { parent: stack, frame, end: 1 })));
        }
        stack
    }

    fn running_stack(&mut self, cell: char) -> StackId {
        match cell {
            '#' => self.stack(&["main", "work"], false),
            '~' => self.stack(&["main", "serve", "read"], true),
            _ => self.stack(&["main", &format!("f{cell}")], false),
        }
    }

    fn object(&mut self, letter: char) -> (ObjectId, StackId) {
        let (kind, call) = object(letter);
        let stack = self.stack(&["main", &format!("use_{letter}"), call], true);
        let objects = &mut self.trace.objects;
        let object = *self.objects.entry(letter).or_insert_with(|| {
            ObjectId::new(objects.push(ObjectRow {
                kind: kind.code(),
                name: letter.to_string(),
                detail: String::new(),
                process: ProcessId::new(0),
                address: u64::from(u32::from(letter)) * 64,
                first_stack: stack,
                created_stack: StackId::NONE,
            }))
        });
        (object, stack)
    }

    fn thread(&mut self, lines: &[(&str, Vec<char>)], index: usize) {
        let (name, cells) = &lines[index];
        let from = cells.iter().position(|cell| alive(*cell)).unwrap_or(0);
        let to = cells.iter().rposition(|cell| alive(*cell)).map_or(from, |last| last + 1);
        self.trace.threads.push(ThreadRow {
            tid: 100 + index as u32,
            process: ProcessId::new(0),
            parent: if index == 0 { ThreadId::NONE } else { ThreadId::new(0) },
            name: (*name).into(),
            start_ns: from as u64 * CELL,
            end_ns: to as u64 * CELL,
            kernel_cpu_ns: 0,
            read_calls: 0,
            read_bytes: 0,
            write_calls: 0,
            write_bytes: 0,
            policy: 0,
            nice: 0,
            cpus_allowed: 0,
            exited: to < lines.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0),
            ignored: false,
        });
        let mut at = from;
        while at < to {
            let end = at + cells[at..to].iter().take_while(|cell| **cell == cells[at]).count();
            at = if running(cells[at]) {
                self.run(index, cells[at], at, end)
            } else {
                self.off(lines, index, (at, end, to))
            };
        }
    }

    fn run(&mut self, index: usize, cell: char, from: usize, to: usize) -> usize {
        let stack = self.running_stack(cell);
        self.samples.push(SampleRow {
            thread: ThreadId::new(index),
            time_ns: to as u64 * CELL,
            weight_ns: (to - from) as u64 * CELL,
            cpu: 0,
            stack,
            estimated: false,
        });
        to
    }

    fn off(&mut self, lines: &[(&str, Vec<char>)], index: usize, (at, end, last): (usize, usize, usize)) -> usize {
        let cells = &lines[index].1;
        let waits = cells[at] != '-';
        let (woken, queue_from) = if waits { (end, end) } else { (at, at) };
        let queued = cells[queue_from..last].iter().take_while(|cell| **cell == '-').count();
        let ran = queue_from + queued;
        let (object, stack) =
            if waits && cells[at] != '?' { self.object(cells[at]) } else { (ObjectId::NONE, StackId::NONE) };
        let is_runner = |other: &usize| *other != index && lines[*other].1.get(woken - 1).is_some_and(|c| running(*c));
        let waker = Some(cells[at]).filter(|cell| waits && *cell != 's' && woken < last);
        let waker = waker.and_then(|_| (0..lines.len()).find(is_runner));
        let waker_stack = waker.map_or(StackId::NONE, |waker| self.running_stack(lines[waker].1[woken - 1]));
        let reason = match cells[at] {
            '?' => Reason::Unknown,
            '-' => Reason::Preempted,
            _ => Reason::Waiting,
        };
        let kind = match (waker, cells[at]) {
            (Some(_), _) => WakerKind::Thread,
            (None, 's') => WakerKind::Timer,
            _ => WakerKind::Unknown,
        };
        self.off_cpu.push(OffCpuRow {
            thread: ThreadId::new(index),
            start_ns: at as u64 * CELL,
            wait_ns: (woken - at) as u64 * CELL,
            runnable_ns: (ran - woken) as u64 * CELL,
            cpu: 0,
            reason: reason.code(),
            outcome: if waits { Outcome::Woken.code() } else { 0 },
            syscall: match cells[at] {
                '-' => -1,
                'e' => 232, // epoll_wait
                _ => 202,   // futex
            },
            object,
            stack,
            waker: waker.map_or(ThreadId::NONE, ThreadId::new),
            waker_kind: kind.code(),
            waker_stack,
            holder: ThreadId::NONE,
            same_call: false,
        });
        ran
    }

    fn finish(mut self) -> Trace {
        self.off_cpu.sort_by_key(|row| row.start_ns);
        self.samples.sort_by_key(|row| row.time_ns);
        for row in self.off_cpu {
            self.trace.off_cpu.push(row);
        }
        for row in self.samples {
            self.trace.samples.push(row);
        }
        self.trace
    }
}

/// A view as text: column ids, then a row per line.
pub fn text(view: &View) -> String {
    let columns: Vec<&str> = view.columns.iter().map(|column| column.id).collect();
    let mut lines = vec![view.title.clone()];
    if view.single {
        let values = view.rows.iter().flat_map(|row| &row.values);
        lines.extend(columns.iter().zip(values).map(|(id, value)| format!("{id}: {}", cell(value))));
    } else {
        lines.push(columns.join(" | "));
        for row in &view.rows {
            let cells: Vec<String> = row.values.iter().map(cell).collect();
            lines.push(format!("{}{}", "  ".repeat(row.depth), cells.join(" | ")));
        }
    }
    lines.extend(view.notes.iter().map(|note| format!("! {note}")));
    lines.join("\n")
}

fn cell(value: &Value) -> String {
    let ms = |ns: &u64| if ns.is_multiple_of(CELL) { (ns / CELL).to_string() } else { format!("{ns} ns") };
    let list = |times: &[u64]| times.iter().map(ms).collect::<Vec<_>>().join(",");
    match value {
        Value::None => "-".into(),
        Value::Text(text) => text.clone(),
        Value::Count(count) => count.to_string(),
        Value::CountChange(change) | Value::NsChange(change) => change.to_string(),
        Value::Ns(ns) => ms(ns),
        Value::Fraction(fraction) => format!("{:.1}%", fraction * 100.0),
        Value::Real(real) => format!("{real:.2}"),
        Value::ByClass(classes) => format!("[{}]", list(classes)),
        Value::Histogram(times) => format!("[{}]", list(times)),
        Value::Parts(parts) => {
            parts.iter().map(|(name, ns)| format!("{name} {}", ms(ns))).collect::<Vec<_>>().join(",")
        }
        Value::Stack(frames) => frames.join("<"),
        Value::Prose(prose) => prose.to_string(),
        Value::Rows(view) => format!("\n    {}", text(view).replace('\n', "\n    ")),
    }
}
