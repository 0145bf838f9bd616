//! When a collection records: paused and resumed by its options, by the data limit, and by the program itself.

use dwell_model::{Notice, notice};
use dwell_store::raw::wire::kind;

use super::collection::Collection;
use crate::error::Result;
use crate::topics::goroutines::Goroutines;
use crate::topics::itt::ProgramRequest;

impl Collection<'_> {
    /// Does what the last program wished since the last round. A pause that was over before this round is skipped.
    pub(super) fn apply_control(&mut self, wishes: &[(u64, ProgramRequest)]) -> Result<()> {
        if self.pause.is_final {
            return Ok(());
        }
        let of = |wanted: ProgramRequest| wishes.iter().rev().find(|(_, wish)| *wish == wanted);
        if let Some((time_ns, _)) = of(ProgramRequest::Detach) {
            return self.record_no_more(*time_ns, notice!(RECORDING_ENDED));
        }
        match wishes.last() {
            Some((time_ns, ProgramRequest::Pause)) if !self.pause.is_on => self.pause(*time_ns),
            Some((time_ns, ProgramRequest::Resume)) if self.pause.is_on => self.resume(*time_ns),
            _ => Ok(()),
        }
    }

    /// Records no more from now on; the program runs on.
    pub(super) fn pause(&mut self, time_ns: u64) -> Result<()> {
        self.source.set_paused(true)?;
        self.drained.borrow_mut().recorder.mark(kind::PAUSE, time_ns);
        self.pause.is_on = true;
        self.pause.since_ns = time_ns;
        Ok(())
    }

    /// Records again; what happened since `time_ns` is found out from how things stand now.
    pub(super) fn resume(&mut self, time_ns: u64) -> Result<()> {
        self.pause.is_on = false;
        self.pause.resume_at_ns = None;
        self.drained.borrow_mut().recorder.mark(kind::RESUME, time_ns.max(self.pause.since_ns));
        self.source.set_paused(false)?;
        self.source.seed()?;
        self.goroutines.iter_mut().for_each(Goroutines::begin_anew);
        self.soon = true; // while the threads that wait still stand where the seeding found them
        Ok(())
    }

    /// Stops recording for good, although the program runs on; `why` is for the reader of the result.
    pub(super) fn record_no_more(&mut self, time_ns: u64, why: Notice) -> Result<()> {
        if !self.pause.is_on {
            self.pause(time_ns)?;
        }
        self.itt.stop();
        self.pause.is_final = true;
        self.manifest.notices.push(why);
        Ok(())
    }
}
