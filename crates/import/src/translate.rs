//! Makes Dwell's records of perf's, which come in the order of time.
//!
//! Each thread is told of when something happens to it first: a file of a whole machine names thousands that never run.

use std::collections::HashMap;

use bytemuck::Zeroable;
use dwell_model::UNSEEN;
use dwell_store::raw::wire::{
    ExecRecord, MapHeader, RecordHeader, SampleRecord, SwitchRecord, THREAD_SEEDED, ThreadExitRecord, ThreadNameRecord,
    ThreadNewRecord, kind as raw_kind, switch_flag, waker_context,
};

use crate::cpus::{Cpus, Occupant};
use crate::cursor::{Cursor, until_zero};
use crate::description::Description;
use crate::error::Error;
use crate::kernel::{KernelPlace, SystemCalls};
use crate::mappings;
use crate::order::Pending;
use crate::plan::{Meaning, Plan, SwitchFields, WakeFields};
use crate::raw_trace::RawTrace;
use crate::records::kind;
use crate::sample::{self, Chain, Sample, Stamp};
use crate::sampling;
use crate::tally::Tally;
use crate::threads::{KnownThreads, Place, Wake, name};

const NOBODY: u32 = u32::MAX;
const MISC_CPU_MODE: u16 = 7;
const MISC_KERNEL: u16 = 1;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// Bits of a tracepoint's `common_flags`: it runs in an interrupt (include/linux/trace_events.h).
const IN_HARD_INTERRUPT: u64 = 8;
const IN_SOFT_INTERRUPT: u64 = 16;
/// Bits of sched_switch's `prev_state`, since Linux 4.14 (include/trace/events/sched.h).
const STATES: u32 = 0xff;
const ENDED: u32 = 0x10 | 0x20;
const WAITS: u32 = 1;
const WAITS_SURELY: u32 = 2;
const STOPPED_OR_TRACED: u32 = 4 | 8;

/// Makes records.
pub struct Translator<'d> {
    description: &'d Description,
    plan: &'d Plan,
    trace: RawTrace,
    threads: KnownThreads,
    cpus: Cpus,
    wakes: HashMap<u32, Wake>,
    maps: Vec<(MapHeader, Vec<u8>)>,
    tally: Tally,
    calls_of: &'d dyn Fn(&KernelPlace) -> Option<SystemCalls>,
    calls: SystemCalls,
}

impl<'d> Translator<'d> {
    /// Of a file that says this of itself, into `trace`. `calls_of` knows the system calls of a kernel, if it is this machine's.
    pub fn new(
        description: &'d Description,
        plan: &'d Plan,
        trace: RawTrace,
        calls_of: &'d dyn Fn(&KernelPlace) -> Option<SystemCalls>,
    ) -> Self {
        Self {
            description,
            plan,
            trace,
            threads: KnownThreads::default(),
            cpus: Cpus::default(),
            wakes: HashMap::new(),
            maps: Vec::new(),
            tally: Tally::default(),
            calls_of,
            calls: SystemCalls::default(),
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    ///
    /// Writing failed; the file lacks what a result needs.
    pub fn take(&mut self, record: &Pending) -> Result<(), Error> {
        if record.time_ns != 0 {
            if self.tally.first_ns == 0 {
                self.tally.first_ns = record.time_ns;
            }
            self.tally.last_ns = record.time_ns;
        }
        match self.translate(record) {
            Some(done) => done,
            None => {
                self.tally.unreadable += 1;
                Ok(())
            }
        }
    }

    /// None where the record is cut.
    fn translate(&mut self, record: &Pending) -> Option<Result<(), Error>> {
        let event = self.description.events.get(record.event)?;
        if record.kind == kind::SAMPLE {
            let mut sample = sample::parse(event, &record.body)?;
            sample.stamp.time_ns = record.time_ns;
            return Some(self.sample(record, &sample));
        }
        let (body, stamp) = sample::split_trailer(event, &record.body)?;
        let stamp = Stamp { time_ns: record.time_ns, ..stamp };
        let mut cursor = Cursor(body);
        Some(match record.kind {
            kind::COMM => {
                let (tgid, tid) = (cursor.u32()?, cursor.u32()?);
                self.comm(record, (tgid, tid), until_zero(cursor.0))
            }
            kind::FORK => {
                let (tgid, parent_tgid, tid, parent) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
                self.fork(record.time_ns, (tgid, tid), (parent_tgid, parent))
            }
            kind::EXIT => {
                cursor.u64()?;
                self.exit(cursor.u32()?, record.time_ns)
            }
            kind::MMAP => Ok(self.map(record, cursor, false)?),
            kind::MMAP2 => Ok(self.map(record, cursor, true)?),
            kind::LOST => {
                cursor.u64()?;
                self.lose(cursor.u64()?)
            }
            kind::LOST_SAMPLES => self.lose(cursor.u64()?),
            kind::SWITCH | kind::SWITCH_CPU_WIDE => self.switch_record(record.misc, stamp),
            _ => Ok(()),
        })
    }

    fn lose(&mut self, records: u64) -> Result<(), Error> {
        self.tally.lost = self.tally.lost.saturating_add(records);
        Ok(())
    }

    fn sample(&mut self, record: &Pending, sample: &Sample<'_>) -> Result<(), Error> {
        if sample.stamp.cpu != u16::MAX {
            self.tally.cpus = self.tally.cpus.max(u32::from(sample.stamp.cpu) + 1);
        }
        let chain = sample.chain(record.misc & MISC_CPU_MODE == MISC_KERNEL);
        match self.plan.meaning(record.event) {
            Meaning::Runs => self.runs(record, sample, &chain),
            Meaning::Switches(fields) => self.switches(sample, &fields, &chain),
            Meaning::Wakes(fields) => self.wakes(sample, &fields, &chain),
            Meaning::Other => Ok(()),
        }
    }

    /// A thread runs: a sample of the clock.
    fn runs(&mut self, record: &Pending, sample: &Sample<'_>, chain: &Chain) -> Result<(), Error> {
        let Stamp { tgid, tid, time_ns, cpu } = sample.stamp;
        if tid == 0 || tid == NOBODY {
            return Ok(()); // an idle CPU
        }
        let sampled_ns = self.description.events.get(record.event).and_then(|event| event.sampled_ns(sample.period));
        let period_ns = match sampled_ns {
            Some(period_ns) => period_ns,
            None if self.plan.has_switches() => 0,
            None => return Err(Error::Lacks("no context switches, and its samples are of no clock")),
        };
        if period_ns != 0 && (self.tally.period_ns == 0 || period_ns < self.tally.period_ns) {
            self.tally.period_ns = period_ns;
        }
        self.describe_thread(tid, tgid)?;
        let (user_stack, kernel_stack) = self.stacks(sample.stamp, chain)?;
        if self.plan.has_switches() {
            self.is_on_cpu(tid, self.cpus.on(cpu))?;
        } else {
            let since_ns = time_ns.saturating_sub(period_ns).max(self.tally.first_ns);
            let thread = self.threads.of(tid, tgid);
            sampling::run_until(&mut self.trace, (tid, thread), cpu, (since_ns, time_ns))?;
        }
        let sample = SampleRecord {
            h: header(raw_kind::SAMPLE, tid, time_ns),
            cpu,
            in_kernel: u16::from(!chain.kernel.is_empty()),
            period_ns: u32::try_from(period_ns).unwrap_or(u32::MAX),
            user_stack,
            kernel_stack,
        };
        self.trace.event(time_ns, |records| records.fixed(&sample))
    }

    /// Keys of the stacks of the sampled thread.
    fn stacks(&mut self, stamp: Stamp, chain: &Chain) -> Result<(u64, u64), Error> {
        let tgid = self.threads.of(stamp.tid, stamp.tgid).tgid;
        let user = self.trace.stack(tgid, stamp.tid, stamp.time_ns, &chain.user)?;
        Ok((user, self.trace.stack(0, stamp.tid, stamp.time_ns, &chain.kernel)?))
    }

    /// A CPU changes from one thread to another: the tracepoint.
    fn switches(&mut self, sample: &Sample<'_>, fields: &SwitchFields, chain: &Chain) -> Result<(), Error> {
        let number = |field: crate::formats::Field| field.number(sample.raw).and_then(|id| u32::try_from(id).ok());
        let (Some(out), Some(next)) = (number(fields.out_tid), number(fields.in_tid)) else {
            self.tally.unreadable += 1;
            return Ok(());
        };
        let state = fields.state.number(sample.raw).unwrap_or(0) as u32 & STATES;
        let stamp = Stamp { tid: out, ..sample.stamp };
        let before = self.cpus.switch(stamp.cpu, Occupant { tid: next, since_ns: stamp.time_ns });
        let mut record = SwitchRecord {
            h: header(raw_kind::SWITCH, 0, stamp.time_ns),
            cpu: stamp.cpu,
            syscall: -1,
            ..SwitchRecord::zeroed()
        };
        if out != 0 {
            self.describe_thread(out, stamp.tgid)?;
            self.is_on_cpu(out, before)?;
            if state & ENDED != 0 {
                self.end(out, stamp.time_ns)?;
            } else {
                (record.user_stack, record.kernel_stack) = self.stacks(stamp, chain)?;
                self.depart(&mut record, out, state);
                if record.syscall == i32::from(UNSEEN) {
                    record.syscall = self.calls.called_in(&chain.kernel).map_or(record.syscall, i32::from);
                }
            }
        }
        // Of a single program's threads perf tells when they leave only: others than those are strangers.
        if next != 0 && self.threads.find(next).is_some() {
            self.describe_thread(next, 0)?;
            self.was_off_cpu(next)?;
            self.arrive(&mut record, next);
        }
        self.write_switch(&record)
    }

    /// The same without who and why: PERF_RECORD_SWITCH. It is told of the thread that comes or leaves.
    fn switch_record(&mut self, misc: u16, stamp: Stamp) -> Result<(), Error> {
        if stamp.tid == 0 || stamp.tid == NOBODY {
            return Ok(());
        }
        let leaves = misc & MISC_SWITCH_OUT != 0;
        let place = self.threads.find(stamp.tid).map_or(Place::Unknown, |thread| thread.place);
        // The tracepoint told it, and says more.
        if (leaves && self.plan.traces_switches) || (!leaves && place == Place::OnCpu) {
            return Ok(());
        }
        self.describe_thread(stamp.tid, stamp.tgid)?;
        let mut record = SwitchRecord {
            h: header(raw_kind::SWITCH, 0, stamp.time_ns),
            cpu: stamp.cpu,
            syscall: -1,
            ..SwitchRecord::zeroed()
        };
        if !leaves {
            self.was_off_cpu(stamp.tid)?;
            self.arrive(&mut record, stamp.tid);
        } else if self.threads.of(stamp.tid, stamp.tgid).ends_ns.is_some() {
            self.end(stamp.tid, stamp.time_ns)?;
        } else {
            let state = if misc & MISC_SWITCH_OUT_PREEMPT != 0 { 0 } else { WAITS };
            self.depart(&mut record, stamp.tid, state);
        }
        self.write_switch(&record)
    }

    /// The thread runs now. Where nothing told that it came, it was the one that came to its CPU last, or it runs since the
    /// beginning, if nobody came there before.
    fn is_on_cpu(&mut self, tid: u32, occupant: Option<Occupant>) -> Result<(), Error> {
        let place = self.threads.of(tid, 0).place;
        if place == Place::OnCpu || (place == Place::Unknown && occupant.is_none()) {
            self.threads.of(tid, 0).place = Place::OnCpu;
            return Ok(());
        }
        self.was_off_cpu(tid)?;
        let Some(Occupant { since_ns, .. }) = occupant.filter(|occupant| occupant.tid == tid) else {
            self.tally.arrivals_unseen += 1;
            self.threads.of(tid, 0).place = Place::OnCpu;
            return Ok(());
        };
        let h = header(raw_kind::SWITCH, 0, since_ns);
        let mut record = SwitchRecord { h, syscall: -1, ..SwitchRecord::zeroed() };
        self.arrive(&mut record, tid);
        self.trace.once(since_ns, |records| records.fixed(&record))
    }

    /// The thread was off its CPU until now: of one that nothing has told of before, from the beginning on.
    fn was_off_cpu(&mut self, tid: u32) -> Result<(), Error> {
        let thread = self.threads.of(tid, 0);
        if thread.place != Place::Unknown {
            return Ok(());
        }
        thread.place = Place::OffCpu;
        let first_ns = self.tally.first_ns;
        let h = header(raw_kind::SWITCH, tid, first_ns);
        let (flags, syscall) = (switch_flag::SEEDED, i32::from(UNSEEN));
        let record = SwitchRecord { h, state: WAITS, flags, syscall, ..SwitchRecord::zeroed() };
        self.trace.once(first_ns, |records| records.fixed(&record))
    }

    fn depart(&mut self, record: &mut SwitchRecord, tid: u32, state: u32) {
        self.threads.of(tid, 0).place = Place::OffCpu;
        self.wakes.remove(&tid);
        record.h.tid = tid;
        // A parked or idle thread of the kernel's waits, too.
        record.state = match state {
            0 => 0,
            _ if state & (STOPPED_OR_TRACED | WAITS_SURELY) != 0 => state & (STOPPED_OR_TRACED | WAITS_SURELY),
            _ => WAITS,
        };
        if state == 0 {
            record.flags |= switch_flag::PREEMPTED;
        } else if state == WAITS && record.user_stack != 0 {
            record.syscall = i32::from(UNSEEN);
        }
    }

    fn arrive(&mut self, record: &mut SwitchRecord, tid: u32) {
        self.threads.of(tid, 0).place = Place::OnCpu;
        record.next_tid = tid;
        if let Some(wake) = self.wakes.remove(&tid) {
            record.wake_time_ns = wake.time_ns;
            record.waker_tid = wake.tid;
            record.waker_context = wake.context;
            record.waker_stack = wake.stack;
            record.waker_syscall = -1;
        }
    }

    fn write_switch(&mut self, record: &SwitchRecord) -> Result<(), Error> {
        if record.h.tid == 0 && record.next_tid == 0 {
            return Ok(());
        }
        self.trace.event(record.h.time_ns, |records| records.fixed(record))
    }

    fn wakes(&mut self, sample: &Sample<'_>, fields: &WakeFields, chain: &Chain) -> Result<(), Error> {
        let woken = fields.tid.number(sample.raw).and_then(|tid| u32::try_from(tid).ok());
        let (Some(woken), Some(context)) = (woken, fields.context.number(sample.raw)) else {
            self.tally.unreadable += 1;
            return Ok(());
        };
        let Stamp { tgid, tid, time_ns, .. } = sample.stamp;
        let context = match (tid, context) {
            _ if !fields.by_waker => waker_context::NONE,
            (0 | NOBODY, _) => waker_context::IDLE,
            (_, flags) if flags & IN_HARD_INTERRUPT != 0 => waker_context::HARDIRQ,
            (_, flags) if flags & IN_SOFT_INTERRUPT != 0 => waker_context::SOFTIRQ,
            _ => waker_context::TASK,
        };
        let mut wake = Wake { time_ns, tid: 0, context, stack: 0 };
        if context == waker_context::TASK {
            self.describe_thread(tid, tgid)?;
            (wake.tid, wake.stack) = (tid, self.stacks(sample.stamp, chain)?.0);
        }
        self.wakes.insert(woken, wake);
        Ok(())
    }

    /// Describes a thread that was there from the start, when something happens to it first.
    fn describe_thread(&mut self, tid: u32, tgid: u32) -> Result<(), Error> {
        let thread = self.threads.of(tid, tgid);
        if thread.is_described {
            return Ok(());
        }
        thread.is_described = true;
        let time_ns = self.tally.first_ns;
        let record = ThreadNewRecord {
            h: header(raw_kind::THREAD_NEW, tid, time_ns),
            tgid: thread.tgid,
            flags: THREAD_SEEDED,
            comm: thread.name,
            ..ThreadNewRecord::zeroed()
        };
        self.trace.once(time_ns, |records| records.fixed(&record))
    }

    fn comm(&mut self, record: &Pending, (tgid, tid): (u32, u32), text: &[u8]) -> Result<(), Error> {
        if tid == 0 || tid == NOBODY {
            return Ok(());
        }
        let is_exec = record.misc & MISC_COMM_EXEC != 0 && record.time_ns != 0;
        let thread = self.threads.of(tid, tgid);
        thread.name = name(text);
        let (is_described, comm, tgid) = (thread.is_described, thread.name, thread.tgid);
        if is_exec {
            self.describe_thread(tid, tgid)?;
            let h = header(raw_kind::EXEC, tid, record.time_ns);
            let exec = ExecRecord { h, tgid, old_tid: tid, comm, ..ExecRecord::zeroed() };
            return self.trace.once(record.time_ns, |records| records.fixed(&exec));
        }
        if is_described {
            let renamed = ThreadNameRecord { h: header(raw_kind::THREAD_NAME, tid, record.time_ns), comm };
            return self.trace.once(record.time_ns, |records| records.fixed(&renamed));
        }
        Ok(())
    }

    fn fork(&mut self, time_ns: u64, (tgid, tid): (u32, u32), (parent_tgid, parent): (u32, u32)) -> Result<(), Error> {
        if tid == 0 || tid == NOBODY {
            return Ok(());
        }
        if time_ns == 0 {
            self.threads.of(tid, tgid);
            return Ok(()); // it was there before
        }
        self.end(tid, time_ns)?; // its id is used again
        if parent != 0 && parent != NOBODY {
            self.describe_thread(parent, parent_tgid)?;
        }
        let comm = self.threads.of(parent, parent_tgid).name;
        let thread = self.threads.of(tid, tgid);
        (thread.name, thread.is_described) = (comm, true);
        let record = ThreadNewRecord {
            h: header(raw_kind::THREAD_NEW, tid, time_ns),
            tgid,
            parent_tid: parent,
            parent_tgid,
            comm,
            ..ThreadNewRecord::zeroed()
        };
        self.trace.once(time_ns, |records| records.fixed(&record))?;
        if self.plan.has_switches() {
            thread.place = Place::OffCpu;
            return Ok(());
        }
        // Nothing tells how long it waited for a CPU first.
        sampling::run_until(&mut self.trace, (tid, thread), u16::MAX, (time_ns, time_ns))?;
        sampling::leave(&mut self.trace, (tid, thread))
    }

    /// The thread begins to end. With switches it is gone when it leaves its CPU.
    fn exit(&mut self, tid: u32, time_ns: u64) -> Result<(), Error> {
        match self.threads.find(tid) {
            Some(thread) if thread.is_described && self.plan.has_switches() => {
                thread.ends_ns = Some(time_ns);
                Ok(())
            }
            _ => self.end(tid, time_ns),
        }
    }

    fn end(&mut self, tid: u32, time_ns: u64) -> Result<(), Error> {
        self.wakes.remove(&tid);
        let Some(mut thread) = self.threads.remove(tid).filter(|thread| thread.is_described) else { return Ok(()) };
        if !self.plan.has_switches() {
            sampling::leave(&mut self.trace, (tid, &mut thread))?;
        }
        self.write_exit(tid, thread.tgid, time_ns)
    }

    fn write_exit(&mut self, tid: u32, tgid: u32, time_ns: u64) -> Result<(), Error> {
        let h = header(raw_kind::THREAD_EXIT, tid, time_ns);
        let record = ThreadExitRecord { h, tgid, exit_code: 0, cpu_ns: 0 };
        self.trace.once(time_ns, |records| records.fixed(&record))
    }

    fn map(&mut self, record: &Pending, cursor: Cursor<'_>, is_second: bool) -> Option<()> {
        let (mut header, path) = mappings::parse(record, cursor, is_second)?;
        if header.h.tid == NOBODY || header.h.tid == 0 {
            let kernel = KernelPlace::of_mapping(path, header.file_offset);
            if self.tally.kernel.is_none() {
                let calls = kernel.as_ref().and_then(|kernel| (self.calls_of)(kernel));
                self.tally.is_this_kernel = calls.is_some();
                (self.tally.kernel, self.calls) = (kernel, calls.unwrap_or_default());
            }
            return Some(());
        }
        if let Some(id) = self.description.build_ids.get(path).filter(|_| header.build_id_bytes == 0) {
            mappings::put_build_id(&mut header, id);
        }
        self.maps.push((header, path.to_vec()));
        Some(())
    }

    /// Writes what is still open.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn finish(mut self) -> Result<(Tally, u64), Error> {
        for (mut header, path) in std::mem::take(&mut self.maps) {
            header.h.time_ns = header.h.time_ns.max(self.tally.first_ns);
            self.trace.once(header.h.time_ns, |records| records.map(header, &path))?;
        }
        for (tid, mut thread) in self.threads.take_all() {
            if !self.plan.has_switches() {
                sampling::leave(&mut self.trace, (tid, &mut thread))?;
            }
            if let Some(ends_ns) = thread.ends_ns {
                self.write_exit(tid, thread.tgid, ends_ns)?;
            }
        }
        self.trace.finish()?;
        Ok((self.tally, self.trace.count))
    }
}

fn header(kind: u16, tid: u32, time_ns: u64) -> RecordHeader {
    RecordHeader { kind, size: 0, tid, time_ns }
}
