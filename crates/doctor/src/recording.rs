//! What the kernel lets Dwell record, and its user.

use crate::machine::chosen;
use crate::{Change, Finding, Machine, Verdict};

/// Capabilities by their number in `linux/capability.h`, and what is lost without each.
const CAPABILITIES: [(u32, &str, &str); 4] = [
    (39, "CAP_BPF", "no collection"),
    (38, "CAP_PERFMON", "no collection"),
    (19, "CAP_SYS_PTRACE", "other users' processes cannot be attached to"),
    (2, "CAP_DAC_READ_SEARCH", "files of other users cannot be read for their symbols"),
];
/// Has the rights of CAP_BPF and CAP_PERFMON too.
const SYS_ADMIN: u32 = 21;

pub fn capabilities(machine: &Machine) -> Finding {
    let status = machine.text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(held) = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()) else {
        return Finding::unknown("not told", "/proc/self/status does not say what Dwell may do");
    };
    let has = |number: u32| held & 1 << number != 0;
    let lacks = |&&(number, ..): &&(u32, _, _)| !(has(number) || number >= 38 && has(SYS_ADMIN));
    let lacking: Vec<_> = CAPABILITIES.iter().filter(lacks).collect();
    let names = |of: &[&(u32, &'static str, _)]| of.iter().map(|it| it.1).collect::<Vec<_>>().join(", ");
    let Some((number, _, loss)) = lacking.first() else {
        return Finding::good(names(&CAPABILITIES.iter().collect::<Vec<_>>()), "all that Dwell uses");
    };
    let verdict = if *number >= 38 { Verdict::Missing } else { Verdict::Costs };
    Finding::new(verdict, format!("without {}", names(&lacking)), *loss).change(Change::Shell("sudo dwell …".into()))
}

pub fn btf(machine: &Machine) -> Finding {
    if machine.has("/sys/kernel/btf/vmlinux") {
        return Finding::good("/sys/kernel/btf/vmlinux", "one Dwell for all kernels: it knows this one's structures");
    }
    let change = Change::Shell("install a kernel built with CONFIG_DEBUG_INFO_BTF=y".into());
    Finding::missing("no kernel types", "no collection").change(change)
}

pub fn bpf(machine: &Machine) -> Finding {
    const JIT: &str = "/proc/sys/net/core/bpf_jit_enable";
    if !machine.has("/proc/sys/kernel/unprivileged_bpf_disabled") {
        let change = Change::Shell("install a kernel built with CONFIG_BPF_SYSCALL=y".into());
        return Finding::missing("no bpf() system call", "no collection").change(change);
    }
    match machine.number(JIT) {
        Some(0) => Finding::costs("interpreted", "each recorded event costs several times as much")
            .change(Change::file(JIT, "1")),
        _ => Finding::good("compiled (JIT)", "events are recorded by machine code"),
    }
}

pub fn tracefs(machine: &Machine) -> Finding {
    let mounts = machine.text("/proc/mounts").unwrap_or_default();
    let mut places = mounts.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let place = words.next()?;
        (words.next() == Some("tracefs")).then_some(place)
    });
    match places.next_back() {
        Some(place) => {
            Finding::good(place, "USDT and uprobe events have names for other tools; Dwell itself needs none")
        }
        None => Finding::costs("not mounted", "Dwell does without; other tracers need it")
            .change(Change::Shell("sudo mount -t tracefs tracefs /sys/kernel/tracing".into())),
    }
}

pub fn uprobes(machine: &Machine) -> Finding {
    if machine.has("/sys/bus/event_source/devices/uprobe") {
        return Finding::good("there", "--task-probe, --interval with functions, stack stitching");
    }
    let change = Change::Shell("install a kernel built with CONFIG_UPROBE_EVENTS=y".into());
    Finding::missing("none", "no --task-probe, no intervals of functions, no stack stitching").change(change)
}

pub fn kprobes(machine: &Machine) -> Finding {
    if machine.has("/sys/bus/event_source/devices/kprobe") {
        return Finding::good("there", "other tools may use them; Dwell's hooks are tracepoints");
    }
    Finding::good("none", "Dwell does without: its hooks are tracepoints")
}

pub fn lockdown(machine: &Machine) -> Finding {
    let text = machine.text("/sys/kernel/security/lockdown").unwrap_or_else(|| "none".into());
    match chosen(&text) {
        mode @ "confidentiality" => Finding::missing(mode, "BPF may not read the kernel's memory: no collection")
            .change(Change::Boot("lockdown=integrity".into())),
        mode => Finding::good(mode, "BPF may read the kernel's memory"),
    }
}

/// A number that restricts those without privileges when it is greater than `most`.
fn setting(machine: &Machine, path: &str, most: i64, effects: [&str; 2]) -> Finding {
    match machine.number::<i64>(path) {
        Some(value) if value > most => {
            Finding::costs(value.to_string(), effects[1]).change(Change::file(path, most.to_string()))
        }
        Some(value) => Finding::good(value.to_string(), effects[0]),
        None => Finding::unknown("not there", effects[0]),
    }
}

pub fn perf_event_paranoid(machine: &Machine) -> Finding {
    let effects = ["users without root may measure their own programs with perf", "only root may use perf events"];
    setting(machine, "/proc/sys/kernel/perf_event_paranoid", 2, effects)
}

pub fn kptr_restrict(machine: &Machine) -> Finding {
    let effects = ["kernel functions have names", "kernel functions have no names, for root either"];
    setting(machine, "/proc/sys/kernel/kptr_restrict", 1, effects)
}

pub fn pmu(machine: &Machine) -> Finding {
    const KINDS: [&str; 3] = ["cpu", "cpu_core", "cpu_atom"];
    let has = |kind: &&&str| machine.has(&format!("/sys/bus/event_source/devices/{kind}"));
    let found: Vec<&str> = KINDS.iter().filter(has).copied().collect();
    if found.is_empty() {
        return Finding::missing("none", "no cycles, instructions or cache misses; samples come by the clock instead");
    }
    Finding::good(found.join(", "), "cycles, instructions and cache misses can be counted")
}

pub fn intel_pt(machine: &Machine) -> Finding {
    const DEVICE: &str = "/sys/bus/event_source/devices/intel_pt";
    if !machine.has(DEVICE) {
        return Finding::missing(
            "none",
            "no instruction traces of outliers: a CPU of Intel's since Broadwell, not virtualised, has it",
        );
    }
    let has = |name: &str| machine.text(&format!("{DEVICE}/caps/{name}")).as_deref() == Some("1");
    let caps: Vec<&str> = ["psb_cyc", "mtc", "ip_filtering"].into_iter().filter(|name| has(name)).collect();
    Finding::good(format!("there ({})", caps.join(", ")), "a trigger also keeps each instruction before the outlier")
}
