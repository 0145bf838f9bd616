//! What this session may use: its control group and its ulimits.

use crate::{Change, Finding, Machine};

/// A group's quota: µs of CPU time in each period, the file that says so, and what lifts it.
struct Quota {
    folder: String,
    runtime_us: u64,
    period_us: u64,
    change: Change,
}

impl Quota {
    fn cpus(&self) -> f64 {
        self.runtime_us as f64 / self.period_us.max(1) as f64
    }
}

/// The folder and all above it, below `/sys/fs/cgroup`.
fn with_parents(mount: &str, group: &str) -> Vec<String> {
    let parts: Vec<&str> = group.split('/').filter(|part| !part.is_empty()).collect();
    (0..=parts.len()).rev().map(|kept| format!("{mount}/{}", parts[..kept].join("/"))).collect()
}

/// Version 2: `cpu.max` of `0::/group`.
fn quota_of_v2(machine: &Machine, folder: &str) -> Option<Quota> {
    let file = format!("{}/cpu.max", folder.trim_end_matches('/'));
    let text = machine.text(&file)?;
    let (runtime, period) = text.split_once(' ')?;
    let change = Change::file(file, format!("max {period}"));
    Some(Quota { folder: folder.into(), runtime_us: runtime.parse().ok()?, period_us: period.parse().ok()?, change })
}

/// Version 1: `cpu.cfs_quota_us` of `N:cpu,cpuacct:/group`.
fn quota_of_v1(machine: &Machine, folder: &str) -> Option<Quota> {
    let folder = folder.trim_end_matches('/');
    let file = format!("{folder}/cpu.cfs_quota_us");
    let runtime_us = machine.number::<u64>(&file)?;
    let period_us = machine.number(&format!("{folder}/cpu.cfs_period_us"))?;
    Some(Quota { folder: folder.into(), runtime_us, period_us, change: Change::file(file, "-1") })
}

fn quotas(machine: &Machine) -> Vec<Quota> {
    let groups = machine.text("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        if controllers.is_empty() {
            found.extend(with_parents("/sys/fs/cgroup", group).iter().filter_map(|it| quota_of_v2(machine, it)));
        } else if controllers.split(',').any(|it| it == "cpu") {
            found.extend(with_parents("/sys/fs/cgroup/cpu", group).iter().filter_map(|it| quota_of_v1(machine, it)));
        }
    }
    found
}

pub fn cgroup_quota(machine: &Machine) -> Finding {
    let quotas = quotas(machine);
    let Some(least) = quotas.iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus())) else {
        return Finding::good("none", "the program may use its CPUs all the time");
    };
    let stat = machine.text(&format!("{}/cpu.stat", least.folder.trim_end_matches('/'))).unwrap_or_default();
    let throttled = stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")).unwrap_or("unknown");
    let state = format!(
        "{:.2} CPUs ({} ms in each {} ms), throttled {throttled} times",
        least.cpus(),
        least.runtime_us / 1000,
        least.period_us / 1000
    );
    let effect = format!(
        "when the group has used it up, all its threads stop for the rest of the {} ms",
        least.period_us / 1000
    );
    Finding::costs(state, effect).change(least.change.clone())
}

pub fn ulimits(machine: &Machine) -> Finding {
    let limits = machine.text("/proc/self/limits").unwrap_or_default();
    // The name takes 26 columns, the soft limit follows.
    let soft = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name))?;
        line.get(26..)?.split_whitespace().next().map(str::to_owned)
    };
    let (Some(memory), Some(priority), Some(files)) =
        (soft("Max locked memory"), soft("Max realtime priority"), soft("Max open files"))
    else {
        return Finding::unknown("not told", "/proc/self/limits is not there");
    };
    let state = format!("locked memory {}, real-time priority {priority}, {files} open files", bytes(&memory));
    if memory == "unlimited" && priority != "0" {
        return Finding::good(state, "a program may lock its memory and ask for real-time priority");
    }
    let effect = "without privileges a program cannot lock all its memory (mlockall) or run at real-time priority";
    Finding::costs(state, effect)
        .change(Change::Shell("ulimit -l unlimited -r 99    # limits.conf(5): memlock, rtprio".into()))
}

/// A limit for people.
fn bytes(limit: &str) -> String {
    limit.parse::<u64>().map_or_else(|_| limit.to_owned(), |bytes| format!("{} KiB", bytes >> 10))
}
