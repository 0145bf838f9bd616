//! Rows of time merged to sums that answer the same questions exactly.
//!
//! The sums of a process, version, kind and object stand in its first row of time. A row of time of a version on a host in which no sums
//! stand has one row with zeros, of something that was there, so that the number and the lengths of rows of time stay what they were. Merging what is
//! merged gives the same as merging all at once.

use std::collections::BTreeMap;

use crate::FleetRow;

/// What sums are of: host, process, version, kind, object, its type.
type SumKey = (String, String, String, String, String, String);
/// A row of time: host, version, begin, length.
type TimeKey = (String, String, i64, i64);

/// See the module.
#[derive(Default)]
pub struct MergedRows {
    sums: BTreeMap<SumKey, FleetRow>,
    /// Rows of time, each with a row that was in it.
    times: BTreeMap<TimeKey, SumKey>,
    /// Sums that nothing more fits into: a number has 63 bits.
    full: Vec<FleetRow>,
}

impl MergedRows {
    /// Adds these rows.
    pub fn add(&mut self, rows: Vec<FleetRow>) {
        rows.into_iter().for_each(|row| self.add_row(row));
    }

    fn add_row(&mut self, row: FleetRow) {
        let key = key_of(&row);
        self.times.entry(time_of(&row)).or_insert_with(|| key.clone());
        let Some(sum) = self.sums.get_mut(&key) else {
            self.sums.insert(key, row);
            return;
        };
        match summed(sum, &row) {
            Some(total) => *sum = total,
            None => self.full.push(std::mem::replace(sum, row)),
        }
    }

    /// All rows, sorted by host, process, version, kind and object.
    pub fn into_rows(self) -> Vec<FleetRow> {
        let Self { sums, mut times, full } = self;
        let mut rows: Vec<FleetRow> = sums.into_values().chain(full).collect();
        for row in &rows {
            times.remove(&time_of(row));
        }
        rows.extend(times.into_iter().map(zeros));
        rows.sort_by_cached_key(|row| (key_of(row), row.t));
        rows
    }
}

fn key_of(row: &FleetRow) -> SumKey {
    let FleetRow { host, process, version, kind, object, object_type, .. } = row.clone();
    (host, process, version, kind, object, object_type)
}

fn time_of(row: &FleetRow) -> TimeKey {
    (row.host.clone(), row.version.clone(), row.t, row.length_ns)
}

/// Both, in the row of time that began first; `None` where a sum would not fit.
fn summed(a: &FleetRow, b: &FleetRow) -> Option<FleetRow> {
    let first = if (a.t, a.length_ns) <= (b.t, b.length_ns) { a } else { b };
    Some(FleetRow {
        waits: a.waits.checked_add(b.waits)?,
        wait_ns: a.wait_ns.checked_add(b.wait_ns)?,
        longest_ns: a.longest_ns.max(b.longest_ns),
        running_ns: a.running_ns.checked_add(b.running_ns)?,
        runnable_ns: a.runnable_ns.checked_add(b.runnable_ns)?,
        ..first.clone()
    })
}

fn zeros(((host, version, t, length_ns), (_, process, _, kind, object, object_type)): (TimeKey, SumKey)) -> FleetRow {
    FleetRow { host, t, length_ns, process, version, kind, object, object_type, ..FleetRow::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn row(host: &str, t: i64, object: &str, wait_ns: i64) -> FleetRow {
        let (waits, longest_ns) = (1, wait_ns / 2);
        let (host, object, kind) = (host.into(), object.into(), "lock".into());
        FleetRow { host, t, length_ns: 10, kind, object, waits, wait_ns, longest_ns, ..FleetRow::default() }
    }

    fn merged(parts: &[&[FleetRow]]) -> Vec<FleetRow> {
        let mut merged = MergedRows::default();
        parts.iter().for_each(|rows| merged.add(rows.to_vec()));
        merged.into_rows()
    }

    fn rows() -> Vec<FleetRow> {
        let of = |at: i64| row(["a", "b"][at as usize % 2], at / 4 * 10, ["x", "y", "z"][at as usize % 3], at * 7);
        (0..60).map(of).collect()
    }

    #[test]
    fn sums_and_rows_of_time_stay() {
        let (rows, merged) = (rows(), merged(&[&rows()]));
        assert!(merged.len() < rows.len() / 2 + 4, "{}", merged.len());
        let sum = |rows: &[FleetRow], host, object| {
            let of = rows.iter().filter(|row| row.host == host && row.object == object);
            of.fold((0, 0, 0, i64::MAX), |(waits, wait, longest, t), row| {
                (waits + row.waits, wait + row.wait_ns, longest.max(row.longest_ns), t.min(row.t))
            })
        };
        for (host, object) in ["a", "b"].into_iter().flat_map(|host| ["x", "y", "z"].map(|object| (host, object))) {
            assert_eq!(sum(&rows, host, object), sum(&merged, host, object), "{host} {object}");
        }
        let times = |rows: &[FleetRow]| rows.iter().map(time_of).collect::<BTreeSet<_>>();
        assert_eq!(times(&rows), times(&merged));
    }

    #[test]
    fn versions_stay_apart_with_their_rows_of_time() {
        let of = |version: &str, t, wait_ns| FleetRow { version: version.into(), ..row("a", t, "x", wait_ns) };
        let rows = merged(&[&[of("1", 0, 2), of("1", 10, 3), of("2", 10, 4), of("2", 20, 5)]]);
        let seen: Vec<_> = rows.iter().map(|row| (row.version.as_str(), row.t, row.wait_ns)).collect();
        assert_eq!(seen, [("1", 0, 5), ("1", 10, 0), ("2", 10, 9), ("2", 20, 0)]);
    }

    #[test]
    fn parts_may_be_merged_in_any_order() {
        let rows = rows();
        let whole = merged(&[&rows]);
        let parts = [merged(&[&rows[..17]]), merged(&[&rows[17..40]]), rows[40..].to_vec()];
        let again = merged(&[&parts[2], &parts[0], &parts[1]]);
        let sums = |rows: &[FleetRow]| rows.iter().filter(|row| row.waits > 0).cloned().collect::<Vec<_>>();
        let times = |rows: &[FleetRow]| rows.iter().map(time_of).collect::<BTreeSet<_>>();
        assert_eq!((sums(&whole), times(&whole)), (sums(&again), times(&again)));
    }

    #[test]
    fn a_sum_beyond_a_number_is_two_rows() {
        let most = row("a", 0, "x", i64::MAX - 1);
        let rows = merged(&[&[most.clone(), row("a", 10, "x", 3), row("a", 20, "x", 4)]]);
        assert_eq!(rows.iter().map(|row| row.wait_ns).collect::<Vec<_>>(), [most.wait_ns, 7, 0]);
    }
}
