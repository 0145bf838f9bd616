//! What the source of events hands out, on its way into the spool: records, and news of processes, which user space has to
//! look up while it still can.

use bytemuck::{bytes_of, pod_read_unaligned};
use dwell_model::{Delay, Syscall};
use dwell_store::raw::wire::{
    DelayRecord, ObjectRecord, RecordHeader, RegistersRecord, StackHeader, SwitchRecord, THREAD_SEEDED,
    ThreadExitRecord, ThreadLeftRecord, ThreadNewRecord, VainTryRecord, kind, object_kind, switch_flag,
};
use dwell_store::raw::{Record, c_string, prefix};

use super::epoll_sets::EpollSets;
use super::lock_holders::LockHolders;
use super::mapping_scope::ScopeFilter;
use super::proc_maps_poller::LookedUp;
use super::process_events::ProcessEvent;
use crate::error::Error;
use crate::kernel::perf::Mapping;
use crate::output::recorder::Recorder;
use crate::programs::belongings::Belongings;
use crate::programs::process_lifetimes::ProcessLifetimes;
use crate::stacks::lock_owner::lock_owner;
use crate::stacks::python::PythonStack;
use crate::topics::fault_places::FaultPlaces;
use crate::topics::itt;
use crate::topics::java_code::{JavaCode, JavaWait};
use crate::topics::javascript::JavaScript;

/// Registers, and a piece of the stack from the stack pointer on.
pub type StackCopy = (RegistersRecord, Vec<u8>);

pub struct EventSink {
    pub recorder: Recorder,
    pub failure: Option<Error>,
    pub lifetimes: ProcessLifetimes,
    pub threads: u64,
    pub exits: u64,
    pub last_exit_ns: u64,
    pub waiting: Vec<RegistersRecord>,
    pub copies: Vec<StackCopy>,
    pub copies_lost: u64,
    pub seeded_stacks_lost: u64,
    /// Stacks of threads that waited already, whose frames of a script could not be read to the end.
    pub script_frames_unreadable: u64,
    /// Of all CPUs, with their times.
    pub process_events: Vec<(u64, ProcessEvent)>,
    /// Processes that ended, or run another program, and when.
    pub ended_programs: Vec<(u32, u64)>,
    /// Processes that ran a program since the machine's counters were read.
    pub programs: Vec<u32>,
    pub belongings: Belongings,
    pub epoll_sets: EpollSets,
    pub lock_holders: LockHolders,
    pub fault_places: FaultPlaces,
    pub java_code: JavaCode,
    pub javascript: JavaScript,
    /// A process has the library mapped through which programs announce what they do.
    pub announces: bool,
    /// When a process last mapped a file.
    pub mapped_ns: u64,
    /// Where only own programs may be recorded.
    pub(super) scope_filter: Option<ScopeFilter>,
    /// Where the kernel does not tell mappings.
    pub looked_up: Option<LookedUp>,
}

impl EventSink {
    /// Nothing yet. `own_only` = of other users' programs not even their mappings may be written.
    pub fn new(recorder: Recorder, own_only: bool) -> Self {
        Self {
            recorder,
            failure: None,
            lifetimes: ProcessLifetimes::default(),
            threads: 0,
            exits: 0,
            last_exit_ns: 0,
            waiting: Vec::new(),
            copies: Vec::new(),
            copies_lost: 0,
            seeded_stacks_lost: 0,
            script_frames_unreadable: 0,
            process_events: Vec::new(),
            ended_programs: Vec::new(),
            programs: Vec::new(),
            belongings: Belongings::default(),
            epoll_sets: EpollSets::default(),
            lock_holders: LockHolders::new(own_only),
            fault_places: FaultPlaces::default(),
            java_code: JavaCode::default(),
            javascript: JavaScript::default(),
            announces: false,
            mapped_ns: 0,
            scope_filter: own_only.then(ScopeFilter::default),
            looked_up: None,
        }
    }

    /// Takes the mappings of recorded processes. Returns those of processes that may be recorded, as far as was read: of one
    /// that came before `read_ns`, when the rings began to be drained, the fork has been.
    pub fn take_mappings(&mut self, mappings: Vec<Mapping>, read_ns: u64, at_end: bool) -> Vec<Mapping> {
        let known = |mapping: &Mapping| self.lifetimes.contains(mapping.header.h.tid);
        let (ours, others): (Vec<_>, Vec<_>) = mappings.into_iter().partition(known);
        let ours = match &mut self.scope_filter {
            Some(filter) => filter.let_through(ours, (!at_end).then_some(read_ns)),
            None => ours,
        };
        self.mapped(ours, read_ns);
        others.into_iter().filter(|mapping| mapping.header.h.time_ns >= read_ns).collect()
    }

    /// Takes mappings of recorded processes that the user may know.
    pub fn mapped(&mut self, ours: Vec<Mapping>, read_ns: u64) {
        self.announces |= ours.iter().any(|mapping| itt::is_library(&mapping.path));
        self.mapped_ns = if ours.is_empty() { self.mapped_ns } else { read_ns };
        self.process_events
            .extend(ours.into_iter().map(|mapping| (mapping.header.h.time_ns, ProcessEvent::Mapped(mapping))));
    }

    /// How many mappings were dropped, since the user may not look at the programs.
    pub fn mappings_out_of_scope(&self) -> u64 {
        self.scope_filter.as_ref().map_or(0, |filter| filter.dropped)
    }

    /// A thread is recorded no more, since its process runs what the user may not look at. Returns its end, for the trace.
    fn left(&mut self, left: &ThreadLeftRecord) -> ThreadExitRecord {
        if let Some(filter) = &mut self.scope_filter {
            filter.left(left);
        }
        let h = RecordHeader { kind: kind::THREAD_EXIT, size: size_of::<ThreadExitRecord>() as u16, ..left.exit.h };
        ThreadExitRecord { h, ..left.exit }
    }

    /// A stack of process `tgid`, seen at `time_ns`: the functions that an interpreter runs in it will be named.
    pub fn saw(&mut self, tgid: u32, frames: &[u64], time_ns: u64) {
        self.java_code.saw(tgid, frames, time_ns);
        self.javascript.saw(tgid, frames, time_ns);
    }

    /// Process `tgid` runs another program, or none: the code that it made and its sets of descriptors are gone.
    pub fn forget_program(&mut self, tgid: u32) {
        self.java_code.forget(tgid);
        self.javascript.forget(tgid);
        self.epoll_sets.forget(tgid);
    }

    /// Process maps a file whose code may interpret or compile.
    pub fn maps_code(&mut self, mapping: &Mapping) {
        self.java_code.mapped(mapping);
        self.javascript.mapped(mapping);
    }

    /// Writes a stack that user space walked.
    pub fn walked(&mut self, stack: StackHeader, frames: &[u64]) {
        self.saw(stack.tgid, frames, stack.h.time_ns);
        self.recorder.meta().stack(stack, frames);
    }

    /// Writes the Python frames of such a stack.
    pub fn walked_python(&mut self, python: &PythonStack) {
        self.script_frames_unreadable += u64::from(python.is_unreadable);
        if python.frames.is_empty() {
            return;
        }
        let meta = self.recorder.meta();
        python.functions.iter().for_each(|(code, table)| meta.script_function(*code, table));
        meta.script_stack(python.header, &python.frames);
    }

    /// Takes the registers of a thread, whose stack is walked later.
    fn registers(&mut self, kind: u16, bytes: &[u8]) {
        let Some((registers, copy)) = bytes.split_at_checked(size_of::<RegistersRecord>()) else { return };
        let registers = pod_read_unaligned::<RegistersRecord>(registers);
        match kind {
            kind::REGISTERS => self.waiting.push(registers),
            _ => self.copies.push((registers, copy.to_vec())),
        }
    }

    /// Puts a record into the trace, and follows what it tells of threads and processes.
    fn record(&mut self, header: &RecordHeader, bytes: &[u8]) {
        if let Err(error) = self.recorder.record(header, bytes) {
            self.failure.get_or_insert(error);
        }
        // Only these are decoded: nearly all records are switches and samples.
        if matches!(header.kind, kind::THREAD_NEW | kind::THREAD_EXIT | kind::EXEC | kind::OBJECT) {
            match Record::of(bytes) {
                Some(Record::ThreadNew(new)) => self.thread_new(&new),
                Some(Record::ThreadExit(exit)) => self.thread_exit(&exit),
                Some(Record::Exec(exec)) => self.program(exec.tgid, exec.h.time_ns),
                Some(Record::Object(object)) => self.object(&object),
                _ => {}
            }
        }
    }

    fn thread_new(&mut self, new: &ThreadNewRecord) {
        let (tid, time_ns) = (new.h.tid, new.h.time_ns);
        self.threads += 1;
        self.lifetimes.begin(new.tgid, time_ns);
        self.fault_places.thread_new(tid, new.tgid);
        let is_first = tid == new.tgid && new.flags & THREAD_SEEDED == 0;
        self.process_events
            .push((time_ns, ProcessEvent::ThreadNew { tgid: new.tgid, parent: new.parent_tgid, is_first }));
    }

    fn thread_exit(&mut self, exit: &ThreadExitRecord) {
        let time_ns = exit.h.time_ns;
        self.process_events.push((time_ns, ProcessEvent::ThreadExit(exit.tgid)));
        self.scope_filter.iter_mut().for_each(|filter| filter.thread_ended(exit.tgid, time_ns));
        if exit.tgid == exit.h.tid {
            self.fault_places.forget(exit.tgid);
        }
        self.exits += 1;
        self.last_exit_ns = self.last_exit_ns.max(time_ns);
    }

    /// Process `pid` runs another program.
    fn program(&mut self, pid: u32, time_ns: u64) {
        self.process_events.push((time_ns, ProcessEvent::Program { pid }));
        self.scope_filter.iter_mut().for_each(|filter| filter.runs(pid, time_ns));
        self.fault_places.forget(pid);
    }

    fn object(&mut self, object: &ObjectRecord) {
        if object.kind == object_kind::ANONYMOUS && c_string(&object.text) == "[eventpoll]" {
            let (pid, fd, key) = (object.tgid, object.fd, object.key);
            self.process_events.push((object.h.time_ns, ProcessEvent::EpollMembers { pid, fd, key }));
        }
    }
}

/// Takes one record as a source hands it out.
pub fn take_record(drained: &mut EventSink, bytes: &[u8]) {
    let Some(header) = prefix::<RecordHeader>(bytes) else { return };
    match header.kind {
        kind::REGISTERS | kind::STACK_COPY => drained.registers(header.kind, bytes),
        kind::THREAD_LEFT => {
            let exit = prefix(bytes).map(|left| drained.left(&left));
            exit.iter().for_each(|exit| take_record(drained, bytes_of(exit)));
        }
        kind::SWITCH => {
            let known = seeded_wait(bytes);
            let bytes = known.as_ref().map_or(bytes, bytes_of);
            match prefix(bytes).and_then(|switch| drained.java_code.wait(&switch)) {
                None => drained.record(&header, bytes),
                Some(JavaWait { switch, new_lock }) => {
                    new_lock.iter().for_each(|lock| drained.record(&lock.h, bytes_of(lock)));
                    drained.record(&header, bytes_of(&switch));
                }
            }
        }
        kind::VAIN_TRY => {
            let named = prefix::<VainTryRecord>(bytes).map(|tried| drained.lock_holders.named(tried));
            drained.record(&header, named.as_ref().map_or(bytes, bytes_of));
        }
        kind::STACK => {
            let interprets = |of: &StackHeader| drained.java_code.has(of.tgid) || drained.javascript.has(of.tgid);
            if let Some(of) = prefix::<StackHeader>(bytes).filter(interprets)
                && let Some(Record::Stack(_, frames)) = Record::of(bytes)
            {
                drained.saw(of.tgid, &frames, header.time_ns);
            }
            drained.record(&header, bytes);
        }
        _ => {
            let fault = fault(&header, bytes).map(|fault| drained.fault_places.named(fault, header.time_ns));
            drained.record(&header, fault.as_ref().map_or(bytes, bytes_of));
        }
    }
}

/// The record of a thread that waited for a lock before it was recorded, with the lock's owner: the kernel side reads no other thread's
/// memory than the current one's.
fn seeded_wait(bytes: &[u8]) -> Option<SwitchRecord> {
    const FUTEX: i32 = Syscall::number_of("futex");
    let is_wait =
        |it: &SwitchRecord| it.flags & switch_flag::SEEDED != 0 && it.syscall == FUTEX && it.owner_inner_tid == 0;
    let mut record = prefix::<SwitchRecord>(bytes).filter(is_wait)?;
    let _looking = dwell_rights::raise(&[dwell_rights::PTRACE]);
    record.owner_inner_tid = lock_owner(record.h.tid, record.object, record.detail);
    Some(record)
}

/// The record of a page fault.
fn fault(header: &RecordHeader, bytes: &[u8]) -> Option<DelayRecord> {
    let delay = prefix::<DelayRecord>(bytes).filter(|_| header.kind == kind::DELAY)?;
    matches!(Delay::from_code(delay.kind), Delay::MinorFault | Delay::MajorFault).then_some(delay)
}
