//! The reports: each asks the fold and makes a [`View`] of the answer. Only the story of
//! one interval reads events by itself, since it tells them one by one.

mod accept_words;
mod account;
mod account_words;
mod advice;
mod blame;
mod cause_rows;
mod cause_words;
mod chain_links;
pub mod compare;
mod contended_lock;
mod correlation;
mod counters;
mod cpus_used;
mod critical_path;
mod ended_words;
mod events;
mod explain;
mod fibers;
mod frames;
mod hotspots;
mod latency;
mod lock_words;
mod losses;
mod markers;
mod one_thing;
mod open_requests;
mod outlier;
mod outside_words;
mod pace_words;
mod pool_words;
mod probes;
mod queue_causes;
mod ran_words;
mod request_words;
mod same_lock;
mod socket_waits;
mod sockets;
mod summary;
mod summary_order;
mod system;
mod task_waits;
mod tasks;
mod thread_priority;
mod threads;
mod through_fibers;
mod timeline;
mod told_causes;
mod transitions;
mod trees;
mod vain_words;
mod waits;
mod where_threads_hear;
mod where_threads_sleep;
mod where_threads_wait;

use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_query::question::query::Query;
use dwell_query::question::words::words;
use dwell_store::Trace;
use dwell_view::View;

use self::one_thing::{HandleKind, handle_kind};
use crate::findings;
use crate::reports::through_fibers::{of_causes, of_fibers};
use crate::tables::columns::ColumnDef;
use crate::tables::grouped::{self, grouped};

words! { "report";
    /// A report.
    Report {
        Summary = "summary", "Summary", "Elapsed, CPU and wait time, utilization and concurrency, top objects and findings.";
        Explain = "explain", "Where the Time Went", "What every wait is because of, down to root causes, with the chains that lead to them.";
        Waits = "waits", "Waits", "Wait time by synchronization object.";
        Hotspots = "hotspots", "Hotspots", "CPU time by function: effective, spin and overhead.";
        BottomUp = "bottom-up", "Bottom-up", "Functions with their callers below them.";
        TopDown = "top-down", "Top-down", "The call tree from the threads' entries, self and total.";
        CallerCallee = "caller-callee", "Caller/Callee", "Who calls a function and what it calls.";
        Threads = "threads", "Threads", "Running, runnable and waiting time of each thread.";
        Transitions = "transitions", "Transitions", "Who woke whom, through which object.";
        Timeline = "timeline", "Timeline", "What each thread did in each bin of time.";
        Tasks = "tasks", "Tasks", "The program's tasks by type: how many, how long, and what threads did in them.";
        TaskWaits = "task-waits", "Task Waits", "What threads waited and spun for in each task.";
        LongestTasks = "longest-tasks", "Longest Tasks", "The longest tasks one by one, with what the program attached to them.";
        Frames = "frames", "Frames", "Frames by domain: how many, how long, slow, good and fast.";
        Counters = "counters", "Counters", "The values that the program gave its counters.";
        Events = "events", "Events", "Events of the CPU and the kernel (--events): how many of each in which threads.";
        Markers = "markers", "Markers", "Instants that the program marked.";
        Probes = "probes", "Probes", "Probes with values (--probe): how often each was hit, and its values.";
        Correlation = "correlation", "Correlation", "Counters that tell the long waits on an object from the short ones.";
        Sockets = "sockets", "Sockets", "Sockets: what went through them, how long threads waited on each, and why.";
        SocketWaits = "socket-waits", "Socket Waits", "The waits on sockets one by one, the longest first, with their causes.";
        OpenRequests = "open-requests", "Open Requests", "Requests over TCP that waited for their answers, and connections that waited to be accepted: how many at once, how long each, by process and connection.";
        Latency = "latency", "Latency", "How long intervals take (tasks, requests, wake-ups, waits), their outliers and the causes of these.";
        Outlier = "outlier", "Outlier", "The story of one interval: what delayed its thread, line by line.";
        Findings = "findings", "Findings", "What is wrong, what it costs and what to do about it.";
        Fibers = "fibers", "Fibers", "Goroutines by what they began with: running, ready and waiting time.";
        FiberWaits = "fiber-waits", "Fiber Waits", "What goroutines waited for, by object.";
        Losses = "losses", "Losses", "What could not be seen.";
        Blame = "blame", "Blame", "What the other side did while threads waited on an object.";
        CriticalPath = "critical-path", "Critical Path", "The chain of running and waiting that determined the elapsed time.";
    }
}

/// The columns of every report. Where the page names a column by its id alone, the first table that has it counts.
pub static COLUMNS: &[&[ColumnDef]] = &[
    summary::FIELDS,
    summary::LOSSES,
    summary_order::ORDER,
    findings::COLUMNS,
    findings::CLAIM_COLUMNS,
    account::COLUMNS,
    blame::COLUMNS,
    chain_links::COLUMNS,
    compare::SHARE,
    correlation::COLUMNS,
    counters::COLUMNS,
    critical_path::COLUMNS,
    events::COLUMNS,
    explain::COLUMNS,
    fibers::FIBERS,
    fibers::WAITS,
    frames::COLUMNS,
    frames::BINS,
    frames::HISTOGRAM,
    hotspots::COLUMNS,
    latency::COLUMNS,
    latency::CAUSES,
    latency::OUTLIERS,
    losses::COLUMNS,
    markers::COLUMNS,
    open_requests::COLUMNS,
    outlier::COLUMNS,
    probes::COLUMNS,
    socket_waits::COLUMNS,
    sockets::COLUMNS,
    sockets::HUMPS,
    system::COLUMNS,
    task_waits::COLUMNS,
    tasks::LENGTHS,
    tasks::COLUMNS,
    tasks::ONE_BY_ONE,
    tasks::DETAILS,
    threads::COLUMNS,
    timeline::OF_THREADS,
    timeline::COLUMNS,
    transitions::COLUMNS,
    trees::BOTTOM_UP,
    trees::TOP_DOWN,
    trees::SELF,
    trees::ROLE,
    trees::FUNCTIONS,
    waits::COLUMNS,
    grouped::NAME,
    grouped::HANDLE,
];

impl Report {
    /// What its argument names, when it takes one.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Self::Blame => Some("an object"),
            Self::CallerCallee => Some("a function"),
            Self::Outlier => Some("an interval"),
            _ => None,
        }
    }

    /// Whether the report shows one thing alone when it is given a handle such as `text`.
    pub fn takes_handle(self, text: &str) -> bool {
        let shown_by = report_of_handle(text);
        shown_by == Some(self) || (self == Self::Latency && shown_by == Some(Self::Outlier))
    }
}

/// The report that shows what `text` is the handle of; none where it has not the form of a handle.
pub fn report_of_handle(text: &str) -> Option<Report> {
    handle_kind(text).map(|kind| match kind {
        HandleKind::Object => Report::Waits,
        HandleKind::Thread => Report::Threads,
        HandleKind::Finding => Report::Findings,
        HandleKind::Interval => Report::Outlier,
    })
}

/// The answer of `report` to `query`. Fails when the query asks for what is not there.
pub fn report(report: Report, trace: &Trace, query: &Query) -> Result<View, QueryError> {
    if report == Report::Losses {
        return Ok(View { title: report.title().into(), ..losses::losses(trace) });
    }
    if query.fibers == Some(true) && trace.fibers.fibers.number.is_empty() {
        return Err(QueryError::NoFibers);
    }
    report_of(report, &Fold::new(trace, query)?)
}

/// The same of sums that are there already.
pub fn report_of(report: Report, fold: &Fold<'_>) -> Result<View, QueryError> {
    let chooses_itself = matches!(report, Report::Explain | Report::Summary | Report::Blame | Report::CriticalPath);
    if fold.query.fibers == Some(true) && !chooses_itself {
        return of_fibers(fold, |fold| view_of(report, fold));
    }
    view_of(report, fold)
}

fn view_of(report: Report, fold: &Fold<'_>) -> Result<View, QueryError> {
    let make = |fold: &Fold<'_>| whole_view_of(report, fold);
    match (report, fold.query.subject.as_deref()) {
        (Report::Waits, Some(name)) => one_thing::object(fold, name, make),
        (Report::Threads, Some(name)) => one_thing::thread(fold, name, make),
        (Report::Findings, Some(name)) => one_thing::finding(fold, name, make),
        // The story of the interval.
        (Report::Latency, Some(_)) => whole_view_of(Report::Outlier, fold),
        _ => make(fold),
    }
}

fn whole_view_of(report: Report, fold: &Fold<'_>) -> Result<View, QueryError> {
    let view = match report {
        Report::Explain => of_causes(fold, explain::explain)?,
        Report::Summary => summary::summary(fold)?,
        Report::Waits => waits::waits(fold),
        Report::Hotspots => hotspots::hotspots(fold),
        Report::BottomUp => trees::bottom_up(fold),
        Report::TopDown => trees::top_down(fold),
        Report::CallerCallee => trees::caller_callee(fold)?,
        Report::Threads if fold.query.group_by.is_empty() => threads::threads(fold),
        Report::Threads => {
            let metrics = ["cpu_ns", "preemption_ns", "wait_ns", "unknown_ns", "switches", "preemption_count"];
            grouped(fold, &[], &metrics, |weights| weights.cpu_ns() as f64)
        }
        Report::Transitions => transitions::transitions(fold),
        Report::Timeline => timeline::timeline(fold),
        Report::Tasks => tasks::tasks(fold),
        Report::TaskWaits => task_waits::task_waits(fold),
        Report::LongestTasks => tasks::longest(fold),
        Report::Frames => frames::frames(fold),
        Report::Counters => counters::counters(fold),
        Report::Events => events::events(fold),
        Report::Markers => markers::markers(fold),
        Report::Probes => probes::probes(fold),
        Report::Correlation => correlation::correlation(fold),
        Report::Sockets => sockets::sockets(fold),
        Report::SocketWaits => socket_waits::socket_waits(fold)?,
        Report::OpenRequests => open_requests::open_requests(fold),
        Report::Latency => latency::latency(fold),
        Report::Outlier => outlier::outlier(fold)?,
        Report::Findings => findings::report(fold),
        Report::Blame => of_causes(fold, blame::blame)?,
        Report::CriticalPath => of_causes(fold, |fold| Ok(critical_path::critical_path(fold)))?,
        Report::Fibers => of_fibers(fold, |fold| Ok(fibers::fibers(fold)))?,
        Report::FiberWaits => of_fibers(fold, |fold| Ok(fibers::fiber_waits(fold)))?,
        Report::Losses => losses::losses(fold.trace),
    };
    Ok(View { title: report.title().into(), ..view })
}
