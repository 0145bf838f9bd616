//! Diagnoses: what is wrong, what it costs, where, and what to do about it.
//!
//! Each detector is a small pure function over what is known of the run, in one file per group, beside its definition
//! and thresholds. A finding says the object, the number, the line of code and the remedy, and is ranked by an
//! estimate of what it costs. Waits of idle workers are no evidence for anything.

mod claim;
mod collecting;
mod connecting_times;
mod connection_churn;
mod counters;
mod event_loop;
pub(crate) mod evidence;
mod finding;
mod memory_churn;
mod nagle;
mod numbers;
mod outliers;
mod process_times;
mod queues;
mod runtime;
mod send_queues;
mod serial_children;
mod single_threaded;
mod small_calls;
mod small_reads;
mod sockets;
#[cfg(test)]
mod tests;
mod wakeups;

use dwell_model::FindingDef;
use dwell_view::{Row, Value, View};
use dwell_work::parallel;

use self::claim::Claim;
use self::evidence::Evidence;
pub use self::finding::Finding;
use dwell_query::engine::fold::Fold;
use dwell_query::question::handles::finding_handle;

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "title", "Finding", "What is wrong.",
        "検出結果", "何が問題か。";
    detail "handle", "#", "Short name of the finding: its number in the answer about the whole result.",
        "#", "検出結果の短い名前。結果全体についての回答での番号。";
    plain "subject", "Subject", "What it is about.",
        "対象", "検出結果の対象。";
    plain "cost_ns", "Cost", "Estimate of the threads' time that it wastes.",
        "コスト", "無駄になるスレッドの時間の推定。";
    plain "evidence", "Evidence", "The numbers from which it is concluded.",
        "根拠", "判断の根拠となる数値。";
    plain "location", "Location", "Where in the program.",
        "場所", "プログラムの中の場所。";
    plain "advice", "Advice", "What to do about it.",
        "対策", "どうすればよいか。";
    detail "id", "Id", "Name of the finding.",
        "ID", "検出結果の名前。";
    detail "help", "Help", "What the finding means.",
        "説明", "検出結果の意味。";
    detail "stack", "Stack", "Where, leaf first.",
        "スタック", "場所。末端の関数から順に示します。";
    detail "from_ns", "From", "Start of a finding that is a stretch of time.",
        "開始", "検出結果が時間の範囲である場合、その始まり。";
    detail "to_ns", "To", "End of a finding that is a stretch of time.",
        "終了", "検出結果が時間の範囲である場合、その終わり。";
    detail "claims", "Claims", "Its numbers, each with the question of a report that shows it.",
        "主張", "検出結果の数値と、それを示すレポートの質問。";
}

columns! {
    /// What is said of a claim.
    CLAIM_COLUMNS;

    plain "question", "Question", "A report and its options, as `dwell report` takes them.",
        "質問", "`dwell report` に渡すレポート名とオプション。";
    plain "rows", "Rows", "Which of the outermost rows, by the value in one of their columns; null for all.",
        "行", "最も外側の行のうち、ある列がこの値である行。指定がなければすべての行。";
    plain "column", "Column", "The column whose sum over these rows is to be the number.",
        "列", "これらの行の合計が数値となる列。";
    plain "relation", "Relation", "is: the sum is the number; at-least: the sum is the number or more.",
        "関係", "合計が数値に等しいか、数値以上か。";
    plain "number", "Number", "The number, in the column's unit.",
        "数値", "列の単位での数値。";
}

/// Declares the table: a definition and its detector, side by side.
macro_rules! findings {
    ($($def:path => $detect:path;)*) => {
        /// Every diagnosis that Dwell can make.
        pub static FINDINGS: &[FindingDef] = &[$($def,)*];

        /// The detectors of [`FINDINGS`], in the same order.
        static DETECTORS: &[fn(&Evidence<'_, '_>) -> Vec<Finding>] = &[$($detect,)*];
    };
}

findings! {
    single_threaded::SINGLE_THREADED_PHASE => single_threaded::single_threaded_phase;
    serial_children::SERIAL_CHILDREN => serial_children::serial_children;
    nagle::NAGLE_DELAYED_ACK => nagle::nagle_delayed_ack;
    sockets::RETRANSMISSION => sockets::retransmission;
    send_queues::SLOW_READER => send_queues::slow_reader;
    sockets::FULL_RECEIVE_WINDOW => sockets::full_receive_window;
    sockets::FULL_SEND_BUFFER => sockets::full_send_buffer;
    sockets::CHATTY_PROTOCOL => sockets::chatty_protocol;
    sockets::SLOW_CONNECT => sockets::slow_connect;
    connection_churn::CONNECTION_CHURN => connection_churn::connection_churn;
    queues::ACCEPT_BOTTLENECK => queues::accept_bottleneck;
    queues::HEAD_OF_LINE_BLOCKING => queues::head_of_line_blocking;
    small_reads::SMALL_READS => small_reads::small_reads;
    small_calls::SMALL_WRITES => small_calls::small_writes;
    memory_churn::MEMORY_CHURN => memory_churn::memory_churn;
    collecting::GARBAGE_COLLECTION => collecting::garbage_collection;
    outliers::OUTLIERS_CPU_TAKEN => outliers::cpu_taken;
    outliers::OUTLIERS_INTERRUPTED => outliers::interrupted;
    outliers::OUTLIERS_MEMORY => outliers::memory;
    outliers::OUTLIERS_QUOTA => outliers::quota;
    outliers::OUTLIERS_LOCK => outliers::lock;
    outliers::OUTLIERS_IDLE => outliers::idle;
    outliers::OUTLIERS_CALLS => outliers::calls;
    outliers::OUTLIERS_COLLECTOR => outliers::collector;
    outliers::OUTLIERS_STOLEN => outliers::stolen;
    outliers::OUTLIERS_SIGNALS => outliers::signals;
    counters::LONG_WAITS_BY_COUNTER => counters::long_waits_by_counter;
    event_loop::EVENT_LOOP_BLOCKED => event_loop::event_loop_blocked;
    wakeups::FINE_GRAINED_WAITS => wakeups::fine_grained_waits;
    wakeups::THUNDERING_HERD => wakeups::thundering_herd;
    runtime::SPINNING => runtime::spinning;
    runtime::LOCK_TRAFFIC => runtime::lock_traffic;
    runtime::THREAD_CHURN => runtime::thread_churn;
    runtime::PROCESS_CHURN => runtime::process_churn;
}

/// The findings of a fold, the dearest first, with their numbers.
pub fn findings_of(fold: &Fold<'_>) -> Vec<(&'static FindingDef, Finding)> {
    let mut findings = found_in(fold);
    numbers::number(fold, &mut findings, found_in);
    findings
}

/// The same without numbers.
fn found_in(fold: &Fold<'_>) -> Vec<(&'static FindingDef, Finding)> {
    let evidence = Evidence::new(fold);
    let found = |number: usize| DETECTORS[number](&evidence);
    let found = FINDINGS.iter().zip(parallel::map(DETECTORS.len(), found));
    let mut findings: Vec<_> = found.flat_map(|(def, found)| found.into_iter().map(move |it| (def, it))).collect();
    findings.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.cost_ns));
    cause_first(&mut findings);
    findings
}

/// Id of the finding on connections that serve a question or two each. The summary tells it in place of what making them takes.
pub const CONNECTION_CHURN: &str = connection_churn::CONNECTION_CHURN.id;

/// Id of the finding on a collector's CPU time. The summary leaves it out where a cause tells of collections.
pub const GARBAGE_COLLECTION: &str = collecting::GARBAGE_COLLECTION.id;

/// Id of the finding on short waits for one object. The summary leaves it out where a cause explains these waits.
pub const FINE_GRAINED_WAITS: &str = wakeups::FINE_GRAINED_WAITS.id;

/// Id of the finding on one thread that works alone. The summary leaves it out where a cause tells the same.
pub const SINGLE_THREADED_PHASE: &str = single_threaded::SINGLE_THREADED_PHASE.id;

/// Why waits on a socket are long comes before the counters that only tell which are.
fn cause_first(findings: &mut [(&'static FindingDef, Finding)]) {
    for at in 0..findings.len() {
        let (def, finding) = &findings[at];
        let same = |(other, cause): &(&'static FindingDef, Finding)| {
            other.id == nagle::NAGLE_DELAYED_ACK.id && cause.subject == finding.subject
        };
        if def.id != counters::LONG_WAITS_BY_COUNTER.id {
            continue;
        }
        if let Some(behind) = findings[at..].iter().position(same) {
            findings[at..=at + behind].rotate_right(1);
        }
    }
}

/// The report.
pub fn report(fold: &Fold<'_>) -> View {
    let mut view = view(fold, findings_of(fold));
    view.notes = notes(fold);
    if view.rows.is_empty() {
        view.notes.push(say!(NOTHING_FOUND).into());
    }
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    view.notes.extend(cut_note(view.rows.len().saturating_sub(limit)));
    view.rows.truncate(limit);
    view
}

/// Where in the program a finding is.
pub fn place_of(fold: &Fold<'_>, finding: &Finding) -> Option<String> {
    finding.place.clone().or_else(|| fold.sums.stacks.place(finding.stack))
}

/// Findings as rows.
pub fn view(fold: &Fold<'_>, findings: Vec<(&'static FindingDef, Finding)>) -> View {
    let columns = columns_of(COLUMNS);
    let instant = |ns: Option<u64>| ns.map_or(Value::None, Value::Ns);
    let row = |(def, finding): (&'static FindingDef, Finding)| {
        let place = place_of(fold, &finding);
        Row {
            depth: 0,
            values: vec![
                Value::Text(def.title.into()),
                finding.number.map_or(Value::None, |number| Value::Text(finding_handle(number))),
                Value::Text(finding.subject),
                Value::Ns(finding.cost_ns),
                Value::Prose(finding.evidence),
                place.map_or(Value::None, Value::Text),
                Value::Text(def.advice.into()),
                Value::Text(def.id.into()),
                Value::Text(def.help.into()),
                stack_value(fold, finding.stack),
                instant(finding.during.map(|(from, _)| from)),
                instant(finding.during.map(|(_, to)| to)),
                Value::Rows(Box::new(claims_of(&finding.claims))),
            ],
        }
    };
    View { columns, rows: findings.into_iter().map(row).collect(), ..View::default() }
}

fn claims_of(claims: &[Claim]) -> View {
    let row = |claim: &Claim| Row {
        depth: 0,
        values: vec![
            Value::Stack(claim.arguments()),
            claim.rows.as_ref().map_or(Value::None, |(column, value)| Value::Text(format!("{column}={value}"))),
            Value::Text(claim.column.into()),
            Value::Text(claim.relation.id().into()),
            Value::Count(claim.number),
        ],
    };
    View { columns: columns_of(CLAIM_COLUMNS), rows: claims.iter().map(row).collect(), ..View::default() }
}
