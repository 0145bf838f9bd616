//! The parts of the collection that a query looks at: its range without the pauses.

use dwell_store::Trace;

use crate::question::counter_time;
use crate::question::error::QueryError;
use crate::question::query::Query;

/// Disjoint intervals `from .. to` in order of time, ns since the start of the collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    parts: Vec<(u64, u64)>,
    /// Whether they reach the end of the collection: then its last instant belongs to them too.
    to_the_end: bool,
}

/// A stretch of time that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Start, ns.
    pub from: u64,
    /// End.
    pub to: u64,
    /// Whether its last instant belongs to it: it ends with the collection.
    pub to_the_end: bool,
}

impl Part {
    /// Whether the instant belongs to it or comes before.
    pub fn has(&self, time: u64) -> bool {
        time < self.to || (self.to_the_end && time == self.to)
    }
}

/// Length of the collection; of one that died before it could say, up to the last thread's end.
pub fn elapsed_ns(trace: &Trace) -> u64 {
    let last = || trace.threads.end_ns.iter().copied().max().unwrap_or(0);
    if trace.manifest.end_ns > trace.manifest.start_ns { trace.elapsed_ns() } else { last() }
}

impl Windows {
    /// The windows of `query`. Fails when its range has no time in it.
    pub fn of_query(trace: &Trace, query: &Query) -> Result<Self, QueryError> {
        let elapsed_ns = elapsed_ns(trace);
        let (from, to) = query.range.unwrap_or((0, elapsed_ns));
        let to = to.min(elapsed_ns);
        if query.range.is_some() && from >= to {
            return Err(QueryError::EmptyRange { elapsed_ns });
        }
        let excluded = excluded(trace, query)?;
        let is_cut = !excluded.is_empty();
        let mut left_out = pauses(trace);
        left_out.extend(excluded);
        left_out.sort_unstable();
        let windows = Self::without(from, to, left_out);
        if windows.parts.is_empty() && is_cut {
            return Err(QueryError::EmptyRange { elapsed_ns });
        }
        Ok(windows.with_the_end(elapsed_ns))
    }

    /// Length of what `query` looks at, pauses included.
    pub fn elapsed_ns(trace: &Trace, query: &Query) -> u64 {
        Self::spans(trace, query).iter().map(|(from, to)| to - from).sum()
    }

    /// What `query` looks at, pauses included, in order.
    pub fn spans(trace: &Trace, query: &Query) -> Vec<(u64, u64)> {
        let elapsed_ns = elapsed_ns(trace);
        let (from, to) = query.range.unwrap_or((0, elapsed_ns));
        let mut left_out = excluded(trace, query).unwrap_or_default(); // who asks has asked for the windows before
        left_out.sort_unstable();
        Self::without(from, to.min(elapsed_ns), left_out).parts
    }

    /// The pieces of `from .. to` inside them.
    pub fn inside(&self, from: u64, to: u64) -> impl Iterator<Item = Part> + '_ {
        let end = self.parts.last().map_or(0, |(_, end)| *end);
        self.clip(from, to).map(move |(from, to)| Part { from, to, to_the_end: self.to_the_end && to == end })
    }

    /// Those of parts, which are in order.
    pub fn of_parts(parts: &[Part]) -> Self {
        let to_the_end = parts.last().is_some_and(|part| part.to_the_end);
        Self { parts: parts.iter().map(|part| (part.from, part.to)).collect(), to_the_end }
    }

    /// The whole collection.
    pub fn whole(trace: &Trace) -> Self {
        Self::without(0, elapsed_ns(trace), pauses(trace)).with_the_end(elapsed_ns(trace))
    }

    /// The last instant of the collection belongs to windows that reach it.
    fn with_the_end(self, elapsed_ns: u64) -> Self {
        let to_the_end = self.parts.last().is_some_and(|(_, end)| *end == elapsed_ns);
        Self { to_the_end, ..self }
    }

    /// `from .. to` without `left_out`, which are in order of their starts.
    fn without(from: u64, to: u64, left_out: Vec<(u64, u64)>) -> Self {
        let mut parts = Vec::new();
        let mut start = from;
        for (pause_start, pause_end) in left_out {
            let end = pause_start.min(to);
            if start < end {
                parts.push((start, end));
            }
            start = start.max(pause_end);
        }
        if start < to {
            parts.push((start, to));
        }
        Self { parts, to_the_end: false }
    }

    /// The intervals.
    pub fn parts(&self) -> &[(u64, u64)] {
        &self.parts
    }

    /// From the begin of the first part to the end of the last.
    pub fn bounds(&self) -> (u64, u64) {
        let (first, last) = (self.parts.first(), self.parts.last());
        first.zip(last).map_or((0, 0), |((from, _), (_, to))| (*from, *to))
    }

    /// Time in all of them.
    pub fn length_ns(&self) -> u64 {
        self.parts.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether the instant belongs to them: each has its start and not its end, but for the end of the collection.
    pub fn contains(&self, time: u64) -> bool {
        let index = self.parts.partition_point(|(from, _)| *from <= time);
        let Some((_, to)) = index.checked_sub(1).and_then(|index| self.parts.get(index)) else { return false };
        time < *to || (time == *to && self.to_the_end && index == self.parts.len())
    }

    /// The pieces of `from .. to` inside them.
    pub fn clip(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.parts.partition_point(|(_, end)| *end <= from);
        let pieces = self.parts[first..].iter().take_while(move |(start, _)| *start < to);
        pieces.map(move |(start, end)| (from.max(*start), to.min(*end)))
    }

    /// Time of `from .. to` inside them.
    pub fn overlap_ns(&self, from: u64, to: u64) -> u64 {
        self.clip(from, to).map(|(from, to)| to.saturating_sub(from)).sum()
    }
}

/// What the query leaves out, by times and by values of counters.
fn excluded(trace: &Trace, query: &Query) -> Result<Vec<(u64, u64)>, QueryError> {
    let mut excluded = counter_time::left_out(trace, query)?;
    excluded.extend(&query.excluded_ranges);
    excluded.retain(|(from, to)| from < to);
    Ok(excluded)
}

/// The pauses, in order and without overlap.
pub fn pauses(trace: &Trace) -> Vec<(u64, u64)> {
    let mut pauses: Vec<_> = trace.pauses.start_ns.iter().copied().zip(trace.pauses.end_ns.iter().copied()).collect();
    pauses.sort_unstable();
    pauses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_left_out() {
        let windows = Windows::without(10, 100, vec![(0, 20), (15, 18), (40, 50), (90, 200)]);
        assert_eq!(windows.parts(), [(20, 40), (50, 90)]);
        assert_eq!(windows.length_ns(), 60);
        assert_eq!(windows.overlap_ns(30, 60), 20);
        assert_eq!(windows.overlap_ns(40, 50), 0);
        let inside = |times: &[u64]| times.iter().map(|&time| windows.contains(time)).collect::<Vec<_>>();
        assert_eq!(inside(&[19, 20, 39, 40, 50, 89, 90, 91]), [false, true, true, false, true, true, false, false]);
    }
}
