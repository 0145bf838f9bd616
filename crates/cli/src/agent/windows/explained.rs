//! What `dwell report explain` says of a window, as rows of causes for each process that waited.

use std::collections::{BTreeMap, BTreeSet};

use dwell_fleet::CauseRow;
use serde::Deserialize;

use super::super::processes::NamedProcess;

/// Characters of a text that are kept.
const MOST_CHARS: usize = 500;
/// Letters of a process's name that the kernel keeps.
const KERNELS_NAME: usize = 15;
/// Who waited in a process that nobody saw.
const UNSEEN: &str = "(ended)";

/// The answer of `dwell report explain --format json`, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
pub struct ExplainedWindow {
    rows: Vec<ExplainedCause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExplainedCause {
    who: Option<String>,
    kind: Option<String>,
    place: Option<String>,
    wait_ns: Option<u64>,
    wall_ns: Option<u64>,
    advice: Option<String>,
    links: Option<Vec<ExplainedLink>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExplainedLink {
    chain: u64,
    wait_ns: u64,
    who: Option<String>,
    waited_for: Option<String>,
    place: Option<String>,
    object: Option<String>,
    process: Option<String>,
}

/// The processes of a host during a window, by the kernel's names.
#[derive(Debug, Default)]
pub struct WindowProcesses {
    by_name: BTreeMap<String, BTreeMap<NamedProcess, BTreeSet<u32>>>,
}

impl WindowProcesses {
    /// Adds one.
    pub fn add(&mut self, pid: u32, named: NamedProcess) {
        self.by_name.entry(named.name.clone()).or_default().entry(named).or_default().insert(pid);
    }

    /// All of them, each once.
    pub fn all(&self) -> impl Iterator<Item = &NamedProcess> {
        self.by_name.values().flat_map(BTreeMap::keys)
    }

    /// Processes that share their name with others of another service or version: explained by their numbers.
    pub fn alike(&self) -> impl Iterator<Item = (&NamedProcess, &BTreeSet<u32>)> {
        self.by_name.values().filter(|named| named.len() > 1).flatten()
    }

    /// The process that has a name alone; `None` where several have it. One that nobody saw is a service of its own.
    fn alone(&self, name: &str) -> Option<NamedProcess> {
        let short: String = name.chars().take(KERNELS_NAME).collect();
        match self.by_name.get(&short).or_else(|| self.by_name.get(name)) {
            Some(named) if named.len() > 1 => None,
            Some(named) => named.keys().next().cloned(),
            None => {
                let name = if short.is_empty() { UNSEEN.to_owned() } else { short };
                Some(NamedProcess { service: name.clone(), name, version: String::new() })
            }
        }
    }
}

impl ExplainedWindow {
    /// The causes of the waits of processes that have their names alone.
    pub fn of_names(&self, processes: &WindowProcesses) -> Vec<(NamedProcess, CauseRow)> {
        let rows = self.rows.iter().flat_map(|cause| {
            let shares = cause.shares();
            shares.into_iter().filter_map(|(name, (ns, chain))| {
                Some((processes.alone(&name)?, cause.row(ns, chain))).filter(|(_, row)| row.wait_ns > 0)
            })
        });
        rows.collect()
    }

    /// The causes of the waits of one process, of which all of this is. Time in run queues is the host's, and has no chains.
    pub fn of_one(&self, named: &NamedProcess) -> Vec<(NamedProcess, CauseRow)> {
        let rows = self.rows.iter().filter_map(|cause| {
            let largest = cause.links().first()?.chain;
            Some((named.clone(), cause.row(cause.wait_ns.unwrap_or(0), Some(largest))))
        });
        rows.filter(|(_, row)| row.wait_ns > 0).collect()
    }
}

impl ExplainedCause {
    fn links(&self) -> &[ExplainedLink] {
        self.links.as_deref().unwrap_or_default()
    }

    /// Its time by the process that waited, by the first waits of its chains, each with its largest chain. The largest chains stand for
    /// all. Time in run queues has no chains: the sums of the row of time have it by process.
    fn shares(&self) -> BTreeMap<String, (u64, Option<u64>)> {
        let mut shares = BTreeMap::<String, (u64, Option<u64>)>::new();
        let mut seen = None;
        for link in self.links() {
            if seen == Some(link.chain) {
                continue;
            }
            seen = Some(link.chain);
            let name = link.process.clone().unwrap_or_default();
            let share = shares.entry(name).or_insert((0, Some(link.chain)));
            share.0 = share.0.saturating_add(link.wait_ns);
        }
        let all: u128 = shares.values().map(|(ns, _)| u128::from(*ns)).sum();
        let wait_ns = u128::from(self.wait_ns.unwrap_or(0));
        for (ns, _) in shares.values_mut() {
            *ns = u64::try_from(u128::from(*ns) * wait_ns / all.max(1)).unwrap_or(u64::MAX);
        }
        shares
    }

    /// Its row, with what is of it alone.
    fn row(&self, wait_ns: u64, chain: Option<u64>) -> CauseRow {
        let text = |text: &Option<String>| kept(text.as_deref().unwrap_or_default());
        let (who, kind, place) = (text(&self.who), text(&self.kind), text(&self.place));
        let links: Vec<&ExplainedLink> = self.links().iter().filter(|link| Some(link.chain) == chain).collect();
        let chain: Vec<String> = links.iter().map(|link| link.words()).collect();
        let place_words = if place.is_empty() { String::new() } else { format!(" in {place}") };
        CauseRow {
            cause: kept(&format!("{who}: {kind}{place_words}")),
            object: links.first().map(|link| text(&link.object)).unwrap_or_default(),
            chain: kept(&chain.join(" <- ")),
            wait_ns: i64::try_from(wait_ns).unwrap_or(i64::MAX),
            wall_ns: i64::try_from(self.wall_ns.unwrap_or(0)).unwrap_or(i64::MAX),
            advice: text(&self.advice),
            who,
            kind,
            place,
            ..CauseRow::default()
        }
    }
}

impl ExplainedLink {
    /// Who waited for what, where.
    fn words(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let place = self.place.as_deref().map(|place| format!(" at {place}")).unwrap_or_default();
        format!("{} waited for {}{place}", text(&self.who), text(&self.waited_for))
    }
}

/// A text without what steers a terminal, and not too long.
fn kept(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MOST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, service: &str) -> NamedProcess {
        NamedProcess { name: name.into(), service: service.into(), version: "1".into() }
    }

    fn explained() -> ExplainedWindow {
        let text = r#"{"rows": [
            {"who": "holder of app", "kind": "slept", "place": "f (a.c:1)", "wait_ns": 100, "wall_ns": 60, "advice": "Do\u001b not.",
             "links": [{"chain": 0, "wait_ns": 30, "who": "user of app", "waited_for": "a mutex", "place": "g", "object": "m", "process": "app"},
                       {"chain": 0, "wait_ns": 30, "who": "b", "waited_for": "c", "place": null, "object": null, "process": "other"},
                       {"chain": 1, "wait_ns": 20, "who": "w of a-very-long-name", "process": "a-very-long-name"}]},
            {"who": "x", "kind": "cpus-taken", "place": null, "wait_ns": 7, "links": null}], "notes": []}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn causes_are_those_of_the_processes_that_wait() {
        let mut processes = WindowProcesses::default();
        processes.add(1, process("app", "shop"));
        processes.add(2, process("a-very-long-nam", "long"));
        let rows = explained().of_names(&processes);
        let told: Vec<_> =
            rows.iter().map(|(of, row)| (of.service.as_str(), row.wait_ns, row.cause.as_str())).collect();
        // The largest chains stand for all of the 100.
        let cause = "holder of app: slept in f (a.c:1)";
        assert_eq!(told, [("long", 40, cause), ("shop", 60, cause)]);
        let row = &rows[1].1;
        assert_eq!((row.object.as_str(), row.advice.as_str()), ("m", "Do not."));
        assert_eq!(row.chain, "user of app waited for a mutex at g <- b waited for c");
    }

    #[test]
    fn processes_of_one_name_are_told_apart_by_their_numbers() {
        let mut processes = WindowProcesses::default();
        processes.add(1, process("app", "shop"));
        processes.add(2, process("app", "bank"));
        processes.add(3, process("app", "bank"));
        let rows = explained().of_names(&processes);
        let services: Vec<_> = rows.iter().map(|(of, _)| of.service.as_str()).collect();
        assert_eq!(services, ["a-very-long-nam"], "nobody knows whose the others are");
        let alike: Vec<_> = processes.alike().map(|(of, pids)| (of.service.as_str(), pids.len())).collect();
        assert_eq!(alike, [("bank", 2), ("shop", 1)]);
        let of_one = explained().of_one(&process("app", "bank"));
        assert_eq!(
            of_one.iter().map(|(_, row)| row.wait_ns).collect::<Vec<_>>(),
            [100],
            "time in run queues is no wait"
        );
    }
}
