//! perf events: how they are opened, the clocks that drive sampling, and how the kernel writes of mapped files.
#![allow(unsafe_code, reason = "perf_event_open has no safe interface")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use bytemuck::Zeroable;
use dwell_store::raw::wire::{MapHeader, RecordHeader, kind};

// include/uapi/linux/perf_event.h
pub const TYPE_SOFTWARE: u32 = 1;
pub const CONFIG_CPU_CLOCK: u64 = 0;
pub const CONFIG_TASK_CLOCK: u64 = 1;
pub const CONFIG_MINOR_FAULTS: u64 = 5;
pub const CONFIG_MAJOR_FAULTS: u64 = 6;
pub const CONFIG_DUMMY: u64 = 9;
pub const FLAG_DISABLED: u64 = 1 << 0;
pub const FLAG_INHERIT: u64 = 1 << 1;
pub const FLAG_EXCLUDE_USER: u64 = 1 << 4;
pub const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
pub const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
pub const FLAG_EXCLUDE_IDLE: u64 = 1 << 7;
pub const FLAG_MMAP: u64 = 1 << 8;
pub const FLAG_WATERMARK: u64 = 1 << 14;
pub const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
pub const FLAG_MMAP2: u64 = 1 << 23;
pub const FLAG_USE_CLOCKID: u64 = 1 << 25;
pub const FLAG_BUILD_ID: u64 = 1 << 34;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const RECORD_LOST: u32 = 2;
pub const RECORD_EXIT: u32 = 4;
pub const RECORD_FORK: u32 = 7;
pub const RECORD_MMAP2: u32 = 10;
pub const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const IOCTL_ENABLE: libc::c_ulong = 0x2400;
const IOCTL_DISABLE: libc::c_ulong = 0x2401;
const OPEN_CLOEXEC: libc::c_ulong = 8;

/// `struct perf_event_attr`, up to PERF_ATTR_SIZE_VER5.
#[derive(Clone, Default)]
#[repr(C)]
pub struct Attributes {
    pub ty: u32,
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup: u32,
    pub bp_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clockid: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved: u16,
}

/// What an event belongs to.
#[derive(Clone, Copy)]
pub enum EventTarget {
    /// All threads on a CPU.
    Cpu(usize),
    /// A thread on every CPU.
    Thread(u32),
    /// A thread as long as it is on a CPU.
    ThreadOn(u32, usize),
}

/// Opens an event. Errors are those of perf_event_open(2).
pub fn open(attributes: &Attributes, place: &EventTarget) -> io::Result<OwnedFd> {
    let (tid, cpu) = match *place {
        EventTarget::Cpu(cpu) => (-1, cpu as i64),
        EventTarget::Thread(tid) => (i64::from(tid), -1),
        EventTarget::ThreadOn(tid, cpu) => (i64::from(tid), cpu as i64),
    };
    // SAFETY: `attributes` is a valid perf_event_attr of the size that it states.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(attributes), tid, cpu, -1, OPEN_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor to us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Switches an event on or off.
pub fn set_enabled(event: &OwnedFd, is_on: bool) {
    let what = if is_on { IOCTL_ENABLE } else { IOCTL_DISABLE };
    // SAFETY: the calls take no memory of ours.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), what, 0) };
    debug_assert!(result == 0, "{}", io::Error::last_os_error());
}

/// Above this level of `kernel.perf_event_paranoid` the kernels of Debian and Ubuntu keep all perf events to root,
/// CAP_PERFMON or not; others know no higher level.
const MOST_PARANOID: i32 = 2;

/// The level of `kernel.perf_event_paranoid`, if it may be one at which only root may use perf events.
pub fn level_for_root() -> Option<i32> {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()?;
    (level > MOST_PARANOID).then_some(level)
}

/// That level, if it explains why an event was refused.
pub fn forbidding_level(error: &io::Error) -> Option<i32> {
    let is_about_rights = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    level_for_root().filter(|_| is_about_rights)
}

/// Why an event was refused.
pub fn refusal(error: &io::Error) -> String {
    match forbidding_level(error) {
        Some(level) => format!(
            "kernel.perf_event_paranoid is {level}: only root may use perf events; \
             sudo sysctl kernel.perf_event_paranoid={MOST_PARANOID} lets others"
        ),
        None => format!("perf_event_open: {error}"),
    }
}

/// A clock of `cpu`, which fires every `interval_ns` and runs no program while the CPU is idle.
pub fn sampling_clock(cpu: usize, interval_ns: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        ty: TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: CONFIG_CPU_CLOCK,
        sample_period: interval_ns,
        flags: FLAG_EXCLUDE_IDLE,
        ..Attributes::default()
    };
    open(&attributes, &EventTarget::Cpu(cpu))
}

/// How a page fault was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// From memory.
    Minor,
    /// From a disk.
    Major,
}

/// Every page fault of a sort on `cpu`, at its end.
pub fn page_faults(cpu: usize, fault: Fault) -> io::Result<OwnedFd> {
    let config = if fault == Fault::Minor { CONFIG_MINOR_FAULTS } else { CONFIG_MAJOR_FAULTS };
    let size = size_of::<Attributes>() as u32;
    open(
        &Attributes { ty: TYPE_SOFTWARE, size, config, sample_period: 1, ..Attributes::default() },
        &EventTarget::Cpu(cpu),
    )
}

/// What `cpu` executes of user code, by the device of type `ty`, which is told `config`.
pub fn processor_trace(cpu: usize, ty: u32, config: u64) -> io::Result<OwnedFd> {
    let (size, flags) = (size_of::<Attributes>() as u32, FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR);
    open(&Attributes { ty, size, config, flags, ..Attributes::default() }, &EventTarget::Cpu(cpu))
}

/// A file that was mapped executable.
#[derive(Debug)]
pub struct Mapping {
    /// Everything but the path, as the trace keeps it.
    pub header: MapHeader,
    /// The file's path.
    pub path: Vec<u8>,
}

/// Bytes of a page on x86-64.
pub const PAGE_BYTES: usize = 4096;

/// Type, flags and body of the first record, and what comes behind it.
pub fn split_record(bytes: &[u8]) -> Option<(u32, u16, &[u8], &[u8])> {
    let ty = u32::from_ne_bytes(bytes.get(0..4)?.try_into().ok()?);
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let size = usize::from(u16::from_ne_bytes(bytes.get(6..8)?.try_into().ok()?));
    Some((ty, misc, bytes.get(8..size)?, bytes.get(size..)?))
}

/// PERF_RECORD_MMAP2: pid, tid, addr, len, pgoff, then build id or device and inode, prot, flags, path.
pub fn parse_mapping(misc: u16, body: &[u8], time_ns: u64) -> Option<Mapping> {
    let mut header = MapHeader {
        h: RecordHeader { kind: kind::MAP, size: 0, tid: read_u32(body, 0)?, time_ns },
        start: read_u64(body, 8)?,
        length: read_u64(body, 16)?,
        file_offset: read_u64(body, 24)?,
        ..MapHeader::zeroed()
    };
    if misc & MISC_MMAP_BUILD_ID != 0 {
        let bytes = usize::from(*body.get(32)?).min(20);
        header.build_id_bytes = bytes as u32;
        header.build_id[..bytes].copy_from_slice(body.get(36..36 + bytes)?);
    } else {
        header.device = read_u32(body, 32)? << 20 | read_u32(body, 36)?;
        header.inode = read_u64(body, 40)?;
    }
    header.protection = read_u32(body, 56)?;
    let text = body.get(64..)?;
    let length = text.iter().position(|&byte| byte == 0)?;
    Some(Mapping { header, path: text[..length].to_vec() })
}

/// The number at byte `at`.
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The number at byte `at`.
pub fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
