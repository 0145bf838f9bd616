//! The entries of a filter's list: what there is to choose from, and how much of the time each one has.

use std::borrow::Cow;
use std::collections::HashMap;

use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection;
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::filter::FilterKey;
use dwell_query::question::{counter_time, windows};
use dwell_view::{CLASSES, answer};

answer! {
    /// The entries of one key.
    #[derive(Clone, Debug)]
    pub struct FilterValues {
        /// The entries, the largest first.
        pub values: Vec<FilterValue>,
        /// Entries that there are, before the limit.
        pub total: usize,
        /// Part of the whole collection's CPU and wait time that all filters, of time too, leave.
        pub shown: f64,
    }
}

answer! {
    /// One entry.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FilterValue {
        /// The value, as a filter takes it.
        pub value: String,
        /// CPU time, ns.
        pub cpu_ns: u64,
        /// Wait time, ns.
        pub wait_ns: u64,
        /// Part of the whole's CPU and wait time; of a counter's value, of the elapsed time.
        pub share: f64,
    }
}

/// The values of `key` that have `search` in them, whatever is selected now, at most `limit`. A function counts with
/// all that it calls, so that shares of functions add up to more than one.
pub fn filter_values(fold: &Fold<'_>, key: FilterKey, search: &str, limit: usize) -> FilterValues {
    let search = search.to_lowercase();
    let whole = fold.whole();
    let whole = whole.cpu_ns().saturating_add(whole.wait_ns()).max(1) as f64;
    let share = |cpu: u64, wait: u64| cpu.saturating_add(wait) as f64 / whole;
    let value = |(value, (cpu_ns, wait_ns)): (Cow<'_, str>, (u64, u64))| FilterValue {
        value: value.into_owned(),
        cpu_ns,
        wait_ns,
        share: share(cpu_ns, wait_ns),
    };
    if key == FilterKey::Counter {
        let elapsed_ns = windows::elapsed_ns(fold.trace);
        let part = |time: u64| time as f64 / elapsed_ns.max(1) as f64;
        let choices = counter_time::choices(fold.trace, elapsed_ns).into_iter();
        let entry = |(value, time)| FilterValue { value, cpu_ns: 0, wait_ns: 0, share: part(time) };
        let found = choices.map(entry).filter(|entry| entry.value.to_lowercase().contains(&search));
        let mut values: Vec<FilterValue> = found.collect(); // counter by counter
        let total = values.len();
        values.truncate(limit);
        return FilterValues { values, total, shown: shown_part(fold) };
    }
    let found = times(fold, key).into_iter().filter(|(value, _)| value.to_lowercase().contains(&search));
    let mut values: Vec<FilterValue> = found.map(value).collect();
    values.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.value.cmp(&b.value)));
    let total = values.len();
    values.truncate(limit);
    FilterValues { values, total, shown: shown_part(fold) }
}

/// What the filters leave of the CPU and wait time of the whole collection.
fn shown_part(fold: &Fold<'_>) -> f64 {
    let busy_ns = |weights: &Weights| weights.cpu_ns().saturating_add(weights.wait_ns());
    busy_ns(fold.shown()) as f64 / busy_ns(fold.collection()).max(1) as f64
}

/// CPU and wait time of every value.
fn times<'f>(fold: &'f Fold<'_>, key: FilterKey) -> HashMap<Cow<'f, str>, (u64, u64)> {
    let mut times: HashMap<Cow<'f, str>, (u64, u64)> = HashMap::new();
    let mut add = |value: Cow<'f, str>, (cpu, wait): (u64, u64)| {
        let sum = times.entry(value).or_default();
        *sum = (sum.0.saturating_add(cpu), sum.1.saturating_add(wait));
    };
    if key == FilterKey::Utilization {
        let (cpu, wait) = (fold.whole().cpu(), fold.whole().wait);
        CLASSES.iter().enumerate().for_each(|(class, name)| add(Cow::Borrowed(name), (cpu[class], wait[class])));
        return times;
    }
    for site in &fold.sums.sites {
        match key {
            FilterKey::Function => {
                let mut names: Vec<&str> = fold.sums.stacks.whole_names(site.key.stack).collect();
                names.sort_unstable();
                names.dedup();
                names.into_iter().for_each(|name| add(Cow::Borrowed(name), time(site)));
            }
            key => {
                if let Some(value) = selection::value(fold.trace, &fold.sums.stacks, key, site) {
                    add(value, time(site));
                }
            }
        }
    }
    times
}

fn time(site: &Site) -> (u64, u64) {
    let weights = site.weights([true; 5]);
    (weights.cpu_ns(), weights.wait_ns())
}
