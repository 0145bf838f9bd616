//! Root causes: causes that are one for a reader, with the waits that they explain and the chains that lead to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_model::StackId;

use crate::study::explain::call_paths::{CauseAt, CauseGroup, by_function, by_place};
use crate::study::explain::chains::{Chains, NodeId, PATH, SERVED, WAITS};
use crate::study::explain::found::{CauseId, FoundCauses};
use crate::study::explain::meanwhile::Meanwhile;
use crate::study::explain::names::Names;
use crate::study::explain::places::{function_at, function_key, is_nameless, line_of_body};
use crate::study::explain::terms::{Cause, CauseKind, Link, NOTHING};
use crate::study::intervals::union_ns;

/// So many times longer than others did the program's end wait for what is the end's cause alone.
const MUCH_LONGER: u64 = 10;
/// And so many times longer than others of the program did those outside.
const LONGER_OUTSIDE: u64 = 3;
/// Part of its time on the path for which others outside must have waited for what is for them: a server starts before they come.
const MOSTLY_SERVED: f64 = 0.8;
/// Part of the path from which a thread that sleeps does so for nearly all of it.
const SLEEPS_THROUGH: f64 = 0.8;
/// Part of the path from which a place where the program ran is most of what it did there.
const MOSTLY: f64 = 0.5;
/// The same of what is longer than anything else, …
const LARGE_PART: f64 = 0.25;
/// … and so many times longer than the next.
const LONGER_THAN_NEXT: f64 = 1.5;
/// Where the first thread of a Java program waits for the thread that runs it.
const JAVA_LAUNCHER: &str = "CallJavaMainInNewThread";
/// Chains of a root cause, the longest first, at most.
const CHAINS: usize = 8;

/// A root cause: what waits are because of.
#[derive(Clone, Debug)]
pub struct RootCause {
    /// What it is.
    pub cause: Cause,
    /// Where: `function (file:line)`; empty where no place is known.
    pub at: String,
    /// Functions that call it, each with its part of the time, ns; the largest first.
    pub callers: Vec<(String, u64)>,
    /// Of what ran in several functions or lines, none of which stands out: the largest ones, each with its part of the time.
    pub pieces: Vec<(String, f64)>,
    /// Of what ran: the function of a package in which most of it is, with its line, and that part.
    pub inside: Option<(String, f64)>,
    /// The system call in which much of it is, and that part.
    pub in_kernel: Option<(String, f64)>,
    /// Waits that it explains: thread-nanoseconds.
    pub wait_ns: u64,
    /// Time in which anybody was delayed by it, ns.
    pub wall_ns: u64,
    /// Its part of the path that determined the elapsed time, ns.
    pub path_ns: u64,
    /// Time in which threads that serve others from outside the recording did that, thread-nanoseconds: these waited, unseen.
    pub served_ns: u64,
    /// Chains of waits that lead to it, the largest first: who waited for what, because of whom.
    pub chains: Vec<(Vec<Link>, u64)>,
    /// A stack of it.
    pub stack: StackId,
    /// A stack of each place that it has, with the time there, ns.
    pub stacks: Vec<(StackId, u64)>,
    /// Of a sleep that is a poll's, and of a wait that nobody was seen to end: what others did for most of it.
    pub meanwhile: Option<Meanwhile>,
    /// Whether the program's end waited for an answer there.
    pub is_awaited: bool,
    /// Whether it ran there for a large part of the path that determined the elapsed time, and hardly anybody waited for that.
    pub ran_mostly: bool,
}

impl RootCause {
    /// A cause at a place, whose other facts are to come.
    pub fn new(cause: Cause, at: String, stack: StackId) -> Self {
        Self {
            cause,
            at,
            callers: Vec::new(),
            pieces: Vec::new(),
            inside: None,
            in_kernel: None,
            wait_ns: 0,
            wall_ns: 0,
            path_ns: 0,
            served_ns: 0,
            chains: Vec::new(),
            stack,
            stacks: Vec::new(),
            meanwhile: None,
            is_awaited: false,
            ran_mostly: false,
        }
    }

    /// Whether the program's end waited for it, and nobody else was delayed, or hardly so by a pause.
    pub fn is_of_the_end(&self) -> bool {
        let longer = self.path_ns.max(self.served_ns / LONGER_OUTSIDE * MUCH_LONGER);
        let hardly = match self.cause.kind {
            CauseKind::Ran => self.wait_ns < self.served_ns / MUCH_LONGER,
            kind => kind.is_pause() && self.wait_ns < longer / MUCH_LONGER,
        };
        self.wait_ns == 0 || self.cause.no_work || hardly || self.ran_mostly
    }

    /// Whether other programs had the CPUs, so that threads were ready and did not run.
    pub fn is_behind_others(&self) -> bool {
        self.cause.kind == CauseKind::RunQueue && self.cause.behind == NOTHING
    }

    /// Whether what it ran is a large part of `own_ns`, the path that determined the elapsed time without what other programs took of
    /// it, and much longer than waits for it.
    pub fn ran_for_most_of(&self, own_ns: u64) -> bool {
        self.ran_for(MOSTLY, own_ns)
    }

    fn ran_for(&self, share: f64, own_ns: u64) -> bool {
        self.cause.kind == CauseKind::Ran
            && self.path_ns as f64 >= share * own_ns as f64
            && self.wait_ns < self.path_ns / MUCH_LONGER
    }

    /// Whether a thread slept for nearly all of `path_ns`, the way to the program's end: it may be there to keep the program alive while others
    /// work.
    pub fn sleeps_through(&self, path_ns: u64) -> bool {
        self.cause.kind == CauseKind::Slept && path_ns > 0 && self.path_ns as f64 >= SLEEPS_THROUGH * path_ns as f64
    }

    /// Whether nobody who is recorded waited for it, but others outside did for most of its time.
    pub fn is_for_outside(&self) -> bool {
        self.for_outside_ns() > 0
    }

    /// How long others outside waited for it, ns, where nobody who is recorded did.
    pub fn for_outside_ns(&self) -> u64 {
        let does =
            matches!(self.cause.kind, CauseKind::Slept | CauseKind::TimedOut | CauseKind::Ran | CauseKind::AcceptQueue);
        let mostly = self.served_ns as f64 >= MOSTLY_SERVED * self.path_ns as f64;
        if does && self.is_of_the_end() && mostly { self.served_ns } else { 0 }
    }

    /// The waits of a chain that leads to it, without its own at the end: that is the cause.
    pub fn askers<'c>(&self, chain: &'c [Link]) -> &'c [Link] {
        match chain {
            [askers @ .., last] if !askers.is_empty() && self.is_own_wait(last) => askers,
            _ => chain,
        }
    }

    /// The chains on which one thread waits for another, not only for the cause itself. That Java's launcher waits for the program tells
    /// nothing.
    fn through_others(&self, names: &Names<'_, '_>, mut chains: Vec<(Vec<Link>, u64)>) -> Vec<(Vec<Link>, u64)> {
        let is_launcher = |link: &Link| names.place_or_unknown(link.place).at == JAVA_LAUNCHER;
        chains.iter_mut().for_each(|(chain, _)| chain.retain(|link| !is_launcher(link)));
        chains.retain(|(chain, _)| self.askers(chain).last().is_some_and(|link| link.role != self.cause.role));
        chains
    }

    fn is_own_wait(&self, link: &Link) -> bool {
        let Cause { kind, role, label, place, .. } = self.cause;
        (link.role, link.place) == (role, place) && (link.label == label || kind == CauseKind::Slept)
    }

    /// Its time: of waits, of the path, or of what is served, ns.
    fn most_ns(&self) -> u64 {
        self.wait_ns.max(self.path_ns).max(self.served_ns)
    }

    /// Adds what is the same for a reader.
    pub fn add(&mut self, mut other: Self) {
        // What most of it called says what it does.
        let (own_ns, others_ns) = (self.most_ns(), other.most_ns());
        if others_ns > own_ns {
            (self.stack, self.inside) = (other.stack, other.inside.take());
            (self.in_kernel, self.pieces) = (other.in_kernel.take(), std::mem::take(&mut other.pieces));
        }
        let larger_part = own_ns.max(others_ns) as f64 / (own_ns.saturating_add(others_ns)).max(1) as f64;
        self.inside
            .iter_mut()
            .chain(&mut self.in_kernel)
            .chain(&mut self.pieces)
            .for_each(|(_, share)| *share *= larger_part);
        self.cause.no_work |= other.cause.no_work;
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns).min(self.wait_ns);
        self.path_ns = self.path_ns.saturating_add(other.path_ns);
        self.served_ns = self.served_ns.saturating_add(other.served_ns);
        self.chains.extend(other.chains);
        self.stacks.extend(other.stacks);
        add_callers(&mut self.callers, other.callers);
    }

    /// The function that it is in; empty where no place is known.
    pub fn function(&self) -> &str {
        function_at(&self.at)
    }

    /// Where it is, as far as that is known: of several lines of a script's body none.
    pub fn place(&self) -> Option<String> {
        let is_several_lines = !self.pieces.is_empty() && line_of_body(&self.at).is_some();
        let at = if is_several_lines { function_key(&self.at) } else { self.at.clone() };
        (!at.is_empty()).then_some(at)
    }

    /// The time that is told of it, ns: of waits, of the path where it is of the end, or of what others outside waited for.
    pub fn told_ns(&self) -> u64 {
        match self.for_outside_ns() {
            0 if self.is_of_the_end() => self.path_ns,
            0 => self.wait_ns,
            outside_ns => outside_ns,
        }
    }
}

/// The root causes. Of one kind, by one role (a process and its copies are one), for one thing: at one place; what ran, in one function.
pub fn root_causes(names: &Names<'_, '_>, chains: &Chains, mut found: FoundCauses) -> Vec<RootCause> {
    tell_network_from_outside(&mut found.causes);
    let times = times(chains, &found);
    let mut alike: BTreeMap<Cause, Vec<CauseAt<'_>>> = BTreeMap::new();
    for (number, cause) in found.causes.iter().enumerate() {
        let place = names.place_or_unknown(cause.place);
        let at = CauseAt { place, ns: times[number], cause: number as CauseId };
        // Whoever of a circle is met, it is one.
        let is_circle = cause.kind == CauseKind::Circle;
        let role = if is_circle { NOTHING } else { names.original_role(cause.role) };
        alike.entry(Cause { place: NOTHING, role, ..*cause }).or_default().push(at);
    }
    let mut roots: Vec<RootCause> = Vec::new();
    let mut root_of: Vec<usize> = vec![0; found.causes.len()];
    for (cause, causes) in alike {
        let ran = cause.kind == CauseKind::Ran;
        let groups = if ran { one_of_each_file(by_function(&causes)) } else { by_place(causes) };
        for group in groups {
            group.causes.iter().for_each(|at| root_of[at.cause as usize] = roots.len());
            roots.extend(root_cause(&found, group));
        }
    }
    // Of each root of the chains, the time by cause and node.
    let mut of_node: [HashMap<(usize, NodeId), u64>; 3] = Default::default();
    for ((node, cause), ns) in &found.waits_ns {
        let (root, of) = (root_of[*cause as usize], chains.node(*node).root);
        let known = &mut roots[root];
        let sum = match of {
            PATH => &mut known.path_ns,
            SERVED => &mut known.served_ns,
            _ => &mut known.wait_ns,
        };
        *sum = sum.saturating_add(*ns);
        *of_node[of as usize].entry((root, *node)).or_default() += ns;
    }
    let mut spans: Vec<Vec<(u64, u64)>> = vec![Vec::new(); roots.len()];
    for (cause, of_cause) in std::mem::take(&mut found.spans).into_iter().enumerate() {
        spans[root_of[cause]].extend(of_cause);
    }
    let mut nodes = of_node.map(|of_node| {
        let mut nodes: Vec<Vec<(u64, NodeId)>> = vec![Vec::new(); roots.len()];
        of_node.into_iter().for_each(|((root, node), ns)| nodes[root].push((ns, node)));
        nodes
    });
    for (number, (root, spans)) in roots.iter_mut().zip(spans).enumerate() {
        // Idle waits that were taken away leave the time in which they were.
        root.wall_ns = union_ns(spans).min(root.wait_ns);
        let mut largest_of = |of: NodeId| largest(chains, std::mem::take(&mut nodes[of as usize][number]));
        root.chains = match root.is_of_the_end() {
            false => largest_of(WAITS),
            true if root.is_for_outside() => root.through_others(names, largest_of(SERVED)),
            true => root.through_others(names, largest_of(PATH)),
        };
    }
    ends_as_one(roots)
}

/// A wake-up that came by an interrupt is the network's. Where other waits for the same thing were ended by a program that is not
/// recorded, that one was: what is sent within the machine mostly arrives in its sender's call, but not always.
fn tell_network_from_outside(causes: &mut [Cause]) {
    let of_outside = causes.iter().filter(|cause| cause.kind == CauseKind::Outside);
    let known: HashSet<(u32, u32)> = of_outside.map(|cause| (cause.role, cause.label)).collect();
    for cause in causes.iter_mut().filter(|cause| cause.kind == CauseKind::Network) {
        if known.contains(&(cause.role, cause.label)) {
            cause.kind = CauseKind::Outside;
        }
    }
}

/// The number of the cause that ran longest, if that was a good part of `own_ns` and much longer than any other cause: a program that does
/// several things one after the other has no place where it is for most of its time.
fn ran_longest(roots: &[RootCause], own_ns: u64) -> Option<usize> {
    let weight = |root: &RootCause| if root.is_behind_others() { 0 } else { root.wait_ns.max(root.path_ns) };
    let (number, longest) = roots.iter().enumerate().max_by_key(|(number, root)| (weight(root), Reverse(*number)))?;
    let others = roots.iter().enumerate().filter(|(other, _)| *other != number);
    let next_ns = others.map(|(_, root)| weight(root)).max().unwrap_or(0);
    let is_longest = longest.path_ns as f64 >= LONGER_THAN_NEXT * next_ns as f64;
    (is_longest && longest.ran_for(LARGE_PART, own_ns)).then_some(number)
}

/// Says which causes ran for most of the way to the program's end, apart from the time in which others had the CPUs.
pub fn set_ran_mostly(path_ns: u64, causes: &mut [RootCause]) {
    let of_others = causes.iter().filter(|root| root.is_behind_others()).map(|root| root.path_ns).sum();
    let own_ns = path_ns.saturating_sub(of_others);
    let longest = ran_longest(causes, own_ns);
    for (number, root) in causes.iter_mut().enumerate() {
        root.ran_mostly = own_ns > 0 && (root.ran_for_most_of(own_ns) || longest == Some(number));
        if root.ran_mostly {
            root.chains.clear(); // of waits that it hardly explains
        }
    }
}

/// The causes, the largest first.
pub fn in_order(mut roots: Vec<RootCause>) -> Vec<RootCause> {
    roots.sort_by_key(|root| (Reverse((root.wait_ns, root.path_ns.max(root.served_ns))), root.cause));
    roots
}

/// Functions of a file that have no names are one for a reader, whoever calls them.
fn one_of_each_file(groups: Vec<CauseGroup<'_>>) -> Vec<CauseGroup<'_>> {
    let mut merged: Vec<CauseGroup<'_>> = Vec::new();
    for group in groups {
        match merged.iter_mut().find(|known| known.at == group.at && is_nameless(&group.at)) {
            Some(known) => {
                known.causes.extend(group.causes);
                // What one of them called says nothing about all.
                (known.inside, known.in_kernel) = (None, None);
                known.pieces.clear();
                add_callers(&mut known.callers, group.callers);
            }
            None => merged.push(group),
        }
    }
    merged
}

fn add_callers(callers: &mut Vec<(String, u64)>, others: Vec<(String, u64)>) {
    for (caller, ns) in others {
        match callers.iter_mut().find(|(known, _)| *known == caller) {
            Some((_, sum)) => *sum = sum.saturating_add(ns),
            None => callers.push((caller, ns)),
        }
    }
}

/// What only the program's end waited for is one cause at one place, whether threads without work waited for it or nobody.
fn ends_as_one(roots: Vec<RootCause>) -> Vec<RootCause> {
    let mut of_place: HashMap<(Cause, String), usize> = HashMap::new();
    let mut merged: Vec<RootCause> = Vec::new();
    for root in roots {
        let alike = (Cause { place: NOTHING, no_work: false, ..root.cause }, root.at.clone());
        match of_place.get(&alike).filter(|_| root.is_of_the_end()) {
            Some(known) => merged[*known].add(root),
            None => {
                if root.is_of_the_end() {
                    of_place.insert(alike, merged.len());
                }
                merged.push(root);
            }
        }
    }
    merged
}

/// The largest chains that end at these nodes, each with its time.
fn largest(chains: &Chains, mut nodes: Vec<(u64, NodeId)>) -> Vec<(Vec<Link>, u64)> {
    nodes.sort_unstable_by_key(|(ns, _)| Reverse(*ns));
    // Of those that are as long as the last one, the first by name stays.
    let least = nodes.get(CHAINS - 1).map_or(0, |(ns, _)| *ns);
    let long = nodes.into_iter().take_while(|(ns, _)| *ns >= least);
    let mut largest: Vec<(Vec<Link>, u64)> = long.map(|(ns, node)| (chains.chain(node), ns)).collect();
    largest.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    largest.truncate(CHAINS);
    largest
}

/// The root cause of a group, without its times; its place and stack are those of the cause with the most.
fn root_cause(found: &FoundCauses, group: CauseGroup<'_>) -> Option<RootCause> {
    let CauseGroup { at, causes, mut callers, pieces, inside, in_kernel } = group;
    let heaviest = causes.iter().max_by_key(|at| (at.ns, Reverse(at.cause)))?.cause as usize;
    callers.sort_by_key(|(_, ns)| Reverse(*ns));
    let cause = found.causes[heaviest];
    let at = if cause.place == NOTHING { String::new() } else { at };
    let stacks = causes.iter().map(|at| (found.stacks[at.cause as usize], at.ns)).collect();
    Some(RootCause { callers, pieces, inside, in_kernel, stacks, ..RootCause::new(cause, at, found.stacks[heaviest]) })
}

/// The time of each cause: of what waits, or of the path and of what is served where that is longer.
fn times(chains: &Chains, found: &FoundCauses) -> Vec<u64> {
    let (mut waits, mut path) = (vec![0u64; found.causes.len()], vec![0u64; found.causes.len()]);
    for ((node, cause), ns) in &found.waits_ns {
        let sums = if chains.node(*node).root == WAITS { &mut waits } else { &mut path };
        sums[*cause as usize] = sums[*cause as usize].saturating_add(*ns);
    }
    waits.into_iter().zip(path).map(|(waits, path)| waits.max(path)).collect()
}
