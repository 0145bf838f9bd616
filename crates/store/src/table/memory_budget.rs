//! How much memory the tables of a result may take once they are unpacked.
//!
//! A page of a few kB can say that it holds GBs, and a dictionary can stand for one long text a million times: whoever
//! made a result chose what reading it costs. What a recording takes is in proportion to its bytes on the disk, so that
//! is what is granted. The manifest's counts grant nothing, since the same person wrote them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What every result may take, bytes. Small and regular tables pack well: 100,000 equal rows take a few hundred bytes.
const GRANTED: u64 = 128 << 20;
/// What each byte on the disk adds, bytes. Events take about 4 times their size (docs/benchmarks-ui.md); frames of C++
/// programs more, since a long name is written once and held in each frame.
const PER_BYTE: u64 = 256;

/// Memory that was granted and memory that was taken, of all tables of one result.
#[derive(Debug)]
pub struct MemoryBudget {
    granted: AtomicU64,
    taken: AtomicU64,
    is_spent: AtomicBool,
}

/// More is needed than there is room for.
#[derive(Debug)]
pub struct BudgetSpent;

impl From<BudgetSpent> for String {
    fn from(_: BudgetSpent) -> Self {
        "it takes too much memory".into()
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self { granted: AtomicU64::new(GRANTED), taken: AtomicU64::new(0), is_spent: AtomicBool::new(false) }
    }
}

impl MemoryBudget {
    /// Grants what a file of so many bytes may take.
    pub(crate) fn grant(&self, bytes_on_disk: u64) {
        self.granted.fetch_add(bytes_on_disk.min(u64::MAX >> 16) * PER_BYTE, Ordering::Relaxed);
    }

    /// Takes `bytes`, before the memory is taken.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), BudgetSpent> {
        let granted = self.granted();
        let more = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= granted);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|_| {
            self.is_spent.store(true, Ordering::Relaxed);
            BudgetSpent
        })
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes granted so far.
    pub(crate) fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// Whether something was refused.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_can_be_taken_again_and_a_file_grants_more() {
        let budget = MemoryBudget::default();
        assert!(budget.take(GRANTED).is_ok() && !budget.is_spent());
        assert!(budget.take(1).is_err() && budget.is_spent());
        assert!(budget.take(u64::MAX).is_err());
        budget.give_back(GRANTED);
        budget.grant(10);
        assert!(budget.take(GRANTED + 10 * PER_BYTE).is_ok());
        assert!(budget.take(1).is_err());
        budget.grant(u64::MAX);
    }
}
