//! Causes that ran, grouped by the function that a reader would name: as far down the calls as the time stays together.

use std::collections::BTreeMap;

use crate::study::explain::found::CauseId;
use crate::study::explain::places::{CodePlace, UNWOUND, function_key, is_nameless};

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
    /// Where it is told as one though it is in several functions: the largest of these, each with its time, ns; the largest first.
    pub pieces: Vec<(String, u64)>,
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
        group.inside = most_inside(&group.causes);
        group.in_kernel = much_in_kernel(&group.causes);
    }
    groups
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
fn largest_pieces(causes: &[CauseAt<'_>]) -> Vec<(String, u64)> {
    let groups = apart(causes.to_vec()).into_iter();
    let mut pieces: Vec<(String, u64)> = groups.map(|group| (group.at, sum(&group.causes))).collect();
    pieces.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    pieces.retain(|(_, ns)| *ns as f64 >= TOLD_PIECE_SHARE * sum(causes) as f64);
    pieces.truncate(TOLD_PIECES);
    let told: u64 = pieces.iter().map(|(_, ns)| *ns).sum();
    if pieces.len() > 1 && told as f64 >= TOLD_SHARE * sum(causes) as f64 { pieces } else { Vec::new() }
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
    for group in rest {
        group.callers.iter().for_each(|(caller, ns)| add(&mut whole.callers, caller, *ns));
        whole.causes.extend(group.causes);
    }
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
mod tests {
    use super::*;

    fn place(path: &str) -> CodePlace {
        let path: Vec<(String, String)> =
            path.split('>').map(|at| (at.split(':').next().unwrap().to_owned(), at.to_owned())).collect();
        CodePlace { at: path.last().unwrap().1.clone(), path, ..CodePlace::default() }
    }

    /// `(path, ns)` to `(at, ns)`, the largest first.
    fn groups_of(runs: &[(&str, u64)]) -> Vec<(String, u64)> {
        let places: Vec<CodePlace> = runs.iter().map(|(path, _)| place(path)).collect();
        let numbered = (0..).zip(places.iter().zip(runs));
        let causes: Vec<CauseAt<'_>> =
            numbered.map(|(cause, (place, (_, ns)))| CauseAt { place, ns: *ns, cause }).collect();
        let mut groups: Vec<(String, u64)> =
            by_function(&causes).into_iter().map(|group| (group.at, sum(&group.causes))).collect();
        groups.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        groups
    }

    #[test]
    fn lines_of_one_function_and_what_it_calls_are_one() {
        let groups = groups_of(&[("main:9>burn:83", 50), ("main:9>burn:82", 10), ("main:9>burn:84>clock:53", 40)]);
        assert_eq!(groups, [("burn:83".to_owned(), 100)]);
    }

    #[test]
    fn a_function_that_hands_on_is_not_named() {
        let groups = groups_of(&[("loop:1>parse:5", 40), ("loop:2>store:7", 55), ("loop:3", 3), ("loop:4>log:8", 2)]);
        assert_eq!(groups, [("store:7".into(), 55), ("parse:5".into(), 40), ("loop:3".into(), 5)]);
    }

    #[test]
    fn most_of_the_time_has_its_own_name_though_the_caller_works_too() {
        let groups = groups_of(&[("module:2", 26), ("module:10>run:8>step:4", 74)]);
        assert_eq!(groups, [("step:4".into(), 74), ("module:2".into(), 26)]);
        let nested = [
            ("parse:1", 25),
            ("parse:2>object:1", 25),
            ("parse:2>object:2>text:1", 25),
            ("parse:2>object:2>text:2>byte:1", 25),
        ];
        assert_eq!(groups_of(&nested), [("object:2".into(), 75), ("parse:1".into(), 25)]);
    }

    #[test]
    fn what_packages_do_is_told_as_far_down_as_it_stays_together() {
        let mut places = [place("main:9>load:3"), place("main:9>load:3"), place("main:9>load:4")];
        let inside = |path: &str| place(path).path;
        places[0].inside = inside("Client.get:1>Context.new:2>read_certificates:3");
        places[1].inside = inside("Client.get:1>Context.new:2>seed:4");
        let times = [50, 30, 20];
        let causes: Vec<CauseAt<'_>> =
            (0..).zip(places.iter().zip(times)).map(|(cause, (place, ns))| CauseAt { place, ns, cause }).collect();
        let groups = by_function(&causes);
        assert_eq!(groups[0].at, "load:3");
        assert_eq!(groups[0].inside, Some(("Context.new:2".to_owned(), 0.8)));
        assert_eq!(by_function(&causes[2..])[0].inside, None);
    }

    #[test]
    fn a_system_call_with_much_of_the_time_is_told() {
        let called = |call: &str| CodePlace { in_kernel: call.into(), ..place("main:1>scan:2") };
        let places = [called("newfstatat"), called("openat"), called("")];
        let cause = |at: usize, ns| CauseAt { place: &places[at], ns, cause: at as CauseId };
        assert_eq!(
            by_function(&[cause(0, 50), cause(1, 10), cause(2, 40)])[0].in_kernel,
            Some(("newfstatat".into(), 0.5))
        );
        assert_eq!(by_function(&[cause(0, 20), cause(1, 10), cause(2, 70)])[0].in_kernel, None);
    }

    #[test]
    fn a_function_that_is_reached_in_two_ways_is_one() {
        let groups = groups_of(&[("loop:1>left:5>spin:7", 40), ("loop:2>right:6>spin:7", 55), ("loop:3>log:8", 30)]);
        assert_eq!(groups, [("spin:7".into(), 95), ("log:8".into(), 30)]);
    }

    #[test]
    fn functions_without_a_name_are_their_files() {
        let runs = [("[sh]func@0x10", 40), ("[sh]func@0x20", 30), ("read:3", 20)];
        assert_eq!(groups_of(&runs), [("[sh]".to_owned(), 70), ("read:3".into(), 20)]);
        assert_eq!(groups_of(&[("[sh]func@0x10", 40), ("read:3", 20)])[0], ("[sh]func@0x10".to_owned(), 40));
    }

    #[test]
    fn many_ways_to_one_function_are_called_by_that() {
        let paths: Vec<String> = (0..20).map(|number| format!("main:1>join:{number}>half{number}:1>spin:2")).collect();
        let runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 5)).collect();
        assert_eq!(groups_of(&runs), [("spin:2".to_owned(), 100)]);
    }

    #[test]
    fn a_stack_that_was_not_seen_is_at_the_only_place_that_is_known() {
        let places = ["nap:3", "[unknown]", "doze:4"].map(place);
        let groups = |places: &[CodePlace]| {
            let causes = places.iter().map(|place| CauseAt { place, ns: 5, cause: 0 }).collect();
            by_place(causes).into_iter().map(|group| (group.at, group.causes.len())).collect::<Vec<_>>()
        };
        assert_eq!(groups(&places[..2]), [("nap:3".to_owned(), 2)]);
        assert_eq!(groups(&places).len(), 3);
    }

    #[test]
    fn pieces_are_what_the_innermost_function_does_that_has_most() {
        let pieces = ["scan:1>fetch:1", "scan:1>copy:1", "sort:1>compare:1", "sort:1>swap:1", "write:1"];
        let paths: Vec<String> = pieces.iter().map(|piece| format!("main:1>serve:1>execute:1>{piece}")).collect();
        let mut runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 15)).collect();
        runs.push(("main:1>serve:1>parse:1", 25));
        assert_eq!(groups_of(&runs), [("execute:1".to_owned(), 75), ("parse:1".to_owned(), 25)]);
        let outermost: Vec<String> = pieces.iter().map(|piece| format!("main:1>{piece}")).collect();
        let runs: Vec<(&str, u64)> = outermost.iter().map(|path| (path.as_str(), 15)).collect();
        assert_eq!(groups_of(&runs).len(), 5, "main says nothing");
    }

    #[test]
    fn pieces_of_much_the_same_size_are_told_with_who_calls_them() {
        let runs = ["grep:1", "seq:1", "print:1"].map(|piece| format!("main:1>run:1>loop:1>{piece}"));
        let places: Vec<CodePlace> = runs.iter().map(|path| place(path)).collect();
        let cause = |(place, ns)| CauseAt { place, ns, cause: 0 };
        let groups = |ns: [u64; 3]| by_function(&places.iter().zip(ns).map(cause).collect::<Vec<_>>());
        let all = groups([35, 45, 20]);
        let pieces = [("seq:1", 45), ("grep:1", 35), ("print:1", 20)].map(|(at, ns)| (at.to_owned(), ns));
        assert_eq!((all.len(), all[0].at.as_str(), all[0].pieces.as_slice()), (1, "loop:1", pieces.as_slice()));
        assert_eq!(groups([20, 60, 20]).len(), 3, "one of them is told");
    }

    #[test]
    fn functions_without_a_name_are_told_by_the_one_that_calls_them() {
        let paths = ["main>run>eval>[lib.so]func@0x10", "main>run>eval>[lib.so]func@0x20>[lib.so]func@0x30"];
        let groups = groups_of(&[(paths[0], 40), (paths[1], 30)]);
        assert_eq!(groups, [("eval".to_owned(), 70)]);
        for path in ["main>[app]func@0x10", "start>run>toplev_main>[app]func@0x10"] {
            assert_eq!(groups_of(&[(path, 40)])[0].0, "[app]func@0x10", "main says nothing");
        }
    }

    #[test]
    fn many_small_parts_stay_together() {
        let paths: Vec<String> = (0..20).map(|number| format!("main:1>step:{number}>f{number}:1")).collect();
        let runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 5)).collect();
        assert_eq!(groups_of(&runs).len(), 1);
    }
}
