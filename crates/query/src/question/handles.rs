//! Handles: short names of what answers speak of, the same in every answer about one result.
//!
//! `w12` is the object in row 12 of the result's objects, `t7` the thread in row 7 of its threads. A text is a handle only where
//! nothing has it as a name. Fibers have none; where they stand for threads, the threads beside them keep theirs.

use dwell_model::{ObjectId, ThreadId};
use dwell_store::Trace;

use crate::question::error::QueryError;
use crate::question::filter::{Filter, FilterKey};
use crate::question::query::Query;

const OBJECT: char = 'w';
const THREAD: char = 't';
const FINDING: char = 'f';

/// The handle of an object; none where it is not known.
pub fn object_handle(trace: &Trace, object: ObjectId) -> Option<String> {
    let row = object.get().filter(|row| *row < trace.objects.name.len())?;
    Some(format!("{OBJECT}{row}"))
}

/// The handle of a thread; none where it is not known, and of a fiber.
pub fn thread_handle(trace: &Trace, thread: ThreadId) -> Option<String> {
    let row = thread.get().filter(|row| *row < trace.threads.tid.len())?;
    let own =
        if trace.fiber_threads == 0 { row } else { *trace.beside_fibers.get(row.checked_sub(trace.fiber_threads)?)? };
    Some(format!("{THREAD}{own}"))
}

/// Whether `text` has the form of an object's handle.
pub fn is_object_form(text: &str) -> bool {
    number(text, OBJECT).is_some()
}

/// Whether `text` has the form of a thread's handle.
pub fn is_thread_form(text: &str) -> bool {
    number(text, THREAD).is_some()
}

/// The handle of the finding with this number, from 1.
pub fn finding_handle(number: usize) -> String {
    format!("{FINDING}{number}")
}

/// The number of the finding that `text` is the handle of, from 1.
pub fn finding_number(text: &str) -> Option<usize> {
    number(text, FINDING).filter(|number| *number > 0)
}

/// What a text means that has the form of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleMeaning {
    /// It is a name, or a pattern of names.
    Name,
    /// It is the handle of this row.
    Row(usize),
    /// It is the handle of nothing that is here.
    Nothing,
}

/// The object that `text` is the handle of.
pub fn object_named(trace: &Trace, text: &str) -> HandleMeaning {
    let Some(row) = number(text, OBJECT) else { return HandleMeaning::Name };
    meaning(text, &trace.objects.name, Some(row))
}

/// The thread that `text` is the handle of.
pub fn thread_named(trace: &Trace, text: &str) -> HandleMeaning {
    let Some(own) = number(text, THREAD) else { return HandleMeaning::Name };
    let row = match trace.fiber_threads {
        0 => Some(own),
        fibers => trace.beside_fibers.iter().position(|row| *row == own).map(|at| at + fibers),
    };
    meaning(text, &trace.threads.name, row)
}

/// The row that a filter's value is the handle of; it is [`HandleMeaning::Name`] for keys without handles.
pub fn filter_named(trace: &Trace, filter: &Filter) -> HandleMeaning {
    match filter.key {
        FilterKey::Object => object_named(trace, &filter.value),
        FilterKey::Thread | FilterKey::Waker => thread_named(trace, &filter.value),
        _ => HandleMeaning::Name,
    }
}

/// Fails when a filter has a handle of nothing that is here.
pub fn check_filters(trace: &Trace, query: &Query) -> Result<(), QueryError> {
    for filter in query.filters.iter().chain(&query.exclude) {
        if filter_named(trace, filter) == HandleMeaning::Nothing {
            return Err(match filter.key {
                FilterKey::Object => unknown_object(&filter.value),
                _ => unknown_thread(trace, &filter.value),
            });
        }
    }
    Ok(())
}

/// The handle of no object.
pub fn unknown_object(handle: &str) -> QueryError {
    QueryError::UnknownHandle { what: "object", handle: handle.to_owned() }
}

/// The handle of no thread; where fibers stand for threads, of none that is told of.
fn unknown_thread(trace: &Trace, handle: &str) -> QueryError {
    let handle = handle.to_owned();
    if trace.fiber_threads > 0 {
        return QueryError::ThreadOfFibers { handle };
    }
    QueryError::UnknownHandle { what: "thread", handle }
}

/// What is wrong with `text` where it is the handle of no object and of no thread.
pub fn unknown_handle(trace: &Trace, text: &str) -> Option<QueryError> {
    if object_named(trace, text) == HandleMeaning::Nothing {
        return Some(unknown_object(text));
    }
    (thread_named(trace, text) == HandleMeaning::Nothing).then(|| unknown_thread(trace, text))
}

/// Fails when a filter has a handle: it means one row in each result, and these have nothing to do with each other.
pub fn refuse_handles(traces: [&Trace; 2], query: &Query) -> Result<(), QueryError> {
    for filter in query.filters.iter().chain(&query.exclude) {
        if traces.into_iter().all(|trace| filter_named(trace, filter) != HandleMeaning::Name) {
            return Err(QueryError::HandleOfOne { handle: filter.value.clone() });
        }
    }
    Ok(())
}

/// The number behind `letter`, written as handles are; the largest for one that is too large.
fn number(text: &str, letter: char) -> Option<usize> {
    let digits = text.strip_prefix(letter)?;
    let is_plain = digits == "0" || !(digits.is_empty() || digits.starts_with('0'));
    let is_number = is_plain && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

fn meaning(text: &str, names: &[String], row: Option<usize>) -> HandleMeaning {
    if names.iter().any(|name| name == text) {
        return HandleMeaning::Name;
    }
    row.filter(|row| *row < names.len()).map_or(HandleMeaning::Nothing, HandleMeaning::Row)
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// Two threads; the second one and one of the objects are called as handles are.
    const NAMED_LIKE_HANDLES: &str = "
        a : ##1mmm1##-##2www2##
        t0: ####-###1mmm1######
    ";

    #[test]
    fn a_handle_names_its_row() {
        let trace = trace(NAMED_LIKE_HANDLES);
        let object = trace.objects.name.iter().position(|name| name == "m").unwrap();
        let handle = object_handle(&trace, ObjectId::new(object)).unwrap();
        assert_eq!(object_named(&trace, &handle), HandleMeaning::Row(object));
        assert_eq!(thread_handle(&trace, ThreadId::new(1)).unwrap(), "t1");
        assert_eq!(thread_named(&trace, "t1"), HandleMeaning::Row(1));
        assert_eq!(object_handle(&trace, ObjectId::NONE), None);
        assert_eq!(thread_handle(&trace, ThreadId::new(99)), None);
    }

    #[test]
    fn a_name_that_is_a_handle_wins() {
        let trace = trace(NAMED_LIKE_HANDLES);
        assert_eq!(thread_named(&trace, "t0"), HandleMeaning::Name);
        let mut renamed = trace;
        renamed.objects.name[0] = "w1".into();
        assert_eq!(object_named(&renamed, "w1"), HandleMeaning::Name);
    }

    #[test]
    fn what_only_looks_like_a_handle_is_a_name_or_nothing() {
        let trace = trace(NAMED_LIKE_HANDLES);
        for text in ["", "w", "w-1", "w+1", "w1*", "W1", "w 1", "w01", "w1x", "ｗ1", "w٣", "t1"] {
            assert_eq!(object_named(&trace, text), HandleMeaning::Name, "{text}");
        }
        assert_eq!(object_named(&trace, "w99"), HandleMeaning::Nothing);
        assert_eq!(object_named(&trace, "w99999999999999999999999"), HandleMeaning::Nothing);
        assert_eq!(thread_named(&trace, "t2"), HandleMeaning::Nothing);
    }
}
