//! Threads that a server makes for connections, one for each: there are as many as its clients want.

use dwell_store::Trace;

use crate::study::explain::terms::listens;

/// Part of the threads whose birth has to tell it.
const MOST: f64 = 0.5;
/// How soon after it woke a thread makes others for what came, ns.
const SOON_NS: u64 = 50_000_000;

/// Whether most of these threads, of those whose birth was seen, were made by one that had waited for connections shortly before.
pub fn are_made_for_connections(trace: &Trace, threads: impl Iterator<Item = usize>) -> bool {
    let (mut all, mut made) = (0u32, 0u32);
    for thread in threads.filter(|thread| trace.threads.parent[*thread].is_some()) {
        all += 1;
        made += u32::from(is_made_for_connection(trace, thread));
    }
    made > 0 && f64::from(made) >= MOST * f64::from(all)
}

fn is_made_for_connection(trace: &Trace, thread: usize) -> bool {
    let (threads, events) = (&trace.threads, trace.events());
    let Some(parent) = threads.parent[thread].get().filter(|parent| *parent < threads.tid.len()) else { return false };
    let (rows, born) = (&events.off_cpu, threads.start_ns[thread]);
    let all = rows.of(parent);
    let begun_before = rows.partition_point(all.clone(), |start| start <= born);
    let before = (all.start..begun_before).rev().skip_while(|row| rows.end_ns(*row) > born);
    // Of several that came at once it makes one thread after the other, and may wait in between for each to start.
    let mut soon = before.take_while(|row| born - rows.end_ns(*row) <= SOON_NS).filter(|row| rows.wait_ns(*row) > 0);
    soon.any(|row| {
        let object = events.off_cpu_key(row).object().get();
        object.and_then(|object| trace.objects.name.get(object)).is_some_and(|name| listens(name))
    })
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn a_thread_that_is_made_after_a_wait_for_connections_is_made_for_one() {
        let mut trace = trace("server: w# \nworker: ##");
        trace.threads.parent[1] = dwell_model::ThreadId::new(0);
        let end = trace.events().off_cpu.end_ns(0);
        trace.threads.start_ns[1] = end;
        assert!(!are_made_for_connections(&trace, [1].into_iter()), "it waited for something else");
        let object = trace.events().off_cpu_key(0).object().get().expect("an object");
        trace.objects.name[object] = "TCP listen 127.0.0.1:80".into();
        assert!(are_made_for_connections(&trace, [1].into_iter()));
        assert!(!are_made_for_connections(&trace, [0].into_iter()), "nobody made it");
        assert!(!are_made_for_connections(&trace, [].into_iter()));
    }
}
