//! A report of one thing: the row that a handle names, instead of all rows.
//!
//! `waits` takes an object, `threads` a thread and `findings` a finding; `latency` takes an interval and tells its story, as `outlier`
//! does. The numbers of the row are those of the whole report.

use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_query::question::filter::{Filter, FilterKey};
use dwell_query::question::handles::{
    HandleMeaning, check_filters, filter_named, finding_number, is_object_form, is_thread_form,
};
use dwell_query::question::level::Level;
use dwell_query::question::query::Query;
use dwell_view::{Row, Value, View};

use crate::findings;
use crate::sentences::say;
use crate::study::latency::IntervalId;

/// A report, or what is wrong with the question.
type Made = Result<View, QueryError>;

/// What a text has the form of a handle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// An object.
    Object,
    /// A thread.
    Thread,
    /// A finding.
    Finding,
    /// An interval: an outlier of the latency.
    Interval,
}

/// What `text` has the form of a handle of; none where it has none.
///
/// Nobody looks into a result: `w999` has the form, whatever the result has.
pub fn handle_kind(text: &str) -> Option<HandleKind> {
    if is_object_form(text) {
        return Some(HandleKind::Object);
    }
    if is_thread_form(text) {
        return Some(HandleKind::Thread);
    }
    if finding_number(text).is_some() {
        return Some(HandleKind::Finding);
    }
    IntervalId::from_handle(text).map(|_| HandleKind::Interval)
}

/// The rows of the object that `name` names, of a report that `make` makes.
pub fn object(fold: &Fold<'_>, name: &str, make: impl Fn(&Fold<'_>) -> Made) -> Made {
    of_row(fold, (FilterKey::Object, Level::Object), name, make)
}

/// The rows of the thread that `name` names.
pub fn thread(fold: &Fold<'_>, name: &str, make: impl Fn(&Fold<'_>) -> Made) -> Made {
    of_row(fold, (FilterKey::Thread, Level::Thread), name, make)
}

/// The rows of one object or thread.
fn of_row(fold: &Fold<'_>, (key, level): (FilterKey, Level), name: &str, make: impl Fn(&Fold<'_>) -> Made) -> Made {
    let filter = Filter { key, value: name.to_owned() };
    let meaning = filter_named(fold.trace, &filter);
    let alone = Query { filters: vec![filter], ..Query::default() };
    check_filters(fold.trace, &alone)?;
    let by_itself = fold.query.group_by.first().is_none_or(|first| *first == level);
    if !by_itself || meaning == HandleMeaning::Name {
        // The rows are no objects or threads, or it is a name after all: then the sums are of what the filter leaves.
        let filters = fold.query.filters.iter().filter(|other| other.key != key).cloned().chain(alone.filters);
        let query = Query { filters: filters.collect(), subject: None, ..fold.query.clone() };
        let mut view = make(&Fold::new(fold.trace, &query)?)?;
        say_where_empty(&mut view, name);
        return Ok(view);
    }
    let query = Query { limit: None, ..fold.query.clone() };
    let mut view = make(&fold.asked(&query))?;
    keep(&mut view, name);
    Ok(view)
}

/// One finding, by its number among those of the whole result.
pub fn finding(fold: &Fold<'_>, name: &str, make: impl Fn(&Fold<'_>) -> Made) -> Made {
    let unknown = || QueryError::UnknownHandle { what: "finding", handle: name.to_owned() };
    let number = finding_number(name).ok_or_else(unknown)?;
    let query = Query { limit: None, ..fold.query.clone() };
    let mut view = make(&fold.asked(&query))?;
    keep(&mut view, name);
    if view.rows.is_empty() && number > count_of_whole(fold) {
        return Err(unknown());
    }
    Ok(view)
}

/// How many findings the whole result has.
fn count_of_whole(fold: &Fold<'_>) -> usize {
    if fold.trace.fiber_threads > 0 {
        return 0; // those of fibers have no numbers
    }
    let query = Query::default();
    Fold::new(fold.trace, &query).map_or(0, |whole| findings::findings_of(&whole).len())
}

/// Leaves the outermost rows with this handle, with the rows below them; where there is none, a note says so.
fn keep(view: &mut View, handle: &str) {
    let of_handle = |row: &Row| {
        let column = view.columns.iter().position(|column| column.id == "handle");
        matches!(column.and_then(|at| row.values.get(at)), Some(Value::Text(text)) if text == handle)
    };
    let mut is_kept = false;
    let kept: Vec<bool> = view
        .rows
        .iter()
        .map(|row| {
            is_kept = if row.depth == 0 { of_handle(row) } else { is_kept };
            is_kept
        })
        .collect();
    let mut kept = kept.into_iter();
    view.rows.retain(|_| kept.next().unwrap_or(false));
    say_where_empty(view, handle);
}

fn say_where_empty(view: &mut View, name: &str) {
    if view.rows.is_empty() {
        view.notes.push(say!(NOT_SELECTED, name = name.to_owned()).into());
    }
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;
    use crate::reports::{Report, report, report_of_handle};

    const CONVOY: &str = "
        a : ##1mmm1##-##2www2##
        b : ####-###1mmm1######
    ";

    fn asked(report_asked: Report, name: &str, query: Query) -> Result<View, QueryError> {
        report(report_asked, &trace(CONVOY), &Query { subject: Some(name.to_owned()), ..query })
    }

    #[test]
    fn the_form_of_a_handle_says_which_report_shows_it() {
        let shown = ["w3", "t0", "f2", "ow525", "ot1", "w", "f0", "o3", "waits", "r001th", "t7x"].map(report_of_handle);
        let [waits, threads, findings, outlier] =
            [Report::Waits, Report::Threads, Report::Findings, Report::Outlier].map(Some);
        assert_eq!(shown[..5], [waits, threads, findings, outlier, outlier]);
        assert_eq!(shown[5..], [None; 6]);
        assert!(Report::Latency.takes_handle("ow525") && !Report::Waits.takes_handle("t1"));
    }

    #[test]
    fn one_row_is_that_of_the_whole_report() {
        let trace = trace(CONVOY);
        let all = report(Report::Waits, &trace, &Query::default()).unwrap();
        for row in &all.rows {
            let Some(Value::Text(handle)) = all.value(row, "handle") else { panic!("{row:?}") };
            let limited = Query { limit: Some(1), ..Query::default() };
            assert_eq!(asked(Report::Waits, handle, limited).unwrap().rows, std::slice::from_ref(row));
            let by_thread = Query { group_by: vec![Level::Thread], ..Query::default() };
            let nested = asked(Report::Waits, handle, by_thread).unwrap();
            assert!(!nested.rows.is_empty() && nested.rows.len() <= 2, "{nested:?}");
        }
        let threads = report(Report::Threads, &trace, &Query::default()).unwrap();
        let second = threads.rows.iter().find(|row| threads.value(row, "handle") == Some(&Value::Text("t1".into())));
        assert_eq!(asked(Report::Threads, "t1", Query::default()).unwrap().rows, [second.unwrap().clone()]);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let unknown = |report, name: &str| asked(report, name, Query::default()).unwrap_err().to_string();
        assert_eq!(unknown(Report::Waits, "w99"), "there is no object `w99`");
        assert_eq!(unknown(Report::Threads, "t99"), "there is no thread `t99`");
        assert_eq!(unknown(Report::Findings, "f99"), "there is no finding `f99`");
        let filters = vec![Filter { key: FilterKey::Function, value: "nothing".into() }];
        let filtered = asked(Report::Threads, "t1", Query { filters, ..Query::default() }).unwrap();
        assert!(filtered.rows.is_empty() && filtered.notes.iter().any(|note| note.to_string().contains("t1")));
    }
}
