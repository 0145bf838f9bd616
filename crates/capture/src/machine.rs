//! The machine: its name, kernel and CPUs, and how many of these the program may use.
#![allow(unsafe_code, reason = "sched_getaffinity")]

use std::fs;
use std::path::Path;

use dwell_doctor::{Machine, quota_in_cpus};
use dwell_store::{CpuInfo, CpuPlace};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Error, Result};

/// `CPUIDLE_STATE_MAX` of the kernel.
const MOST_IDLE_STATES: usize = 10;

/// Host name.
pub fn host() -> String {
    read("/proc/sys/kernel/hostname")
}

/// Kernel release.
pub fn kernel() -> String {
    read("/proc/sys/kernel/osrelease")
}

/// Boot id.
pub fn boot_id() -> String {
    read("/proc/sys/kernel/random/boot_id")
}

/// The CPUs; `usable` = affinity of process `pid` (0 = this one), cut to the quota of its control groups, rounded up.
pub fn cpus(pid: u32) -> CpuInfo {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let quota = quota_in_cpus(&Machine::here(), pid).map_or(u32::MAX, |cpus| cpus.ceil() as u32);
    let usable = affinity(pid).min(quota).max(1);
    CpuInfo { online: online().len() as u32, usable, model: model.map(|(_, name)| name.to_owned()).unwrap_or_default() }
}

/// Numbers of the CPUs that are online.
pub fn online() -> Vec<usize> {
    parse_list(&read("/sys/devices/system/cpu/online"))
}

/// How many CPUs there can ever be: the highest possible number + 1.
///
/// # Errors
///
/// sysfs is not mounted or hidden: with fewer rings than CPUs, whole CPUs would be missing in the result.
pub fn possible() -> Result<usize> {
    let last = parse_list(&read("/sys/devices/system/cpu/possible")).last().copied();
    last.map(|last| last + 1)
        .ok_or_else(|| Error::unsupported("/sys/devices/system/cpu/possible cannot be read: mount sysfs at /sys"))
}

/// Descriptors that the hooks and their maps need …
const DESCRIPTORS: u64 = 256;
/// … and those for each CPU.
const DESCRIPTORS_OF_CPU: u64 = 8;
/// Descriptors that a collection rarely has more of.
const USUAL_DESCRIPTORS: u64 = 4096;

/// Allows this process as many descriptors as it may allow itself: each thread's events and each file of the profiled
/// program that is held take some. The launched program must not inherit that.
pub fn raise_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it cannot be raised, what descriptors are missing for is told and counted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    grow_descriptor_table(maximum.unwrap_or(u64::MAX));
}

/// Makes the table of this process's descriptors large enough now. It doubles as they come, and where threads share it the one
/// that opens a file then waits for a grace period of RCU (expand_files, fs/file.c): 10 ms, in which a profiled program ends.
fn grow_descriptor_table(limit: u64) {
    let last = limit.min(USUAL_DESCRIPTORS).saturating_sub(1);
    // Where this fails, the table grows later.
    let _ = fcntl_dupfd_cloexec(rustix::stdio::stderr(), last as i32);
}

/// Fails when there are too few descriptors for the hooks: libbpf would not say so.
pub fn check_descriptors() -> Result<()> {
    let needed = DESCRIPTORS + DESCRIPTORS_OF_CPU * possible()? as u64;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => Err(Error::TooFewDescriptors { limit, needed }),
        _ => Ok(()),
    }
}

/// Where the CPUs are, as far as the kernel tells.
pub fn places() -> Vec<CpuPlace> {
    places_in(Path::new("/sys/devices/system/cpu"), &online())
}

fn places_in(folder: &Path, cpus: &[usize]) -> Vec<CpuPlace> {
    let place = |&cpu: &usize| {
        let folder = folder.join(format!("cpu{cpu}"));
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
        let node = names(&folder).iter().find_map(|name| name.strip_prefix("node")?.parse().ok());
        let caches = names(&folder.join("cache")).into_iter().map(|name| folder.join("cache").join(name));
        let last = caches.filter_map(|cache| Some((number(&cache.join("level"))?, number(&cache.join("id"))?))).max();
        Some(CpuPlace { cpu: u32::try_from(cpu).ok()?, node: node?, cache: last?.1 })
    };
    cpus.iter().filter_map(place).collect()
}

/// The names of the idle states, by number.
pub fn idle_states() -> Vec<String> {
    let name = |state: usize| {
        let path = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}/name");
        fs::read_to_string(path).ok().map(|name| name.trim().to_owned())
    };
    (0..MOST_IDLE_STATES).map_while(name).collect()
}

/// `0-3,8` as numbers; at most 65,536 of them.
fn parse_list(text: &str) -> Vec<usize> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    });
    ranges.flatten().take(1 << 16).collect()
}

fn affinity(pid: u32) -> u32 {
    // SAFETY: an all-zero cpu_set_t is valid and the size is its own.
    let count = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let failed = libc::sched_getaffinity(pid as i32, size_of::<libc::cpu_set_t>(), &raw mut set) != 0;
        if failed { 0 } else { libc::CPU_COUNT(&set) }
    };
    if count > 0 { count as u32 } else { online().len() as u32 }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_nodes_and_last_caches() {
        let folder = tempfile::tempdir().expect("a folder");
        for (cpu, node, caches) in [(0, "node0", vec![(1, 0), (3, 0)]), (9, "node1", vec![(3, 4), (2, 7)])] {
            let at = folder.path().join(format!("cpu{cpu}"));
            fs::create_dir_all(at.join(node)).expect("a folder");
            for (index, (level, id)) in caches.into_iter().enumerate() {
                let cache = at.join(format!("cache/index{index}"));
                fs::create_dir_all(&cache).expect("a folder");
                fs::write(cache.join("level"), format!("{level}\n")).expect("a file");
                fs::write(cache.join("id"), format!("{id}\n")).expect("a file");
            }
        }
        let found = places_in(folder.path(), &[0, 5, 9]);
        assert_eq!(found, [CpuPlace { cpu: 0, node: 0, cache: 0 }, CpuPlace { cpu: 9, node: 1, cache: 4 }]);
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_list(""), [0usize; 0]);
    }
}
