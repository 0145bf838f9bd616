use dwell_model::{Delay, DelaySourceId};
use dwell_query::question::query::Query;
use dwell_store::tables::DelayRow;
use dwell_trace_dsl::{CELL, trace};
use proptest::prelude::*;

use crate::study::latency::pieces::disjoint;
use crate::study::latency::*;

fn causes(parts: &[(Delay, u64)]) -> Causes {
    let mut causes = Causes::default();
    parts.iter().for_each(|(cause, ns)| causes.put(*cause, *ns));
    causes
}

fn piece((start_ns, length_ns, kind): (u64, u64, usize)) -> DelayPiece {
    let cause = Delay::ALL[kind % Delay::ALL.len()];
    DelayPiece { start_ns, end_ns: start_ns + length_ns, cause, origin: Origin::Delay(kind) }
}

#[test]
fn what_is_usual_explains_nothing_and_the_rest_is_said() {
    let found = causes(&[(Delay::SystemCall, 50), (Delay::MinorFault, 30)]);
    let usual = causes(&[(Delay::SystemCall, 40)]);
    let parts = split(100, &found, &usual);
    assert_eq!(parts.causes, causes(&[(Delay::SystemCall, 10), (Delay::MinorFault, 30)]));
    assert_eq!((parts.unexplained_ns, parts.main()), (60, Delay::Unexplained));
}

#[test]
fn causes_of_more_than_there_is_to_explain_are_cut_in_proportion() {
    let found = causes(&[(Delay::Preemption, 200), (Delay::Timer, 100)]);
    let parts = split(100, &found, &Causes::default());
    assert_eq!(parts.causes, causes(&[(Delay::Preemption, 67), (Delay::Timer, 33)]));
    assert_eq!((parts.unexplained_ns, parts.main()), (0, Delay::Preemption));
}

#[test]
fn the_innermost_delay_holds() {
    let (call, fault, tick) = (16, 12, 7);
    let cut = disjoint([(0, 100, call), (20, 50, fault), (30, 10, tick)].map(piece).to_vec());
    let spans: Vec<(u64, u64, Delay)> = cut.iter().map(|piece| (piece.start_ns, piece.end_ns, piece.cause)).collect();
    let expected = [
        (0, 20, Delay::SystemCall),
        (20, 30, Delay::MinorFault),
        (30, 40, Delay::Timer),
        (40, 70, Delay::MinorFault),
        (70, 100, Delay::SystemCall),
    ];
    assert_eq!(spans, expected);
}

#[test]
fn of_delays_that_began_at_once_the_more_exact_one_holds() {
    let (run_queue, preemption) = (5, 1);
    let cut = disjoint([(10, 20, preemption), (10, 20, run_queue)].map(piece).to_vec());
    assert_eq!(cut, [piece((10, 20, preemption))]);
}

#[test]
fn outliers_are_far_from_the_median_or_above_the_limit() {
    let lengths = vec![1000, 1100, 1200, 1300, 1400, 9000];
    let usual = Statistics::new(lengths.clone(), None);
    // The distances from the median 1200 are 0, 100, 100, 200, 200, 7800.
    assert_eq!((usual.median_ns(), usual.limit_ns, usual.outliers), (1200, 1700, 1));
    assert_eq!((usual.mean_ns, usual.mean_without_outliers_ns), (2500, 1200));
    assert_eq!(Statistics::new(lengths, Some(1200)).outliers, 3);
    assert_eq!(Statistics::new(Vec::new(), None).median_ns(), 0);
}

#[test]
fn what_hardly_differs_from_the_median_is_no_outlier() {
    let limit = |lengths: &[u64]| Statistics::new(lengths.to_vec(), None).limit_ns;
    assert_eq!(limit(&[300, 300, 300, 301]), 300 + 5 * 20, "no less than the clock tells apart");
    assert_eq!(limit(&[1_000_000, 1_000_000, 1_000_000, 1_004_000]), 1_005_000, "a thousandth of the median");
    let of = Statistics::new(vec![1_000_000, 1_000_000, 1_000_000, 1_004_000, 1_006_000], None);
    assert_eq!(of.outliers, 1);
}

/// What a thread's time in `from .. to` is for.
fn causes_of(trace: &dwell_store::Trace, from: u64, to: u64) -> Causes {
    let query = Query::default();
    let fold = Fold::new(trace, &query).expect("a fold");
    let latency = Latency::new(&fold);
    latency.delays(ThreadId::new(0)).expect("a thread").causes(from, to)
}

#[test]
fn waits_for_a_collector_are_pauses_of_it() {
    let cause = |waker: &str, function: &str| {
        let mut trace = trace("a: #mmmm#\nb: #####\n");
        trace.threads.name[1] = waker.to_owned();
        let waiting = trace.frames.function.iter_mut().filter(|name| *name == "use_m");
        waiting.for_each(|name| function.clone_into(name));
        causes_of(&trace, CELL, 5 * CELL).main()
    };
    assert_eq!(cause("b", "use_m"), Some((Delay::Lock, 4 * CELL)));
    assert_eq!(cause("VM Thread", "use_m"), Some((Delay::GarbageCollection, 4 * CELL)), "it ends the wait");
    assert_eq!(cause("b", "runtime.gcstopm"), Some((Delay::GarbageCollection, 4 * CELL)), "it stands still");
}

#[test]
fn a_slow_cpu_counts_for_the_threads_own_work() {
    let mut trace = trace("a: ##########\n");
    let delays = [(Delay::Frequency, 0, 8, 4), (Delay::SystemCall, 1, 3, 2)];
    for (kind, start, end, delay) in delays {
        let (thread, source) = (ThreadId::new(0), DelaySourceId::NONE);
        let (start_ns, end_ns, delay_ns) = (start * CELL, end * CELL, delay * CELL);
        let row = DelayRow { thread, kind: kind.code(), start_ns, end_ns, delay_ns, cpu: 0, source };
        trace.delays.delays.push(row);
    }
    // Half of 8 ms were lost, but 2 of these are the call's.
    let expected = causes(&[(Delay::SystemCall, 2 * CELL), (Delay::Frequency, 3 * CELL)]);
    assert_eq!(causes_of(&trace, 0, 8 * CELL), expected);
    assert_eq!(causes_of(&trace, 8 * CELL, 10 * CELL), Causes::default());
}

proptest! {
    #[test]
    fn parts_of_an_outlier_add_up_to_it(
        over in 0u64..1 << 50,
        found in prop::collection::vec((0usize..27, 0u64..1 << 45), 0..12),
        usual in prop::collection::vec((0usize..27, 0u64..1 << 45), 0..12),
    ) {
        let sum = |parts: &[(usize, u64)]| causes(&parts.iter().map(|(kind, ns)| (Delay::ALL[*kind], *ns)).collect::<Vec<_>>());
        let parts = split(over, &sum(&found), &sum(&usual));
        prop_assert_eq!(parts.causes.total_ns() + parts.unexplained_ns, over);
        for (cause, ns) in parts.causes.iter() {
            prop_assert!(ns <= sum(&found).of(cause), "{:?}", cause);
        }
    }

    #[test]
    fn pieces_cover_each_instant_of_a_delay_once(
        found in prop::collection::vec((0u64..200, 0u64..60, 0usize..27), 0..30),
    ) {
        let found: Vec<DelayPiece> = found.into_iter().map(piece).collect();
        let cut = disjoint(found.clone());
        prop_assert!(cut.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
        for at in 0..260u64 {
            let holds = |piece: &&DelayPiece| piece.start_ns <= at && at < piece.end_ns;
            let innermost = found.iter().filter(holds).max_by_key(|piece| (piece.start_ns, piece.cause.rank()));
            let cut = cut.iter().find(holds);
            prop_assert_eq!(cut.is_some(), innermost.is_some());
            if let (Some(cut), Some(innermost)) = (cut, innermost) {
                let same = found.iter().filter(holds).filter(|piece| piece.start_ns == innermost.start_ns && piece.cause.rank() == innermost.cause.rank());
                prop_assert!(same.map(|piece| piece.cause).any(|cause| cause == cut.cause));
            }
        }
    }
}
