//! The reports: each asks the fold and makes a [`View`] of the answer. No report reads events by itself.

use dwell_store::Trace;

use crate::query::{Level, Query, QueryError, words};
use crate::view::View;

words! { "report";
    /// A report.
    Report {
        Summary = "summary", "Summary", "Elapsed, CPU and wait time, utilization and concurrency, top objects and findings.";
        Waits = "waits", "Waits", "Wait time by synchronization object.";
        Hotspots = "hotspots", "Hotspots", "CPU time by function: effective, spin and overhead.";
        BottomUp = "bottom-up", "Bottom-up", "Functions with their callers below them.";
        TopDown = "top-down", "Top-down", "The call tree from the threads' entries, self and total.";
        CallerCallee = "caller-callee", "Caller/Callee", "Who calls a function and what it calls.";
        Threads = "threads", "Threads", "Running, runnable and waiting time of each thread.";
        Transitions = "transitions", "Transitions", "Who woke whom, through which object.";
        Timeline = "timeline", "Timeline", "What each thread did in each bin of time.";
        Findings = "findings", "Findings", "What is wrong, what it costs and what to do about it.";
        Losses = "losses", "Losses", "What could not be seen.";
        Blame = "blame", "Blame", "What the other side did while threads waited on an object.";
        CriticalPath = "critical-path", "Critical Path", "The chain of running and waiting that determined the elapsed time.";
    }
}

impl Report {
    /// What it groups by unless told otherwise.
    pub fn default_grouping(self) -> &'static [Level] {
        match self {
            Self::Waits => &[Level::Object],
            Self::Hotspots => &[Level::Function],
            _ => &[],
        }
    }

    /// What its argument names, when it takes one.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Self::Blame => Some("an object"),
            Self::CallerCallee => Some("a function"),
            _ => None,
        }
    }
}

/// The answer of `report` to `query`.
pub fn report(report: Report, trace: &Trace, query: &Query) -> Result<View, QueryError> {
    let _ = (trace, query);
    Ok(View { title: report.title().into(), ..View::default() })
}
