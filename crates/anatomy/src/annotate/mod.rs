//! A trace on a model of a machine: who calls whom, in which phase of the work, on which packet, and where the cycles went.
//! It takes a stream of functions, blocks and words, and gives an [`Anatomy`]: sums by row, calls with their clock, marks.
//! It neither reads files nor shows anything.
//!
//! Words pass twice. A walker ([`stacks`]) goes before and finds which function, phase and packet each execution is of;
//! the model (`dwell-machine`) then counts it under that row, and tells the clock at each call.

mod calls;
mod chart;
mod code;
mod detail;
mod phases;
mod rows;
mod stacks;

use std::collections::HashMap;

use dwell_itrace::{Block, Event, Lost, Mark, Word};
use dwell_machine::{Counts, Depth, Instruction, Machine, MachineError, Observer, Replay};

pub use calls::{Call, MOST_CALLS, Run};
pub use chart::{Chart, Lit, Pieces, Sought};
pub use code::Code;
pub use detail::{Detail, Executed, Sum, Wanted};
pub use phases::{Half, Phases, PhasesError};
pub use rows::{LATER, PACKETS, Row};
pub use stacks::{Change as StackChange, Stacks};

use self::calls::{Calls, Plan, Planned};
use self::rows::Rows;
use self::stacks::Change;
use crate::stream::{Function, Listener};

/// Functions at which work on a received packet begins: a driver hands it over; a packet of this machine's own arrives.
const PACKET_BEGINS: [&str; 2] = ["napi_gro_receive", "__netif_receive_skb"];

/// Marks whose time is kept.
pub const MOST_MARKS: usize = 1 << 16;

/// A section of the trace: what follows a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The mark's number; none before the first mark.
    pub mark: Option<u32>,
    /// How often the mark was passed.
    pub times: u64,
}

/// What a trace was, on a machine.
#[derive(Default)]
pub struct Anatomy {
    /// The functions, by number.
    pub functions: Vec<Function>,
    /// The names of the phases, by number.
    pub phases: Vec<String>,
    /// What was counted: each row with its sums.
    pub rows: Vec<(Row, Counts)>,
    /// Calls in the order of their begins, of the first [`MOST_CALLS`].
    pub calls: Vec<Call>,
    /// Calls behind these.
    pub more_calls: u64,
    /// Which stack was executed when: the calls of others lie below in the chart.
    pub runs: Vec<Run>,
    /// From when on calls are missing, in ticks.
    pub missing: Option<u64>,
    /// The sections, by number.
    pub sections: Vec<Section>,
    /// The marks as they were passed, with their ticks: the first [`MOST_MARKS`].
    pub marks: Vec<(u64, u32)>,
    /// When work on each packet began, in ticks.
    pub packets: Vec<u64>,
    /// Threads, or virtual CPUs.
    pub threads: u32,
    /// What was not recorded.
    pub lost: Vec<Lost>,
    /// What the model could not replay.
    pub unreplayed: dwell_machine::Lost,
    /// How often sections, packets or functions could not be told apart: there were too many.
    pub merged_rows: u64,
    /// The clock at the end, in ticks.
    pub ticks: u64,
    /// The instructions that were asked for.
    pub detail: Option<Detail>,
}

/// Makes an [`Anatomy`] of what it hears.
pub struct Annotator {
    code: Code,
    phases: Phases,
    stacks: Stacks,
    rows: Rows,
    plan: Plan,
    replay: Replay,
    watch: Watch,
    begins: Vec<bool>,
    sections: Vec<Section>,
    section: u16,
    packet: u16,
    threads: u32,
    lost: Vec<Lost>,
}

impl Annotator {
    /// Replays on this machine.
    pub fn new(machine: &Machine, phases: Phases) -> Result<Self, MachineError> {
        Ok(Self {
            code: Code::default(),
            phases,
            stacks: Stacks::default(),
            rows: Rows::default(),
            plan: Plan::default(),
            replay: Replay::new(machine, Depth::Full)?,
            watch: Watch::default(),
            begins: Vec::new(),
            sections: vec![Section { mark: None, times: 0 }],
            section: 0,
            packet: 0,
            threads: 1,
            lost: Vec::new(),
        })
    }

    /// What came of it.
    pub fn finish(mut self) -> Anatomy {
        match self.watch.detail {
            Some(_) => self.replay.finish(&mut Watcher::<true> { plan: &mut self.plan, watch: &mut self.watch }),
            None => self.replay.finish(&mut Watcher::<false> { plan: &mut self.plan, watch: &mut self.watch }),
        }
        let ticks = self.replay.ticks();
        let (calls, executed) = (&mut self.watch.calls, &self.watch.executed);
        calls.finish(ticks, |thread| executed.of(thread));
        let counts = self.replay.rows().iter().copied();
        Anatomy {
            functions: self.code.functions.into_iter().map(|known| known.function).collect(),
            phases: self.phases.names().to_vec(),
            rows: self.rows.all.iter().copied().zip(counts).collect(),
            calls: self.watch.calls.kept,
            more_calls: self.watch.calls.more,
            runs: self.watch.calls.runs,
            missing: self.watch.calls.missing,
            marks: self.watch.marks,
            sections: self.sections,
            packets: self.watch.packets,
            threads: self.threads,
            lost: self.lost,
            unreplayed: self.replay.lost(),
            merged_rows: self.rows.merged,
            ticks,
            detail: self.watch.detail,
        }
    }

    /// Keeps instructions too.
    #[must_use]
    pub fn with(mut self, detail: Detail) -> Self {
        self.watch.detail = Some(detail);
        self
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Thread(thread) => {
                self.threads = self.threads.max(thread.saturating_add(1));
                self.stacks.switch(thread);
            }
            Mark::Note(number) => self.enter_section(number),
            Mark::Gap => self.stacks.forget_thread(),
            Mark::Lost(_) => self.stacks.forget(),
        }
    }

    fn enter_section(&mut self, mark: u32) {
        let known = self.sections.iter().position(|section| section.mark == Some(mark));
        let number = known.unwrap_or_else(|| {
            // Marks without end are one section.
            if self.sections.len() < usize::from(u16::MAX) {
                self.sections.push(Section { mark: Some(mark), times: 0 });
            }
            self.sections.len() - 1
        });
        self.sections[number].times += 1;
        self.section = number as u16;
    }

    #[inline]
    fn execution(&mut self, block: u32, accesses: &[Word]) {
        let Some(place) = self.code.blocks.get(block as usize) else { return };
        let (function, instructions) = (place.function, place.instructions);
        let frame = self.stacks.step(&self.code, block, accesses);
        let changes = self.stacks.changes.len() as u32;
        if changes > 0 {
            self.take_changes();
        }
        let packet = if frame.half == Half::Bottom { self.packet } else { 0 };
        let row = Row { function, phase: frame.phase, half: frame.half, section: self.section, packet };
        let row = self.rows.number(block, row);
        self.plan.executions.push_back(Planned { block, row, instructions, changes });
    }

    fn take_changes(&mut self) {
        let thread = self.stacks.thread();
        for change in self.stacks.changes.drain(..) {
            let begins = match change {
                Change::Enter { function, .. } => self.begins[function as usize],
                Change::Leave { .. } | Change::Resume { .. } => false,
            };
            if let Some(detail) = &mut self.watch.detail {
                detail.announce(change);
            }
            if begins {
                self.packet = (self.packet + 1).min(LATER);
            }
            self.plan.changes.push_back((change, thread, begins));
        }
    }
}

impl Listener for Annotator {
    fn function(&mut self, function: &Function) {
        self.begins.push(PACKET_BEGINS.contains(&function.name.as_str()));
        self.code.add_function(function, &self.phases);
        if let Some(detail) = &mut self.watch.detail {
            detail.add_function(&function.name);
        }
    }

    fn block(&mut self, id: u32, block: &Block, function: u32) {
        // The recorder, and the reader of traces, count up from 0.
        if self.replay.block(id, block).is_ok() {
            self.code.add_block(block, function);
            if let Some(detail) = &mut self.watch.detail {
                detail.add_block(id, block, function);
            }
        }
    }

    fn words(&mut self, words: &[Word]) {
        let mut rest = words;
        while let Some((&word, behind)) = rest.split_first() {
            let count = behind.iter().position(|word| !word.is_access()).unwrap_or(behind.len());
            if word.is_block() {
                self.execution(word.id(), &behind[..count]);
            } else if let Some(Event::Mark(mark)) = word.event() {
                self.mark(mark);
            }
            rest = &behind[count..];
        }
        let (plan, watch) = (&mut self.plan, &mut self.watch);
        match watch.detail.as_ref().is_some_and(Detail::is_near) {
            true => self.replay.words(words, &mut Watcher::<true> { plan, watch }),
            false => self.replay.words(words, &mut Watcher::<false> { plan, watch }),
        }
    }

    fn lost(&mut self, what: Lost) {
        self.lost.push(what);
    }

    fn is_enough(&self) -> bool {
        self.watch.detail.as_ref().is_some_and(Detail::is_complete)
    }
}

/// What is seen while the model runs.
#[derive(Default)]
struct Watch {
    calls: Calls,
    packets: Vec<u64>,
    marks: Vec<(u64, u32)>,
    /// A mark that has passed, before the clock is known.
    mark: Option<u32>,
    executed: PerThread,
    detail: Option<Detail>,
}

/// Instructions that each thread has executed.
#[derive(Default)]
struct PerThread {
    running: u32,
    count: u64,
    others: HashMap<u32, u64>,
}

impl PerThread {
    /// Those of the thread that runs.
    #[inline]
    fn of_running(&mut self, thread: u32) -> &mut u64 {
        if thread != self.running {
            self.others.insert(self.running, self.count);
            (self.running, self.count) = (thread, self.others.remove(&thread).unwrap_or_default());
        }
        &mut self.count
    }

    fn of(&self, thread: u32) -> u64 {
        if thread == self.running { self.count } else { self.others.get(&thread).copied().unwrap_or_default() }
    }
}

/// Watches the model; with `DETAIL`, each instruction.
struct Watcher<'a, const DETAIL: bool> {
    plan: &'a mut Plan,
    watch: &'a mut Watch,
}

impl<const DETAIL: bool> Watcher<'_, DETAIL> {
    #[cold]
    fn apply(&mut self, changes: u32, ticks: u64) {
        for (change, thread, begins) in self.plan.changes.drain(..changes as usize) {
            if begins && self.watch.packets.len() < usize::from(PACKETS) {
                self.watch.packets.push(ticks);
            }
            let executed = self.watch.executed.of(thread);
            self.watch.calls.apply(change, thread, ticks, executed);
            if let Some(detail) = &mut self.watch.detail {
                detail.apply(change);
            }
        }
    }
}

impl<const DETAIL: bool> Observer for Watcher<'_, DETAIL> {
    const INSTRUCTIONS: bool = DETAIL;

    /// The model does not begin the iterations of a repeated string instruction anew: these are passed over.
    fn begin(&mut self, block: u32, thread: u32, ticks: u64) -> u32 {
        if let Some(mark) = self.watch.mark.take()
            && self.watch.marks.len() < MOST_MARKS
        {
            self.watch.marks.push((ticks, mark));
        }
        while let Some(planned) = self.plan.executions.pop_front() {
            if planned.changes > 0 {
                self.apply(planned.changes, ticks);
            }
            if planned.block == block {
                if let (true, Some(detail)) = (DETAIL, &mut self.watch.detail) {
                    detail.begin(block);
                }
                *self.watch.executed.of_running(thread) += u64::from(planned.instructions);
                return planned.row;
            }
        }
        0
    }

    fn instruction(&mut self, seen: &Instruction) {
        if let Some(detail) = &mut self.watch.detail {
            detail.instruction(seen);
        }
    }

    fn mark(&mut self, mark: Mark) {
        if let Mark::Note(number) = mark {
            self.watch.mark = Some(number);
        }
    }

    fn mispredicted(&mut self) {
        if let (true, Some(detail)) = (DETAIL, &mut self.watch.detail) {
            detail.mispredicted();
        }
    }
}
