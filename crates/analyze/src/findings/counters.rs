//! Counters: what the program's own numbers say of its waits.

use std::collections::BTreeSet;

use dwell_model::FindingDef;
use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::findings::claim::Claim;
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::def;
use crate::study::correlation::{Beside, Correlation, correlations};

/// A counter tells the long waits from the short ones.
pub const LONG_WAITS_BY_COUNTER: FindingDef = FindingDef {
    id: "long-waits-by-counter",
    title: "Long waits at certain counter values",
    help: "The waits on an object are short or long, and one of the program's counters has other values beside the \
           long waits. Concluded from the value that the thread set nearest to each wait, and how clearly the values \
           of short and long waits differ.",
    advice: "Look at what the program does when the counter has this value. For waits on sockets, the findings about \
             sockets give the reason, where sockets were recorded (--analyze threading,sockets).",
    japanese_title: "カウンターの値による長い待機",
    japanese_advice: "カウンターがその値のときのプログラムの動作を調べてください。ソケットの待機が長い理由は、\
                      ソケットを記録すれば (--analyze threading,sockets) 検出結果が示します。",
};

/// Part of the elapsed time that the long waits must take.
const LONG_SHARE: f64 = 0.02;

pub fn long_waits_by_counter(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let mut told = BTreeSet::new();
    let all = correlations(evidence.fold).into_iter();
    // The best counter of each object.
    let mut best: Vec<Correlation> = all.filter(|it| evidence.share(it.long.total_ns) >= LONG_SHARE).collect();
    best.sort_by(|a, b| b.separation.total_cmp(&a.separation));
    best.retain(|it| told.insert(it.object));
    best.iter().map(|it| finding(evidence, it)).collect()
}

fn finding(evidence: &Evidence<'_, '_>, it: &Correlation) -> Finding {
    let fold = evidence.fold;
    let counters = &fold.trace.annotations.counters;
    let counter = it.counter.get().and_then(|row| counters.name.get(row)).map_or("", String::as_str);
    let set = match it.beside {
        Beside::Before => &def::COUNTER_BEFORE,
        Beside::After => &def::COUNTER_AFTER,
        Beside::Meanwhile => &def::COUNTER_MEANWHILE,
    };
    let values = vec![
        ("counter", counter.into()),
        ("long_value", it.long.value.to_string().into()),
        ("long_count", it.long.count.into()),
        ("long_wait", Word::Ns(it.long.wait_ns)),
        ("short_value", it.short.value.to_string().into()),
        ("short_count", it.short.count.into()),
        ("short_wait", Word::Ns(it.short.wait_ns)),
        ("separation", Word::Real(it.separation, 2)),
        ("total", Word::Ns(it.long.total_ns)),
        ("share", Word::part(it.long.total_ns, evidence.elapsed_ns)),
    ];
    let text = Sentence::new(set, values).into();
    // As long as short ones they would still take.
    let least = it.short.wait_ns.saturating_mul(it.long.count as u64);
    let cost_ns = it.long.total_ns.saturating_sub(least);
    Finding {
        subject: fold.object_name(it.object).into(),
        evidence: text,
        stack: it.stack,
        cost_ns,
        claims: claims(fold, it),
        ..Finding::default()
    }
}

/// What the report of correlation shows of the object, whose row tells of several counters.
fn claims(fold: &Fold<'_>, it: &Correlation) -> Vec<Claim> {
    let numbers = [("long_ns", it.long.total_ns), ("long_count", it.long.count as u64)];
    let object = fold.object_name(it.object);
    numbers
        .map(|(column, number)| Claim::at_least("correlation", fold.query, column, number).of("object", object))
        .into()
}
