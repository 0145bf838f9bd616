//! When threads of a program collected garbage: a goroutine that is ready and does not run is behind the collector's, which have no rows.

use std::sync::OnceLock;

use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::intervals::{Activity, for_each_interval, union};
use crate::study::thread_index::{ThreadIndex, ThreadPiece};

/// Part of a time in which somebody must have collected for it to be the collector's.
const MOST: f64 = 0.5;

/// The times in which any thread collected garbage; looked for once somebody asks.
#[derive(Default)]
pub struct Collections {
    found: OnceLock<CollectionTimes>,
}

impl Collections {
    /// Those of a trace, by its samples.
    pub fn of(&self, trace: &Trace, index: &ThreadIndex<'_>, names: &Names<'_, '_>) -> &CollectionTimes {
        self.found.get_or_init(|| CollectionTimes::new(trace, index, names))
    }
}

/// The times of collections: in order, apart from one another.
pub struct CollectionTimes {
    spans: Vec<(u64, u64)>,
}

impl CollectionTimes {
    fn new(trace: &Trace, index: &ThreadIndex<'_>, names: &Names<'_, '_>) -> Self {
        let mut spans = Vec::new();
        for_each_interval(trace, |interval| {
            if interval.activity == Activity::Running {
                let (from, to) = (interval.from, interval.to);
                let run = ThreadPiece::running(from, to);
                index.split_running(interval.thread, run, &mut |piece| {
                    if names.known_run_place(piece.stack).1 {
                        spans.push((piece.from, piece.to));
                    }
                });
            }
        });
        Self { spans: union(spans) }
    }

    /// Whether somebody collected for most of a time.
    pub fn are_most_of(&self, (from, to): (u64, u64)) -> bool {
        let first = self.spans.partition_point(|span| span.1 <= from);
        let within = self.spans[first..].iter().take_while(|span| span.0 < to);
        let collected: u64 = within.map(|span| span.1.min(to) - span.0.max(from)).sum();
        collected as f64 >= MOST * (to - from) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_collectors_where_it_ran_for_most_of_it() {
        let collections = CollectionTimes { spans: union(vec![(20, 30), (0, 10), (8, 14)]) };
        assert_eq!(collections.spans, [(0, 14), (20, 30)]);
        assert!(collections.are_most_of((10, 18)));
        assert!(!collections.are_most_of((10, 20)));
        assert!(collections.are_most_of((5, 25)));
        assert!(!collections.are_most_of((30, 40)));
    }
}
