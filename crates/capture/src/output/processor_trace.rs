//! Intel PT beside the flight recorder: each CPU writes over its own ring what user code it runs, branch by branch, until an
//! outlier is kept; then the rings are copied into its result, as a file of perf's, and go on.
//!
//! Only where the processor and the kernel have it, which virtual machines mostly do not. What the device is told and how a
//! ring is read are functions of data, and tested; the device itself has not been at hand.
#![allow(unsafe_code, reason = "perf_event_open, its mapped rings and ioctl have no safe interface")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_pt::perf_data::Mapping;
use dwell_pt::snapshot::{Settings, perf_data};

use crate::kernel::perf;
use crate::machine;
use crate::programs::proc;

/// Where the kernel tells of the device.
const DEVICE: &str = "/sys/bus/event_source/devices/intel_pt";
/// What a CPU keeps at most: some tens of ms of busy code.
const RING_BYTES: usize = 8 << 20;
/// What all CPUs keep together: it is locked in memory, and copied for each snapshot.
const ALL_RINGS_BYTES: usize = 128 << 20;
/// Processes whose code goes along.
const MOST_PROCESSES: usize = 64;
/// Crystal clocks between two MTC packets, as a power of two.
const MTC_PERIOD: u64 = 3;

// include/uapi/linux/perf_event.h
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
/// Of `struct perf_event_mmap_page`: the conversion of time (the second half word is its shift, the second word its factor),
/// and where the ring of traces is.
const TIME_AT: usize = 48;
const TIME_ZERO_AT: usize = 64;
const AUX_HEAD_AT: usize = 1056;
const AUX_OFFSET_AT: usize = 1072;
const AUX_SIZE_AT: usize = 1080;

/// How the device of this folder is to be told to trace: branches of user code, returns and times with them.
fn settings(folder: &Path) -> Option<Settings> {
    let read = |name: &str| Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
    let bits = |name: &str| bits(&read(&format!("format/{name}"))?);
    let mtc_bits = bits("mtc").and_then(|_| bits("mtc_period")).unwrap_or(0);
    let mtc = bits("mtc").filter(|_| mtc_bits != 0);
    let period = if mtc_bits == 0 { 0 } else { MTC_PERIOD << mtc_bits.trailing_zeros() & mtc_bits };
    let config = [bits("pt"), bits("branch"), bits("tsc"), bits("noretcomp"), mtc].into_iter().flatten();
    let ratio = read("tsc_art_ratio").and_then(|text| {
        let (denominator, numerator) = text.split_once(':')?;
        Some([numerator.parse().ok()?, denominator.parse().ok()?])
    });
    Some(Settings {
        ty: read("type")?.parse().ok()?,
        config: config.fold(period, |config, bit| config | bit),
        mtc_bits,
        clock: [0; 3],
        crystal_ratio: ratio.unwrap_or_default(),
        bus_ratio: read("max_nonturbo_ratio").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

/// `config:14-17` or `config:10` as bits.
fn bits(format: &str) -> Option<u64> {
    let range = format.strip_prefix("config:")?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < 64).then(|| (u64::MAX >> (63 - (last - first))) << first)
}

/// What a ring holds, oldest first: it was written over again and again, lastly up to `head`. Where it was not filled once,
/// what was never written is zeros, and left out.
fn in_order(ring: &[u8], head: u64) -> Vec<u8> {
    let at = usize::try_from(head % ring.len().max(1) as u64).unwrap_or(0);
    let (newest, oldest) = ring.split_at(at);
    let first = oldest.iter().position(|byte| *byte != 0).unwrap_or(oldest.len());
    [&oldest[first..], newest].concat()
}

/// Memory that the kernel shares, given back at the end.
struct Shared {
    base: *mut u8,
    bytes: usize,
}

impl Shared {
    fn map(event: &OwnedFd, offset: usize, bytes: usize, access: libc::c_int) -> io::Result<Self> {
        let (fd, offset) = (event.as_raw_fd(), offset as libc::off_t);
        // SAFETY: a new mapping of the event's memory; the kernel checks place and length.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, offset) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { base: base.cast(), bytes }) }
    }

    /// A word that the kernel reads and writes at once.
    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(8) && at + 8 <= self.bytes);
        // SAFETY: mapped as long as `self` lives, and aligned.
        unsafe { &*self.base.add(at).cast::<AtomicU64>() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// One CPU's ring.
struct Ring {
    cpu: u32,
    event: OwnedFd,
    page: Shared,
    trace: Shared,
}

impl Ring {
    fn open(cpu: usize, settings: &Settings, bytes: usize) -> io::Result<Self> {
        let event = perf::processor_trace(cpu, settings.ty, settings.config)?;
        let page_bytes = 2 * perf::PAGE_BYTES;
        let page = Shared::map(&event, 0, page_bytes, libc::PROT_READ | libc::PROT_WRITE)?;
        page.word(AUX_OFFSET_AT).store(page_bytes as u64, Ordering::Relaxed);
        page.word(AUX_SIZE_AT).store(bytes as u64, Ordering::Release);
        // Mapped for reading only, the kernel writes over what is old.
        let trace = Shared::map(&event, page_bytes, bytes, libc::PROT_READ)?;
        Ok(Self { cpu: cpu as u32, event, page, trace })
    }

    /// What was traced lately; tracing stands still meanwhile.
    fn snapshot(&self) -> Vec<u8> {
        // SAFETY: requests without an argument on our own event.
        let control = |request| unsafe { libc::ioctl(self.event.as_raw_fd(), request, 0) };
        control(IOC_DISABLE);
        let head = self.page.word(AUX_HEAD_AT).load(Ordering::Acquire);
        // SAFETY: mapped for as many bytes, and the kernel does not write while the event is disabled.
        let copied = in_order(unsafe { std::slice::from_raw_parts(self.trace.base, self.trace.bytes) }, head);
        control(IOC_ENABLE);
        copied
    }

    /// How the time stamp counter becomes ns: shift, factor and zero.
    fn clock(&self) -> [u64; 3] {
        let word = |at: usize| self.page.word(at).load(Ordering::Relaxed);
        [word(TIME_AT) >> 16 & 0xffff, word(TIME_AT) >> 32, word(TIME_ZERO_AT)]
    }
}

/// All CPUs' rings.
pub struct ProcessorTrace {
    settings: Settings,
    rings: Vec<Ring>,
}

impl ProcessorTrace {
    /// Begins to trace; none on a machine without the device.
    pub fn begin() -> io::Result<Option<Self>> {
        let Some(mut settings) = settings(Path::new(DEVICE)) else { return Ok(None) };
        let cpus = machine::online();
        let share = (ALL_RINGS_BYTES / cpus.len().max(1)).clamp(256 << 10, RING_BYTES);
        let bytes = 1 << share.ilog2(); // the kernel wants a power of two
        let rings: io::Result<Vec<Ring>> = cpus.into_iter().map(|cpu| Ring::open(cpu, &settings, bytes)).collect();
        let rings = rings?;
        settings.clock = rings.first().map(Ring::clock).unwrap_or_default();
        Ok(Some(Self { settings, rings }))
    }

    /// What all CPUs traced lately, with the code of these processes, as a file of perf's.
    pub fn snapshot(&self, pids: impl Iterator<Item = u32>) -> Vec<u8> {
        let traces: Vec<(u32, Vec<u8>)> = self.rings.iter().map(|ring| (ring.cpu, ring.snapshot())).collect();
        let mapped = |pid| proc::mappings(pid, 0).into_iter().map(move |mapping| code(pid, &mapping));
        let mappings: Vec<Mapping> = pids.take(MOST_PROCESSES).flat_map(mapped).collect();
        perf_data(&self.settings, &mappings, &traces)
    }
}

fn code(pid: u32, mapping: &perf::Mapping) -> Mapping {
    let path = PathBuf::from(OsStr::from_bytes(&mapping.path));
    let header = &mapping.header;
    Mapping { pid, address: header.start, length: header.length, offset: header.file_offset, path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_read_from_its_oldest_byte() {
        assert_eq!(in_order(&[5, 6, 7, 2, 3, 4], 3), [2, 3, 4, 5, 6, 7], "written over");
        assert_eq!(in_order(&[5, 6, 7, 2, 3, 4], 9), [2, 3, 4, 5, 6, 7], "a head that counts on");
        assert_eq!(in_order(&[1, 2, 3, 0, 0, 0], 3), [1, 2, 3], "not filled once");
        assert_eq!(in_order(&[1, 2, 3, 4], 0), [1, 2, 3, 4], "just full");
        assert!(in_order(&[], 7).is_empty());
    }

    #[test]
    fn the_device_tells_its_bits() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(settings(folder.path()), None, "no device");
        fs::create_dir(folder.path().join("format")).expect("a folder");
        let files = [
            ("type", "9"),
            ("tsc_art_ratio", "2:176"),
            ("max_nonturbo_ratio", "24"),
            ("format/pt", "config:0"),
            ("format/tsc", "config:10"),
            ("format/noretcomp", "config:11"),
            ("format/branch", "config:13"),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), format!("{text}\n")).expect("a file");
        }
        let plain = settings(folder.path()).expect("a device");
        assert_eq!((plain.ty, plain.config, plain.mtc_bits), (9, 1 | 1 << 10 | 1 << 11 | 1 << 13, 0));
        assert_eq!((plain.crystal_ratio, plain.bus_ratio), ([176, 2], 24));
        fs::write(folder.path().join("format/mtc"), "config:9").expect("a file");
        fs::write(folder.path().join("format/mtc_period"), "config:14-17").expect("a file");
        let with_mtc = settings(folder.path()).expect("a device");
        assert_eq!((with_mtc.config, with_mtc.mtc_bits), (plain.config | 1 << 9 | 3 << 14, 0xf << 14));
    }

    #[test]
    fn bits_of_a_format() {
        assert_eq!((bits("config:10"), bits("config:14-17")), (Some(1 << 10), Some(0xf << 14)));
        assert_eq!((bits("config:0-63"), bits("config1:3"), bits("config:9-64")), (Some(u64::MAX), None, None));
    }
}
