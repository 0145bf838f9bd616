//! What each thread does, from the records of its switches and of the calls that it enters: where it waits, since when, and
//! who ends that.
//!
//! A switch record says that a thread leaves the CPU and whether it could have gone on, not why. The call that it entered last
//! says that, unless user code has run since: a sample of the clock, a page fault.

use bytemuck::{Zeroable, bytes_of};
use dwell_model::{CallKind, Syscall, SyscallClass};
use dwell_store::raw::wire::{RecordHeader, RegistersRecord, SwitchRecord, kind, switch_flag, waker_context};
use foldhash::HashMap;

use super::record::{Call, Stamp};
use super::wakers::{Waiting, Wakers};

const STATE_INTERRUPTIBLE: u32 = 1;
const STATE_UNINTERRUPTIBLE: u32 = 2;
/// The system call of a wait in one that was not seen.
pub const UNSEEN_CALL: i32 = -2;
/// A thread that blocks so soon after it entered a call blocks in it.
const SURELY_NS: u64 = 50_000;

/// Why a thread left the CPU by itself.
#[derive(Clone, Debug, Default)]
pub struct Wait {
    /// The switch record to be.
    pub record: SwitchRecordBytes,
    /// The call that it is in, as far as known.
    pub call: Option<Call>,
    /// Nothing that was seen contradicts it, and little time has passed.
    pub is_sure: bool,
    /// Its registers, where the copied piece of its stack ended before the stack did.
    pub cut: Option<Box<RegistersRecord>>,
    /// What /proc said, and when that was read.
    pub seen: Option<(u64, ProcWait)>,
}

/// What /proc said of a thread that waits.
#[derive(Clone, Debug)]
pub struct ProcWait {
    /// The call that it is in, none of a fault.
    pub call: Option<Call>,
    /// Its object and detail.
    pub target: WaitedFor,
    /// Key of its stack, 0 = not read.
    pub stack: u64,
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitedFor {
    /// As in SwitchRecord.
    pub object: u64,
    /// As in SwitchRecord.
    pub detail: u64,
    /// As in SwitchRecord.
    pub owner_inner_tid: u32,
    /// It is for the pages of a file.
    pub is_file: bool,
    /// Other threads' calls on the object can end the wait: it is a pipe, a socket or a counter.
    pub wakes: bool,
}

/// A [`SwitchRecord`], which has no default of its own.
#[derive(Clone, Copy, Debug)]
pub struct SwitchRecordBytes(pub SwitchRecord);

impl Default for SwitchRecordBytes {
    fn default() -> Self {
        Self(SwitchRecord::zeroed())
    }
}

/// A call that a thread entered and has not left, as far as known.
#[derive(Clone, Debug)]
pub struct EnteredCall {
    /// Number and arguments.
    pub call: Call,
    /// When, CLOCK_MONOTONIC ns.
    pub time_ns: u64,
    /// Key of the stack there.
    pub stack: u64,
    /// Registers, where the copied piece ended before the stack did.
    pub cut: Option<Box<RegistersRecord>>,
    /// It has blocked in it before.
    pub has_blocked: bool,
}

/// A profiled thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its process.
    pub tgid: u32,
    /// Its name, zero-padded.
    pub name: [u8; 16],
    /// Records from before then do not count: it was looked at when it ran already. CLOCK_MONOTONIC, ns.
    pub since_ns: u64,
    /// Whether it is on a CPU; none: not known.
    pub on_cpu: Option<bool>,
    /// The call that it is in.
    pub entered: Option<EnteredCall>,
    /// A page fault was the last that it did in user code.
    faulted: bool,
    /// Its wait.
    pub wait: Option<Wait>,
    /// The wait has been written.
    is_told: bool,
    /// Key of the kernel's stack as it leaves the CPU.
    leaving: u64,
    /// Since when it is off the CPU, CLOCK_MONOTONIC ns.
    pub off_ns: u64,
}

impl Thread {
    /// A thread that has done nothing yet.
    pub fn new(tgid: u32, name: [u8; 16]) -> Self {
        let (entered, wait) = (None, None);
        Self {
            tgid,
            name,
            since_ns: 0,
            on_cpu: None,
            entered,
            faulted: false,
            wait,
            is_told: true,
            leaving: 0,
            off_ns: 0,
        }
    }

    /// How it stood when recording began: `call` says that it waits, in a call or a fault.
    pub fn stands(&mut self, stamp: Stamp, call: Option<Option<Call>>, target: WaitedFor, stack: u64) {
        self.since_ns = stamp.time_ns;
        // Else it runs, or waits for a CPU: its next switch tells.
        let Some(call) = call else { return };
        self.on_cpu = Some(false);
        let mut wait = Wait { call, ..Wait::default() };
        let record = &mut wait.record.0;
        *record = switch(stamp);
        record.h.tid = stamp.tid;
        fill(record, call.as_ref(), target);
        record.user_stack = stack;
        self.off_ns = stamp.time_ns;
        self.wait = Some(wait);
    }

    /// Whether its wait is still to be written.
    pub fn has_untold(&self) -> bool {
        !self.is_told
    }
}

/// All profiled threads.
#[derive(Default)]
pub struct Threads {
    /// By id.
    pub all: HashMap<u32, Thread>,
    /// How many of each process there are.
    population: HashMap<u32, usize>,
    /// Who waits where, and who ends that.
    pub wakers: Wakers,
    /// Waits in calls that were not seen.
    pub unseen_calls: u64,
    /// Recording is paused: what happens is followed, but not written.
    pub is_paused: bool,
}

impl Threads {
    /// None yet.
    pub fn new(is_paused: bool) -> Self {
        Self { is_paused, ..Self::default() }
    }

    /// Thread `stamp.tid` enters a call.
    pub fn enter(&mut self, stamp: Stamp, call: Call, stack: u64, cut: Option<Box<RegistersRecord>>) {
        let Some(thread) = self.all.get_mut(&stamp.tid) else { return };
        self.wakers.enter(stamp, &call, stack);
        thread.faulted = false;
        thread.entered = Some(EnteredCall { call, time_ns: stamp.time_ns, stack, cut, has_blocked: false });
    }

    /// It runs user code: it is in no call.
    pub fn runs(&mut self, tid: u32, faulted: bool) {
        if let Some(thread) = self.all.get_mut(&tid) {
            thread.entered = None;
            thread.faulted = faulted;
        }
    }

    /// It leaves the CPU, with this stack of the kernel.
    pub fn leaves(&mut self, tid: u32, kernel_stack: u64) {
        if let Some(thread) = self.all.get_mut(&tid) {
            thread.leaving = kernel_stack;
        }
    }

    /// It leaves the CPU although it could go on.
    pub fn preempted(&mut self, stamp: Stamp, out: &mut dyn FnMut(&[u8])) {
        let is_paused = self.is_paused;
        let Some(thread) = self.all.get_mut(&stamp.tid) else { return };
        thread.on_cpu = Some(false);
        thread.off_ns = stamp.time_ns;
        thread.leaving = 0;
        let mut record = switch(stamp);
        record.h.tid = stamp.tid;
        record.flags = switch_flag::PREEMPTED;
        if let Some(entered) = &thread.entered {
            record.syscall = entered.call.number;
            record.user_stack = entered.stack;
        }
        if !is_paused {
            out(bytes_of(&record));
        }
    }

    /// It blocks. `target` tells what a call waits for.
    pub fn blocks(
        &mut self,
        stamp: Stamp,
        target: &mut dyn FnMut(u32, &EnteredCall) -> WaitedFor,
        out: &mut dyn FnMut(&[u8]),
    ) {
        let Some(thread) = self.all.get_mut(&stamp.tid) else { return };
        thread.on_cpu = Some(false);
        thread.off_ns = stamp.time_ns;
        let (mut wait, mut wakes) = (Wait::default(), false);
        let record = &mut wait.record.0;
        *record = switch(stamp);
        record.h.tid = stamp.tid;
        match &mut thread.entered {
            Some(entered) if can_block(entered) => {
                let target = target(thread.tgid, entered);
                fill(record, Some(&entered.call), target);
                record.user_stack = entered.stack;
                wait.call = Some(entered.call);
                wakes = target.wakes;
                wait.is_sure = stamp.time_ns.saturating_sub(entered.time_ns) < SURELY_NS && !entered.has_blocked;
                wait.cut.clone_from(&entered.cut);
                entered.has_blocked = true;
            }
            _ if thread.faulted => fill(record, None, WaitedFor::default()),
            _ => {
                record.syscall = UNSEEN_CALL;
                record.state = STATE_INTERRUPTIBLE;
            }
        }
        let leaving = std::mem::take(&mut thread.leaving);
        record.kernel_stack = if needs_kernel_stack(record) { leaving } else { 0 };
        thread.is_told = false;
        self.wakers.begin_wait(stamp, thread.tgid, (&wait.record.0, wait.call.as_ref()), wakes);
        let is_clear = wait.is_sure && wait.cut.is_none();
        thread.wait = Some(wait);
        if is_clear {
            self.emit(stamp.tid, u64::MAX, out);
        }
    }

    /// It comes to a CPU.
    pub fn comes(&mut self, stamp: Stamp, out: &mut dyn FnMut(&[u8])) {
        self.emit(stamp.tid, stamp.time_ns, out);
        let is_paused = self.is_paused;
        let Some(thread) = self.all.get_mut(&stamp.tid) else { return };
        thread.on_cpu = Some(true);
        let waited = thread.wait.take();
        let mut record = switch(stamp);
        record.next_tid = stamp.tid;
        if let Some(wait) = waited {
            let wake = self.wakers.end_wait(stamp.tid, wait.record.0.h.time_ns, stamp.time_ns);
            if let Some(wake) = wake {
                record.wake_time_ns = wake.time_ns;
                record.waker_tid = wake.tid;
                record.waker_stack = wake.stack;
                record.waker_syscall = wake.call;
                record.waker_context = waker_context::TASK;
            }
        }
        if !is_paused {
            out(bytes_of(&record));
        }
    }

    /// Writes the wait of a thread, if that is still to be done: with what /proc said before `until_ns`, when it stood
    /// there still.
    pub fn emit(&mut self, tid: u32, until_ns: u64, out: &mut dyn FnMut(&[u8])) {
        let is_paused = self.is_paused;
        let Some(thread) = self.all.get_mut(&tid).filter(|thread| !thread.is_told) else { return };
        thread.is_told = true;
        let Some(wait) = &mut thread.wait else { return };
        let record = &mut wait.record.0;
        if let Some((_, seen)) = wait.seen.take().filter(|(time_ns, _)| *time_ns < until_ns) {
            let same = matches!((&seen.call, &wait.call), (Some(a), Some(b)) if is_same(a, b));
            if !same {
                fill(record, seen.call.as_ref(), seen.target);
                record.user_stack = 0;
            }
            if seen.stack != 0 {
                record.user_stack = seen.stack;
            }
        }
        if record.syscall == UNSEEN_CALL {
            self.unseen_calls += 1;
        }
        if !is_paused {
            out(bytes_of(record));
        }
    }

    /// The state of every thread, as recording goes on at `time_ns`.
    pub fn seed(&self, time_ns: u64, out: &mut dyn FnMut(&[u8])) {
        self.all.keys().for_each(|&tid| self.seed_one(tid, time_ns, out));
    }

    /// The state of a thread at `time_ns`.
    pub fn seed_one(&self, tid: u32, time_ns: u64, out: &mut dyn FnMut(&[u8])) {
        let Some(thread) = self.all.get(&tid) else { return };
        let mut record = switch(Stamp { tgid: thread.tgid, tid, time_ns, cpu: u16::MAX });
        match (thread.on_cpu, &thread.wait) {
            (Some(true), _) => record.next_tid = tid,
            (_, Some(wait)) => {
                record = wait.record.0;
                record.h.time_ns = time_ns;
            }
            (Some(false), None) => record.h.tid = tid,
            (None, None) => return,
        }
        record.flags |= switch_flag::SEEDED;
        record.cpu = u16::MAX;
        out(bytes_of(&record));
    }

    /// Thread `tid` is there.
    pub fn insert(&mut self, tid: u32, thread: Thread) {
        *self.population.entry(thread.tgid).or_default() += 1;
        if let Some(before) = self.all.insert(tid, thread) {
            self.leave(before.tgid);
        }
    }

    /// Thread `tid` has ended.
    pub fn end(&mut self, tid: u32) -> Option<Thread> {
        self.wakers.forget(tid);
        let thread = self.all.remove(&tid)?;
        self.leave(thread.tgid);
        Some(thread)
    }

    /// Whether no thread of process `tgid` is left.
    pub fn is_empty(&self, tgid: u32) -> bool {
        !self.population.contains_key(&tgid)
    }

    fn leave(&mut self, tgid: u32) {
        if let Some(count) = self.population.get_mut(&tgid) {
            *count -= 1;
            if *count == 0 {
                self.population.remove(&tgid);
            }
        }
    }
}

fn switch(stamp: Stamp) -> SwitchRecord {
    let size = size_of::<SwitchRecord>() as u16;
    SwitchRecord {
        h: RecordHeader { kind: kind::SWITCH, size, tid: 0, time_ns: stamp.time_ns },
        cpu: stamp.cpu,
        syscall: -1,
        waker_syscall: -1,
        ..SwitchRecord::zeroed()
    }
}

/// Puts the call and what it waits for into the record; no call is a page fault.
fn fill(record: &mut SwitchRecord, call: Option<&Call>, target: WaitedFor) {
    let number = call.map_or(-1, |call| call.number);
    record.syscall = number;
    (record.object, record.detail) = (target.object, target.detail);
    record.owner_inner_tid = target.owner_inner_tid;
    let short = i16::try_from(number).unwrap_or(-1);
    let syncs = Syscall::kind_of(short) == CallKind::FileSync;
    record.state = match Syscall::kind_of(short) {
        CallKind::FileSync | CallKind::Spawn => STATE_UNINTERRUPTIBLE,
        _ if call.is_none() || target.is_file => STATE_UNINTERRUPTIBLE,
        _ => STATE_INTERRUPTIBLE,
    };
    record.flags &= !switch_flag::IOWAIT;
    if syncs || target.is_file {
        record.flags |= switch_flag::IOWAIT;
    }
}

/// As `needs_kernel_stack` of switch.bpf.c: where the call says nothing of what is waited for.
fn needs_kernel_stack(record: &SwitchRecord) -> bool {
    let class = class(record.syscall);
    record.state == STATE_UNINTERRUPTIBLE || class == SyscallClass::Other || class.is_path()
}

/// Whether a thread can wait in this call: those that wake others by a futex do not, and who was woken in a futex or a sleep
/// leaves it.
fn can_block(entered: &EnteredCall) -> bool {
    let kind = Syscall::kind_of(i16::try_from(entered.call.number).unwrap_or(-1));
    let once = matches!(kind, CallKind::Futex | CallKind::Sleep);
    !(once && entered.has_blocked) && Waiting::of_call(&entered.call).is_none_or(|futex| futex.waits())
}

/// Whether two looks saw the same call: some arguments may be changed by the call itself.
pub fn is_same(a: &Call, b: &Call) -> bool {
    a.number == b.number && a.arguments[0] == b.arguments[0]
}

/// The class of a call, by which its arguments are understood.
pub fn class(number: i32) -> SyscallClass {
    let call = i16::try_from(number).ok().and_then(Syscall::of_number);
    call.map_or(SyscallClass::Other, |call| call.class)
}

#[cfg(test)]
mod tests;
