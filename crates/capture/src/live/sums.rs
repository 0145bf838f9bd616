//! Sums over all waits, made by hooks in the scheduler: read once an interval, and exact.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use dwell_model::{CallKind, SYSCALLS, Syscall, SyscallClass};
use dwell_rights as rights;
use dwell_store::raw::wire::{OpenSum, SumControl, SumKey, SumName, SumValue};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object};

use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::kernel::maps::map_of;
use crate::kernel::{loading, namespace, requirements, walk};

/// A hook that began in the interval before has ended after so long.
const GRACE: Duration = Duration::from_millis(1);

/// What has sums.
#[derive(Clone, Copy, Debug)]
pub struct SumScope {
    /// Each thread has its own; else those of a process are summed.
    pub by_thread: bool,
    /// The kernel's own threads are in it, too.
    pub kernel_threads: bool,
}

/// What one interval has.
#[derive(Clone, Debug)]
pub struct SumReading {
    /// When it began, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The waits that ended in it, and what the threads did before each.
    pub closed: Vec<(SumKey, SumValue)>,
    /// What threads had done at its end that is in no sum yet.
    pub open: Vec<OpenSum>,
    /// What found no place in the sums.
    pub lost: SumValue,
    /// The names of threads that have ended lately, by process and thread.
    pub names: HashMap<(u32, u32), SumName>,
}

/// Hooks that sum.
pub struct WaitSums {
    control: SumControl,
    maps: [MapHandle; 2],
    control_map: MapHandle,
    lost_map: MapHandle,
    names_map: MapHandle,
    open_walk: Link,
    /// All that was lost before.
    lost: SumValue,
    _hooks: Vec<Link>,
    _object: Object,
}

impl WaitSums {
    /// Begins the first interval. Fails where this process may load no BPF programs, or the kernel is too old for them.
    pub fn open(scope: SumScope) -> Result<Self> {
        requirements::check()?;
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        let object = loading::load("sums", &HashMap::new(), &namespace::scope(false)?)?.object;
        fill_masks(&map_of(&object, "object_masks")?)?;
        let open_walk = object.progs_mut().find(|program| program.name() == "sums_open");
        let open_walk = open_walk.ok_or_else(|| Error::unsupported("no walk over open waits"))?;
        let control = SumControl {
            by_thread: scope.by_thread.into(),
            kernel_threads: scope.kernel_threads.into(),
            ..SumControl::zeroed()
        };
        let mut sums = Self {
            control,
            maps: [map_of(&object, "sums_even")?, map_of(&object, "sums_odd")?],
            control_map: map_of(&object, "sum_control")?,
            lost_map: map_of(&object, "sums_lost")?,
            names_map: map_of(&object, "sum_names")?,
            open_walk: loading::attach_one(&open_walk)?,
            lost: SumValue::zeroed(),
            _hooks: loading::attach(&object)?,
            _object: object,
        };
        sums.begin_interval(monotonic_ns())?;
        walk::walk(&sums._object, "sums_begin")?;
        Ok(sums)
    }

    /// Ends the interval and begins the next one.
    pub fn read(&mut self) -> Result<SumReading> {
        let _raised = rights::raise(&[rights::BPF]);
        let (begin_ns, end_ns) = (self.control.begin_ns, monotonic_ns());
        let ended = self.control.interval as usize % 2;
        self.control.interval = self.control.interval.wrapping_add(1);
        self.begin_interval(end_ns)?;
        let mut bytes = Vec::new();
        walk::read(&self.open_walk, &mut bytes)?;
        let open = bytes.chunks_exact(size_of::<OpenSum>()).map(pod_read_unaligned).collect();
        sleep(GRACE);
        let closed = take_sums(&self.maps[ended])?;
        let all_lost = value_of_all_cpus(&self.lost_map, &0u32.to_ne_bytes())?;
        let lost = since(&all_lost, &self.lost);
        self.lost = all_lost;
        Ok(SumReading { begin_ns, end_ns, closed, open, lost, names: names(&self.names_map) })
    }

    fn begin_interval(&mut self, begin_ns: u64) -> Result<()> {
        self.control.begin_ns = begin_ns;
        let updated = self.control_map.update(&0u32.to_ne_bytes(), bytes_of(&self.control), MapFlags::ANY);
        updated.map_err(|source| Error::Bpf { what: "telling the sums of an interval".into(), source })
    }
}

/// Which bits of its first argument tell the objects of a system call apart.
fn object_mask(call: &Syscall) -> u64 {
    match call.class {
        SyscallClass::Fd => 0xffff_ffff,
        SyscallClass::Futex | SyscallClass::FutexVector if call.kind == CallKind::Futex => u64::MAX,
        _ => 0,
    }
}

fn fill_masks(map: &MapHandle) -> Result<()> {
    for (call, mask) in SYSCALLS.iter().map(|call| (call, object_mask(call))).filter(|(_, mask)| *mask != 0) {
        let updated = map.update(&(call.number as u32).to_ne_bytes(), &mask.to_ne_bytes(), MapFlags::ANY);
        updated.map_err(|source| Error::Bpf { what: "telling the sums of system calls".into(), source })?;
    }
    Ok(())
}

/// All sums of a map, which is empty then.
fn take_sums(map: &MapHandle) -> Result<Vec<(SumKey, SumValue)>> {
    let keys: Vec<Vec<u8>> = map.keys().collect();
    let mut sums = Vec::with_capacity(keys.len());
    for key in &keys {
        sums.push((pod_read_unaligned(key), value_of_all_cpus(map, key)?));
        map.delete(key).map_err(|source| Error::Bpf { what: "emptying the sums".into(), source })?;
    }
    Ok(sums)
}

fn value_of_all_cpus(map: &MapHandle, key: &[u8]) -> Result<SumValue> {
    let values = map.lookup_percpu(key, MapFlags::ANY);
    let values = values.map_err(|source| Error::Bpf { what: "reading the sums".into(), source })?;
    let values = values.unwrap_or_default();
    Ok(values.iter().map(|bytes| read::<SumValue>(bytes)).fold(SumValue::zeroed(), |sum, value| added(&sum, &value)))
}

fn read<T: Pod>(bytes: &[u8]) -> T {
    pod_read_unaligned(&bytes[..size_of::<T>()])
}

fn added(one: &SumValue, other: &SumValue) -> SumValue {
    SumValue {
        waits: one.waits + other.waits,
        wait_ns: one.wait_ns + other.wait_ns,
        runnable_ns: one.runnable_ns + other.runnable_ns,
        queued_ns: one.queued_ns + other.queued_ns,
        running_ns: one.running_ns + other.running_ns,
        switches: one.switches + other.switches,
        longest_ns: one.longest_ns.max(other.longest_ns),
    }
}

/// What of `all` is new since `before`.
fn since(all: &SumValue, before: &SumValue) -> SumValue {
    SumValue {
        waits: all.waits - before.waits,
        wait_ns: all.wait_ns - before.wait_ns,
        runnable_ns: all.runnable_ns - before.runnable_ns,
        queued_ns: all.queued_ns - before.queued_ns,
        running_ns: all.running_ns - before.running_ns,
        switches: all.switches - before.switches,
        longest_ns: all.longest_ns,
    }
}

fn names(map: &MapHandle) -> HashMap<(u32, u32), SumName> {
    let name_of = |key: Vec<u8>| {
        let name = map.lookup(&key, MapFlags::ANY).ok()??;
        let id = read::<u64>(&key);
        Some((((id >> 32) as u32, id as u32), read(&name)))
    };
    map.keys().filter_map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart_by_descriptors_and_addresses() {
        let mask = |name: &str| object_mask(SYSCALLS.iter().find(|call| call.name == name).expect("a call"));
        assert_eq!((mask("read"), mask("futex"), mask("nanosleep")), (0xffff_ffff, u64::MAX, 0));
    }

    #[test]
    fn losses_are_those_of_an_interval() {
        let value = |waits, wait_ns| SumValue { waits, wait_ns, ..SumValue::zeroed() };
        let sum = added(&value(2, 30), &SumValue { longest_ns: 7, ..value(1, 5) });
        assert_eq!((sum.waits, sum.wait_ns, sum.longest_ns), (3, 35, 7));
        assert_eq!(since(&sum, &value(2, 30)), SumValue { longest_ns: 7, ..value(1, 5) });
    }
}
