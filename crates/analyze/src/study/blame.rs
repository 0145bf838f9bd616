//! What the other side did while threads waited on an object.
//!
//! The holder of a lock during a wait is taken to be the thread that ended the wait: an unlock wakes. What that thread
//! did since it had the lock is what the waiter waited for; where it had itself waited for the lock, the thread that
//! woke it held the lock before. A lock that tells who holds it (the GIL) is believed.

use std::collections::HashMap;

use dwell_model::{ObjectId, StackId};

use crate::engine::fold::Fold;
use crate::study::intervals::Activity;
use crate::study::thread_index::{Piece, ThreadIndex};

/// Pieces of holders' time looked at for a report, at most: the longest waits come first, the rest is left out and
/// told.
pub const REPORT_BUDGET: usize = 20_000_000;
/// The same for findings, which need shares and not sums.
pub const FINDINGS_BUDGET: usize = 100_000;

/// What a holder did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
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
    /// What holders did meanwhile.
    pub holders: HashMap<Doing, Share>,
    /// Who they were, by number of the thread, and their time.
    pub threads: HashMap<usize, u64>,
    /// Whether the lock itself told who held it.
    pub told: bool,
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
    let rows = &fold.trace.events().off_cpu;
    for (row, site) in &fold.rows().rows {
        let row = *row as usize;
        let site = fold.sites.get(*site as usize).filter(|site| site.selected && site.is_wait());
        let Some(blame) = site.and_then(|site| blames.get_mut(&site.key.object)) else { continue };
        blame.waits.ns = blame.waits.ns.saturating_add(rows.wait_ns(row));
        blame.waits.waits += 1;
        waits.push((rows.wait_ns(row), row));
    }
    if fold.rows().share < 1.0 {
        whole_waits(fold, &mut blames);
    }
    waits.sort_unstable_by_key(|wait| std::cmp::Reverse(*wait));
    let mut work = 0;
    for (_, row) in waits {
        if work >= budget {
            break;
        }
        if let Some(blame) = blames.get_mut(&fold.object_of(row)) {
            work += 1 + follow(fold, index, row, blame);
        }
    }
    blames
}

/// Where only slices are looked at row by row, the sums over all the time are the sites'.
fn whole_waits(fold: &Fold<'_>, blames: &mut HashMap<ObjectId, Blame>) {
    blames.values_mut().for_each(|blame| blame.waits = Share::default());
    for (_, site, weights) in fold.selected().filter(|(_, site, _)| site.is_wait()) {
        if let Some(blame) = blames.get_mut(&site.key.object) {
            blame.waits.ns = blame.waits.ns.saturating_add(weights.wait_ns());
            blame.waits.waits += weights.wait_count;
        }
    }
}

/// Hand-overs of a lock followed within one wait, at most: only a damaged trace has more at one instant.
const HAND_OVERS: usize = 10_000;

/// What the holders did during one wait, latest first. The thread that ended the wait had the object since it last
/// waited for it itself; before that, whoever ended that wait had it, and so on. Returns the work done.
fn follow(fold: &Fold<'_>, index: &ThreadIndex<'_>, row: usize, blame: &mut Blame) -> usize {
    let rows = &fold.trace.events().off_cpu;
    let (from, wait_ns) = (rows.start_ns(row), rows.wait_ns(row));
    blame.seen_ns = blame.seen_ns.saturating_add(wait_ns);
    let mut time = from.saturating_add(wait_ns);
    let mut holder = holder_of(fold, row);
    blame.told |= fold.trace.events().off_cpu_key(row).holder().is_some();
    let (mut work, mut hand_overs, mut last) = (0, 0, None);
    while time > from {
        let here = holder.and_then(|thread| index.before(thread, time));
        let Some(piece) = here.filter(|_| hand_overs < HAND_OVERS) else { break };
        let waits_too = piece.row.filter(|waited| {
            piece.activity == Activity::Waiting && fold.object_of(*waited) == fold.object_of(row) && *waited != row
        });
        if let Some(waited) = waits_too {
            hand_overs += 1;
            holder = holder_of(fold, waited);
            continue;
        }
        let cut = Piece { from: piece.from.max(from), to: piece.to.min(time), ..piece };
        let mut tell = |piece: Piece| count(fold, piece, blame, &mut last);
        work += match (cut.activity, holder) {
            (Activity::Running, Some(thread)) => index.split_running(thread, cut, &mut tell),
            _ => {
                tell(cut);
                1
            }
        };
        if let Some(thread) = holder {
            *blame.threads.entry(thread).or_default() += time - cut.from;
        }
        time = cut.from;
    }
    blame.outside_ns = blame.outside_ns.saturating_add(time - from);
    work + hand_overs
}

/// The thread of the program that held what `row` waited for: as the lock told when the wait began, else the one that
/// ended the wait.
fn holder_of(fold: &Fold<'_>, row: usize) -> Option<usize> {
    let key = fold.trace.events().off_cpu_key(row);
    let other = |thread: &usize| *thread < fold.trace.threads.tid.len() && key.thread().get() != Some(*thread);
    let told = key.holder().get().filter(other);
    told.or_else(|| key.waker().get().filter(other))
}

fn count(fold: &Fold<'_>, piece: Piece, blame: &mut Blame, last: &mut Option<Doing>) {
    let doing = match piece.activity {
        Activity::Running => Doing::Running(fold.stacks.shown(piece.stack)),
        Activity::Runnable => Doing::Runnable,
        Activity::Waiting => {
            let object = piece.row.map_or(ObjectId::NONE, |row| fold.object_of(row));
            Doing::Waiting(object, fold.stacks.shown(piece.stack))
        }
    };
    let share = blame.holders.entry(doing).or_default();
    share.ns = share.ns.saturating_add(piece.to - piece.from);
    // Neighbouring pieces of one doing are one wait's.
    share.waits += u64::from(*last != Some(doing));
    *last = Some(doing);
}
