//! The values of each counter, with sums of many at once.

use std::ops::Range;

use dwell_store::Trace;
use dwell_store::tables::CounterValues;

/// Rows of the counter values by counter, with what is drawn of many at once.
#[derive(Debug, Default)]
pub struct CounterRows {
    /// Of each counter.
    pub counters: Vec<CounterCourse>,
}

/// The values of one counter.
#[derive(Debug, Default)]
pub struct CounterCourse {
    /// Their rows, in order of time.
    pub rows: Vec<u32>,
    /// Buckets of [`FAN_OUT`] values, of as many such buckets, and so on.
    levels: Vec<Vec<Bucket>>,
    /// Least finite value, and greatest.
    pub range: (f64, f64),
    /// Whether no value is below the one before.
    pub grows: bool,
}

/// Values of a bucket, and buckets of one of the next level.
const FAN_OUT: usize = 32;

/// Values one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Each times the time until the next one, ns.
    pub area: f64,
    /// The greatest.
    pub peak: f64,
}

impl Bucket {
    /// No values.
    pub const NONE: Self = Self { area: 0.0, peak: f64::NEG_INFINITY };

    /// With what follows.
    pub fn and(self, other: Self) -> Self {
        Self { area: self.area + other.area, peak: self.peak.max(other.peak) }
    }
}

impl CounterRows {
    /// One pass over all values.
    pub fn new(trace: &Trace) -> Self {
        let values = &trace.annotations.counter_values;
        let mut rows = vec![Vec::new(); trace.annotations.counters.name.len()];
        for (row, counter) in values.counter.iter().enumerate() {
            if let Some(rows) = counter.get().and_then(|counter| rows.get_mut(counter)) {
                rows.push(row as u32);
            }
        }
        Self { counters: rows.into_iter().map(|rows| CounterCourse::new(values, rows)).collect() }
    }
}

impl CounterCourse {
    fn new(values: &CounterValues, rows: Vec<u32>) -> Self {
        let value = |row: &u32| values.value[*row as usize];
        let finite = rows.iter().map(value).filter(|value| value.is_finite());
        let range =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        let grows = rows.is_sorted_by(|a, b| value(a) <= value(b));
        let mut of_counter = Self { rows, levels: Vec::new(), range, grows };
        // The last bucket is left out where it is not full: its last value holds on.
        let of_values = |bucket: usize| {
            let several = bucket * FAN_OUT..(bucket + 1) * FAN_OUT;
            several.fold(Bucket::NONE, |sum, at| sum.and(of_counter.one(values, at)))
        };
        let mut level: Vec<Bucket> = (0..of_counter.rows.len().saturating_sub(1) / FAN_OUT).map(of_values).collect();
        while !level.is_empty() {
            let next = level.chunks_exact(FAN_OUT).map(|few| few.iter().copied().fold(Bucket::NONE, Bucket::and));
            let next = next.collect();
            of_counter.levels.push(std::mem::replace(&mut level, next));
        }
        of_counter
    }

    /// A value that another one follows.
    fn one(&self, values: &CounterValues, at: usize) -> Bucket {
        let (row, next) = (self.rows[at] as usize, self.rows[at + 1] as usize);
        let ns = values.time_ns[next].saturating_sub(values.time_ns[row]);
        Bucket { area: values.value[row] * ns as f64, peak: values.value[row] }
    }

    /// The values of `range`, all of which are followed by another one: by the largest buckets inside.
    pub fn together(&self, values: &CounterValues, range: Range<usize>) -> Bucket {
        let (mut first, mut end, mut sum, mut level) = (range.start, range.end, Bucket::NONE, 0);
        let take = |level: usize, at: usize| match level.checked_sub(1) {
            None => self.one(values, at),
            Some(below) => self.levels[below][at],
        };
        while first < end {
            let is_top = self.levels.len() <= level;
            while first < end && (is_top || !first.is_multiple_of(FAN_OUT)) {
                sum = sum.and(take(level, first));
                first += 1;
            }
            while first < end && !end.is_multiple_of(FAN_OUT) {
                end -= 1;
                sum = sum.and(take(level, end));
            }
            (first, end, level) = (first / FAN_OUT, end / FAN_OUT, level + 1);
        }
        sum
    }
}
