//! A recording by perf events as a source of records.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use dwell_model::{Notice, losses};

use super::recording::Unprivileged;
use crate::clock::monotonic_ns;
use crate::drain::drained::EventSink;
use crate::drain::source::Source;
use crate::error::Result;
use crate::kernel::perf::Mapping;
use crate::programs::keeper::FileKeeper;
use crate::stacks::unwinding::UnwindTables;

/// Records of the last moment may still be written by other CPUs: they wait for the next round.
const HELD_NS: u64 = 1_000_000;

impl Source for Unprivileged {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn unwinding(&mut self) -> Result<UnwindTables> {
        let mut unwinding = UnwindTables::in_user_space();
        if let Some(program) = &self.program {
            unwinding.prepare(program)?;
        }
        Ok(unwinding)
    }

    fn connect(&mut self, drained: &Rc<RefCell<EventSink>>) -> Result<()> {
        self.drained = Some(Rc::clone(drained));
        Ok(())
    }

    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.events.fds()
    }

    fn drain(&mut self, _: &mut Vec<Mapping>, now_ns: u64, at_end: bool) -> Result<u64> {
        let line_ns = if at_end { now_ns } else { now_ns.saturating_sub(HELD_NS) };
        self.entries.collect(&mut self.events.rings, if at_end { u64::MAX } else { line_ns });
        if at_end {
            self.lost_by_events = self.events.lost();
        }
        Ok(line_ns)
    }

    fn settle(&mut self, unwinding: &mut UnwindTables, keeper: &mut FileKeeper, drained_ns: u64) -> Result<u64> {
        self.objects.begin_round();
        self.replay(unwinding, keeper, drained_ns)?;
        self.entries.release(&mut self.events.rings);
        self.look_at_waiting(unwinding, drained_ns);
        Ok(self.told_ns(drained_ns))
    }

    fn seed(&mut self) -> Result<()> {
        std::mem::take(&mut self.attached).into_iter().try_for_each(|pid| self.attach(pid))
    }

    fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.turns.push((monotonic_ns(), paused));
        Ok(())
    }

    fn losses(&self) -> Vec<(String, u64)> {
        let all = [
            (losses::PERF_RECORDS_LOST, self.lost.max(self.lost_by_events)),
            (losses::CALLS_UNSEEN, self.threads.unseen_calls),
            (losses::THREADS_WITHOUT_EVENTS, self.events.failed),
            (losses::STATES_HIDDEN, self.states_hidden),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    fn log(&self) -> &str {
        &self.log
    }
}
