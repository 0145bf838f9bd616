//! The pid namespace that Dwell is in, whose ids are those in its `/proc`: which one it is, and how deep it lies.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use bytemuck::Zeroable as _;
use dwell_wire::Scope;
use libbpf_rs::{MapCore, MapFlags};
use rustix::process::{getgid, getuid};

use crate::error::{Error, Result};
use crate::kernel::loading;
use crate::kernel::maps::map_of;
use crate::kernel::walk::walk;

/// Inode of the first pid namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const FIRST_NAMESPACE: u32 = 0xeffffffc;

/// The scope of this process. Fails when `/proc` is of another pid namespace: then no id in it means what it says.
pub fn scope(own_only: bool) -> Result<Scope> {
    let pid_namespace = namespace("pid");
    let pid_level = if pid_namespace == FIRST_NAMESPACE { 0 } else { level()? };
    Ok(Scope {
        pid_level,
        pid_namespace,
        own_only: u32::from(own_only),
        uid: getuid().as_raw(),
        gid: getgid().as_raw(),
        user_namespace: namespace("user"),
    })
}

fn namespace(kind: &str) -> u32 {
    fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |metadata| metadata.ino() as u32)
}

fn level() -> Result<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ids_of(&status).is_none_or(|ids| ids.len() != 1) {
        return Err(Error::ForeignProc);
    }
    let object = loading::load("namespace", &HashMap::new(), &Scope::zeroed())?.object;
    walk(&object, "find_level")?;
    let level = map_of(&object, "level")?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
    let level = level.ok().flatten().and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?)));
    level.filter(|&level| level > 0).ok_or_else(|| Error::Unsupported {
        reason: "how its pid namespaces lie within one another is not known".into(),
        remedy: "run Dwell in the first one: docker run --pid=host, Kubernetes' hostPID, or on the host".into(),
        log: String::new(),
    })
}

/// The ids of a process or thread, by its `/proc/ID/status`: from the pid namespace that `/proc` is of to its own.
pub fn ids_of(status: &str) -> Option<Vec<u32>> {
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    ids.split_whitespace().map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_each_namespace() {
        assert_eq!(ids_of("Name:\tx\nNSpid:\t17\nNSpgid:\t17\n"), Some(vec![17]));
        assert_eq!(ids_of("NSpid:\t17\t1\n"), Some(vec![17, 1]));
        assert_eq!(ids_of("Name:\tx\n"), None);
    }
}
