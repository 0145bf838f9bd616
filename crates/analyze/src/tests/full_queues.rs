//! Who is held up at a queue, where the other side never waits.

use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_trace_dsl::trace;
use dwell_view::Value;

use super::{column, of};
use crate::reports::Report;

/// The consumer never waits: nobody is seen to give it anything.
const FULL_QUEUE: &str = "
    consumer: 1111111111111111
    producer: ##cccc##cccc##cc
";

/// Threads wait for the object `c` in a function of this name.
fn in_function(picture: &str, name: &str) -> Trace {
    let mut trace = trace(picture);
    let waits = trace.frames.function.iter().position(|function| function == "use_c").unwrap();
    trace.frames.function[waits] = name.to_owned();
    trace.tables_changed();
    trace
}

#[test]
fn who_puts_into_a_full_queue_is_held_up_and_who_takes_from_it_is_not() {
    let cases = [("Queue.put", true), ("jobs::Channel<Job>::send", true), ("Queue.get", false), ("work", false)];
    for (function, is_told) in cases {
        let view = of(Report::Explain, &in_function(FULL_QUEUE, function), &Query::default());
        let causes = column(&view, "cause");
        let held_up = "consumer ran f1 (app.c:11): explains 8.00 ms of waits";
        let tells = |cause: &Value| matches!(cause, Value::Prose(cause) if cause.to_string().starts_with(held_up));
        assert_eq!(causes.iter().any(tells), is_told, "{function}: {causes:?}");
    }
}
