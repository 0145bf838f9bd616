//! Sums of the rows that belong together, and tables of them.

use std::collections::HashMap;
use std::hash::Hash;

use dwell_machine::Counts;
use dwell_view::{Row as Line, Value};

use super::measures::Measure;
use crate::annotate::{Anatomy, Row};

/// The sums of the rows that belong together.
pub fn sums<K: Eq + Hash>(anatomy: &Anatomy, key: impl Fn(&Row) -> Option<K>) -> HashMap<K, Counts> {
    let mut sums: HashMap<K, Counts> = HashMap::new();
    for (row, counts) in &anatomy.rows {
        if let Some(key) = key(row) {
            *sums.entry(key).or_default() += *counts;
        }
    }
    sums
}

impl Anatomy {
    /// The sum of everything.
    pub fn total(&self) -> Counts {
        self.rows.iter().fold(Counts::default(), |sum, row| sum + row.1)
    }
}

/// A table of parts of the whole, the one with the most cycles first.
pub fn table<K: Ord>(
    parts: HashMap<K, Counts>,
    total: &Counts,
    limit: usize,
    name: impl Fn(&K) -> Vec<Value>,
    columns: &[&'static Measure],
) -> Vec<Line> {
    let mut parts: Vec<(K, Counts)> = parts.into_iter().filter(|part| part.1.executions > 0).collect();
    parts.sort_by(|a, b| b.1.ticks().cmp(&a.1.ticks()).then(a.0.cmp(&b.0)));
    let line = |(key, counts): &(K, Counts)| {
        let values = columns.iter().map(|measure| (measure.value)(counts, total));
        Line { depth: 0, values: name(key).into_iter().chain(values).collect() }
    };
    parts.iter().take(limit).map(line).collect()
}
