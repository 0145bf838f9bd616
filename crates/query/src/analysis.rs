//! A trace made ready for many questions: its events thread by thread, and what is the same for every query.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use dwell_store::Trace;

use crate::history::counter_rows::CounterRows;
use crate::history::lanes::Lanes;
use crate::history::pyramid::Pyramids;
use crate::history::thread_history::ThreadHistory;

/// A trace made ready for many questions. Can be asked from several threads at once.
#[derive(Debug)]
pub struct Analysis {
    history: ThreadHistory,
    pyramids: Option<Pyramids>,
    lanes: OnceLock<Lanes>,
    counter_rows: OnceLock<CounterRows>,
}

impl Deref for Analysis {
    type Target = ThreadHistory;

    fn deref(&self) -> &ThreadHistory {
        &self.history
    }
}

impl Analysis {
    /// Prepares `trace`: time and memory in proportion to its rows, unless it has an index.
    pub fn new(trace: impl Into<Arc<Trace>>) -> Self {
        let trace = trace.into();
        let pyramids = Pyramids::of(&trace);
        Self { history: ThreadHistory::new(trace), pyramids, lanes: OnceLock::new(), counter_rows: OnceLock::new() }
    }

    /// What coarse drawings are made from, when the trace has it.
    pub fn pyramids(&self) -> Option<&Pyramids> {
        self.pyramids.as_ref()
    }

    /// Where the tasks are drawn.
    pub fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(&self.trace))
    }

    /// The values of each counter.
    pub fn counter_rows(&self) -> &CounterRows {
        self.counter_rows.get_or_init(|| CounterRows::new(&self.trace))
    }
}
