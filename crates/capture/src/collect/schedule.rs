//! When the next round of a collection comes, and when the collection is over.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::collection::Collection;
use super::control_socket::ControlSocket;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::programs::proc;

/// Pause between two drains; the rings hold about a second of the fastest switching.
const ROUND: Duration = Duration::from_millis(20);
/// Pause when programs announce much, or may end a pause.
const SHORT_ROUND: Duration = Duration::from_millis(2);
/// A program that has mapped nothing for so long has likely mapped what it starts with.
const QUIET: Duration = Duration::from_millis(3);
/// How long a stopped collection waits for the program to end by the same Ctrl-C.
const GRACE_NS: u64 = 300_000_000;

impl Collection<'_> {
    /// Whether the program has ended, the time is over or `stop` was set; resumes a paused recording when that is due.
    pub(super) fn is_over(&mut self, stop: &AtomicBool) -> Result<bool> {
        let now = monotonic_ns();
        let ended = match &mut self.child {
            Some(child) => child.exit_status().is_some(),
            None if self.options.joining.is_some() => false,
            None => !self.attached.iter().any(|&(pid, began)| proc::is_alive(pid) && proc::began(pid) == began),
        };
        let elapsed = now - self.manifest.start_ns;
        if stop.load(Ordering::Relaxed) && self.stopping_since_ns.is_none() {
            self.stopping_since_ns = Some(now);
        }
        let grace = if self.child.is_some() { GRACE_NS } else { 0 };
        let stopped = self.stopping_since_ns.is_some_and(|since| now - since >= grace);
        if self.pause.is_on && !self.pause.is_final && self.pause.resume_at_ns.is_some_and(|after| elapsed >= after) {
            self.resume(now)?;
            self.round(false)?;
        }
        Ok(ended
            || stopped
            || self.ending.is_some()
            || self.options.duration_ns.is_some_and(|duration| elapsed >= duration))
    }

    /// Sleeps until the next round, or until a target ends or maps a file.
    pub(super) fn wait(&mut self) {
        let wakers = self.source.wakers().into_iter().chain(self.control.as_ref().map(ControlSocket::fd));
        let now = monotonic_ns();
        let system = self.system.as_ref().map(|system| system.due_in(now));
        let goroutines = self.goroutines.as_ref().filter(|_| !self.pause.is_on).and_then(|it| it.due_in(now));
        let due = system.into_iter().chain(goroutines).min().map(Duration::from_nanos);
        let may_resume = self.pause.is_on && !self.pause.is_final && self.itt.is_used();
        let round = if std::mem::take(&mut self.soon) || may_resume { SHORT_ROUND } else { ROUND };
        let round = if self.unwinding.is_behind() { QUIET.min(round) } else { round };
        let timeout = due.map_or(round, |due| due.min(round));
        let readable = wait_readable(self.pidfds.iter().map(OwnedFd::as_fd).chain(wakers), timeout);
        // A target that has ended stays readable for good: once is enough to be woken.
        let mut readable = readable.into_iter();
        self.pidfds.retain(|_| readable.next() != Some(true));
    }
}

/// Which of the descriptors are readable, after `timeout` at most. One call only: asking a perf event clears the answer.
#[allow(unsafe_code, reason = "poll")]
fn wait_readable<'f>(fds: impl Iterator<Item = BorrowedFd<'f>>, timeout: Duration) -> Vec<bool> {
    let entry = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = fds.map(entry).collect();
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000) as i32;
    // SAFETY: the array is valid for its length during the call.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
    polled.iter().map(|entry| entry.revents != 0).collect()
}
