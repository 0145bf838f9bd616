//! Work on what others made, in forked processes with limits: what takes too much, or crashes, costs its own answer and
//! nothing else.
//!
//! Takes items and a function; gives an answer for each, or why there is none. A process is forked, not started anew: it sees the
//! items as they are, and may be made where no program may be run. It gets the number of an item, and writes the answer to a
//! pipe. The one who asked knows which item each process is at, so that one that was taken over answers for that item alone.

mod death;
mod limits;
mod process;
mod worker;

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use death::Death;
pub use limits::Limits;
use worker::{Worker, WorkerReport};

/// Answers for all items, in their order. `work` is done in other processes: what it changes is lost. `answered` is told the
/// number of each item as its answer comes.
pub fn run<T, A>(
    items: &[T],
    limits: &Limits,
    work: impl Fn(&T) -> A + Sync,
    answered: &mut dyn FnMut(usize),
) -> Vec<Result<A, Death>>
where
    T: Sync,
    A: Serialize + DeserializeOwned,
{
    let encoded = |item: usize| items.get(item).and_then(|item| postcard::to_allocvec(&work(item)).ok());
    let ends = Instant::now() + limits.time_in_all;
    let mut course = WorkerPool { limits, work: &encoded, ends, next: 0, count: items.len(), workers: Vec::new() };
    let mut answers: Vec<Option<Result<A, Death>>> = items.iter().map(|_| None).collect();
    while course.go_on() {
        for (item, told) in course.listen() {
            answers[item] = Some(told.and_then(|bytes| postcard::from_bytes(&bytes).map_err(|_| Death::Crash)));
            answered(item);
        }
    }
    let rest = if Instant::now() < ends { Death::NoProcess } else { Death::NoTime(limits.time_in_all) };
    answers.into_iter().map(|answer| answer.unwrap_or(Err(rest))).collect()
}

/// The processes at work, and what is left to do.
struct WorkerPool<'a> {
    limits: &'a Limits,
    work: &'a (dyn Fn(usize) -> Option<Vec<u8>> + Sync),
    ends: Instant,
    /// The first item that nobody has begun.
    next: usize,
    count: usize,
    workers: Vec<Worker>,
}

impl WorkerPool<'_> {
    /// Makes the processes that are missing. False when all is done, or nothing more can be.
    fn go_on(&mut self) -> bool {
        if Instant::now() >= self.ends {
            self.workers.clear();
        } else {
            while self.next < self.count && self.workers.len() < self.limits.processes.max(1) {
                // Where there is no room for another process, those that there are do the rest.
                let Ok(mut worker) = Worker::new(self.limits, self.work) else { break };
                worker.begin(self.next, self.limits.time_per_item);
                self.next += 1;
                self.workers.push(worker);
            }
        }
        !self.workers.is_empty()
    }

    /// Waits until something comes or is due. Gives what is said of items, and gives whoever is free the next one.
    fn listen(&mut self) -> Vec<(usize, Result<Vec<u8>, Death>)> {
        self.wait();
        let mut told = Vec::new();
        let (limits, ends) = (self.limits, self.ends);
        let (count, next) = (self.count, &mut self.next);
        self.workers.retain_mut(|worker| match worker.read_answers(limits) {
            WorkerReport::Nothing if Instant::now() < worker.until => true,
            WorkerReport::Nothing => {
                told.push((worker.item, Err(Death::Deadline(limits.time_per_item))));
                false
            }
            WorkerReport::Answer(bytes) => {
                told.push((worker.item, Ok(bytes)));
                let goes_on = *next < count && Instant::now() < ends;
                if goes_on {
                    worker.begin(*next, limits.time_per_item);
                    *next += 1;
                }
                goes_on
            }
            WorkerReport::Death(death) => {
                told.push((worker.item, Err(death)));
                false
            }
        });
        told
    }

    fn wait(&self) {
        let due = self.workers.iter().map(|worker| worker.until).fold(self.ends, Instant::min);
        let left = due.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let timeout = Timespec::try_from(left).ok();
        let mut pipes: Vec<PollFd<'_>> =
            self.workers.iter().map(|worker| PollFd::from_borrowed_fd(worker.answers(), PollFlags::IN)).collect();
        // A signal only makes it look sooner.
        let _ = poll(&mut pipes, timeout.as_ref());
    }
}
