//! Filters by the value of a counter: they keep the time in which it had such a value.
//!
//! A counter is of a process, its value holds until the next one, and before the first it has none. Where several processes
//! have a counter of the name, the time is kept in which any of theirs holds.

use dwell_store::Trace;

use crate::measure::quantile::median;
use crate::question::condition::Condition;
use crate::question::error::QueryError;
use crate::question::filter::{Filter, is_of_time};
use crate::question::query::Query;

/// More values than these are offered as halves.
const MOST_VALUES: usize = 12;

impl Condition<'_> {
    /// When it held, in order, ns; the last one may be open to the end.
    fn spans(&self, trace: &Trace) -> Vec<(u64, u64)> {
        let (counters, values) = (&trace.annotations.counters, &trace.annotations.counter_values);
        let is_meant: Vec<bool> = counters.name.iter().map(|name| name == self.name).collect();
        let mut holds = vec![false; counters.name.len()];
        let (mut holding, mut since, mut spans) = (0usize, 0, Vec::new());
        for (row, counter) in values.counter.iter().enumerate() {
            let Some(counter) = counter.get().filter(|counter| is_meant.get(*counter) == Some(&true)) else { continue };
            let (before, now) = (holds[counter], self.holds(values.value[row]));
            holds[counter] = now;
            match (before, now) {
                (false, true) => {
                    if holding == 0 {
                        since = values.time_ns[row];
                    }
                    holding += 1;
                }
                (true, false) => {
                    holding -= 1;
                    if holding == 0 && since < values.time_ns[row] {
                        spans.push((since, values.time_ns[row]));
                    }
                }
                _ => {}
            }
        }
        if holding > 0 {
            spans.push((since, u64::MAX));
        }
        spans
    }
}

/// The time that the counter filters of `query` leave out, ns. Fails when one names no counter of the result.
pub fn left_out(trace: &Trace, query: &Query) -> Result<Vec<(u64, u64)>, QueryError> {
    let mut left_out = match spans(trace, &query.filters)? {
        Some(kept) => gaps(kept),
        None => Vec::new(),
    };
    left_out.extend(spans(trace, &query.exclude)?.unwrap_or_default());
    Ok(left_out)
}

/// When any of the counter filters held; `None` when there is none.
fn spans(trace: &Trace, filters: &[Filter]) -> Result<Option<Vec<(u64, u64)>>, QueryError> {
    let names = || trace.annotations.counters.name.iter().map(String::as_str);
    let mut spans = None;
    for filter in filters.iter().filter(|filter| is_of_time(filter)) {
        let form = || QueryError::CounterForm { text: filter.value.clone() };
        let condition = Condition::parse(&filter.value).ok_or_else(form)?;
        if !names().any(|name| name == condition.name) {
            return Err(QueryError::unknown("counter", condition.name, names()));
        }
        spans.get_or_insert_with(Vec::new).extend(condition.spans(trace));
    }
    Ok(spans)
}

/// The time outside of `spans`.
fn gaps(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let (mut at, mut gaps) = (0, Vec::new());
    for (from, to) in spans {
        if at < from {
            gaps.push((at, from));
        }
        at = at.max(to);
    }
    gaps.push((at, u64::MAX));
    gaps
}

/// Conditions to choose from, each with the time in which it held, ns of `elapsed_ns`: the values of counters that take
/// few, halves of the others.
pub fn choices(trace: &Trace, elapsed_ns: u64) -> Vec<(String, u64)> {
    let mut names: Vec<&str> = trace.annotations.counters.name.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let conditions = names.into_iter().flat_map(|name| {
        let values = values_of(trace, name);
        let halves = |median: f64| [("<=", median), (">", median)].to_vec();
        let conditions = match values.as_slice() {
            [] => Vec::new(),
            values if values.len() <= MOST_VALUES => values.iter().map(|value| ("=", *value)).collect(),
            values => median(values).map_or_else(Vec::new, halves),
        };
        conditions.into_iter().map(move |(operator, limit)| Condition { name, operator, limit })
    });
    let timed = conditions.map(|condition| {
        let spans = condition.spans(trace).into_iter();
        let time: u64 = spans.map(|(from, to)| to.min(elapsed_ns).saturating_sub(from)).sum();
        (format!("{}{}{}", condition.name, condition.operator, condition.limit), time)
    });
    timed.collect()
}

/// The distinct values of the counters of a name, in order.
fn values_of(trace: &Trace, name: &str) -> Vec<f64> {
    let (counters, values) = (&trace.annotations.counters, &trace.annotations.counter_values);
    let is_meant: Vec<bool> = counters.name.iter().map(|it| it == name).collect();
    let of = |counter: usize| is_meant.get(counter) == Some(&true);
    let rows = (0..values.counter.len()).filter(|row| values.counter[*row].get().is_some_and(of));
    let mut found: Vec<f64> = rows.map(|row| values.value[row]).filter(|value| value.is_finite()).collect();
    found.sort_unstable_by(f64::total_cmp);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_rest() {
        assert_eq!(gaps(vec![(20, 30), (5, 10), (8, 12)]), [(0, 5), (12, 20), (30, u64::MAX)]);
        assert_eq!(gaps(vec![(0, u64::MAX)]), [(u64::MAX, u64::MAX)]);
        assert_eq!(gaps(Vec::new()), [(0, u64::MAX)]);
    }
}
