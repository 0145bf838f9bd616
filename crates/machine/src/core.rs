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
use crate::observer::{Instruction, Observer};
use crate::plan::{Op, Plan, REGISTERS, UNITS, op};
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

/// Where the core is. A block works on a copy, which the compiler keeps in registers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
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
    /// When the last store leaves the store buffer.
    drained: u64,
    /// µops so far; the newest is at `at - 1` of the ring.
    at: usize,
    /// Stores so far.
    stores: usize,
}

#[derive(Debug)]
pub(crate) struct Core {
    pub pace: Pace,
    registers: [u64; REGISTERS],
    /// When each µop retired.
    ring: Box<[u64; RING]>,
    /// When each store left the store buffer.
    drains: Box<[u64; DRAINS]>,
    /// What was stored last: eight-byte words, and when their data is there.
    forwards: Box<[(u64, u64); FORWARDS]>,
    /// Until when each unit has work, and the most of them.
    units: [u64; UNITS],
    busy: u64,
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
#[derive(Debug, Clone, Copy)]
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
            pace: Pace { at: RING, stores: DRAINS, ..Pace::default() },
            registers: [0; REGISTERS],
            ring: Box::new([0; RING]),
            drains: Box::new([0; DRAINS]),
            forwards: Box::new([(u64::MAX, 0); FORWARDS]),
            units: [0; UNITS],
            busy: 0,
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
        self.pace.drain(counts);
    }

    /// Executes a block, whose accesses `words` begin with; how many these are. Accesses behind the last instruction's
    /// are not taken.
    #[inline(always)]
    pub fn block<O: Observer>(
        &mut self,
        (plan, ops, words): (&Plan, &[Op], &[Word]),
        memory: &mut Memory,
        counts: &mut Counts,
        observer: &mut O,
    ) -> usize {
        self.take_units(plan, counts);
        counts.retiring += self.slots(plan.slots);
        if !O::INSTRUCTIONS && self.has_room(plan) {
            self.instructions::<true, O>((plan, ops, words), memory, counts, observer)
        } else {
            self.instructions::<false, O>((plan, ops, words), memory, counts, observer)
        }
    }

    /// Whether no instruction of a block can find window or store buffer full: retirement and stores are in order, so there
    /// is room for all where there is for the last.
    #[inline(always)]
    fn has_room(&self, plan: &Plan) -> bool {
        let retired = self.ring[(self.pace.at + plan.slots as usize).wrapping_sub(1 + self.window) % RING];
        let drained =
            self.drains[(self.pace.stores + plan.stores as usize).wrapping_sub(1 + self.store_buffer) % DRAINS];
        plan.flows && retired.max(drained) <= self.pace.clock
    }

    /// The instructions of a block; `ROOM`: there is room for them all.
    #[inline(always)]
    fn instructions<const ROOM: bool, O: Observer>(
        &mut self,
        (plan, ops, words): (&Plan, &[Op], &[Word]),
        memory: &mut Memory,
        counts: &mut Counts,
        observer: &mut O,
    ) -> usize {
        let mut pace = self.pace;
        let mut rest = words;
        for (index, op) in ops.iter().enumerate() {
            let begun = pace.clock;
            self.dispatch::<ROOM>(&mut pace, op, counts);
            // Half of all instructions touch nothing but registers.
            if op.flags == 0 && !O::INSTRUCTIONS {
                let start = pace.clock;
                self.compute(&mut pace, op, start);
                continue;
            }
            let mut accessed = Accessed::at(pace.clock);
            if op.flags & (op::LOAD | op::STORE) != 0 {
                let mut known = pace.clock.max(self.registers[usize::from(op.address[0])]);
                known = known.max(self.registers[usize::from(op.address[1])]);
                while let Some((&word, others)) = rest.split_first().filter(|(word, _)| word.is_access_up_to(index)) {
                    rest = others;
                    let key = plan.ops.start.wrapping_add(index as u32);
                    self.access(&mut pace, (word.as_access(), key, known), (memory, counts), &mut accessed);
                }
            }
            let dispatched = pace.clock;
            self.execute(&mut pace, op, accessed, counts);
            if O::INSTRUCTIONS {
                observer.instruction(&Instruction {
                    index,
                    begun,
                    dispatched,
                    executed: pace.executed,
                    retired: pace.retired,
                    load: accessed.load,
                    store: accessed.store,
                    dtlb_miss: accessed.dtlb,
                    stalled: dispatched - begun > self.slots(op.slots.into()),
                });
            }
        }
        self.pace = pace;
        let taken = words.len() - rest.len();
        let more = rest.iter().take_while(|word| word.is_access_up_to(ops.len() - 1)).count();
        if more > 0 {
            self.unexpected(plan, &rest[..more], memory, counts);
        }
        taken + more
    }

    /// What instructions that are not known to access memory did, behind the last one that is.
    #[cold]
    fn unexpected(&mut self, plan: &Plan, words: &[Word], memory: &mut Memory, counts: &mut Counts) {
        let mut pace = self.pace;
        for word in words {
            let mut accessed = Accessed::at(pace.clock);
            let access = (word.as_access(), plan.ops.start, accessed.loaded);
            self.access(&mut pace, access, (memory, counts), &mut accessed);
        }
        self.pace = pace;
    }

    /// Units that are behind hold up dispatch when the scheduler is full. A block that takes each of them for no longer
    /// than its slots last leaves none behind.
    #[inline(always)]
    fn take_units(&mut self, plan: &Plan, counts: &mut Counts) {
        if plan.strains || self.busy > self.pace.clock {
            self.take_each_unit(plan, counts);
        }
    }

    #[inline(never)]
    fn take_each_unit(&mut self, plan: &Plan, counts: &mut Counts) {
        self.busy = 0;
        for (unit, &taken) in self.units.iter_mut().zip(&plan.taken) {
            *unit = (*unit).max(self.pace.clock) + u64::from(taken);
            self.busy = self.busy.max(*unit);
        }
        let limit = self.pace.clock + self.slots(plan.slots) + self.slack;
        if self.busy > limit {
            counts.backend_core += self.busy - limit;
            self.pace.clock += self.busy - limit;
        }
    }

    /// The next slot, when window and store buffer have room (`ROOM`: they have).
    #[inline(always)]
    fn dispatch<const ROOM: bool>(&mut self, pace: &mut Pace, op: &Op, counts: &mut Counts) {
        pace.clock += u64::from(op.slots) * self.slot;
        pace.at += usize::from(op.slots);
        if ROOM {
            return;
        }
        let room = self.ring[pace.at.wrapping_sub(1 + self.window) % RING];
        if room > pace.clock {
            let memory = pace.missing.min(room).saturating_sub(pace.clock);
            counts.backend_memory += memory;
            counts.backend_core += room - pace.clock - memory;
            pace.clock = room;
        }
        if op.flags & (op::STORE | op::SERIAL) != 0 {
            let room = self.drains[pace.stores.wrapping_sub(self.store_buffer) % DRAINS];
            if room > pace.clock {
                counts.backend_memory += room - pace.clock;
                pace.clock = room;
            }
            if op.flags & op::SERIAL != 0 {
                pace.drain(counts);
            }
        }
    }

    /// Executes when the operands are there, and what was loaded; retires in order. When the result is there.
    #[inline(always)]
    fn compute(&mut self, pace: &mut Pace, op: &Op, loaded: u64) -> u64 {
        let mut start = loaded;
        for source in op.sources {
            start = start.max(self.registers[usize::from(source)]);
        }
        let done = start + u64::from(op.latency);
        for target in op.targets {
            self.registers[usize::from(target)] = done;
        }
        pace.executed = done;
        pace.retired = done.max(pace.retired + u64::from(op.slots) * self.retire_slot);
        self.ring[pace.at.wrapping_sub(1) % RING] = pace.retired;
        if op.slots > 1 {
            for i in 2..=usize::from(op.slots) {
                self.ring[pace.at.wrapping_sub(i) % RING] = pace.retired;
            }
        }
        done
    }

    #[inline(always)]
    fn execute(&mut self, pace: &mut Pace, op: &Op, accessed: Accessed, counts: &mut Counts) {
        let done = self.compute(pace, op, accessed.loaded);
        if op.flags & op::STORE != 0 && accessed.word != u64::MAX {
            self.store(pace, accessed, done);
        }
        if op.flags & (op::BARRIER | op::SERIAL) != 0 {
            pace.barrier = done;
            if op.flags & op::SERIAL != 0 {
                pace.drain(counts);
            }
        }
    }

    /// A store leaves the buffer in order, when it has retired and its line is there.
    #[inline(always)]
    fn store(&mut self, pace: &mut Pace, accessed: Accessed, done: u64) {
        pace.drained = (pace.drained + self.drain_slot).max(pace.retired).max(accessed.stored);
        self.drains[pace.stores % DRAINS] = pace.drained;
        pace.stores += 1;
        self.forwards[accessed.word as usize % FORWARDS] = (accessed.word, done);
    }

    #[inline(always)]
    fn access(
        &mut self,
        pace: &mut Pace,
        (access, key, known): (Access, u32, u64),
        (memory, counts): (&mut Memory, &mut Counts),
        accessed: &mut Accessed,
    ) {
        let (address, store) = (access.address(), access.is_store());
        let Memory { hierarchy, tlbs } = memory;
        let when = When { issued: pace.clock, known: if store { known } else { known.max(pace.barrier) } };
        let translated = tlbs.data(address, when, hierarchy);
        let when = When { known: translated.ready, ..when };
        let line = address >> hierarchy.shift;
        let mut reached = hierarchy.data::<true>(line, store, when);
        let last = address.wrapping_add(access.bytes() - 1) >> hierarchy.shift;
        if last != line {
            let more = tlbs.data(last << hierarchy.shift, when, hierarchy);
            let second = hierarchy.data::<true>(last, store, When { known: more.ready, ..when });
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
            pace.missing = pace.missing.max(reached.ready);
        }
        let (word, data) = self.forwards[(address >> 3) as usize % FORWARDS];
        let forwarded = if word == address >> 3 { data + self.forward } else { 0 };
        accessed.loaded = accessed.loaded.max(reached.ready).max(forwarded);
        accessed.load = Some(reached.level);
    }

    /// Begins a repeated string instruction.
    pub fn begin_string(&mut self) {
        self.strings.lines = [u64::MAX; 2];
    }

    /// One more iteration of a repeated move or fill; how many of the words are its accesses. Hardware moves
    /// `string_bytes` a cycle and looks up each line once.
    pub fn iteration(&mut self, op: &Op, words: &[Word], memory: &mut Memory, counts: &mut Counts) -> usize {
        let mut pace = self.pace;
        let mut taken = 0;
        for word in words.iter().take_while(|word| word.is_access_up_to(0)) {
            taken += 1;
            let access = word.as_access();
            let line = access.address() >> memory.hierarchy.shift;
            if !access.is_store() || op.flags & op::LOAD == 0 {
                self.strings.bytes += access.bytes();
            }
            if self.strings.bytes >= self.string_bytes {
                self.strings.bytes -= self.string_bytes;
                self.string_step(&mut pace, op, counts);
            }
            let seen = &mut self.strings.lines[usize::from(access.is_store())];
            if std::mem::replace(seen, line) == line {
                counts.loads += u64::from(!access.is_store());
                counts.stores += u64::from(access.is_store());
                continue;
            }
            let mut accessed = Accessed::at(pace.clock);
            let key = u32::from(access.is_store());
            self.access(&mut pace, (access, key, accessed.loaded), (memory, counts), &mut accessed);
            self.execute(&mut pace, &Op { slots: 0, latency: 0, ..*op }, accessed, counts);
        }
        self.pace = pace;
        taken
    }

    /// A cycle of the core, all its slots, is used by a string instruction.
    fn string_step(&mut self, pace: &mut Pace, op: &Op, counts: &mut Counts) {
        let slots = (TICKS_PER_CYCLE / self.slot) as u8;
        counts.uops += u64::from(slots);
        counts.retiring += u64::from(slots) * self.slot;
        let step = Op { slots, latency: 0, ..*op };
        self.dispatch::<false>(pace, &step, counts);
        self.execute(pace, &step, Accessed::at(pace.clock), counts);
    }
}

impl Pace {
    /// Waits until the pipeline is empty.
    fn drain(&mut self, counts: &mut Counts) {
        let wait = self.retired.saturating_sub(self.clock);
        counts.backend_core += wait;
        self.clock += wait;
    }
}

impl Accessed {
    /// Nothing is accessed by an instruction that is dispatched at a time.
    #[inline(always)]
    fn at(clock: u64) -> Self {
        Self { loaded: clock, stored: 0, word: u64::MAX, load: None, store: None, dtlb: false }
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
