//! What this session may use: its control group and its ulimits.

use crate::change::Change;
use crate::finding::Finding;
use crate::groups::quotas;
use crate::machine::Machine;

pub fn cgroup_quota(machine: &Machine) -> Finding {
    let Some(groups) = machine.text("/proc/self/cgroup") else {
        return Finding::unknown("not told", "/proc/self/cgroup cannot be read");
    };
    if !groups.is_empty() && machine.names("/sys/fs/cgroup").is_empty() {
        return Finding::unknown("not told", "no control groups are mounted at /sys/fs/cgroup");
    }
    let quotas = quotas(machine, &groups);
    let Some(least) = quotas.iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus())) else {
        return Finding::good("none", "the program may use its CPUs all the time");
    };
    let stat = machine.text(&format!("{}/cpu.stat", least.folder)).unwrap_or_default();
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
