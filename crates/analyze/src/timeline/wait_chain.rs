//! The explanation of one wait as a chain on the timeline: what each thread did that the wait was because of.

use dwell_query::Analysis;
use dwell_query::engine::fold::Fold;
use dwell_query::history::pieces::for_each_piece;
use dwell_view::answer;

use crate::study::explain::{CauseKind, CausePiece, ExplainedWait, LinkedWait, explain_wait, function_at};

/// Pieces of a chain that are told, at most.
const MOST: usize = 64;

answer! {
    /// What one thread did in a part of the wait.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ChainPiece {
        /// Row of the thread.
        pub thread: u32,
        /// When it began.
        pub start_ns: u64,
        /// When it ended.
        pub end_ns: u64,
        /// Id of what it did: `running`, `run-queue`, or how its own wait ended.
        pub kind: &'static str,
        /// The function; empty for unknown.
        pub place: String,
        /// What it waited for; empty for nothing.
        pub object: String,
        /// The role of the threads that had the CPU which it was ready for; empty for unknown.
        pub behind: String,
    }
}

answer! {
    /// A wait that was because of what another thread of the chain did.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ChainWait {
        /// Row of the thread that waited.
        pub thread: u32,
        /// Start of the part that is in the chain.
        pub start_ns: u64,
        /// Its end.
        pub end_ns: u64,
        /// What it waited for.
        pub object: String,
    }
}

answer! {
    /// The explanation of one wait. Its pieces, with the time that is not shown, add up to the wait.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct WaitChain {
        /// Row of the thread that waited.
        pub thread: u32,
        /// When it began to.
        pub start_ns: u64,
        /// When the wait ended.
        pub end_ns: u64,
        /// The longest pieces, in order of time: no two overlap.
        pub pieces: Vec<ChainPiece>,
        /// Waits of other threads that led to them, the longest, in order of time.
        pub waits: Vec<ChainWait>,
        /// How many pieces are not shown.
        pub more: usize,
        /// Their time, ns.
        pub more_ns: u64,
    }
}

/// The chain of the wait in which `thread` was at `time`; without pieces where it did not wait, `None` where it was not alive.
pub fn wait_chain(analysis: &Analysis, fold: &Fold<'_>, thread: u32, time: u64) -> Option<WaitChain> {
    let mut found = None;
    for_each_piece(analysis, thread as usize, (time, time.saturating_add(1)), |piece| found = found.or(Some(piece)));
    let row = found?.row;
    let explained = row.and_then(|row| explain_wait(fold, (thread as usize, row), MOST));
    Some(explained.map_or(WaitChain { thread, ..WaitChain::default() }, |wait| chain(thread, &wait)))
}

fn chain(thread: u32, wait: &ExplainedWait<'_, '_>) -> WaitChain {
    WaitChain {
        thread,
        start_ns: wait.from,
        end_ns: wait.to,
        pieces: wait.pieces.iter().map(|piece| chain_piece(wait, piece)).collect(),
        waits: wait.waits.iter().map(|other| chain_wait(wait, other)).collect(),
        more: wait.more,
        more_ns: wait.more_ns,
    }
}

fn chain_piece(ExplainedWait { names, .. }: &ExplainedWait<'_, '_>, piece: &CausePiece) -> ChainPiece {
    let CausePiece { thread, from, to, cause } = *piece;
    let behind = if cause.kind == CauseKind::RunQueue { names.role(cause.behind) } else { "" };
    ChainPiece {
        thread: thread as u32,
        start_ns: from,
        end_ns: to,
        kind: cause.kind.id(),
        place: names.place(cause.place).map(|place| function_at(&place.at).to_owned()).unwrap_or_default(),
        object: names.label(cause.label).to_owned(),
        behind: behind.to_owned(),
    }
}

fn chain_wait(ExplainedWait { names, .. }: &ExplainedWait<'_, '_>, wait: &LinkedWait) -> ChainWait {
    ChainWait {
        thread: wait.thread as u32,
        start_ns: wait.from,
        end_ns: wait.to,
        object: names.label(wait.link.label).to_owned(),
    }
}
