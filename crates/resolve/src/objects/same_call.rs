//! Which waits go on in the same call as the thread's wait before them (`off_cpu.again`): a lock woke the thread, another one took it first, and the thread waited again
//! without having left the call.
//!
//! No record tells that a thread has left a call. That it has not follows from what a second wait shows: the same lock, the same
//! return addresses, the same preserved registers and saved words on the stack (`SAME_CALL` of the record), hardly any running time since
//! the first one, and nobody whom the thread woke meanwhile, as whoever releases a lock does that others wait for. It stays an
//! estimate where a program has come back to the call with all that unchanged. Of semaphores nothing is said: who takes one need
//! not give it back, so that a loop which only takes shows the same.

use std::collections::VecDeque;

use dwell_model::{ObjectType, Outcome, Reason};
use dwell_store::Table as _;
use dwell_store::tables::{Objects, OffCpu};

/// Running time up to which a thread may have stayed in the call: what the kernel and the lock do between two waits takes 3 to
/// 40 us, and longer where the CPU itself was taken away.
const MOST_RUNNING_NS: u64 = 100_000;
/// Wake-ups by a thread that are remembered: it makes fewer within [`MOST_RUNNING_NS`].
const MOST_WAKES: usize = 64;

/// What is known of a thread.
#[derive(Clone, Default)]
struct Track {
    /// Its last wait, if that was for a lock.
    last: Option<usize>,
    /// Since when it ran, and how long it ran since its last wait before that.
    reached_ns: u64,
    ran_ns: u64,
    /// When it woke others.
    wakes: VecDeque<u64>,
}

/// For each row, whether its wait goes on in the call of the wait before it. `same_call` is what the rows' records say.
/// Rows are in the order of their start.
pub fn in_same_call(rows: &OffCpu, same_call: &[bool], objects: &Objects) -> Vec<bool> {
    let is_taken: Vec<bool> = objects.kind.iter().map(|kind| ObjectType::from_code(*kind).is_taken()).collect();
    let taken = |row: usize| rows.object[row].get().is_some_and(|object| is_taken.get(object) == Some(&true));
    let mut waits = Waits { rows, tracks: Vec::new() };
    (0..rows.len()).map(|row| waits.next(row, taken(row), same_call.get(row) == Some(&true))).collect()
}

struct Waits<'r> {
    rows: &'r OffCpu,
    tracks: Vec<Track>,
}

impl Waits<'_> {
    /// Whether the wait of the next row goes on in the call of the wait before it.
    fn next(&mut self, row: usize, taken: bool, same_call: bool) -> bool {
        let rows = self.rows;
        self.note_wake(row);
        let Some(track) = rows.thread[row].get().map(|thread| self.track(thread)) else { return false };
        let start_ns = rows.start_ns[row];
        track.ran_ns = track.ran_ns.saturating_add(start_ns.saturating_sub(track.reached_ns));
        track.reached_ns = start_ns.saturating_add(rows.wait_ns[row]).saturating_add(rows.runnable_ns[row]);
        match Reason::from_code(rows.reason[row]) {
            Reason::Preempted | Reason::Yielded => false,
            Reason::Waiting if taken => {
                let is_same_call = same_call && may_be_same_call(rows, track, row);
                (track.last, track.ran_ns) = (Some(row), 0);
                is_same_call
            }
            _ => {
                track.last = None;
                false
            }
        }
    }

    fn track(&mut self, thread: usize) -> &mut Track {
        if thread >= self.tracks.len() {
            self.tracks.resize(thread + 1, Track::default());
        }
        &mut self.tracks[thread]
    }

    fn note_wake(&mut self, row: usize) {
        let rows = self.rows;
        let woken = Outcome::from_code(rows.outcome[row]) == Outcome::Woken;
        let Some(waker) = rows.waker[row].get().filter(|_| woken) else { return };
        let wakes = &mut self.track(waker).wakes;
        if wakes.len() == MOST_WAKES {
            wakes.pop_front();
        }
        wakes.push_back(rows.start_ns[row].saturating_add(rows.wait_ns[row]));
    }
}

/// Whether nothing speaks against it that the wait `row` is in the same call as the thread's last one.
fn may_be_same_call(rows: &OffCpu, track: &Track, row: usize) -> bool {
    let Some(last) = track.last.filter(|_| track.ran_ns <= MOST_RUNNING_NS) else { return false };
    let same = rows.object[last] == rows.object[row] && rows.stack[last] == rows.stack[row];
    let between = rows.start_ns[last].saturating_add(rows.wait_ns[last])..=rows.start_ns[row];
    same && !track.wakes.iter().any(|at| between.contains(at))
}

#[cfg(test)]
mod tests {
    use dwell_model::{ObjectId, ProcessId, StackId, ThreadId};
    use dwell_store::tables::{ObjectRow, OffCpuRow};

    use super::*;

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
            again: false,
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
        in_same_call(&off_cpu, &vec![true; rows.len()], &objects)
    }

    #[test]
    fn a_second_wait_of_a_call_goes_on_with_the_first() {
        let rows = [wait(1, 0, 100, 0), wait(1, 110, 200, 0), wait(1, 210, 300, 0)];
        assert_eq!(found(&rows, ObjectType::Mutex), [false, true, true]);
        assert_eq!(found(&rows, ObjectType::ConditionVariable), [false; 3], "nobody takes one");
        assert_eq!(found(&rows, ObjectType::Semaphore), [false; 3], "nobody need give one back");
    }

    #[test]
    fn whoever_ran_long_or_released_the_lock_has_left_the_call() {
        let slow = [wait(1, 0, 100, 0), wait(1, 210, 300, 0)];
        assert_eq!(found(&slow, ObjectType::Mutex), [false, false]);
        let released = [wait(1, 0, 100, 0), wait(2, 50, 108, 1), wait(1, 110, 200, 0)];
        assert_eq!(found(&released, ObjectType::Mutex), [false, false, false]);
    }

    #[test]
    fn a_preemption_in_the_call_does_not_end_it() {
        let preempted =
            OffCpuRow { wait_ns: 0, runnable_ns: 500_000, reason: Reason::Preempted.code(), ..wait(1, 105, 105, 0) };
        let rows = [wait(1, 0, 100, 0), preempted, wait(1, 610, 700, 0)];
        assert_eq!(found(&rows, ObjectType::Mutex), [false, false, true]);
    }
}
