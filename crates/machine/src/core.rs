//! The out-of-order core: each instruction's dispatch, execution and retirement, in one pass.
//!
//! A window model: µops are dispatched in order, `width` a cycle, as long as the window and the store buffer have room; each
//! executes when its operands are there, and they retire in order. So independent misses overlap as far as the window
//! reaches, dependent ones add up. Units limit throughput, not the single instruction. The time between two dispatches is
//! split as top-down analysis does it: what used its slot, and who is to blame for those that went by empty.

use dwell_itrace::{Access, Word};

use crate::check::{MAX_STORE_BUFFER, MAX_WINDOW};
use crate::counts::{Counts, Level, TICKS_PER_CYCLE};
use crate::description::Machine;
use crate::hierarchy::{Hierarchy, When};
use crate::plan::{Op, Plan, REGISTERS, UNITS, op};
use crate::replay::{Instruction, Observer};
use crate::translation::Tlbs;

const RING: usize = MAX_WINDOW.next_power_of_two();
const DRAINS: usize = MAX_STORE_BUFFER.next_power_of_two();
const FORWARDS: usize = 1024;

/// Where data comes from.
#[derive(Debug)]
pub(crate) struct Memory {
    pub hierarchy: Hierarchy,
    pub tlbs: Tlbs,
}

#[derive(Debug)]
pub(crate) struct Core {
    /// When the last µop was dispatched: the clock.
    pub clock: u64,
    /// When the last instruction's result is there.
    pub executed: u64,
    /// When it retires.
    pub retired: u64,
    /// Until when loads that missed L1D are under way.
    missing: u64,
    /// Until when later loads wait.
    barrier: u64,
    registers: [u64; REGISTERS],
    /// When each µop retired, the newest at `at - 1`.
    ring: Box<[u64; RING]>,
    at: usize,
    /// When each store left the store buffer.
    drains: Box<[u64; DRAINS]>,
    stores: usize,
    drained: u64,
    /// What was stored last: eight-byte words, and when their data is there.
    forwards: Box<[(u64, u64); FORWARDS]>,
    units: [u64; UNITS],
    slot: u64,
    retire_slot: u64,
    drain_slot: u64,
    window: usize,
    store_buffer: usize,
    slack: u64,
    forward: u64,
    string_bytes: u64,
    strings: Strings,
}

/// A repeated string instruction that is under way.
#[derive(Debug, Default)]
struct Strings {
    /// The lines that it read and wrote last.
    lines: [u64; 2],
    /// Bytes that have not filled a slot yet.
    bytes: u64,
}

/// What the accesses of an instruction came to.
#[derive(Debug, Clone, Copy, Default)]
struct Accessed {
    /// When what was loaded is there.
    loaded: u64,
    /// When the line that is stored to is there.
    stored: u64,
    /// The word that is stored to.
    word: u64,
    load: Option<Level>,
    store: Option<Level>,
    dtlb: bool,
}

impl Core {
    pub fn new(machine: &Machine) -> Self {
        let core = &machine.core;
        Self {
            clock: 0,
            executed: 0,
            retired: 0,
            missing: 0,
            barrier: 0,
            registers: [0; REGISTERS],
            ring: Box::new([0; RING]),
            at: RING,
            drains: Box::new([0; DRAINS]),
            stores: DRAINS,
            drained: 0,
            forwards: Box::new([(u64::MAX, 0); FORWARDS]),
            units: [0; UNITS],
            slot: TICKS_PER_CYCLE / core.width,
            retire_slot: TICKS_PER_CYCLE / core.retire_width,
            drain_slot: TICKS_PER_CYCLE / core.ports.store,
            window: core.window,
            store_buffer: core.store_buffer,
            slack: core.scheduler * TICKS_PER_CYCLE / core.width,
            forward: core.forward_latency * TICKS_PER_CYCLE,
            string_bytes: core.string_bytes,
            strings: Strings::default(),
        }
    }

    /// Ticks of a number of slots.
    pub fn slots(&self, slots: u32) -> u64 {
        u64::from(slots) * self.slot
    }

    /// Waits until the pipeline is empty.
    pub fn drain(&mut self, counts: &mut Counts) {
        let wait = self.retired.saturating_sub(self.clock);
        counts.backend_core += wait;
        self.clock += wait;
    }

    /// Executes a block. Accesses that belong to no instruction of it are left out: how many there were.
    #[inline]
    pub fn block<O: Observer>(
        &mut self,
        (plan, ops, accesses): (&Plan, &[Op], &[Word]),
        memory: &mut Memory,
        counts: &mut Counts,
        observer: &mut O,
    ) -> usize {
        self.take_units(plan, counts);
        counts.retiring += self.slots(plan.slots);
        let mut rest = accesses;
        for (index, op) in ops.iter().enumerate() {
            let begun = self.clock;
            self.dispatch(op, counts);
            let dispatched = self.clock;
            let mut known = dispatched.max(self.registers[usize::from(op.address[0])]);
            known = known.max(self.registers[usize::from(op.address[1])]);
            let mut accessed = Accessed { loaded: dispatched, word: u64::MAX, ..Accessed::default() };
            while let Some((word, others)) = rest.split_first() {
                let access = word.as_access();
                if access.instruction() > index {
                    break;
                }
                rest = others;
                let key = plan.ops.start.wrapping_add(index as u32);
                self.access(access, (key, known), (memory, counts), &mut accessed);
            }
            self.execute(op, accessed, counts);
            if O::INSTRUCTIONS {
                observer.instruction(&Instruction {
                    index,
                    begun,
                    dispatched,
                    executed: self.executed,
                    retired: self.retired,
                    load: accessed.load,
                    store: accessed.store,
                    dtlb_miss: accessed.dtlb,
                    stalled: dispatched - begun > self.slots(op.slots.into()),
                });
            }
        }
        self.strings.lines = [u64::MAX; 2];
        rest.len()
    }

    /// Units that are behind hold up dispatch when the scheduler is full.
    #[inline]
    fn take_units(&mut self, plan: &Plan, counts: &mut Counts) {
        let mut most = 0;
        for (unit, &taken) in self.units.iter_mut().zip(&plan.taken) {
            *unit = (*unit).max(self.clock) + u64::from(taken);
            most = most.max(*unit);
        }
        let limit = self.clock + self.slots(plan.slots) + self.slack;
        if most > limit {
            counts.backend_core += most - limit;
            self.clock += most - limit;
        }
    }

    /// The next slot, when window and store buffer have room.
    #[inline(always)]
    fn dispatch(&mut self, op: &Op, counts: &mut Counts) {
        self.clock += u64::from(op.slots) * self.slot;
        self.at += usize::from(op.slots);
        let room = self.ring[(self.at - 1 - self.window) % RING];
        if room > self.clock {
            let memory = self.missing.min(room).saturating_sub(self.clock);
            counts.backend_memory += memory;
            counts.backend_core += room - self.clock - memory;
            self.clock = room;
        }
        if op.flags & op::STORE != 0 {
            let room = self.drains[(self.stores - self.store_buffer) % DRAINS];
            if room > self.clock {
                counts.backend_memory += room - self.clock;
                self.clock = room;
            }
        }
        if op.flags & op::SERIAL != 0 {
            self.drain(counts);
        }
    }

    #[inline(always)]
    fn execute(&mut self, op: &Op, accessed: Accessed, counts: &mut Counts) {
        let mut start = accessed.loaded;
        for source in op.sources {
            start = start.max(self.registers[usize::from(source) % REGISTERS]);
        }
        let done = start + u64::from(op.latency);
        for target in op.targets {
            self.registers[usize::from(target) % REGISTERS] = done;
        }
        self.executed = done;
        self.retired = done.max(self.retired + u64::from(op.slots) * self.retire_slot);
        if op.slots == 1 {
            self.ring[(self.at - 1) % RING] = self.retired;
        } else {
            for i in 1..=usize::from(op.slots) {
                self.ring[(self.at - i) % RING] = self.retired;
            }
        }
        if accessed.word != u64::MAX {
            self.store(accessed, done);
        }
        if op.flags & (op::BARRIER | op::SERIAL) != 0 {
            self.barrier = done;
            if op.flags & op::SERIAL != 0 {
                self.drain(counts);
            }
        }
    }

    /// A store leaves the buffer in order, when it has retired and its line is there.
    #[inline(always)]
    fn store(&mut self, accessed: Accessed, done: u64) {
        self.drained = (self.drained + self.drain_slot).max(self.retired).max(accessed.stored);
        self.drains[self.stores % DRAINS] = self.drained;
        self.stores += 1;
        self.forwards[accessed.word as usize % FORWARDS] = (accessed.word, done);
    }

    #[inline(always)]
    fn access(
        &mut self,
        access: Access,
        (key, known): (u32, u64),
        (memory, counts): (&mut Memory, &mut Counts),
        accessed: &mut Accessed,
    ) {
        let (address, store) = (access.address(), access.is_store());
        let known = if store { known } else { known.max(self.barrier) };
        let when = When { issued: self.clock, known };
        let Memory { hierarchy, tlbs } = memory;
        let translated = tlbs.data(address, when, hierarchy);
        let when = When { known: translated.ready, ..when };
        let mut reached = hierarchy.data::<true>(address >> hierarchy.shift, store, when);
        let last = address.wrapping_add(access.bytes() - 1);
        if last >> hierarchy.shift != address >> hierarchy.shift {
            let more = tlbs.data(last, when, hierarchy);
            let second = hierarchy.data::<true>(last >> hierarchy.shift, store, When { known: more.ready, ..when });
            reached.level = reached.level.max(second.level);
            reached.ready = reached.ready.max(second.ready);
        }
        if translated.missed {
            counts.dtlb_misses += 1;
            counts.walks += u64::from(translated.walked);
            accessed.dtlb = true;
        }
        if store {
            counts.store(reached.level);
            accessed.stored = accessed.stored.max(reached.ready);
            accessed.word = address >> 3;
            accessed.store = Some(reached.level);
            return;
        }
        counts.load(reached.level);
        hierarchy.observe::<true>(key, address, when);
        if reached.level > Level::L1 || translated.missed {
            self.missing = self.missing.max(reached.ready);
        }
        let (word, data) = self.forwards[(address >> 3) as usize % FORWARDS];
        let forwarded = if word == address >> 3 { data + self.forward } else { 0 };
        accessed.loaded = accessed.loaded.max(reached.ready).max(forwarded);
        accessed.load = Some(reached.level);
    }

    /// One more iteration of a repeated move or fill. Hardware moves `string_bytes` a cycle and looks up each line once.
    pub fn iteration(&mut self, op: &Op, accesses: &[Word], memory: &mut Memory, counts: &mut Counts) {
        for word in accesses {
            let access = word.as_access();
            let line = access.address() >> memory.hierarchy.shift;
            if !access.is_store() || op.flags & op::LOAD == 0 {
                self.strings.bytes += access.bytes();
            }
            if self.strings.bytes >= self.string_bytes {
                self.strings.bytes -= self.string_bytes;
                // A cycle of the core: all its slots.
                let slots = (TICKS_PER_CYCLE / self.slot) as u8;
                counts.uops += u64::from(slots);
                counts.retiring += u64::from(slots) * self.slot;
                let step = Op { slots, latency: 0, ..*op };
                self.dispatch(&step, counts);
                self.execute(&step, Accessed { loaded: self.clock, word: u64::MAX, ..Accessed::default() }, counts);
            }
            let seen = &mut self.strings.lines[usize::from(access.is_store())];
            if std::mem::replace(seen, line) == line {
                counts.loads += u64::from(!access.is_store());
                counts.stores += u64::from(access.is_store());
                continue;
            }
            let mut accessed = Accessed { loaded: self.clock, word: u64::MAX, ..Accessed::default() };
            self.access(access, (u32::from(access.is_store()), self.clock), (memory, counts), &mut accessed);
            let step = Op { slots: 0, latency: 0, ..*op };
            self.execute(&step, accessed, counts);
        }
    }
}

impl Counts {
    #[inline(always)]
    pub(crate) fn load(&mut self, level: Level) {
        self.loads += 1;
        if level > Level::L1 {
            self.l1d_load_misses += 1;
            self.l2_load_misses += u64::from(level > Level::L2);
            self.llc_load_misses += u64::from(level > Level::Llc);
        }
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, level: Level) {
        self.stores += 1;
        if level > Level::L1 {
            self.l1d_store_misses += 1;
            self.l2_store_misses += u64::from(level > Level::L2);
            self.llc_store_misses += u64::from(level > Level::Llc);
        }
    }
}
