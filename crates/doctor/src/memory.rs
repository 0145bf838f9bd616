//! What can hold a thread up when it touches memory.

use crate::change::Change;
use crate::finding::Finding;
use crate::machine::{Machine, chosen};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// What to say when the settings of transparent huge pages cannot be read.
fn without_thp(machine: &Machine) -> Finding {
    if machine.lacks(THP) {
        return Finding::good("none", "the kernel has no transparent huge pages");
    }
    Finding::unknown("not told", format!("{THP} cannot be read"))
}

pub fn thp(machine: &Machine) -> Finding {
    let file = format!("{THP}/enabled");
    let Some(text) = machine.text(&file) else {
        return without_thp(machine);
    };
    match chosen(&text) {
        "always" => {
            let effect = "a first touch may clear 2 MiB at once, and khugepaged moves memory that is in use";
            Finding::costs("always", effect).change(Change::file(file, "madvise"))
        }
        state => Finding::good(state, "only programs that ask for huge pages get them"),
    }
}

pub fn thp_defrag(machine: &Machine) -> Finding {
    let file = format!("{THP}/defrag");
    let Some(text) = machine.text(&file) else {
        return without_thp(machine);
    };
    match chosen(&text) {
        state @ ("never" | "defer") => Finding::good(state, "no page fault waits for memory to be compacted"),
        state => {
            let who =
                if state == "always" { "any page fault" } else { "a page fault in memory that asked for huge pages" };
            let effect = format!("{who} may compact memory first, for ms");
            Finding::costs(state, effect).change(Change::file(file, "defer"))
        }
    }
}

pub fn swap(machine: &Machine) -> Finding {
    const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
    let Some(swaps) = machine.text("/proc/swaps").or_else(|| machine.lacks("/proc/swaps").then(String::new)) else {
        return Finding::unknown("not told", "/proc/swaps cannot be read");
    };
    let names: Vec<&str> = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    if names.is_empty() {
        return Finding::good("none", "no page of a program is ever read back from disk, but of files");
    }
    let swappiness = machine.text(SWAPPINESS).unwrap_or_else(|| "not told".into());
    let state = format!("{}, swappiness {swappiness}", names.join(", "));
    let effect = "a page that was not used for long may be on disk: touching it takes as long as reading it";
    Finding::costs(state, effect).change(Change::Shell("sudo swapoff -a    # undo: sudo swapon -a".into()))
}
