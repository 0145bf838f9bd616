//! Control groups of a process that bound its CPU time: version 1, version 2, or both side by side (hybrid), wherever they
//! are mounted, in a container too.

use crate::change::Change;
use crate::machine::Machine;

/// Mounts where the kernel's list of mounts is not told: where systemd puts them.
const USUAL: [Mount<'static>; 2] = [
    Mount { version: Version::Two, root: "/", point: "/sys/fs/cgroup" },
    Mount { version: Version::One, root: "/", point: "/sys/fs/cgroup/cpu" },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A mounted hierarchy that controls CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount<'t> {
    version: Version,
    /// The group that is seen at `point`: a container's own, where the mount hides those above.
    root: &'t str,
    point: &'t str,
}

/// A group's quota: µs of CPU time in each period.
pub struct Quota {
    /// The group's folder.
    pub folder: String,
    /// CPU time that its threads may use together.
    pub runtime_us: u64,
    /// The period in which they may.
    pub period_us: u64,
    /// What lifts it.
    pub(crate) change: Change,
}

impl Quota {
    /// How many CPUs that is.
    pub fn cpus(&self) -> f64 {
        self.runtime_us as f64 / self.period_us.max(1) as f64
    }
}

/// How many CPUs the control groups of process `pid` (0 = this one) let it use; `None` = as many as there are.
pub fn quota_in_cpus(machine: &Machine, pid: u32) -> Option<f64> {
    let quotas = quotas(machine, &cpu_groups(machine, pid)?);
    quotas.iter().map(Quota::cpus).min_by(f64::total_cmp)
}

/// The control groups of process `pid` (0 = this one), as `/proc/PID/cgroup` has them. None where it is gone.
pub fn cpu_groups(machine: &Machine, pid: u32) -> Option<String> {
    machine.text(&format!("/proc/{}/cgroup", process(pid)))
}

/// The quotas of the control groups of process `pid` (0 = this one), with what they have done so far.
pub fn quota_uses(machine: &Machine, pid: u32) -> Vec<(Quota, Throttling)> {
    let groups = cpu_groups(machine, pid).unwrap_or_default();
    let done = |quota: Quota| throttling(machine, &quota.folder).map(|done| (quota, done));
    quotas(machine, &groups).into_iter().filter_map(done).collect()
}

/// What a quota has done since its group was made; see Documentation/scheduler/sched-bwc.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the group had work.
    pub periods: u64,
    /// Those in which it had used up its time.
    pub throttled_periods: u64,
    /// How long its CPUs stood still for that, ns.
    pub throttled_ns: u64,
}

/// From `cpu.stat` of the group `folder`: `throttled_time` in ns in version 1, `throttled_usec` in version 2.
pub fn throttling(machine: &Machine, folder: &str) -> Option<Throttling> {
    let text = machine.text(&format!("{folder}/cpu.stat"))?;
    let count = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let in_us = || count("throttled_usec")?.checked_mul(1000);
    Some(Throttling {
        periods: count("nr_periods")?,
        throttled_periods: count("nr_throttled")?,
        throttled_ns: count("throttled_time").or_else(in_us)?,
    })
}

fn process(pid: u32) -> String {
    if pid == 0 { "self".to_owned() } else { pid.to_string() }
}

/// The quotas of the groups that `groups`, the text of `/proc/PID/cgroup`, names, and of all groups above these.
pub(crate) fn quotas(machine: &Machine, groups: &str) -> Vec<Quota> {
    let text = machine.text("/proc/self/mountinfo").unwrap_or_default();
    let told: Vec<Mount<'_>> = text.lines().filter_map(parse_mount).collect();
    let mounts = if told.is_empty() { &USUAL[..] } else { &told[..] };
    let mut found = Vec::new();
    for (version, group) in groups.lines().filter_map(parse_group) {
        for mount in mounts.iter().filter(|mount| mount.version == version) {
            let quota = |folder: &String| match version {
                Version::One => quota_of_v1(machine, folder),
                Version::Two => quota_of_v2(machine, folder),
            };
            found.extend(folders(mount, group).iter().filter_map(quota));
        }
    }
    found
}

/// `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPER_OPTIONS`, of a hierarchy that controls CPU time.
fn parse_mount(line: &str) -> Option<Mount<'_>> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let version = match right.next()? {
        "cgroup2" => Version::Two,
        "cgroup" if right.nth(1)?.split(',').any(|option| option == "cpu") => Version::One,
        _ => return None,
    };
    Some(Mount { version, root, point })
}

/// `0::/group` of version 2, `N:cpu,cpuacct:/group` of version 1.
fn parse_group(line: &str) -> Option<(Version, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let of_cpu = controllers.split(',').any(|it| it == "cpu");
    let version = if controllers.is_empty() { Some(Version::Two) } else { of_cpu.then_some(Version::One) };
    version.map(|version| (version, group))
}

/// The folders of the group and of all above it, as far as the mount shows them.
fn folders(mount: &Mount<'_>, group: &str) -> Vec<String> {
    // A container's mount shows its own group as the root; without a namespace of its own the group is named from the top.
    let inside = if mount.root == "/" { Some(group) } else { group.strip_prefix(mount.root) };
    let parts: Vec<&str> = inside.unwrap_or("").split('/').filter(|part| !part.is_empty() && *part != "..").collect();
    let folder = |kept| format!("{}/{}", mount.point, parts[..kept].join("/")).trim_end_matches('/').to_owned();
    (0..=parts.len()).rev().map(folder).collect()
}

/// Version 2: `cpu.max`.
fn quota_of_v2(machine: &Machine, folder: &str) -> Option<Quota> {
    let file = format!("{folder}/cpu.max");
    let text = machine.text(&file)?;
    let (runtime, period) = text.split_once(' ')?;
    let change = Change::file(file, format!("max {period}"));
    Some(Quota { folder: folder.into(), runtime_us: runtime.parse().ok()?, period_us: period.parse().ok()?, change })
}

/// Version 1: `cpu.cfs_quota_us`, -1 where there is none.
fn quota_of_v1(machine: &Machine, folder: &str) -> Option<Quota> {
    let file = format!("{folder}/cpu.cfs_quota_us");
    let runtime_us = machine.number::<u64>(&file)?;
    let period_us = machine.number(&format!("{folder}/cpu.cfs_period_us"))?;
    Some(Quota { folder: folder.into(), runtime_us, period_us, change: Change::file(file, "-1") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "25 24 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n\
        26 25 0:23 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n\
        27 25 0:24 /docker/7f /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        28 25 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn mounts_that_control_cpu_time_are_found_wherever_they_are() {
        let mounts: Vec<Mount<'_>> = HYBRID.lines().filter_map(parse_mount).collect();
        let points: Vec<&str> = mounts.iter().map(|mount| mount.point).collect();
        assert_eq!(points, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct"]);
        let of = |nth: usize, group| folders(&mounts[nth], group);
        assert_eq!(of(0, "/a"), ["/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified"]);
        let own = "/sys/fs/cgroup/cpu,cpuacct";
        assert_eq!(of(1, "/docker/7f/x"), [format!("{own}/x"), own.to_owned()]);
        assert_eq!(of(1, "/"), [own], "in a namespace of its own");
    }

    #[test]
    fn groups_of_both_versions_count_and_others_do_not() {
        assert_eq!(parse_group("0::/user"), Some((Version::Two, "/user")));
        assert_eq!(parse_group("4:cpu,cpuacct:/a:b"), Some((Version::One, "/a:b")));
        assert_eq!(parse_group("5:cpuset:/a"), None);
        assert_eq!(parse_group("garbage"), None);
    }
}
