//! Processes that a program starts one after another, though CPUs are free.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, ObjectType, ProcessId, StackId};
use dwell_query::engine::target::target_concurrency;
use dwell_view::Word;

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest_own};
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::explain::runs_programs;
use crate::study::lives::LifeSpans;

/// One child computes, and the next one is started when it has ended.
pub const SERIAL_CHILDREN: FindingDef = FindingDef {
    id: "serial-children",
    title: "Children one after another",
    help: "A program starts processes of one name one after another, each when the one before has ended. They compute, and leave CPUs \
           without work meanwhile.",
    advice: "Run several at once, as many as there are CPUs, where none needs what another one makes: make -j, ninja, xargs -P, \
             parallel, `&` and `wait` in a shell, a pool of processes.",
    japanese_title: "順番に実行される子プロセス",
    japanese_advice: "互いの結果を必要としないものは、CPU の数だけ同時に実行してください: ビルドツールの -j、並列実行の -P、シェルのバックグラウンド実行、\
                      プロセスのプール。",
};

/// Children of one name from which it matters, …
const CHILDREN: usize = 4;
/// … each of which lives for so long, ns: shorter ones are churn.
const LEAST_LIFE_NS: u64 = 20_000_000;
/// Part of the time in which one of them lives.
const ELAPSED_SHARE: f64 = 0.5;
/// How many of them are there at once on average, at most: else they run beside each other.
const MOST_AT_ONCE: f64 = 1.1;
/// CPUs that they keep busy, with all that they start, at least: else they wait for something, which is told as such; but of a program that starts
/// several at once if it is told so.
const LEAST_CPUS: f64 = 0.4;
/// The same at most, of those that the program may use.
const MOST_CPUS: f64 = 0.6;

pub fn serial_children(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    if fold.query.is_filtered() || target_concurrency(fold.trace, fold.query) < 2 {
        return Vec::new();
    }
    let cpu_ns = CpuOfTrees::new(evidence);
    let found = families(evidence).into_iter().filter_map(|family| finding(evidence, &family, &cpu_ns));
    // Whoever starts those that start these has as long a series of children.
    found.max_by_key(|finding| finding.cost_ns).into_iter().collect()
}

/// Children of one process with one name.
struct Family<'t> {
    parent: usize,
    name: &'t str,
    children: Vec<usize>,
    /// Their lives within the time looked at.
    lives: Vec<(u64, u64)>,
}

/// Those of which there are enough.
fn families<'t>(evidence: &Evidence<'_, 't>) -> Vec<Family<'t>> {
    let (trace, windows) = (evidence.fold.trace, &evidence.fold.sums.windows);
    let processes = &trace.processes;
    let mut families: BTreeMap<(usize, &str), Family<'t>> = BTreeMap::new();
    for child in 0..processes.pid.len() {
        let life = (processes.start_ns[child], processes.end_ns[child]);
        // A copy of its parent is part of that.
        let Some(parent) = processes.parent[child].get().filter(|_| !processes.command_line[child].is_empty()) else {
            continue;
        };
        if windows.overlap_ns(life.0, life.1) < LEAST_LIFE_NS {
            continue;
        }
        let name = processes.name[child].as_str();
        let new = || Family { parent, name, children: Vec::new(), lives: Vec::new() };
        let family = families.entry((parent, name)).or_insert_with(new);
        family.children.push(child);
        family.lives.extend(windows.parts().iter().map(|part| (part.0.max(life.0), part.1.min(life.1))));
    }
    families.into_values().filter(|family| family.children.len() >= CHILDREN).collect()
}

fn finding(evidence: &Evidence<'_, '_>, family: &Family<'_>, cpu_ns: &CpuOfTrees<'_>) -> Option<Finding> {
    let fold = evidence.fold;
    let lives = LifeSpans::of(family.lives.clone());
    let cpus = cpu_ns.of(&family.children) as f64 / lives.any_ns.max(1) as f64;
    let target = target_concurrency(fold.trace, fold.query);
    // Children of such a program that wait for something wait side by side as well.
    let is_runner = runs_programs(&fold.trace.processes.name[family.parent]);
    let least_cpus = if is_runner { 0.0 } else { LEAST_CPUS };
    let leaves_cpus = (least_cpus..=MOST_CPUS * f64::from(target)).contains(&cpus);
    if lives.at_once() > MOST_AT_ONCE || !leaves_cpus || evidence.share(lives.any_ns) < ELAPSED_SHARE {
        return None;
    }
    let count = family.children.len();
    let parent = fold.trace.processes.name[family.parent].clone();
    let text = say!(
        SERIAL_CHILDREN,
        parent = parent.clone(),
        children = count,
        name = family.name,
        each = Word::Ns(lives.all_ns / count as u64),
        lived = Word::Ns(lives.any_ns),
        share = Word::part(lives.any_ns, evidence.elapsed_ns),
        cpus = Word::Real(cpus, 1),
        target = u64::from(target),
    );
    Some(Finding {
        subject: format!("{} of {parent}", family.name),
        evidence: text.into(),
        stack: waits_for_children(evidence, family.parent),
        cost_ns: lives.any_ns.saturating_mul(u64::from(target - 1)),
        claims: vec![Claim::at_least("summary", fold.query, "threads", count as u64)],
        ..Finding::default()
    })
}

/// Where a process waits for its children.
fn waits_for_children(evidence: &Evidence<'_, '_>, process: usize) -> StackId {
    let of_process = |thread: &usize| evidence.fold.trace.threads.process[*thread].get() == Some(process);
    let objects = evidence.of_types(&[ObjectType::ChildProcess]);
    let waits = objects.filter(|(_, waits)| waits.by_thread.keys().any(of_process));
    heaviest_own(evidence.fold, waits.flat_map(|(_, waits)| waits.by_stack.iter().map(|(stack, ns)| (*stack, *ns))))
}

/// How long each process ran.
struct CpuOfTrees<'e> {
    parents: &'e [ProcessId],
    running_ns: Vec<u64>,
}

impl<'e> CpuOfTrees<'e> {
    fn new(evidence: &Evidence<'_, 'e>) -> Self {
        let parents = &evidence.fold.trace.processes.parent;
        let mut running_ns = vec![0; parents.len()];
        for (process, times) in evidence.process_times() {
            if let Some(sum) = process.get().and_then(|row| running_ns.get_mut(row)) {
                *sum = times.running_ns;
            }
        }
        Self { parents, running_ns }
    }

    /// That of these processes and all that they started, directly or not.
    fn of(&self, roots: &[usize]) -> u64 {
        let mut belongs = vec![false; self.parents.len()];
        roots.iter().for_each(|root| belongs[*root] = true);
        // Parents come before their children.
        for (row, parent) in self.parents.iter().enumerate() {
            belongs[row] |= parent.get().is_some_and(|parent| parent < row && belongs[parent]);
        }
        self.running_ns.iter().zip(belongs).filter(|(_, belongs)| *belongs).map(|(ns, _)| *ns).sum()
    }
}
