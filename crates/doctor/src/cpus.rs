//! Who else uses the CPUs: the hypervisor, the sibling thread, the other node, interrupts and the kernel's own work.

use crate::change::Change;
use crate::finding::Finding;
use crate::machine::{Machine, as_list, cpu_list};

const CPU: &str = "/sys/devices/system/cpu";
/// Steal time below this share of the time since boot is not worth a word.
const LITTLE_STEAL: f64 = 0.001;

pub fn virtualisation(machine: &Machine) -> Finding {
    let cpuinfo = machine.text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let contained = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| machine.has(path));
    let inside = if contained { ", in a container" } else { "" };
    if virtual_machine {
        let effect = "the hypervisor may stop a CPU at any time; interrupts, timers and idling leave the guest";
        return Finding::costs(format!("virtual machine ({}){inside}", hypervisor(machine)), effect);
    }
    match cpuinfo.is_empty() {
        true => Finding::unknown("not told", "/proc/cpuinfo is not there"),
        false => Finding::good(format!("bare machine{inside}"), "nothing below the kernel but firmware"),
    }
}

fn hypervisor(machine: &Machine) -> String {
    const CLOCKS: [(&str, &str); 3] = [("kvm", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];
    let clocks = machine.text("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let by_clock = CLOCKS.iter().find(|(word, _)| clocks.contains(word)).map(|(_, name)| (*name).to_owned());
    let vendor = || machine.text("/sys/class/dmi/id/sys_vendor").filter(|vendor| !vendor.is_empty());
    machine.text("/sys/hypervisor/type").or(by_clock).or_else(vendor).unwrap_or_else(|| "unnamed".into())
}

pub fn steal(machine: &Machine) -> Finding {
    let stat = machine.text("/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    // user nice system idle iowait irq softirq steal; guest times are in user and nice already.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let (Some(&stolen), total) = (ticks.get(7), ticks.iter().sum::<u64>()) else {
        return Finding::unknown("not told", "/proc/stat has no steal time");
    };
    let share = stolen as f64 / total.max(1) as f64;
    let state = format!("{:.2} % of all CPU time since boot", share * 100.0);
    if share < LITTLE_STEAL {
        return Finding::good(state, "the hypervisor hardly ran anything else while a thread wanted to run");
    }
    Finding::costs(state, "threads that look as if they ran were stopped meanwhile: ask for CPUs of your own")
}

pub fn smt(machine: &Machine) -> Finding {
    match machine.text(&format!("{CPU}/smt/active")).as_deref() {
        Some("1") => {
            let effect = "two threads share a core's caches and units: each is slower while the other one runs";
            Finding::costs("on", effect).change(Change::file(format!("{CPU}/smt/control"), "off"))
        }
        Some(_) => Finding::good("off", "each CPU is a core of its own, as far as the kernel is told"),
        None => Finding::unknown("not told", "the kernel does not say which CPUs share a core"),
    }
}

/// The CPUs of each NUMA node that has any; none where the kernel knows no nodes.
pub fn nodes(machine: &Machine) -> Vec<Vec<u32>> {
    let lists = machine.numbered("/sys/devices/system/node", "node", "cpulist");
    let cpus = lists.iter().filter_map(|path| machine.text(path)).map(|list| cpu_list(&list));
    cpus.filter(|cpus| !cpus.is_empty()).collect()
}

/// The CPUs that share a core with `cpu`, itself included.
pub fn siblings(machine: &Machine, cpu: u32) -> Vec<u32> {
    let list = machine.text(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
    list.map_or_else(|| vec![cpu], |list| cpu_list(&list))
}

pub fn numa(machine: &Machine) -> Finding {
    let lists: Vec<String> = nodes(machine).iter().map(|cpus| as_list(cpus)).collect();
    match lists.as_slice() {
        [] => Finding::unknown("not told", "the kernel has no NUMA"),
        [one] => Finding::good(format!("one node (CPUs {one})"), "memory is equally far from all CPUs"),
        several => {
            let state = format!("{} nodes (CPUs {})", several.len(), several.join(" | "));
            let change = Change::Shell("numactl --cpunodebind=0 --membind=0 -- PROGRAM".into());
            Finding::costs(state, "threads that share data across nodes wait longer for each line of it").change(change)
        }
    }
}

pub fn numa_balancing(machine: &Machine) -> Finding {
    const FILE: &str = "/proc/sys/kernel/numa_balancing";
    match machine.number::<u8>(FILE) {
        Some(0) => Finding::good("off", "no page faults to find out who uses which memory"),
        Some(_) => Finding::costs(
            "on",
            "pages are unmapped now and then to see who uses them, each a page fault; some are moved",
        )
        .change(Change::file(FILE, "0")),
        None if machine.lacks(FILE) => Finding::good("none", "the kernel has no NUMA balancing"),
        None => Finding::unknown("not told", format!("{FILE} cannot be read")),
    }
}

/// CPUs in the list that `file` or the boot option has; `None` when neither can be read.
fn set_apart(machine: &Machine, file: &str, option: &str) -> Option<String> {
    let of_file = machine.text(&format!("{CPU}/{file}"));
    let known = of_file.is_some() || machine.text("/proc/cmdline").is_some();
    let of_file = of_file.filter(|list| !cpu_list(list).is_empty());
    // isolcpus= may have flags before the list, rcu_nocbs= a word for all.
    let of_boot = || match machine.boot_option(option)? {
        all if all == "all" => machine.text(&format!("{CPU}/online")),
        list => Some(list.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned()),
    };
    known.then(|| of_file.or_else(of_boot).unwrap_or_default())
}

/// All CPUs but the first, for an example of what could be set apart.
fn others(machine: &Machine) -> String {
    let online = cpu_list(&machine.text(&format!("{CPU}/online")).unwrap_or_default());
    as_list(online.get(1..).unwrap_or_default())
}

fn set_apart_finding(machine: &Machine, (file, option): (&str, &str), effects: [&str; 2]) -> Finding {
    let Some(list) = set_apart(machine, file, option) else {
        return Finding::unknown("not told", format!("neither {CPU}/{file} nor /proc/cmdline can be read"));
    };
    if !list.is_empty() {
        return Finding::good(format!("CPUs {list}"), effects[0]);
    }
    let others = others(machine);
    let change = (!others.is_empty()).then(|| Change::Boot(format!("{option}={others}")));
    Finding::costs("none", effects[1]).change(change)
}

pub fn isolcpus(machine: &Machine) -> Finding {
    let effects = [
        "the scheduler puts nothing there: pin the threads that matter with taskset",
        "the scheduler may put any thread beside those that matter",
    ];
    set_apart_finding(machine, ("isolated", "isolcpus"), effects)
}

pub fn nohz_full(machine: &Machine) -> Finding {
    let ticks = "the timer tick interrupts every CPU while something runs on it";
    let finding = set_apart_finding(
        machine,
        ("nohz_full", "nohz_full"),
        ["no timer tick there while one thread runs alone", ticks],
    );
    let can = machine.config().is_none_or(|config| config.is_set("NO_HZ_FULL"));
    if can || finding.change.is_none() {
        return finding;
    }
    finding.change(Change::Shell("install a kernel built with CONFIG_NO_HZ_FULL=y".into()))
}

pub fn rcu_nocbs(machine: &Machine) -> Finding {
    let effects = [
        "the kernel's deferred frees run in threads elsewhere",
        "the kernel's deferred frees run in soft interrupts on every CPU",
    ];
    // nohz_full implies it.
    let full = set_apart(machine, "nohz_full", "nohz_full").unwrap_or_default();
    if machine.boot_option("rcu_nocbs").is_none() && !full.is_empty() {
        return Finding::good(format!("CPUs {full} (by nohz_full)"), effects[0]);
    }
    set_apart_finding(machine, ("rcu_nocbs", "rcu_nocbs"), effects)
}

pub fn irq_affinity(machine: &Machine) -> Finding {
    let online = cpu_list(&machine.text(&format!("{CPU}/online")).unwrap_or_default());
    let apart = cpu_list(&set_apart(machine, "isolated", "isolcpus").unwrap_or_default());
    let interrupts = machine.numbered("/proc/irq", "", "smp_affinity_list");
    if interrupts.is_empty() {
        return Finding::unknown("not told", "/proc/irq is not there");
    }
    if apart.is_empty() {
        let effect = "devices interrupt whatever runs: no CPU is set apart that they could be kept off";
        return Finding::costs(format!("{} interrupts on CPUs {}", interrupts.len(), as_list(&online)), effect);
    }
    let hits = |path: &&String| cpu_list(&machine.text(path).unwrap_or_default()).iter().any(|cpu| apart.contains(cpu));
    let hitting: Vec<String> = interrupts.iter().filter(hits).cloned().collect();
    if hitting.is_empty() {
        return Finding::good(
            format!("{} interrupts, none on CPUs {}", interrupts.len(), as_list(&apart)),
            "isolated CPUs are let alone",
        );
    }
    let housekeeping: Vec<u32> = online.into_iter().filter(|cpu| !apart.contains(cpu)).collect();
    let state = format!("{} of {} interrupts may come to CPUs {}", hitting.len(), interrupts.len(), as_list(&apart));
    let effect = "devices interrupt threads on isolated CPUs";
    let change = Change::files(hitting.join(" "), hitting, as_list(&housekeeping));
    Finding::costs(state, effect).change(change)
}
