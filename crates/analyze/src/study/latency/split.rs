//! How an outlier's time over the median is split among its causes.

use dwell_model::Delay;

use crate::study::latency::causes::Causes;

/// The parts of an outlier's time over the median: they add up to it, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// By cause.
    pub causes: Causes,
    /// What no cause explains.
    pub unexplained_ns: u64,
}

impl Split {
    /// The cause with the largest part; what is unexplained counts as one.
    pub fn main(&self) -> Delay {
        match self.causes.main() {
            Some((cause, ns)) if ns >= self.unexplained_ns => cause,
            _ => Delay::Unexplained,
        }
    }
}

/// Splits `over_ns` among `causes`, each less what is `usual`. Where that is more than there is to explain, since the
/// thread's own work took less time than usual, each gets its proportion.
pub fn split(over_ns: u64, causes: &Causes, usual: &Causes) -> Split {
    let mut excess = Causes::default();
    causes.iter().for_each(|(cause, ns)| excess.put(cause, ns.saturating_sub(usual.of(cause))));
    let total_ns = excess.total_ns();
    if total_ns <= over_ns {
        return Split { causes: excess, unexplained_ns: over_ns - total_ns };
    }
    Split { causes: in_proportion(&excess, total_ns, over_ns), unexplained_ns: 0 }
}

/// `causes`, which sum to `total_ns`, cut to sum to `wanted_ns`. What rounding leaves goes to the largest remainders.
fn in_proportion(causes: &Causes, total_ns: u64, wanted_ns: u64) -> Causes {
    let mut cut = Causes::default();
    let mut remainders: Vec<(u128, Delay)> = Vec::new();
    for (cause, ns) in causes.iter() {
        let product = u128::from(ns) * u128::from(wanted_ns);
        cut.put(cause, (product / u128::from(total_ns)) as u64);
        remainders.push((product % u128::from(total_ns), cause));
    }
    remainders.sort_by_key(|(remainder, cause)| (std::cmp::Reverse(*remainder), *cause));
    let left = wanted_ns - cut.total_ns();
    for (_, cause) in remainders.into_iter().take(left as usize) {
        cut.put(cause, 1);
    }
    cut
}
