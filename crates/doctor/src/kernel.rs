//! What the kernel does by itself: ticks, preemption, clocks, guards against flaws of CPUs.

use crate::change::Change;
use crate::finding::Finding;
use crate::machine::{Machine, chosen};

pub fn tick(machine: &Machine) -> Finding {
    let Some(config) = machine.config() else {
        return Finding::unknown("not told", "neither /proc/config.gz nor /boot has the kernel's configuration");
    };
    let hz = config.get("HZ").unwrap_or("?");
    let apart =
        machine.text("/sys/devices/system/cpu/nohz_full").filter(|list| list.starts_with(|c: char| c.is_ascii_digit()));
    if let Some(list) = apart {
        return Finding::good(format!("{hz} Hz, none on CPUs {list} where one thread runs"), "pin what matters there");
    }
    if config.is_set("HZ_PERIODIC") {
        let change = Change::Shell("install a kernel built with CONFIG_NO_HZ_IDLE=y".into());
        return Finding::costs(format!("{hz} Hz, on idle CPUs too"), "idle CPUs are woken for nothing").change(change);
    }
    let effect = format!("each CPU that runs something is interrupted {hz} times a second for some µs");
    Finding::costs(format!("{hz} Hz, tickless when idle"), effect)
}

pub fn preemption(machine: &Machine) -> Finding {
    const SWITCH: &str = "/sys/kernel/debug/sched/preempt";
    if machine.number::<u8>("/sys/kernel/realtime") == Some(1) {
        return Finding::good("real-time (PREEMPT_RT)", "the kernel gives way nearly everywhere");
    }
    let switch = machine.text(SWITCH).map(|text| chosen(&text).trim_matches(['(', ')']).to_owned());
    let Some(model) = switch.clone().or_else(|| machine.boot_option("preempt")).or_else(|| configured(machine)) else {
        return Finding::unknown("not told", "the kernel does not say where it gives way");
    };
    if matches!(model.as_str(), "full" | "lazy") {
        return Finding::good(model, "a thread that wakes takes the CPU from the kernel's work for others");
    }
    let effect = "a thread that wakes waits until the kernel's work for another thread is done";
    let change = if switch.is_some() { Change::file(SWITCH, "full") } else { Change::Boot("preempt=full".into()) };
    let can = machine.text("/proc/version").is_some_and(|version| version.contains("PREEMPT_DYNAMIC"));
    Finding::costs(model, effect).change(can.then_some(change))
}

fn configured(machine: &Machine) -> Option<String> {
    let config = machine.config()?;
    let models =
        [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    models.iter().find(|(name, _)| config.is_set(name)).map(|(_, model)| (*model).to_owned())
}

pub fn rt_throttling(machine: &Machine) -> Finding {
    const FILE: &str = "/proc/sys/kernel/sched_rt_runtime_us";
    let period = machine.number::<i64>("/proc/sys/kernel/sched_rt_period_us").unwrap_or(1_000_000);
    match machine.number::<i64>(FILE) {
        None => Finding::unknown("not told", format!("{FILE} cannot be read")),
        Some(runtime) if runtime < 0 || runtime >= period => {
            Finding::good("off", "a real-time thread may run for ever; one that never sleeps takes its CPU")
        }
        Some(runtime) => {
            let effect = "a real-time thread (SCHED_FIFO, SCHED_RR) that does not sleep is stopped for the rest, if others want to run";
            let state = format!("{} of {} ms", runtime / 1000, period / 1000);
            Finding::costs(state, effect).change(Change::file(FILE, "-1"))
        }
    }
}

pub fn clocksource(machine: &Machine) -> Finding {
    const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = format!("{FOLDER}/current_clocksource");
    let available = machine.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    match machine.text(&current).as_deref() {
        None => Finding::unknown("not told", "reading the time may cost a system call"),
        Some(clock @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page")) => {
            Finding::good(clock, "the time is read without a system call")
        }
        Some(clock) => {
            let tsc = available.split_whitespace().any(|name| name == "tsc");
            let effect = "each reading of the time is a system call and a slow access to a device";
            Finding::costs(clock, effect).change(if tsc {
                Change::file(current, "tsc")
            } else {
                Change::Boot("tsc=reliable".into())
            })
        }
    }
}

pub fn mitigations(machine: &Machine) -> Finding {
    const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";
    let names = machine.names(FOLDER);
    let told: Option<Vec<String>> = names.iter().map(|name| machine.text(&format!("{FOLDER}/{name}"))).collect();
    let Some(told) = told.filter(|told| !told.is_empty()) else {
        return Finding::unknown("not told", "the kernel does not say which flaws of the CPU it works around");
    };
    let guarded = names.iter().zip(&told).filter(|(_, text)| text.starts_with("Mitigation"));
    let guarded: Vec<&str> = guarded.map(|(name, _)| name.as_str()).collect();
    if guarded.is_empty() {
        return Finding::good("none", "system calls and switches cost what they must");
    }
    let effect =
        "system calls, interrupts and context switches are dearer; without, programs may read what is not theirs";
    Finding::costs(guarded.join(", "), effect).change(Change::Boot("mitigations=off".into()))
}

pub fn watchdog(machine: &Machine) -> Finding {
    const FILE: &str = "/proc/sys/kernel/watchdog";
    match machine.number::<u8>(FILE) {
        Some(0) => Finding::good("off", "no thread of the highest priority looks whether CPUs hang"),
        Some(_) => {
            Finding::costs("on", "every few seconds a thread of the highest priority runs on each CPU for some µs")
                .change(Change::file(FILE, "0"))
        }
        None if machine.lacks(FILE) => Finding::good("none", "the kernel has no watchdog for hanging CPUs"),
        None => Finding::unknown("not told", format!("{FILE} cannot be read")),
    }
}
