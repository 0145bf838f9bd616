//! What enters and leaves the kernel around a page fault, a system call and an interrupt is in no event, and neither is what a
//! hook takes around its own look at the clock. It is measured when a collection begins, on a thread of Dwell's own under the
//! hooks that will record: how long before a delay's recorded begin, and after its end, that thread did nothing.
#![allow(unsafe_code, reason = "memory of its own, system calls, and a descriptor that was just made")]

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use dwell_model::Delay;
use dwell_store::raw::wire::{DelayRecord, delay_vector};
use dwell_store::raw::{Record, Records};
use dwell_store::{DelayEdges, Edges};
use dwell_wire::thread_mode;
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBufferBuilder};

use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::priority::{be_prompt, restore_scheduling};

/// How often each is made to happen: enough for a median.
const TIMES: usize = 128;
/// A look at the clock that takes longer than the one before was interrupted.
const INTERRUPTED_NS: u64 = 300;
/// Between two interrupts.
const PAUSE_NS: u64 = 20_000;
/// Interrupts are waited for no longer, and no more of them are looked at.
const LONGEST_NS: u64 = 50_000_000;
const MOST_SPANS: usize = 2 * TIMES;
/// `PIDFD_THREAD` of include/uapi/linux/pidfd.h.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;
// include/uapi/linux/membarrier.h
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// When a thread of ours did nothing: from one look at the clock to the next, ns.
type Span = (u64, u64);

/// Measures. `threads` is the map of profiled threads; nothing but what this thread does may be in the rings.
pub fn measure(threads: &MapHandle, rings: &[MapHandle]) -> Result<DelayEdges> {
    let failed = |source| Error::System { what: "measuring the hooks of delays", source };
    let cpus = Cpus::of_this_thread().map_err(failed)?;
    cpus.pin(cpus.first());
    let before = be_prompt(); // others that want the CPU would be measured else
    let measured = measure_here(threads, rings, &cpus);
    restore_scheduling(&before);
    cpus.free();
    measured
}

fn measure_here(threads: &MapHandle, rings: &[MapHandle], cpus: &Cpus) -> Result<DelayEdges> {
    let go = AtomicU8::new(WAIT);
    let failed = |source| Error::System { what: "measuring the hooks of delays", source };
    let (faults, calls, interrupts, clock_ns) = thread::scope(|scope| {
        let interrupting = || {
            cpus.pin(cpus.second());
            interrupt_others(&go);
        };
        thread::Builder::new().spawn_scoped(scope, interrupting).map_err(failed)?;
        let marked = Marked::this_thread(threads);
        let measured = marked.map(|_marked| (faults(), calls(), interruptions(&go), clock_ns()));
        go.store(END, Ordering::Relaxed);
        measured.map_err(failed)
    })?;
    let records = drain(rings)?;
    let find = |spans: &[Span], is_it: &dyn Fn(&DelayRecord) -> bool| edges(spans, &records, is_it, clock_ns);
    Ok(DelayEdges {
        page_fault: find(&faults, &|record| record.kind == Delay::MinorFault.code()),
        system_call: find(&calls, &|record| record.kind == Delay::SystemCall.code()),
        interrupt: find(&interrupts, &|record| record.vector == delay_vector::CALL_FUNCTION),
    })
}

/// The CPUs that a thread may use.
struct Cpus(libc::cpu_set_t);

impl Cpus {
    /// Fails where there are more CPUs than a set has room for.
    fn of_this_thread() -> io::Result<Self> {
        // SAFETY: an all-zero set is valid, and filled up to its own size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) {
                0 => Ok(Self(set)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        // SAFETY: within the set.
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &self.0) })
    }

    fn first(&self) -> usize {
        self.numbers().next().unwrap_or(0)
    }

    /// The next one; where there is but one, nobody interrupts.
    fn second(&self) -> usize {
        self.numbers().nth(1).unwrap_or_else(|| self.first())
    }

    /// Keeps this thread on one of them; where that is refused it stays as it was.
    fn pin(&self, cpu: usize) {
        // SAFETY: an all-zero set is valid; within it, and its own size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }

    /// Lets this thread use all of them again.
    fn free(&self) {
        // SAFETY: the set's own size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
    }
}

/// This thread, with a note that the hooks of delays, and only they, see it.
struct Marked<'m> {
    threads: &'m MapHandle,
    pidfd: OwnedFd,
}

impl<'m> Marked<'m> {
    fn this_thread(threads: &'m MapHandle) -> io::Result<Self> {
        // SAFETY: plain numbers; a result that is not negative is a new descriptor of ours.
        let pidfd = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, libc::gettid(), PIDFD_THREAD);
            let fd = if fd < 0 { libc::syscall(libc::SYS_pidfd_open, libc::gettid(), 0) } else { fd };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd as i32)
        };
        let mut value = vec![0; threads.value_size() as usize];
        value[..4].copy_from_slice(&u32::from(thread_mode::MEASURE).to_ne_bytes());
        threads.update(&pidfd.as_raw_fd().to_ne_bytes(), &value, MapFlags::ANY).map_err(io::Error::other)?;
        // A switch, at which the hooks notice it.
        thread::sleep(Duration::from_micros(1));
        Ok(Self { threads, pidfd })
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        // It can only be gone already.
        let _ = self.threads.delete(&self.pidfd.as_raw_fd().to_ne_bytes());
    }
}

/// Touches fresh pages.
fn faults() -> Vec<Span> {
    const PAGE: usize = 4096;
    let bytes = TIMES * PAGE;
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of `bytes`, written within its bounds and given back once; nobody else knows of it.
    unsafe {
        let memory = libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return Vec::new();
        }
        libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE);
        let touch = |page: usize| timed(|| ptr::write_volatile(memory.cast::<u8>().add(page * PAGE), 1));
        let spans = (0..TIMES).map(touch).collect();
        libc::munmap(memory, bytes);
        spans
    }
}

/// Makes system calls that do nothing.
fn calls() -> Vec<Span> {
    // SAFETY: the call has no arguments and cannot fail.
    (0..TIMES).map(|_| timed(|| unsafe { libc::syscall(libc::SYS_getppid) })).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> Span {
    let begin = monotonic_ns();
    work();
    (begin, monotonic_ns())
}

/// What a look at the clock takes.
fn clock_ns() -> u64 {
    median((0..TIMES).map(|_| timed(|| ())).map(|(begin, end)| end - begin).collect())
}

/// What [`interrupt_others`] is to do.
const WAIT: u8 = 0;
const INTERRUPT: u8 = 1;
const END: u8 = 2;

/// Has the CPUs interrupted that run threads of this process, until it is told to end.
fn interrupt_others(go: &AtomicU8) {
    // SAFETY: plain numbers. Where the kernel has no such call, nothing is interrupted.
    let barrier = |command: libc::c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    barrier(REGISTER_PRIVATE_EXPEDITED);
    while go.load(Ordering::Relaxed) == WAIT {
        thread::yield_now();
    }
    while go.load(Ordering::Relaxed) == INTERRUPT {
        barrier(PRIVATE_EXPEDITED);
        let until = monotonic_ns() + PAUSE_NS;
        while monotonic_ns() < until && go.load(Ordering::Relaxed) == INTERRUPT {
            std::hint::spin_loop();
        }
    }
}

/// Looks at the clock while the other thread interrupts, and notes when that took long.
fn interruptions(go: &AtomicU8) -> Vec<Span> {
    let mut spans = Vec::new();
    go.store(INTERRUPT, Ordering::Relaxed);
    let mut before = monotonic_ns();
    let until = before + LONGEST_NS;
    // On a busy machine many are for something else.
    while spans.len() < MOST_SPANS && before < until {
        let now = monotonic_ns();
        if now - before > INTERRUPTED_NS {
            spans.push((before, now));
        }
        before = now;
    }
    go.store(END, Ordering::Relaxed);
    spans
}

/// The delays in the rings, of any thread: there is but one that is measured.
fn drain(rings: &[MapHandle]) -> Result<Vec<DelayRecord>> {
    let failed = |source| Error::Bpf { what: "draining the rings".into(), source };
    let records = Rc::new(RefCell::new(Vec::new()));
    let mut builder = RingBufferBuilder::new();
    for ring in rings {
        let records = Rc::clone(&records);
        let take = move |bytes: &[u8]| {
            for record in Records::new(bytes) {
                match record {
                    Record::Delay(record) => records.borrow_mut().push(record),
                    Record::Delays(short) => records.borrow_mut().extend(short),
                    _ => {}
                }
            }
            0
        };
        builder.add(ring, take).map_err(failed)?;
    }
    builder.build().and_then(|rings| rings.consume()).map_err(failed)?;
    Ok(records.take())
}

/// How much of the spans in which one delay was recorded, and that of the sort, lies before and behind it: the medians, less
/// what the looks at the clock take.
fn edges(spans: &[Span], records: &[DelayRecord], is_it: &dyn Fn(&DelayRecord) -> bool, clock_ns: u64) -> Edges {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for &(begin, end) in spans {
        let mut inside = records.iter().filter(|record| begin <= record.begin_ns && record.h.time_ns <= end);
        if let (Some(record), None) = (inside.next(), inside.next())
            && is_it(record)
        {
            before.push((record.begin_ns - begin).saturating_sub(clock_ns / 2));
            after.push((end - record.h.time_ns).saturating_sub(clock_ns / 2));
        }
    }
    Edges { before_ns: median(before), after_ns: median(after) }
}

/// The middle one; 0 of none.
fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::wire::{RecordHeader, kind};

    use super::*;

    fn record(kind: Delay, begin_ns: u64, end_ns: u64) -> DelayRecord {
        let h = RecordHeader { kind: kind::DELAY, size: 0, tid: 1, time_ns: end_ns };
        DelayRecord { h, begin_ns, kind: kind.code(), ..DelayRecord::zeroed() }
    }

    #[test]
    fn edges_are_what_a_recorded_delay_leaves_of_its_span() {
        let is_fault = |record: &DelayRecord| record.kind == Delay::MinorFault.code();
        let spans = [(100, 1000), (2000, 2900), (3000, 9000), (9500, 9600)];
        let records = [
            record(Delay::MinorFault, 250, 890),
            record(Delay::MinorFault, 2160, 2790),
            // Beside another delay the rest is not only the fault's.
            record(Delay::MinorFault, 3400, 4000),
            record(Delay::Timer, 5000, 8000),
            record(Delay::MinorFault, 9550, 9700),
        ];
        let found = edges(&spans, &records, &is_fault, 20);
        assert_eq!(found, Edges { before_ns: 150, after_ns: 100 });
        assert_eq!(edges(&[(0, 9)], &[], &is_fault, 20), Edges::default(), "nothing was seen");
    }
}
