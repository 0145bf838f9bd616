//! The events of the profiled threads: on each CPU a clock, the page faults and the entries of system calls, all inherited by
//! what the threads create, all writing to the ring of that CPU.
#![allow(unsafe_code, reason = "ioctl")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::closing;
use super::record::{CallLayout, REGISTERS, SampledEvent};
use super::ring::Ring;
use crate::kernel::perf::{self, Attributes, EventTarget, PAGE_BYTES};
use crate::machine;
use foldhash::HashMap;

// include/uapi/linux/perf_event.h
const TYPE_TRACEPOINT: u32 = 2;
const CONFIG_PAGE_FAULTS: u64 = 2;
const CONFIG_CONTEXT_SWITCHES: u64 = 3;
const FLAG_COMM: u64 = 1 << 9;
const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;
const FLAG_TASK: u64 = 1 << 13;
const FLAG_EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const FLAG_COMM_EXEC: u64 = 1 << 24;
const FLAG_CONTEXT_SWITCH: u64 = 1 << 26;
const SAMPLE_IP: u64 = 1;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_RAW: u64 = 1 << 10;
const SAMPLE_REGS_USER: u64 = 1 << 12;
const SAMPLE_STACK_USER: u64 = 1 << 13;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;
const FORMAT_LOST: u64 = 1 << 4;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_ID: libc::c_ulong = 0x8008_2407;
pub const IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;

/// A filter that the kernel takes where every record of a tracepoint begins with such a field.
const OF_LAZY_COUNTS: &CStr = c"common_preempt_lazy_count == 0";

/// Largest ring of a CPU, and the smallest that is worth a collection.
const LARGEST_RING: usize = 4 << 20;
const SMALLEST_RING: usize = 64 << 10;
/// All rings together.
const ALL_RINGS: usize = 64 << 20;
/// Bytes of stack with each system call, and with each sample of the clock. Stacks are mostly waited in at the same places:
/// what lies deeper is read from the thread as long as it waits.
const CALL_STACK_BYTES: u32 = 2048;
const CLOCK_STACK_BYTES: u32 = 16 << 10;
/// In rings smaller than this the clock takes less.
const SMALL_RING: usize = 1 << 20;
const SMALL_CLOCK_STACK_BYTES: u32 = 4096;

/// What is traced, and how.
pub struct TracePlan {
    /// Running time between samples, ns.
    pub sampling_interval_ns: u64,
    /// Tracepoints of system calls.
    pub calls: Vec<Tracepoint>,
    /// The kernel's own work may be seen: its stacks, and the tracepoint of every call.
    pub sees_kernel: bool,
    /// From the next exec on, not at once.
    pub from_exec: bool,
}

/// A tracepoint of system calls.
#[derive(Clone)]
pub struct Tracepoint {
    /// Its number.
    pub id: u64,
    /// Which of its events are wanted, if not all: it is that of every call.
    pub filter: Option<CString>,
}

/// Whether this user may see what the kernel does for their programs: `kernel.perf_event_paranoid` is 1 or less, or they have
/// CAP_PERFMON.
pub fn sees_kernel() -> bool {
    open_clock(0).is_ok()
}

/// Fails where this user may open no event of their own programs. Errors are those of perf_event_open(2).
pub fn opens() -> io::Result<()> {
    open_clock(perf::FLAG_EXCLUDE_KERNEL | perf::FLAG_EXCLUDE_HYPERVISOR)
}

fn open_clock(flags: u64) -> io::Result<()> {
    let attributes = Attributes {
        ty: perf::TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: perf::CONFIG_TASK_CLOCK,
        flags: perf::FLAG_DISABLED | flags,
        ..Attributes::default()
    };
    perf::open(&attributes, &EventTarget::Thread(0)).map(drop)
}

/// Open events and their rings.
pub struct Events {
    plan: TracePlan,
    /// By CPU; a CPU that is offline has none.
    pub rings: Vec<Ring>,
    cpus: Vec<usize>,
    /// Linux 6.0 and newer count the records that an event, and those inherited from it, lost.
    count_losses: bool,
    /// Linux 5.12 and newer tell the build ids of mapped files.
    with_build_ids: bool,
    /// Event that owns the ring of each CPU.
    owners: Vec<RawFd>,
    /// Clocks and page faults that own no ring: they are only kept open.
    others: Vec<OwnedFd>,
    /// System calls, by their number in the plan.
    calls: Vec<(usize, OwnedFd)>,
    /// An event of each tracepoint on Dwell itself, which never counts: the kernel takes some 40 ms to close the last one of a
    /// tracepoint, and lets nobody create threads with such events meanwhile.
    anchors: Vec<OwnedFd>,
    /// Who closes tracepoints takes it.
    lock: CString,
    sorts: HashMap<u64, SampledEvent>,
    /// How records of calls are to be read.
    pub layout: CallLayout,
    /// Threads whose events could not all be opened.
    pub failed: u64,
}

impl Events {
    /// Opens the events of thread `tid`, and the rings. Errors are those of perf_event_open(2) and mmap(2).
    pub fn open(tid: u32, plan: TracePlan, lock: CString) -> io::Result<Self> {
        let cpus = machine::online();
        if cpus.is_empty() {
            return Err(io::Error::other("the machine does not tell its CPUs"));
        }
        let mut events = Self {
            plan,
            rings: Vec::new(),
            cpus: Vec::new(),
            count_losses: true,
            with_build_ids: true,
            owners: Vec::new(),
            others: Vec::new(),
            calls: Vec::new(),
            anchors: Vec::new(),
            lock,
            sorts: HashMap::default(),
            layout: CallLayout::default(),
            failed: 0,
        };
        let mut ring_bytes = LARGEST_RING.min(1 << (ALL_RINGS / cpus.len().max(1)).max(SMALLEST_RING).ilog2());
        for cpu in cpus {
            let ring = events.open_ring(tid, cpu, &mut ring_bytes)?;
            events.owners.push(ring.fd().as_raw_fd());
            events.rings.push(ring);
            events.cpus.push(cpu);
        }
        events.anchor();
        for index in 0..events.cpus.len() {
            events.open_calls(tid, index)?;
        }
        Ok(events)
    }

    /// Opens a clock and maps its ring, of half as many bytes until the user's limit on locked memory lets it through.
    fn open_ring(&mut self, tid: u32, cpu: usize, ring_bytes: &mut usize) -> io::Result<Ring> {
        loop {
            let clock = self.open_one(tid, cpu, &self.clock(*ring_bytes));
            if (self.count_losses || self.with_build_ids)
                && clock.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
            {
                // Without the newest of them first.
                self.with_build_ids &= self.count_losses;
                self.count_losses = false;
                continue;
            }
            let clock = clock?;
            self.identify(&clock, SampledEvent::Clock)?;
            match Ring::map(clock, *ring_bytes) {
                Err(error) if *ring_bytes <= SMALLEST_RING.max(PAGE_BYTES) => return Err(error),
                // Another clock, since this one wakes us when so much is written.
                Err(_) => *ring_bytes /= 2,
                ring => return ring,
            }
        }
    }

    /// Opens an event of each tracepoint on Dwell itself. One that the kernel does not know is left out.
    fn anchor(&mut self) {
        let of_every = self.plan.calls.iter().any(|tracepoint| tracepoint.filter.is_some());
        for tracepoint in std::mem::take(&mut self.plan.calls) {
            let call = self.call(tracepoint.id);
            let attributes = Attributes { flags: perf::FLAG_DISABLED | call.flags & perf::FLAG_EXCLUDE_KERNEL, ..call };
            if let Ok(anchor) = perf::open(&attributes, &EventTarget::Thread(0)) {
                self.layout = CallLayout::new(set_filter(&anchor, OF_LAZY_COUNTS).is_ok(), of_every);
                self.anchors.push(anchor);
                self.plan.calls.push(tracepoint);
            }
        }
    }

    /// Opens them of another thread, with the same rings. A thread that has ended needs none.
    pub fn add(&mut self, tid: u32) {
        for index in 0..self.cpus.len() {
            let opened = self.open_into(tid, index, &self.clock(SMALL_RING), SampledEvent::Clock).and_then(|clock| {
                self.others.push(clock);
                self.open_calls(tid, index)
            });
            match opened {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return,
                Err(_) => {
                    self.failed += 1;
                    return;
                }
                Ok(()) => {}
            }
        }
    }

    /// Traces only the first half of the system calls from now on: threads are made at less cost.
    pub fn shed(&mut self) {
        let kept = self.plan.calls.len().div_ceil(2);
        self.calls.retain(|(call, _)| *call < kept);
        self.plan.calls.truncate(kept);
    }

    /// Events that a new thread inherits.
    pub fn inherited(&self) -> usize {
        self.cpus.len() * (self.plan.calls.len() + 2 + usize::from(self.plan.sees_kernel))
    }

    /// Records lost by the events that are open, those included that no record in a ring tells yet; 0 where the kernel does not
    /// count them.
    pub fn lost(&self) -> u64 {
        if !self.count_losses {
            return 0;
        }
        let rings = self.rings.iter().map(Ring::fd);
        let others = self.others.iter().chain(self.calls.iter().map(|(_, event)| event)).map(AsFd::as_fd);
        rings.chain(others).filter_map(lost_by).sum()
    }

    /// Whether any call is traced.
    pub fn traces_calls(&self) -> bool {
        !self.plan.calls.is_empty()
    }

    /// Whether there are calls to be shed.
    pub fn has_many(&self) -> bool {
        self.plan.calls.len() > 1
    }

    /// Whether samples of the event of this identifier have a stack of the kernel.
    pub fn has_chain(&self, identifier: u64) -> bool {
        self.plan.sees_kernel && matches!(self.sort(identifier), Some(SampledEvent::Clock | SampledEvent::Leave))
    }

    /// What the event of this identifier samples.
    pub fn sort(&self, identifier: u64) -> Option<SampledEvent> {
        self.sorts.get(&identifier).copied()
    }

    /// Readable when a ring is half full.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.rings.iter().map(Ring::fd).collect()
    }

    fn open_calls(&mut self, tid: u32, index: usize) -> io::Result<()> {
        let faults = self.open_into(tid, index, &self.faults(), SampledEvent::Fault)?;
        self.others.push(faults);
        if self.plan.sees_kernel {
            let leaving = self.open_into(tid, index, &self.leaving(), SampledEvent::Leave)?;
            self.others.push(leaving);
        }
        for number in 0..self.plan.calls.len() {
            let Tracepoint { id, filter } = self.plan.calls[number].clone();
            let event = self.open_into(tid, index, &self.call(id), SampledEvent::Enter)?;
            if let Some(filter) = filter {
                set_filter(&event, &filter)?;
            }
            self.calls.push((number, event));
        }
        Ok(())
    }

    fn open_into(
        &mut self,
        tid: u32,
        index: usize,
        attributes: &Attributes,
        sort: SampledEvent,
    ) -> io::Result<OwnedFd> {
        let event = self.open_one(tid, self.cpus[index], attributes)?;
        self.identify(&event, sort)?;
        self.redirect(&event, index)?;
        Ok(event)
    }

    fn open_one(&self, tid: u32, cpu: usize, attributes: &Attributes) -> io::Result<OwnedFd> {
        perf::open(attributes, &EventTarget::ThreadOn(tid, cpu))
    }

    /// Every sample tells which event it is of by its identifier, that of children being their parent's.
    fn identify(&mut self, event: &OwnedFd, sort: SampledEvent) -> io::Result<()> {
        let mut identifier = 0u64;
        // SAFETY: the call writes a number to a valid place.
        let failed = unsafe { libc::ioctl(event.as_raw_fd(), IOC_ID, &raw mut identifier) } < 0;
        if failed {
            return Err(io::Error::last_os_error());
        }
        self.sorts.insert(identifier, sort);
        Ok(())
    }

    fn redirect(&self, event: &OwnedFd, index: usize) -> io::Result<()> {
        // SAFETY: plain numbers.
        let failed = unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_OUTPUT, self.owners[index]) } < 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn common(&self) -> Attributes {
        let begin = if self.plan.from_exec { perf::FLAG_DISABLED | FLAG_ENABLE_ON_EXEC } else { 0 };
        let excluded = if self.plan.sees_kernel { 0 } else { perf::FLAG_EXCLUDE_KERNEL };
        Attributes {
            size: size_of::<Attributes>() as u32,
            read_format: if self.count_losses { FORMAT_LOST } else { 0 },
            sample_type: SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID | perf::SAMPLE_TIME | SAMPLE_CPU,
            sample_period: 1,
            flags: begin
                | perf::FLAG_INHERIT
                | excluded
                | perf::FLAG_EXCLUDE_HYPERVISOR
                | perf::FLAG_WATERMARK
                | perf::FLAG_SAMPLE_ID_ALL
                | perf::FLAG_USE_CLOCKID,
            wakeup: 1 << 30,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        }
    }

    /// The clock, which also notes switches, births, ends, names and mappings.
    fn clock(&self, ring_bytes: usize) -> Attributes {
        let common = self.common();
        let stack = if ring_bytes < SMALL_RING { SMALL_CLOCK_STACK_BYTES } else { CLOCK_STACK_BYTES };
        let (chain, of_kernel) = self.chain();
        Attributes {
            ty: perf::TYPE_SOFTWARE,
            config: perf::CONFIG_TASK_CLOCK,
            sample_period: self.plan.sampling_interval_ns,
            sample_type: common.sample_type | chain | SAMPLE_REGS_USER | SAMPLE_STACK_USER,
            sample_regs_user: REGISTERS,
            sample_stack_user: stack,
            wakeup: (ring_bytes / 2) as u32,
            flags: common.flags
                | of_kernel
                | FLAG_COMM
                | FLAG_COMM_EXEC
                | FLAG_TASK
                | FLAG_CONTEXT_SWITCH
                | perf::FLAG_MMAP
                | perf::FLAG_MMAP2
                | if self.with_build_ids { perf::FLAG_BUILD_ID } else { 0 },
            ..common
        }
    }

    /// What adds the kernel's stack to a sample.
    fn chain(&self) -> (u64, u64) {
        if self.plan.sees_kernel { (SAMPLE_CALLCHAIN, FLAG_EXCLUDE_CALLCHAIN_USER) } else { (0, 0) }
    }

    /// Threads that leave a CPU, with the kernel's stack.
    fn leaving(&self) -> Attributes {
        let (common, (chain, of_kernel)) = (self.common(), self.chain());
        Attributes {
            ty: perf::TYPE_SOFTWARE,
            config: CONFIG_CONTEXT_SWITCHES,
            sample_type: common.sample_type | chain,
            flags: common.flags | of_kernel,
            ..common
        }
    }

    /// Faults of user code: a thread that blocks next blocks for a page.
    fn faults(&self) -> Attributes {
        let common = self.common();
        let flags = common.flags | perf::FLAG_EXCLUDE_KERNEL;
        Attributes { ty: perf::TYPE_SOFTWARE, config: CONFIG_PAGE_FAULTS, flags, ..common }
    }

    fn call(&self, id: u64) -> Attributes {
        let common = self.common();
        Attributes {
            ty: TYPE_TRACEPOINT,
            config: id,
            sample_type: common.sample_type | SAMPLE_RAW | SAMPLE_REGS_USER | SAMPLE_STACK_USER,
            sample_regs_user: REGISTERS,
            sample_stack_user: CALL_STACK_BYTES,
            ..common
        }
    }
}

/// An event's value and its losses, as `FORMAT_LOST` has them read.
fn lost_by(event: BorrowedFd<'_>) -> Option<u64> {
    let mut read = [0; 16];
    let count = rustix::io::read(event, &mut read).ok()?;
    (count == read.len()).then(|| u64::from_ne_bytes(read[8..].try_into().unwrap_or_default()))
}

fn set_filter(event: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the call reads a string that ends.
    let failed = unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_FILTER, filter.as_ptr()) } < 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The last event of each tracepoint is closed when no collection runs any more.
impl Drop for Events {
    fn drop(&mut self) {
        self.rings.clear();
        let mut events: Vec<RawFd> = self.anchors.iter().map(AsRawFd::as_raw_fd).collect();
        events.sort_unstable();
        let mut kept = Vec::with_capacity(events.len() + 1);
        // SAFETY: system calls only, and `kept` has room.
        unsafe {
            closing::in_own_process(&[], || {
                let lock = closing::open(&self.lock);
                kept.extend_from_slice(&events);
                if lock >= 0 {
                    kept.push(lock);
                    kept.sort_unstable();
                }
                close_all_but(&kept);
                closing::close(lock, &events);
            });
        }
    }
}

/// Closes every descriptor of this process but `kept`, which are in ascending order: what Dwell writes to must not stay open.
unsafe fn close_all_but(kept: &[RawFd]) {
    let mut next: libc::c_uint = 0;
    for &fd in kept {
        let fd = fd.cast_unsigned();
        if fd > next {
            // SAFETY: plain numbers.
            unsafe { libc::syscall(libc::SYS_close_range, next, fd - 1, 0) };
        }
        next = fd + 1;
    }
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_close_range, next, libc::c_uint::MAX, 0) };
}
