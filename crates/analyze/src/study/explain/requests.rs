//! Whether what a thread does is for a request: a library took that and called the program.

use dwell_model::StackId;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::own_code::is_telling_script_library;
use dwell_store::Trace;

use crate::study::explain::places::{is_of_package_at, is_of_program};

/// What functions of libraries are called that take requests, messages and jobs and hand them to the program.
#[rustfmt::skip]
const TAKES_REQUESTS: &[&str] = &[
    "request", "servlet", "http", "handle", "dispatch", "message", "connection", "wsgi", "perform_job", "trace_task",
];

/// Sources of libraries that call the program for itself, and for no request of somebody else: clients, tests, what is done after the answer,
/// log messages.
#[rustfmt::skip]
const FOR_ITSELF: &[&str] = &[
    "/logging/", "-packages/requests/", "-packages/urllib3/", "-packages/httpx/", "-packages/httpcore/", "/http/client.py", "/urllib/request.py", "/aiohttp/client",
    "/flask/testing.py", "/werkzeug/test.py", "/testclient.py", "/starlette/background.py",
];

/// Whether a function of the program is on the stack that a library called to answer a request.
pub fn answers_request(trace: &Trace, stacks: &CallStacks<'_>, stack: StackId) -> bool {
    let for_itself = |frame: usize| FOR_ITSELF.iter().any(|part| trace.frames.file[frame].contains(part));
    let (mut is_below_own, mut is_below_script, mut answers) = (false, false, false);
    for at in stacks.whole_chain(stack) {
        let Some(frame) = stacks.frame(at) else { continue };
        let (function, is_packages) = (&trace.frames.function[frame], is_of_package_at(trace, frame));
        // A script's server may be written in another language: uwsgi.
        let is_servers = is_below_script && !trace.frames.script[frame];
        let file = &trace.frames.file[frame];
        let of_node = file.strip_prefix("node:");
        let is_librarys = is_packages || is_servers || of_node.is_some() || is_telling_script_library(file);
        let takes = takes_requests(function) || of_node.is_some_and(takes_requests);
        answers |= is_below_own && is_librarys && (takes || (is_packages && works(function)));
        // What a request calls itself may be a client.
        if is_below_own && for_itself(frame) {
            return false;
        }
        is_below_own |= is_of_program(trace, stacks, at);
        is_below_script |= is_below_own && trace.frames.script[frame];
    }
    answers
}

/// Whether it is a worker's. Those of a language's own library run whatever they are given, such as a loop that never ends.
fn works(function: &str) -> bool {
    function.to_lowercase().contains("worker")
}

fn takes_requests(function: &str) -> bool {
    let name = function.to_lowercase();
    TAKES_REQUESTS.iter().any(|word| name.contains(word))
}
