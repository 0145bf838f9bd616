//! Explanations of pictures, and their laws.

mod open_requests;
mod pools;
mod servers;
mod waiting_connections;
mod watchers;

use std::collections::BTreeMap;

use dwell_model::{ObjectType, Outcome, ProcessId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;
use dwell_query::question::windows::{Part, Windows};
use dwell_store::Trace;
use dwell_trace_dsl::{CELL, build, trace};
use proptest::prelude::*;

use super::one_wait::each_wait_is_its_pieces;
use super::{Cause, CauseKind, Explanation, MeanwhileKind, RootCause, explain, explain_in_parts, explain_within};

/// Cause, role of the waiters' first, explained time in cells; the largest first.
fn causes(explanation: &Explanation<'_, '_>) -> Vec<(CauseKind, String, u64)> {
    let told = explanation.causes.iter().filter(|root| root.wait_ns > 0 && !root.cause.no_work);
    told.map(|root| (root.cause.kind, explanation.names.role(root.cause.role).to_owned(), root.wait_ns / CELL))
        .collect()
}

fn with_holder(mut trace: Trace, waiter: &str, holder: &str) -> Trace {
    let thread = |name: &str| trace.threads.name.iter().position(|known| known == name).unwrap();
    let (waiter, holder) = (ThreadId::new(thread(waiter)), ThreadId::new(thread(holder)));
    for row in 0..trace.off_cpu.thread.len() {
        if trace.off_cpu.thread[row] == waiter {
            trace.off_cpu.holder[row] = holder;
        }
    }
    trace.tables_changed();
    trace
}

#[test]
fn a_wait_for_a_lock_is_because_of_what_its_holder_did() {
    let trace = trace(
        "a: #mmmmmm#
         b: ##1ss22#",
    );
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    assert_eq!(explanation.demand_ns, 6 * CELL);
    let expected = [(CauseKind::Ran, "b".into(), 4), (CauseKind::Slept, "b".into(), 2)];
    let mut found = causes(&explanation);
    // Running is told apart by function.
    let ran: u64 = found.iter().filter(|(kind, ..)| *kind == CauseKind::Ran).map(|(.., cells)| cells).sum();
    found.retain(|(kind, ..)| *kind != CauseKind::Ran);
    assert_eq!([(CauseKind::Ran, "b".to_owned(), ran), found[0].clone()], expected);
}

#[test]
fn what_others_did_while_one_looked_again_and_again_is_told() {
    let (polls, work) = ("ss#".repeat(12), "1".repeat(30));
    let meanwhile = |picture: &str| {
        let trace = trace(picture);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        let slept = explanation.causes.iter().find(|root| root.cause.kind == CauseKind::Slept).unwrap();
        assert!(slept.is_of_the_end());
        let told = slept.meanwhile.as_ref();
        told.map(|told| {
            (
                explanation.names.role(told.role).to_owned(),
                told.did == MeanwhileKind::Slept,
                told.place.clone(),
                told.ns / CELL,
            )
        })
    };
    assert_eq!(meanwhile(&format!("a: #{polls}\nb: #{work}")), Some(("b".into(), false, "f1 (app.c:14)".into(), 20)));
    let (_, _, place, cells) = meanwhile(&format!("a: #{polls}\nb: #{}", "1-2".repeat(10))).unwrap();
    assert_eq!((place.as_str(), cells), ("f1 (app.c:14)", 20), "it had something to do all the time, in two functions");
    assert_eq!(meanwhile(&format!("a: #{polls}\nb: #{}", "1c2".repeat(10))), None);
    // Too few sleeps for a loop, and nobody who did anything for long.
    assert_eq!(meanwhile(&format!("a: #{}\nb: #{work}", "s".repeat(30))), None);
    assert_eq!(meanwhile(&format!("a: #{polls}\nb: #11111")), None);
}

#[test]
fn a_quota_or_limit_that_made_a_wait_is_its_cause() {
    for (waker, kind) in [(WakerKind::IoQuota, CauseKind::IoQuota), (WakerKind::MemoryLimit, CauseKind::MemoryLimit)] {
        let mut trace = trace("a: #mmmm#");
        let last = trace.off_cpu.thread.len() - 1;
        trace.off_cpu.waker_kind[last] = waker.code();
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        assert_eq!(causes(&explain(&fold)), [(kind, "a".into(), 4)]);
    }
}

#[test]
fn a_thread_of_the_kernel_waits_for_work_and_one_of_the_program_for_a_page() {
    for (in_kernel, idle) in [(true, 4), (false, 0)] {
        let mut trace = trace("a: #xxxx#");
        trace.frames.kernel.fill(in_kernel);
        let unknown = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Futex.code()).unwrap();
        trace.objects.kind[unknown] = ObjectType::Unknown.code();
        trace.off_cpu.syscall.fill(-1);
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        assert_eq!(explain(&fold).whole().idle_ns / CELL, idle);
    }
}

#[test]
fn what_the_threads_of_a_file_system_write_is_the_devices() {
    for (call, kind) in [(74, CauseKind::Device), (2, CauseKind::Outside)] {
        let mut trace = trace("a: #mmmm#");
        let last = trace.off_cpu.thread.len() - 1;
        trace.off_cpu.waker_kind[last] = WakerKind::OtherThread.code();
        trace.off_cpu.syscall[last] = call;
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        assert_eq!(causes(&explain(&fold)), [(kind, "a".into(), 4)]);
    }
}

#[test]
fn a_chain_leads_to_its_end() {
    // a waits for b's lock, which waits for the sleeper's.
    let trace = trace(
        "a: #mmmmmmmm#
         b: #llllll###
         c: ##ssss####",
    );
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    let slept = explanation.causes.iter().find(|root| root.cause.kind == CauseKind::Slept).unwrap();
    assert_eq!(explanation.names.role(slept.cause.role), "c");
    assert_eq!((slept.wait_ns, slept.wall_ns), (8 * CELL, 4 * CELL));
}

#[test]
fn a_lock_that_is_handed_over_is_the_holders_first() {
    // b held it while it slept; the wake-up came from c.
    let picture = "a: #mmmmmm#
                   b: #sssss##
                   c: #nnnnn##";
    let trace = with_holder(trace(picture), "a", "b");
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    let of_b = explanation.causes.iter().filter(|root| explanation.names.role(root.cause.role) == "b");
    assert!(of_b.map(|root| root.wait_ns).sum::<u64>() >= 5 * CELL, "{:?}", causes(&explanation));
}

#[test]
fn threads_that_hold_for_one_another_are_a_circle() {
    let trace = with_holder(with_holder(trace("a: #mmmmmm\nb: #llllll"), "a", "b"), "b", "a");
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    assert_eq!(causes(&explanation).iter().map(|(.., cells)| cells).sum::<u64>(), 12);
    assert!(causes(&explanation).iter().any(|(kind, ..)| *kind == CauseKind::Circle), "{:?}", causes(&explanation));
}

#[test]
fn who_waits_for_a_thread_without_work_has_none() {
    // The worker wakes the dispatcher, and is woken by it, as a client would be.
    let demand_ns = |picture: &str| {
        let (trace, query) = (trace(picture), Query::default());
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        let whole = explanation.whole();
        assert_eq!(whole.demand_ns, explanation.demand_ns);
        (explanation.demand_ns / CELL, whole.idle_ns / CELL)
    };
    let idle = demand_ns(
        "worker: ##cccccccc#
         dispatcher: #e##eeeee##",
    );
    assert_eq!(idle, (0, 14));
    let asked = demand_ns(
        "worker: ##cccccccc#
         dispatcher: #e######e##",
    );
    assert_eq!(asked, (8, 2));
}

#[test]
fn one_may_ask_for_the_waits_of_some() {
    let trace = trace(
        "a: #mmmm####
         b: #llllll##
         c: #ss######",
    );
    let demand = |name: &str| {
        let query = Query { waiters: Some(name.into()), ..Query::default() };
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        assert_eq!(explanation.causes.iter().map(|root| root.wait_ns).sum::<u64>(), explanation.demand_ns);
        (explanation.demand_ns / CELL, explanation.no_waiter_matches)
    };
    assert_eq!(demand("a"), (4, false));
    assert_eq!(demand("l"), (6, false));
    assert_eq!(demand("*"), (10, false));
    assert_eq!(demand("nobody"), (0, true));
}

#[test]
fn many_waiters_for_one_thread_cost_what_one_does() {
    const CELLS: usize = 400;
    let steps = |waiters: usize| {
        let busy = (0..CELLS).map(|cell| if cell % 2 == 0 { '#' } else { 's' }).chain(['#', '#']).collect();
        let waits = ['#'].into_iter().chain(std::iter::repeat_n('m', CELLS)).chain(['#']).collect::<Vec<char>>();
        let names: Vec<String> = (0..waiters).map(|number| format!("w{number}")).collect();
        let mut lines = vec![("busy", busy)];
        lines.extend(names.iter().map(|name| (name.as_str(), waits.clone())));
        let (trace, query) = (build(&lines, 2), Query::default());
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        let slept = explanation.causes.iter().find(|root| root.cause.kind == CauseKind::Slept).unwrap();
        assert_eq!(slept.wait_ns, (waiters * CELLS / 2) as u64 * CELL);
        explanation.steps
    };
    let (one, many) = (steps(1), steps(100));
    assert!(many <= one + 500, "{one} steps for one, {many} for a hundred");
}

/// A loop asks a worker, which sleeps and answers.
fn loop_and_worker(set: &str) -> Vec<(CauseKind, String, u64)> {
    let mut trace = trace(
        "main: ##eeeeee#
         pool: cc#ssss##",
    );
    let in_loop = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Event.code()).unwrap();
    trace.objects.name[in_loop] = set.to_owned();
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    causes(&explain(&fold))
}

#[test]
fn a_loop_that_others_cannot_write_to_waits_for_those_that_it_asked() {
    let found = loop_and_worker("epoll {Unix pair, eventfd}");
    assert!(found.contains(&(CauseKind::Slept, "pool".into(), 4)), "{found:?}");
    assert_eq!(loop_and_worker("epoll {Unix pair, eventfd} #12"), found);
    // Clients may come as well.
    assert_eq!(loop_and_worker("epoll {TCP listen 0.0.0.0:80, eventfd}"), []);
}

#[test]
fn a_loop_of_ones_own_waits_for_the_child_whose_end_interrupts_it() {
    let structure = |set: &str| {
        let mut trace = trace(
            "main : #eeee#
             child: #sss#",
        );
        let in_loop = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Event.code()).unwrap();
        trace.objects.name[in_loop] = set.to_owned();
        let mut child = trace.processes.row(0).unwrap();
        child.parent = ProcessId::new(0);
        trace.threads.process[1] = ProcessId::new(trace.processes.push(child));
        let row = trace.off_cpu.thread.iter().position(|thread| *thread == ThreadId::new(0)).unwrap();
        trace.off_cpu.outcome[row] = Outcome::Interrupted.code();
        trace.off_cpu.waker[row] = ThreadId::new(1);
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        explain(&fold).whole().structure_ns / CELL
    };
    assert_eq!(structure("epoll {Unix pair, eventfd, pipe} #2"), 4);
    assert_eq!(structure("epoll {TCP listen 0.0.0.0:80, eventfd, pipe}"), 0);
}

#[test]
fn a_collection_is_one_cause_whatever_the_collector_runs() {
    let mut trace = trace(
        "a: #mmmmmm#
         b: ##1122##",
    );
    for function in &mut trace.frames.function {
        if function == "f1" || function == "f2" {
            *function = format!("runtime.gcBgMarkWorker.{function}");
        }
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let found = causes(&explain(&fold));
    assert!(found.contains(&(CauseKind::Collected, "b".into(), 4)), "{found:?}");
}

fn lines() -> impl Strategy<Value = Vec<Vec<char>>> {
    let cell = prop::sample::select(vec!['#', '#', '1', '2', '-', 'm', 'm', 'l', 'c', 's', 'e', 'n', 'j', 'x']);
    let line = (0..4usize, prop::collection::vec((cell, 1..5usize), 1..14)).prop_map(|(late, pieces)| {
        let born = std::iter::repeat_n(' ', late);
        born.chain(pieces.into_iter().flat_map(|(cell, times)| std::iter::repeat_n(cell, times))).collect()
    });
    prop::collection::vec(line, 2..6)
}

fn named(lines: &[Vec<char>]) -> Vec<(&'static str, Vec<char>)> {
    ["a", "b", "c", "d", "e"].into_iter().zip(lines.iter().cloned()).collect()
}

/// What holds of estimates, too.
fn are_the_sums_of_parts(explanation: &Explanation<'_, '_>) -> Result<(), TestCaseError> {
    prop_assert_eq!(explanation.causes.iter().map(|root| root.wait_ns).sum::<u64>(), explanation.demand_ns);
    prop_assert_eq!(explanation.causes.iter().map(|root| root.path_ns).sum::<u64>(), explanation.path_ns);
    for account in explanation.accounts.values() {
        let off = account.run_queue_ns + account.demand_ns + account.structure_ns + account.own_ns + account.idle_ns;
        prop_assert_eq!(account.running_ns + off, account.life_ns);
    }
    let queue = &explanation.run_queue;
    let known = queue.own_ns + queue.waking_ns + queue.quota_ns + queue.others_ns + queue.stolen_ns;
    let parts = known + queue.idle_elsewhere_ns + queue.unknown_ns;
    prop_assert_eq!(queue.all_ns, parts);
    Ok(())
}

fn are_the_whole(explanation: &Explanation<'_, '_>) -> Result<(), TestCaseError> {
    are_the_sums_of_parts(explanation)?;
    for root in &explanation.causes {
        prop_assert!(root.wall_ns <= root.wait_ns && root.wall_ns <= explanation.elapsed_ns, "{:?}", root);
        prop_assert!((root.wall_ns > 0) == (root.wait_ns > 0));
    }
    prop_assert_eq!(explanation.whole().demand_ns, explanation.demand_ns);
    Ok(())
}

/// How long others waited because of each cause, and the path, thread-ns; none where threads wait for one another in a circle, which ends
/// where one began to ask.
fn sums(explanation: &Explanation<'_, '_>) -> Option<BTreeMap<Cause, (u64, u64)>> {
    let has_circle = |root: &RootCause| matches!(root.cause.kind, CauseKind::Circle | CauseKind::Unborn);
    let sums_of = |root: &RootCause| (root.cause, (root.wait_ns, root.path_ns));
    (!explanation.causes.iter().any(has_circle)).then(|| explanation.causes.iter().map(sums_of).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whoever woke whom, and whoever held what: the causes are the waits, and the accounts the lives.
    #[test]
    fn the_parts_are_the_whole(
        lines in lines(),
        wakers in prop::collection::vec(prop::option::of(0..5usize), 80),
        holders in prop::collection::vec(prop::option::of(0..5usize), 80),
        outcomes in prop::collection::vec(0..5u8, 80),
        range in prop::option::of((0..20u64, 1..20u64)),
    ) {
        let mut trace = build(&named(&lines), 2);
        let threads = trace.threads.tid.len();
        let thread = |of: Option<usize>| of.filter(|of| *of < threads).map_or(ThreadId::NONE, ThreadId::new);
        for (row, ((waker, holder), outcome)) in wakers.into_iter().zip(holders).zip(outcomes).enumerate() {
            if row < trace.off_cpu.thread.len() {
                trace.off_cpu.waker[row] = thread(waker);
                trace.off_cpu.holder[row] = thread(holder);
                trace.off_cpu.outcome[row] = outcome;
            }
        }
        for thread in 1..threads {
            trace.threads.parent[thread] = ThreadId::new(thread - 1);
        }
        trace.tables_changed();
        let elapsed = trace.elapsed_ns();
        let range = range.map(|(from, cells)| (from * CELL, ((from + cells) * CELL).min(elapsed))).filter(|(from, to)| from < to);
        let query = Query { range, ..Query::default() };
        let fold = Fold::new(&trace, &query).unwrap();
        let whole = explain(&fold);
        are_the_whole(&whole)?;
        each_wait_is_its_pieces(&fold, 64)?;
        each_wait_is_its_pieces(&fold, 2)?;
        // Slices of the time, too.
        let (from, to) = fold.sums.windows.bounds();
        let third = (to - from) / 3;
        // Parts that are walked apart add up to the same.
        if let Some((parts, whole)) = sums(&explain_in_parts(&fold, &fold.sums.windows, (3, u64::MAX))).zip(sums(&whole)) {
            prop_assert_eq!(parts, whole);
        }
        let slices: Vec<Part> = [(from, from + third), (from + 2 * third, to)]
            .into_iter()
            .filter(|(from, to)| from < to)
            .flat_map(|(from, to)| fold.sums.windows.inside(from, to))
            .collect();
        let mut of_slices = explain_within(&fold, &Windows::of_parts(&slices));
        are_the_whole(&of_slices)?;
        of_slices.scale(1.37);
        are_the_sums_of_parts(&of_slices)?;
    }
}
