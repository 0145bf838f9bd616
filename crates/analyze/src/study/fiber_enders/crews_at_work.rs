//! Names who alone was at work while sampled fibers waited for others whom nothing names.
//!
//! Whoever sends to a channel waits for somebody who is busy and never waits there himself; whoever waits for a wait group, or in a
//! program's first goroutine, waits for work that others do. Where fibers of one creation, and no others of the process, were at work for nearly
//! all of that time, it is what they did.

use std::collections::BTreeMap;

use dwell_model::{ObjectType, ProcessId, StackId};
use dwell_query::stacks::channels::{receives, sends};
use dwell_query::stacks::frames::functions;
use dwell_query::stacks::go_runtime::{GO_MAIN, is_runtime_goroutine};
use dwell_query::stacks::object::object_type;
use dwell_store::tables::OffCpu;
use dwell_store::{Table, Trace};

use super::stays::{Doing, Held, Stay, at_work, crews, is_fiber, is_open, parts_within, split_row, stays};
use crate::study::intervals::{length_ns, union};

/// Places of waits that are looked at: the longest ones.
const LOOKED_AT: usize = 64;
/// Part of the waits in which any fiber of the crew must be at work.
const NEARLY_ALL: f64 = 0.8;

/// How surely one who sleeps keeps others: less than all that others do.
const SLEEPS: u8 = 4;

/// Where fibers of a process wait.
type WaitPlace = (ProcessId, StackId);

/// Names who ended open waits of fibers in `view`, whose first `fibers` threads are fibers that were looked at.
pub fn name_crews_at_work(view: &mut Trace, fibers: usize) {
    let off = &view.off_cpu;
    let mut waits: BTreeMap<WaitPlace, Vec<(u64, u64)>> = BTreeMap::new();
    for row in (0..off.len()).filter(|row| waits_for_work(view, fibers, *row)) {
        let span = (off.start_ns[row], off.start_ns[row].saturating_add(off.wait_ns[row]));
        waits.entry(place(view, row)).or_default().push(span);
    }
    let mut waits: Vec<(WaitPlace, Vec<(u64, u64)>)> =
        waits.into_iter().map(|(at, spans)| (at, union(spans))).collect();
    waits.sort_by_key(|(at, spans)| (std::cmp::Reverse(length_ns(spans)), *at));
    waits.truncate(LOOKED_AT);
    let (stays, crews) =
        if waits.is_empty() { (Vec::new(), Vec::new()) } else { (stays(view, fibers), crews(view, fibers)) };
    let found =
        |(at, waited): (WaitPlace, Vec<(u64, u64)>)| Some((at, crew_at_work(view, (&stays, &crews), at, &waited)?));
    let spans: BTreeMap<WaitPlace, Vec<Held>> = waits.into_iter().filter_map(found).collect();
    view.off_cpu = split(view, fibers, &spans);
}

fn place(view: &Trace, row: usize) -> WaitPlace {
    let process = view.off_cpu.thread[row].get().map_or(ProcessId::NONE, |fiber| view.threads.process[fiber]);
    (process, view.off_cpu.stack[row])
}

/// Whether a fiber waits in that row for work of others, and nobody is known to have ended it.
fn waits_for_work(view: &Trace, fibers: usize, row: usize) -> bool {
    let (off, stack) = (&view.off_cpu, view.off_cpu.stack[row]);
    let is_wait = is_fiber(off.thread[row], fibers) && off.wait_ns[row] > 0 && is_open(off, row);
    let is_main = || off.thread[row].get().is_some_and(|fiber| view.threads.name[fiber] == GO_MAIN);
    is_wait
        && match object_type(view, off.object[row]) {
            ObjectType::WaitGroup => true,
            ObjectType::Channel => sends(view, stack) || (is_main() && receives(view, stack)),
            ObjectType::ConditionVariable => is_main(),
            _ => false,
        }
}

/// When whom of the only crew of the process that was at work for nearly all of the waits kept them.
fn crew_at_work(
    view: &Trace,
    (stays, crew_of): (&[Stay], &[u32]),
    (process, at): WaitPlace,
    waited: &[(u64, u64)],
) -> Option<Vec<Held>> {
    let mut crews: BTreeMap<u32, Vec<(&Stay, u8)>> = BTreeMap::new();
    for stay in stays.iter().filter(|stay| stay.stack != at) {
        let Some(fiber) = stay.fiber.get().filter(|fiber| view.threads.process[*fiber] == process) else { continue };
        if let Some(surety) = surety(view, stay) {
            crews.entry(crew_of[fiber]).or_default().push((stay, surety));
        }
    }
    let name = |stays: &Vec<(&Stay, u8)>| stays[0].0.fiber.get().map_or("", |fiber| view.threads.name[fiber].as_str());
    crews.retain(|_, stays| !is_runtime_goroutine(name(stays)));
    // What waits within a package waits for goroutines of that package: a database's writer, not a ticker of the program.
    if let Some(package) = package_within(view, at) {
        let of_package = |stays: &Vec<(&Stay, u8)>| repository(name(stays)) == package;
        if crews.values().any(of_package) {
            crews.retain(|_, stays| of_package(stays));
        }
    }
    // Whoever runs comes before who waits for a device or a child, and all of them before who sleeps: a ticker does that all the time.
    let surest = (1..=SLEEPS).find_map(|most| {
        let is_much = |stays: &[(&Stay, u8)]| {
            let parts = stays.iter().filter(|(_, surety)| *surety <= most);
            let within = union(parts.flat_map(|(stay, _)| parts_within(stay, waited)).collect());
            length_ns(&within) as f64 >= NEARLY_ALL * length_ns(waited) as f64
        };
        let busy: Vec<&Vec<(&Stay, u8)>> = crews.values().filter(|stays| is_much(stays)).collect();
        (!busy.is_empty()).then_some(busy)
    })?;
    let [crew] = surest[..] else { return None };
    Some(at_work(crew.iter().copied(), waited))
}

/// The package whose function waits, if the program's own sources called it.
fn package_within(view: &Trace, stack: StackId) -> Option<&str> {
    let is_standard = |function: &&str| repository(function).is_empty();
    let innermost = functions(view, stack).find(|function| !is_standard(function))?;
    let package = repository(innermost);
    functions(view, stack).any(|function| function.starts_with("main.")).then_some(package)
}

/// The repository that a function of Go is of: `github.com/cockroachdb/pebble`; empty of the standard library's, and of a program's own
/// package.
fn repository(function: &str) -> &str {
    let host = function.split('/').next().unwrap_or_default();
    if !host.contains('.') || host.len() == function.len() {
        return "";
    }
    let end = function.match_indices('/').nth(2).map_or(function.len(), |(at, _)| at);
    let of_package =
        function[..end].rfind('/').map_or(end, |slash| function[slash..end].find('.').map_or(end, |dot| slash + dot));
    &function[..of_package.min(end)]
}

/// How surely a fiber keeps others by what it does, the surest first; none if it waits for others itself.
fn surety(view: &Trace, stay: &Stay) -> Option<u8> {
    match stay.doing {
        Doing::Runs => Some(0),
        Doing::Ready => Some(1),
        Doing::Waits => match object_type(view, stay.object) {
            ObjectType::BlockIo | ObjectType::ChildProcess => Some(2),
            ObjectType::Socket => Some(3),
            ObjectType::Sleep => Some(SLEEPS),
            _ => None,
        },
    }
}

/// The rows, open waits at these places split by who kept them.
fn split(view: &Trace, fibers: usize, spans: &BTreeMap<WaitPlace, Vec<Held>>) -> OffCpu {
    let (off, mut rows) = (&view.off_cpu, OffCpu::default());
    for (number, row) in (0..off.len()).filter_map(|number| Some((number, off.row(number)?))) {
        let kept = spans.get(&place(view, number)).filter(|_| waits_for_work(view, fibers, number));
        match kept {
            Some(kept) => split_row(&row, kept, false, &mut rows),
            None => drop(rows.push(row)),
        }
    }
    rows.in_order_of(|rows| &rows.start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_go_are_of_repositories() {
        for (function, expected) in [
            ("github.com/cockroachdb/pebble/record.(*LogWriter).flushLoop", "github.com/cockroachdb/pebble"),
            ("github.com/dgraph-io/badger/v4.(*DB).doWrites", "github.com/dgraph-io/badger"),
            ("go.uber.org/zap.(*Logger).Info", "go.uber.org/zap"),
            ("net/http.(*conn).serve", ""),
            ("sync.(*WaitGroup).Wait", ""),
            ("main.main.func1", ""),
        ] {
            assert_eq!(repository(function), expected, "{function}");
        }
    }
}
