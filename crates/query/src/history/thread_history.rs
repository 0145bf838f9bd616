//! What each thread did over time, ready to be told piece by piece.

use std::sync::{Arc, OnceLock};

use dwell_model::Reason;
use dwell_store::{Events, Trace};

use crate::history::states::{TimelineState, states_of};
use crate::question::query::Query;
use crate::question::windows::elapsed_ns;
use crate::stacks::call_stacks::CallStacks;

/// The events of a trace thread by thread, with the state that each key stands for.
#[derive(Debug)]
pub struct ThreadHistory {
    /// The result.
    pub trace: Arc<Trace>,
    states: OnceLock<Vec<TimelineState>>,
}

impl ThreadHistory {
    /// Puts the events of `trace` in order: time and memory in proportion to its rows, unless it has an index.
    pub fn new(trace: Arc<Trace>) -> Self {
        trace.events();
        Self { trace, states: OnceLock::new() }
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The events of the trace.
    pub fn events(&self) -> &Events {
        self.trace.events()
    }

    /// Length of the collection, ns.
    pub fn elapsed_ns(&self) -> u64 {
        elapsed_ns(&self.trace)
    }

    /// Start and end of a thread that is there and lived.
    pub fn life(&self, thread: usize) -> Option<(u64, u64)> {
        let threads = &self.trace.threads;
        let life = (*threads.start_ns.get(thread)?, *threads.end_ns.get(thread)?);
        (life.0 <= life.1).then_some(life)
    }

    /// The state that a key stands for.
    pub fn state_of_key(&self, key: u32) -> TimelineState {
        let states = self.states.get_or_init(|| {
            let stacks = CallStacks::new(&self.trace, &Query::default());
            states_of(&self.trace, self.events(), &stacks)
        });
        states.get(key as usize).copied().unwrap_or(TimelineState::OtherWait)
    }

    /// State of the blocked part of an off-CPU row, and what it waited on.
    pub fn waiting(&self, row: usize) -> (TimelineState, u32) {
        let key = self.events().off_cpu.key(row);
        (self.state_of_key(key), self.events().key(key).object().raw())
    }

    /// State of the time in the run queue of an off-CPU row.
    pub fn queueing(&self, row: usize) -> TimelineState {
        match self.events().off_cpu_key(row).reason() {
            Some(Reason::Starting) => TimelineState::Starting,
            _ => TimelineState::Preempted,
        }
    }
}
