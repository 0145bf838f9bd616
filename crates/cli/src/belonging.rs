//! Processes by what they belong to: the machine, control groups, units, containers.

use dwell_cgroups::{Engines, Folders, NoSuchGroup, Selection};

use crate::args::BelongingArgs;
use crate::error::{Hinted, Result};

/// What the options choose; none: they choose nothing.
pub fn selection(args: &BelongingArgs) -> Result<Option<Selection>> {
    if args.all {
        return Ok(Some(Selection::Machine));
    }
    let (folders, engines) = (Folders::here(), Engines::here());
    let mut found = Vec::new();
    for pattern in &args.cgroup {
        let hint = "ls /sys/fs/cgroup lists the groups; cat /proc/PID/cgroup says in which a process is";
        found.extend(folders.matching(pattern).map_err(|none| missing("control group", pattern, &none, hint))?);
    }
    for name in &args.unit {
        let hint = "systemctl list-units --type=service,scope lists those that run";
        found.extend(folders.unit(name).map_err(|none| missing("running unit", name, &none, hint))?);
    }
    for name in &args.container {
        let hint = "docker ps, podman ps or crictl ps lists those that run; their ids do, too";
        found
            .extend(folders.container(name, &engines).map_err(|none| missing("running container", name, &none, hint))?);
    }
    Ok((!found.is_empty()).then_some(Selection::Folders(found)))
}

fn missing(what: &str, name: &str, none: &NoSuchGroup, hint: &str) -> Hinted {
    if none.roots.is_empty() {
        return Hinted::new("no cgroup file system is mounted here")
            .hint("mount -t cgroup2 none /sys/fs/cgroup mounts it; --target-pid takes a process");
    }
    Hinted::new(format!("no {what} is called {name}")).hint(hint)
}
