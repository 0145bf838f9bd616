//! What threads ran, told by the function that a reader would name: as far down the calls as the time stays together.

use crate::study::explain::places::Place;

/// Part of a function's time that is its own, from which on it is named and not what it calls.
const OWN: f64 = 0.2;
/// Part of a function's time in one that it calls, from which on that is told apart.
const APART: f64 = 0.1;

/// Time at a place, with what else is known of it.
#[derive(Clone, Copy)]
pub struct Run<'p, T> {
    /// Where.
    pub place: &'p Place,
    /// How long, ns.
    pub ns: u64,
    /// What else.
    pub of: T,
}

/// Runs that are told as one.
pub struct Together<'p, T> {
    /// The function, with the line that has most of its time.
    pub at: String,
    /// The runs.
    pub runs: Vec<Run<'p, T>>,
    /// Functions that call it, each with its time; the first call first.
    pub callers: Vec<(String, u64)>,
}

/// Takes runs together: down the calls, and apart where a function only hands the work on to others.
pub fn together<'p, T: Copy>(runs: Vec<Run<'p, T>>) -> Vec<Together<'p, T>> {
    let mut found = Vec::new();
    let mut left = vec![(0, runs)];
    while let Some((depth, runs)) = left.pop() {
        let whole = sum(&runs);
        let (own, callees) = by_callee(runs, depth);
        let is_told = |ns: u64| depth == 0 || ns as f64 >= APART * whole as f64;
        if depth > 0 && sum(&own) as f64 >= OWN * whole as f64 || !callees.iter().any(|runs| is_told(sum(runs))) {
            let all = own.into_iter().chain(callees.into_iter().flatten()).collect();
            found.push(told(all, depth));
            continue;
        }
        let (apart, small): (Vec<_>, Vec<_>) = callees.into_iter().partition(|runs| is_told(sum(runs)));
        left.extend(apart.into_iter().map(|runs| (depth + 1, runs)));
        let rest: Vec<Run<'p, T>> = own.into_iter().chain(small.into_iter().flatten()).collect();
        if !rest.is_empty() {
            found.push(told(rest, depth));
        }
    }
    found
}

fn sum<T>(runs: &[Run<'_, T>]) -> u64 {
    runs.iter().map(|run| run.ns).fold(0, u64::saturating_add)
}

/// The runs of the function at `depth` itself, and those of each function that it calls.
fn by_callee<'p, T>(runs: Vec<Run<'p, T>>, depth: usize) -> (Vec<Run<'p, T>>, Vec<Vec<Run<'p, T>>>) {
    let mut own = Vec::new();
    let mut callees: std::collections::BTreeMap<&str, Vec<Run<'p, T>>> = std::collections::BTreeMap::new();
    for run in runs {
        match run.place.path.get(depth) {
            Some((function, _)) => callees.entry(function).or_default().push(run),
            None => own.push(run),
        }
    }
    (own, callees.into_values().collect())
}

/// Runs that have the first `depth` functions of their paths in common.
fn told<T>(runs: Vec<Run<'_, T>>, depth: usize) -> Together<'_, T> {
    let mut lines: Vec<(&str, u64)> = Vec::new();
    let mut callers: Vec<(String, u64)> = Vec::new();
    for run in &runs {
        let path = &run.place.path;
        let last = depth.checked_sub(1).and_then(|last| path.get(last));
        let at =
            last.map_or(run.place.at.as_str(), |(function, at)| if function.starts_with('[') { function } else { at });
        add(&mut lines, at, run.ns);
        if let Some((caller, _)) = depth.checked_sub(2).and_then(|caller| path.get(caller)) {
            add(&mut callers, caller.as_str(), run.ns);
        }
    }
    let at = lines.iter().rev().max_by_key(|(_, ns)| *ns).map_or_else(String::new, |(at, _)| (*at).to_owned());
    Together { at, runs, callers }
}

fn add<'a, K: PartialEq<&'a str> + From<&'a str>>(sums: &mut Vec<(K, u64)>, key: &'a str, ns: u64) {
    match sums.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum = sum.saturating_add(ns),
        None => sums.push((K::from(key), ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        let path: Vec<(String, String)> =
            path.split('>').map(|at| (at.split(':').next().unwrap().to_owned(), at.to_owned())).collect();
        Place { at: path.last().unwrap().1.clone(), path }
    }

    /// `(path, ns)` to `(at, ns)`, the largest first.
    fn told_of(runs: &[(&str, u64)]) -> Vec<(String, u64)> {
        let places: Vec<Place> = runs.iter().map(|(path, _)| place(path)).collect();
        let runs = places.iter().zip(runs).map(|(place, (_, ns))| Run { place, ns: *ns, of: () }).collect();
        let mut told: Vec<(String, u64)> =
            together(runs).into_iter().map(|group| (group.at, sum(&group.runs))).collect();
        told.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        told
    }

    #[test]
    fn lines_of_one_function_and_what_it_calls_are_one() {
        let told = told_of(&[("main:9>burn:83", 50), ("main:9>burn:82", 10), ("main:9>burn:84>clock:53", 40)]);
        assert_eq!(told, [("burn:83".to_owned(), 100)]);
    }

    #[test]
    fn a_function_that_hands_on_is_not_named() {
        let told = told_of(&[("loop:1>parse:5", 40), ("loop:2>store:7", 55), ("loop:3", 3), ("loop:4>log:8", 2)]);
        assert_eq!(told, [("store:7".into(), 55), ("parse:5".into(), 40), ("loop:3".into(), 5)]);
    }

    #[test]
    fn many_small_parts_stay_together() {
        let paths: Vec<String> = (0..20).map(|number| format!("main:1>step:{number}>f{number}:1")).collect();
        let runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 5)).collect();
        assert_eq!(told_of(&runs).len(), 1);
    }
}
