//! Waits that a library makes on purpose: before it tries again, and to keep to a rate.

use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::name_words::has_word;

use crate::study::explain::roots::RootCause;

/// What a library's wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryWait {
    /// What it does failed, and is to be tried again.
    Retry,
    /// A limit of the rate.
    Rate,
}

/// Words of functions and files that try again.
const RETRY_WORDS: &[&str] =
    &["retry", "retries", "retrying", "retryer", "retryable", "retryablehttp", "backoff", "tenacity"];
/// Words of functions and files that keep to a rate.
const RATE_WORDS: &[&str] =
    &["limiter", "ratelimit", "ratelimiter", "throttle", "throttler", "pacer", "bottleneck", "bucket4j"];

/// In names of functions that only call what may be tried again: every call of gRPC goes through one.
const WRAPPERS: &[&str] = &["withRetry", "WithRetry", "with_retry"];

/// What a wait is for by the names of the functions in which it is, up to the program's, and their files.
pub fn library_wait(stacks: &CallStacks<'_>, root: &RootCause) -> Option<LibraryWait> {
    let is_place = |name: &str| root.at.starts_with(name.trim_end_matches("::{{closure}}"));
    let mut is_inside = true;
    let calls = stacks.whole_chain(root.stack).take_while(|stack| {
        let name = stacks.function_name(stacks.function(*stack));
        std::mem::replace(&mut is_inside, name.is_empty() || !is_place(name))
    });
    calls.filter(|stack| !stacks.is_kernel(*stack)).find_map(|stack| {
        let name = stacks.function_name(stacks.function(stack));
        let file = stacks.frame(stack).and_then(|frame| stacks.source_line(frame)).unwrap_or_default();
        if WRAPPERS.iter().any(|wrapper| name.contains(wrapper)) {
            return None;
        }
        let has = |words: &[&str]| has_word(name, words) || file.rsplit('/').take(2).any(|part| has_word(part, words));
        let retries = has(RETRY_WORDS).then_some(LibraryWait::Retry);
        retries.or_else(|| has(RATE_WORDS).then_some(LibraryWait::Rate))
    })
}
