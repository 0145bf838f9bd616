//! Which waits go on in the same call as the thread's wait before them ([`EventKey::again`]): a lock woke the thread, another one took it
//! first, and the thread waited again without having left the call.
//!
//! No record tells that a thread has left a call. That it has not follows from what a second wait shows: the same lock, the same
//! return addresses, the same preserved registers and saved words on the stack (`off_cpu.same_call`), hardly any running time since
//! the first one, and nobody whom the thread woke meanwhile, as whoever releases a lock does that others wait for. It stays an
//! estimate where a program has come back to the call with all that unchanged. Of semaphores nothing is said: who takes one need
//! not give it back, so that a loop which only takes shows the same.
//!
//! It takes the rows of `off_cpu` in the order of their start, whole or group by group. The tables keep what was seen; this is
//! concluded when events are made of them.
//!
//! [`EventKey::again`]: super::EventKey::again

use std::collections::VecDeque;

use dwell_model::{ObjectId, ObjectType, Outcome, Reason, StackId, ThreadId};

use crate::tables::{Objects, OffCpu};

/// Running time up to which a thread may have stayed in the call: what the kernel and the lock do between two waits takes 3 to
/// 40 us, and longer where the CPU itself was taken away.
const MOST_RUNNING_NS: u64 = 100_000;
/// Wake-ups by a thread that are remembered: it makes fewer within [`MOST_RUNNING_NS`].
const MOST_WAKES: usize = 64;

/// A wait for a lock.
#[derive(Clone, Copy)]
struct LockWait {
    object: ObjectId,
    stack: StackId,
    /// When the thread was woken.
    woken_ns: u64,
}

/// What is known of a thread.
#[derive(Clone, Default)]
struct Track {
    /// Its last wait, if that was for a lock.
    last: Option<LockWait>,
    /// Since when it ran, and how long it ran since its last wait before that.
    reached_ns: u64,
    ran_ns: u64,
    /// When it woke others.
    wakes: VecDeque<u64>,
}

/// Follows the threads through the rows.
pub(super) struct SameCalls {
    is_taken: Vec<bool>,
    tracks: Vec<Track>,
}

impl SameCalls {
    /// Of `threads` threads, before the first row.
    pub fn new(threads: usize, objects: &Objects) -> Self {
        let is_taken = objects.kind.iter().map(|kind| ObjectType::from_code(*kind).is_taken()).collect();
        Self { is_taken, tracks: vec![Track::default(); threads] }
    }

    /// Whether the wait of the next row goes on in the call of the thread's wait before it.
    pub fn goes_on(&mut self, rows: &OffCpu, row: usize) -> bool {
        self.note_wake(rows, row);
        let is_taken = rows.object[row].get().is_some_and(|object| self.is_taken.get(object) == Some(&true));
        let Some(track) = self.track(rows.thread[row]) else { return false };
        let start_ns = rows.start_ns[row];
        let woken_ns = start_ns.saturating_add(rows.wait_ns[row]);
        track.ran_ns = track.ran_ns.saturating_add(start_ns.saturating_sub(track.reached_ns));
        track.reached_ns = woken_ns.saturating_add(rows.runnable_ns[row]);
        match Reason::from_code(rows.reason[row]) {
            Reason::Preempted | Reason::Yielded => false,
            Reason::Waiting if is_taken => {
                let wait = LockWait { object: rows.object[row], stack: rows.stack[row], woken_ns };
                let goes_on = rows.same_call[row] && track.may_go_on(&wait, start_ns);
                (track.last, track.ran_ns) = (Some(wait), 0);
                goes_on
            }
            _ => {
                track.last = None;
                false
            }
        }
    }

    fn track(&mut self, thread: ThreadId) -> Option<&mut Track> {
        self.tracks.get_mut(thread.get()?)
    }

    fn note_wake(&mut self, rows: &OffCpu, row: usize) {
        if Outcome::from_code(rows.outcome[row]) != Outcome::Woken {
            return;
        }
        let Some(Track { wakes, .. }) = self.track(rows.waker[row]) else { return };
        if wakes.len() == MOST_WAKES {
            wakes.pop_front();
        }
        wakes.push_back(rows.start_ns[row].saturating_add(rows.wait_ns[row]));
    }
}

impl Track {
    /// Whether nothing speaks against it that `wait`, which begins at `start_ns`, is in the same call as the thread's last one.
    fn may_go_on(&self, wait: &LockWait, start_ns: u64) -> bool {
        let Some(last) = self.last.filter(|_| self.ran_ns <= MOST_RUNNING_NS) else { return false };
        let is_same = (last.object, last.stack) == (wait.object, wait.stack);
        // One that did not run in between woke nobody: these are the pieces of one wait.
        let woke = || self.wakes.iter().any(|at| (last.woken_ns..=start_ns).contains(at));
        is_same && (last.woken_ns == start_ns || !woke())
    }
}

#[cfg(test)]
mod tests {
    use dwell_model::{ObjectId, ProcessId, StackId, ThreadId};

    use super::*;
    use crate::tables::{ObjectRow, OffCpuRow};

    /// A wait of thread `thread` for the one lock from `from` to `to` us, ended by `waker`.
    fn wait(thread: usize, from: u64, to: u64, waker: usize) -> OffCpuRow {
        OffCpuRow {
            thread: ThreadId::new(thread),
            start_ns: from * 1000,
            wait_ns: (to - from) * 1000,
            runnable_ns: 0,
            cpu: 0,
            reason: Reason::Waiting.code(),
            outcome: Outcome::Woken.code(),
            syscall: 202,
            object: ObjectId::new(0),
            stack: StackId::new(0),
            waker: ThreadId::new(waker),
            waker_kind: 1,
            waker_stack: StackId::NONE,
            holder: ThreadId::NONE,
            same_call: true,
        }
    }

    fn found(rows: &[OffCpuRow], kind: ObjectType) -> Vec<bool> {
        let (mut off_cpu, mut objects) = (OffCpu::default(), Objects::default());
        rows.iter().for_each(|row| {
            off_cpu.push(row.clone());
        });
        objects.push(ObjectRow {
            kind: kind.code(),
            name: "lock".into(),
            detail: String::new(),
            process: ProcessId::NONE,
            address: 0,
            first_stack: StackId::NONE,
            created_stack: StackId::NONE,
        });
        let mut calls = SameCalls::new(3, &objects);
        (0..rows.len()).map(|row| calls.goes_on(&off_cpu, row)).collect()
    }

    #[test]
    fn a_second_wait_of_a_call_goes_on_with_the_first() {
        let rows = [wait(1, 0, 100, 0), wait(1, 110, 200, 0), wait(1, 210, 300, 0)];
        assert_eq!(found(&rows, ObjectType::Mutex), [false, true, true]);
        assert_eq!(found(&rows, ObjectType::ConditionVariable), [false; 3], "nobody takes one");
        assert_eq!(found(&rows, ObjectType::Semaphore), [false; 3], "nobody need give one back");
    }

    #[test]
    fn other_registers_or_another_stack_are_another_call() {
        let changed = OffCpuRow { same_call: false, ..wait(1, 110, 200, 0) };
        assert_eq!(found(&[wait(1, 0, 100, 0), changed], ObjectType::Mutex), [false, false]);
        let elsewhere = OffCpuRow { stack: StackId::new(1), ..wait(1, 110, 200, 0) };
        assert_eq!(found(&[wait(1, 0, 100, 0), elsewhere], ObjectType::Mutex), [false, false]);
    }

    #[test]
    fn whoever_ran_long_or_released_the_lock_has_left_the_call() {
        let slow = [wait(1, 0, 100, 0), wait(1, 210, 300, 0)];
        assert_eq!(found(&slow, ObjectType::Mutex), [false, false]);
        let released = [wait(1, 0, 100, 0), wait(2, 50, 108, 1), wait(1, 110, 200, 0)];
        assert_eq!(found(&released, ObjectType::Mutex), [false, false, false]);
    }

    #[test]
    fn pieces_of_one_wait_are_one_call() {
        let pieces = [wait(1, 0, 100, 0), wait(2, 50, 100, 1), wait(1, 100, 200, 2)];
        assert_eq!(found(&pieces, ObjectType::Mutex), [false, false, true], "who does not run wakes nobody");
    }

    #[test]
    fn a_preemption_in_the_call_does_not_end_it() {
        let preempted =
            OffCpuRow { wait_ns: 0, runnable_ns: 500_000, reason: Reason::Preempted.code(), ..wait(1, 105, 105, 0) };
        let rows = [wait(1, 0, 100, 0), preempted, wait(1, 610, 700, 0)];
        assert_eq!(found(&rows, ObjectType::Mutex), [false, false, true]);
    }
}
