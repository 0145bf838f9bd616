//! Whatever threads do: each wait is told once, and their time is kept.

use super::*;
use proptest::prelude::*;

const FUTEX: i32 = dwell_model::Syscall::number_of("futex");
const PROCESS: u32 = 9;

/// What a thread does next, as far as it can.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call { number: i32, address: u64, command: u64 },
    Compute,
    Block,
    Yield,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let call = (prop_oneof![Just(FUTEX), Just(0), Just(1), Just(230), Just(60)], 0..3u64, 0..2u64);
    prop_oneof![
        call.prop_map(|(number, address, command)| Step::Call { number, address: 0x1000 + address, command }),
        Just(Step::Compute),
        Just(Step::Block),
        Just(Step::Yield),
        Just(Step::Look),
    ]
}

/// A thread as the test drives it, and what was recorded of it.
#[derive(Default)]
struct Driven {
    is_off: bool,
    off_ns: u64,
    last_ns: u64,
    waits: usize,
}

/// Follows the records: each thread leaves and comes in turn.
fn follow(records: &[SwitchRecord]) -> HashMap<u32, Driven> {
    let mut threads: HashMap<u32, Driven> = HashMap::default();
    for record in records {
        let leaves = record.h.tid != 0;
        let thread = threads.entry(if leaves { record.h.tid } else { record.next_tid }).or_default();
        assert_ne!(thread.is_off, leaves, "out of turn: {record:?}");
        assert!(record.h.time_ns >= thread.last_ns);
        if leaves {
            thread.waits += usize::from(record.flags & switch_flag::PREEMPTED == 0);
        } else {
            thread.off_ns += record.h.time_ns - thread.last_ns;
            let wake = record.wake_time_ns;
            assert!(wake == 0 || (thread.last_ns..=record.h.time_ns).contains(&wake), "woken at {wake}: {record:?}");
        }
        (thread.is_off, thread.last_ns) = (leaves, record.h.time_ns);
    }
    threads
}

proptest! {
    #[test]
    fn every_wait_is_told_once_and_time_is_kept(steps in proptest::collection::vec((1..5u32, step(), 1..99u64), 0..200)) {
        let mut threads = Threads::new(false);
        let mut driven: HashMap<u32, Driven> = HashMap::default();
        let mut records: Vec<SwitchRecord> = Vec::new();
        let mut time_ns = 0;
        (1..5).for_each(|tid| threads.insert(tid, Thread::new(PROCESS, [0; 16])));
        for (tid, step, ns) in steps {
            time_ns += ns;
            let stamp = Stamp { tgid: PROCESS, tid, time_ns, cpu: 0 };
            let mut out = |bytes: &[u8]| records.push(bytemuck::pod_read_unaligned(bytes));
            let one = driven.entry(tid).or_default();
            match step {
                Step::Look => threads.emit(tid, time_ns, &mut out),
                _ if one.is_off => {
                    threads.comes(stamp, &mut out);
                    one.off_ns += time_ns - one.last_ns;
                    one.is_off = false;
                }
                Step::Call { number, address, command } => {
                    let call = Call { number, arguments: [address, command, 1, 0, 0, 0] };
                    threads.enter(stamp, call, 5, None);
                }
                Step::Compute => threads.runs(tid, false),
                Step::Block | Step::Yield => {
                    if matches!(step, Step::Block) {
                        threads.blocks(stamp, &mut |_, _| WaitedFor { object: 7, wakes: true, ..WaitedFor::default() }, &mut out);
                        one.waits += 1;
                    } else {
                        threads.preempted(stamp, &mut out);
                    }
                    (one.is_off, one.last_ns) = (true, time_ns);
                }
            }
        }
        (1..5).for_each(|tid| {
            threads.emit(tid, u64::MAX, &mut |bytes| records.push(bytemuck::pod_read_unaligned(bytes)));
        });
        let told = follow(&records);
        for (tid, one) in driven {
            let told = told.get(&tid).map_or((0, 0), |told| (told.waits, told.off_ns));
            prop_assert_eq!(told, (one.waits, one.off_ns), "thread {}", tid);
        }
    }
}
