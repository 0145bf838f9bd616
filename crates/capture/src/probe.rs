//! What this machine offers, for `dwell doctor`.

use std::fs;

use crate::hooks::Hooks;
use crate::options::{Launch, Options, Target};

/// One thing that a collection uses.
#[derive(Clone, Debug)]
pub struct Capability {
    /// What it is.
    pub name: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What was found.
    pub detail: String,
    /// The command that gives it, when it is not there and there is one.
    pub remedy: Option<String>,
}

/// Looks at everything that a collection uses; loads the hooks for a moment.
pub fn probe() -> Vec<Capability> {
    let mut found = vec![root(), btf()];
    let hooks = Hooks::load(&Options::new(Target::Launch(Launch::default())));
    let (available, detail) = match &hooks {
        Ok(_) => (true, "context switches, threads: loaded".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    found.push(Capability { name: "hooks", available, detail, remedy: None });
    if let Ok(hooks) = hooks {
        let complete = hooks.notices.is_empty();
        let detail = if complete { "wakers, sampling: loaded".to_owned() } else { hooks.notices.join(" ") };
        found.push(Capability { name: "optional hooks", available: complete, detail, remedy: None });
    }
    found.push(itt());
    found.push(uprobes());
    found.push(setting("kptr_restrict", "/proc/sys/kernel/kptr_restrict", "kernel functions have names", 1));
    found.push(setting("perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", "matters without root only", 4));
    found
}

fn root() -> Capability {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    // CAP_SYS_ADMIN = 21, CAP_PERFMON = 38, CAP_BPF = 39
    let available = bits & 1 << 21 != 0 || (bits & 1 << 38 != 0 && bits & 1 << 39 != 0);
    Capability {
        name: "privileges",
        available,
        detail: if available { "CAP_BPF and CAP_PERFMON" } else { "CAP_BPF and CAP_PERFMON are missing" }.into(),
        remedy: (!available).then(|| "sudo dwell …".into()),
    }
}

fn itt() -> Capability {
    let variables = crate::itt::environment();
    let detail = match &variables {
        Ok(variables) => {
            let library = variables.first().map(|(_, path)| path.to_string_lossy().into_owned());
            format!("tasks and counters through {}", library.unwrap_or_default())
        }
        Err(error) => format!("the library for programs cannot be stored: {error}"),
    };
    let remedy =
        variables.is_err().then(|| "sudo mount -t tmpfs tmpfs /dev/shm; sudo mkdir -m 755 /var/cache/dwell".into());
    Capability { name: "ITT", available: variables.is_ok(), detail, remedy }
}

fn uprobes() -> Capability {
    let available = fs::metadata("/sys/bus/event_source/devices/uprobe").is_ok();
    Capability {
        name: "uprobes",
        available,
        detail: if available { "--task-probe, stack stitching" } else { "no --task-probe, no stack stitching" }.into(),
        remedy: (!available).then(|| "boot a kernel built with CONFIG_UPROBE_EVENTS=y".into()),
    }
}

fn btf() -> Capability {
    let available = fs::metadata("/sys/kernel/btf/vmlinux").is_ok();
    Capability {
        name: "kernel types (BTF)",
        available,
        detail: "/sys/kernel/btf/vmlinux".into(),
        remedy: (!available).then(|| "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y".into()),
    }
}

fn setting(name: &'static str, path: &str, meaning: &str, at_most: i64) -> Capability {
    let value = fs::read_to_string(path).unwrap_or_default().trim().parse::<i64>().unwrap_or(0);
    Capability {
        name,
        available: value <= at_most,
        detail: format!("{value}: {meaning}"),
        remedy: (value > at_most).then(|| format!("sudo sysctl kernel.{name}={at_most}")),
    }
}
