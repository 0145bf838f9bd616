//! Folded stacks: a line for each, `thread;outermost;…;innermost weight`, as Brendan Gregg's flamegraph.pl and its successors
//! read them. The weight is nanoseconds.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use dwell_analyze::Fold;
use dwell_analyze::selected::{frame_rows, thread_name};
use dwell_model::{StackId, ThreadId};

use crate::stack_sums::{StackWeight, stack_sums};

/// What a stack without a known frame is called.
const UNKNOWN: &str = "[unknown]";

/// Writes the stacks of what the fold's query selects, in order of their names. Fails where `out` does.
pub fn write(fold: &Fold<'_>, weight: StackWeight, out: &mut dyn Write) -> Result<()> {
    // Stacks of different addresses may have the same names.
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for ((thread, stack), ns) in stack_sums(fold, weight) {
        let sum = lines.entry(names(fold, thread, stack)).or_default();
        *sum = sum.saturating_add(ns);
    }
    lines.iter().try_for_each(|(names, ns)| writeln!(out, "{names} {ns}"))
}

fn names(fold: &Fold<'_>, thread: ThreadId, stack: StackId) -> String {
    let mut rows: Vec<usize> = frame_rows(&fold.sums.stacks, stack).collect();
    rows.reverse();
    let mut line = element(&thread_name(fold, thread));
    for row in &rows {
        line.push(';');
        line.push_str(&element(&fold.trace.frames.function[*row]));
    }
    if rows.is_empty() {
        line.push(';');
        line.push_str(UNKNOWN);
    }
    line
}

/// A name without what separates names and lines.
fn element(name: &str) -> String {
    name.chars().map(|letter| if letter == ';' || letter.is_control() { ':' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Query;

    use super::*;
    use crate::test_trace::two_threads;

    fn folded(query: &Query, weight: StackWeight) -> String {
        let trace = two_threads();
        let mut out = Vec::new();
        write(&Fold::new(&trace, query).unwrap(), weight, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_thread_callers_and_time() {
        let cpu = "main (10);main;work 4000000\nwork:er (11);main;work 1000000\n";
        assert_eq!(folded(&Query::default(), StackWeight::Cpu), cpu);
        let wait = "work:er (11);main;push_item;pthread_mutex_lock 3000000\n";
        assert_eq!(folded(&Query::default(), StackWeight::Wait), wait);
    }

    #[test]
    fn the_query_selects() {
        let query = Query { range: Some((0, 2_000_000)), ..Query::default() };
        assert_eq!(folded(&query, StackWeight::Cpu), "main (10);main;work 2000000\nwork:er (11);main;work 1000000\n");
        assert!(folded(&query, StackWeight::Wait).ends_with(" 1000000\n"));
    }
}
