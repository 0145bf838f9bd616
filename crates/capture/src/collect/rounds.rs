//! A round: drains the source of records, what programs announce and the machine's counters into the trace.

use std::path::Path;

use dwell_goroutines::ChangePoints;
use dwell_model::notice;

use super::collection::Collection;
use super::manifest::note_losses;
use super::recording::recorded_bytes;
use super::rights::looking;
use crate::clock::monotonic_ns;
use crate::drain::copies::{walk_copies, walk_waiting};
use crate::drain::follow::follow;
use crate::error::Result;
use crate::topics::goroutines::Goroutines;
use crate::topics::itt::ProgramRequest;

/// A program that has mapped nothing for so long has started, and would announce itself if it meant to.
const STARTED_NS: u64 = 250_000_000;

impl Collection<'_> {
    /// Reads the machine's counters and the goroutines when they are due, or `now`.
    pub(super) fn read_beside(&mut self, now: bool) {
        let mut drained = self.drained.borrow_mut();
        let programs = std::mem::take(&mut drained.programs);
        if self.pause.is_final {
            return;
        }
        programs.iter().for_each(|&pid| self.quotas.look(pid));
        self.quotas.round(monotonic_ns(), || drained.lifetimes.ids().collect());
        if let Some(system) = &mut self.system {
            programs.iter().for_each(|&pid| system.process(pid));
            if now || system.due_in(monotonic_ns()) == 0 {
                system.read(self.source.system_calls(), drained.recorder.events());
            }
        }
        if let Some(goroutines) = &mut self.goroutines {
            let mut watch = |path: &Path, points: &ChangePoints| self.source.watch_goroutines(path, points);
            programs.iter().for_each(|&pid| goroutines.program(pid, &mut watch));
            if !self.pause.is_on {
                goroutines.read(drained.recorder.meta(), now);
            }
        }
    }

    pub(super) fn round(&mut self, at_end: bool) -> Result<()> {
        self.scheduling_delay.note();
        self.scheduling_delay.stay_ahead(self.source.urgency());
        self.read_beside(false);
        let time_ns = self.drain_source(at_end)?;
        let settled_ns = self.source.settle(&mut self.unwinding, &mut self.keeper, time_ns)?;
        let wishes = self.drain_itt()?;
        self.look_at_running(time_ns)?;
        if !at_end {
            self.take_in_joined()?;
        }
        if self.end_round(time_ns, settled_ns)? {
            self.record_no_more(time_ns, notice!(DATA_LIMIT))?;
        }
        self.apply_control(&wishes)?;
        if at_end { Ok(()) } else { self.answer_control() }
    }

    /// Drains records and mappings. Returns the time up to which nothing more will come.
    fn drain_source(&mut self, at_end: bool) -> Result<u64> {
        let time_ns = self.source.drain(&mut self.mappings, monotonic_ns(), at_end)?;
        let mut drained = self.drained.borrow_mut();
        let drained = &mut *drained;
        if let Some(failure) = drained.failure.take() {
            return Err(failure);
        }
        walk_waiting(drained, &mut self.unwinding);
        let is_quiet = self.mappings.is_empty();
        self.mappings = drained.take_mappings(std::mem::take(&mut self.mappings), time_ns, at_end);
        let looking = looking(self.options);
        follow(drained, &mut self.unwinding, &mut self.keeper, time_ns)?;
        if is_quiet {
            self.unwinding.catch_up()?;
        }
        drained.java_code.read(&self.modules, &mut self.unwinding, at_end)?;
        drained.javascript.read(&self.modules, &mut self.unwinding)?;
        if drained.java_code.knows_locks() {
            self.source.read_java_locks()?;
        }
        drop(looking);
        walk_copies(drained, &mut self.unwinding, Some(time_ns));
        self.source.read_sockets(drained.recorder.meta(), time_ns, false);
        self.source.read_connects(drained.recorder.meta(), time_ns, false);
        if !at_end && !self.pause.is_on && !self.pause.is_final {
            self.source.read_open_requests(drained.recorder.meta(), time_ns);
        }
        self.keeper.end_round();
        Ok(time_ns)
    }

    /// Writes what is due, and keeps an outlier when there is one. Returns whether the data limit is reached.
    fn end_round(&mut self, time_ns: u64, settled_ns: u64) -> Result<bool> {
        let mut drained = self.drained.borrow_mut();
        let drained = &mut *drained;
        drained.recorder.end_round(settled_ns)?;
        if drained.recorder.wants_all_again() {
            let since_ns = self.source.describe_again()?;
            self.goroutines.iter_mut().for_each(Goroutines::describe_again);
            drained.java_code.describe_again();
            drained.recorder.all_is_described_again(since_ns, monotonic_ns());
        }
        if let Some(outliers) = &mut self.outliers
            && outliers.is_due(&mut drained.recorder, &drained.lifetimes, time_ns)
        {
            note_losses(&*self.source, &mut self.losing, &mut self.manifest);
            outliers.keep(&mut drained.recorder, &self.manifest, &self.modules, time_ns)?;
        }
        let limit = self.options.data_limit_bytes;
        Ok(limit > 0 && !self.pause.is_on && recorded_bytes(&drained.recorder, self.options) >= limit)
    }

    /// Drains what programs announce. Returns what they wish.
    pub(super) fn drain_itt(&mut self) -> Result<Vec<(u64, ProgramRequest)>> {
        let mut drained = self.drained.borrow_mut();
        let drained = &mut *drained;
        for (tgid, time_ns) in drained.ended_programs.drain(..) {
            self.itt.end_program(tgid, time_ns);
        }
        let found = self.itt.round(&drained.lifetimes, &mut drained.recorder, self.pause.is_on)?;
        self.soon |= found.busy;
        self.itt_left = found.more;
        if let Some(library) = self.itt.library_in_use() {
            self.source.set_stitching(&library);
        }
        Ok(found.wishes)
    }

    /// What delays a thread while it runs is looked at only as long as there may be intervals in which it does: those that
    /// were asked for, and what a program announces, once it has started.
    fn look_at_running(&mut self, now_ns: u64) -> Result<()> {
        let Some(sees) = self.source.sees_running() else { return Ok(()) };
        let (announces, mapped_ns) = {
            let drained = self.drained.borrow();
            (drained.announces, drained.mapped_ns.max(self.manifest.start_ns))
        };
        self.has_intervals |= announces || self.itt.is_used();
        let is_starting = self.options.itt && now_ns.saturating_sub(mapped_ns) < STARTED_NS;
        let wanted = self.has_intervals || (sees && is_starting);
        if wanted == sees {
            return Ok(());
        }
        self.source.see_running(wanted)?;
        if wanted {
            let seconds = (now_ns - self.manifest.start_ns) as f64 / 1e9;
            self.manifest.notices.push(notice!(RUNNING_DELAYS_LATE, seconds = format!("{seconds:.3}")));
        }
        Ok(())
    }
}
