//! Reads who took the CPU (`bpf/rival.bpf.h`).

use std::collections::BTreeMap;

use dwell_store::{OWN_PROGRAM, Rival};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

/// Stands for programs that the user may not look at.
const OTHERS: &str = "[others]";
/// How another Dwell is told that runs beside.
const ANOTHER: &str = "dwell (another)";
/// Programs that are told, at most.
const MOST: usize = 16;

/// The programs of the map, those of one name together, the longest first.
pub fn read(map: &MapHandle) -> Vec<Rival> {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    let own = std::process::id().to_ne_bytes();
    for key in map.keys() {
        let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
        let Some((ns, comm)) = value.split_first_chunk() else { continue };
        let name = comm.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = match name {
            _ if key == own => OWN_PROGRAM.into(),
            b"" => OTHERS.into(),
            name if name == OWN_PROGRAM.as_bytes() => ANOTHER.into(),
            name => String::from_utf8_lossy(name),
        };
        let sum = times.entry(name.into_owned()).or_default();
        *sum = sum.saturating_add(u64::from_ne_bytes(*ns));
    }
    let took = times.into_iter().filter(|(_, ns)| *ns > 0);
    let mut rivals: Vec<Rival> = took.map(|(name, ns)| Rival { name, ns }).collect();
    rivals.sort_by_key(|rival| std::cmp::Reverse(rival.ns));
    rivals.truncate(MOST);
    rivals
}
