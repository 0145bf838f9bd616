//! A number that is known at instants, and is taken to stay until the next one: how many requests wait, from look to look.

/// How long a number is taken to stay at most, ns: nobody looked for longer than that.
const MOST_HELD_NS: u64 = 2_000_000_000;

/// Since when it is what, in order of time.
#[derive(Debug, Default)]
pub struct StepFunction(pub Vec<(u64, u32)>);

impl StepFunction {
    /// The sum of several.
    pub fn sum<'s>(all: impl Iterator<Item = &'s StepFunction>) -> Self {
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for StepFunction(steps) in all {
            let mut before = 0;
            for (time, number) in steps {
                changes.push((*time, i64::from(*number) - before));
                before = i64::from(*number);
            }
        }
        changes.sort_unstable();
        let mut sum = 0;
        let steps = changes.into_iter().map(|(time, change)| {
            sum += change;
            (time, u32::try_from(sum.max(0)).unwrap_or(u32::MAX))
        });
        let mut steps: Vec<(u64, u32)> = steps.collect();
        steps.reverse(); // of one time the last one stands
        steps.dedup_by_key(|(time, _)| *time);
        steps.reverse();
        Self(steps)
    }

    /// Each step from when to when.
    fn each(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        let ends = self.0.iter().skip(1).map(|(time, _)| *time).chain([u64::MAX]);
        self.0.iter().zip(ends).map(|((from, number), to)| (*from, to.min(from.saturating_add(MOST_HELD_NS)), *number))
    }

    /// When it is at least so much.
    pub fn at_least(&self, least: u32) -> impl Iterator<Item = (u64, u64)> {
        self.each().filter(move |(_, _, number)| *number >= least).map(|(from, to, _)| (from, to))
    }

    /// When it is more than 0, before `end`.
    pub fn spans(&self, end: u64) -> Vec<(u64, u64)> {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (from, to) in self.at_least(1).map(|(from, to)| (from.min(end), to.min(end))) {
            match spans.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ if from < to => spans.push((from, to)),
                _ => {}
            }
        }
        spans
    }

    /// Its mean within spans.
    pub fn mean(&self, spans: &[(u64, u64)]) -> f64 {
        let weighted: f64 =
            self.each().map(|(from, to, number)| f64::from(number) * overlap_ns(spans, (from, to)) as f64).sum();
        let all_ns: u64 = spans.iter().map(|(from, to)| to - from).sum();
        weighted / all_ns.max(1) as f64
    }

    /// The most within spans.
    pub fn most(&self, spans: &[(u64, u64)]) -> u32 {
        let within = |(from, to, _): &(u64, u64, u32)| overlap_ns(spans, (*from, *to)) > 0;
        self.each().filter(within).map(|(_, _, number)| number).max().unwrap_or(0)
    }
}

/// How much of a time is within spans, which are in order.
pub fn overlap_ns(spans: &[(u64, u64)], (from, to): (u64, u64)) -> u64 {
    let first = spans.partition_point(|(_, end)| *end <= from);
    let within = spans[first..].iter().take_while(|(start, _)| *start < to);
    within.map(|(start, end)| (*end).min(to).saturating_sub((*start).max(from))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps() -> impl Strategy<Value = StepFunction> {
        let step = (1..500_000_000u64, 0..20u32);
        proptest::collection::vec(step, 0..20).prop_map(|steps| {
            let mut time = 0;
            let at = |(gap, number)| {
                time += gap;
                (time, number)
            };
            StepFunction(steps.into_iter().map(at).collect())
        })
    }

    proptest! {
        #[test]
        fn means_and_spans_of_a_sum_are_those_of_its_parts(one in steps(), other in steps()) {
            let whole = [(0, 20_000_000_000)];
            let sum = StepFunction::sum([&one, &other].into_iter());
            // Nobody looks for longer than a number is held but at the end.
            let end = one.0.last().map_or(0, |last| last.0).min(other.0.last().map_or(0, |last| last.0));
            let spans = [(0, end)];
            prop_assert!((sum.mean(&spans) - one.mean(&spans) - other.mean(&spans)).abs() < 1e-6);
            prop_assert!(sum.most(&spans) <= one.most(&spans) + other.most(&spans));
            let of_spans: u64 = sum.spans(u64::MAX).iter().map(|(from, to)| to - from).sum();
            let at_least_one: u64 = sum.at_least(1).map(|(from, to)| to - from).sum();
            prop_assert_eq!(of_spans, at_least_one);
            prop_assert!(sum.spans(u64::MAX).iter().all(|(from, to)| from < to && overlap_ns(&whole, (*from, *to)) == to - from));
        }
    }
}
