//! Which processes are recorded, from their forks and execs; their births, programs, names and ends, as the trace has them.

use bytemuck::{Zeroable, bytes_of};
use dwell_model::Syscall;
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{ExecRecord, RecordHeader, ThreadExitRecord, ThreadNameRecord, ThreadNewRecord, kind};
use dwell_wire::{COMM_BYTES, thread_mode};
use foldhash::HashMap;

use super::record::{Call, RecordKind, Stamp};
use super::threads::{Thread, Threads};
use crate::drain::source::Targets;
use crate::options::{Options, Rule};
use crate::programs::proc;

const EXIT: i32 = Syscall::number_of("exit");
const EXIT_GROUP: i32 = Syscall::number_of("exit_group");

/// The exit code of a process whose last call was not seen, or that a signal ended.
const NOT_KNOWN: i32 = -1;

/// A process that is followed, recorded or not.
#[derive(Clone, Debug, Default)]
struct Process {
    mode: u8,
    /// What it gave exit as its status.
    status: Option<i32>,
    parent: u32,
    /// Its new program, until its file is known.
    exec: Option<Box<ExecRecord>>,
}

/// The processes of a collection.
pub struct Processes {
    all: HashMap<u32, Process>,
    /// The child that is to run its program.
    launching: Option<u32>,
    follow: bool,
    rules: Vec<Rule>,
}

impl Processes {
    /// The targets only.
    pub fn new(options: &Options, targets: &Targets<'_>) -> Self {
        let launching = targets.pids.first().copied().filter(|_| targets.launching());
        Self { all: HashMap::default(), launching, follow: options.follow_children, rules: options.strategy.clone() }
    }

    /// Whether threads of process `tgid` are recorded.
    pub fn is_recorded(&self, tgid: u32) -> bool {
        self.all.get(&tgid).is_some_and(|process| process.mode & thread_mode::RECORD != 0)
    }

    /// Thread of process `tgid` enters a call, which may end the process.
    pub fn enter(&mut self, tgid: u32, call: &Call) {
        if matches!(call.number, EXIT | EXIT_GROUP)
            && let Some(process) = self.all.get_mut(&tgid)
        {
            process.status = Some((call.arguments[0] as i32 & 0xff) << 8);
        }
    }

    /// Replays a record of a birth, an end or a name.
    pub fn take(&mut self, stamp: Stamp, what: &RecordKind<'_>, threads: &mut Threads, out: &mut dyn FnMut(&[u8])) {
        match *what {
            RecordKind::Fork { tgid, tid, parent_tgid, parent_tid } => {
                let child = Stamp { tgid, tid, ..stamp };
                self.fork(child, (parent_tgid, parent_tid), threads, out);
            }
            RecordKind::Exit => self.exit(stamp, threads, out),
            RecordKind::Name { exec: true, name, .. } => self.exec(stamp, name, threads, out),
            RecordKind::Name { exec: false, tgid, tid, name } => {
                rename(Stamp { tgid, tid, ..stamp }, name, threads, out);
            }
            _ => {}
        }
    }

    /// A process that runs already is a target.
    pub fn attach(&mut self, tgid: u32) {
        let mode = thread_mode::RECORD | if self.follow { thread_mode::FOLLOW } else { 0 };
        self.all.insert(tgid, Process { mode, ..Process::default() });
    }

    fn fork(&mut self, child: Stamp, parent: (u32, u32), threads: &mut Threads, out: &mut dyn FnMut(&[u8])) {
        let (parent_tgid, parent_tid) = parent;
        let Some(process) = self.all.get(&parent_tgid) else { return };
        let creator = threads.all.get(&parent_tid);
        let name = creator.map_or([0; COMM_BYTES], |thread| thread.name);
        let stack = creator.and_then(|thread| thread.entered.as_ref()).map_or(0, |entered| entered.stack);
        if parent_tgid != child.tgid {
            let mode = self.mode_by_name(&name, followed(process.mode));
            if mode == 0 && self.rules.is_empty() {
                return;
            }
            self.all.insert(child.tgid, Process { mode, parent: parent_tgid, ..Process::default() });
        }
        if !self.is_recorded(child.tgid) {
            return;
        }
        threads.insert(child.tid, Thread::new(child.tgid, name));
        let mut record = new_thread(child, name);
        if self.is_recorded(parent_tgid) {
            (record.parent_tgid, record.parent_tid, record.creator_stack) = (parent_tgid, parent_tid, stack);
        }
        out(bytes_of(&record));
    }

    fn exit(&mut self, stamp: Stamp, threads: &mut Threads, out: &mut dyn FnMut(&[u8])) {
        let Some(process) = self.all.get(&stamp.tgid) else { return };
        let (status, parent) = (process.status, process.parent);
        // Its call of exit may not be traced.
        threads.wakers.thread_ends(stamp);
        let ended = threads.end(stamp.tid);
        let was_recorded = ended.is_some();
        if let Some(thread) = ended {
            let record = ThreadExitRecord {
                h: header::<ThreadExitRecord>(stamp, kind::THREAD_EXIT),
                tgid: stamp.tgid,
                exit_code: status.unwrap_or(NOT_KNOWN),
                cpu_ns: 0,
            };
            out(bytes_of(&record));
            if threads.is_empty(stamp.tgid) && parent != 0 {
                let stack = thread.entered.map_or(0, |entered| entered.stack);
                threads.wakers.process_ends(stamp, parent, stack);
            }
        }
        if threads.is_empty(stamp.tgid) && (was_recorded || stamp.tid == stamp.tgid) {
            self.all.remove(&stamp.tgid);
        }
    }

    /// The process runs a new program.
    fn exec(&mut self, stamp: Stamp, name: [u8; COMM_BYTES], threads: &mut Threads, out: &mut dyn FnMut(&[u8])) {
        let mode = self.mode_after_exec(stamp.tgid, &name);
        let Some(process) = self.all.get_mut(&stamp.tgid) else { return };
        let (was, is) = (process.mode & thread_mode::RECORD != 0, mode & thread_mode::RECORD != 0);
        process.mode = mode;
        let old_tid = if was { take_over(stamp, threads) } else { stamp.tid };
        if was && !is {
            threads.end(stamp.tid);
            let record = ThreadExitRecord {
                h: header::<ThreadExitRecord>(stamp, kind::THREAD_EXIT),
                tgid: stamp.tgid,
                exit_code: NOT_KNOWN,
                cpu_ns: 0,
            };
            out(bytes_of(&record));
        }
        if is {
            if !was {
                out(bytes_of(&new_thread(stamp, name)));
            }
            let mut thread = Thread::new(stamp.tgid, name);
            thread.on_cpu = Some(true);
            threads.insert(stamp.tid, thread);
            process.exec = Some(Box::new(exec_record(stamp, old_tid, name)));
        }
    }

    /// A file was mapped: the first one after an exec is the program's, the others tell that it is known.
    pub fn mapped(&mut self, stamp: Stamp, path: &[u8], out: &mut dyn FnMut(&[u8])) {
        let exec = self.all.get_mut(&stamp.tgid).and_then(|process| process.exec.take());
        let Some(mut exec) = exec else { return };
        let path = program(stamp.tgid, path, &exec.comm);
        let kept = path.len().min(exec.path.len() - 1);
        exec.path[..kept].copy_from_slice(&path[..kept]);
        out(bytes_of(exec.as_ref()));
    }

    /// The mode of process `tgid` once it runs a program of this name. One that was to be launched is known from now on.
    fn mode_after_exec(&mut self, tgid: u32, name: &[u8; COMM_BYTES]) -> u8 {
        let mode = if self.launching == Some(tgid) {
            self.launching = None;
            self.all.insert(tgid, Process { mode: 0, ..Process::default() });
            thread_mode::RECORD | if self.follow { thread_mode::FOLLOW } else { 0 }
        } else {
            let mode = self.all.get(&tgid).map_or(0, |process| process.mode);
            if mode & thread_mode::FOLLOW != 0 { followed(mode) } else { mode }
        };
        self.mode_by_name(name, mode)
    }

    /// The mode that --strategy gives to processes of this name, else `mode`.
    fn mode_by_name(&self, name: &[u8; COMM_BYTES], mode: u8) -> u8 {
        let name = c_string(name);
        let cut = |rule: &str| rule.bytes().take(COMM_BYTES - 1).eq(name.bytes());
        let Some(rule) = self.rules.iter().find(|rule| cut(&rule.name)) else { return mode };
        let record = if rule.process { thread_mode::RECORD } else { 0 };
        record | if rule.children { thread_mode::FOLLOW } else { 0 }
    }
}

fn followed(mode: u8) -> u8 {
    if mode & thread_mode::FOLLOW != 0 { thread_mode::RECORD | thread_mode::FOLLOW } else { 0 }
}

/// exec ends all threads but the one that calls it, which gets the id of the first. Returns the id that it had.
fn take_over(stamp: Stamp, threads: &mut Threads) -> u32 {
    let others = threads.all.iter().filter(|(tid, thread)| thread.tgid == stamp.tgid && **tid != stamp.tgid);
    let old_tid = others.map(|(&tid, _)| tid).next();
    if let Some(old_tid) = old_tid {
        threads.end(old_tid);
    }
    old_tid.unwrap_or(stamp.tid)
}

/// The program's path: of its file, or of the script that the file runs.
fn program(tgid: u32, mapped: &[u8], name: &[u8; COMM_BYTES]) -> Vec<u8> {
    let name: Vec<u8> = name.iter().copied().take_while(|&byte| byte != 0).collect();
    let is_called = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next().is_some_and(|base| base.starts_with(&name));
    if is_called(mapped) {
        return mapped.to_vec();
    }
    let words = proc::command_line(tgid);
    let script = words.split(|&byte| byte == 0).skip(1).take(2).find(|word| is_called(word));
    script.unwrap_or(mapped).to_vec()
}

fn header<T>(stamp: Stamp, kind: u16) -> RecordHeader {
    RecordHeader { kind, size: size_of::<T>() as u16, tid: stamp.tid, time_ns: stamp.time_ns }
}

fn new_thread(stamp: Stamp, name: [u8; COMM_BYTES]) -> ThreadNewRecord {
    let h = header::<ThreadNewRecord>(stamp, kind::THREAD_NEW);
    ThreadNewRecord { h, tgid: stamp.tgid, comm: name, ..ThreadNewRecord::zeroed() }
}

fn exec_record(stamp: Stamp, old_tid: u32, name: [u8; COMM_BYTES]) -> ExecRecord {
    let h = header::<ExecRecord>(stamp, kind::EXEC);
    ExecRecord { h, tgid: stamp.tgid, old_tid, comm: name, ..ExecRecord::zeroed() }
}

fn rename(stamp: Stamp, name: [u8; COMM_BYTES], threads: &mut Threads, out: &mut dyn FnMut(&[u8])) {
    let Some(thread) = threads.all.get_mut(&stamp.tid) else { return };
    thread.name = name;
    out(bytes_of(&ThreadNameRecord { h: header::<ThreadNameRecord>(stamp, kind::THREAD_NAME), comm: name }));
}
