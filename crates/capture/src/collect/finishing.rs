//! The end of a collection: the last rounds, and what the manifest says of all.

use std::rc::Rc;

use dwell_model::{Notice, losses, notice};
use dwell_store::{CpuTaken, Manifest, ResultFolder, State};

use super::collection::Collection;
use super::manifest::{note_losses, note_rejections};
use crate::clock::{monotonic_ns, own_cpu_ns};
use crate::drain::copies::walk_copies;
use crate::drain::drained::EventSink;
use crate::error::Result;
use crate::priority::restore_scheduling;
use crate::programs::launch::Child;
use crate::programs::proc;
use crate::programs::process_lifetimes::ProcessLifetimes;
use crate::topics::system::System;

/// Rounds, of 64 MiB of each file at most, in which what is left of ITT is drained when the collection is over.
const MOST_LAST_ROUNDS: usize = 10;

impl Collection<'_> {
    /// Ends the collection. Returns the manifest, which is also written.
    pub(super) fn finish(&mut self, folder: &ResultFolder) -> Result<Manifest> {
        let now = monotonic_ns();
        let machine = self.cpu_use.finish();
        self.read_beside(true);
        self.source.read_sockets(self.drained.borrow_mut().recorder.meta(), now, true);
        self.source.read_connects(self.drained.borrow_mut().recorder.meta(), now, true);
        self.itt.stop();
        self.source.write_event_counts(self.drained.borrow_mut().recorder.meta(), now);
        self.source.read_accounts();
        self.round(true)?;
        for _ in 0..MOST_LAST_ROUNDS {
            if self.itt_left {
                self.drain_itt()?;
            }
        }
        restore_scheduling(&self.scheduled);
        let drained = Rc::clone(&self.drained);
        let mut drained = drained.borrow_mut();
        let all_gone = drained.threads > 0 && drained.exits == drained.threads;
        let end_ns = if all_gone { drained.last_exit_ns } else { now };
        walk_copies(&mut drained, &mut self.unwinding, None);
        if let Some(outliers) = &mut self.outliers {
            note_losses(&*self.source, &mut self.losing, &mut self.manifest);
            outliers.keep(&mut drained.recorder, &self.manifest, &self.modules, now)?;
        }
        drained.recorder.flush(monotonic_ns())?;
        note_losses(&*self.source, &mut self.losing, &mut self.manifest);
        note_rejections(&*self.source, &mut self.manifest);
        let manifest = &mut self.manifest;
        manifest.taken = CpuTaken { rivals: self.source.rivals(), quotas: self.quotas.finish(), machine };
        manifest.state = State::Collected;
        manifest.start_ns = manifest.start_ns.max(drained.recorder.kept_since_ns);
        manifest.end_ns = end_ns;
        manifest.exit_status = self.child.as_mut().and_then(Child::exit_status);
        (manifest.collector_cpu_ns, manifest.collector_peak_bytes) = (own_cpu_ns(), dwell_store::peak_bytes());
        manifest.events = drained.recorder.event_count;
        self.add_losses(&drained);
        let manifest = &mut self.manifest;
        manifest.notices.extend(self.scheduling_delay.notices());
        manifest.notices.extend(self.child.as_ref().and_then(Child::notice));
        manifest.notices.append(&mut self.source.take_notices());
        manifest.notices.append(&mut self.unwinding.take_notices());
        manifest.notices.append(&mut drained.java_code.take_notices());
        if self.child.is_some() {
            manifest.notices.extend(running_on(&drained.lifetimes, manifest.exit_status.is_some()));
        }
        folder.write_manifest(manifest)?;
        Ok(manifest.clone())
    }

    /// Puts into the manifest what each part of the collection lost beside the source of records.
    fn add_losses(&mut self, drained: &EventSink) {
        let manifest = &mut self.manifest;
        let lost = [
            (losses::STACK_COPIES_LOST, drained.copies_lost),
            (losses::SEEDED_STACKS_LOST, drained.seeded_stacks_lost),
            (losses::SCRIPT_FRAMES_UNREADABLE, drained.script_frames_unreadable),
            (losses::MAPPINGS_OUT_OF_SCOPE, drained.mappings_out_of_scope()),
        ];
        for (name, count) in lost.into_iter().filter(|(_, count)| *count > 0) {
            // The hooks may have counted the same.
            match manifest.losses.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => manifest.losses.push((name.to_owned(), count)),
            }
        }
        manifest.losses.extend(self.unwinding.losses());
        manifest.losses.extend(self.system.iter().flat_map(System::losses));
        if let Some(goroutines) = &mut self.goroutines {
            manifest.losses.extend(goroutines.losses());
            manifest.notices.append(&mut goroutines.take_notices());
            manifest.fiber_interval_ns = goroutines.interval_ns().unwrap_or(0);
        }
        manifest.losses.extend(self.keeper.finish(monotonic_ns()));
        manifest.losses.extend(self.itt.finish());
        manifest.losses.extend(drained.java_code.losses());
        manifest.losses.extend(drained.javascript.losses());
        if let Some(outliers) = &mut self.outliers {
            let (mut notices, losses) = outliers.finish(&self.modules, drained.recorder.watch.as_ref());
            manifest.notices.append(&mut notices);
            manifest.losses.extend(losses);
        }
    }
}

/// Processes that are named, at most.
const NAMED: usize = 3;

/// Says which processes of the launched program are still there: what is left of one that ended, such as a daemon; or all of them, where the
/// recording was stopped before.
fn running_on(lifetimes: &ProcessLifetimes, has_ended: bool) -> Option<Notice> {
    let mut there: Vec<u32> = lifetimes.living().collect();
    there.sort_unstable();
    let name = |pid: &u32| format!("{} ({pid})", proc::name(*pid).unwrap_or_default());
    let named: Vec<String> = there.iter().take(NAMED).map(name).collect();
    let more = if there.len() > NAMED { ", …" } else { "" };
    let names = format!("{}{more}", named.join(", "));
    match there.len() {
        0 => None,
        processes if has_ended => Some(notice!(RUNS_ON, processes = processes, names = names)),
        _ => Some(notice!(PROGRAM_RUNS_ON, names = names)),
    }
}
