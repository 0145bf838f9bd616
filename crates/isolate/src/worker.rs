//! A process at work, from both sides: it reads numbers of items and writes answers, each behind its length.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getpid;

use crate::death::Death;
use crate::limits::{Limits, hold};
use crate::process::{self, CRASHED, Process};

/// How a process ends whose item took too long.
const LATE: i32 = 2;
/// Whose answer is too large.
const TOO_LARGE: i32 = 3;
const LENGTH_BYTES: usize = 8;
const MOST_READ: usize = 64 << 10;

/// What is heard of a process.
pub enum WorkerReport {
    /// It is at work.
    Nothing,
    /// An answer.
    Answer(Vec<u8>),
    /// It has ended, or must.
    Death(Death),
}

/// A process at work on an item.
pub struct Worker {
    process: Process,
    requests: File,
    /// So that writing a request to a process that has ended is no signal here.
    _other_end: OwnedFd,
    answers: File,
    received: Vec<u8>,
    /// The item.
    pub item: usize,
    /// When it must be done.
    pub until: Instant,
}

impl Worker {
    /// Makes a process that does `work` on items by their number.
    pub fn new(limits: &Limits, work: &(dyn Fn(usize) -> Option<Vec<u8>> + Sync)) -> io::Result<Self> {
        let (to_read, requests) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, to_write) = pipe_with(PipeFlags::CLOEXEC)?;
        ioctl_fionbio(&answers, true)?;
        let parent = getpid();
        let process = Process::fork(|| {
            let ends = to_read.try_clone().and_then(|read| Ok((File::from(read), File::from(to_write.try_clone()?))));
            let Ok((requests, answers)) = ends else { return CRASHED };
            hold(limits.memory_bytes, parent).map_or(CRASHED, |()| serve(requests, answers, limits, work))
        })?;
        let requests = File::from(requests);
        let (answers, received, until) = (File::from(answers), Vec::new(), Instant::now());
        Ok(Self { process, requests, _other_end: to_read, answers, received, item: 0, until })
    }

    /// Gives it an item, to be done within `time`. One that has ended says so when it is heard.
    pub fn begin(&mut self, item: usize, time: Duration) {
        self.item = item;
        self.until = Instant::now() + time;
        let _ = self.requests.write_all(&(item as u64).to_le_bytes());
    }

    /// Where answers come from.
    pub fn answers(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }

    /// Takes what it has written.
    pub fn read_answers(&mut self, limits: &Limits) -> WorkerReport {
        let mut piece = [0; MOST_READ];
        loop {
            let bytes = match self.answers.read(&mut piece) {
                Ok(0) => return WorkerReport::Death(self.death(limits)),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return WorkerReport::Nothing,
                Err(_) => return WorkerReport::Death(Death::Crash),
            };
            self.received.extend_from_slice(&piece[..bytes]);
            let Some(length) = self.received.first_chunk::<LENGTH_BYTES>() else { continue };
            let length = u64::from_le_bytes(*length);
            let body = (self.received.len() - LENGTH_BYTES) as u64;
            if length > limits.answer_bytes as u64 || body > length {
                return WorkerReport::Death(Death::Crash); // it was taken over
            }
            if body == length {
                let answer = self.received.split_off(LENGTH_BYTES);
                self.received.clear();
                return WorkerReport::Answer(answer);
            }
        }
    }

    /// How it ended.
    fn death(&mut self, limits: &Limits) -> Death {
        let Some(status) = self.process.end() else { return Death::Crash };
        match (status.exit_status(), status.terminating_signal()) {
            // A program that gets no memory aborts; where the machine has none, the kernel ends it.
            (Some(TOO_LARGE), _) | (_, Some(libc::SIGABRT | libc::SIGKILL)) => Death::Memory(limits.memory_bytes),
            (Some(LATE), _) => Death::Deadline(limits.time_per_item),
            _ => Death::Crash,
        }
    }
}

/// In the forked process: does one item after the other, until nobody asks any more.
fn serve(
    mut requests: File,
    mut answers: File,
    limits: &Limits,
    work: &(dyn Fn(usize) -> Option<Vec<u8>> + Sync),
) -> i32 {
    panic::set_hook(Box::new(|_| {}));
    let mut number = [0; LENGTH_BYTES];
    while requests.read_exact(&mut number).is_ok() {
        let answer = match in_time(u64::from_le_bytes(number) as usize, limits, work) {
            Ok(answer) => answer,
            Err(code) => return code,
        };
        let length = (answer.len() as u64).to_le_bytes();
        if answers.write_all(&length).and_then(|()| answers.write_all(&answer)).is_err() {
            break;
        }
    }
    0
}

/// The answer for an item; how this process ends, when there is none. The work has a thread and a stack of its own, so that this
/// one can end the process in time where nobody else may.
fn in_time(item: usize, limits: &Limits, work: &(dyn Fn(usize) -> Option<Vec<u8>> + Sync)) -> Result<Vec<u8>, i32> {
    let (done, awaited) = sync_channel(1);
    thread::scope(|scope| {
        let act = move || {
            let _ = done.send(work(item));
        };
        thread::Builder::new().stack_size(limits.stack_bytes).spawn_scoped(scope, act).map_err(|_| CRASHED)?;
        let answer = match awaited.recv_timeout(limits.time_per_item) {
            Ok(Some(answer)) => answer,
            Ok(None) | Err(RecvTimeoutError::Disconnected) => process::end(CRASHED),
            Err(RecvTimeoutError::Timeout) => process::end(LATE),
        };
        if answer.len() > limits.answer_bytes { Err(TOO_LARGE) } else { Ok(answer) }
    })
}
