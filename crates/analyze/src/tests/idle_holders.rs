//! Locks whose holders wait for what may come: a session that keeps a lock while its client thinks.

use dwell_model::ThreadId;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_trace_dsl::trace;
use dwell_view::Value;

use super::{column, of};
use crate::reports::Report;

/// The holder took the lock before, and waits for its client's next question; that sleeps.
const THINKS: &str = "
    waiter: #mmmmmmmm#
    holder: 1nnnnnnn1#
    client: #ssssss1###
";

fn causes() -> String {
    let mut trace: Trace = trace(THINKS);
    let thread = |name: &str| ThreadId::new(trace.threads.name.iter().position(|known| known == name).unwrap());
    let (waiter, holder) = (thread("waiter"), thread("holder"));
    for row in 0..trace.off_cpu.thread.len() {
        if trace.off_cpu.thread[row] == waiter {
            trace.off_cpu.holder[row] = holder;
        }
    }
    let socket = trace.objects.name.iter().position(|name| name.contains('n')).unwrap();
    trace.objects.name[socket] = "TCP 127.0.0.1:80 -> 127.0.0.1:*".to_owned();
    trace.tables_changed();
    let view = of(Report::Explain, &trace, &Query::default());
    let causes = column(&view, "cause");
    let texts = causes.iter().map(|cause| match cause {
        Value::Prose(cause) => cause.to_string(),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_client_of_a_locks_holder_does_meanwhile_is_why_others_wait() {
    let told = causes();
    assert!(told.contains("client slept in use_s (app.c:17): explains 6.00 ms of waits"), "{told}");
}
