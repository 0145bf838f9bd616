//! A trace made ready for many questions: its events thread by thread, and what is the same for every query.

use std::sync::{Arc, OnceLock};

use dwell_model::Reason;
use dwell_store::{Events, Trace};

use crate::call_stacks::CallStacks;
use crate::query::{Query, QueryError};
use crate::reports::{Report, report};
use crate::timeline::{CounterRows, Lanes, Pyramids, TimelineState, states_of};
use crate::view::View;

/// A trace made ready for many questions. Can be asked from several threads at once.
#[derive(Debug)]
pub struct Analysis {
    pub(crate) trace: Arc<Trace>,
    states: OnceLock<Vec<TimelineState>>,
    pyramids: Option<Pyramids>,
    lanes: OnceLock<Lanes>,
    counter_rows: OnceLock<CounterRows>,
}

impl Analysis {
    /// Prepares `trace`: time and memory in proportion to its rows, unless it has an index.
    pub fn new(trace: impl Into<Arc<Trace>>) -> Self {
        let trace = trace.into();
        let pyramids = Pyramids::of(&trace);
        trace.events();
        Self { trace, states: OnceLock::new(), pyramids, lanes: OnceLock::new(), counter_rows: OnceLock::new() }
    }

    /// The events of the trace.
    pub(crate) fn events(&self) -> &Events {
        self.trace.events()
    }

    /// What coarse drawings are made from, when the trace has it.
    pub(crate) fn pyramids(&self) -> Option<&Pyramids> {
        self.pyramids.as_ref()
    }

    /// Where the tasks are drawn.
    pub(crate) fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(&self.trace))
    }

    /// The values of each counter.
    pub(crate) fn counter_rows(&self) -> &CounterRows {
        self.counter_rows.get_or_init(|| CounterRows::new(&self.trace))
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Length of the collection, ns.
    pub fn elapsed_ns(&self) -> u64 {
        crate::windows::elapsed_ns(&self.trace)
    }

    /// The answer of a report. Fails when the query asks for what is not there.
    pub fn report(&self, kind: Report, query: &Query) -> Result<View, QueryError> {
        report(kind, &self.trace, query)
    }

    /// Start and end of a thread that is there and lived.
    pub(crate) fn life(&self, thread: usize) -> Option<(u64, u64)> {
        let threads = &self.trace.threads;
        let life = (*threads.start_ns.get(thread)?, *threads.end_ns.get(thread)?);
        (life.0 <= life.1).then_some(life)
    }

    pub(crate) fn state_of_key(&self, key: u32) -> TimelineState {
        let states = self.states.get_or_init(|| {
            let stacks = CallStacks::new(&self.trace, &Query::default());
            states_of(&self.trace, self.events(), &stacks)
        });
        states.get(key as usize).copied().unwrap_or(TimelineState::OtherWait)
    }

    /// State of the blocked part of an off-CPU row, and what it waited on.
    pub(crate) fn waiting(&self, row: usize) -> (TimelineState, u32) {
        let key = self.events().off_cpu.key(row);
        (self.state_of_key(key), self.events().key(key).object().raw())
    }

    /// State of the time in the run queue of an off-CPU row.
    pub(crate) fn queueing(&self, row: usize) -> TimelineState {
        match self.events().off_cpu_key(row).reason() {
            Some(Reason::Starting) => TimelineState::Starting,
            _ => TimelineState::Preempted,
        }
    }
}
