//! Lengths of waits, by key and context and by the class in which they began.

use crate::measure::bins::bin_of;

/// The lengths of the waits of one number that began in one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The number of key and context, see [`crate::engine::sums::Numbering`].
    pub number: u64,
    /// Class in which they began.
    pub class: u8,
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// How many there are in each bin of [`crate::measure::bins`], in order; empty for one or two waits, which are the
    /// shortest and the longest.
    pub bins: Vec<(u16, u32)>,
}

impl Run {
    /// One wait.
    pub fn one(number: u64, class: u8, ns: u64) -> Self {
        Self { number, class, count: 1, min: ns, max: ns, bins: Vec::new() }
    }

    /// The bins, also of one or two waits.
    pub fn for_each_bin(&self, mut tell: impl FnMut(u16, u64)) {
        match self.count {
            0 => {}
            1 => tell(bin_of(self.min), 1),
            2 => {
                tell(bin_of(self.min), 1);
                tell(bin_of(self.max), 1);
            }
            _ => self.bins.iter().for_each(|(bin, count)| tell(*bin, u64::from(*count))),
        }
    }

    /// Order of runs.
    pub fn place(&self) -> (u64, u8) {
        (self.number, self.class)
    }
}

/// The runs of waits.
pub fn runs_of(mut waits: Vec<(u64, u8, u64)>) -> Vec<Run> {
    waits.sort_unstable();
    let same = |a: &(u64, u8, u64), b: &(u64, u8, u64)| (a.0, a.1) == (b.0, b.1);
    waits.chunk_by(same).map(run_of).collect()
}

fn run_of(waits: &[(u64, u8, u64)]) -> Run {
    let (first, last) = (waits[0], waits[waits.len() - 1]);
    let count = waits.len() as u64;
    let mut run = Run { number: first.0, class: first.1, count, min: first.2, max: last.2, bins: Vec::new() };
    if count > 2 {
        for part in waits.chunk_by(|a, b| bin_of(a.2) == bin_of(b.2)) {
            run.bins.push((bin_of(part[0].2), part.len() as u32));
        }
    }
    run
}

/// The runs of several parts of the time, as one.
pub fn merged(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(Run::place);
    runs.chunk_by(|a, b| a.place() == b.place()).map(merge).collect()
}

fn merge(runs: &[Run]) -> Run {
    if let [run] = runs {
        return run.clone();
    }
    let mut bins: Vec<(u16, u32)> = Vec::new();
    runs.iter().for_each(|run| run.for_each_bin(|bin, count| bins.push((bin, count as u32))));
    bins.sort_unstable_by_key(|(bin, _)| *bin);
    let of_bin =
        |part: &[(u16, u32)]| (part[0].0, part.iter().fold(0u32, |sum, (_, count)| sum.saturating_add(*count)));
    let count = runs.iter().map(|run| run.count).sum();
    Run {
        number: runs[0].number,
        class: runs[0].class,
        count,
        min: runs.iter().map(|run| run.min).min().unwrap_or(0),
        max: runs.iter().map(|run| run.max).max().unwrap_or(0),
        bins: if count > 2 { bins.chunk_by(|a, b| a.0 == b.0).map(of_bin).collect() } else { Vec::new() },
    }
}
