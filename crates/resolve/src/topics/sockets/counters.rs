//! Throughput as counters: of the sockets that carried most, and of all together.

use std::collections::BTreeMap;

use dwell_model::{CounterId, CounterKind, ProcessId, ThreadId};
use dwell_store::Annotations;
use dwell_store::tables::{CounterRow, CounterValueRow, CounterValues, Counters};

use super::ends::SocketEnds;
use crate::input::sockets::{RawSockets, Sample};
use crate::replay::state::Replay;

/// Sockets that have counters of their own.
const MOST_SOCKETS: usize = 16;
/// The collector reads the sockets at least so often while few are in use; a longer time without a change is a pause.
const LONGEST_STEP_NS: u64 = 100_000_000;

/// Adds the counters and their values, in the order of time.
pub fn add(annotations: &mut Annotations, raw: &RawSockets, ends: &SocketEnds, replay: &Replay) {
    let mut samples = raw.samples.clone();
    samples.sort_by_key(|sample| sample.time_ns);
    let times: Vec<u64> = samples.iter().map(|sample| sample.time_ns).collect();
    let mut added = Vec::new();
    let mut all = BTreeMap::new();
    for sample in &samples {
        let sum = all.entry(sample.time_ns).or_insert(Sample { cookie: 0, sent: 0, received: 0, ..*sample });
        sum.sent = sum.sent.saturating_add(sample.sent);
        sum.received = sum.received.saturating_add(sample.received);
    }
    let all: Vec<Sample> = all.into_values().collect();
    let counters = &mut annotations.counters;
    let mut series = |counters: &mut Counters, domain: &str, process, samples: &[Sample]| {
        for (name, bytes) in [("Bytes sent", Sample::sent as fn(&Sample) -> u64), ("Bytes received", Sample::received)]
        {
            let counter = CounterId::new(counters.push(CounterRow {
                domain: domain.to_owned(),
                name: name.to_owned(),
                process,
                kind: CounterKind::Set.code(),
                unit: "B/s".to_owned(),
            }));
            added.extend(rates(samples, &times, bytes).into_iter().map(|(time_ns, value)| CounterValueRow {
                counter,
                time_ns: replay.relative(time_ns),
                thread: ThreadId::NONE,
                value,
            }));
        }
    };
    if !all.is_empty() {
        series(counters, "Sockets", ProcessId::NONE, &all);
    }
    for (cookie, row) in busiest(raw, ends) {
        let own: Vec<Sample> = samples.iter().filter(|sample| sample.cookie == cookie).copied().collect();
        series(counters, &name(ends, row), ends.sockets.process[row], &own);
    }
    insert(&mut annotations.counter_values, added);
}

impl Sample {
    fn sent(&self) -> u64 {
        self.sent
    }

    fn received(&self) -> u64 {
        self.received
    }
}

/// Bytes per second from each reading to the next; 0 from a reading that nothing follows soon.
fn rates(samples: &[Sample], times: &[u64], bytes: fn(&Sample) -> u64) -> Vec<(u64, f64)> {
    let mut values: Vec<(u64, f64)> = Vec::new();
    for sample in samples {
        let before = times.partition_point(|&time| time < sample.time_ns).checked_sub(1).map(|at| times[at]);
        let start = before.unwrap_or(0).max(sample.time_ns.saturating_sub(LONGEST_STEP_NS));
        let seconds = (sample.time_ns - start).max(1) as f64 / 1e9;
        if values.last().is_some_and(|last| last.0 == start) {
            values.pop();
        }
        values.push((start, bytes(sample) as f64 / seconds));
        values.push((sample.time_ns, 0.0));
    }
    values
}

/// The sockets that carried most bytes: cookie and row.
fn busiest(raw: &RawSockets, ends: &SocketEnds) -> Vec<(u64, usize)> {
    let sockets = &ends.sockets;
    let rows = raw.sockets.keys().filter_map(|&cookie| Some((cookie, ends.find(cookie, 0, 0)?.get()?)));
    let mut rows: Vec<(u64, usize)> = rows.collect();
    rows.sort_by_key(|&(_, row)| {
        (std::cmp::Reverse(sockets.bytes_sent[row].saturating_add(sockets.bytes_received[row])), row)
    });
    rows.truncate(MOST_SOCKETS);
    rows
}

fn name(ends: &SocketEnds, row: usize) -> String {
    let sockets = &ends.sockets;
    let protocol = dwell_model::SocketProtocol::from_code(sockets.protocol[row]).title();
    match (sockets.local[row].as_str(), sockets.remote[row].as_str()) {
        (local, "") => format!("{protocol} {local}"),
        (local, remote) => format!("{protocol} {local} -> {remote}"),
    }
}

fn insert(values: &mut CounterValues, added: Vec<CounterValueRow>) {
    for row in added {
        values.push(row);
    }
    *values = std::mem::take(values).in_order_of(|values| &values.time_ns);
}
