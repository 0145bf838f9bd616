//! A sweep against the plainest way: at every instant, ask every thread what it does.

use std::collections::BTreeMap;

use dwell_query::engine::sweep::{OffCpuSplit, SweepInput, Visitor};
use dwell_query::measure::utilization::add;
use dwell_query::question::query::Query;
use dwell_query::question::windows::Part;
use dwell_store::Trace;
use dwell_trace_dsl::build;
use dwell_view::ByClass;
use proptest::prelude::*;

use crate::study::intervals::{Activity, ThreadInterval, for_each_interval};

/// Blocked time, time in the run queue, and the class in which it began, of each row.
type Rows = BTreeMap<usize, (ByClass, ByClass, Option<usize>)>;

/// What is told, as far as it does not depend on samples and contexts.
#[derive(Debug, Default, PartialEq)]
struct Told {
    rows: Rows,
    ran: BTreeMap<usize, ByClass>,
    /// n(t) and c(t) times time.
    levels: BTreeMap<(usize, usize), u64>,
}

impl Visitor for Told {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        let told = self.rows.entry(row).or_default();
        add(&mut told.0, &split.blocked);
        add(&mut told.1, &split.runnable);
        assert!(split.began.is_none() || told.2.is_none(), "it begins once");
        told.2 = told.2.or(split.began);
    }

    fn ran(&mut self, thread: usize, _: Option<usize>, _: u32, running: &ByClass) {
        if *running != [0; 5] {
            add(self.ran.entry(thread).or_default(), running);
        }
    }

    fn level(&mut self, from: u64, to: u64, running: usize, ready: usize) {
        *self.levels.entry((running, ready)).or_default() += to - from;
    }
}

fn plainly(trace: &Trace, swept: &SweepInput<'_>, part: Part) -> Told {
    let mut intervals: Vec<ThreadInterval> = Vec::new();
    for_each_interval(trace, |interval| intervals.push(interval));
    let times = intervals.iter().flat_map(|interval| [interval.from, interval.to]);
    let mut times: Vec<u64> = times.chain([part.from, part.to]).filter(|time| part.has(*time)).collect();
    times.extend([part.to]);
    times.retain(|time| *time >= part.from);
    times.sort_unstable();
    times.dedup();
    let mut told = Told::default();
    for pair in times.windows(2) {
        let ns = pair[1] - pair[0];
        let now = || intervals.iter().filter(|interval| interval.from <= pair[0] && interval.to > pair[0]);
        let count = |activity: Activity| now().filter(|interval| interval.activity == activity).count();
        let running = count(Activity::Running);
        *told.levels.entry((running, running + count(Activity::Runnable))).or_default() += ns;
        let class = usize::from(swept.class_of(running));
        for interval in now() {
            let row = || told.rows.get(&interval.row.unwrap_or(0)).copied().unwrap_or_default();
            match interval.activity {
                Activity::Running => told.ran.entry(interval.thread).or_default()[class] += ns,
                Activity::Waiting | Activity::Runnable => {
                    let mut row = row();
                    let time = if interval.activity == Activity::Waiting { &mut row.0 } else { &mut row.1 };
                    time[class] += ns;
                    told.rows.insert(interval.row.unwrap_or(0), row);
                }
            }
        }
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn a_sweep_tells_what_every_thread_did_at_every_instant(
        lines in crate::tests::laws::lines(),
        tasks in prop::collection::vec(crate::tests::laws::tasks(), 0..6),
        part in (0u64..30_000_000, 1u64..50_000_000),
    ) {
        let named: Vec<String> = (0..lines.len()).map(|line| format!("t{line}")).collect();
        let lines: Vec<(&str, Vec<char>)> = named.iter().map(String::as_str).zip(lines).collect();
        let mut trace = build(&lines, 2);
        crate::tests::laws::add_tasks(&mut trace, &tasks);
        let swept = SweepInput::new(&trace, &Query::default());
        let part = Part { from: part.0, to: part.0 + part.1, to_the_end: false };
        let mut told = Told::default();
        let levels = swept.sweep(part, &mut told);
        let denied = told.levels.iter().map(|((running, ready), ns)| ready.min(&2).saturating_sub(*running) as u64 * ns);
        prop_assert_eq!(levels.denied_ns, denied.sum::<u64>());
        let begins = |row: usize| trace.events().off_cpu.start_ns(row);
        for (row, (.., began)) in &mut told.rows {
            prop_assert_eq!(began.is_some(), begins(*row) >= part.from, "where it begins it is counted");
            *began = None;
        }
        told.rows.retain(|_, row| *row != Default::default());
        prop_assert_eq!(&told, &plainly(&trace, &swept, part));
        let time = |histogram: &[u64]| histogram.iter().sum::<u64>();
        prop_assert_eq!((time(&levels.histogram_cpu), time(&levels.histogram_concurrency)), (part.to - part.from, part.to - part.from));
    }

    #[test]
    fn where_it_is_cut_does_not_matter(lines in crate::tests::laws::lines(), cut in 1u64..30_000_000) {
        let named: Vec<String> = (0..lines.len()).map(|line| format!("t{line}")).collect();
        let lines: Vec<(&str, Vec<char>)> = named.iter().map(String::as_str).zip(lines).collect();
        let trace = build(&lines, 2);
        let swept = SweepInput::new(&trace, &Query::default());
        let to = 40_000_000;
        let sweep = |parts: &[(u64, u64)]| {
            let mut told = Told::default();
            parts.iter().for_each(|(from, until)| {
                swept.sweep(Part { from: *from, to: *until, to_the_end: *until == to }, &mut told);
            });
            told
        };
        prop_assert_eq!(sweep(&[(0, to)]), sweep(&[(0, cut), (cut, to)]));
    }
}
