//! A forked process: how it begins, and that it ends.
#![allow(unsafe_code, reason = "fork, signals and the end of a process")]

use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

/// How a process ends that is not at fault.
pub const CRASHED: i32 = 1;

/// Keys of a terminal send these to its programs: the one who asked decides what they mean.
const OF_TERMINALS: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTSTP, libc::SIGPIPE, libc::SIGWINCH];
/// One that asked may handle these itself; here they have their usual meaning. Rust's own handler calls an overflow of the stack
/// an abort, which is how a process ends that gets no memory.
const USUAL: [libc::c_int; 9] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A process of our own. It ends when this is dropped.
pub struct Process {
    pid: Pid,
    is_reaped: bool,
}

impl Process {
    /// Forks. The new process does `act` and ends with what that gives.
    pub fn fork(act: impl FnOnce() -> i32) -> io::Result<Self> {
        let before = block_signals();
        // SAFETY: the library's fork leaves its own locks, the allocator's among them, usable in the new process. That one has
        // only this thread, takes no lock that another thread of ours may hold, and never returns from here.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            begin_signals();
            set_signals(&before);
            let code = catch_unwind(AssertUnwindSafe(act)).unwrap_or(CRASHED);
            end(code);
        }
        let error = io::Error::last_os_error();
        set_signals(&before);
        Pid::from_raw(forked).filter(|_| forked > 0).map(|pid| Self { pid, is_reaped: false }).ok_or(error)
    }

    /// Ends the process, unless it has ended, and says how it did that.
    pub fn end(&mut self) -> Option<WaitStatus> {
        if self.is_reaped {
            return None;
        }
        self.is_reaped = true;
        // It has not been waited for, so nobody else has its number. Who is ending stays at what it ended with.
        let is_killed = kill_process(self.pid, Signal::KILL).is_ok() || kill_thread(self.pid);
        // Where we may not even do that, it ends itself in time, or with us: nobody waits for it.
        let options = if is_killed { WaitOptions::empty() } else { WaitOptions::NOHANG };
        loop {
            match waitpid(Some(self.pid), options) {
                Err(Errno::INTR) => {}
                waited => return waited.ok().flatten().map(|(_, status)| status),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends this process, and runs nothing that another one left to be run at its end.
pub fn end(code: i32) -> ! {
    // SAFETY: no memory is involved.
    unsafe { libc::_exit(code) }
}

/// Ends the process as kill(2) does, which a confined process may not call.
fn kill_thread(pid: Pid) -> bool {
    let pid = pid.as_raw_nonzero().get();
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, libc::SIGKILL) == 0 }
}

/// A handler of ours must not run in the new process, where it would write to what both have.
fn block_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are there to be written, and are whole afterwards.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigemptyset(before.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn set_signals(signals: &libc::sigset_t) {
    // SAFETY: the set is whole.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, signals, ptr::null_mut()) };
}

fn begin_signals() {
    let all = OF_TERMINALS.map(|signal| (signal, libc::SIG_IGN));
    for (signal, action) in all.into_iter().chain(USUAL.map(|signal| (signal, libc::SIG_DFL))) {
        // SAFETY: neither action is a function.
        unsafe { libc::signal(signal, action) };
    }
}
