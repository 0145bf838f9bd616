//! What the source of events hands out, on its way into the spool: records, and what user space has to look up while it
//! still can, in the order of time.

use bytemuck::{bytes_of, pod_read_unaligned};
use dwell_model::Delay;
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{
    DelayRecord, ExecRecord, ObjectRecord, RecordHeader, RegistersRecord, THREAD_SEEDED, ThreadExitRecord,
    ThreadLeftRecord, ThreadNewRecord, kind, object_kind,
};

use super::lives::{Belongs, Lives};
use super::looked_up::LookedUp;
use super::own::Own;
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::fault_places::FaultPlaces;
use crate::itt;
use crate::keeper::Keeper;
use crate::perf::Mapping;
use crate::proc;
use crate::recorder::Recorder;
use crate::unwinding::Unwinding;
use crate::waiting;

/// Copied stacks, of 28 KiB at most, that wait for the tables of large files, or for time.
const MAX_HELD_COPIES: usize = 256;
/// How long copied stacks are walked in a round: the rings fill meanwhile.
const WALKING_NS: u64 = 10_000_000;
/// How long they are walked when the collection is over.
const LAST_WALKING_NS: u64 = 1_000_000_000;

/// What happened to a process, or asks user space to look something up while it still can.
pub enum News {
    ThreadNew { tgid: u32, parent: u32, is_first: bool },
    ThreadExit(u32),
    Program { pid: u32 },
    Mapped(Mapping),
    EpollMembers { pid: u32, fd: i32, key: u64 },
}

/// Registers, and a piece of the stack from the stack pointer on.
pub type StackCopy = (RegistersRecord, Vec<u8>);

pub struct Drained {
    pub recorder: Recorder,
    pub failure: Option<Error>,
    pub lives: Lives,
    pub threads: u64,
    pub exits: u64,
    pub last_exit_ns: u64,
    pub waiting: Vec<RegistersRecord>,
    pub copies: Vec<StackCopy>,
    pub copies_lost: u64,
    pub seeded_stacks_lost: u64,
    /// Of all CPUs, with their times.
    pub news: Vec<(u64, News)>,
    /// Processes that ended, or run another program, and when.
    pub ended_programs: Vec<(u32, u64)>,
    /// Processes that ran a program since the machine's counters were read.
    pub programs: Vec<u32>,
    pub fault_places: FaultPlaces,
    /// A process has the library mapped through which programs announce what they do.
    pub announces: bool,
    /// When a process last mapped a file.
    pub mapped_ns: u64,
    /// Where only own programs may be recorded.
    own: Option<Own>,
    /// Where the kernel does not tell mappings.
    pub looked_up: Option<LookedUp>,
}

impl Drained {
    /// Nothing yet. `own_only` = of other users' programs not even their mappings may be written.
    pub fn new(recorder: Recorder, own_only: bool) -> Self {
        Self {
            recorder,
            failure: None,
            lives: Lives::default(),
            threads: 0,
            exits: 0,
            last_exit_ns: 0,
            waiting: Vec::new(),
            copies: Vec::new(),
            copies_lost: 0,
            seeded_stacks_lost: 0,
            news: Vec::new(),
            ended_programs: Vec::new(),
            programs: Vec::new(),
            fault_places: FaultPlaces::default(),
            announces: false,
            mapped_ns: 0,
            own: own_only.then(Own::default),
            looked_up: None,
        }
    }

    /// Takes the mappings of recorded processes. Returns those of processes that may be recorded, as far as was read: of one
    /// that came before `read_ns`, when the rings began to be drained, the fork has been.
    pub fn take_mappings(&mut self, mappings: Vec<Mapping>, read_ns: u64, at_end: bool) -> Vec<Mapping> {
        let known = |mapping: &Mapping| self.lives.contains(mapping.header.h.tid);
        let (ours, others): (Vec<_>, Vec<_>) = mappings.into_iter().partition(known);
        let ours = match &mut self.own {
            Some(own) => own.let_through(ours, (!at_end).then_some(read_ns)),
            None => ours,
        };
        self.mapped(ours, read_ns);
        others.into_iter().filter(|mapping| mapping.header.h.time_ns >= read_ns).collect()
    }

    /// Takes mappings of recorded processes that the user may know.
    pub fn mapped(&mut self, ours: Vec<Mapping>, read_ns: u64) {
        self.announces |= ours.iter().any(|mapping| itt::is_library(&mapping.path));
        self.mapped_ns = if ours.is_empty() { self.mapped_ns } else { read_ns };
        self.news.extend(ours.into_iter().map(|mapping| (mapping.header.h.time_ns, News::Mapped(mapping))));
    }

    /// How many mappings were dropped, since the user may not look at the programs.
    pub fn mappings_out_of_scope(&self) -> u64 {
        self.own.as_ref().map_or(0, |own| own.dropped)
    }

    /// A thread is recorded no more, since its process runs what the user may not look at. Returns its end, for the trace.
    fn left(&mut self, left: &ThreadLeftRecord) -> ThreadExitRecord {
        if let Some(own) = &mut self.own {
            own.left(left);
        }
        let h = RecordHeader { kind: kind::THREAD_EXIT, size: size_of::<ThreadExitRecord>() as u16, ..left.exit.h };
        ThreadExitRecord { h, ..left.exit }
    }
}

pub fn take_record(drained: &mut Drained, bytes: &[u8]) {
    let Some(header) = bytes.get(..size_of::<RecordHeader>()).map(pod_read_unaligned::<RecordHeader>) else { return };
    if matches!(header.kind, kind::REGISTERS | kind::STACK_COPY) {
        if let Some((registers, copy)) = bytes.split_at_checked(size_of::<RegistersRecord>()) {
            let registers = pod_read_unaligned::<RegistersRecord>(registers);
            match header.kind {
                kind::REGISTERS => drained.waiting.push(registers),
                _ => drained.copies.push((registers, copy.to_vec())),
            }
        }
        return;
    }
    if header.kind == kind::THREAD_LEFT {
        let left = bytes.get(..size_of::<ThreadLeftRecord>()).map(pod_read_unaligned::<ThreadLeftRecord>);
        let exit = left.map(|left| drained.left(&left));
        return exit.iter().for_each(|exit| take_record(drained, bytes_of(exit)));
    }
    let fault = fault(&header, bytes).map(|fault| drained.fault_places.named(fault, header.time_ns));
    let bytes = fault.as_ref().map_or(bytes, bytes_of);
    if let Err(error) = drained.recorder.record(&header, bytes) {
        drained.failure.get_or_insert(error);
    }
    match header.kind {
        kind::THREAD_NEW => {
            drained.threads += 1;
            if let Some(new) = bytes.get(..size_of::<ThreadNewRecord>()).map(pod_read_unaligned::<ThreadNewRecord>) {
                drained.lives.begin(new.tgid, header.time_ns);
                drained.fault_places.thread_new(header.tid, new.tgid);
                let (tgid, parent) = (new.tgid, new.parent_tgid);
                let is_first = header.tid == tgid && new.flags & THREAD_SEEDED == 0;
                drained.news.push((header.time_ns, News::ThreadNew { tgid, parent, is_first }));
            }
        }
        kind::THREAD_EXIT => {
            let exit = bytes.get(..size_of::<ThreadExitRecord>()).map(pod_read_unaligned::<ThreadExitRecord>);
            if let Some(exit) = exit {
                drained.news.push((header.time_ns, News::ThreadExit(exit.tgid)));
                drained.own.iter_mut().for_each(|own| own.thread_ended(exit.tgid, header.time_ns));
                if exit.tgid == header.tid {
                    drained.fault_places.forget(exit.tgid);
                }
            }
            drained.exits += 1;
            drained.last_exit_ns = drained.last_exit_ns.max(header.time_ns);
        }
        kind::EXEC => {
            if let Some(exec) = bytes.get(..size_of::<ExecRecord>()).map(pod_read_unaligned::<ExecRecord>) {
                drained.news.push((header.time_ns, News::Program { pid: exec.tgid }));
                drained.own.iter_mut().for_each(|own| own.runs(exec.tgid, header.time_ns));
                drained.fault_places.forget(exec.tgid);
            }
        }
        kind::OBJECT => {
            let object = bytes.get(..size_of::<ObjectRecord>()).map(pod_read_unaligned::<ObjectRecord>);
            let epoll = object
                .filter(|object| object.kind == object_kind::ANONYMOUS && c_string(&object.text) == "[eventpoll]");
            drained.news.extend(epoll.map(|object| {
                let (pid, fd, key) = (object.tgid, object.fd, object.key);
                (header.time_ns, News::EpollMembers { pid, fd, key })
            }));
        }
        _ => {}
    }
}

/// The record of a page fault.
fn fault(header: &RecordHeader, bytes: &[u8]) -> Option<DelayRecord> {
    let delay = bytes.get(..size_of::<DelayRecord>()).filter(|_| header.kind == kind::DELAY)?;
    let delay = pod_read_unaligned::<DelayRecord>(delay);
    matches!(Delay::from_code(delay.kind), Delay::MinorFault | Delay::MajorFault).then_some(delay)
}

/// The stacks of the threads that waited when they were seeded, before anything that takes longer: they may move.
pub fn walk_waiting(drained: &mut Drained, unwinding: &mut Unwinding) {
    for record in std::mem::take(&mut drained.waiting) {
        match waiting::stack(&record, unwinding) {
            Some((stack, frames)) => drained.recorder.meta().stack(stack, &frames),
            None => drained.seeded_stacks_lost += 1,
        }
    }
}

/// The stacks that the kernel side copied, when the tables are there that may have been missing. Not all wait for those,
/// and not longer than there is time. `read_ns` is when the rings began to be drained, none at the end of the collection:
/// of a later copy the process may not be known yet.
pub fn walk_copies(drained: &mut Drained, unwinding: &mut Unwinding, read_ns: Option<u64>) {
    let held = if unwinding.is_behind() && read_ns.is_some() { MAX_HELD_COPIES } else { 0 };
    let is_early = |(record, _): &StackCopy| read_ns.is_none_or(|read_ns| record.h.time_ns < read_ns);
    let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut drained.copies).into_iter().partition(is_early);
    let waiting = due.split_off(due.len().saturating_sub(held));
    let time_ns = if read_ns.is_some() { WALKING_NS } else { LAST_WALKING_NS };
    let mut left = walk_for(due, time_ns, drained, unwinding);
    left.extend(waiting.into_iter().chain(later));
    let lost = left.len().saturating_sub(if read_ns.is_some() { MAX_HELD_COPIES } else { 0 });
    drained.copies_lost += lost as u64;
    drained.copies = left.split_off(lost);
}

/// Those of process `tgid` from before `time_ns`, when its tables are about to go.
fn walk_copies_of(tgid: u32, time_ns: u64, drained: &mut Drained, unwinding: &mut Unwinding) {
    let goes = |(record, _): &StackCopy| record.tgid == tgid && record.h.time_ns < time_ns;
    if !drained.copies.iter().any(goes) {
        return;
    }
    let (due, others) = std::mem::take(&mut drained.copies).into_iter().partition(goes);
    drained.copies = others;
    drained.copies_lost += walk_for(due, WALKING_NS, drained, unwinding).len() as u64;
}

/// Walks the copies until the time is over. Returns those that are left.
fn walk_for(copies: Vec<StackCopy>, time_ns: u64, drained: &mut Drained, unwinding: &mut Unwinding) -> Vec<StackCopy> {
    let until = monotonic_ns() + time_ns;
    let mut copies = copies.into_iter();
    while monotonic_ns() < until {
        let Some((record, bytes)) = copies.next() else { break };
        let (stack, frames) = waiting::copied_stack(&record, bytes, unwinding);
        drained.recorder.meta().stack(stack, &frames);
    }
    copies.collect()
}

/// Follows what happened to processes, of all CPUs in the order of time: a child has what its parent had mapped until then.
pub fn follow(drained: &mut Drained, unwinding: &mut Unwinding, keeper: &mut Keeper, now_ns: u64) -> Result<()> {
    if let Some(looked_up) = &mut drained.looked_up {
        let found = looked_up.look(&drained.news, now_ns);
        drained.mapped(found, now_ns);
    }
    let mut all = std::mem::take(&mut drained.news);
    all.sort_by_key(|(time_ns, _)| *time_ns);
    for (time_ns, news) in all {
        let (kind, tid, key, text) = match news {
            News::ThreadNew { tgid, parent, is_first } => {
                if is_first && drained.lives.is_reuse(tgid, time_ns) {
                    drained.lives.end(tgid);
                    end_process(tgid, time_ns, drained, unwinding, keeper)?;
                }
                drained.lives.thread_new(tgid, time_ns);
                unwinding.thread_new(tgid, parent)?;
                keeper.thread_new(tgid, parent, is_first.then_some(time_ns));
                continue;
            }
            News::ThreadExit(tgid) => {
                drained.lives.thread_exit(tgid, time_ns);
                continue;
            }
            News::Mapped(mut mapping) => {
                match drained.lives.belongs(mapping.header.h.tid, time_ns) {
                    Belongs::Yes => {
                        unwinding.map(&mapping)?;
                        keeper.mapped(&mut mapping);
                        drained.recorder.meta().map(mapping.header, &mapping.path);
                    }
                    Belongs::NotYetKnown => drained.news.push((time_ns, News::Mapped(mapping))),
                    Belongs::No => {}
                }
                continue;
            }
            News::Program { pid } => {
                let is_still = Lives::is_still(pid, time_ns);
                walk_copies_of(pid, time_ns, drained, unwinding);
                drained.programs.push(pid);
                drained.ended_programs.push((pid, time_ns));
                unwinding.read_process(pid, is_still)?;
                keeper.program(pid, time_ns, is_still);
                let words = if is_still { proc::command_line(pid) } else { Vec::new() };
                (kind::COMMAND, pid, 0, words)
            }
            News::EpollMembers { pid, fd, key } => (kind::MEMBERS, pid, key, proc::epoll_members(pid, fd)),
        };
        drained.recorder.meta().text(RecordHeader { kind, size: 0, tid, time_ns: now_ns }, key, &text);
    }
    for tgid in drained.lives.end_round(now_ns) {
        end_process(tgid, u64::MAX, drained, unwinding, keeper)?;
    }
    Ok(())
}

/// Process `tgid` ended, before `time_ns`, when another one had its id: whatever is kept by its id goes. The maximum:
/// nobody has it.
fn end_process(
    tgid: u32,
    time_ns: u64,
    drained: &mut Drained,
    unwinding: &mut Unwinding,
    keeper: &mut Keeper,
) -> Result<()> {
    walk_copies_of(tgid, time_ns, drained, unwinding);
    unwinding.forget_process(tgid, time_ns != u64::MAX)?;
    keeper.exit(tgid, time_ns.min(monotonic_ns()));
    drained.fault_places.forget(tgid);
    drained.own.iter_mut().for_each(|own| own.forget(tgid));
    drained.ended_programs.push((tgid, time_ns));
    Ok(())
}

/// What a launched program tells by its exec and its mappings, of processes that run already.
pub fn describe_running(pids: &[u32], now_ns: u64, drained: &mut Drained) {
    for &pid in pids {
        let mut exec = ExecRecord {
            h: RecordHeader { kind: kind::EXEC, size: 0, tid: pid, time_ns: now_ns },
            tgid: pid,
            old_tid: pid,
            ..bytemuck::Zeroable::zeroed()
        };
        let path = proc::executable(pid);
        let kept = path.len().min(exec.path.len() - 1);
        exec.path[..kept].copy_from_slice(&path[..kept]);
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let kept = name.len().min(exec.comm.len() - 1);
        exec.comm[..kept].copy_from_slice(&name[..kept]);
        drained.lives.begin(pid, now_ns);
        drained.recorder.meta().fixed(&exec);
        drained.news.push((now_ns, News::Program { pid }));
    }
}
