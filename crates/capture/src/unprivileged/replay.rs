//! Replays the records of a round in the order of time, and looks at threads whose records do not say what they wait in.

use std::cell::RefCell;

use bytemuck::{Zeroable, bytes_of};
use dwell_model::SyscallClass;
use dwell_store::raw::wire::{RecordHeader, RegistersRecord, SampleRecord, kind, object_kind};

use super::objects::DescriptorUser;
use super::proc_syscall;
use super::record::{self, Call, RecordKind, Sample, SampledEvent, Stamp};
use super::recording::Unprivileged;
use super::stacks::FoundStack;
use super::threads::{EnteredCall, class};
use crate::drain::drained::{EventSink, take_record};
use crate::drain::follow::follow;
use crate::error::Result;
use crate::kernel::perf::Mapping;
use crate::programs::keeper::FileKeeper;
use crate::stacks::unwinding::UnwindTables;

/// Threads whose calls are looked at in /proc in a round.
const MOST_LOOKS: usize = 256;

/// What a record is replayed into.
struct ReplayContext<'w> {
    drained: &'w mut EventSink,
    unwinding: &'w mut UnwindTables,
    keeper: &'w mut FileKeeper,
}

impl ReplayContext<'_> {
    /// Follows what happened to processes so far, so that their code is known.
    fn catch_up(&mut self, now_ns: u64) -> Result<()> {
        if !self.drained.process_events.is_empty() {
            follow(self.drained, self.unwinding, self.keeper, now_ns)?;
        }
        while self.unwinding.is_behind() {
            self.unwinding.catch_up()?;
        }
        Ok(())
    }
}

impl Unprivileged {
    fn turn(&mut self, time_ns: u64) {
        while let Some(&(at_ns, paused)) = self.turns.first().filter(|(at_ns, _)| *at_ns <= time_ns) {
            self.turns.remove(0);
            if self.threads.is_paused && !paused {
                self.with_drained(|source, drained| {
                    source.threads.seed(at_ns, &mut |bytes| take_record(drained, bytes));
                });
            }
            self.threads.is_paused = paused;
        }
    }

    /// Replays what was read until `line_ns`.
    pub(super) fn replay(&mut self, unwinding: &mut UnwindTables, keeper: &mut FileKeeper, line_ns: u64) -> Result<()> {
        let Some(drained) = self.drained.clone() else { return Ok(()) };
        let rings = std::mem::take(&mut self.events.rings);
        let entries = std::mem::take(&mut self.entries);
        let mut scratch = Vec::new();
        let mut failed = Ok(());
        for entry in &entries.all {
            self.turn(entry.time_ns);
            let Some(ring) = rings.get(usize::from(entry.ring)) else { continue };
            let Some((stamp, what)) = ring
                .record(entry.at, &mut scratch)
                .and_then(|bytes| record::parse(bytes, |event| self.events.has_chain(event)))
            else {
                continue;
            };
            let mut drained = drained.borrow_mut();
            let mut world = ReplayContext { drained: &mut drained, unwinding, keeper };
            failed = failed.and(self.take(stamp, what, &mut world));
        }
        self.events.rings = rings;
        self.entries = entries;
        self.turn(line_ns);
        failed
    }

    fn take(&mut self, stamp: Stamp, what: RecordKind<'_>, world: &mut ReplayContext<'_>) -> Result<()> {
        let about = if let RecordKind::Fork { tid, .. } = what { tid } else { stamp.tid };
        if self.threads.all.get(&about).is_some_and(|thread| stamp.time_ns < thread.since_ns) {
            return Ok(());
        }
        match what {
            RecordKind::In => self.threads.comes(stamp, &mut |bytes| take_record(world.drained, bytes)),
            RecordKind::Out { runnable: true } => {
                self.threads.preempted(stamp, &mut |bytes| take_record(world.drained, bytes));
            }
            RecordKind::Out { runnable: false } => self.blocks(stamp, world),
            RecordKind::Sample(identifier, sample) => return self.sample(stamp, identifier, &sample, world),
            RecordKind::Lost(count) => self.lost += count,
            RecordKind::Map(mapping) => self.map(stamp, mapping, world),
            what => {
                if matches!(what, RecordKind::Fork { .. }) {
                    self.births.count(&mut self.events, stamp.time_ns, &mut self.notices);
                }
                self.processes.take(stamp, &what, &mut self.threads, &mut |bytes| take_record(world.drained, bytes));
            }
        }
        Ok(())
    }

    fn map(&mut self, stamp: Stamp, mapping: Mapping, world: &mut ReplayContext<'_>) {
        if !self.processes.is_recorded(stamp.tgid) {
            return;
        }
        self.processes.mapped(stamp, &mapping.path, &mut |bytes| take_record(world.drained, bytes));
        self.stacks.mapped(stamp.tgid);
        world.drained.mapped(vec![mapping], stamp.time_ns);
    }

    fn sample(
        &mut self,
        stamp: Stamp,
        identifier: u64,
        sample: &Sample<'_>,
        world: &mut ReplayContext<'_>,
    ) -> Result<()> {
        if !self.threads.all.contains_key(&stamp.tid) {
            return Ok(());
        }
        let Some(sort) = self.events.sort(identifier) else { return Ok(()) };
        match sort {
            SampledEvent::Fault => self.threads.runs(stamp.tid, true),
            SampledEvent::Leave => {
                let key = self.kernel_stack(stamp, sample, world);
                self.threads.leaves(stamp.tid, key);
            }
            SampledEvent::Clock => {
                if !sample.in_kernel {
                    self.threads.runs(stamp.tid, false);
                }
                let (found, _) = self.stack(stamp, sample, sort, world)?;
                let kernel_stack = self.kernel_stack(stamp, sample, world);
                if !self.threads.is_paused {
                    let in_kernel = u16::from(sample.in_kernel);
                    let record = SampleRecord { in_kernel, kernel_stack, ..self.clock_record(stamp, found.key) };
                    take_record(world.drained, bytes_of(&record));
                }
            }
            SampledEvent::Enter => {
                let Some(call) = sample.call(self.events.layout) else { return Ok(()) };
                let (found, cut) = self.stack(stamp, sample, sort, world)?;
                self.threads.enter(stamp, call, found.key, cut);
                self.processes.enter(stamp.tgid, &call);
                self.writes(stamp, &call, found.key, world);
            }
        }
        Ok(())
    }

    fn clock_record(&self, stamp: Stamp, user_stack: u64) -> SampleRecord {
        let size = size_of::<SampleRecord>() as u16;
        SampleRecord {
            h: RecordHeader { kind: kind::SAMPLE, size, tid: stamp.tid, time_ns: stamp.time_ns },
            cpu: stamp.cpu,
            period_ns: u32::try_from(self.sampling_interval_ns).unwrap_or(u32::MAX),
            user_stack,
            ..SampleRecord::zeroed()
        }
    }

    /// The stack in a sample, walked by the tables of what is mapped by then.
    fn stack(
        &mut self,
        stamp: Stamp,
        sample: &Sample<'_>,
        sort: SampledEvent,
        world: &mut ReplayContext<'_>,
    ) -> Result<(FoundStack, Option<Box<RegistersRecord>>)> {
        world.catch_up(stamp.time_ns)?;
        let Some(piece) = sample.piece(sort) else { return Ok((FoundStack::default(), None)) };
        let header = RecordHeader { kind: kind::STACK, size: 0, tid: stamp.tid, time_ns: stamp.time_ns };
        let found = self.stacks.find((header, stamp.tgid), &piece, world.unwinding, world.drained.recorder.meta());
        self.stacks.tell_methods(&mut world.drained.java_code);
        let cut = (found.is_cut && sort == SampledEvent::Enter).then(|| Box::new(piece.registers));
        Ok((found, cut))
    }

    fn kernel_stack(&mut self, stamp: Stamp, sample: &Sample<'_>, world: &mut ReplayContext<'_>) -> u64 {
        let header = RecordHeader { kind: kind::STACK, size: 0, tid: stamp.tid, time_ns: stamp.time_ns };
        self.stacks.write_kernel(header, &sample.kernel_frames(), world.drained.recorder.meta())
    }

    fn blocks(&mut self, stamp: Stamp, world: &mut ReplayContext<'_>) {
        let Self { threads, objects, .. } = self;
        let drained = RefCell::new(&mut *world.drained);
        let mut target = |tgid: u32, entered: &EnteredCall| {
            let user = DescriptorUser { tgid, tid: stamp.tid, time_ns: stamp.time_ns };
            proc_syscall::target(objects, user, &entered.call, &mut |bytes| {
                take_record(&mut drained.borrow_mut(), bytes);
            })
        };
        threads.blocks(stamp, &mut target, &mut |bytes| take_record(&mut drained.borrow_mut(), bytes));
    }

    /// A call that changes what is in a pipe or socket wakes who waits for that.
    fn writes(&mut self, stamp: Stamp, call: &Call, stack: u64, world: &mut ReplayContext<'_>) {
        if class(call.number) != SyscallClass::Fd || self.threads.wakers.nobody_waits_for_objects() {
            return;
        }
        let user = DescriptorUser { tgid: stamp.tgid, tid: stamp.tid, time_ns: stamp.time_ns };
        let fd = call.arguments[0] as i32;
        let object = self.objects.of(user, fd, &mut |bytes| take_record(world.drained, bytes));
        let key = if object.kind == object_kind::SOCKET { object.peer } else { object.key };
        if key != 0 && object.can_wake() {
            self.threads.wakers.object_changes(stamp, call.number, key, stack);
        }
    }

    /// Looks at threads that wait, where their records do not say for sure in what; writes what is known by now.
    pub(super) fn look_at_waiting(&mut self, unwinding: &mut UnwindTables, line_ns: u64) {
        let untold = self.threads.all.iter().filter(|(_, thread)| thread.has_untold());
        let untold: Vec<u32> = untold.map(|(&tid, _)| tid).take(MOST_LOOKS).collect();
        for tid in untold {
            self.with_drained(|source, drained| {
                let Self { threads, objects, stacks, .. } = source;
                let Some(thread) = threads.all.get_mut(&tid) else { return };
                let seen_ns = thread.wait.as_ref().and_then(|wait| wait.seen.as_ref()).map(|(time_ns, _)| *time_ns);
                if seen_ns.is_some_and(|seen_ns| seen_ns <= line_ns) {
                    // It has not moved since: what was seen is where it is.
                    return threads.emit(tid, u64::MAX, &mut |bytes| take_record(drained, bytes));
                }
                if seen_ns.is_none() && !proc_syscall::at(tid, thread, (objects, stacks), unwinding, drained) {
                    threads.emit(tid, 0, &mut |bytes| take_record(drained, bytes));
                }
            });
        }
    }

    /// Up to when all is told: not beyond the first wait that is still to be.
    pub(super) fn told_ns(&self, line_ns: u64) -> u64 {
        let untold = self.threads.all.values().filter(|thread| thread.has_untold());
        untold.map(|thread| thread.off_ns.saturating_sub(1)).min().unwrap_or(u64::MAX).min(line_ns)
    }
}
