//! The replay: executions, one after the other, through front end, core and caches.

use std::collections::HashMap;

use dwell_itrace::{Block, Event, Mark, Word};

use crate::branches::{Executed, Outcome};
use crate::core::{Core, Memory};
use crate::counts::{Counts, TICKS_PER_CYCLE};
use crate::description::Machine;
use crate::error::MachineError;
use crate::frontend::Frontend;
use crate::hierarchy::{Hierarchy, Running, Traffic, When};
use crate::observer::Observer;
use crate::plan::{Flow, Plan, Plans};
use crate::translation::Tlbs;

/// How much of the machine is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The content of the caches: no TLBs, no branches, no cycles.
    Caches,
    /// Everything.
    Full,
}

/// What a trace had that could not be replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Executions of blocks that were never described.
    pub blocks: u64,
    /// Accesses without a block, or of an instruction that the block has not.
    pub accesses: u64,
    /// Words that are none.
    pub words: u64,
    /// What the recorder said it lost ([`Mark::Lost`]).
    pub recorded: u64,
}

/// Blocks were not described in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the trace describes block {id} where block {expected} should follow")]
pub struct UnknownBlock {
    /// The id that came.
    pub id: u32,
    /// The one that is next.
    pub expected: u32,
}

/// What the execution before left open: where its last instruction leads.
#[derive(Debug, Clone, Copy)]
struct Previous {
    last: u64,
    end: u64,
    target: u64,
    flow: Flow,
    row: u32,
}

/// A trace on its way through a machine. The same words give the same counts.
#[derive(Debug)]
pub struct Replay {
    plans: Plans,
    rows: Vec<Counts>,
    frontend: Frontend,
    core: Core,
    memory: Memory,
    depth: Depth,
    /// The words of an execution whose end has not been seen.
    carry: Vec<Word>,
    previous: Option<Previous>,
    last_line: u64,
    thread: u32,
    others: HashMap<u32, Previous>,
    lost: Lost,
}

impl Replay {
    /// An idle machine with empty caches.
    pub fn new(machine: &Machine, depth: Depth) -> Result<Self, MachineError> {
        machine.check()?;
        Ok(Self {
            plans: Plans::new(machine.clone()),
            rows: Vec::new(),
            frontend: Frontend::new(machine),
            core: Core::new(machine),
            memory: Memory { hierarchy: Hierarchy::new(machine)?, tlbs: Tlbs::new(&machine.tlb) },
            depth,
            carry: Vec::new(),
            previous: None,
            last_line: u64::MAX,
            thread: 0,
            others: HashMap::new(),
            lost: Lost::default(),
        })
    }

    /// Describes the next block. Ids count up from 0.
    pub fn block(&mut self, id: u32, block: &Block) -> Result<(), UnknownBlock> {
        let expected = self.plans.plans.len() as u32;
        if id != expected {
            return Err(UnknownBlock { id, expected });
        }
        self.plans.add(block);
        Ok(())
    }

    /// Replays words. Where slices begin and end does not matter.
    pub fn words<O: Observer>(&mut self, words: &[Word], observer: &mut O) {
        match self.depth {
            Depth::Caches => self.slice::<false, O>(words, observer),
            Depth::Full => self.slice::<true, O>(words, observer),
        }
    }

    /// Replays what is left at the end of the trace.
    pub fn finish<O: Observer>(&mut self, observer: &mut O) {
        let carry = std::mem::take(&mut self.carry);
        match self.depth {
            Depth::Caches => self.all::<false, O>(&carry, observer),
            Depth::Full => self.all::<true, O>(&carry, observer),
        }
    }

    /// The counts by row, as far as rows were named.
    pub fn rows(&self) -> &[Counts] {
        &self.rows
    }

    /// The sum of all rows.
    pub fn total(&self) -> Counts {
        self.rows.iter().fold(Counts::default(), |sum, &row| sum + row)
    }

    /// The clock, in ticks. It is the sum of the rows' ticks.
    pub fn ticks(&self) -> u64 {
        self.core.pace.clock
    }

    /// The clock, in cycles.
    pub fn cycles(&self) -> f64 {
        self.core.pace.clock as f64 / TICKS_PER_CYCLE as f64
    }

    /// What moved between caches and memory.
    pub fn traffic(&self) -> Traffic {
        self.memory.hierarchy.traffic
    }

    /// What could not be replayed.
    pub fn lost(&self) -> Lost {
        self.lost
    }

    fn slice<const FULL: bool, O: Observer>(&mut self, words: &[Word], observer: &mut O) {
        let Some(last) = words.iter().rposition(|word| !word.is_access()) else {
            self.carry.extend_from_slice(words);
            return;
        };
        let mut rest = &words[..last];
        if !self.carry.is_empty() {
            let more = accesses(rest);
            self.carry.extend_from_slice(&rest[..more]);
            rest = &rest[more..];
            let mut carry = std::mem::take(&mut self.carry);
            self.all::<FULL, O>(&carry, observer);
            carry.clear();
            self.carry = carry;
        }
        self.all::<FULL, O>(rest, observer);
        self.carry.extend_from_slice(&words[last..]);
    }

    /// Whole executions.
    fn all<const FULL: bool, O: Observer>(&mut self, words: &[Word], observer: &mut O) {
        let mut rest = words;
        while let Some((&first, behind)) = rest.split_first() {
            rest = if first.is_block() {
                &behind[self.execute::<FULL, O>(first.id(), behind, observer)..]
            } else {
                self.other(first, observer);
                behind
            };
        }
    }

    #[cold]
    fn other<O: Observer>(&mut self, word: Word, observer: &mut O) {
        match word.event() {
            Some(Event::Mark(mark)) => {
                self.mark(mark);
                observer.mark(mark);
            }
            Some(Event::Access(_)) => self.lost.accesses += 1,
            _ => self.lost.words += 1,
        }
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Thread(thread) => {
                if let Some(previous) = self.previous.take() {
                    self.others.insert(self.thread, previous);
                }
                self.thread = thread;
                self.previous = self.others.remove(&thread);
            }
            Mark::Gap => self.previous = None,
            Mark::Lost(words) => {
                self.lost.recorded += u64::from(words);
                self.previous = None;
            }
            Mark::Note(_) => {}
        }
    }

    /// Executes a block, whose accesses `words` begin with; how many of these were taken.
    #[inline(always)]
    fn execute<const FULL: bool, O: Observer>(&mut self, id: u32, words: &[Word], observer: &mut O) -> usize {
        let Some(plan) = self.plans.plans.get(id as usize) else {
            self.lost.blocks += 1;
            return 0;
        };
        let repeated = plan.repeats && self.previous.is_some_and(|previous| previous.last == plan.address);
        if FULL
            && !repeated
            && let Some(previous) = self.previous
        {
            let counts = &mut self.rows[previous.row as usize];
            leave(previous, plan.address, (&mut self.frontend, &mut self.core), counts, observer);
        }
        let row = match self.previous {
            Some(previous) if repeated => previous.row,
            _ => observer.begin(id, self.thread, self.core.pace.clock),
        };
        if row as usize >= self.rows.len() {
            self.rows.resize(row as usize + 1, Counts::default());
        }
        self.previous = Some(Previous { last: plan.last, end: plan.end, target: plan.target, flow: plan.flow, row });
        let counts = &mut self.rows[row as usize];
        if repeated {
            counts.string_iterations += 1;
        } else {
            counts.executions += 1;
            counts.instructions += u64::from(plan.instructions);
            counts.branches += u64::from(!matches!(plan.flow, Flow::Falls | Flow::System));
        }
        self.memory.hierarchy.running = Running { code: plan.address, thread: self.thread };
        if !FULL {
            let hierarchy = &mut self.memory.hierarchy;
            let line = std::mem::replace(&mut self.last_line, plan.end.wrapping_sub(1) >> hierarchy.shift);
            return contents(plan, words, hierarchy, line, counts);
        }
        let ops = &self.plans.ops[plan.ops.start as usize..plan.ops.end as usize];
        if repeated && plan.moves {
            return self.core.iteration(&ops[0], words, &mut self.memory, counts);
        }
        counts.uops += u64::from(plan.slots);
        self.core.begin_string();
        fetch(plan, (&mut self.frontend, &mut self.core), &mut self.memory, counts);
        self.core.block((plan, ops, words), &mut self.memory, counts, observer)
    }
}

/// How many accesses a slice begins with.
#[inline(always)]
fn accesses(words: &[Word]) -> usize {
    words.iter().position(|word| !word.is_access()).unwrap_or(words.len())
}

/// The flow leaves a block: by its branch, or by an interrupt.
#[inline]
fn leave<O: Observer>(
    previous: Previous,
    next: u64,
    (frontend, core): (&mut Frontend, &mut Core),
    counts: &mut Counts,
    observer: &mut O,
) {
    let straight = next == previous.end;
    match previous.flow {
        Flow::Falls if straight => return,
        Flow::System => return frontend.restart(core.pace.clock),
        Flow::Conditional | Flow::Jump | Flow::Call if straight || next == previous.target => {}
        Flow::IndirectJump | Flow::IndirectCall | Flow::Return => {}
        Flow::Falls | Flow::Conditional | Flow::Jump | Flow::Call => {
            counts.interruptions += 1;
            core.drain(counts);
            return frontend.interrupted(core.pace.clock);
        }
    }
    let branch = Executed { flow: previous.flow, address: previous.last, end: previous.end, next };
    match frontend.branch(branch, core.pace.executed) {
        Outcome::Right => {}
        Outcome::Resteered => counts.resteers += 1,
        Outcome::Wrong => {
            counts.mispredicts += 1;
            let empty = frontend.clock().saturating_sub(core.pace.clock);
            counts.bad_speculation += empty;
            core.pace.clock += empty;
            observer.mispredicted();
        }
    }
}

/// The front end brings a block; the core waits for it where nothing else holds it up.
#[inline]
fn fetch(plan: &Plan, (frontend, core): (&mut Frontend, &mut Core), memory: &mut Memory, counts: &mut Counts) {
    let fetched = frontend.fetch(plan, core.pace.clock, (&mut memory.hierarchy, &mut memory.tlbs), counts);
    let wait = fetched.ready.saturating_sub(core.pace.clock + core.slots(plan.slots));
    if wait > 0 {
        let latency = wait.min(fetched.latency);
        counts.frontend_latency += latency;
        counts.frontend_bandwidth += wait - latency;
        core.pace.clock += wait;
    }
}

/// What an execution does to the caches, without time, if `last_line` of code was fetched last; how many of the words are its
/// accesses.
#[inline(always)]
fn contents(plan: &Plan, words: &[Word], hierarchy: &mut Hierarchy, last_line: u64, counts: &mut Counts) -> usize {
    let first = plan.address >> hierarchy.shift;
    let last = plan.end.wrapping_sub(1) >> hierarchy.shift;
    if !(first == last && first == last_line) {
        for line in first..=last {
            counts.code(hierarchy.code::<false>(line, When::default()).level);
        }
    }
    let end = plan.instructions as usize - 1;
    let mut taken = 0;
    while let Some(word) = words.get(taken).filter(|word| word.is_access_up_to(end)) {
        taken += 1;
        let access = word.as_access();
        let (address, store) = (access.address(), access.is_store());
        let line = address >> hierarchy.shift;
        let mut level = hierarchy.data::<false>(line, store, When::default()).level;
        let end = address.wrapping_add(access.bytes() - 1) >> hierarchy.shift;
        if end != line {
            level = level.max(hierarchy.data::<false>(end, store, When::default()).level);
        }
        if store {
            counts.store(level);
        } else {
            counts.load(level);
            hierarchy.observe::<false>(
                plan.ops.start.wrapping_add(access.instruction() as u32),
                address,
                When::default(),
            );
        }
    }
    taken
}
