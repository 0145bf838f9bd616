//! Names who alone was at work while sampled fibers waited for others whom nothing names.
//!
//! Whoever sends to a channel waits for somebody who is busy and never waits there himself; whoever waits for a wait group, or in a
//! program's first goroutine, waits for work that others do. Where fibers of one creation, and no others of the process, were at work for nearly
//! all of that time, it is what they did.

use std::collections::BTreeMap;

use dwell_model::{ObjectType, ProcessId, StackId};
use dwell_query::stacks::channels::{receives, sends};
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
    crews.retain(|_, stays| {
        stays[0].0.fiber.get().is_some_and(|fiber| !is_runtime_goroutine(&view.threads.name[fiber]))
    });
    // Whoever runs comes before who sleeps: a ticker does that all the time.
    let surest = [1, 2].into_iter().find_map(|most| {
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

/// How surely a fiber keeps others by what it does, the surest first; none if it waits for others itself.
fn surety(view: &Trace, stay: &Stay) -> Option<u8> {
    match stay.doing {
        Doing::Runs => Some(0),
        Doing::Ready => Some(1),
        Doing::Waits => {
            let kind = object_type(view, stay.object);
            matches!(kind, ObjectType::Sleep | ObjectType::Socket | ObjectType::BlockIo | ObjectType::ChildProcess)
                .then_some(2)
        }
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
