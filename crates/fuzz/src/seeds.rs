//! Good inputs: what the product itself writes, so that mutations get past the first check.

use std::path::PathBuf;

use dwell_model::{ObjectId, ProcessId, StackId, ThreadId};
use dwell_store::raw::wire::{MapHeader, RecordHeader, StackHeader, SwitchRecord, kind};
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};
use dwell_store::tables::{OffCpuRow, ProcessRow, ThreadRow};
use dwell_store::{CodeTables, CpuInfo, Manifest, ResultFolder, State, TRACE_FORMAT, Trace};
use tempfile::TempDir;

pub(crate) fn records() -> Vec<Vec<u8>> {
    let mut buffer = RecordBuffer::default();
    for time_ns in 0..20 {
        let size = size_of::<SwitchRecord>() as u16;
        let header = RecordHeader { kind: kind::SWITCH, size, tid: 7, time_ns };
        buffer.fixed(&SwitchRecord { h: header, ..bytemuck::Zeroable::zeroed() });
        buffer.stack(StackHeader { h: header, ..bytemuck::Zeroable::zeroed() }, &[0x1000, 0x2000, 0x3000]);
        buffer.map(MapHeader { h: header, ..bytemuck::Zeroable::zeroed() }, b"/usr/lib/libc.so.6");
        buffer.text(RecordHeader { kind: kind::COMMAND, ..header }, 0, b"app\0argument\0");
        buffer.mark(kind::ROUND, time_ns);
    }
    vec![buffer.bytes]
}

pub(crate) fn spool() -> Vec<Vec<u8>> {
    written_spool().into_iter().collect()
}

fn written_spool() -> Option<Vec<u8>> {
    let folder = TempDir::new().ok()?;
    let mut writer = SpoolWriter::create(folder.path(), Stream::Events).ok()?;
    for chunk in records() {
        writer.append(&chunk, 0, 20).ok()?;
        writer.append(&chunk, 20, 40).ok()?;
    }
    std::fs::read(folder.path().join("events-000000.dws")).ok()
}

pub(crate) fn manifest() -> Vec<Vec<u8>> {
    serde_json::to_vec(&a_manifest()).into_iter().collect()
}

fn a_manifest() -> Manifest {
    Manifest {
        trace_format: TRACE_FORMAT,
        dwell_version: "0".into(),
        state: State::Collected,
        analysis: "threading".into(),
        command: vec!["app".into()],
        target_pids: Vec::new(),
        options: Vec::new(),
        host: String::new(),
        kernel: String::new(),
        boot_id: String::new(),
        cpus: CpuInfo::default(),
        target_concurrency: None,
        sampling_interval_ns: 1_000_000,
        started_at: 0.0,
        start_ns: 0,
        end_ns: 1_000,
        exit_status: Some(0),
        collector_cpu_ns: 0,
        collector_peak_bytes: 0,
        events: 0,
        losses: Vec::new(),
        notices: Vec::new(),
    }
}

/// A finalized result, and the path of its table of waits.
pub(crate) fn result() -> Option<(TempDir, PathBuf)> {
    let folder = TempDir::new().ok()?;
    let result = ResultFolder::create(&folder.path().join("result")).ok()?;
    let mut trace = Trace::new(a_manifest());
    trace.processes.push(ProcessRow {
        pid: 1,
        parent: ProcessId::NONE,
        name: "app".into(),
        executable: "/app".into(),
        command_line: "app".into(),
        start_ns: 0,
        end_ns: 1_000,
        exit_code: 0,
    });
    trace.threads.push(ThreadRow {
        tid: 1,
        process: ProcessId::from_raw(0),
        parent: ThreadId::NONE,
        name: "app".into(),
        start_ns: 0,
        end_ns: 1_000,
        kernel_cpu_ns: 0,
        exited: true,
    });
    for start_ns in 0..50 {
        trace.off_cpu.push(a_wait(start_ns * 10));
    }
    trace.write(&result, &CodeTables::default()).ok()?;
    let table = result.path().join("tables/off_cpu.parquet");
    Some((folder, table))
}

fn a_wait(start_ns: u64) -> OffCpuRow {
    OffCpuRow {
        thread: ThreadId::from_raw(0),
        start_ns,
        wait_ns: 5,
        runnable_ns: 1,
        cpu: 0,
        reason: 1,
        outcome: 1,
        syscall: 202,
        object: ObjectId::NONE,
        stack: StackId::NONE,
        waker: ThreadId::NONE,
        waker_kind: 3,
        waker_stack: StackId::NONE,
        holder: ThreadId::NONE,
    }
}

pub(crate) fn table() -> Vec<Vec<u8>> {
    result().and_then(|(_folder, table)| std::fs::read(table).ok()).into_iter().collect()
}

/// Small programs of this system: of several compilers' making, where there are several.
pub(crate) fn unwind() -> Vec<Vec<u8>> {
    ["/bin/true", "/usr/bin/env"].iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

pub(crate) fn maps() -> Vec<Vec<u8>> {
    std::fs::read("/proc/self/maps").into_iter().collect()
}
