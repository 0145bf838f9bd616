//! The losses of a result, and how bad they are: `dwell_model::losses` has the rule, the sizes come from the result.

use dwell_model::Reason;
use dwell_model::losses::{self as model, NEGLIGIBLE, Severity};
use dwell_store::Trace;
use dwell_store::tables::LossRow;
use dwell_view::{Prose, Sentence, Word, answer, duration};

use crate::sentences::say;

/// Why stacks are cut short, or are walked with less. What they do is in the share of the stacks that are complete.
const OF_CUT_STACKS: &[&str] = &[
    model::STACK_COPIES_SKIPPED,
    model::STACKS_CUT_NO_TABLE,
    model::STACKS_CUT_UNREADABLE,
    model::STACKS_CUT_TOO_DEEP,
    model::STACKS_CUT_RULE,
    model::UNWIND_FILES_UNREADABLE,
    model::UNWIND_FILES_WITHOUT_TABLE,
    model::UNWIND_FILES_REPLACED,
    model::UNWIND_TABLE_SPACE,
    model::UNWIND_MAPPINGS,
    model::UNWIND_PROCESSES,
    model::UNWIND_ENTRIES,
];
/// Losses that count stacks one by one.
const PER_STACK: &[&str] =
    &[model::USER_STACKS_EMPTY, model::STACK_COPIES_LOST, model::SEEDED_STACKS_LOST, model::SCRIPT_FRAMES_UNREADABLE];

answer! {
    /// One kind of loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Loss<'t> {
        /// Name of the counter.
        pub name: &'t str,
        /// How many.
        pub count: u64,
        /// What is missing because of it.
        pub doc: &'t str,
        /// From when to when, since the start, ns; where that is known.
        pub time_ns: Option<(u64, u64)>,
    }
}

impl Loss<'_> {
    /// How many of what, and when.
    fn brief(&self) -> String {
        let when = self.time_ns.map(|(from, to)| format!(" ({} – {})", duration(from), duration(to)));
        format!("{} {}{}", self.name, self.count, when.unwrap_or_default())
    }
}

/// The rows of the table of losses, the most severe first.
pub fn by_severity(trace: &Trace) -> Vec<(Severity, LossRow)> {
    let rows = (0..trace.losses.name.len()).filter_map(|row| trace.losses.row(row)).filter(|row| row.count > 0);
    let mut rows: Vec<(Severity, LossRow)> =
        rows.map(|row| (model::severity(&row.name, part(trace, &row.name, row.count)), row)).collect();
    rows.sort_by_key(|(severity, _)| *severity);
    rows
}

/// The losses of waits, switches, threads and processes: what every view warns of.
pub fn lost(trace: &Trace) -> impl Iterator<Item = Loss<'_>> {
    of(trace, Severity::DataLoss)
}

/// How many of a view's notes, which begin with them, are warnings.
pub fn warnings(trace: &Trace) -> usize {
    usize::from(lost(trace).next().is_some()) + usize::from(trace.manifest.end_ns == 0)
}

fn of(trace: &Trace, severity: Severity) -> impl Iterator<Item = Loss<'_>> {
    let losses = &trace.losses;
    let times = losses.start_ns.iter().zip(&losses.end_ns);
    let rows = losses.name.iter().zip(&losses.count).zip(&losses.doc).zip(times);
    let rows = rows.map(|(((name, count), doc), (from, to))| {
        let time_ns = (*to > 0).then_some((*from, *to));
        Loss { name, count: *count, doc, time_ns }
    });
    rows.filter(move |loss| {
        loss.count > 0 && model::severity(loss.name, part(trace, loss.name, loss.count)) == severity
    })
}

/// The part that a loss touches of what it is a part of; none where it has no measure.
fn part(trace: &Trace, name: &str, count: u64) -> Option<f64> {
    let (stacks, complete) = stacks(trace);
    let part = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    match name {
        model::REPAIRED_INTERVALS => Some(unexplained(trace)),
        _ if OF_CUT_STACKS.contains(&name) => Some(part(stacks.saturating_sub(complete), stacks)),
        _ if PER_STACK.contains(&name) => Some(part(count, stacks.saturating_add(count))),
        _ => None,
    }
}

/// The part of the threads' lives off the CPU for no known reason, as intervals are whose beginning or end was lost.
fn unexplained(trace: &Trace) -> f64 {
    let (events, threads) = (trace.events(), &trace.threads);
    let mut unknown_ns = 0u64;
    for thread in 0..threads.tid.len() {
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            if events.key(key).reason() == Some(Reason::Unknown) {
                unknown_ns = unknown_ns.saturating_add(times.wait_ns);
            }
        });
    }
    let lives = threads.start_ns.iter().zip(&threads.end_ns).map(|(start, end)| end.saturating_sub(*start));
    unknown_ns as f64 / lives.fold(0, u64::saturating_add).max(1) as f64
}

/// The warning: what data was lost.
pub fn warning(trace: &Trace) -> Option<Sentence> {
    let told: Vec<String> = lost(trace).map(|loss| loss.brief()).collect();
    (!told.is_empty()).then(|| say!(DATA_LOST, lost = told.join(", ")))
}

/// What detail is missing, all in one note.
pub fn gaps(trace: &Trace) -> Option<Prose> {
    let others = of(trace, Severity::Degraded).filter(|loss| !OF_CUT_STACKS.contains(&loss.name));
    let others: Vec<String> = others.map(|loss| loss.brief()).collect();
    let others = (!others.is_empty()).then(|| say!(DETAIL_MISSING, lost = others.join(", ")));
    let mut told = cut_stacks(trace).into_iter().chain(others);
    let first = told.next()?;
    Some(Prose::from(first).and(told).and([say!(SEE_LOSSES)]))
}

/// How many samples and waits have a user stack, and how many a complete one.
pub fn stacks(trace: &Trace) -> (u64, u64) {
    let totals = trace.events().totals;
    (totals.stacks, totals.complete)
}

/// The share of stacks that are cut short, where that is not negligible.
fn cut_stacks(trace: &Trace) -> Option<Sentence> {
    let (stacks, complete) = stacks(trace);
    let cut = stacks.saturating_sub(complete);
    (cut as f64 >= NEGLIGIBLE * stacks.max(1) as f64 && cut > 0)
        .then(|| say!(STACKS_CUT, share = Word::part(cut, stacks), stacks = stacks))
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;
    use dwell_view::Value;

    use super::*;
    use crate::reports::{Report, report};

    /// A thread that ran for 20 ms and was off the CPU in between, `unknown` of the letters for no known reason.
    fn with_losses(unknown: &str, losses: &[(&str, u64)]) -> Trace {
        let mut trace = trace(&format!("\n    main: ##########{unknown}##########\n"));
        for (name, count) in losses {
            let (start_ns, end_ns) = (1_200_000_000, 1_400_000_000);
            trace.losses.push(LossRow { name: (*name).into(), count: *count, doc: "Doc.".into(), start_ns, end_ns });
        }
        trace
    }

    fn notes(trace: &Trace) -> Vec<String> {
        let view = report(Report::Summary, trace, &Query::default()).unwrap();
        view.notes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_lost_data_is_a_warning_and_detail_is_one_note() {
        let losses = [("samples_lost", 3), ("switches_unseen", 5), ("switches_lost", 12), ("mappings_lost", 1)];
        let trace = with_losses("", &losses);
        assert_eq!(warnings(&trace), 1);
        let told = notes(&trace);
        assert_eq!(told[0], "Data was lost: switches_lost 12 (1.20 s – 1.40 s). See dwell report losses.");
        let detail = "Some detail is missing: samples_lost 3 (1.20 s – 1.40 s), mappings_lost 1 (1.20 s – 1.40 s). See dwell \
                      report losses.";
        assert!(told.contains(&detail.to_owned()), "{told:?}");
        assert!(!told.concat().contains("switches_unseen"), "{told:?}");
        assert_eq!(warnings(&with_losses("", &losses[..2])), 0);
    }

    #[test]
    fn the_report_has_the_most_severe_first() {
        let trace = with_losses("", &[("switches_unseen", 5), ("samples_lost", 3), ("switches_lost", 12)]);
        let view = report(Report::Losses, &trace, &Query::default()).unwrap();
        let told = view.rows.iter().map(|row| [&row.values[0], &row.values[1]].map(Value::clone));
        let row = |name: &str, severity: &str| [name, severity].map(|text| Value::Text(text.into()));
        let expected =
            [row("switches_lost", "data-loss"), row("samples_lost", "degraded"), row("switches_unseen", "information")];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn repaired_intervals_count_by_their_time() {
        let severity = |unknown: &str| by_severity(&with_losses(unknown, &[("repaired_intervals", 1)]))[0].0;
        assert_eq!(severity(""), Severity::Information);
        assert_eq!(severity("????"), Severity::DataLoss);
    }

    #[test]
    fn why_stacks_are_cut_is_in_the_share_of_those() {
        let trace = with_losses("", &[("stack_copies_skipped", 200), ("stacks_cut_no_table", 9)]);
        assert!(by_severity(&trace).iter().all(|(severity, _)| *severity == Severity::Information), "none is cut");
        assert_eq!(gaps(&trace), None);
    }
}
