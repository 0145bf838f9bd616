//! Curves of the program's and the machine's counters: what each was in every pixel, and how fast it changed.

use dwell_model::CounterKind;
use dwell_query::Analysis;
use dwell_query::history::counter_rows::CounterCourse;
use dwell_store::Trace;
use dwell_store::tables::CounterValues;
use dwell_view::answer;

answer! {
    /// One counter in a part of the time. Columns of equal length, one value per pixel; null before its first value.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CounterCurve {
        /// Row of the counters table.
        pub id: u32,
        /// Name.
        pub name: String,
        /// Domain; empty for none.
        pub domain: String,
        /// Process whose it is, by name and id; empty for the machine's.
        pub process: String,
        /// Unit; empty for none.
        pub unit: String,
        /// `set`, `sum` or `unknown`.
        pub kind: &'static str,
        /// Whether no value is below the one before: how fast it grows says more than how far it has come.
        pub grows: bool,
        /// Least value of the collection, and greatest.
        pub range: (f64, f64),
        /// Number of values in the part.
        pub values: usize,
        /// Time average of each pixel: a value holds until the next.
        pub mean: Vec<Option<f64>>,
        /// Greatest value of each pixel.
        pub peak: Vec<Option<f64>>,
        /// Value at the end of each pixel.
        pub last: Vec<Option<f64>>,
        /// Per second: the change of a counter that is added up, steady between two values; of others how often they were set.
        pub rate: Vec<f64>,
    }
}

answer! {
    /// The curves of a part of the time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CounterCurves {
        /// Start, ns.
        pub from: u64,
        /// End, ns.
        pub to: u64,
        /// Counters with values in the collection.
        pub counters: Vec<CounterCurve>,
    }
}

/// The counters whose name `wanted` lets through, from `from` to `to` on `width` pixels.
pub fn counters(
    analysis: &Analysis,
    wanted: &dyn Fn(&str) -> bool,
    (from, to, width): (u64, u64, usize),
) -> CounterCurves {
    let to = to.min(analysis.elapsed_ns());
    let from = from.min(to);
    let width = width.min(usize::try_from(to - from).unwrap_or(usize::MAX));
    let names = &analysis.trace.annotations.counters.name;
    let all = analysis.counter_rows().counters.iter().enumerate();
    let shown = all.filter(|(counter, of_counter)| !of_counter.rows.is_empty() && wanted(&names[*counter]));
    let curves = shown.map(|(counter, rows)| curve(&analysis.trace, counter, rows, (from, to, width)));
    CounterCurves { from, to, counters: curves.collect() }
}

fn curve(
    trace: &Trace,
    counter: usize,
    of_counter: &CounterCourse,
    (from, to, width): (u64, u64, usize),
) -> CounterCurve {
    let (about, values) = (&trace.annotations.counters, &trace.annotations.counter_values);
    let (rows, range) = (&of_counter.rows[..], of_counter.range);
    let value = |row: &u32| values.value[*row as usize];
    let time = |row: &u32| values.time_ns[*row as usize];
    let kind = CounterKind::from_code(about.kind[counter]);
    let process = |row: usize| Some(format!("{} ({})", trace.processes.name.get(row)?, trace.processes.pid.get(row)?));
    let mut curve = CounterCurve {
        id: counter as u32,
        name: about.name[counter].clone(),
        domain: about.domain[counter].clone(),
        process: about.process[counter].get().and_then(process).unwrap_or_default(),
        unit: about.unit[counter].clone(),
        kind: kind.id(),
        grows: of_counter.grows,
        range: if range.0 <= range.1 { range } else { (0.0, 0.0) },
        values: 0,
        mean: Vec::with_capacity(width),
        peak: Vec::with_capacity(width),
        last: Vec::with_capacity(width),
        rate: Vec::with_capacity(width),
    };
    let mut at = rows.partition_point(|row| time(row) < from);
    let mut held = at.checked_sub(1).map(|before| value(&rows[before]));
    let edge = |pixel: usize| from + (u128::from(to - from) * pixel as u128 / width.max(1) as u128) as u64;
    for pixel in 0..width {
        let (start, end) = (edge(pixel), edge(pixel + 1));
        let behind = at + rows[at..].partition_point(|row| time(row) < end);
        let before = held;
        let (mut sum, mut peak, mut since) = (0.0, held, start);
        if let [first, .., last] | [first @ last] = &rows[at..behind] {
            let several = of_counter.together(values, at..behind - 1);
            sum = held.unwrap_or(0.0) * (time(first) - start) as f64 + several.area;
            peak = Some(several.peak.max(value(last)).max(held.unwrap_or(f64::NEG_INFINITY)));
            (held, since) = (Some(value(last)), time(last));
        }
        let known_ns =
            if before.is_none() { rows.get(at).map_or(0, |row| end.saturating_sub(time(row))) } else { end - start };
        sum += held.unwrap_or(0.0) * (end - since) as f64;
        curve.mean.push(held.map(|_| sum / known_ns.max(1) as f64));
        curve.peak.push(peak);
        curve.last.push(held);
        let seconds = (end - start).max(1) as f64 / 1e9;
        let change = match kind {
            CounterKind::Sum => between(rows, values, end) - between(rows, values, start),
            CounterKind::Set | CounterKind::Unknown => (behind - at) as f64,
        };
        curve.rate.push(change / seconds);
        curve.values += behind - at;
        at = behind;
    }
    curve
}

/// The sum at an instant, growing steadily from one value to the next.
fn between(rows: &[u32], values: &CounterValues, time: u64) -> f64 {
    let at = |index: usize| rows.get(index).map(|row| (values.time_ns[*row as usize], values.value[*row as usize]));
    let next = rows.partition_point(|row| values.time_ns[*row as usize] <= time);
    match (next.checked_sub(1).and_then(at), at(next)) {
        (Some((from, low)), Some((to, high))) => low + (high - low) * (time - from) as f64 / (to - from).max(1) as f64,
        (Some((_, value)), None) | (None, Some((_, value))) => value,
        (None, None) => 0.0,
    }
}
