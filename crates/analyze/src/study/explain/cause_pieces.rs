//! What happened when while one thread waited: the pieces that explain its wait, each at one thread, and the waits of others that
//! led there. A wait may have as many pieces as there are rows: only the longest are kept, the others are summed.

use std::cmp::Reverse;

use crate::study::explain::terms::{Cause, Link};

/// Pieces, and waits, that are kept before the shorter half is summed.
const KEPT: usize = 1 << 16;

/// A part of the wait: what one thread did then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausePiece {
    /// The thread.
    pub thread: usize,
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// What it did, or what ended its wait.
    pub cause: Cause,
}

impl CausePiece {
    /// Its length, ns.
    pub fn ns(&self) -> u64 {
        self.to - self.from
    }
}

/// A wait that is because of what another thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedWait {
    /// Who waited.
    pub thread: usize,
    /// Its off-CPU row.
    pub row: usize,
    /// Start of the part, ns.
    pub from: u64,
    /// End of the part, ns.
    pub to: u64,
    /// What for.
    pub link: Link,
}

impl LinkedWait {
    fn ns(&self) -> u64 {
        self.to - self.from
    }
}

/// What happened when.
#[derive(Default)]
pub struct CausePieces {
    pieces: Vec<CausePiece>,
    waits: Vec<LinkedWait>,
    dropped: usize,
    dropped_ns: u64,
}

/// The longest pieces and waits of one wait, in order of time.
#[derive(Debug)]
pub struct LongestPieces {
    /// The pieces: no two overlap.
    pub pieces: Vec<CausePiece>,
    /// Waits that led to them.
    pub waits: Vec<LinkedWait>,
    /// How many pieces there are besides.
    pub more: usize,
    /// Their time, ns: with that of the pieces it is all of the wait.
    pub more_ns: u64,
}

impl CausePieces {
    /// A thread did something.
    pub fn add_piece(&mut self, thread: usize, (from, to): (u64, u64), cause: Cause) {
        self.pieces.push(CausePiece { thread, from, to, cause });
        if self.pieces.len() >= KEPT {
            self.drop_shorter(KEPT / 2);
        }
    }

    /// A wait of a thread goes on with what another one did.
    pub fn add_wait(&mut self, thread: usize, row: usize, (from, to): (u64, u64), link: Link) {
        self.waits.push(LinkedWait { thread, row, from, to, link });
        if self.waits.len() >= KEPT {
            keep_longest(&mut self.waits, KEPT / 2, LinkedWait::ns);
        }
    }

    /// The longest `most` pieces, and as many waits.
    pub fn longest(mut self, most: usize, is_same: impl Fn(&Cause, &Cause) -> bool) -> LongestPieces {
        self.pieces.sort_by_key(|piece| piece.from);
        self.pieces.dedup_by(|next, before| {
            let joins = next.thread == before.thread && next.from == before.to && is_same(&next.cause, &before.cause);
            if joins {
                before.to = next.to;
            }
            joins
        });
        self.drop_shorter(most);
        self.waits.sort_by_key(|wait| (wait.thread, wait.row, wait.from));
        self.waits.dedup_by(|next, before| {
            let joins = (next.thread, next.row) == (before.thread, before.row) && next.from <= before.to;
            if joins {
                before.to = before.to.max(next.to);
            }
            joins
        });
        keep_longest(&mut self.waits, most, LinkedWait::ns);
        self.pieces.sort_by_key(|piece| piece.from);
        self.waits.sort_by_key(|wait| (wait.from, wait.thread));
        LongestPieces { pieces: self.pieces, waits: self.waits, more: self.dropped, more_ns: self.dropped_ns }
    }

    fn drop_shorter(&mut self, most: usize) {
        let dropped = keep_longest(&mut self.pieces, most, CausePiece::ns);
        self.dropped += dropped.len();
        self.dropped_ns += dropped.iter().map(CausePiece::ns).sum::<u64>();
    }
}

/// Keeps the `most` longest; returns the others.
fn keep_longest<T: Copy>(all: &mut Vec<T>, most: usize, ns: impl Fn(&T) -> u64) -> Vec<T> {
    if all.len() <= most {
        return Vec::new();
    }
    all.sort_by_key(|one| Reverse(ns(one)));
    all.split_off(most)
}
