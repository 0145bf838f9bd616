//! Frequencies and idle states: how fast a CPU is when work comes, and how long it takes to be awake.

use crate::change::Change;
use crate::finding::Finding;
use crate::machine::{Machine, tally};

const CPUFREQ: &str = "/sys/devices/system/cpu/cpu*/cpufreq";
const CPU0_IDLE: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
/// An idle state that takes longer to leave than this, in µs, is deep.
const SHALLOW_US: u64 = 2;

/// The files of all CPUs called `file`, and a tally of what they say.
fn frequencies(machine: &Machine, file: &str) -> Option<(Vec<String>, String)> {
    let files = machine.of_cpus(&format!("cpufreq/{file}"));
    let values = tally(files.iter().filter_map(|path| machine.text(path)));
    (!values.is_empty()).then_some((files, values))
}

const NO_CPUFREQ: &str = "the firmware or the hypervisor chooses frequencies, unseen";

pub fn governor(machine: &Machine) -> Finding {
    let Some((_, values)) = frequencies(machine, "scaling_governor") else {
        return Finding::unknown("no cpufreq", NO_CPUFREQ);
    };
    if values == "performance" {
        return Finding::good(values, "CPUs are always as fast as they may be");
    }
    let effect = "a CPU that was idle begins slow and speeds up only after a while of load: everything short is slower";
    Finding::costs(values, effect).change(set_governor(machine, "performance"))
}

/// The governors that every CPU knows; none without cpufreq.
pub fn governors(machine: &Machine) -> Vec<String> {
    let known = machine.of_cpus("cpufreq/scaling_available_governors");
    let mut lists = known.iter().filter_map(|path| machine.text(path));
    let Some(first) = lists.next() else { return Vec::new() };
    let others: Vec<String> = lists.collect();
    let by_all = |name: &&str| others.iter().all(|list| list.split_whitespace().any(|it| it == *name));
    first.split_whitespace().filter(by_all).map(str::to_owned).collect()
}

/// What makes `name` the governor of all CPUs.
pub fn set_governor(machine: &Machine, name: &str) -> Change {
    let files = machine.of_cpus("cpufreq/scaling_governor");
    Change::files(format!("{CPUFREQ}/scaling_governor"), files, name)
}

pub fn frequency_driver(machine: &Machine) -> Finding {
    let Some((_, driver)) = frequencies(machine, "scaling_driver") else {
        return Finding::unknown("no cpufreq", NO_CPUFREQ);
    };
    let status = ["intel_pstate", "amd_pstate"]
        .iter()
        .find_map(|name| machine.text(&format!("/sys/devices/system/cpu/{name}/status")));
    let state = status.map_or_else(|| driver.clone(), |status| format!("{driver}, {status}"));
    let by_hardware = driver.contains("pstate");
    Finding::good(
        state,
        if by_hardware {
            "the CPU itself changes frequencies, within µs"
        } else {
            "the kernel changes frequencies, at ticks"
        },
    )
}

pub fn energy_preference(machine: &Machine) -> Finding {
    let Some((files, values)) = frequencies(machine, "energy_performance_preference") else {
        return Finding::unknown("none", "this driver knows no preference");
    };
    if values == "performance" {
        return Finding::good(values, "the CPU is told not to save energy");
    }
    let change = Change::files(format!("{CPUFREQ}/energy_performance_preference"), files, "performance");
    Finding::costs(values, "the CPU waits longer before it speeds up").change(change)
}

pub fn turbo(machine: &Machine) -> Finding {
    const INTEL: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "/sys/devices/system/cpu/cpufreq/boost";
    let on = machine.number::<u8>(INTEL).map(|off| (off == 0, INTEL, "1"));
    let on = on.or_else(|| machine.number::<u8>(OTHERS).map(|on| (on == 1, OTHERS, "0")));
    match on {
        Some((true, file, off)) => {
            let effect =
                "faster, but each change of frequency stops the CPU for some µs, and heat ends it: runs differ";
            Finding::costs("on", effect).change(Change::file(file, off))
        }
        Some((false, ..)) => Finding::good("off", "runs are alike; the highest frequencies are not used"),
        None => Finding::unknown("not told", NO_CPUFREQ),
    }
}

struct IdleState {
    number: usize,
    name: String,
    exit_us: Option<u64>,
    enabled: bool,
}

fn idle_states(machine: &Machine) -> Vec<IdleState> {
    let names = machine.numbered(CPU0_IDLE, "state", "name");
    let state = |(number, path): (usize, &String)| {
        let folder = path.trim_end_matches("/name");
        IdleState {
            number,
            name: machine.text(path).unwrap_or_default(),
            exit_us: machine.number(&format!("{folder}/latency")),
            enabled: machine.number::<u8>(&format!("{folder}/disable")) != Some(1),
        }
    };
    names.iter().enumerate().map(state).collect()
}

pub fn c_states(machine: &Machine) -> Finding {
    let states = idle_states(machine);
    if states.is_empty() {
        let effect = "an idle CPU stops until the next interrupt, by the hypervisor's or the firmware's means";
        return Finding::unknown("no cpuidle", effect);
    }
    let enabled: Vec<&IdleState> = states.iter().filter(|state| state.enabled).collect();
    let Some(exits) = enabled.iter().map(|state| state.exit_us).collect::<Option<Vec<u64>>>() else {
        return Finding::unknown("not told", "how long it takes to leave the idle states cannot be read");
    };
    let named = enabled.iter().zip(&exits).map(|(state, exit_us)| format!("{} {exit_us} µs", state.name));
    let named = named.collect::<Vec<_>>().join(", ");
    let deep: Vec<&&IdleState> = enabled.iter().filter(|state| state.exit_us > Some(SHALLOW_US)).collect();
    let Some(deepest) = deep.iter().filter_map(|state| state.exit_us).max() else {
        return Finding::good(named, "an idle CPU is awake within 2 µs, by its own account");
    };
    let numbers: String = deep.iter().map(|state| state.number.to_string()).collect();
    let pattern = if numbers.len() == 1 { format!("state{numbers}") } else { format!("state[{numbers}]") };
    let files = deep.iter().flat_map(|state| machine.of_cpus(&format!("cpuidle/state{}/disable", state.number)));
    let change = Change::files(format!("/sys/devices/system/cpu/cpu*/cpuidle/{pattern}/disable"), files.collect(), "1");
    let effect = format!("what wakes an idle CPU waits up to {deepest} µs until it runs; caches may be empty then");
    Finding::costs(named, effect).change(change)
}
