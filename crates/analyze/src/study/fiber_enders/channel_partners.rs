//! Names who was at work at the other end of a channel while a sampled fiber waited at it: no wake-up of a fiber tells that.
//!
//! Whoever was ever found waiting at the other end is there for this channel, and so is who does the same work. Of several the one that runs is
//! what the wait is for, before one that is ready to, and that before one that waits for something else.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use dwell_model::{ObjectId, ObjectType, StackId};
use dwell_query::stacks::channels::{receives, sends};
use dwell_query::stacks::object::object_type;
use dwell_store::tables::OffCpu;
use dwell_store::{Table, Trace};

use super::stays::{Doing, Held, Stay, at_work, crews, is_open, split_row, stays};
use crate::study::intervals::{length_ns, union};

/// Ends of channels that are looked at: those at which fibers waited for longest.
const LOOKED_AT: usize = 64;

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Sends,
    Receives,
}

/// A channel, and an end of it.
type ChannelEnd = (ObjectId, End);

impl End {
    fn other(self) -> Self {
        match self {
            Self::Sends => Self::Receives,
            Self::Receives => Self::Sends,
        }
    }
}

/// The ends of channels at which stacks wait.
struct Ends<'t> {
    view: &'t Trace,
    fibers: usize,
    of_stack: HashMap<StackId, Option<End>>,
}

impl Ends<'_> {
    /// The channel and its end at which a fiber waits in that row.
    fn of_row(&mut self, row: usize) -> Option<ChannelEnd> {
        let off = &self.view.off_cpu;
        let is_wait = off.thread[row].get().is_some_and(|fiber| fiber < self.fibers) && off.wait_ns[row] > 0;
        let is_channel = is_wait && object_type(self.view, off.object[row]) == ObjectType::Channel;
        Some((off.object[row], self.of(off.stack[row]).filter(|_| is_channel)?))
    }

    fn of(&mut self, stack: StackId) -> Option<End> {
        let view = self.view;
        let end = || {
            let sends = sends(view, stack).then_some(End::Sends);
            sends.or_else(|| receives(view, stack).then_some(End::Receives))
        };
        *self.of_stack.entry(stack).or_insert_with(end)
    }
}

/// What a fiber has to do with one end of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing.
    None,
    /// It was never found waiting there, but one that does the same work was.
    Alike,
    /// It was found waiting there.
    Found,
}

/// Names who ended waits at channels in `view`, whose first `fibers` threads are fibers that were looked at.
pub fn name_channel_partners(view: &mut Trace, fibers: usize) {
    let mut ends = Ends { view, fibers, of_stack: HashMap::new() };
    let at_end: Vec<Option<ChannelEnd>> = (0..view.off_cpu.len()).map(|row| ends.of_row(row)).collect();
    let mut found: HashMap<ChannelEnd, HashSet<usize>> = HashMap::new();
    let mut open: HashMap<ChannelEnd, Vec<(u64, u64)>> = HashMap::new();
    let off = &view.off_cpu;
    for (row, at) in at_end.iter().enumerate().filter_map(|(row, at)| Some((row, (*at)?))) {
        found.entry(at).or_default().extend(off.thread[row].get());
        if is_open(off, row) {
            open.entry(at).or_default().push((off.start_ns[row], off.start_ns[row].saturating_add(off.wait_ns[row])));
        }
    }
    let open = open.into_iter().map(|(at, spans)| (at, union(spans)));
    let mut open: Vec<(ChannelEnd, Vec<(u64, u64)>)> =
        open.filter(|((object, end), _)| found.contains_key(&(*object, end.other()))).collect();
    open.sort_by_key(|(at, spans)| (Reverse(length_ns(spans)), *at));
    open.truncate(LOOKED_AT);
    let (stays, crews) =
        if open.is_empty() { (Vec::new(), Vec::new()) } else { (stays(view, fibers), crews(view, fibers)) };
    let mut spans: HashMap<ChannelEnd, Vec<Held>> = HashMap::new();
    for ((object, end), waited) in open {
        let parts = parts(&crews, &found[&(object, end.other())]);
        let theirs = stays.iter().filter(|stay| stay.object != object);
        let theirs = theirs.filter_map(|stay| Some((stay, surety(&mut ends, *parts.get(stay.fiber.get()?)?, stay)?)));
        spans.insert((object, end), at_work(theirs, &waited));
    }
    view.off_cpu = split(off, &at_end, &spans);
}

/// What each fiber has to do with an end at which these were found waiting, by the crews of all.
fn parts(crews: &[u32], found: &HashSet<usize>) -> Vec<Part> {
    let alike: HashSet<u32> = found.iter().filter_map(|fiber| crews.get(*fiber).copied()).collect();
    let part = |(fiber, crew): (usize, &u32)| match (found.contains(&fiber), alike.contains(crew)) {
        (true, _) => Part::Found,
        (false, true) => Part::Alike,
        (false, false) => Part::None,
    };
    crews.iter().enumerate().map(part).collect()
}

/// How surely somebody at the other end keeps those here waiting by what he does, the surest first; none if he does not.
fn surety(ends: &mut Ends<'_>, part: Part, stay: &Stay) -> Option<u8> {
    match (stay.doing, part) {
        (_, Part::None) => None,
        (Doing::Runs, _) => Some(0),
        (Doing::Ready, _) => Some(1),
        // Whoever waits for more work has none that others wait for, if anybody else has some.
        (Doing::Waits, Part::Found) => Some(if ends.of(stay.stack) == Some(End::Receives) { 3 } else { 2 }),
        (Doing::Waits, Part::Alike) => None,
    }
}

/// The rows, those of open waits at channels split by who was at work at the other end.
fn split(off: &OffCpu, at_end: &[Option<ChannelEnd>], spans: &HashMap<ChannelEnd, Vec<Held>>) -> OffCpu {
    let mut rows = OffCpu::default();
    for (number, row) in (0..off.len()).filter_map(|number| Some((number, off.row(number)?))) {
        let at_work = at_end[number].filter(|_| is_open(off, number)).and_then(|at| spans.get(&at));
        match at_work {
            Some(at_work) => split_row(&row, at_work, false, &mut rows),
            None => drop(rows.push(row)),
        }
    }
    rows.in_order_of(|rows| &rows.start_ns)
}
