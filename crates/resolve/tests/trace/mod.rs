//! Traces as text: a line per record goes in, a row of letters per thread comes out.
//!
//! A line is `TIME KIND key=value …`, the time in milliseconds. The picture has a letter per millisecond: `R` running,
//! `w` waiting, `r` runnable, `?` off the CPU for an unknown reason, `.` not alive or not recorded.
#![allow(dead_code, reason = "each test file uses a part")]

mod say;

use std::collections::HashMap;

use dwell_model::Reason;
use dwell_resolve::{NoProgress, Options, finalize};
use dwell_store::raw::wire::*;
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};
use dwell_store::{Manifest, ResultFolder, State, Table, Trace};

pub const START_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

pub fn manifest(end_ns: u64) -> Manifest {
    Manifest {
        state: State::Collected,
        command: vec!["app".into()],
        sampling_interval_ns: MS,
        start_ns: START_NS,
        end_ns,
        loss_times: vec![],
        ..Manifest::default()
    }
}

/// Finalizes raw bytes of both streams.
pub fn finalize_bytes(meta: &[u8], events: &[u8], manifest: &Manifest, options: &Options) -> Trace {
    let parent = tempfile::tempdir().expect("tempdir");
    let folder = ResultFolder::create(&parent.path().join("r000th")).expect("folder");
    for (stream, bytes) in [(Stream::Meta, meta), (Stream::Events, events)] {
        let mut writer = SpoolWriter::create(&folder.spool().expect("spool"), stream).expect("spool");
        writer.append(bytes, START_NS, u64::MAX).expect("append");
    }
    folder.write_manifest(manifest).expect("manifest");
    let written = finalize(&folder, options, &NoProgress).expect("finalize");
    let read = Trace::read(&folder).expect("a finalized result passes the reader's checks");
    assert_eq!(written.off_cpu, read.off_cpu);
    assert!(!folder.has_spool());
    read
}

struct Line<'a> {
    time_ns: u64,
    kind: &'a str,
    fields: HashMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let time: f64 = words.next().expect("time").parse().expect("time");
        let kind = words.next().expect("kind");
        let fields = words.map(|word| word.split_once('=').unwrap_or((word, "1"))).collect();
        Self { time_ns: START_NS + (time * MS as f64) as u64, kind, fields }
    }

    fn number(&self, key: &str) -> u64 {
        let Some(text) = self.fields.get(key) else { return 0 };
        let hexadecimal = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        hexadecimal.unwrap_or_else(|| text.parse()).unwrap_or_else(|_| panic!("{key}={text}"))
    }

    fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    fn header(&self, kind: u16, size: usize, tid: &str) -> RecordHeader {
        RecordHeader { kind, size: size as u16, tid: self.number(tid) as u32, time_ns: self.time_ns }
    }

    fn text<const N: usize>(&self, key: &str) -> [u8; N] {
        let mut bytes = [0; N];
        let text = self.fields.get(key).copied().unwrap_or_default().as_bytes();
        bytes[..text.len()].copy_from_slice(text);
        bytes
    }
}

fn switch(line: &Line<'_>) -> SwitchRecord {
    let flag = |name: &str, bit: u8| if line.has(name) { bit } else { 0 };
    let wake =
        line.fields.get("wake").map_or(0, |text| START_NS + (text.parse::<f64>().expect("wake") * MS as f64) as u64);
    let context = match line.fields.get("by").copied() {
        None => waker_context::NONE,
        Some("softirq") => waker_context::SOFTIRQ,
        Some("hardirq") => waker_context::HARDIRQ,
        Some("idle") => waker_context::IDLE,
        Some("io-quota") => waker_context::IO_QUOTA,
        Some("kernel-thread") => waker_context::KERNEL_THREAD,
        Some(_) => waker_context::TASK,
    };
    SwitchRecord {
        h: line.header(kind::SWITCH, size_of::<SwitchRecord>(), "out"),
        next_tid: line.number("in") as u32,
        cpu: line.number("cpu") as u16,
        flags: flag("preempted", switch_flag::PREEMPTED)
            | flag("iowait", switch_flag::IOWAIT)
            | flag("signal", switch_flag::SIGNAL_PENDING)
            | flag("seeded", switch_flag::SEEDED)
            | flag("same_call", switch_flag::SAME_CALL)
            | flag("memory-limit", switch_flag::MEMORY_LIMIT),
        waker_context: context,
        state: line.number("state") as u32,
        syscall: if line.has("call") { line.number("call") as i32 } else { -1 },
        object: line.number("object"),
        detail: line.number("detail"),
        user_stack: line.number("stack"),
        kernel_stack: line.number("kernel"),
        wake_time_ns: wake,
        waker_stack: line.number("waker_stack"),
        waker_tid: if context == waker_context::TASK { line.number("by") as u32 } else { 0 },
        waker_syscall: -1,
        owner_tid: 0,
        owner_inner_tid: line.number("owner") as u32,
    }
}

fn object(line: &Line<'_>) -> ObjectRecord {
    let text: [u8; TEXT_BYTES] = line.text::<TEXT_BYTES>("text").map(|byte| if byte == b'<' { 0 } else { byte });
    let mut members = [0; MAX_MEMBERS];
    if let Some(list) = line.fields.get("members") {
        for (member, text) in members.iter_mut().zip(list.split(',')) {
            *member = text.parse().expect("member");
        }
    }
    let mut address = [0; 16];
    address[..4].copy_from_slice(&[127, 0, 0, 1]);
    ObjectRecord {
        h: line.header(kind::OBJECT, size_of::<ObjectRecord>(), "tid"),
        key: line.number("key"),
        inode: line.number("inode"),
        tgid: 1,
        fd: 3,
        kind: line.number("kind") as u8,
        socket_state: line.number("state") as u8,
        family: line.number("family") as u16,
        protocol: line.number("protocol") as u16,
        local_port: line.number("local") as u16,
        remote_port: line.number("remote") as u16,
        text_bytes: line.fields.get("text").map_or(0, |text| text.len()) as u16,
        local_address: address,
        remote_address: address,
        member_count: 0,
        device: 0,
        reserved: 0,
        members,
        text,
    }
}

fn record(line: &Line<'_>, meta: &mut RecordBuffer, events: &mut RecordBuffer) {
    match line.kind {
        "switch" => events.fixed(&switch(line)),
        "sample" => events.fixed(&SampleRecord {
            h: line.header(kind::SAMPLE, 0, "tid"),
            cpu: line.number("cpu") as u16,
            in_kernel: 0,
            period_ns: MS as u32,
            user_stack: line.number("stack"),
            kernel_stack: line.number("kernel"),
        }),
        "new" => meta.fixed(&ThreadNewRecord {
            h: line.header(kind::THREAD_NEW, 0, "tid"),
            tgid: line.number("tgid") as u32,
            parent_tid: line.number("parent") as u32,
            parent_tgid: line.number("parent_tgid") as u32,
            flags: if line.has("seeded") { THREAD_SEEDED } else { 0 },
            creator_stack: line.number("stack"),
            comm: line.text("name"),
            inner_tid: 0,
            pid_namespace: 0,
        }),
        "name" => {
            meta.fixed(&ThreadNameRecord { h: line.header(kind::THREAD_NAME, 0, "tid"), comm: line.text("name") });
        }
        "exit" => meta.fixed(&ThreadExitRecord {
            h: line.header(kind::THREAD_EXIT, 0, "tid"),
            tgid: line.number("tgid") as u32,
            exit_code: line.number("code") as i32,
            cpu_ns: line.number("cpu_ms") * MS,
        }),
        "exec" => meta.fixed(&ExecRecord {
            h: line.header(kind::EXEC, 0, "tid"),
            tgid: line.number("tid") as u32,
            old_tid: line.number(if line.has("old") { "old" } else { "tid" }) as u32,
            comm: line.text("name"),
            path: line.text("path"),
        }),
        "object" => meta.fixed(&object(line)),
        "say" => say::say(line, meta, events),
        "delay" => events.fixed(&DelayRecord {
            h: line.header(kind::DELAY, size_of::<DelayRecord>(), "tid"),
            begin_ns: line.time_ns - line.number("us") * 1000,
            detail: line.number("detail"),
            other_tid: 0,
            cpu: line.number("cpu") as u16,
            kind: line.number("kind") as u8,
            vector: 0,
            text: line.text("text"),
        }),
        "probe" => events.fixed(&TaskProbeRecord {
            h: line.header(kind::TASK_PROBE, 0, "tid"),
            tgid: line.number("tgid").max(10) as u32,
            probe: line.number("number") as u16,
            end: u8::from(line.has("end")),
            reserved: 0,
        }),
        "stitch" => events.fixed(&StitchRecord {
            h: line.header(kind::STITCH, 0, "tid"),
            id: line.number("id"),
            user_stack: line.number("stack"),
            tgid: line.number("tgid").max(10) as u32,
            reserved: 0,
        }),
        _ => record_of_memory(line, meta, events),
    }
}

fn record_of_memory(line: &Line<'_>, meta: &mut RecordBuffer, events: &mut RecordBuffer) {
    match line.kind {
        "creation" => events.fixed(&CreationRecord {
            h: line.header(kind::CREATION, 0, "tid"),
            address: line.number("address"),
            user_stack: line.number("stack"),
            tgid: line.number("tgid").max(10) as u32,
            reserved: 0,
        }),
        "stack" => {
            let frames: Vec<u64> =
                line.fields["frames"].split(',').map(|frame| u64::from_str_radix(frame, 16).expect("frame")).collect();
            let h = line.header(kind::STACK, 0, "tid");
            let flags = if line.has("kernel") { STACK_KERNEL } else { 0 };
            let (key, tgid) = (line.number("key"), line.number("tgid") as u32);
            meta.stack(StackHeader { h, key, tgid, count: 0, flags, end: 1 }, &frames);
        }
        "map" => meta.map(
            MapHeader {
                h: line.header(kind::MAP, 0, "tgid"),
                start: line.number("start"),
                length: line.number("length"),
                file_offset: line.number("offset"),
                inode: 0,
                device: 0,
                protection: 5,
                build_id: [line.number("build") as u8; 20],
                build_id_bytes: if line.has("build") { 20 } else { 0 },
                path_bytes: 0,
                reserved: 0,
            },
            line.fields["path"].as_bytes(),
        ),
        "command" => {
            meta.text(line.header(kind::COMMAND, 0, "tgid"), 0, line.fields["text"].replace(',', "\0").as_bytes());
        }
        "members" => meta.text(
            line.header(kind::MEMBERS, 0, "tid"),
            line.number("key"),
            line.fields["text"]
                .replace(
                    ',', "
",
                )
                .replace('~', " ")
                .as_bytes(),
        ),
        "round" => events.mark(kind::ROUND, line.time_ns),
        "pause" => meta.mark(kind::PAUSE, line.time_ns),
        "resume" => meta.mark(kind::RESUME, line.time_ns),
        other => panic!("no record is called {other}"),
    }
}

/// The two streams that the text stands for; `kind::…` set where the record's own header leaves it.
pub fn streams(text: &str) -> (Vec<u8>, Vec<u8>) {
    let (mut meta, mut events) = (RecordBuffer::default(), RecordBuffer::default());
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    for line in lines.filter(|line| !line.is_empty()) {
        record(&Line::parse(line), &mut meta, &mut events);
    }
    (meta.bytes, events.bytes)
}

/// Finalizes the trace that the text tells, `length_ms` long.
pub fn trace(text: &str, length_ms: u64) -> Trace {
    let (meta, events) = streams(text);
    finalize_bytes(&meta, &events, &manifest(START_NS + length_ms * MS), &Options::default())
}

/// A row of letters per thread, named by tid and name.
pub fn picture(trace: &Trace) -> String {
    let columns = trace.elapsed_ns() / MS;
    let mut rows: Vec<Vec<char>> = Vec::new();
    for thread in 0..trace.threads.len() {
        let alive = trace.threads.start_ns[thread] / MS..trace.threads.end_ns[thread] / MS;
        let paused = |ms: u64| {
            (0..trace.pauses.len())
                .any(|pause| (trace.pauses.start_ns[pause] / MS..trace.pauses.end_ns[pause] / MS).contains(&ms))
        };
        rows.push((0..columns).map(|ms| if alive.contains(&ms) && !paused(ms) { 'R' } else { '.' }).collect());
    }
    for row in 0..trace.off_cpu.len() {
        let off = &trace.off_cpu;
        let thread = off.thread[row].get().expect("thread");
        let start = off.start_ns[row];
        let ready = start + off.wait_ns[row];
        let unknown = off.reason[row] == Reason::Unknown.code();
        for ms in start / MS..ready / MS {
            rows[thread][ms as usize] = if unknown { '?' } else { 'w' };
        }
        for ms in ready / MS..(ready + off.runnable_ns[row]) / MS {
            rows[thread][ms as usize] = 'r';
        }
    }
    let name = |row: usize| format!("{} {}", trace.threads.tid[row], trace.threads.name[row]);
    let lines =
        rows.iter().enumerate().map(|(row, letters)| format!("{:<8} {}\n", name(row), String::from_iter(letters)));
    lines.collect()
}

/// running + runnable + waiting = lifetime for every thread, without gap or overlap, and samples sum to running time.
pub fn check_conservation(trace: &Trace) {
    let pauses: Vec<(u64, u64)> =
        trace.pauses.start_ns.iter().copied().zip(trace.pauses.end_ns.iter().copied()).collect();
    for thread in 0..trace.threads.len() {
        let (start, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        assert!(start <= end && end <= trace.elapsed_ns(), "a life within the collection: {start}..{end}");
        let paused: u64 = pauses.iter().map(|&(from, to)| to.min(end).saturating_sub(from.max(start))).sum();
        let lifetime = end - start - paused;
        let rows = (0..trace.off_cpu.len()).filter(|&row| trace.off_cpu.thread[row].get() == Some(thread));
        let (mut off, mut at) = (0, start);
        for row in rows {
            let from = trace.off_cpu.start_ns[row];
            let length = trace.off_cpu.wait_ns[row] + trace.off_cpu.runnable_ns[row];
            assert!(from >= at, "rows of a thread do not overlap: {from} < {at}");
            assert!(pauses.iter().all(|&(p, q)| from + length <= p || from >= q || length == 0), "cut at pauses");
            at = from + length;
            off += length;
        }
        assert!(at <= end, "no row outlives its thread");
        let samples = (0..trace.samples.len()).filter(|&row| trace.samples.thread[row].get() == Some(thread));
        let running: u64 = samples.map(|row| trace.samples.weight_ns[row]).sum();
        assert_eq!(running + off, lifetime, "running + off the CPU = lifetime of thread {thread}");
    }
}

/// A row per task, indented by its depth: thread, name, how long from when, `>` ended by which thread, `…` not ended.
pub fn tasks(trace: &Trace) -> Vec<String> {
    let told = &trace.annotations;
    let mut depths: Vec<usize> = Vec::new();
    let row = |row: usize| {
        let rows = &told.tasks;
        let depth = rows.parent[row].get().map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
        let task_type = rows.task_type[row].get().expect("a type");
        let domain = &told.task_types.domain[task_type];
        let tid = |thread: dwell_model::ThreadId| thread.get().map(|row| trace.threads.tid[row]);
        let (from, to) = (rows.start_ns[row] as f64 / MS as f64, rows.end_ns[row] as f64 / MS as f64);
        let domain = if domain.is_empty() { String::new() } else { format!("{domain}:") };
        let (begun, ended) = (tid(rows.thread[row]), tid(rows.end_thread[row]));
        let end = match ended {
            None => " …".to_owned(),
            other if other == begun => String::new(),
            Some(other) => format!(" >{other}"),
        };
        assert_eq!(rows.finished[row], ended.is_some());
        let name = &told.task_types.name[task_type];
        format!("{}{} {domain}{name} {from}..{to}{end}", "  ".repeat(depth), begun.expect("a thread"))
    };
    (0..told.tasks.len()).map(row).collect()
}

/// `kind name` of every object.
pub fn objects(trace: &Trace) -> Vec<String> {
    let kinds = trace.objects.kind.iter().map(|&code| dwell_model::ObjectType::from_code(code).id());
    kinds.zip(&trace.objects.name).map(|(kind, name)| format!("{kind}: {name}")).collect()
}

/// The count of a loss.
pub fn loss(trace: &Trace, name: &str) -> u64 {
    trace.losses.name.iter().position(|known| known == name).map_or(0, |row| trace.losses.count[row])
}
