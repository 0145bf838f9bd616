//! Processes that join what is profiled while the collection goes on: those that are moved into a control group, or that a container's
//! engine starts in one. What recorded processes fork is recorded anyway.

use dwell_cgroups::Selection;
use dwell_model::notice;

use super::collection::Collection;
use super::rights::looking;
use crate::clock::monotonic_ns;
use crate::drain::follow::{describe_running, follow};
use crate::error::Result;
use crate::programs::proc;

/// How often a control group's processes are looked up.
const GROUP_PERIOD_NS: u64 = 50_000_000;
/// The same for the whole machine, where only what the kernel itself starts is not forked by a recorded process.
const MACHINE_PERIOD_NS: u64 = 1_000_000_000;

impl Collection<'_> {
    /// Tells where the source cannot take processes in later.
    pub(super) fn check_joining(&mut self) -> Result<()> {
        if self.options.joining.is_some() && !self.source.take_in(&[])? {
            self.manifest.notices.push(notice!(JOINING_UNSEEN));
            self.next_joining_ns = u64::MAX;
        }
        Ok(())
    }

    /// Takes in what has joined since the last look, when that is due.
    pub(super) fn take_in_joined(&mut self) -> Result<()> {
        let Some(selection) = &self.options.joining else { return Ok(()) };
        let now = monotonic_ns();
        if now < self.next_joining_ns || self.pause.is_on {
            return Ok(());
        }
        let period = if *selection == Selection::Machine { MACHINE_PERIOD_NS } else { GROUP_PERIOD_NS };
        self.next_joining_ns = now.saturating_add(period);
        let joined = self.joined(selection);
        if joined.is_empty() {
            return Ok(());
        }
        self.describe_targets(&joined, now)?;
        self.source.take_in(&joined)?;
        self.soon = true; // while the threads that wait still stand where they were found
        Ok(())
    }

    fn joined(&self, selection: &Selection) -> Vec<u32> {
        let lifetimes = &self.drained.borrow().lifetimes;
        let own_only = self.options.own_only;
        let is_new = |pid: &u32| !lifetimes.contains(*pid) && proc::may_record(*pid, own_only);
        selection.pids().into_iter().filter(is_new).collect()
    }

    /// Describes processes that run already, as their exec and their mappings would have, and makes their tables.
    pub(super) fn describe_targets(&mut self, targets: &[u32], now_ns: u64) -> Result<()> {
        let _looking = looking(self.options);
        let mut drained = self.drained.borrow_mut();
        describe_running(targets, now_ns, &mut drained);
        follow(&mut drained, &mut self.unwinding, &mut self.keeper, now_ns)?;
        for mut mapping in targets.iter().flat_map(|&pid| proc::mappings(pid, now_ns)) {
            self.keeper.mapped(&mut mapping);
            drained.maps_code(&mapping);
            drained.recorder.meta().map(mapping.header, &mapping.path);
        }
        drop(drained);
        while self.unwinding.is_behind() {
            self.unwinding.catch_up()?;
        }
        // The stacks of threads that wait already lead through run-time code, too.
        let mut drained = self.drained.borrow_mut();
        drained.java_code.read(&self.modules, &mut self.unwinding, false)?;
        drained.javascript.read(&self.modules, &mut self.unwinding)?;
        Ok(())
    }
}
