//! What processes are called, and which service each belongs to; those that ended in the row of time, too.

use std::collections::HashMap;
use std::fs;

use dwell_capture::SumReading;
use dwell_cgroups::{Engines, container_id, of_process, unit};

/// What a process is called that ended so fast that nobody saw its name.
const UNNAMED: &str = "(ended)";
/// Id of the control group that all others lie in.
const FIRST_GROUP: u64 = 1;
/// Digits of a container's id that stand for its name.
const SHORT_ID: usize = 12;

/// A process in the rows of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// The kernel's name of its first thread.
    pub name: String,
    /// Its unit of systemd, else its container, else its name.
    pub service: String,
}

/// The processes of a row of time.
pub struct Processes {
    /// Names of those that have ended.
    ended: HashMap<u32, String>,
    /// Ids of their control groups.
    groups: HashMap<u32, u64>,
    /// Paths of control groups by id, as living processes have them.
    paths: HashMap<u64, String>,
    engines: Engines,
}

impl Processes {
    /// Those that the kernel summed.
    pub fn of(read: &SumReading) -> Self {
        let keys = read.closed.iter().map(|(key, _)| key).chain(read.open.iter().map(|open| &open.key));
        let groups: HashMap<u32, u64> = keys.map(|key| (key.pid, key.cgroup)).collect();
        let living = groups.iter().map(|(&pid, &id)| (id, of_process(pid)));
        Self {
            ended: read.names.iter().map(|((pid, _), name)| (*pid, text(&name.process))).collect(),
            paths: living.filter(|(_, path)| !path.is_empty()).collect(),
            groups,
            engines: Engines::here(),
        }
    }

    /// What `pid` is called.
    pub fn named(&self, pid: u32) -> NamedProcess {
        let living = fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let name = living.map(|name| name.trim_end_matches('\n').to_owned());
        let name = name.or_else(|| self.ended.get(&pid).cloned()).unwrap_or_else(|| UNNAMED.into());
        let group = self.group(pid);
        let service = self.service(&group).unwrap_or_else(|| name.clone());
        NamedProcess { name, service }
    }

    fn service(&self, group: &str) -> Option<String> {
        let container = || {
            let id = container_id(group)?;
            let named = self.engines.container(id).map(|it| it.name.clone()).filter(|name| !name.is_empty());
            Some(named.unwrap_or_else(|| id.chars().take(SHORT_ID).collect()))
        };
        unit(group).map(str::to_owned).or_else(container)
    }

    /// The path of its control group.
    fn group(&self, pid: u32) -> String {
        let living = of_process(pid);
        // Where all lie in one group of version 2 its id tells nothing.
        let of_id = |id: &u64| self.paths.get(id).filter(|_| *id != FIRST_GROUP).cloned();
        if living.is_empty() { self.groups.get(&pid).and_then(of_id).unwrap_or_default() } else { living }
    }
}

/// A name of the kernel's.
fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes() -> Processes {
        let (ended, groups) = (HashMap::from([(u32::MAX, "gone".to_owned())]), HashMap::from([(u32::MAX, 77)]));
        let paths = HashMap::from([(77, "/system.slice/web.service".to_owned())]);
        Processes { ended, groups, paths, engines: Engines::default() }
    }

    #[test]
    fn services_are_units_or_containers() {
        let id = "0123456789abcdef".repeat(4);
        assert_eq!(processes().service("/system.slice/nginx.service").as_deref(), Some("nginx.service"));
        assert_eq!(processes().service(&format!("/docker/{id}")).as_deref(), Some("0123456789ab"));
        assert_eq!(processes().service("/"), None);
    }

    #[test]
    fn a_process_that_has_ended_keeps_its_name_and_service() {
        let expected = NamedProcess { name: "gone".into(), service: "web.service".into() };
        assert_eq!(processes().named(u32::MAX), expected);
        assert_eq!(processes().named(u32::MAX - 1).service, UNNAMED);
    }
}
