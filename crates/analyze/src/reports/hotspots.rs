//! CPU time by function: of the function itself, and with what it calls.

use std::collections::HashMap;

use dwell_model::StackId;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::functions::functions;
use dwell_query::engine::grouping::Groups;
use dwell_query::measure::site::Site;
use dwell_query::question::level::Level;
use dwell_query::stacks::call_stacks::FunctionId;
use dwell_view::{Column, Value, View};

use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{Table, cut_note, levels_or, metrics_or, stack_value};
use crate::tables::notes::notes;

/// The column of a function's time with what it calls.
const TOTAL: &str = "cpu_total_ns";

columns! {
    /// What the report shows.
    COLUMNS;

    plain "share", "Share", "Part of the CPU time shown.",
        "割合", "表示している CPU 時間に対する割合。";
    plain "cpu_total_ns", "CPU Time: Total", "CPU time in the function and in what it calls; where rows are functions.",
        "CPU 時間: 合計", "関数自身と、関数が呼び出したものの CPU 時間。行が関数の場合です。";
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
    let are_functions = levels == [Level::Function];
    let totals = if are_functions { cpu_totals(fold) } else { HashMap::new() };
    let shown = |column: &Column| are_functions || column.id != TOTAL;
    let more: Vec<Column> = columns_of(COLUMNS).into_iter().filter(shown).collect();
    let table = Table { groups: &groups, levels: &levels, metrics: &metrics };
    let mut view = table.view(more, |index, node| {
        let top = groups.top_stack(index, |site| site.key.stack);
        let frame = fold.sums.stacks.frame(fold.sums.stacks.shown(top));
        let source = frame.and_then(|frame| fold.sums.stacks.source_line(frame));
        let module = frame.and_then(|frame| fold.trace.frames.module[frame].get());
        let module = module.and_then(|row| fold.trace.modules.path.get(row));
        let own_ns = node.weights.cpu_ns();
        let total_ns = || Value::Ns(totals.get(&node.key).copied().unwrap_or_default().max(own_ns));
        let times = std::iter::once(Value::Fraction(own_ns as f64 / whole)).chain(are_functions.then(total_ns));
        let places = [
            source.map_or(Value::None, Value::Text),
            module.map_or(Value::None, |path| Value::Text(path.clone())),
            stack_value(fold, top),
        ];
        times.chain(places).collect()
    });
    view.notes = notes(fold);
    view.notes.extend((are_functions && !view.rows.is_empty()).then(|| say!(SELF_TIMES).into()));
    view.notes.extend(cut_note(cut));
    view
}

/// CPU time of each function with what it calls, ns.
fn cpu_totals(fold: &Fold<'_>) -> HashMap<FunctionId, u64> {
    let mut of_stack: HashMap<StackId, u64> = HashMap::new();
    for (_, site) in fold.selected_sites() {
        let ns = site.weights(fold.sums.class_mask).cpu_ns();
        if ns > 0 {
            *of_stack.entry(site.key.stack).or_default() += ns;
        }
    }
    let mut totals: HashMap<FunctionId, u64> = HashMap::new();
    for (stack, ns) in of_stack {
        let mut once = functions(fold, stack);
        once.sort_unstable();
        once.dedup();
        once.into_iter().for_each(|function| *totals.entry(function).or_default() += ns);
    }
    totals
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    #[test]
    fn a_function_has_its_own_time_and_that_with_what_it_calls() {
        let trace = trace("a: 1111112222");
        let table = |query: &Query| {
            let view = hotspots(&Fold::new(&trace, query).unwrap());
            let of = |row: &dwell_view::Row| {
                ["function", "cpu_ns", "cpu_total_ns"].map(|id| view.value(row, id).cloned().unwrap_or(Value::None))
            };
            (view.rows.iter().map(of).collect::<Vec<_>>(), view.columns.iter().any(|it| it.id == "cpu_total_ns"))
        };
        let row = |name: &str, own, total| [Value::Text(name.into()), Value::Ns(own * CELL), Value::Ns(total * CELL)];
        assert_eq!(table(&Query::default()).0, [row("f1", 6, 6), row("f2", 4, 4)]);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let totals = cpu_totals(&fold);
        let of_main = totals.iter().find(|(id, _)| fold.sums.stacks.function_name(**id) == "main").map(|(_, ns)| *ns);
        assert_eq!(of_main, Some(10 * CELL));
        let by_thread = Query { group_by: vec![Level::Thread], ..Query::default() };
        assert!(!table(&by_thread).1, "threads call nothing");
    }
}
