//! The answers about an instruction trace. Times are ticks of the model's clock since the start of the trace.

use std::collections::BTreeMap;

use dwell_view::answer;

answer! {
    /// An instruction trace, replayed on a machine.
    pub struct TraceInfo {
        /// The program and its arguments.
        pub command: String,
        /// Whether it is of a whole machine with its kernel.
        pub system: bool,
        /// The machines that can replay it.
        pub machines: Vec<TraceMachine>,
        /// Its reports.
        pub reports: Vec<TraceReport>,
        /// Names of the phases, by number.
        pub phases: Vec<String>,
        /// How long it takes.
        pub ticks: u64,
        /// Ticks of a cycle.
        pub ticks_per_cycle: u64,
        /// How deep the drawn calls are nested.
        pub depths: usize,
        /// The trace keeps no calls after this time.
        pub missing: Option<u64>,
        /// Whether calls exist below the last drawn depth.
        pub is_cut: bool,
        /// How many calls there are.
        pub calls: usize,
    }
}

answer! {
    /// A machine that can replay a trace.
    pub struct TraceMachine {
        /// Its name in questions.
        pub id: &'static str,
        /// Its name on the screen.
        pub title: String,
    }
}

answer! {
    /// A report of an instruction trace.
    pub struct TraceReport {
        /// Its name.
        pub id: &'static str,
        /// One line of help.
        pub help: &'static str,
    }
}

answer! {
    /// One call.
    pub struct TraceCall {
        /// Its number in the annotated trace.
        pub number: usize,
        /// Its function.
        pub function: String,
        /// The file that the function is in.
        pub module: String,
        /// Its phase.
        pub phase: String,
        /// How many calls are around it.
        pub depth: u16,
        /// Number of its thread.
        pub thread: u32,
        /// When it began.
        pub begin: u64,
        /// When it ended.
        pub end: u64,
        /// Instructions, with those of the calls in it.
        pub instructions: u64,
    }
}

answer! {
    /// One call with those above it.
    pub struct CallAnswer {
        /// The call.
        pub call: TraceCall,
        /// Those above it, the outermost first.
        pub above: Vec<TraceCall>,
    }
}

answer! {
    /// The calls of a function beside another call.
    pub struct CallsAnswer {
        /// How many there are.
        pub count: usize,
        /// The last one before it.
        pub before: Option<TraceCall>,
        /// The first one after it.
        pub next: Option<TraceCall>,
        /// The longest one.
        pub longest: Option<TraceCall>,
    }
}

answer! {
    /// Pieces of calls as columns; `begin` and `end` are ticks since `from`.
    pub struct ChartTile {
        /// Start, in ticks.
        pub from: u64,
        /// End, in ticks.
        pub to: u64,
        /// How deep each piece is nested.
        pub depth: Vec<u16>,
        /// Where each one begins.
        pub begin: Vec<i128>,
        /// Where each one ends.
        pub end: Vec<i128>,
        /// The call; the longest one when several share the pixel.
        pub call: Vec<u32>,
        /// How many calls.
        pub calls: Vec<u32>,
        /// Their share of the piece's time.
        pub ticks: Vec<u64>,
        /// Number of the call's function.
        pub function: Vec<u32>,
        /// Number of the call's phase.
        pub phase: Vec<u16>,
        /// Names of the functions, by number.
        pub names: BTreeMap<u32, String>,
    }
}

answer! {
    /// How far a running replay is.
    pub struct ReplayProgress {
        /// Bytes of the trace that are replayed.
        pub read_bytes: u64,
        /// Bytes of the trace.
        pub size_bytes: u64,
    }
}
