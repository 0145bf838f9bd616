//! What the other side did while threads waited on an object.
//!
//! A wait for a lock is for what its holders did meanwhile ([`Holding`]); any other wait is for what the thread that ended it
//! did.

use std::collections::HashMap;

use dwell_model::{ObjectId, StackId};
use dwell_query::engine::fold::Fold;

use crate::study::holding::{Holder, HolderPart, Holding};
use crate::study::intervals::Activity;
use crate::study::thread_index::{ThreadIndex, ThreadPiece};

/// Pieces of holders' time looked at for a report, at most: the longest waits come first, the rest is left out and
/// told.
pub const REPORT_BUDGET: usize = 20_000_000;

/// What a holder did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HolderActivity {
    /// It ran, here (as the query shows stacks).
    Running(StackId),
    /// It waited on this itself, here.
    Waiting(ObjectId, StackId),
    /// It was in a run queue.
    Runnable,
}

/// Time and number of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Wait time, ns.
    pub ns: u64,
    /// Waits.
    pub waits: u64,
}

/// Who is to blame for the waits on one object.
#[derive(Clone, Debug, Default)]
pub struct Blame {
    /// Waits and their time.
    pub waits: Share,
    /// Time that was looked at: less than all of it when holders did too much.
    pub seen_ns: u64,
    /// Time of waits that no thread of the program ended.
    pub outside_ns: u64,
    /// Time in which a thread held the lock that did not show itself.
    pub unknown_ns: u64,
    /// What holders did meanwhile.
    pub holders: HashMap<HolderActivity, Share>,
    /// Who they were, by number of the thread, and their time.
    pub threads: HashMap<usize, u64>,
    /// Whether the lock itself told who held it.
    pub told: bool,
}

/// What the blame for a wait is looked up in.
struct Study<'f, 't> {
    fold: &'f Fold<'t>,
    index: &'f ThreadIndex<'t>,
    holding: Holding<'f, 't>,
}

/// Gathers the blame for each of `objects`: one pass over the rows, then the longest waits up to `budget` pieces of
/// holders' time.
pub fn blame(
    fold: &Fold<'_>,
    index: &ThreadIndex<'_>,
    objects: &[ObjectId],
    budget: usize,
) -> HashMap<ObjectId, Blame> {
    let mut blames: HashMap<ObjectId, Blame> = objects.iter().map(|object| (*object, Blame::default())).collect();
    let mut waits: Vec<(u64, usize)> = Vec::new();
    for (row, site) in &fold.rows().rows {
        let row = *row as usize;
        let site = fold.sums.sites.get(*site as usize).filter(|site| site.selected && site.is_wait());
        let Some(blame) = site.and_then(|site| blames.get_mut(&site.key.object)) else { continue };
        let wait_ns = inside_ns(fold, row);
        blame.waits.ns = blame.waits.ns.saturating_add(wait_ns);
        blame.waits.waits += 1;
        waits.push((wait_ns, row));
    }
    if fold.rows().share < 1.0 {
        whole_waits(fold, &mut blames);
    }
    waits.sort_unstable_by_key(|wait| std::cmp::Reverse(*wait));
    let study = Study { fold, index, holding: Holding::new(fold, index, objects) };
    let mut work = 0;
    for (_, row) in waits {
        if work >= budget {
            break;
        }
        if let Some(blame) = blames.get_mut(&fold.object_of(row)) {
            work += 1 + follow(&study, row, blame);
        }
    }
    blames
}

/// Where only slices are looked at row by row, the sums over all the time are the sites'.
fn whole_waits(fold: &Fold<'_>, blames: &mut HashMap<ObjectId, Blame>) {
    blames.values_mut().for_each(|blame| blame.waits = Share::default());
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.is_wait()) {
        if let Some(blame) = blames.get_mut(&site.key.object) {
            blame.waits.ns = blame.waits.ns.saturating_add(site.busy_ns(fold.sums.class_mask));
            blame.waits.waits += site.count(fold.sums.class_mask);
        }
    }
}

/// The part of a wait inside the windows.
fn inside_ns(fold: &Fold<'_>, row: usize) -> u64 {
    let (rows, from) = (&fold.trace.events().off_cpu, fold.trace.events().off_cpu.start_ns(row));
    fold.sums.windows.overlap_ns(from, from.saturating_add(rows.wait_ns(row)))
}

/// What the holders did during one wait, latest first. Returns the work done.
fn follow(study: &Study<'_, '_>, row: usize, blame: &mut Blame) -> usize {
    let (fold, object) = (study.fold, study.fold.object_of(row));
    let (rows, key) = (&fold.trace.events().off_cpu, fold.trace.events().off_cpu_key(row));
    let (from, wait_ns) = (rows.start_ns(row), rows.wait_ns(row));
    blame.seen_ns = blame.seen_ns.saturating_add(inside_ns(fold, row));
    blame.told |= key.holder().is_some();
    let (mut work, mut last) = (0, None);
    let mut tell = |held: HolderPart| {
        let inside: Vec<(u64, u64)> = fold.sums.windows.clip(held.from, held.to).collect();
        for (from, to) in inside.into_iter().rev() {
            work += add(study, HolderPart { from, to, ..held }, blame, &mut last);
        }
    };
    if study.holding.knows(object) {
        study.holding.emit(row, tell);
    } else {
        let to = from.saturating_add(wait_ns);
        let ender = key.waker().get().filter(|thread| *thread < fold.trace.threads.tid.len());
        let ender = key.holder().get().or(ender).filter(|thread| key.thread().get() != Some(*thread));
        tell(HolderPart { from, to, holder: ender.map_or(Holder::Outside, Holder::Thread) });
    }
    work
}

/// Adds what the holder did in a part of a wait. Returns the work done.
fn add(study: &Study<'_, '_>, held: HolderPart, blame: &mut Blame, last: &mut Option<HolderActivity>) -> usize {
    let mut time = held.to;
    let mut work = 1;
    let thread = match held.holder {
        Holder::Thread(thread) => thread,
        Holder::Outside => {
            blame.outside_ns = blame.outside_ns.saturating_add(held.to - held.from);
            return work;
        }
        Holder::Unknown => {
            blame.unknown_ns = blame.unknown_ns.saturating_add(held.to - held.from);
            return work;
        }
    };
    while time > held.from {
        let Some(piece) = study.index.before(thread, time) else { break };
        let cut = ThreadPiece { from: piece.from.max(held.from), to: piece.to.min(time), ..piece };
        let mut tell = |piece: ThreadPiece| count(study.fold, piece, blame, last);
        work += match cut.activity {
            Activity::Running => study.index.split_running(thread, cut, &mut tell),
            _ => {
                tell(cut);
                1
            }
        };
        time = cut.from;
    }
    *blame.threads.entry(thread).or_default() += held.to - time;
    // Before its start.
    blame.outside_ns = blame.outside_ns.saturating_add(time - held.from);
    work
}

fn count(fold: &Fold<'_>, piece: ThreadPiece, blame: &mut Blame, last: &mut Option<HolderActivity>) {
    let doing = match piece.activity {
        Activity::Running => HolderActivity::Running(fold.sums.stacks.shown(piece.stack)),
        Activity::Runnable => HolderActivity::Runnable,
        Activity::Waiting => {
            let object = piece.row.map_or(ObjectId::NONE, |row| fold.object_of(row));
            HolderActivity::Waiting(object, fold.sums.stacks.shown(piece.stack))
        }
    };
    let share = blame.holders.entry(doing).or_default();
    share.ns = share.ns.saturating_add(piece.to - piece.from);
    // Neighbouring pieces of one doing are one wait's.
    share.waits += u64::from(*last != Some(doing));
    *last = Some(doing);
}
