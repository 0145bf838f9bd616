//! Requests that goroutines answer: a goroutine of Go's server has a connection for as long as that lives, and is hardly ever woken by a thread.

use std::collections::{HashMap, HashSet};

use dwell_model::ObjectType;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::wait_ends::waited_for;

/// What reads ahead on a connection while a request of it is answered: a goroutine for each one (net/http/server.go).
const READS_AHEAD: &str = "net/http.(*connReader).backgroundRead";
/// Requests of a connection from which on it is no stream: what is done for one of them ends.
const REQUESTS: u32 = 2;
/// How what goroutines wait for in a select is called.
const SELECT: &str = "Select in ";

/// The goroutines that answer requests one after the other.
pub fn request_goroutines(trace: &Trace) -> HashSet<usize> {
    let mut requests: HashMap<usize, u32> = HashMap::new();
    for (thread, name) in trace.threads.name.iter().enumerate() {
        if let Some(parent) = trace.threads.parent[thread].get().filter(|_| name == READS_AHEAD) {
            *requests.entry(parent).or_default() += 1;
        }
    }
    requests.retain(|_, count| *count >= REQUESTS);
    requests.into_keys().collect()
}

/// Whether a goroutine waits in a select of a package that the program calls, such as a rate limiter's: neither in one of its own, which
/// may be for whatever comes, nor in one of the standard library, whose packages' names have no dot before the first slash.
pub fn is_select_of_package(trace: &Trace, key: &EventKey) -> bool {
    let function = waited_for(trace, key).strip_prefix(SELECT);
    let host = function.and_then(|function| Some(function.split_once('/')?.0));
    object_type(trace, key.object()) == ObjectType::Channel && host.is_some_and(|host| host.contains('.'))
}

#[cfg(test)]
mod tests {
    use dwell_model::ThreadId;
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn a_connection_with_several_requests_is_no_stream() {
        let mut trace = trace("serve: ####\nstream: ####\none: ##\ntwo: ##\nthree: ##");
        for (thread, parent) in [(2, 0), (3, 0), (4, 1)] {
            trace.threads.name[thread] = READS_AHEAD.into();
            trace.threads.parent[thread] = ThreadId::new(parent);
        }
        assert_eq!(request_goroutines(&trace), HashSet::from([0]));
    }
}
