//! The chains of a root cause as a table of waits, for those who draw them or follow them to other reports.

use dwell_query::engine::fold::Fold;
use dwell_query::question::handles::object_handle;
use dwell_view::{Row, Value, View};

use crate::study::explain::{Explanation, Link, RootCause};
use crate::tables::columns::{columns, columns_of};

columns! {
    /// What the table shows.
    COLUMNS;

    plain "chain", "Chain", "Number of the chain, from 0; a chain's waits follow one another, each because of the next.",
        "連鎖", "連鎖の番号 (0 から)。同じ連鎖の待機は順に並び、それぞれ次の待機が原因です。";
    plain "wait_ns", "Explained Waits", "Wait time that the whole chain explains.",
        "説明される待機", "連鎖全体が説明する待機時間。";
    plain "who", "Who", "The role of threads that waited.",
        "スレッドの役割", "待ったスレッドの役割。";
    plain "waited_for", "Waited for", "What they waited for, in words.",
        "待機の対象", "待機の対象を言葉で示したもの。";
    plain "place", "Place", "Where in the program.",
        "場所", "プログラムの中の場所。";
    plain "object", "Sync Object", "The object; none where they waited for several.",
        "同期オブジェクト", "オブジェクト。複数の場合はありません。";
    plain "handle", "#", "Short name of the object; none where they waited for several.",
        "#", "オブジェクトの短い名前。複数の場合はありません。";
    plain "threads", "Threads", "Names of the role's threads, as a filter takes them.",
        "スレッド", "役割に属するスレッドの名前。フィルターに使えます。";
    plain "process", "Process", "Name of their process.",
        "プロセス", "スレッドのプロセスの名前。";
}

/// The waits of the chains, first wait first.
pub fn chain_links(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> View {
    let rows = chains.iter().enumerate().flat_map(|(number, (links, ns))| {
        root.askers(links)
            .iter()
            .map(move |link| Row { depth: 0, values: values(fold, explanation, number, *ns, link) })
    });
    View { rows: rows.collect(), columns: columns_of(COLUMNS), ..View::default() }
}

fn values(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, chain: usize, ns: u64, link: &Link) -> Vec<Value> {
    let names = &explanation.names;
    let text = |text: &str| if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) };
    let object = names.object(link.label);
    let handle = object.and_then(|object| object_handle(fold.trace, object));
    let object = object.map(|object| fold.object_name(object));
    let (threads, process) = names.threads_of(link.role);
    vec![
        Value::Count(chain as u64),
        Value::Ns(ns),
        text(names.role(link.role)),
        text(names.label(link.label)),
        names.place(link.place).map_or(Value::None, |place| text(&place.at)),
        object.map_or(Value::None, text),
        handle.map_or(Value::None, Value::Text),
        text(&threads),
        text(process),
    ]
}
