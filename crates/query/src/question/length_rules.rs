//! Which waits a query takes by their lengths.

use std::ops::Range;

use crate::question::filter::{Filter, FilterKey};
use crate::question::lengths::parse_lengths;
use crate::question::query::Query;

/// Which lengths are asked for.
pub struct LengthRules {
    taken: Vec<Range<u64>>,
    left_out: Vec<Range<u64>>,
}

impl LengthRules {
    /// The filters by length of `query`, when it has any.
    pub fn of_query(query: &Query) -> Option<Self> {
        let ranges = |filters: &[Filter]| -> Vec<Range<u64>> {
            let of_lengths = filters.iter().filter(|filter| filter.key == FilterKey::WaitLength);
            of_lengths.filter_map(|filter| parse_lengths(&filter.value)).collect()
        };
        let rules = Self { taken: ranges(&query.filters), left_out: ranges(&query.exclude) };
        (!rules.taken.is_empty() || !rules.left_out.is_empty()).then_some(rules)
    }

    /// Whether they take waits of this length, ns.
    pub fn take(&self, wait_ns: u64) -> bool {
        let within = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&wait_ns));
        (self.taken.is_empty() || within(&self.taken)) && !within(&self.left_out)
    }
}
