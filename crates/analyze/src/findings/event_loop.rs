//! Event loops that stand still: a turn between two waits for events that takes long delays all that the loop serves.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dwell_model::{FindingDef, ObjectId, ObjectType, Outcome, ProcessId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::hidden_threads::hidden;
use dwell_query::engine::row_sampling::sampled_parts;
use dwell_query::measure::quantile::{median, median_of};
use dwell_query::measure::site::Site;
use dwell_query::question::windows::Part;
use dwell_query::stacks::call_stacks::FunctionId;
use dwell_query::stacks::own_code;
use dwell_store::Trace;
use dwell_view::Word;

use crate::findings::claim::{Claim, of_thread};
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::event_loop_turns::{MANY, Stretch, TurnReader, Turns, runs_loop};
use crate::study::explain::{is_safepoint, mostly_ran};

/// Turns of an event loop that take long.
pub const EVENT_LOOP_BLOCKED: FindingDef = FindingDef {
    id: "event-loop-blocked",
    title: "Event loop blocked",
    help: "Between two waits for events, the thread of an event loop computes or waits for something else for 10 ms or \
           more. Meanwhile it serves nobody: every connection, timer and callback of the loop is late by as much. A turn counts \
           as long only where no sample shows that the loop went on, more often than chance explains.",
    advice: "Move the work to another thread or process (worker_threads in Node, asyncio.to_thread or run_in_executor in \
             Python); split it into pieces that return to the loop; replace a call that waits by its non-blocking form; \
             in Redis, avoid commands that go through all keys.",
    japanese_title: "イベントループの停滞",
    japanese_advice: "処理を別のスレッドやプロセスに移すか (Node では worker_threads、Python では asyncio.to_thread や \
                      run_in_executor)、小さく分けてループに戻してください。待機する呼び出しは非ブロッキングのものに\
                      置き換え、Redis では全キーをたどるコマンドを避けてください。",
};

/// Waits for events from which a thread runs a loop.
const LEAST_POLLS: usize = 10;
/// Time in one turn from which it is long.
const LONG_NS: u64 = 10_000_000;
/// Part of the elapsed time that long turns must take, and how many or how long a single one; or so many must take so long.
const SHARE: f64 = 0.02;
const SEVERAL: usize = 3;
const SINGLE_NS: u64 = 100_000_000;
const VERY_LONG: usize = 3;
const VERY_LONG_NS: u64 = 20_000_000;
/// Part of the time of the busiest function that a callee must have to be named instead.
const NEARLY: f64 = 0.8;
/// Part of the long turns from which on they are mostly one thing.
const MOSTLY: f64 = 0.5;
/// What a loop itself takes of a turn, at least: it polls, receives and sends.
const LOOP_NS: f64 = 10_000.0;
/// So many short turns with a sample say how long such a turn is; so many stretches that were ended, how often that happens.
const FEW_TURNS: usize = 10;
const FEW_CUTS: usize = 20;
/// Part of the samples that end a stretch of short turns, at most: handlers differ.
const LIKELY: f64 = 0.15;
/// How many times as many stretches there must be as chance makes of short turns.
const TIMES: f64 = 3.0;
/// Likelihood up to which chance is no explanation.
const UNLIKELY: f64 = 0.01;

pub fn event_loop_blocked(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (parts, share) = sampled_parts(evidence.fold.trace, &evidence.fold.sums.windows);
    let mut reader = TurnReader::new(evidence.fold);
    let loops = loops(evidence, &reader);
    loops.into_iter().filter_map(|thread| blocked(evidence, (&parts, share), &mut reader, thread)).collect()
}

/// The threads that wait for events which no other thread takes.
fn loops(evidence: &Evidence<'_, '_>, reader: &TurnReader<'_, '_>) -> BTreeSet<usize> {
    let (fold, hidden) = (evidence.fold, hidden(evidence.fold));
    let mut polled: BTreeMap<ObjectId, BTreeSet<usize>> = BTreeMap::new();
    let mut shared: BTreeSet<usize> = BTreeSet::new();
    for site in fold.sums.sites.iter().filter(|site| site.is_wait()) {
        let kind = fold.object_type(site.key.object);
        let polls = match kind {
            ObjectType::Event => serves_many(fold, site.key.object),
            kind => kind == ObjectType::IoUring,
        };
        let Some(thread) = site.key.thread.get().filter(|_| polls) else {
            continue;
        };
        polled.entry(site.key.object).or_default().insert(thread);
        if hidden.get(thread) == Some(&true) || reader.is_shared(site.key.stack) {
            shared.insert(thread);
        }
    }
    shared.extend(polled.values().filter(|threads| threads.len() > 1).flatten());
    let asked = asked_by_others(fold, &polled);
    let selected = fold.selected_sites().filter(|(_, site)| polled.contains_key(&site.key.object));
    let threads = selected.filter_map(|(_, site)| site.key.thread.get());
    threads.filter(|thread| !shared.contains(thread) && asked.contains(thread)).collect()
}

/// The threads of loops that others ask, or that have timers: they alone are late for somebody. The others wait only for what threads of a pool, or
/// processes that they started, do for them.
fn asked_by_others(fold: &Fold<'_>, polled: &BTreeMap<ObjectId, BTreeSet<usize>>) -> BTreeSet<usize> {
    let waits = || fold.sums.sites.iter().filter(|site| site.is_wait());
    let woken_by = |site: &Site| Some((site.key.thread.get()?, site.key.waker.get()?));
    let wake_ups: HashSet<(usize, usize)> = waits().filter_map(woken_by).collect();
    let is_by_pool = |site: &Site| {
        woken_by(site).is_some_and(|(thread, waker)| {
            let is_by_worker = site.key.outcome == Outcome::Woken.code() && wake_ups.contains(&(waker, thread));
            is_by_worker && fold.trace.threads.process[waker] == fold.trace.threads.process[thread]
        })
    };
    let process = |thread: usize| fold.trace.threads.process[thread];
    let is_by_child = |site: &Site| {
        woken_by(site).is_some_and(|(thread, waker)| started(fold.trace, process(thread), process(waker)))
    };
    let is_by_others = |site: &Site| !is_by_pool(site) && !is_by_child(site);
    let by_others = waits().filter(|site| polled.contains_key(&site.key.object) && is_by_others(site));
    let is_cut_off = |site: &&Site| site.key.outcome == Outcome::Unfinished.code();
    by_others.filter(|site| !is_cut_off(site)).filter_map(|site| site.key.thread.get()).collect()
}

/// Processes between one and the one that started it, at most.
const GENERATIONS: usize = 8;

/// Whether a process started another one, itself or by others.
fn started(trace: &Trace, process: ProcessId, other: ProcessId) -> bool {
    let parent =
        |child: &ProcessId| trace.processes.parent.get(child.get()?).copied().filter(|parent| parent.is_some());
    std::iter::successors(parent(&other), parent).take(GENERATIONS).any(|parent| parent == process)
}

/// How the members of a set of files are called that are sockets.
const SOCKETS: [&str; 5] = ["TCP", "UDP", "Unix", "socket", "connections"];

/// What only loops have among their files, by which other threads wake them.
const WAKES: [&str; 2] = ["Unix pair", "eventfd"];

/// Whether the set of files has more than the socket of one client, who alone waits when its thread is busy: one that listens,
/// several, or what other threads wake a loop by. A set that says nothing of its members may.
fn serves_many(fold: &Fold<'_>, object: ObjectId) -> bool {
    let objects = &fold.trace.objects;
    let Some(row) = object.get().filter(|row| *row < objects.name.len()) else { return false };
    if is_safepoint(&objects.name[row]) {
        return false; // of the JVM's own
    }
    let in_name = objects.name[row].split_once('{').and_then(|(_, rest)| Some(rest.split_once('}')?.0));
    let in_detail = Some(objects.detail[row].as_str()).filter(|detail| !detail.is_empty());
    let Some(members) = in_name.and(in_detail.or(in_name)) else { return true };
    if WAKES.iter().any(|name| members.contains(name)) {
        return true;
    }
    let is_socket = |member: &&str| SOCKETS.iter().any(|name| member.starts_with(name));
    let sockets: Vec<&str> = members.split(", ").filter(is_socket).collect();
    sockets.len() > 1 || sockets.iter().any(|socket| socket.contains("listen") || *socket == "connections")
}

/// How functions are called in which a worker thread of Node begins (src/node_worker.cc).
const NODE_WORKER: &str = "node::worker::Worker::";

/// The longest of a loop's long turns.
struct Longest {
    ns: u64,
    during: (u64, u64),
    running_ns: u64,
    waiting_ns: u64,
}

/// The long turns of a loop.
#[derive(Default)]
struct Long {
    lengths: Vec<u64>,
    running_ns: u64,
    places: BTreeMap<StackId, u64>,
    longest: Option<Longest>,
    /// Numbers of the stretches.
    rows: Vec<usize>,
}

impl Long {
    /// Adds a stretch, if it is long: its long waits, and the rest when it has `least` observations.
    fn add(&mut self, row: usize, stretch: &Stretch, least: usize) {
        let whole = stretch.observations >= least;
        let running_ns = if whole { stretch.running_ns } else { 0 };
        let waiting_ns = if whole { stretch.waiting_ns } else { 0 };
        let ns = stretch.long_wait_ns.saturating_add(running_ns).saturating_add(waiting_ns);
        if ns < LONG_NS {
            return;
        }
        let places = stretch.places.iter().filter(|_| whole).chain(&stretch.long_waits);
        for (stack, ns) in places {
            let place = self.places.entry(*stack).or_default();
            *place = place.saturating_add(*ns);
        }
        self.lengths.push(ns);
        self.running_ns = self.running_ns.saturating_add(running_ns);
        if self.longest.as_ref().is_none_or(|longest| ns > longest.ns) {
            let (during, waiting_ns) = ((stretch.from, stretch.to), ns.saturating_sub(running_ns));
            self.longest = Some(Longest { ns, during, running_ns, waiting_ns });
        }
        self.rows.push(row);
    }
}

fn blocked(
    evidence: &Evidence<'_, '_>,
    (parts, share): (&[Part], f64),
    reader: &mut TurnReader<'_, '_>,
    thread: usize,
) -> Option<Finding> {
    let turns = reader.turns(thread, parts);
    // A worker thread is there to be busy: its loop serves whoever gave it the work.
    let is_worker = |function: &FunctionId| evidence.fold.sums.stacks.function_name(*function).starts_with(NODE_WORKER);
    if turns.polls < LEAST_POLLS || reader.path.iter().any(is_worker) {
        return None;
    }
    let least = beyond_chance(&turns).unwrap_or(usize::MAX);
    let mut long = Long::default();
    turns.stretches.iter().enumerate().for_each(|(row, stretch)| long.add(row, stretch, least));
    // Parts stand for all of the time.
    let scaled = |number: u64| (number as f64 / share.max(1e-9)) as u64;
    let total_ns = long.lengths.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let very_long = long.lengths.iter().filter(|ns| **ns >= VERY_LONG_NS).count();
    let striking = long.lengths.len() >= SEVERAL || long.lengths.iter().any(|ns| *ns >= SINGLE_NS);
    let much = evidence.share(scaled(total_ns)) >= SHARE && striking;
    if !much && very_long < VERY_LONG {
        return None;
    }
    if loads_modules(evidence, &long.places) {
        return None; // its program begins
    }
    let longest = long.longest?;
    let handler = handler(evidence, &reader.path, &long.places);
    if handler.is_none() && long.running_ns < total_ns / 2 {
        return None; // it waited for events, in a function of the loop that is not known
    }
    let place = handler.as_ref().and_then(|handler| evidence.fold.sums.stacks.place(handler.place));
    let text = say!(
        EVENT_LOOP_BLOCKED,
        turns = scaled(long.lengths.len() as u64),
        all = Word::Ns(scaled(total_ns)),
        longest = Word::Ns(longest.ns),
        median = Word::Ns(median_of(long.lengths.clone())),
        usual = Word::Ns(usual(&turns, &long.rows)),
        running = Word::part(long.running_ns, total_ns),
        waiting = Word::part(total_ns.saturating_sub(long.running_ns), total_ns),
        share = Word::part(handler.as_ref().map_or(0, |handler| handler.ns), total_ns),
        place = place,
    );
    let then = of_thread(evidence.fold, thread, longest.during);
    Some(Finding {
        subject: evidence.fold.trace.threads.name[thread].clone(),
        evidence: text.into(),
        place: mostly_ran(evidence.fold, &long.places).map(|ran| ran.at),
        stack: handler.map_or(StackId::NONE, |handler| handler.heaviest.0),
        cost_ns: scaled(total_ns),
        during: Some(longest.during),
        claims: vec![
            Claim::at_least("threads", &then, "running_ns", longest.running_ns),
            Claim::at_least("threads", &then, "waiting_ns", longest.waiting_ns),
        ],
        ..Finding::default()
    })
}

/// Whether the loop was mostly busy with loading modules: a loader is among what it called.
fn loads_modules(evidence: &Evidence<'_, '_>, places: &BTreeMap<StackId, u64>) -> bool {
    let names = |stack: StackId| evidence.fold.sums.stacks.whole_names(stack);
    let is_loading = |stack| own_code::loads_modules(names(stack).take_while(|name| !runs_loop(name)), false);
    let sum_ns = |sum: u64, ns: &u64| sum.saturating_add(*ns);
    let loading = places.iter().filter(|(stack, _)| is_loading(**stack)).map(|(_, ns)| ns);
    loading.fold(0, sum_ns) as f64 > MOSTLY * places.values().fold(0, sum_ns) as f64
}

/// The median of the turns without a long stretch, of those that surely are one.
fn usual(turns: &Turns, long: &[usize]) -> u64 {
    let has_long = |first: usize, end: usize| {
        let at = long.partition_point(|row| *row < first);
        long.get(at).is_some_and(|row| *row < end)
    };
    let others = turns.turns.iter().filter(|turn| !turn.is_cut && !has_long(turn.first, turn.end));
    median_of(others.map(|turn| turn.ns).collect())
}

/// A function below the loop's, callees included.
struct Handler {
    ns: u64,
    /// Callers, at most.
    depth: usize,
    /// The stack that ends in it, of the heaviest that goes through it; that one, and its time.
    place: StackId,
    heaviest: (StackId, u64),
}

/// The innermost function that nearly as much of the time is in as in any below the loop: what the handler is busy with.
fn handler(evidence: &Evidence<'_, '_>, path: &[FunctionId], places: &BTreeMap<StackId, u64>) -> Option<Handler> {
    let stacks = &evidence.fold.sums.stacks;
    let mut handlers: BTreeMap<FunctionId, Handler> = BTreeMap::new();
    for (stack, ns) in places {
        let chain: Vec<StackId> = stacks.whole_chain(*stack).collect();
        let mut seen: Vec<FunctionId> = Vec::new();
        for (index, at) in chain.iter().enumerate().filter(|(_, at)| stacks.is_own(**at)) {
            let function = stacks.function(*at);
            if path.contains(&function) || seen.contains(&function) {
                continue;
            }
            seen.push(function);
            let new = || Handler { ns: 0, depth: 0, place: *at, heaviest: (*stack, 0) };
            let handler = handlers.entry(function).or_insert_with(new);
            handler.ns = handler.ns.saturating_add(*ns);
            handler.depth = handler.depth.max(chain.len() - index);
            if *ns > handler.heaviest.1 {
                (handler.place, handler.heaviest) = (*at, (*stack, *ns));
            }
        }
    }
    let most = handlers.values().map(|handler| handler.ns).max()?;
    let mut busy: Vec<(FunctionId, Handler)> =
        handlers.into_iter().filter(|(_, handler)| handler.ns as f64 >= NEARLY * most as f64).collect();
    // An address tells less than its caller's name.
    let is_named = |function: FunctionId| !stacks.function_name(function).starts_with('[');
    busy.sort_by_key(|(function, handler)| (is_named(*function), handler.depth));
    busy.pop().map(|(_, handler)| handler)
}

/// Observations from which stretches are more than chance makes of many short turns, if there are such.
///
/// In a loop of short turns each observation ends a stretch with one likelihood, whatever came before. So of the stretches
/// of [`MANY`] observations a known part is as long as k, and what is more than that is long turns.
fn beyond_chance(turns: &Turns) -> Option<usize> {
    let observed = turns.stretches.iter().map(|stretch| stretch.observations);
    let mut observed: Vec<usize> = observed.filter(|count| *count >= MANY).collect();
    observed.sort_unstable();
    let likely = likely_end(turns, median(&observed)?);
    let is_beyond = |(index, least): &(usize, usize)| {
        let (found, further) = (observed.len() - index, (least - MANY).min(i32::MAX as usize));
        let by_chance = turns.many as f64 * (1.0 - likely).powi(further as i32);
        found as f64 >= TIMES * by_chance && likelihood(found, by_chance) <= UNLIKELY
    };
    observed.iter().copied().enumerate().find(is_beyond).map(|(_, least)| least)
}

/// How likely an observation in a short turn ends a stretch: at least as seen, where the long turns are in the sum, and at least the
/// part of such a turn that the loop itself takes. `long`: the observations from which a stretch counts as long.
fn likely_end(turns: &Turns, long: usize) -> f64 {
    let seen = turns.cuts as f64 / (turns.observations + turns.cuts).max(1) as f64;
    let short = turns.turns.iter().filter(|turn| (1..=long / 2).contains(&turn.observations));
    let short: Vec<u64> = short.map(|turn| turn.ns).collect();
    // A loop that hardly ever waits shows few of its turns, but many of their ends.
    let shows = short.len() >= FEW_TURNS || turns.cuts < FEW_CUTS;
    let by_length = if shows { LOOP_NS / median_of(short).max(1) as f64 } else { 0.0 };
    seen.max(by_length).min(LIKELY)
}

/// At most how likely `found` or more are where `expected` are on average, `found` being more (Chernoff's bound of a Poisson
/// distribution).
fn likelihood(found: usize, expected: f64) -> f64 {
    let found = found as f64;
    (found - expected - found * (found / expected.max(f64::MIN_POSITIVE)).ln()).exp()
}
