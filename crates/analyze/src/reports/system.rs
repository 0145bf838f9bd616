//! The machine's counters (`--analyze system`) in the summary: how fast each one counted, and what is notable.
//!
//! A counter holds the sum so far, read at intervals. Its rates are those between readings; the average is over the
//! time that is looked at, in which a reading's increase counts when the reading lies in it.

use dwell_model::system::{PROCESSOR, SOFT_INTERRUPTS, SYSTEM};
use dwell_query::question::windows::Windows;
use dwell_store::Trace;
use dwell_view::{Row, Value, View};

use crate::tables::columns::{columns, columns_of};

columns! {
    /// What the report shows.
    COLUMNS;

    plain "counter", "Counter", "The counter, in its domain.",
        "カウンター", "カウンターとそのドメイン。";
    plain "average", "Average", "Of the time shown: a second, or the share of all processor time.",
        "平均", "表示している時間の平均。1 秒あたり、または全プロセッサー時間に対する割合。";
    plain "min", "Min", "The lowest rate between two readings.",
        "最小", "2 回の読み取りの間で最も低いレート。";
    plain "max", "Max", "The highest.",
        "最大", "最も高いレート。";
    plain "unit", "Unit", "What is counted; of processor time the share of all CPUs' time is shown.",
        "単位", "数えるもの。プロセッサー時間では全 CPU の時間に対する割合を示します。";
    plain "notable", "Notable", "What to look at.",
        "注目", "注目すべき点。";
    detail "total", "Total", "Sum over the time shown, in the counter's unit; nanoseconds of processor time.",
        "合計", "表示している時間の合計。カウンターの単位、プロセッサー時間ではナノ秒。";
    detail "max_at_ns", "Max At", "End of the interval with the highest rate.",
        "最大の時刻", "レートが最も高い間隔の終わり。";
}

/// Shares of all processor time from which on they are notable.
const NOTABLE_SHARES: &[(&str, f64, &str)] = &[
    ("Steal Time", 0.01, "the hypervisor ran something else while threads wanted to run"),
    ("I/O Wait Time", 0.10, "CPUs had nothing to run but waited for I/O"),
    ("Interrupt Time", 0.10, "hardware interrupts take CPU time from threads"),
    ("Soft Interrupt Time", 0.10, "soft interrupts, such as the network stack's, take CPU time from threads"),
    ("Idle Time", 0.90, "the machine was idle most of the time"),
];
/// A highest rate of so many times the average is a burst …
const BURST: f64 = 5.0;
/// … of a counter that counts so much a second there.
const BURST_RATE: f64 = 1000.0;
/// Counters each of whose packets is one too many.
const TROUBLE: &[&str] = &["Receive Errors", "Receive Drops", "Send Errors", "Send Drops"];
/// Average size up to which packets are small, when there are so many a second.
const SMALL_PACKET_BYTES: f64 = 200.0;
const MANY_PACKETS: f64 = 10_000.0;

/// The machine's counters over `windows`; none when they were not recorded.
pub fn system(trace: &Trace, windows: &Windows) -> Option<View> {
    let counters = &trace.annotations.counters;
    let mut rates: Vec<Option<Rates<'_>>> = (0..counters.name.len()).map(|row| Rates::of(trace, row)).collect();
    let values = &trace.annotations.counter_values;
    for ((counter, &time_ns), &value) in values.counter.iter().zip(&values.time_ns).zip(&values.value) {
        if let Some(Some(rates)) = counter.get().and_then(|row| rates.get_mut(row)) {
            rates.take(time_ns, value, windows);
        }
    }
    // Of interfaces and kinds of soft interrupts only those that counted something.
    let shown = |rates: &Rates<'_>| rates.total > 0.0 || matches!(rates.domain, PROCESSOR | SYSTEM);
    let rates: Vec<Rates<'_>> = rates.into_iter().flatten().filter(shown).collect();
    if rates.is_empty() {
        return None;
    }
    let columns = columns_of(COLUMNS);
    let (seconds, cpus) = (windows.length_ns() as f64 / 1e9, f64::from(trace.manifest.cpus.online.max(1)));
    let row = |own: &Rates<'_>| own.row(&rates, seconds, cpus);
    Some(View { columns, rows: rates.iter().map(row).collect(), ..View::default() })
}

/// One counter of the machine, and its rates so far, a second.
struct Rates<'t> {
    domain: &'t str,
    name: &'t str,
    unit: &'t str,
    last: Option<(u64, f64)>,
    total: f64,
    min: f64,
    max: f64,
    max_at_ns: u64,
}

impl<'t> Rates<'t> {
    /// The counter of row `row`, when it is the machine's and not a process's.
    fn of(trace: &'t Trace, row: usize) -> Option<Self> {
        let counters = &trace.annotations.counters;
        (!counters.process[row].is_some()).then(|| Self {
            domain: &counters.domain[row],
            name: &counters.name[row],
            unit: &counters.unit[row],
            last: None,
            total: 0.0,
            min: f64::INFINITY,
            max: 0.0,
            max_at_ns: 0,
        })
    }

    fn take(&mut self, time_ns: u64, value: f64, windows: &Windows) {
        let before = self.last.replace((time_ns, value));
        let Some((since_ns, sum)) = before.filter(|(since_ns, _)| *since_ns < time_ns) else { return };
        if !windows.contains(time_ns) {
            return;
        }
        let increase = (value - sum).max(0.0);
        let rate = increase / ((time_ns - since_ns) as f64 / 1e9);
        self.total += increase;
        self.min = self.min.min(rate);
        if rate > self.max {
            (self.max, self.max_at_ns) = (rate, time_ns);
        }
    }

    fn row(&self, all: &[Self], seconds: f64, cpus: f64) -> Row {
        let average = if seconds > 0.0 { self.total / seconds } else { 0.0 };
        let notable = self.notable(all, average, seconds, cpus).map_or(Value::None, Value::Text);
        let shown = |rate: f64| match self.unit {
            "ns" => Value::Fraction(rate / 1e9 / cpus),
            _ => Value::Real(rate),
        };
        let (min, max) =
            if self.min.is_finite() { (shown(self.min), shown(self.max)) } else { (Value::None, Value::None) };
        let unit = match self.unit {
            "ns" => "of all CPUs".to_owned(),
            "" => "a second".to_owned(),
            unit => format!("{unit} a second"),
        };
        let values = vec![
            Value::Text(self.title()),
            shown(average),
            min,
            max,
            Value::Text(unit),
            notable,
            Value::Count(self.total as u64),
            if self.max > 0.0 { Value::Ns(self.max_at_ns) } else { Value::None },
        ];
        Row { depth: 0, values }
    }

    fn title(&self) -> String {
        match self.domain {
            PROCESSOR | SYSTEM => self.name.to_owned(),
            domain => format!("{domain}: {}", self.name),
        }
    }

    fn notable(&self, all: &[Self], average: f64, seconds: f64, cpus: f64) -> Option<String> {
        let share = average / 1e9 / cpus;
        let notable_share = |(name, least, _): &&(&str, f64, &str)| self.name == *name && share >= *least;
        if self.unit == "ns" {
            return NOTABLE_SHARES.iter().find(notable_share).map(|(_, _, text)| (*text).to_owned());
        }
        if TROUBLE.contains(&self.name) && self.total > 0.0 {
            return Some(format!("{} packets lost", self.total));
        }
        let bytes = match self.name {
            "Packets Received" => "Bytes Received",
            "Packets Sent" => "Bytes Sent",
            _ => "",
        };
        let bytes = all.iter().find(|other| other.domain == self.domain && other.name == bytes);
        let size = bytes.map_or(f64::INFINITY, |bytes| bytes.total / self.total.max(1.0));
        if average >= MANY_PACKETS && size <= SMALL_PACKET_BYTES {
            return Some(format!("small packets: {size:.0} bytes on average"));
        }
        let burst = self.max >= BURST * average && self.max >= BURST_RATE && self.domain != SOFT_INTERRUPTS;
        (burst && seconds > 1.0).then(|| {
            format!("a burst of {:.0} times the average at {:.1} s", self.max / average, self.max_at_ns as f64 / 1e9)
        })
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::{CounterId, CounterKind, ProcessId, ThreadId};
    use dwell_query::question::query::Query;
    use dwell_store::tables::{CounterRow, CounterValueRow};

    use super::*;

    /// A machine of two CPUs that is recorded for ten seconds, with these counters read every second.
    fn trace(counters: &[(&str, &str, &str, [f64; 11])]) -> Trace {
        let mut manifest = dwell_trace_dsl::manifest(2, 1);
        (manifest.start_ns, manifest.end_ns) = (0, 10_000_000_000);
        let mut trace = Trace::new(manifest);
        for (domain, name, unit, _) in counters {
            let (domain, name, unit) = ((*domain).to_owned(), (*name).to_owned(), (*unit).to_owned());
            let kind = CounterKind::Sum.code();
            trace.annotations.counters.push(CounterRow { domain, name, process: ProcessId::NONE, kind, unit });
        }
        for second in 0..11 {
            for (counter, (.., values)) in counters.iter().enumerate() {
                let (counter, value) = (CounterId::new(counter), values[second]);
                let time_ns = second as u64 * 1_000_000_000;
                let row = CounterValueRow { counter, time_ns, thread: ThreadId::NONE, value };
                trace.annotations.counter_values.push(row);
            }
        }
        trace
    }

    fn evenly(each: f64) -> [f64; 11] {
        std::array::from_fn(|second| second as f64 * each)
    }

    fn rows(trace: &Trace, query: &Query) -> Vec<Vec<Value>> {
        let view = system(trace, &Windows::of_query(trace, query).unwrap()).unwrap();
        view.rows.into_iter().map(|row| row.values).collect()
    }

    #[test]
    fn rates_are_between_readings_and_times_are_shares() {
        let mut interrupts = evenly(100.0);
        interrupts[10] = 1400.0;
        let trace = trace(&[(PROCESSOR, "Steal Time", "ns", evenly(5e8)), ("System", "Interrupts", "", interrupts)]);
        let all = rows(&trace, &Query::default());
        assert_eq!(all[0][0], Value::Text("Steal Time".into()));
        assert_eq!(all[0][1..4], [0.25, 0.25, 0.25].map(Value::Fraction));
        assert!(matches!(&all[0][5], Value::Text(text) if text.contains("hypervisor")));
        assert_eq!(all[1][1..4], [140.0, 100.0, 500.0].map(Value::Real));
        assert_eq!(all[1][6..], [Value::Count(1400), Value::Ns(10_000_000_000)]);
        let cut = rows(&trace, &Query { range: Some((2_500_000_000, 4_500_000_000)), ..Query::default() });
        assert_eq!(cut[1][1..4], [100.0, 100.0, 100.0].map(Value::Real));
    }

    #[test]
    fn what_is_notable_is_said() {
        let mut burst = evenly(10.0);
        burst[10] = 100_000.0;
        let trace = trace(&[
            ("Network eth0", "Bytes Received", "bytes", evenly(1_000_000.0)),
            ("Network eth0", "Packets Received", "packets", evenly(20_000.0)),
            ("Network eth0", "Receive Drops", "packets", evenly(3.0)),
            ("System", "Context Switches", "", burst),
            ("System", "System Calls", "", evenly(5e6)),
        ]);
        let notable: Vec<Value> = rows(&trace, &Query::default()).into_iter().map(|row| row[5].clone()).collect();
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(notable[0], Value::None);
        assert_eq!(notable[1], text("small packets: 50 bytes on average"));
        assert_eq!(notable[2], text("30 packets lost"));
        assert_eq!(notable[3], text("a burst of 10 times the average at 10.0 s"));
        assert_eq!(notable[4], Value::None);
    }

    #[test]
    fn a_result_without_them_has_no_section() {
        let trace = Trace::new(dwell_trace_dsl::manifest(2, 1));
        assert_eq!(system(&trace, &Windows::whole(&trace)), None);
    }
}
