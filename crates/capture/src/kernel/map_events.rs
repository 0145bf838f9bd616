//! The kernel's notes of files being mapped.
//!
//! Whoever asks for them gets a note of each thread's birth and end as well (`perf_event_task_match` in
//! kernel/events/core.c). Being woken at each note costs whoever maps or creates some 10 us: little for a program that maps a
//! file, much for one that creates thousands of threads. So there are two rings for each CPU, of which one is written: one
//! that wakes us at each note, and one that we look into, while there are many births and few mappings.
#![allow(unsafe_code, reason = "mapping a ring of perf events has no safe interface")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::kernel::perf::{
    Attributes, CONFIG_DUMMY, EventTarget, FLAG_BUILD_ID, FLAG_DISABLED, FLAG_MMAP, FLAG_MMAP2, FLAG_SAMPLE_ID_ALL,
    FLAG_USE_CLOCKID, FLAG_WATERMARK, Mapping, PAGE_BYTES, RECORD_EXIT, RECORD_FORK, RECORD_LOST, RECORD_MMAP2,
    SAMPLE_TIME, TYPE_SOFTWARE, open, parse_mapping, read_u64, set_enabled, split_record,
};
use crate::machine;

/// Bytes of a ring that wakes us, and how many it takes for that.
const WAKING: (usize, u32) = (128 * PAGE_BYTES, 1);
/// The same of a ring that we look into by ourselves every 20 ms: it wakes us before it is full.
const QUIET: (usize, u32) = (32 * PAGE_BYTES, 16 * PAGE_BYTES as u32);
/// How long births and mappings are counted before the rings may change.
const WINDOW_NS: u64 = 50_000_000;
/// Births and ends in that time from which waking costs much, and how many for each mapping.
const MANY_TASKS: u64 = 50;
const TASKS_PER_MAPPING: u64 = 10;

/// The rings of all CPUs.
pub struct MapEvents {
    waking: Vec<Ring>,
    quiet: Vec<Ring>,
    churn: Churn,
}

impl MapEvents {
    /// Begins to note what code on any CPU maps. Errors are those of perf_event_open(2) and mmap(2).
    pub fn open() -> Result<Self> {
        let rings = |sizes, flags| -> Result<Vec<Ring>> {
            machine::online().into_iter().map(|cpu| Ring::open(cpu, sizes, flags)).collect()
        };
        Ok(Self { waking: rings(WAKING, 0)?, quiet: rings(QUIET, FLAG_DISABLED)?, churn: Churn::default() })
    }

    /// Readable when something was noted that should be read at once.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waking.iter().chain(&self.quiet).map(|ring| ring.fd.as_fd())
    }

    /// Notes that the kernel had no room for.
    pub fn lost(&self) -> u64 {
        self.waking.iter().chain(&self.quiet).map(|ring| ring.lost).sum()
    }

    /// Moves what was noted since the last call into `mappings`; `now_ns` is CLOCK_MONOTONIC.
    pub fn drain(&mut self, mappings: &mut Vec<Mapping>, now_ns: u64) {
        let known = mappings.len();
        let rings = self.waking.iter_mut().chain(&mut self.quiet);
        let tasks = rings.map(|ring| ring.drain(mappings)).sum();
        if self.churn.count(tasks, (mappings.len() - known) as u64, now_ns) {
            let (on, off) = if self.churn.is_high { (&self.quiet, &self.waking) } else { (&self.waking, &self.quiet) };
            // What is mapped in between is noted twice, which does no harm.
            on.iter().for_each(|ring| set_enabled(&ring.fd, true));
            off.iter().for_each(|ring| set_enabled(&ring.fd, false));
        }
    }
}

/// How many threads come and go for each file that is mapped.
#[derive(Debug, Default)]
struct Churn {
    since_ns: u64,
    tasks: u64,
    mappings: u64,
    is_high: bool,
}

impl Churn {
    /// Counts; tells whether that changed which it is.
    fn count(&mut self, tasks: u64, mappings: u64, now_ns: u64) -> bool {
        self.tasks += tasks;
        self.mappings += mappings;
        // A program that begins wants to be seen from the first file on.
        let is_over = now_ns.saturating_sub(self.since_ns) >= WINDOW_NS || (self.is_high && mappings > 0);
        if !is_over {
            return false;
        }
        let is_high = self.tasks >= MANY_TASKS && self.tasks >= self.mappings.saturating_mul(TASKS_PER_MAPPING);
        let changed = is_high != self.is_high;
        *self = Self { since_ns: now_ns, is_high, ..Self::default() };
        changed
    }
}

/// The notes of one CPU.
struct Ring {
    fd: OwnedFd,
    base: *mut u8,
    data_bytes: usize,
    lost: u64,
}

impl Ring {
    /// One of `data_bytes`, which wakes whoever polls it at each `wakeup` bytes.
    fn open(cpu: usize, (data_bytes, wakeup): (usize, u32), flags: u64) -> Result<Self> {
        let mut attributes = Attributes {
            ty: TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CONFIG_DUMMY,
            sample_type: SAMPLE_TIME,
            flags: flags
                | FLAG_WATERMARK
                | FLAG_MMAP
                | FLAG_MMAP2
                | FLAG_SAMPLE_ID_ALL
                | FLAG_USE_CLOCKID
                | FLAG_BUILD_ID,
            wakeup,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let system = |source| Error::System { what: "perf_event_open for mappings", source };
        let fd = open(&attributes, &EventTarget::Cpu(cpu)).or_else(|_| {
            attributes.flags &= !FLAG_BUILD_ID; // before 5.12
            open(&attributes, &EventTarget::Cpu(cpu))
        });
        let fd = fd.map_err(system)?;
        let (bytes, rights) = (data_bytes + PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new shared mapping of the event's ring; the length is 1 + 2^n pages as the interface wants.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(Error::last_os("mapping a perf ring"));
        }
        Ok(Self { fd, base: base.cast(), data_bytes, lost: 0 })
    }

    /// Moves what was noted since the last call into `mappings`. Returns how many threads came or went.
    fn drain(&mut self, mappings: &mut Vec<Mapping>) -> u64 {
        let head = self.position(1024).load(Ordering::Acquire);
        let tail = self.position(1032).load(Ordering::Relaxed);
        let available = head.wrapping_sub(tail) as usize;
        let mut records = vec![0; available.min(self.data_bytes)];
        for (offset, byte) in records.iter_mut().enumerate() {
            let at = (tail as usize + offset) % self.data_bytes;
            // SAFETY: the data area follows the first page and has `data_bytes` bytes; the kernel does not write
            // between tail and head until tail is moved.
            *byte = unsafe { ptr::read_volatile(self.base.add(PAGE_BYTES + at)) };
        }
        self.position(1032).store(head, Ordering::Release);
        let (mut rest, mut tasks) = (records.as_slice(), 0);
        while let Some((ty, misc, body, after)) = split_record(rest) {
            match ty {
                RECORD_MMAP2 => mappings.extend(
                    body.split_last_chunk()
                        .and_then(|(body, time_ns)| parse_mapping(misc, body, u64::from_ne_bytes(*time_ns))),
                ),
                RECORD_FORK | RECORD_EXIT => tasks += 1,
                RECORD_LOST => self.lost += read_u64(body, 8).unwrap_or(1),
                _ => {}
            }
            rest = after;
        }
        tasks
    }

    /// data_head and data_tail lie at bytes 1024 and 1032 of `struct perf_event_mmap_page`.
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as `self` lives, and both positions are aligned 64-bit words
        // that kernel and user space access atomically.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `open` mapped.
        unsafe { libc::munmap(self.base.cast(), self.data_bytes + PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each step of 20 ms with so many births and mappings says of it.
    fn states(steps: &[(u64, u64)]) -> Vec<bool> {
        let mut churn = Churn::default();
        let at = |step: usize| (step as u64 + 1) * 20_000_000;
        let steps = steps.iter().enumerate();
        steps
            .map(|(step, (tasks, mappings))| {
                churn.count(*tasks, *mappings, at(step));
                churn.is_high
            })
            .collect()
    }

    #[test]
    fn only_many_births_without_mappings_are_churn() {
        assert_eq!(
            states(&[(100, 0), (100, 0), (100, 0), (0, 0), (0, 0), (0, 0)]),
            [false, false, true, true, true, false]
        );
        assert_eq!(states(&[(10, 0); 6]), [false; 6], "few");
        assert_eq!(states(&[(100, 40); 6]), [false; 6], "processes that run programs");
    }

    #[test]
    fn a_program_that_begins_ends_it_at_once() {
        let churn = [(1000, 0), (0, 0), (1000, 0)];
        assert_eq!(states(&[&churn[..], &[(9, 1)]].concat()), [false, false, true, false]);
        assert_eq!(
            states(&[&churn[..], &[(1000, 1)]].concat()),
            [false, false, true, true],
            "one library among many births"
        );
    }
}
