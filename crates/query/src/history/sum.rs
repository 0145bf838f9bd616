//! Times of states in one bucket, while they are summed.

use crate::history::states::{STATES, TimelineState};

/// A bucket while it is summed.
#[derive(Clone)]
pub struct Sum {
    /// Time of each state.
    pub times: [u64; STATES],
    /// What has the longest piece, and its length.
    pub longest: (u64, u32),
    /// Samples in it.
    pub samples: u32,
}

impl Default for Sum {
    fn default() -> Self {
        Self { times: [0; STATES], longest: (0, u32::MAX), samples: 0 }
    }
}

impl Sum {
    /// Adds a piece, or a part of one; `owner` is `u32::MAX` for nobody.
    pub fn add(&mut self, state: TimelineState, ns: u64, owner: u32) {
        self.times[state.index()] += ns;
        if owner != u32::MAX && ns > self.longest.0 {
            self.longest = (ns, owner);
        }
    }
}
