//! What the walk finds, put to the waits that asked for it.

use dwell_model::StackId;
use smallvec::SmallVec;

use super::WaitWalk;
use crate::study::explain::askers::Askers;
use crate::study::explain::chains::WAITS;
use crate::study::explain::outside::ended_from_outside;
use crate::study::explain::recent_rows::Row;
use crate::study::explain::sleeps::may_sleep;
use crate::study::explain::terms::{Cause, CauseKind, NOTHING, RoleId};
use crate::study::thread_index::ThreadPiece;

impl WaitWalk<'_, '_, '_> {
    /// What a thread ran.
    pub(super) fn running(&mut self, thread: usize, from: u64, to: u64, askers: &Askers) {
        if from >= to {
            return;
        }
        let run = ThreadPiece::running(from, to);
        let mut pieces: SmallVec<[(u64, u64, StackId); 4]> = SmallVec::new();
        self.known.index.split_running_from(thread, run, &mut self.reached[thread], &mut |piece| {
            pieces.push((piece.from, piece.to, piece.stack));
        });
        for (from, to, stack) in pieces {
            let (role, (place, collects)) = (self.known.names.role_of(thread), self.known.names.known_run_place(stack));
            // A collection is one thing, whatever it does at the time.
            let (kind, place) = if collects { (CauseKind::Collected, NOTHING) } else { (CauseKind::Ran, place) };
            let cause = Cause { kind, role, label: NOTHING, place, behind: NOTHING, no_work: false };
            self.count(askers, (thread, cause), stack, (from, to));
        }
    }

    /// A part of its stay in a run queue behind the wait of a row.
    pub(super) fn run_queue(&mut self, thread: usize, row: Row, (from, to): (u64, u64), askers: &Askers) {
        if from >= to {
            return;
        }
        // A fiber is on no CPU of its own: what its runtime ran instead, its collector did.
        let is_fiber = thread < self.trace.fiber_threads;
        if is_fiber
            && self.known.collections.of(self.trace, &self.known.index, self.known.names).are_most_of((from, to))
        {
            return self.book_here(askers, (CauseKind::Collected, thread), (from, to));
        }
        let ran = self.known.cpus.most(row.cpu, (row.bounds.woken, row.bounds.ran), from, &mut self.last_looks);
        let behind: RoleId = ran.map_or(NOTHING, |thread| self.known.names.role_of(thread));
        let role = self.known.names.role_of(thread);
        let cause = Cause { kind: CauseKind::RunQueue, role, label: NOTHING, place: NOTHING, behind, no_work: false };
        self.count(askers, (thread, cause), StackId::NONE, (from, to));
    }

    /// What it did without a wait of its own.
    pub(super) fn book_here(&mut self, askers: &Askers, (kind, thread): (CauseKind, usize), span: (u64, u64)) {
        let role = self.known.names.role_of(thread);
        let cause = Cause { kind, role, label: NOTHING, place: NOTHING, behind: NOTHING, no_work: false };
        self.count(askers, (thread, cause), StackId::NONE, span);
    }

    /// Books a part of the wait of a row.
    pub(super) fn book(&mut self, askers: &Askers, (kind, thread): (CauseKind, usize), row: usize, span: (u64, u64)) {
        let key = self.rows.row(thread, row).key;
        let link = self.facts(key).link;
        let label = if kind == CauseKind::Slept { NOTHING } else { link.label };
        // Whoever is stopped does nothing, wherever it is.
        let place = if kind == CauseKind::Stopped { NOTHING } else { link.place };
        let cause = Cause { kind, role: link.role, label, place, behind: NOTHING, no_work: false };
        self.count(askers, (thread, cause), self.trace.events().key(key).stack(), span);
    }

    fn count(&mut self, askers: &Askers, (thread, cause): (usize, Cause), stack: StackId, (from, to): (u64, u64)) {
        if from >= to || askers.is_empty() {
            return;
        }
        if let Some(pieces) = &mut self.pieces {
            pieces.add_piece(thread, (from, to), cause);
        }
        let mut numbers = [None; 2];
        for (node, weight) in askers.iter() {
            let of = self.chains.node(node);
            let no_work = of.idle.has_no_work(cause.kind);
            let number = *numbers[usize::from(no_work)]
                .get_or_insert_with(|| self.found.number(Cause { no_work, ..cause }, stack));
            let sum = self.found.waits_ns.entry((node, number)).or_default();
            *sum = sum.saturating_add(weight.saturating_mul(to - from));
            if of.root == WAITS {
                self.found.span(number, (from, to));
            }
        }
    }

    /// What the wait of a row is that its time-out ended.
    pub(super) fn kind_of_time_out(&self, thread: usize, row: usize, key: u32) -> CauseKind {
        let (classes, waited) = (self.known.classes, self.trace.events().key(key));
        let ends = classes.wait_ends();
        if classes.sleeps_by_other_means(thread, row, key) && may_sleep(self.trace, waited.stack()) {
            return CauseKind::Slept;
        }
        if classes.kept_loops().has_row(row) {
            return CauseKind::OpenRequests;
        }
        if classes.times_out_in_callback(thread, &waited) {
            return CauseKind::TimedOut;
        }
        if ends.is_unfinished(thread, row) {
            return CauseKind::Unfinished;
        }
        if ends.is_interval_poll(&waited) {
            return CauseKind::Outside; // the answer was there before it looked again
        }
        let of_answer = |answer| ended_from_outside(self.trace, answer, self.facts(key).object_type);
        ends.key_of_answer(thread, row).map_or(CauseKind::TimedOut, of_answer)
    }
}
