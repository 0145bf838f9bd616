//! Causes that ran, grouped by the function that a reader would name: as far down the calls as the time stays together.

use std::collections::BTreeMap;

use crate::study::explain::found::CauseId;
use crate::study::explain::places::{CodePlace, UNWOUND, function_key, is_nameless, line_of_body};

/// Part of a function's time that it spends itself, from which on it is named and not what it calls.
const SELF_SHARE: f64 = 0.2;
/// Part of a function's time in one that it calls, from which on that one is a group of its own.
const CALLEE_SHARE: f64 = 0.1;

/// Groups are pieces if none has this part of the time, …
const PIECE_SHARE: f64 = 0.5;
/// … nor this part, and is so many times longer than the next one, …
const LONGEST_SHARE: f64 = 0.34;
const LONGER_THAN_NEXT: f64 = 1.5;
/// … and are told as what is done in the innermost function that has this part, below the outermost ones.
const MOST_SHARE: f64 = 0.6;
/// Pieces that are told, the largest first, each of which has a part of at least …
const TOLD_PIECES: usize = 3;
const TOLD_PIECE_SHARE: f64 = 0.1;
/// … and all of them most of the time.
const TOLD_SHARE: f64 = 0.5;
const OUTERMOST: usize = 2;

/// Part of a group's time in one system call, from which on that is told.
const KERNEL_SHARE: f64 = 0.3;

/// Part of a group's time in one innermost function, from which on the group is called by that.
const INNERMOST_SHARE: f64 = 0.8;

/// Part of the time of functions without a name that must be below one with a name, if that is told instead.
const BELOW_NAMED: f64 = 0.8;

/// The place of a stack that was not seen.
pub const UNKNOWN_FUNCTION: &str = "[unknown]";

/// A cause with its place and time.
#[derive(Clone, Copy)]
pub struct CauseAt<'p> {
    /// Where.
    pub place: &'p CodePlace,
    /// How long, ns.
    pub ns: u64,
    /// Which.
    pub cause: CauseId,
}

/// Causes that are one for a reader.
#[derive(Default)]
pub struct CauseGroup<'p> {
    /// Where: `function (file:line)`, the line with most of the time.
    pub at: String,
    /// The causes.
    pub causes: Vec<CauseAt<'p>>,
    /// Functions that call it, each with its time, ns; in no order.
    pub callers: Vec<(String, u64)>,
    /// Where it is told as one though it is in several functions, or in several lines of a script's body: the largest of these, each with its
    /// part of the time; the largest first.
    pub pieces: Vec<(String, f64)>,
    /// The function of a package that it calls, directly or not, in which most of the time is, and that part.
    pub inside: Option<(String, f64)>,
    /// The system call in which much of the time is, and that part.
    pub in_kernel: Option<(String, f64)>,
}

/// Groups causes by function: down the calls, and apart where a function only hands the work on to others; but together where only
/// small pieces would be left.
pub fn by_function<'p>(causes: &[CauseAt<'p>]) -> Vec<CauseGroup<'p>> {
    let mut groups = of_nameless(by_named_function(causes));
    for group in &mut groups {
        if let Some(at) = named_caller(group) {
            group.at = at;
            group.callers.clear();
        }
        tell_lines_of_body(group);
        group.inside = most_inside(&group.causes);
        group.in_kernel = much_in_kernel(&group.causes);
    }
    groups
}

/// The body of a script does one thing after the other: where no line has nearly all of the time, the largest are told.
fn tell_lines_of_body(group: &mut CauseGroup<'_>) {
    if line_of_body(&group.at).is_none() || !group.pieces.is_empty() {
        return;
    }
    let (body, whole) = (function_key(&group.at), sum(&group.causes));
    let mut lines: Vec<(String, u64)> = Vec::new();
    for CauseAt { place, ns, .. } in &group.causes {
        let at = place.path.iter().find(|(function, _)| *function == body).map(|(_, at)| at);
        if let Some(line) = at.and_then(|at| line_of_body(at)) {
            add(&mut lines, line, *ns);
        }
    }
    lines.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let largest = lines.first().map_or(0, |(_, ns)| *ns);
    if lines.len() > 1 && (largest as f64) < INNERMOST_SHARE * whole as f64 {
        group.pieces = told_pieces(lines, whole);
    }
}

/// Of a group in functions without a name: the innermost function with one that nearly all of it is below, with its line, unless that is one
/// of the outermost.
fn named_caller(group: &CauseGroup<'_>) -> Option<String> {
    if !is_nameless(&group.at) {
        return None;
    }
    let whole = sum(&group.causes);
    // How deep each is at most, and the time below it.
    let mut below: BTreeMap<&str, (usize, &str, u64)> = BTreeMap::new();
    for cause in &group.causes {
        for (depth, (function, at)) in cause.place.path.iter().enumerate().skip(OUTERMOST) {
            let (deepest, _, ns) = below.entry(function).or_insert((depth, at, 0));
            (*deepest, *ns) = (depth.max(*deepest), ns.saturating_add(cause.ns));
        }
    }
    let has_most = |ns: u64| ns as f64 >= BELOW_NAMED * whole as f64;
    // `toplev::main` says no more than the file's name.
    let is_telling = |function: &str| !is_nameless(function) && !function.ends_with("main");
    let named = below.into_iter().filter(|(function, (.., ns))| is_telling(function) && has_most(*ns));
    named.max_by_key(|(_, (depth, ..))| *depth).map(|(_, (_, at, _))| at.to_owned())
}

/// The system call with most of the causes' time, and that part, where it is much.
fn much_in_kernel(causes: &[CauseAt<'_>]) -> Option<(String, f64)> {
    let (whole, mut calls) = (sum(causes).max(1), Vec::new());
    let in_call = causes.iter().filter(|cause| !cause.place.in_kernel.is_empty());
    in_call.for_each(|cause| add(&mut calls, &cause.place.in_kernel, cause.ns));
    let (call, ns) = calls.into_iter().rev().max_by_key(|(_, ns)| *ns)?;
    (ns as f64 >= KERNEL_SHARE * whole as f64).then(|| (call, ns as f64 / whole as f64))
}

/// The innermost function of packages in which most of the causes' time is, with its line, and that part.
fn most_inside(causes: &[CauseAt<'_>]) -> Option<(String, f64)> {
    let (whole, mut inside) = (sum(causes), None);
    let mut left = causes.to_vec();
    for depth in 0.. {
        let mut callees: BTreeMap<&str, Vec<CauseAt<'_>>> = BTreeMap::new();
        for cause in left {
            if let Some((function, _)) = cause.place.inside.get(depth) {
                callees.entry(function).or_default().push(cause);
            }
        }
        let most = callees.into_values().max_by_key(|causes| sum(causes));
        let Some(most) = most.filter(|causes| sum(causes) as f64 >= MOST_SHARE * whole.max(1) as f64) else { break };
        let mut lines: Vec<(String, u64)> = Vec::new();
        most.iter().for_each(|cause| add(&mut lines, &cause.place.inside[depth].1, cause.ns));
        let line = lines.into_iter().rev().max_by_key(|(_, ns)| *ns);
        inside = line.map(|(line, _)| (line, sum(&most) as f64 / whole.max(1) as f64));
        left = most;
    }
    inside
}

fn by_named_function<'p>(causes: &[CauseAt<'p>]) -> Vec<CauseGroup<'p>> {
    let groups = apart(causes.to_vec());
    if !are_pieces(&groups) {
        return groups;
    }
    match together(causes) {
        Some((inside, outside, depth)) => {
            let pieces = largest_pieces(&inside);
            let mut groups = if outside.is_empty() { Vec::new() } else { apart(outside) };
            groups.push(CauseGroup { pieces, ..group_at(inside, depth) });
            groups
        }
        None => groups,
    }
}

/// Whether no group stands out among several.
fn are_pieces(groups: &[CauseGroup<'_>]) -> bool {
    let mut times: Vec<u64> = groups.iter().map(|group| sum(&group.causes)).collect();
    times.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    let whole: u64 = times.iter().sum();
    let [longest, next, ..] = times.as_slice() else { return false };
    let (longest, next, whole) = (*longest as f64, *next as f64, whole as f64);
    let stands_out = longest >= LONGEST_SHARE * whole && longest >= LONGER_THAN_NEXT * next;
    longest < PIECE_SHARE * whole && !stands_out
}

/// What the causes are apart.
fn largest_pieces(causes: &[CauseAt<'_>]) -> Vec<(String, f64)> {
    let groups = apart(causes.to_vec()).into_iter();
    told_pieces(groups.map(|group| (group.at, sum(&group.causes))).collect(), sum(causes))
}

/// The largest of the pieces of `whole`, each with its part, if these are most of it.
fn told_pieces(mut pieces: Vec<(String, u64)>, whole: u64) -> Vec<(String, f64)> {
    pieces.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    pieces.retain(|(_, ns)| *ns as f64 >= TOLD_PIECE_SHARE * whole as f64);
    pieces.truncate(TOLD_PIECES);
    let told: u64 = pieces.iter().map(|(_, ns)| *ns).sum();
    if pieces.len() < 2 || (told as f64) < TOLD_SHARE * whole as f64 {
        return Vec::new();
    }
    pieces.into_iter().map(|(at, ns)| (at, ns as f64 / whole as f64)).collect()
}

/// The causes within the innermost function that has most of the time, the others, and how deep it is; none where that is one of the
/// outermost, whose names say what the program is and not what it did.
fn together<'p>(causes: &[CauseAt<'p>]) -> Option<(Vec<CauseAt<'p>>, Vec<CauseAt<'p>>, usize)> {
    let (mut inside, mut depth, least) = (causes.to_vec(), 0, MOST_SHARE * sum(causes) as f64);
    loop {
        let (_, callees) = split_by_callee(inside.clone(), depth);
        match callees.into_iter().max_by_key(|causes| sum(causes)).filter(|callee| sum(callee) as f64 >= least) {
            Some(callee) => (inside, depth) = (callee, depth + 1),
            None => break,
        }
    }
    let is_inside = |cause: &CauseAt<'_>| inside.iter().any(|other| other.cause == cause.cause);
    let outside = causes.iter().copied().filter(|cause| !is_inside(cause)).collect();
    (depth > OUTERMOST).then_some((inside, outside, depth))
}

fn apart(causes: Vec<CauseAt<'_>>) -> Vec<CauseGroup<'_>> {
    let mut groups = Vec::new();
    let most = MOST_SHARE * sum(&causes) as f64;
    let mut left = vec![(0, causes)];
    while let Some((depth, causes)) = left.pop() {
        let whole = sum(&causes);
        let (own, callees) = split_by_callee(causes, depth);
        let is_large = |causes: &Vec<CauseAt<'_>>| depth == 0 || sum(causes) as f64 >= CALLEE_SHARE * whole as f64;
        let works_itself = depth > 0 && sum(&own) as f64 >= SELF_SHARE * whole as f64;
        // A function that works itself is named, unless most of all that ran is in one that it calls.
        let has_most = |causes: &Vec<CauseAt<'_>>| depth > 0 && sum(causes) as f64 >= most;
        let is_apart = |causes: &Vec<CauseAt<'_>>| if works_itself { has_most(causes) } else { is_large(causes) };
        if !callees.iter().any(is_apart) {
            groups.push(group_at(own.into_iter().chain(callees.into_iter().flatten()).collect(), depth));
            continue;
        }
        let (large, small): (Vec<_>, Vec<_>) = callees.into_iter().partition(is_apart);
        left.extend(large.into_iter().map(|causes| (depth + 1, causes)));
        let rest: Vec<CauseAt<'_>> = own.into_iter().chain(small.into_iter().flatten()).collect();
        if !rest.is_empty() {
            groups.push(group_at(rest, depth));
        }
    }
    of_one_function(groups)
}

/// What runs in one function is one group, however it is reached.
fn of_one_function(groups: Vec<CauseGroup<'_>>) -> Vec<CauseGroup<'_>> {
    let mut of_function: Vec<(String, Vec<CauseGroup<'_>>)> = Vec::new();
    for group in groups {
        let function = function_key(&group.at);
        match of_function.iter_mut().find(|(known, _)| *known == function) {
            Some((_, alike)) => alike.push(group),
            None => of_function.push((function, vec![group])),
        }
    }
    of_function.into_iter().map(|(_, alike)| merged(alike)).collect()
}

/// What runs in several functions without a name of one file is one group, which has the file's name: theirs tell nobody anything.
fn of_nameless(groups: Vec<CauseGroup<'_>>) -> Vec<CauseGroup<'_>> {
    let mut of_file: BTreeMap<String, Vec<CauseGroup<'_>>> = BTreeMap::new();
    let mut told = Vec::new();
    for group in groups {
        match file_of_nameless(&group.at) {
            Some(file) => of_file.entry(file).or_default().push(group),
            None => told.push(group),
        }
    }
    for (file, alike) in of_file {
        let one = (alike.len() > 1).then_some(file);
        let whole = merged(alike);
        told.push(CauseGroup { at: one.unwrap_or_else(|| whole.at.clone()), ..whole });
    }
    told
}

/// `[sh]` of `[sh]func@0x9ca0`; none of a function that has a name.
fn file_of_nameless(at: &str) -> Option<String> {
    let (file, _) = at.split_once(UNWOUND)?;
    (file.starts_with('[') && !file.contains(' ')).then(|| format!("{file}]"))
}

/// The groups as one: its place is that of the largest.
fn merged(mut groups: Vec<CauseGroup<'_>>) -> CauseGroup<'_> {
    groups.sort_by_key(|group| std::cmp::Reverse(sum(&group.causes)));
    let mut rest = groups.into_iter();
    let mut whole = rest.next().unwrap_or_default();
    let largest_ns = sum(&whole.causes);
    for group in rest {
        group.callers.iter().for_each(|(caller, ns)| add(&mut whole.callers, caller, *ns));
        whole.causes.extend(group.causes);
    }
    let of_largest = largest_ns as f64 / sum(&whole.causes).max(1) as f64;
    whole.pieces.iter_mut().for_each(|(_, share)| *share *= of_largest);
    whole
}

/// Groups causes by place, whoever calls it.
pub fn by_place(causes: Vec<CauseAt<'_>>) -> Vec<CauseGroup<'_>> {
    let mut groups: BTreeMap<&str, CauseGroup<'_>> = BTreeMap::new();
    for cause in causes {
        let at = cause.place.at.as_str();
        let new = || CauseGroup { at: at.to_owned(), ..CauseGroup::default() };
        let group = groups.entry(at).or_insert_with(new);
        if !cause.place.caller().is_empty() {
            add(&mut group.callers, cause.place.caller(), cause.ns);
        }
        group.causes.push(cause);
    }
    // What is known of one place only is there where the stack was not seen, too.
    if let Some(unseen) = groups.remove(UNKNOWN_FUNCTION) {
        match groups.len() {
            1 => groups.values_mut().for_each(|group| group.causes.extend(unseen.causes.iter())),
            _ => drop(groups.insert(UNKNOWN_FUNCTION, unseen)),
        }
    }
    groups.into_values().collect()
}

fn sum(causes: &[CauseAt<'_>]) -> u64 {
    causes.iter().map(|cause| cause.ns).fold(0, u64::saturating_add)
}

/// The causes in the function at `depth` itself, and those in each function that it calls.
fn split_by_callee(causes: Vec<CauseAt<'_>>, depth: usize) -> (Vec<CauseAt<'_>>, Vec<Vec<CauseAt<'_>>>) {
    let mut own = Vec::new();
    let mut callees: BTreeMap<&str, Vec<CauseAt<'_>>> = BTreeMap::new();
    for cause in causes {
        match cause.place.path.get(depth) {
            Some((function, _)) => callees.entry(function).or_default().push(cause),
            None => own.push(cause),
        }
    }
    (own, callees.into_values().collect())
}

/// The group of causes that have the first `depth` functions of their paths in common: named after the last of them, or after the
/// one in which nearly all of the time is, however many ways lead there.
fn group_at(causes: Vec<CauseAt<'_>>, depth: usize) -> CauseGroup<'_> {
    let whole = sum(&causes);
    let last = |cause: &CauseAt<'_>| cause.place.path.last().map_or("", |(function, _)| function.as_str()).to_owned();
    let mut innermost: Vec<(String, u64)> = Vec::new();
    causes.iter().for_each(|cause| add(&mut innermost, &last(cause), cause.ns));
    let is_most =
        |(function, ns): &&(String, u64)| !function.is_empty() && *ns as f64 >= INNERMOST_SHARE * whole as f64;
    if let Some((function, _)) = innermost.iter().find(is_most) {
        return innermost_group(causes, function);
    }
    let mut lines: Vec<(String, u64)> = Vec::new();
    let mut callers: Vec<(String, u64)> = Vec::new();
    for CauseAt { place, ns, .. } in &causes {
        let named = depth.checked_sub(1).and_then(|last| place.path.get(last));
        let line = named.map_or(&place.at, |(function, at)| if function.starts_with('[') { function } else { at });
        add(&mut lines, line, *ns);
        if let Some((caller, _)) = depth.checked_sub(2).and_then(|caller| place.path.get(caller)) {
            add(&mut callers, caller, *ns);
        }
    }
    let at = lines.into_iter().rev().max_by_key(|(_, ns)| *ns).map_or_else(String::new, |(at, _)| at);
    CauseGroup { at, causes, callers, ..CauseGroup::default() }
}

/// The group of causes of which nearly all are in `function`.
fn innermost_group<'p>(causes: Vec<CauseAt<'p>>, function: &str) -> CauseGroup<'p> {
    let (mut lines, mut callers) = (Vec::new(), Vec::new());
    let is_in = |place: &CodePlace| place.path.last().is_some_and(|(name, _)| name == function);
    for CauseAt { place, ns, .. } in causes.iter().filter(|cause| is_in(cause.place)) {
        add(&mut lines, if function.starts_with('[') { function } else { &place.at }, *ns);
        if !place.caller().is_empty() {
            add(&mut callers, place.caller(), *ns);
        }
    }
    let at = lines.into_iter().rev().max_by_key(|(_, ns)| *ns).map_or_else(String::new, |(at, _)| at);
    CauseGroup { at, causes, callers, ..CauseGroup::default() }
}

fn add(sums: &mut Vec<(String, u64)>, key: &str, ns: u64) {
    match sums.iter_mut().find(|(known, _)| known == key) {
        Some((_, sum)) => *sum = sum.saturating_add(ns),
        None => sums.push((key.to_owned(), ns)),
    }
}

#[cfg(test)]
mod tests;
