//! Takes processes that run already in: makes them targets, and has the kernel side describe how their threads stand.

use dwell_model::notice;
use dwell_wire::thread_mode;
use libbpf_rs::MapCore;

use super::families::LoadedHooks;
use crate::error::{Error, Result};
use crate::hooks::sampling::Sampling;
use crate::kernel::walk::walk;
use crate::topics::event_counts::EventCounts;

impl LoadedHooks {
    /// Makes process `pid` a target: recorded from its next exec when `launching`, from the next seeding otherwise.
    pub fn add_target(&self, pid: u32, launching: bool) -> Result<()> {
        let follow = if self.control.follow_children != 0 { thread_mode::FOLLOW } else { 0 };
        let mode = if launching { thread_mode::LAUNCHING } else { thread_mode::RECORD | follow };
        self.update("targets", &pid.to_ne_bytes(), &[mode])
    }

    /// Takes the threads of all targets in and records the state of every thread.
    pub fn seed(&mut self) -> Result<()> {
        walk(&self.threads, "seed")?;
        self.event_counts.iter_mut().for_each(EventCounts::cut_slices);
        self.forget_targets()?;
        let seeded = self.sockets.as_ref().map(|(object, _)| walk(object, "seed_sockets"));
        if let Some(Err(error)) = seeded {
            self.notices.push(notice!(SOCKETS_BEFORE, error = error));
        }
        Ok(())
    }

    /// Records what the threads that still live have read and written so far.
    pub fn read_accounts(&mut self) {
        if let Err(error) = walk(&self.threads, "read_accounts") {
            self.notices.push(notice!(CALLS_NOT_COUNTED, error = error));
        }
    }

    /// Takes the threads of `pids` in, which run already, beside those that are recorded.
    pub fn take_in(&mut self, pids: &[u32]) -> Result<()> {
        pids.iter().try_for_each(|&pid| self.add_target(pid, false))?;
        self.sampling.iter_mut().for_each(Sampling::attend_all);
        walk(&self.threads, "seed_joined")?;
        self.event_counts.iter_mut().for_each(EventCounts::cut_slices);
        self.forget_targets()
    }

    /// The targets are taken in, and with them what they create: whoever has the id of one later is a stranger.
    fn forget_targets(&self) -> Result<()> {
        let Some(targets) = self.shared.get("targets") else { return Ok(()) };
        let pids: Vec<Vec<u8>> = targets.keys().collect();
        let deleted = pids.iter().try_for_each(|pid| targets.delete(pid));
        deleted.map_err(|source| Error::Bpf { what: "seeding".into(), source })
    }
}
