//! Which counters tell long waits from short ones.
//!
//! A counter says something of a wait when its thread sets it beside the wait: the number of bytes received right after
//! a `recv`, the number sent right before. Which side it is shows in the times between: the nearer one, by the median
//! over all waits on the object, is taken, whatever the values. A wait has the first value set behind it before the
//! thread waits on the object again, or the last value set before it and after the wait before. A counter that the
//! thread never sets stands for the state of its process: its value when the wait began.
//!
//! Waits are short or long by the humps of their histogram, cut at the widest gap between two humps. The measure is the
//! probability that a value beside a long wait is above one beside a short wait (Mann and Whitney's U), as a distance
//! from chance: 1 when no two values are on the wrong sides of each other, 0 when they are mixed.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{CounterId, ObjectId, StackId, ThreadId};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::histogram::histogram_of;
use dwell_query::measure::quantile::median;

/// Where the value of a wait comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beside {
    /// The thread set it right before the wait.
    Before,
    /// The thread set it right after the wait.
    After,
    /// Other threads set it: its value when the wait began.
    Meanwhile,
}

impl Beside {
    /// The words on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Meanwhile => "meanwhile",
        }
    }
}

/// The short or the long waits of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// How many have a value of the counter.
    pub count: usize,
    /// Median of their lengths, ns.
    pub wait_ns: u64,
    /// Sum of their lengths, ns.
    pub total_ns: u64,
    /// Median of the counter's values.
    pub value: f64,
}

/// A counter that tells the long waits on an object from the short ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// What was waited on.
    pub object: ObjectId,
    /// The counter.
    pub counter: CounterId,
    /// Where its values come from.
    pub beside: Beside,
    /// Short waits.
    pub short: Side,
    /// Long waits.
    pub long: Side,
    /// From 0 to 1, see above.
    pub separation: f64,
    /// Stack with the most time of long waits.
    pub stack: StackId,
}

/// Waits of each kind from which a correlation is no accident.
const LEAST_WAITS: usize = 5;
/// Separation from which a counter tells them apart.
pub const SEPARATES: f64 = 0.8;
/// How much longer a long wait is at least.
const LONGER: f64 = 3.0;

/// One wait: thread, start, end, ns, length, stack.
struct Wait {
    thread: ThreadId,
    start: u64,
    end: u64,
    ns: u64,
    stack: StackId,
}

/// The counters that separate the waits of each object, the object with the most time in long waits first.
pub fn correlations(fold: &Fold<'_>) -> Vec<Correlation> {
    if fold.trace.annotations.counter_values.time_ns.is_empty() {
        return Vec::new();
    }
    let values = Values::new(fold);
    let mut found = Vec::new();
    for (object, waits) in waits_by_object(fold) {
        let Some(limit) = limit(&waits) else { continue };
        for counter in values.counters(fold, &waits) {
            found.extend(correlation(&values, (object, counter), &waits, limit));
        }
    }
    let rank = |it: &Correlation| (it.long.total_ns, (it.separation * 1e6) as u64);
    found.sort_by_key(|it| (std::cmp::Reverse(rank(it)), it.object, it.counter));
    found
}

/// The selected waits by object, each object's by thread in order of time.
fn waits_by_object(fold: &Fold<'_>) -> BTreeMap<ObjectId, Vec<Wait>> {
    let off_cpu = &fold.trace.events().off_cpu;
    let mut waits: BTreeMap<ObjectId, Vec<Wait>> = BTreeMap::new();
    for (row, site) in &fold.rows().rows {
        let (row, site) = (*row as usize, &fold.sums.sites[*site as usize]);
        if site.selected && site.is_wait() && site.key.object.is_some() {
            let wait = Wait {
                thread: site.key.thread,
                start: off_cpu.start_ns(row),
                end: off_cpu.end_ns(row),
                ns: off_cpu.wait_ns(row),
                stack: site.key.stack,
            };
            waits.entry(site.key.object).or_default().push(wait);
        }
    }
    waits.values_mut().for_each(|waits| waits.sort_by_key(|wait| (wait.thread, wait.start)));
    waits
}

/// The length from which waits are long: in the widest gap between two humps; none when there is but one.
fn limit(waits: &[Wait]) -> Option<u64> {
    if waits.len() < 2 * LEAST_WAITS {
        return None;
    }
    let humps = histogram_of(waits.iter().map(|wait| wait.ns)).humps;
    let centres: Vec<u64> = humps.iter().map(|hump| hump.centre_ns).collect();
    let gap = |pair: &&[u64]| pair[1] as f64 / pair[0].max(1) as f64;
    let widest = centres.windows(2).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let limit = (widest[0] as f64 * widest[1] as f64).sqrt();
    (gap(&widest) >= LONGER).then_some(limit as u64)
}

/// Times and values of a counter, in order of time.
type Series = Vec<(u64, f64)>;

/// The values of all counters, by the thread that set them.
struct Values {
    of_thread: HashMap<(CounterId, ThreadId), Series>,
    of_counter: BTreeMap<CounterId, Series>,
}

impl Values {
    fn new(fold: &Fold<'_>) -> Self {
        let said = &fold.trace.annotations.counter_values;
        let mut values = Self { of_thread: HashMap::new(), of_counter: BTreeMap::new() };
        // What no thread set Dwell measured: that less goes over a socket while one waits for it explains nothing.
        for row in (0..said.time_ns.len()).filter(|row| said.thread[*row].is_some()) {
            let (counter, value) = (said.counter[row], (said.time_ns[row], said.value[row]));
            values.of_thread.entry((counter, said.thread[row])).or_default().push(value);
            values.of_counter.entry(counter).or_default().push(value);
        }
        values
    }

    /// The counters that can say something of these waits: those of the waiting threads' processes, and those of none.
    fn counters(&self, fold: &Fold<'_>, waits: &[Wait]) -> Vec<CounterId> {
        let process = |thread: ThreadId| thread.get().and_then(|row| fold.trace.threads.process.get(row)).copied();
        let mut processes: Vec<_> = waits.iter().filter_map(|wait| process(wait.thread)).collect();
        processes.sort_unstable();
        processes.dedup();
        let owner = |counter: &&CounterId| {
            let owner = counter.get().and_then(|row| fold.trace.annotations.counters.process.get(row)).copied();
            owner.is_some_and(|owner| !owner.is_some() || processes.contains(&owner))
        };
        self.of_counter.keys().filter(owner).copied().collect()
    }

    /// The value of each wait, and from which side of the waits it is.
    fn beside(&self, counter: CounterId, waits: &[Wait]) -> (Beside, Vec<Option<f64>>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for of_thread in waits.chunk_by(|a, b| a.thread == b.thread) {
            let Some(series) = self.of_thread.get(&(counter, of_thread[0].thread)) else {
                before.resize(before.len() + of_thread.len(), None);
                after.resize(after.len() + of_thread.len(), None);
                continue;
            };
            for (index, wait) in of_thread.iter().enumerate() {
                let since = index.checked_sub(1).map_or(0, |last| of_thread[last].end);
                let until = of_thread.get(index + 1).map_or(u64::MAX, |next| next.start);
                let behind = series.partition_point(|(time, _)| *time <= wait.start);
                let last = behind.checked_sub(1).map(|last| series[last]).filter(|(time, _)| *time >= since);
                before.push(last.map(|(time, value)| (wait.start - time, value)));
                let next = series[behind..].partition_point(|(time, _)| *time < wait.end) + behind;
                let next = series.get(next).filter(|(time, _)| *time <= until);
                after.push(next.map(|(time, value)| (time - wait.end, *value)));
            }
        }
        let value = |side: Vec<Option<(u64, f64)>>| side.into_iter().map(|it| Some(it?.1)).collect::<Vec<_>>();
        match (distance(&before), distance(&after)) {
            (None, None) => (Beside::Meanwhile, self.meanwhile(counter, waits)),
            (Some(gap), Some(other)) if gap < other => (Beside::Before, value(before)),
            (_, Some(_)) => (Beside::After, value(after)),
            (Some(_), None) => (Beside::Before, value(before)),
        }
    }

    fn meanwhile(&self, counter: CounterId, waits: &[Wait]) -> Vec<Option<f64>> {
        let series = self.of_counter.get(&counter).map_or(&[][..], Vec::as_slice);
        let value = |wait: &Wait| {
            let behind = series.partition_point(|(time, _)| *time <= wait.start);
            Some(series[behind.checked_sub(1)?].1)
        };
        waits.iter().map(value).collect()
    }
}

/// Median distance of the values from their waits; none when fewer than half of the waits have one.
fn distance(side: &[Option<(u64, f64)>]) -> Option<u64> {
    let mut gaps: Vec<u64> = side.iter().flatten().map(|(gap, _)| *gap).collect();
    gaps.sort_unstable();
    (gaps.len() * 2 >= side.len()).then(|| median(&gaps)).flatten()
}

fn correlation(
    values: &Values,
    (object, counter): (ObjectId, CounterId),
    waits: &[Wait],
    limit: u64,
) -> Option<Correlation> {
    let (beside, of_waits) = values.beside(counter, waits);
    let known = || waits.iter().zip(&of_waits).filter_map(|(wait, value)| Some((wait, (*value)?)));
    let (long, short): (Vec<_>, Vec<_>) = known().partition(|(wait, _)| wait.ns >= limit);
    if long.len() < LEAST_WAITS || short.len() < LEAST_WAITS {
        return None;
    }
    let separation = separation(&short, &long);
    let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
    long.iter().for_each(|(wait, _)| *stacks.entry(wait.stack).or_default() += wait.ns);
    let stack = stacks.into_iter().max_by_key(|(_, ns)| *ns).map_or(StackId::NONE, |(stack, _)| stack);
    let found = Correlation { object, counter, beside, short: side(&short), long: side(&long), separation, stack };
    (separation >= SEPARATES).then_some(found)
}

fn side(waits: &[(&Wait, f64)]) -> Side {
    let mut lengths: Vec<u64> = waits.iter().map(|(wait, _)| wait.ns).collect();
    let mut values: Vec<f64> = waits.iter().map(|(_, value)| *value).collect();
    lengths.sort_unstable();
    values.sort_by(f64::total_cmp);
    Side {
        count: waits.len(),
        wait_ns: median(&lengths).unwrap_or(0),
        total_ns: lengths.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
        value: median(&values).unwrap_or(0.0),
    }
}

/// Distance from chance of the probability that a value of `long` is above one of `short`, equal ones counting half.
fn separation(short: &[(&Wait, f64)], long: &[(&Wait, f64)]) -> f64 {
    let mut sorted: Vec<f64> = short.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let above = |value: f64| {
        let below = sorted.partition_point(|other| *other < value);
        let equal = sorted.partition_point(|other| *other <= value) - below;
        below as f64 + equal as f64 / 2.0
    };
    let sum: f64 = long.iter().map(|(_, value)| above(*value)).sum();
    (2.0 * sum / (short.len() * long.len()) as f64 - 1.0).abs()
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;

    fn found(picture: &str) -> Vec<(String, &'static str, f64, f64)> {
        let (trace, query) = (trace(picture), Query::default());
        let fold = Fold::new(&trace, &query).unwrap();
        let name = |it: &Correlation| trace.annotations.counters.name[it.counter.get().unwrap()].clone();
        correlations(&fold).iter().map(|it| (name(it), it.beside.id(), it.short.value, it.long.value)).collect()
    }

    /// A turn of a client: it sends, waits for the answer, and counts what came.
    fn turns(pattern: &[(&str, &str, &str)]) -> String {
        let part = |which: fn(&(&str, &str, &str)) -> String| pattern.iter().map(which).collect::<String>();
        let (thread, sent) = (part(|it| it.0.to_owned()), part(|it| it.1.to_owned()));
        format!("a: {thread}\na sent: {sent}\na received: {}\n", part(|it| it.2.to_owned()))
    }

    const SHORT: (&str, &str, &str) = ("##n####", "  5    ", "   9   ");
    const LONG: (&str, &str, &str) = ("##nnnnnnnnnnnnnnn####", "  5                  ", "                 1   ");

    #[test]
    fn a_value_right_after_a_wait_is_of_that_wait() {
        // Short and long ones take turns: the value before each wait would say the contrary.
        let pattern: Vec<_> = (0..8).flat_map(|_| [SHORT, LONG]).collect();
        assert_eq!(found(&turns(&pattern)), [("received".to_owned(), "after", 9.0, 1.0)]);
    }

    #[test]
    fn a_value_right_before_a_wait_is_of_that_wait() {
        let small = ("##nnnnnnnnnnnnnnn####", " 1                   ", "");
        let large = ("##n####", " 9     ", "");
        let pattern: Vec<_> = (0..8).flat_map(|_| [large, small]).collect();
        let turns = turns(&pattern).replace("a received: \n", "");
        assert_eq!(found(&turns), [("sent".to_owned(), "before", 9.0, 1.0)]);
    }

    #[test]
    fn equal_values_and_equal_waits_say_nothing() {
        let same = |pattern: &[(&str, &str, &str)]| found(&turns(pattern));
        assert_eq!(same(&vec![LONG; 12]), []);
        let mixed: Vec<_> =
            (0..16).map(|at| if at % 2 == 0 { LONG } else { SHORT }).map(|turn| (turn.0, turn.1, "")).collect();
        assert_eq!(found(&turns(&mixed).replace("a received: \n", "")), []);
    }
}
