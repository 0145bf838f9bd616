//! What the front end knows of branches: directions, targets, and where calls return to.

use crate::cache::{Cache, Geometry};
use crate::description::{Branch, Replacement};
use crate::plan::Flow;
use crate::tage::Directions;

const TARGETS: usize = 4096;
const ADDRESS_BITS: u64 = (1 << 48) - 1;

/// How a prediction came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As predicted.
    Right,
    /// Found while it was decoded: the front end fetched the wrong code for some cycles.
    Resteered,
    /// Found when it was executed.
    Wrong,
}

/// A branch that was executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Executed {
    pub flow: Flow,
    /// The branch's own address.
    pub address: u64,
    /// Behind it.
    pub end: u64,
    /// Where the flow went.
    pub next: u64,
}

#[derive(Debug)]
pub(crate) struct Branches {
    directions: Directions,
    known: Cache,
    /// Targets of indirect branches by address and by address and path: the tag and the target.
    targets: Box<[(u64, u64)]>,
    path: u64,
    returns: Box<[u64]>,
    depth: usize,
}

impl Branches {
    pub fn new(branch: &Branch) -> Self {
        let ways = branch.btb_ways;
        let sets = branch.btb_entries / ways as u64;
        Self {
            directions: Directions::new(branch),
            known: Cache::new(Geometry { slices: 1, sets, ways, replacement: Replacement::Lru }),
            targets: vec![(u64::MAX, 0); 2 * TARGETS].into(),
            path: 0,
            returns: vec![0; branch.return_stack].into(),
            depth: 0,
        }
    }

    /// Predicts a branch, and learns how it was.
    #[inline]
    pub fn outcome(&mut self, branch: Executed) -> Outcome {
        let taken = branch.next != branch.end;
        match branch.flow {
            Flow::Falls | Flow::System => Outcome::Right,
            Flow::Conditional => {
                let right = self.directions.predicted(branch.address, taken);
                let known = !taken || self.is_known(branch.address);
                outcome(right, known)
            }
            Flow::Jump => outcome(true, self.is_known(branch.address)),
            Flow::Call => {
                self.push(branch.end);
                outcome(true, self.is_known(branch.address))
            }
            Flow::IndirectCall => {
                self.push(branch.end);
                outcome(self.target(branch), true)
            }
            Flow::IndirectJump => outcome(self.target(branch), true),
            Flow::Return => outcome(self.pop() == branch.next, true),
        }
    }

    fn is_known(&mut self, address: u64) -> bool {
        let key = (address & ADDRESS_BITS) >> 1;
        let known = self.known.touch(key).is_some();
        if !known {
            self.known.fill(key, 0, 0);
        }
        known
    }

    /// Whether an indirect branch's target was predicted: by the path to it, else by the branch alone.
    fn target(&mut self, branch: Executed) -> bool {
        let alone = branch.address ^ branch.address >> 12;
        let mixed = (branch.address ^ self.path).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (alone, pathed) = (alone as usize % TARGETS, TARGETS + mixed as usize % TARGETS);
        let tag = branch.address ^ self.path << 16;
        let (known, target) = self.targets[pathed];
        let predicted = if known == tag { target } else { self.targets[alone].1 };
        self.targets[alone] = (branch.address, branch.next);
        self.targets[pathed] = (tag, branch.next);
        self.path = (self.path << 5 ^ branch.next >> 1 ^ branch.next >> 9) & 0xffff_ffff;
        predicted == branch.next
    }

    fn push(&mut self, address: u64) {
        self.depth = if self.depth + 1 == self.returns.len() { 0 } else { self.depth + 1 };
        self.returns[self.depth] = address;
    }

    fn pop(&mut self) -> u64 {
        let address = self.returns[self.depth];
        self.depth = self.depth.checked_sub(1).unwrap_or(self.returns.len() - 1);
        address
    }
}

fn outcome(right: bool, known: bool) -> Outcome {
    match (right, known) {
        (false, _) => Outcome::Wrong,
        (true, false) => Outcome::Resteered,
        (true, true) => Outcome::Right,
    }
}
