//! Of a program that hardly did anything, where its threads wait: Dwell cannot know whether it has nothing to do, or hangs.

use std::cmp::Reverse;
use std::collections::HashMap;

use dwell_query::engine::fold::Fold;
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;
use dwell_view::{Sentence, Word};

use crate::reports::cause_words::link_text;
use crate::sentences::say;
use crate::study::explain::{Explanation, Link, accepts, is_first_of_process, is_from_program, loop_code};

/// Part of the time for which threads run, all together, up to which a program hardly does anything.
const HARDLY: f64 = 0.02;
/// Part of the time that a wait must have taken to be told.
const MOSTLY: f64 = 0.5;
/// Waits that are told.
const TOLD: usize = 4;

/// The sentence that says it; none where the program ran, or a part of the recording is asked for. Waits in functions of the program come first,
/// those of main threads before others; threads of runtimes without work are left out where any other is there.
pub fn where_threads_wait(fold: &Fold<'_>, explanation: &mut Explanation<'_, '_>) -> Option<Sentence> {
    let elapsed_ns = explanation.elapsed_ns;
    let hardly_ran = explanation.whole().running_ns as f64 <= HARDLY * elapsed_ns as f64;
    if !hardly_ran || !fold.query.explains_all() {
        return None;
    }
    let mut waits: Vec<ThreadWait> = longest_waits(fold, elapsed_ns, explanation);
    let is_of_runtime = |wait: &ThreadWait| wait.is_idle && !wait.is_main;
    let any_other = waits.iter().any(|wait| !is_of_runtime(wait));
    waits.retain(|wait| !any_other || !is_of_runtime(wait));
    waits.sort_by_key(|wait| (!wait.in_program, !wait.is_main, Reverse(wait.ns)));
    let awaits_requests = waits.iter().any(|wait| wait.is_for_requests_or_time);
    let mut told: Vec<String> = Vec::new();
    for wait in &waits {
        let text = wait_text(fold, explanation, &wait.link);
        if !told.contains(&text) {
            told.push(text);
        }
    }
    let rest = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    let rest = (rest > 0).then(|| rest.to_string());
    let elapsed = Word::Ns(elapsed_ns);
    match told.join("; ") {
        waits if waits.is_empty() => None,
        waits if awaits_requests => Some(say!(HARDLY_ASKED, elapsed = elapsed, waits = waits, rest = rest)),
        waits => Some(say!(HARDLY_RAN, elapsed = elapsed, waits = waits, rest = rest)),
    }
}

/// A wait; of an event loop with what it ran before, since the stack of the wait is the loop's.
fn wait_text(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, link: &Link) -> String {
    let (text, names) = (link_text(explanation, link), &explanation.names);
    match names.is_of_event_loop(link.label).then(|| loop_code(fold, names, link.role, 0)).flatten() {
        Some(place) => format!("{text}, after it ran {place}"),
        None => text,
    }
}

/// A thread's longest wait at one place for one thing.
struct ThreadWait {
    link: Link,
    ns: u64,
    /// Whether the wait is in a function of the program.
    in_program: bool,
    /// Whether the thread is the first of its process.
    is_main: bool,
    /// Whether it is a wait of a runtime's thread without work, or an event loop's for whatever comes.
    is_idle: bool,
    /// Whether it is for whoever asks, or for a time that the program chose.
    is_for_requests_or_time: bool,
}

/// Waits of a thread in a second from which on it does not hang.
const OFTEN: u64 = 5;
/// How descriptors of timers are called.
const TIMER: &str = "timerfd";
/// How functions of Go and Java end that take connections.
const ACCEPTS: &[&str] = &[".accept", ".Accept"];

fn longest_waits(fold: &Fold<'_>, elapsed_ns: u64, explanation: &mut Explanation<'_, '_>) -> Vec<ThreadWait> {
    let (trace, events) = (fold.trace, fold.trace.events());
    let (mut idle, mut waits) = (IdleWaits::default(), Vec::new());
    for thread in 0..trace.threads.tid.len() {
        let (mut of_key, mut count): (HashMap<u32, u64>, _) = (HashMap::new(), 0);
        events.off_cpu.for_each_wait(events.off_cpu.of(thread), |_, ns, key| {
            let sum = of_key.entry(key).or_default();
            *sum = sum.saturating_add(ns);
            count += 1;
        });
        let longest = of_key.into_iter().max_by_key(|(key, ns)| (*ns, Reverse(*key)));
        let Some((key, ns)) = longest.filter(|(_, ns)| *ns as f64 >= MOSTLY * elapsed_ns as f64) else { continue };
        let (key, names) = (events.key(key), &mut explanation.names);
        let link = Link {
            role: names.role_of(thread),
            label: names.label_of(key.object(), key.syscall()),
            place: names.place_of(key.stack()),
        };
        let in_program = is_from_program(trace, &fold.sums.stacks, key.stack());
        let is_idle = idle.is_idle(&fold.sums.stacks, key.stack(), object_type(trace, key.object()));
        let label = names.label(link.label);
        let in_accept =
            || fold.sums.stacks.whole_names(key.stack()).any(|it| ACCEPTS.iter().any(|end| it.ends_with(end)));
        let goes_on = count >= OFTEN * elapsed_ns / 1_000_000_000;
        let is_for_requests_or_time = accepts(label) || label.contains(TIMER) || in_accept() || goes_on;
        waits.push(ThreadWait {
            is_for_requests_or_time,
            link,
            ns,
            in_program,
            is_main: is_first_of_process(trace, thread),
            is_idle,
        });
    }
    waits
}
