//! CPU time by function.

use dwell_view::{Value, View};

use crate::engine::fold::Fold;
use crate::engine::grouping::Groups;
use crate::measure::site::Site;
use crate::question::level::Level;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{Table, cut_note, levels_or, metrics_or, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "share", "Share", "Part of the CPU time shown.",
        "割合", "表示している CPU 時間に対する割合。";
    detail "source", "Source", "Source file and line of its hottest place.",
        "ソース", "CPU 時間が最も長い場所のソースファイルと行。";
    detail "module", "Module", "File that it is in.",
        "モジュール", "関数を含むファイル。";
    detail "top_stack", "Top Stack", "The stack with the most time, leaf first.",
        "最も重いスタック", "時間が最も長いスタック。末端の関数から順に示します。";
}

/// CPU time by function.
pub fn hotspots(fold: &Fold<'_>) -> View {
    let metrics = ["cpu_ns", "effective_by_class", "effective_ns", "spin_ns", "overhead_ns", "wait_ns"];
    let levels = levels_or(fold, &[Level::Function]);
    let metrics = metrics_or(fold, &metrics);
    let mut groups = Groups::new(fold, &levels, |_: &Site| true);
    let cut = groups.sort(|weights| weights.cpu_ns() as f64 + weights.wait_ns() as f64 * 1e-6);
    let whole = fold.shown().cpu_ns().max(1) as f64;
    let more = columns_of(COLUMNS);
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table.view(more, |index, node| {
        let top = groups.top_stack(index, |site| site.key.stack);
        let frame = fold.stacks.frame(fold.stacks.shown(top));
        let source = frame.and_then(|frame| fold.stacks.source_line(frame));
        let module = frame.and_then(|frame| fold.trace.frames.module[frame].get());
        let module = module.and_then(|row| fold.trace.modules.path.get(row));
        vec![
            Value::Fraction(node.weights.cpu_ns() as f64 / whole),
            source.map_or(Value::None, Value::Text),
            module.map_or(Value::None, |path| Value::Text(path.clone())),
            stack_value(fold, top),
        ]
    });
    view.notes = notes(fold);
    view.notes.extend(cut_note(cut));
    view
}
