//! What processes belong to, as text of a record: control group, unit, container and pod.

use std::collections::HashMap;

use dwell_cgroups::{Container, Engines, container_id, of_process, unit};

/// As much of an id as engines show.
const SHOWN_ID: usize = 12;
/// The engines' files are not read again within this time: a container's name comes a moment before or after its first process.
const READ_AGAIN_NS: u64 = 1_000_000_000;
/// Groups that are remembered.
const MOST_GROUPS: usize = 4096;

/// What groups are called.
#[derive(Default)]
pub struct Belongings {
    engines: Option<(u64, Engines)>,
    known: HashMap<String, Vec<u8>>,
}

impl Belongings {
    /// `GROUP\0UNIT\0CONTAINER\0POD` of process `pid`; empty where there is nothing to say: in the first group, or when it is gone.
    pub fn of(&mut self, pid: u32, now_ns: u64) -> Vec<u8> {
        let group = of_process(pid);
        if group.is_empty() || group == "/" {
            return Vec::new();
        }
        if let Some(known) = self.known.get(&group) {
            return known.clone();
        }
        let (container, is_named) =
            container_id(&group).map_or_else(|| (Container::default(), true), |id| self.container(id, now_ns));
        let text = [&group, unit(&group).unwrap_or_default(), &container.name, &container.pod].join("\0").into_bytes();
        if is_named && self.known.len() < MOST_GROUPS {
            self.known.insert(group, text.clone());
        }
        text
    }

    /// The container of this id, and whether its engine has named it.
    fn container(&mut self, id: &str, now_ns: u64) -> (Container, bool) {
        let find = |engines: &Engines| engines.container(id).cloned();
        let found = self.engines.as_ref().and_then(|(_, engines)| find(engines)).or_else(|| {
            if self.engines.as_ref().is_some_and(|(read_ns, _)| now_ns.saturating_sub(*read_ns) < READ_AGAIN_NS) {
                return None;
            }
            let (_, engines) = self.engines.insert((now_ns, Engines::here()));
            find(engines)
        });
        let is_named = found.is_some();
        let mut container = found.unwrap_or_default();
        if container.name.is_empty() {
            container.name = id.get(..SHOWN_ID).unwrap_or(id).to_owned();
        }
        (container, is_named)
    }
}
