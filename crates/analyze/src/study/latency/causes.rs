//! Time by cause.

use dwell_model::Delay;

const COUNT: usize = Delay::ALL.len();

/// Time by what it was lost to, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes([u64; COUNT]);

impl Causes {
    /// The time of one cause.
    pub fn of(&self, cause: Delay) -> u64 {
        self.0[usize::from(cause.code())]
    }

    /// Adds to the time of one cause.
    pub fn put(&mut self, cause: Delay, ns: u64) {
        let sum = &mut self.0[usize::from(cause.code())];
        *sum = sum.saturating_add(ns);
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Self) {
        other.iter().for_each(|(cause, ns)| self.put(cause, ns));
    }

    /// The causes with their time, those without left out.
    pub fn iter(&self) -> impl Iterator<Item = (Delay, u64)> + '_ {
        Delay::ALL.iter().map(|cause| (*cause, self.of(*cause))).filter(|(_, ns)| *ns > 0)
    }

    /// Time of all causes.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// Each a `count`th.
    #[must_use]
    pub fn divided(&self, count: u64) -> Self {
        Self(self.0.map(|ns| ns / count.max(1)))
    }

    /// The cause with the most time; of equal ones the first.
    pub fn main(&self) -> Option<(Delay, u64)> {
        self.iter().fold(None, |best, next| match best {
            Some((_, ns)) if ns >= next.1 => best,
            _ => Some(next),
        })
    }
}
