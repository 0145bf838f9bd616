//! What could not be seen.

use dwell_model::losses::Severity;
use dwell_store::Trace;
use dwell_store::tables::LossRow;
use dwell_view::{Prose, Row, Value, View};

use crate::notices::remarks;
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::losses::by_severity;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "loss", "Loss", "Name of the counter.",
        "カウンター", "失われたものの名前。";
    plain "severity", "Severity", "What it does to the result: data-loss, where waits, switches, threads or processes are missing or wrong; degraded, where names, stacks or the detail of one topic are; information, where it was put back, is within the definition, or touches less than a hundredth.",
        "重大度", "結果への影響。データの損失 (待機、スイッチ、スレッド、プロセスが欠けているか誤っている)、低下 (名前、スタック、一部の詳細が欠けている)、情報 (補われたか、定義の範囲内か、影響が 100 分の 1 未満)。";
    plain "count", "Count", "How often it happened.",
        "回数", "起きた回数。";
    plain "from_ns", "From", "When the first was lost, at the earliest; since the start. Not known of all.",
        "開始", "最初に失われた可能性のある最も早い時刻。収集の開始からの時間で、分からないものもあります。";
    plain "to_ns", "Until", "When the last was lost, at the latest.",
        "終了", "最後に失われた可能性のある最も遅い時刻。";
    plain "missing", "What is missing", "What the result does not have because of it.",
        "欠けているもの", "それによって結果に含まれないもの。";
}

/// One row per kind of loss, the most severe first; none when nothing was lost. Remarks of the collection are the notes.
pub fn losses(trace: &Trace) -> View {
    let columns = columns_of(COLUMNS);
    let row = |(severity, lost): (Severity, LossRow)| {
        let at = |time_ns| if lost.end_ns > 0 { Value::Ns(time_ns) } else { Value::None };
        let (first, last) = (at(lost.start_ns), at(lost.end_ns));
        Row {
            depth: 0,
            values: vec![
                Value::Text(lost.name),
                Value::Text(severity.id().into()),
                Value::Count(lost.count),
                first,
                last,
                Value::Text(lost.doc),
            ],
        }
    };
    let mut notes: Vec<Prose> = remarks(trace).collect();
    if trace.losses.name.is_empty() {
        notes.insert(0, say!(NOTHING_LOST).into());
    }
    View { columns, rows: by_severity(trace).into_iter().map(row).collect(), notes, ..View::default() }
}
