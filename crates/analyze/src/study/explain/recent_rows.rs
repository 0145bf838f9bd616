//! The off-CPU rows of threads near where one looked last, decoded: the walk goes back in time in all threads at once, and meets
//! the same few rows of each again and again. It takes no more memory than two pieces of each thread.

use std::ops::Range;

use dwell_store::{Events, Trace};

use crate::study::thread_index::{Bounds, ThreadIndex};

/// Rows of a piece.
const PIECE: usize = 128;

/// An off-CPU row.
#[derive(Clone, Copy, Default)]
pub struct Row {
    /// When the thread left the CPU, was woken, and ran again.
    pub bounds: Bounds,
    /// Number of the key.
    pub key: u32,
    /// CPU that it then ran on.
    pub cpu: u16,
}

/// Successive rows of a thread.
#[derive(Default)]
struct Piece {
    first: usize,
    rows: Vec<Row>,
}

impl Piece {
    fn row(&self, row: usize) -> Option<Row> {
        self.rows.get(row.wrapping_sub(self.first)).copied()
    }

    /// The first row that does not begin before `time`, where one before it and it are in the piece.
    fn behind(&self, time: u64) -> Option<usize> {
        let is_before = |row: &Row| row.bounds.start < time;
        if !self.rows.first().is_some_and(is_before) || self.rows.last().is_some_and(is_before) {
            return None;
        }
        Some(self.first + self.rows.partition_point(is_before))
    }
}

/// The rows of a trace's threads.
pub struct RecentRows<'t> {
    index: ThreadIndex<'t>,
    events: &'t Events,
    /// Of each thread: the piece looked at last, and the one before.
    pieces: Vec<[Piece; 2]>,
}

impl<'t> RecentRows<'t> {
    /// Those of a trace; none is decoded yet.
    pub fn new(trace: &'t Trace) -> Self {
        let pieces = (0..trace.threads.tid.len()).map(|_| Default::default()).collect();
        Self { index: ThreadIndex::new(trace), events: trace.events(), pieces }
    }

    /// Numbers of a thread's rows.
    pub fn of(&self, thread: usize) -> Range<usize> {
        self.events.off_cpu.of(thread)
    }

    /// A row of a thread.
    #[inline]
    pub fn row(&mut self, thread: usize, row: usize) -> Row {
        let [last, before] = &self.pieces[thread];
        match last.row(row).or_else(|| before.row(row)) {
            Some(row) => row,
            None => self.decoded(thread, row),
        }
    }

    /// The first of a thread's rows that does not begin before `time`.
    #[inline]
    pub fn behind(&self, thread: usize, time: u64) -> usize {
        let [last, before] = &self.pieces[thread];
        let known = last.behind(time).or_else(|| before.behind(time));
        known.unwrap_or_else(|| self.events.off_cpu.partition_point(self.of(thread), |start| start < time))
    }

    /// Decodes the piece that a row is in.
    #[cold]
    fn decoded(&mut self, thread: usize, row: usize) -> Row {
        let all = self.of(thread);
        let first = row - (row - all.start) % PIECE;
        let pieces = &mut self.pieces[thread];
        pieces.swap(0, 1);
        let piece = &mut pieces[0];
        piece.first = first;
        piece.rows.clear();
        self.index.for_each(thread, first..all.end.min(first + PIECE), |bounds, key, cpu| {
            piece.rows.push(Row { bounds, key, cpu });
        });
        piece.row(row).unwrap_or_default() // of a damaged file
    }
}
