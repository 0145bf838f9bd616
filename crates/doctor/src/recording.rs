//! What the kernel lets Dwell record, and its user.

use dwell_rights::{RIGHTS, Right};

use crate::change::Change;
use crate::finding::{Finding, Verdict};
use crate::machine::{Machine, chosen};

const NOT_TOLD: &str = "not told";
/// Has the rights of CAP_BPF and CAP_PERFMON too.
const SYS_ADMIN: u32 = 21;

pub fn capabilities(machine: &Machine) -> Finding {
    let status = machine.text("/proc/self/status").unwrap_or_default();
    // Dwell puts those of its file away until it needs them: permitted are those that it can have.
    let set = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let held = set("CapPrm:").or_else(|| set("CapEff:"));
    let Some(held) = held.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()) else {
        return Finding::unknown("not told", "/proc/self/status does not say what Dwell may do");
    };
    let has = |number: u32| held & 1 << number != 0;
    let lacks = |right: &&Right| !(has(right.number()) || right.essential && has(SYS_ADMIN));
    let lacking: Vec<&Right> = RIGHTS.iter().filter(lacks).collect();
    let names = |of: &[&Right]| of.iter().map(|right| right.name).collect::<Vec<_>>().join(", ");
    let Some(first) = lacking.first() else {
        return Finding::good(names(&RIGHTS.iter().collect::<Vec<_>>()), "all that Dwell uses");
    };
    let verdict = if first.essential { Verdict::Missing } else { Verdict::Costs };
    let command = if is_container(machine) { given_to_a_container(&lacking) } else { ON_A_HOST.to_owned() };
    Finding::new(verdict, format!("without {}", names(&lacking)), first.lost).change(Change::Shell(command))
}

const ON_A_HOST: &str = "sudo dwell …; for good and for a group of users: sudo dwell install";

/// As the engines mark what runs in them.
fn is_container(machine: &Machine) -> bool {
    let groups = machine.text("/proc/1/cgroup").unwrap_or_default();
    ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"].iter().any(|path| machine.has(path))
        || ["docker", "kubepods", "libpod", "containerd"].iter().any(|engine| groups.contains(engine))
}

/// What gives a container the rights that it lacks, in the words of docker and podman and of Kubernetes.
fn given_to_a_container(lacking: &[&Right]) -> String {
    let short = |right: &&Right| right.name.trim_start_matches("CAP_").to_owned();
    let names: Vec<String> = lacking.iter().map(short).collect();
    let options: Vec<String> = names.iter().map(|name| format!("--cap-add {name}")).collect();
    let filter = lacking.iter().any(|right| right.essential);
    let (option, field) = match filter {
        true => (" --security-opt seccomp=unconfined", ", seccompProfile: {type: Unconfined}"),
        false => ("", ""),
    };
    format!(
        "docker or podman run {}{option} …; Kubernetes: securityContext: {{capabilities: {{add: [{}]}}{field}}}; docs/containers.md has a narrower profile",
        options.join(" "),
        names.join(", "),
    )
}

pub fn btf(machine: &Machine) -> Finding {
    if machine.has("/sys/kernel/btf/vmlinux") {
        return Finding::good("/sys/kernel/btf/vmlinux", "one Dwell for all kernels: it knows this one's structures");
    }
    if !machine.lacks("/sys/kernel/btf") && !machine.lacks("/sys/kernel/btf/vmlinux") {
        return Finding::unknown(
            NOT_TOLD,
            "/sys cannot be read: whether the kernel describes its structures is not known",
        );
    }
    let change = Change::Shell("install a kernel built with CONFIG_DEBUG_INFO_BTF=y".into());
    Finding::missing("no kernel types", "no collection by BPF").change(change)
}

pub fn bpf(machine: &Machine) -> Finding {
    const JIT: &str = "/proc/sys/net/core/bpf_jit_enable";
    const SYSTEM_CALL: &str = "/proc/sys/kernel/unprivileged_bpf_disabled";
    if machine.lacks(SYSTEM_CALL) {
        let change = Change::Shell("install a kernel built with CONFIG_BPF_SYSCALL=y".into());
        return Finding::missing("no bpf() system call", "no collection by BPF").change(change);
    }
    match machine.number(JIT) {
        None => Finding::unknown(NOT_TOLD, "/proc/sys/net/core/bpf_jit_enable can be read by root only"),
        Some(0) => Finding::costs("interpreted", "each recorded event costs several times as much")
            .change(Change::file(JIT, "1")),
        _ => Finding::good("compiled (JIT)", "events are recorded by machine code"),
    }
}

pub fn tracefs(machine: &Machine) -> Finding {
    let Some(mounts) = machine.text("/proc/mounts") else {
        return Finding::unknown(NOT_TOLD, "/proc/mounts cannot be read; Dwell does without tracefs");
    };
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

/// Where the kernel lists what perf can measure with.
const EVENT_SOURCES: &str = "/sys/bus/event_source/devices";

/// Whether an event source is there; `None` when the kernel's list cannot be read.
fn event_source(machine: &Machine, name: &str) -> Option<bool> {
    let path = format!("{EVENT_SOURCES}/{name}");
    if machine.has(&path) { Some(true) } else { machine.lacks(&path).then_some(false) }
}

fn sources_not_told() -> Finding {
    Finding::unknown(NOT_TOLD, format!("{EVENT_SOURCES} cannot be read"))
}

pub fn uprobes(machine: &Machine) -> Finding {
    match event_source(machine, "uprobe") {
        Some(true) => return Finding::good("there", "--task-probe, --interval with functions, stack stitching"),
        None => return sources_not_told(),
        Some(false) => {}
    }
    let change = Change::Shell("install a kernel built with CONFIG_UPROBE_EVENTS=y".into());
    Finding::missing("none", "no --task-probe, no intervals of functions, no stack stitching").change(change)
}

pub fn kprobes(machine: &Machine) -> Finding {
    match event_source(machine, "kprobe") {
        Some(true) => Finding::good("there", "other tools may use them; Dwell's hooks are tracepoints"),
        Some(false) => Finding::good("none", "Dwell does without: its hooks are tracepoints"),
        None => sources_not_told(),
    }
}

pub fn lockdown(machine: &Machine) -> Finding {
    let Some(text) = machine.text("/sys/kernel/security/lockdown") else {
        return Finding::unknown(NOT_TOLD, "/sys/kernel/security/lockdown cannot be read: loading the hooks tells");
    };
    match chosen(&text) {
        mode @ "confidentiality" => {
            Finding::missing(mode, "BPF may not read the kernel's memory: no collection by BPF")
                .change(Change::Boot("lockdown=integrity".into()))
        }
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
    let effects = ["plain users record their own programs by perf events", "plain users record nothing"];
    setting(machine, "/proc/sys/kernel/perf_event_paranoid", 2, effects)
}

/// Which addresses /proc/kallsyms shows is also a matter of CAP_SYSLOG and perf_event_paranoid: it is asked itself.
pub fn kptr_restrict(machine: &Machine) -> Finding {
    const FILE: &str = "/proc/sys/kernel/kptr_restrict";
    const HIDDEN: &str =
        "kernel functions have no names; page faults, block I/O and locks in the kernel are not told apart";
    let Some(value) = machine.number::<i64>(FILE) else {
        return Finding::unknown(NOT_TOLD, format!("{FILE} cannot be read"));
    };
    match (machine.shows_kernel_addresses(), value) {
        (Some(true), _) | (None, ..=1) => Finding::good(value.to_string(), "kernel functions have names"),
        (Some(false), ..=1) => Finding::costs(format!("{value}, without CAP_SYSLOG"), HIDDEN),
        (_, 2..) => Finding::costs(value.to_string(), HIDDEN).change(Change::file(FILE, "1")),
    }
}

pub fn pmu(machine: &Machine) -> Finding {
    const KINDS: [&str; 3] = ["cpu", "cpu_core", "cpu_atom"];
    let Some(sources) = KINDS.map(|kind| event_source(machine, kind)).into_iter().collect::<Option<Vec<bool>>>() else {
        return sources_not_told();
    };
    let found: Vec<&str> = KINDS.into_iter().zip(sources).filter(|(_, there)| *there).map(|(kind, _)| kind).collect();
    if found.is_empty() {
        return Finding::missing("none", "no cycles, instructions or cache misses; samples come by the clock instead");
    }
    Finding::good(found.join(", "), "cycles, instructions and cache misses can be counted")
}

pub fn intel_pt(machine: &Machine) -> Finding {
    const DEVICE: &str = "/sys/bus/event_source/devices/intel_pt";
    match event_source(machine, "intel_pt") {
        Some(true) => {}
        Some(false) => {
            return Finding::missing(
                "none",
                "no instruction traces of outliers: a CPU of Intel's since Broadwell, not virtualised, has it",
            );
        }
        None => return sources_not_told(),
    }
    let has = |name: &str| machine.text(&format!("{DEVICE}/caps/{name}")).as_deref() == Some("1");
    let caps: Vec<&str> = ["psb_cyc", "mtc", "ip_filtering"].into_iter().filter(|name| has(name)).collect();
    Finding::good(format!("there ({})", caps.join(", ")), "a trigger also keeps each instruction before the outlier")
}
