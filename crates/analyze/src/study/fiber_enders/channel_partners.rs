//! Names who was at work at the other end of a channel while a sampled fiber waited at it: no wake-up of a fiber tells that.
//!
//! Whoever was ever found waiting at the other end is there for this channel, and so is who does the same work. Of several the one that runs is
//! what the wait is for, before one that is ready to, and that before one that waits for something else.

use std::collections::{HashMap, HashSet};

use dwell_model::{ObjectId, ObjectType, ProcessId, StackId, ThreadId};
use dwell_query::stacks::channels::{receives, sends};
use dwell_query::stacks::object::object_type;
use dwell_store::tables::OffCpu;
use dwell_store::{Table, Trace};

use super::stays::{Doing, Held, Stay, at_work, is_open, split_row, stays, union};

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Sends,
    Receives,
}

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
    fn of_row(&mut self, row: usize) -> Option<(ObjectId, End)> {
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

/// Fibers that one fiber made for the same work.
type Crew<'t> = (ProcessId, ThreadId, &'t str);

/// Who was found at one end of a channel.
#[derive(Default)]
struct Partners<'t> {
    found: HashSet<ThreadId>,
    crews: HashSet<Crew<'t>>,
}

/// Names who ended waits at channels in `view`, whose first `fibers` threads are fibers that were looked at.
pub fn name_channel_partners(view: &mut Trace, fibers: usize) {
    let mut ends = Ends { view, fibers, of_stack: HashMap::new() };
    let at_end: Vec<Option<(ObjectId, End)>> = (0..view.off_cpu.len()).map(|row| ends.of_row(row)).collect();
    let mut partners: HashMap<(ObjectId, End), Partners<'_>> = HashMap::new();
    let mut open: HashMap<(ObjectId, End), Vec<(u64, u64)>> = HashMap::new();
    let off = &view.off_cpu;
    for (row, at) in at_end.iter().enumerate().filter_map(|(row, at)| Some((row, (*at)?))) {
        let here = partners.entry(at).or_default();
        if here.found.insert(off.thread[row]) {
            here.crews.extend(crew(view, off.thread[row]));
        }
        if is_open(off, row) {
            open.entry(at).or_default().push((off.start_ns[row], off.start_ns[row] + off.wait_ns[row]));
        }
    }
    let stays = stays(view, fibers);
    let spans: HashMap<(ObjectId, End), Vec<Held>> = open
        .into_iter()
        .filter_map(|(at, waits)| {
            let partners = partners.get(&(at.0, at.1.other()))?;
            let theirs = stays.iter().filter(|stay| stay.object != at.0).filter_map(|stay| {
                let surety = surety(view, &mut ends, partners, stay)?;
                Some((stay, surety))
            });
            Some((at, at_work(theirs, &union(waits))))
        })
        .collect();
    view.off_cpu = split(off, &at_end, &spans);
}

fn crew(view: &Trace, fiber: ThreadId) -> Option<Crew<'_>> {
    let (threads, row) = (&view.threads, fiber.get()?);
    Some((threads.process[row], threads.parent[row], threads.name[row].as_str()))
}

/// How surely somebody at the other end keeps those here waiting by what he does, the surest first; none if he does not.
fn surety(view: &Trace, ends: &mut Ends<'_>, partners: &Partners<'_>, stay: &Stay) -> Option<u8> {
    let is_found = partners.found.contains(&stay.fiber);
    let is_alike = || crew(view, stay.fiber).is_some_and(|crew| partners.crews.contains(&crew));
    match stay.doing {
        Doing::Runs if is_found || is_alike() => Some(0),
        Doing::Ready if is_found || is_alike() => Some(1),
        // Whoever waits for more work has none that others wait for, if anybody else has some.
        Doing::Waits if is_found => Some(if ends.of(stay.stack) == Some(End::Receives) { 3 } else { 2 }),
        _ => None,
    }
}

/// The rows, those of open waits at channels split by who was at work at the other end.
fn split(off: &OffCpu, at_end: &[Option<(ObjectId, End)>], spans: &HashMap<(ObjectId, End), Vec<Held>>) -> OffCpu {
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
