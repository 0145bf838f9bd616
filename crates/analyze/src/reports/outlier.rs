//! The story of one interval, line by line: what its thread did from its begin to its end.

use dwell_model::{Delay, Outcome, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::question::error::QueryError;
use dwell_view::{Prose, Row, Sentence, Value, View, Word, duration};

use crate::reports::latency::{not_recorded, parts};
use crate::sentences::{def, say};
use crate::study::latency::{DelayPiece, IntervalId, IntervalType, Latency, MeasuredInterval, Origin, ThreadDelays};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::stack_value;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "at_ns", "At", "Since the interval's begin.",
        "時刻", "区間の始まりからの時間。";
    plain "length_ns", "Length", "How long.",
        "長さ", "長さ。";
    plain "cause", "Cause", "What delayed the thread; `running` where nothing did.",
        "原因", "スレッドを遅らせたもの。なければ「実行中」。";
    plain "what", "What", "Who or what did it, or which code ran.",
        "内容", "遅らせたもの、または実行されたコード。";
    detail "start_ns", "Start", "Since the start of the collection.",
        "時刻", "収集の開始からの時間。";
    detail "stack", "Stack", "Where the thread was, leaf first.",
        "スタック", "スレッドがいた場所。末端の関数から順に示します。";
}

/// Lines of a story: with more pieces, the shortest are left out.
const MOST_LINES: usize = 200;

/// The story of the interval that the query names. Fails when no interval has this id.
pub fn outlier(fold: &Fold<'_>) -> Result<View, QueryError> {
    let name = fold.query.subject.as_deref().ok_or(QueryError::SubjectMissing { what: "an interval" })?;
    let unknown = || QueryError::Unknown { what: "interval", name: name.to_owned(), nearest: None };
    let id: IntervalId = name.parse().map_err(|()| unknown())?;
    let latency = Latency::new(fold);
    let (of, interval) = latency.find(id).ok_or_else(unknown)?;
    let delays = latency.delays(interval.thread);
    let mut notes = vec![Prose::from(headline(fold, of, &interval))];
    notes.extend(split_line(of, interval, delays).map(Prose::from));
    notes.extend(self::notes(fold));
    notes.extend(not_recorded(fold));
    let mut lines = delays.map_or_else(Vec::new, |delays| lines(&interval, delays));
    let cut = shorten(&mut lines, fold.query.limit.unwrap_or(MOST_LINES));
    notes.extend((cut > 0).then(|| say!(LINES_CUT, lines = cut).into()));
    let rows = lines.iter().map(|line| row(fold, &interval, line)).collect();
    Ok(View { columns: columns_of(COLUMNS), rows, notes, ..View::default() })
}

fn headline(fold: &Fold<'_>, of: &IntervalType, interval: &MeasuredInterval) -> Sentence {
    let (length_ns, median_ns) = (interval.length_ns(), of.statistics.median_ns());
    let mut values = vec![
        ("name", of.name.clone().into()),
        ("thread", thread_label(fold, interval.thread).into()),
        ("start", Word::Ns(interval.start_ns)),
        ("length", Word::Ns(length_ns)),
        ("median", Word::Ns(median_ns)),
    ];
    let over = length_ns.checked_sub(median_ns);
    values.extend(over.map(|over| ("over", Word::Ns(over))));
    let rank = of.outliers.iter().position(|outlier| outlier.interval.id == interval.id);
    if let Some(rank) = rank {
        values.extend([("rank", (rank + 1).into()), ("outliers", of.outliers.len().into())]);
    }
    let sentence = match (over.is_some(), rank.is_some()) {
        (true, true) => &def::OUTLIER,
        (true, false) => &def::INTERVAL_OVER_MEDIAN,
        (false, true) => &def::OUTLIER_BELOW_MEDIAN,
        (false, false) => &def::INTERVAL_BELOW_MEDIAN,
    };
    Sentence::new(sentence, values)
}

/// What the time over the median was for.
fn split_line(of: &IntervalType, interval: MeasuredInterval, delays: Option<&ThreadDelays>) -> Option<Sentence> {
    let outlier = of.explain(interval, delays);
    let Value::Parts(parts) = parts(&outlier) else { return None };
    let unexplained = ("unexplained", outlier.split.unexplained_ns);
    let all = parts.into_iter().chain((unexplained.1 > 0).then_some(unexplained));
    let text = |(name, ns): (&str, u64)| format!("{} {name} ({})", duration(ns), Word::part(ns, outlier.over_ns));
    let all: Vec<String> = all.map(text).collect();
    (outlier.over_ns > 0).then(|| say!(OUTLIER_SPLIT, parts = all.join(", ")))
}

/// A stretch of the interval: a delay, or none: the thread ran.
struct Line {
    start_ns: u64,
    end_ns: u64,
    piece: Option<DelayPiece>,
}

fn lines(interval: &MeasuredInterval, delays: &ThreadDelays) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = interval.start_ns;
    let ran = |at: u64, to: u64, lines: &mut Vec<Line>| {
        if at < to {
            lines.push(Line { start_ns: at, end_ns: to, piece: None });
        }
    };
    for piece in delays.within(interval.start_ns, interval.end_ns) {
        ran(at, piece.start_ns, &mut lines);
        at = piece.end_ns;
        lines.push(Line { start_ns: piece.start_ns, end_ns: piece.end_ns, piece: Some(piece) });
    }
    ran(at, interval.end_ns, &mut lines);
    lines
}

/// Leaves the `most` longest lines. Returns how many are gone.
fn shorten(lines: &mut Vec<Line>, most: usize) -> usize {
    let cut = lines.len().saturating_sub(most);
    if cut > 0 {
        let mut lengths: Vec<(u64, usize)> =
            lines.iter().enumerate().map(|(at, line)| (line.end_ns - line.start_ns, at)).collect();
        lengths.sort_unstable();
        let gone: std::collections::BTreeSet<usize> = lengths[..cut].iter().map(|(_, at)| *at).collect();
        let mut at = 0;
        lines.retain(|_| (!gone.contains(&at), at += 1).0);
    }
    cut
}

fn row(fold: &Fold<'_>, interval: &MeasuredInterval, line: &Line) -> Row {
    let (what, stack) = match line.piece {
        Some(piece) => described(fold, &piece),
        None => sampled(fold, interval, line),
    };
    let cause = line.piece.map_or("running", |piece| piece.cause.id());
    let values = vec![
        Value::Ns(line.start_ns - interval.start_ns),
        Value::Ns(line.end_ns - line.start_ns),
        Value::Text(cause.into()),
        if what.is_empty() { Value::None } else { Value::Text(what) },
        Value::Ns(line.start_ns),
        stack_value(fold, stack),
    ];
    Row { depth: 0, values }
}

/// What delayed a thread, in words, and where it was.
fn described(fold: &Fold<'_>, piece: &DelayPiece) -> (String, StackId) {
    match piece.origin {
        Origin::Delay(row) => {
            let source = fold.trace.delays.delays.source[row].get();
            let name = source.and_then(|row| fold.trace.delays.sources.name.get(row)).cloned();
            (name.unwrap_or_default(), StackId::NONE)
        }
        Origin::Announced(row) => {
            (fold.object_name(fold.trace.annotations.sync_waits.object[row]).to_owned(), StackId::NONE)
        }
        Origin::OffCpu(row) => {
            let key = fold.trace.events().off_cpu_key(row);
            if matches!(piece.cause, Delay::RunQueue | Delay::Preemption) {
                return (String::new(), key.stack());
            }
            let mut what = fold.object_name(key.object()).to_owned();
            if key.holder().is_some() {
                what.push_str(&format!(", held by {}", thread_label(fold, key.holder())));
            }
            if key.waker().is_some() {
                what.push_str(&format!(", ended by {}", thread_label(fold, key.waker())));
                let place = fold.sums.stacks.place(key.waker_stack());
                what.extend(place.map(|place| format!(" in {place}")));
            } else if Outcome::from_code(key.outcome()) == Outcome::TimedOut {
                what.push_str(", timed out");
            }
            (what, key.stack())
        }
    }
}

/// The code that ran: the place of the first sample there.
fn sampled(fold: &Fold<'_>, interval: &MeasuredInterval, line: &Line) -> (String, StackId) {
    let events = fold.trace.events();
    let Some(thread) = interval.thread.get() else { return (String::new(), StackId::NONE) };
    let rows = events.samples.of(thread);
    let first = events.samples.partition_point(rows.clone(), |time| time <= line.start_ns);
    if first >= rows.end || events.samples.time_ns(first) > line.end_ns {
        return (String::new(), StackId::NONE);
    }
    let stack = events.key(events.samples.key(first)).stack();
    (fold.sums.stacks.place(stack).unwrap_or_default(), stack)
}
