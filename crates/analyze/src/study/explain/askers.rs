//! Who asks what a thread did: chains of waits, and how many waits ask through each.

use std::collections::BinaryHeap;

use smallvec::SmallVec;

use crate::study::explain::chains::NodeId;

/// Chains that ask, each with how many waits.
#[derive(Clone, Default)]
pub struct Askers(SmallVec<[(NodeId, u64); 2]>);

impl Askers {
    /// One wait asks through `node`.
    pub fn one(node: NodeId) -> Self {
        Self(SmallVec::from_slice(&[(node, 1)]))
    }

    /// Whether nobody asks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each chain, and how many waits ask through it.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.0.iter().copied()
    }

    /// So many more waits ask through `node`.
    pub fn add(&mut self, node: NodeId, waits: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == node) {
            Some((_, sum)) => *sum += waits,
            None => self.0.push((node, waits)),
        }
    }

    /// So many ask no more.
    fn take(&mut self, node: NodeId, waits: u64) {
        if let Some(at) = self.0.iter().position(|(known, _)| *known == node) {
            self.0[at].1 -= waits.min(self.0[at].1);
            if self.0[at].1 == 0 {
                self.0.swap_remove(at);
            }
        }
    }
}

/// What is asked of a thread where the walk is. Rows come latest first.
#[derive(Default)]
pub struct Asked {
    /// Who asks for the cells at hand.
    active: Askers,
    /// What is asked of cells that the walk has not reached: the last row, who, and the first row.
    ahead: BinaryHeap<(usize, NodeId, u64, usize)>,
    /// Rows behind whose cells one does not ask any more.
    until: BinaryHeap<(usize, NodeId, u64)>,
}

/// How many ask for cells that the walk has not reached.
pub type Open = usize;

impl Asked {
    /// Asks for the cells of the rows from `first` to `last`.
    pub fn ask(&mut self, askers: &Askers, (first, last): (usize, usize), open: &mut Open) {
        *open += askers.0.len();
        self.ahead.extend(askers.iter().map(|(node, waits)| (last, node, waits, first)));
    }

    /// Who asks for the cell of a row.
    pub fn reach(&mut self, row: usize) -> &Askers {
        while let Some((_, node, waits, first)) = self.ahead.peek().copied().filter(|(last, ..)| *last >= row) {
            self.ahead.pop();
            self.active.add(node, waits);
            self.until.push((first, node, waits));
        }
        &self.active
    }

    /// The cell of a row is explained.
    pub fn leave(&mut self, row: usize, open: &mut Open) {
        while let Some((_, node, waits)) = self.until.peek().copied().filter(|(first, ..)| *first >= row) {
            self.until.pop();
            *open -= 1;
            self.active.take(node, waits);
        }
    }
}
