//! Who ends whose wait: a wake-up of a futex by its address, the end of a thread or a process, data written to a pipe or
//! socket that another thread reads.
//!
//! Only profiled threads are seen to wake others. The time of the call that wakes stands for the time of the wake-up.

use std::collections::VecDeque;

use dwell_model::{CallKind, Syscall};
use dwell_store::raw::wire::{
    FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI, FUTEX_COMMANDS, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_PRIVATE,
    FUTEX_REQUEUE, FUTEX_UNLOCK_PI, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_WAITERS, FUTEX_WAKE,
    FUTEX_WAKE_BITSET, FUTEX_WAKE_OP, SwitchRecord,
};
use foldhash::HashMap;

use super::record::{Call, Stamp};

const FUTEX: i32 = Syscall::number_of("futex");
const EXIT: i32 = Syscall::number_of("exit");

/// What a futex call does, as include/uapi/linux/futex.h numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    command: u32,
}

impl Waiting {
    /// Of a call of futex; none of others.
    pub fn of_call(call: &Call) -> Option<Self> {
        (call.number == FUTEX).then_some(Self { command: call.arguments[1] as u32 & FUTEX_COMMANDS })
    }

    /// Whether it waits.
    pub fn waits(self) -> bool {
        let locks = matches!(self.command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2);
        locks || matches!(self.command, FUTEX_WAIT | FUTEX_WAIT_BITSET | FUTEX_WAIT_REQUEUE_PI)
    }
}

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When, CLOCK_MONOTONIC ns.
    pub time_ns: u64,
    /// By whom.
    pub tid: u32,
    /// Where: key of a stack.
    pub stack: u64,
    /// In which call.
    pub call: i32,
}

/// What a thread needs of a pipe, socket or counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileReadiness {
    /// Something to read.
    Data,
    /// Room to write.
    Room,
}

/// What a thread waits for, as its waker names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    /// A word of memory: of one process, or of all (0).
    Futex(u32, u64),
    /// The end of a thread.
    End(u32),
    /// The end of a child of this process, of the one with this id or of any (0).
    Child(u32, u32),
    /// Data or room in the object of this key.
    Object(u64, FileReadiness),
}

/// Calls that put data into what their first argument names.
const WRITES: [i32; 9] = [
    Syscall::number_of("write"),
    Syscall::number_of("pwrite64"),
    Syscall::number_of("writev"),
    Syscall::number_of("sendfile"),
    Syscall::number_of("sendto"),
    Syscall::number_of("sendmsg"),
    Syscall::number_of("pwritev"),
    Syscall::number_of("sendmmsg"),
    Syscall::number_of("pwritev2"),
];
const WAIT4: i32 = Syscall::number_of("wait4");
const WAITID: i32 = Syscall::number_of("waitid");
/// TCP can hold data back until a delayed ACK, 40 ms and more: then the call that wrote them woke nobody.
const HELD_NS: u64 = 35_000_000;
/// `idtype_t` of waitid(2): the second argument is a process id, or anything.
const P_ALL: u64 = 0;
const P_PID: u64 = 1;

impl FileReadiness {
    /// What the thread needs that makes this call.
    pub fn of_call(number: i32) -> Self {
        if WRITES.contains(&number) { Self::Room } else { Self::Data }
    }

    /// What others need who wait for this call.
    pub fn met_by_call(number: i32) -> Self {
        if WRITES.contains(&number) { Self::Data } else { Self::Room }
    }
}

/// The child that a call waits for, 0 = any of them; none where the call does not say by number.
fn child(call: &Call) -> Option<u32> {
    let [first, second, ..] = call.arguments;
    match (call.number, first) {
        (WAIT4, _) => Some((first as i32).max(0).cast_unsigned()),
        (WAITID, P_ALL) => Some(0),
        (WAITID, P_PID) => Some(second as u32),
        _ => None,
    }
}

/// The threads that wait, and what ended their waits.
#[derive(Default)]
pub struct Wakers {
    waiting: HashMap<Awaited, VecDeque<u32>>,
    awaited: HashMap<u32, Awaited>,
    wakes: HashMap<u32, Wake>,
    /// Threads that wait for a file.
    for_objects: usize,
}

impl Wakers {
    /// Thread `stamp.tid` blocks in `call`, as `record` says. `wakes`: other threads' calls on that object can end the wait.
    pub fn begin_wait(&mut self, stamp: Stamp, tgid: u32, (record, call): (&SwitchRecord, Option<&Call>), wakes: bool) {
        self.forget(stamp.tid);
        let awaited = match Syscall::kind_of(i16::try_from(record.syscall).unwrap_or(-1)) {
            CallKind::Futex => Some(futex(tgid, record)),
            CallKind::Child => call.and_then(child).map(|pid| Awaited::Child(tgid, pid)),
            _ if wakes && record.object != 0 => {
                Some(Awaited::Object(record.object, FileReadiness::of_call(record.syscall)))
            }
            _ => None,
        };
        let Some(awaited) = awaited else { return };
        self.waiting.entry(awaited).or_default().push_back(stamp.tid);
        self.for_objects += usize::from(matches!(awaited, Awaited::Object(..)));
        self.awaited.insert(stamp.tid, awaited);
    }

    /// It is on a CPU again, at `now_ns`. Returns who woke it.
    pub fn end_wait(&mut self, tid: u32, since_ns: u64, now_ns: u64) -> Option<Wake> {
        let woken = if self.wakes.contains_key(&tid) { Some(tid) } else { self.woken_in_place_of(tid) };
        let for_object = matches!(self.awaited.get(&tid), Some(Awaited::Object(..)));
        let was_held = |wake: &Wake| for_object && now_ns.saturating_sub(wake.time_ns) >= HELD_NS;
        let wake = woken.and_then(|woken| self.wakes.remove(&woken));
        let wake = wake.filter(|wake| wake.time_ns >= since_ns && !was_held(wake));
        self.forget(tid);
        wake
    }

    /// Who was taken for woken when thread `tid` was: of those that wait for one futex, the kernel wakes another one where
    /// they queued in another order than they left their CPUs.
    fn woken_in_place_of(&self, tid: u32) -> Option<u32> {
        let awaited = self.awaited.get(&tid).filter(|awaited| matches!(awaited, Awaited::Futex(..)))?;
        self.waiting.get(awaited)?.iter().copied().find(|other| self.wakes.contains_key(other))
    }

    /// It waits no more.
    pub fn forget(&mut self, tid: u32) {
        self.wakes.remove(&tid);
        let Some(awaited) = self.awaited.remove(&tid) else { return };
        self.for_objects -= usize::from(matches!(awaited, Awaited::Object(..)));
        if let Some(queue) = self.waiting.get_mut(&awaited) {
            queue.retain(|&waiting| waiting != tid);
            if queue.is_empty() {
                self.waiting.remove(&awaited);
            }
        }
    }

    /// Whether no thread waits for a file.
    pub fn nobody_waits_for_objects(&self) -> bool {
        self.for_objects == 0
    }

    /// Thread `stamp.tid` enters a call, which may wake others.
    pub fn enter(&mut self, stamp: Stamp, call: &Call, stack: u64) {
        let wake = Wake { time_ns: stamp.time_ns, tid: stamp.tid, stack, call: call.number };
        if call.number == EXIT {
            self.wake(Awaited::End(stamp.tid), usize::MAX, wake);
        } else if let Some(futex) = Waiting::of_call(call) {
            self.futex(stamp.tgid, futex.command, call, wake);
        }
    }

    /// Thread `stamp.tid` has ended.
    pub fn thread_ends(&mut self, stamp: Stamp) {
        let wake = Wake { time_ns: stamp.time_ns, tid: stamp.tid, stack: 0, call: -1 };
        self.wake(Awaited::End(stamp.tid), usize::MAX, wake);
    }

    /// The last thread of process `stamp.tgid` ends.
    pub fn process_ends(&mut self, stamp: Stamp, parent: u32, stack: u64) {
        let wake = Wake { time_ns: stamp.time_ns, tid: stamp.tid, stack, call: -1 };
        [stamp.tgid, 0].into_iter().for_each(|pid| self.wake(Awaited::Child(parent, pid), 1, wake));
    }

    /// Data was put into the object of this key, or taken from it.
    pub fn object_changes(&mut self, stamp: Stamp, call: i32, key: u64, stack: u64) {
        let wake = Wake { time_ns: stamp.time_ns, tid: stamp.tid, stack, call };
        self.wake(Awaited::Object(key, FileReadiness::met_by_call(call)), 1, wake);
    }

    fn futex(&mut self, tgid: u32, command: u32, call: &Call, wake: Wake) {
        let [address, operation, count, second_count, second_address, _] = call.arguments;
        let space = if operation as u32 & FUTEX_PRIVATE != 0 { tgid } else { 0 };
        let at = |address| Awaited::Futex(space, address);
        let count = count as usize & 0xffff_ffff;
        match command {
            FUTEX_WAKE | FUTEX_WAKE_BITSET => self.wake(at(address), count, wake),
            FUTEX_UNLOCK_PI => self.wake(at(address), 1, wake),
            FUTEX_WAKE_OP => {
                self.wake(at(address), count, wake);
                self.wake(at(second_address), second_count as usize & 0xffff_ffff, wake);
            }
            FUTEX_REQUEUE | FUTEX_CMP_REQUEUE | FUTEX_CMP_REQUEUE_PI => {
                self.wake(at(address), count, wake);
                self.requeue(at(address), at(second_address), second_count as usize & 0xffff_ffff);
            }
            _ => {}
        }
    }

    /// Wakes the `count` that have waited longest and are not woken yet.
    fn wake(&mut self, awaited: Awaited, count: usize, wake: Wake) {
        let Some(queue) = self.waiting.get(&awaited) else { return };
        let asleep = queue.iter().filter(|tid| !self.wakes.contains_key(tid)).take(count);
        let woken: Vec<u32> = asleep.copied().collect();
        self.wakes.extend(woken.into_iter().map(|tid| (tid, wake)));
    }

    fn requeue(&mut self, from: Awaited, to: Awaited, count: usize) {
        let Some(queue) = self.waiting.get(&from) else { return };
        let asleep = queue.iter().filter(|tid| !self.wakes.contains_key(tid)).take(count);
        let moved: Vec<u32> = asleep.copied().collect();
        for tid in moved {
            self.forget(tid);
            self.waiting.entry(to).or_default().push_back(tid);
            self.awaited.insert(tid, to);
        }
    }
}

/// A thread that is joined has its id in the word that is waited on, which the kernel clears and wakes.
fn futex(tgid: u32, record: &SwitchRecord) -> Awaited {
    let (operation, value) = (record.detail as u32, (record.detail >> 32) as u32);
    let is_private = operation & FUTEX_PRIVATE != 0;
    let waits = matches!(operation & FUTEX_COMMANDS, FUTEX_WAIT | FUTEX_WAIT_BITSET);
    if !is_private && waits && value > 3 && value & FUTEX_WAITERS == 0 {
        return Awaited::End(value);
    }
    Awaited::Futex(if is_private { tgid } else { 0 }, record.object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    fn stamp(tid: u32, time_ns: u64) -> Stamp {
        Stamp { tgid: 1, tid, time_ns, cpu: 0 }
    }

    fn waits(wakers: &mut Wakers, tid: u32, time_ns: u64, address: u64, detail: u64) {
        let record = SwitchRecord { syscall: FUTEX, object: address, detail, ..SwitchRecord::zeroed() };
        wakers.begin_wait(stamp(tid, time_ns), 1, (&record, None), false);
    }

    /// Thread `tid` blocks in a call on the object of key 5.
    fn waits_for_object(wakers: &mut Wakers, tid: u32, syscall: i32) {
        let record = SwitchRecord { syscall, object: 5, ..SwitchRecord::zeroed() };
        wakers.begin_wait(stamp(tid, 1), 1, (&record, None), true);
    }

    fn waits_for_child(wakers: &mut Wakers, tid: u32, call: Call) {
        let record = SwitchRecord { syscall: call.number, ..SwitchRecord::zeroed() };
        wakers.begin_wait(stamp(tid, 1), 1, (&record, Some(&call)), false);
    }

    fn calls(wakers: &mut Wakers, tid: u32, time_ns: u64, arguments: [u64; 6]) {
        wakers.enter(stamp(tid, time_ns), &Call { number: FUTEX, arguments }, 0);
    }

    #[test]
    fn a_futex_wakes_who_waited_longest() {
        let mut wakers = Wakers::default();
        (2..5).for_each(|tid| waits(&mut wakers, tid, u64::from(tid), 0x1000, 0x80));
        calls(&mut wakers, 9, 10, [0x1000, 0x81, 1, 0, 0, 0]);
        calls(&mut wakers, 8, 11, [0x1000, 0x81, 1, 0, 0, 0]);
        calls(&mut wakers, 7, 12, [0x2000, 0x81, 9, 0, 0, 0]);
        let by = |wakers: &mut Wakers, tid| wakers.end_wait(tid, 0, 1000).map(|wake| (wake.tid, wake.time_ns));
        assert_eq!((by(&mut wakers, 3), by(&mut wakers, 2)), (Some((8, 11)), Some((9, 10))));
        assert_eq!(by(&mut wakers, 4), None);
        assert!(wakers.waiting.is_empty() && wakers.awaited.is_empty());
    }

    #[test]
    fn requeued_waiters_are_woken_where_they_are() {
        let mut wakers = Wakers::default();
        (2..5).for_each(|tid| waits(&mut wakers, tid, u64::from(tid), 0x1000, 0x80));
        calls(&mut wakers, 9, 10, [0x1000, 0x83, 1, 9, 0x3000, 0]);
        calls(&mut wakers, 8, 11, [0x3000, 0x81, 1, 0, 0, 0]);
        let by = |wakers: &mut Wakers, tid| wakers.end_wait(tid, 0, 1000).map(|wake| wake.tid);
        assert_eq!([2, 3, 4].map(|tid| by(&mut wakers, tid)), [Some(9), Some(8), None]);
    }

    #[test]
    fn an_ending_thread_wakes_its_joiner() {
        let mut wakers = Wakers::default();
        waits(&mut wakers, 2, 1, 0x1000, 77 << 32 | 0x109);
        wakers.enter(stamp(77, 5), &Call { number: EXIT, arguments: [0; 6] }, 0);
        wakers.thread_ends(stamp(77, 8));
        assert_eq!(wakers.end_wait(2, 1, 1000).map(|wake| (wake.tid, wake.time_ns)), Some((77, 5)));
        waits(&mut wakers, 2, 11, 0x1000, 78 << 32 | 0x109);
        wakers.thread_ends(stamp(78, 12));
        assert_eq!(wakers.end_wait(2, 11, 1000).map(|wake| wake.tid), Some(78));
    }

    #[test]
    fn readers_do_not_wake_readers() {
        let mut wakers = Wakers::default();
        waits_for_object(&mut wakers, 2, 0);
        wakers.object_changes(stamp(3, 4), 0, 5, 0);
        wakers.object_changes(stamp(4, 6), 1, 5, 0);
        assert_eq!(wakers.end_wait(2, 1, 1000).map(|wake| wake.tid), Some(4));
        waits_for_object(&mut wakers, 2, 1);
        wakers.object_changes(stamp(4, 7), 1, 5, 0);
        assert_eq!(wakers.end_wait(2, 1, 1000), None);
        waits_for_object(&mut wakers, 2, 1);
        wakers.object_changes(stamp(3, 8), 0, 5, 0);
        assert_eq!(wakers.end_wait(2, 1, 1000).map(|wake| wake.tid), Some(3));
        assert!(wakers.nobody_waits_for_objects());
    }

    #[test]
    fn data_that_came_long_after_the_write_was_held_back() {
        let mut wakers = Wakers::default();
        waits_for_object(&mut wakers, 2, 0);
        wakers.object_changes(stamp(4, 6), 1, 5, 0);
        assert_eq!(wakers.end_wait(2, 1, 6 + HELD_NS), None);
        waits(&mut wakers, 3, 1, 0x10, 128);
        calls(&mut wakers, 4, 6, [0x10, 129, 1, 0, 0, 0]);
        assert_eq!(wakers.end_wait(3, 1, 6 + HELD_NS).map(|wake| wake.tid), Some(4), "a futex holds nothing back");
    }

    #[test]
    fn only_the_awaited_child_ends_the_wait() {
        let mut wakers = Wakers::default();
        let ends = |wakers: &mut Wakers, pid| wakers.process_ends(Stamp { tgid: pid, ..stamp(pid, 9) }, 1, 0);
        waits_for_child(&mut wakers, 2, Call { number: WAIT4, arguments: [70, 0, 0, 0, 0, 0] });
        waits_for_child(&mut wakers, 3, Call { number: WAITID, arguments: [P_PID, 71, 0, 0, 0, 0] });
        waits_for_child(&mut wakers, 4, Call { number: WAIT4, arguments: [u64::MAX, 0, 0, 0, 0, 0] });
        ends(&mut wakers, 71);
        let by = |wakers: &mut Wakers, tid| wakers.end_wait(tid, 1, 1000).map(|wake| wake.tid);
        assert_eq!([2, 3, 4].map(|tid| by(&mut wakers, tid)), [None, Some(71), Some(71)]);
    }

    #[test]
    fn who_comes_was_woken() {
        let mut wakers = Wakers::default();
        (2..4).for_each(|tid| waits(&mut wakers, tid, u64::from(tid), 0x1000, 0x80));
        calls(&mut wakers, 9, 10, [0x1000, 0x81, 1, 0, 0, 0]);
        let by = |wakers: &mut Wakers, tid| wakers.end_wait(tid, 0, 1000).map(|wake| wake.tid);
        assert_eq!((by(&mut wakers, 3), by(&mut wakers, 2)), (Some(9), None));
    }
}
