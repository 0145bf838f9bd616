//! A terminal of the program's own, where it runs as another user than Dwell does on a terminal.
//!
//! Whoever shares root's session can type into root's shell (TIOCSTI, where `dev.tty.legacy_tiocsti` is 1), take its keystrokes and
//! change its modes. So the program becomes the leader of a session with a pseudoterminal, as under sudo's `use_pty`. A process of
//! its own, the *relay*, copies between the two. It is not a thread of the collector: the program's terminal must not hang up when
//! the collector ends before the program does, or is killed.
//!
//! With that the kernel itself refuses TIOCSTI and TIOCLINUX on root's terminal (`tiocsti` in drivers/tty/tty_io.c, `tioclinux` in
//! drivers/tty/vt/vt.c): a filter of system calls would add nothing but its cost at each of the program's calls.
#![allow(unsafe_code, reason = "fork, and the calls of terminals; the relay allocates nothing")]

use std::io::{self, PipeReader, PipeWriter, Read};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_short, c_ulong, pid_t};
use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Result};
use crate::programs::signals::was_ignored;

/// Bytes that are copied at a time.
const CHUNK_BYTES: usize = 4096;
/// While another job has the terminal: how often the relay looks whether that is over.
const LOOK_MS: c_int = 200;
/// Sends a signal to the foreground of the pseudoterminal (asm-generic/ioctls.h).
const TIOCSIG: c_ulong = 0x4004_5436;

/// The program's end of the pseudoterminal. Dropping it ends the relaying of input and gives the terminal its modes back;
/// output of what still runs is relayed until the last process has closed the terminal.
#[derive(Debug)]
pub struct OwnTerminal {
    program_end: Option<OwnedFd>,
    /// Which of the standard streams become this terminal.
    streams: [bool; 3],
    /// The relay sees it closed when Dwell needs the terminal, or is gone.
    in_use: Option<PipeWriter>,
    /// Closed by the relay once the terminal has its modes back.
    restored: PipeReader,
    relay: pid_t,
}

impl OwnTerminal {
    /// Makes a terminal for a program of user `uid`, and starts its relay; `None` where Dwell has no terminal itself.
    pub fn open(uid: libc::uid_t) -> Result<Option<Self>> {
        let failed = |source| Error::System { what: "making a terminal for the program", source };
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Ok(outer) = rustix::fs::open("/dev/tty", flags, Mode::empty()) else { return Ok(None) };
        let streams = [0, 1, 2].map(is_controlling_terminal);
        let (master, program_end) = pair(&outer, uid).map_err(failed)?;
        let (in_use_reader, in_use) = io::pipe().map_err(failed)?;
        let (restored, restored_writer) = io::pipe().map_err(failed)?;
        let collector = std::process::id().cast_signed();
        // SAFETY: the child calls only async-signal-safe functions, and ends without returning.
        let relay = unsafe { libc::fork() };
        if relay < 0 {
            return Err(Error::last_os("fork"));
        }
        if relay == 0 {
            let fds = [outer.as_raw_fd(), master.as_raw_fd(), in_use_reader.as_raw_fd(), restored_writer.as_raw_fd()];
            Relay::run(fds, streams[0], collector);
        }
        Ok(Some(Self { program_end: Some(program_end), streams, in_use: Some(in_use), restored, relay }))
    }

    /// In the program's process: leads a session on this terminal from now on. Async-signal-safe.
    pub fn enter(&self) -> io::Result<()> {
        let Some(terminal) = &self.program_end else { return Ok(()) };
        // SAFETY: plain calls on a descriptor of ours.
        unsafe {
            check(libc::setsid())?;
            check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0))?;
            for (stream, _) in (0..).zip(self.streams).filter(|(_, is_terminal)| *is_terminal) {
                check(libc::dup2(terminal.as_raw_fd(), stream))?;
            }
        }
        Ok(())
    }

    /// Once the program has its end: from now on the terminal hangs up when the program's last process has closed it.
    pub fn hand_over(&mut self) {
        self.program_end = None;
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        (self.program_end, self.in_use) = (None, None);
        let _ = self.restored.read(&mut [0]); // the end of the pipe, also when the relay is gone
        // SAFETY: asks, without blocking, for our own child; one that still relays goes on without us.
        unsafe { libc::waitpid(self.relay, ptr::null_mut(), libc::WNOHANG) };
    }
}

/// A pseudoterminal like `outer`: its master, and the end for user `uid`.
fn pair(outer: &OwnedFd, uid: libc::uid_t) -> io::Result<(OwnedFd, OwnedFd)> {
    const FLAGS: c_int = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    let like_outer = modes(outer.as_raw_fd())?;
    // SAFETY: plain calls; each descriptor is new and ours, and the structure is filled in before it is read.
    unsafe {
        let master = OwnedFd::from_raw_fd(check(libc::posix_openpt(FLAGS | libc::O_NONBLOCK))?);
        check(libc::unlockpt(master.as_raw_fd()))?;
        let end = OwnedFd::from_raw_fd(check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, FLAGS))?);
        check(libc::fchown(end.as_raw_fd(), uid, libc::gid_t::MAX))?;
        check(libc::tcsetattr(end.as_raw_fd(), libc::TCSANOW, &raw const like_outer))?;
        copy_size(outer.as_raw_fd(), master.as_raw_fd());
        Ok((master, end))
    }
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn modes(terminal: RawFd) -> io::Result<libc::termios> {
    let mut modes = MaybeUninit::uninit();
    // SAFETY: the call fills the structure in where it succeeds.
    unsafe {
        check(libc::tcgetattr(terminal, modes.as_mut_ptr()))?;
        Ok(modes.assume_init())
    }
}

/// Whether the descriptor is the terminal of this process's session.
fn is_controlling_terminal(descriptor: RawFd) -> bool {
    // SAFETY: takes plain numbers.
    unsafe { libc::tcgetsid(descriptor) >= 0 }
}

fn copy_size(from: RawFd, to: RawFd) {
    let mut size = MaybeUninit::<libc::winsize>::uninit();
    // SAFETY: the first call fills the structure in where it succeeds.
    unsafe {
        if libc::ioctl(from, libc::TIOCGWINSZ, size.as_mut_ptr()) == 0 {
            libc::ioctl(to, libc::TIOCSWINSZ, size.as_ptr());
        }
    }
}

/// The process that copies between Dwell's terminal and the program's. It allocates nothing, since it is a forked child.
struct Relay {
    outer: RawFd,
    master: RawFd,
    in_use: RawFd,
    restored: RawFd,
    signals: RawFd,
    collector: pid_t,
    /// Whether keys go to the program: not where something else is its standard input, and not once Dwell is done.
    takes_keys: bool,
    /// Modes of the terminal before the relay changed them.
    before: Option<libc::termios>,
    /// Keys that the program has not read yet.
    keys: [u8; CHUNK_BYTES],
    keys_begin: usize,
    keys_end: usize,
}

impl Relay {
    fn run(descriptors: [RawFd; 4], takes_keys: bool, collector: pid_t) -> ! {
        // SAFETY: plain calls on numbers; the process ends here.
        unsafe {
            let mine = keep_only(descriptors);
            let signals = if dwell_rights::confine::keep_to_relay().is_ok() { receive_signals() } else { -1 };
            if let (Some([outer, master, in_use, restored]), 0..) = (mine, signals) {
                let mut relay = Self {
                    outer,
                    master,
                    in_use,
                    restored,
                    signals,
                    collector,
                    takes_keys,
                    before: None,
                    keys: [0; CHUNK_BYTES],
                    keys_begin: 0,
                    keys_end: 0,
                };
                while relay.step() {}
                relay.restore();
            }
            libc::_exit(0);
        }
    }

    /// Waits for something to copy and copies it. Returns whether the program still has its terminal.
    fn step(&mut self) -> bool {
        let has_terminal = self.is_foreground();
        if self.takes_keys && has_terminal {
            self.pass_keys_unchanged();
        }
        let has_keys = self.keys_begin < self.keys_end;
        let reads = self.takes_keys && has_terminal && !has_keys;
        let mut polled = [
            poll_of(self.master, if has_keys { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN }),
            poll_of(self.signals, libc::POLLIN),
            poll_of(self.in_use, libc::POLLIN),
            poll_of(if reads { self.outer } else { -1 }, libc::POLLIN),
        ];
        let timeout = if self.takes_keys && !has_terminal { LOOK_MS } else { -1 };
        // SAFETY: the array is valid for its length.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
        let [master, signals, in_use, outer] = polled.map(|one| one.revents);
        if signals != 0 && !self.take_signal() {
            return false;
        }
        if outer != 0 {
            self.read_keys();
        }
        if master & libc::POLLOUT != 0 {
            self.write_keys();
        }
        if master & !libc::POLLOUT != 0 && !self.copy_output() {
            return false;
        }
        if in_use != 0 {
            self.leave_terminal();
        }
        true
    }

    /// Copies what the program wrote. Returns whether it may write more.
    fn copy_output(&self) -> bool {
        let mut chunk = [0u8; CHUNK_BYTES];
        // SAFETY: reads into and writes from the buffer, within its length.
        unsafe {
            let read = libc::read(self.master, chunk.as_mut_ptr().cast(), chunk.len());
            let mut written = 0;
            while written < read {
                let rest = chunk.as_ptr().offset(written).cast();
                match libc::write(self.outer, rest, (read - written) as usize) {
                    ..0 if *libc::__errno_location() != libc::EINTR => break, // the terminal is gone; the program may go on
                    ..0 => {}
                    more => written += more,
                }
            }
            // EIO: nobody has the terminal open any more.
            read > 0 || (read < 0 && matches!(*libc::__errno_location(), libc::EAGAIN | libc::EINTR))
        }
    }

    /// Dwell needs the terminal, or is gone: its modes are as before, and keys are no longer the program's.
    fn leave_terminal(&mut self) {
        let mut more = poll_of(self.master, libc::POLLIN);
        // SAFETY: a valid structure.
        while unsafe { libc::poll(&raw mut more, 1, 0) } > 0 && self.copy_output() {}
        self.takes_keys = false;
        self.restore();
        // SAFETY: descriptors of this process's own, which it does not use again.
        unsafe {
            libc::close(self.in_use);
            libc::close(self.restored);
        }
        self.in_use = -1; // poll ignores it
    }

    fn read_keys(&mut self) {
        // SAFETY: reads into the buffer, within its length.
        let read = unsafe { libc::read(self.outer, self.keys.as_mut_ptr().cast(), self.keys.len()) };
        (self.keys_begin, self.keys_end) = (0, read.max(0).cast_unsigned());
        self.takes_keys &= read != 0; // hung up
        let keys = &self.keys[..self.keys_end];
        let Ok(modes) = modes(self.master) else { return };
        let is_signal =
            |key: usize| modes.c_lflag & libc::ISIG != 0 && modes.c_cc[key] != 0 && keys.contains(&modes.c_cc[key]);
        if is_signal(libc::VINTR) {
            // Ctrl-C ends the collection too, as it does for a program on the same terminal.
            // SAFETY: signals the process that made this one, which still holds its end of the pipe.
            unsafe { libc::kill(self.collector, libc::SIGINT) };
        }
        if is_signal(libc::VSUSP) {
            (self.keys_begin, self.keys_end) = (0, 0);
            self.suspend();
        }
    }

    fn write_keys(&mut self) {
        let rest = &self.keys[self.keys_begin..self.keys_end];
        // SAFETY: writes from the buffer, within its length.
        let written = unsafe { libc::write(self.master, rest.as_ptr().cast(), rest.len()) };
        self.keys_begin += written.max(0).cast_unsigned();
    }

    /// Takes one signal. Returns whether the relay goes on.
    fn take_signal(&mut self) -> bool {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        // SAFETY: the call fills the structure in where it returns its size.
        let signal = unsafe {
            let bytes = size_of::<libc::signalfd_siginfo>();
            if libc::read(self.signals, info.as_mut_ptr().cast(), bytes) != bytes.cast_signed() {
                return true;
            }
            info.assume_init().ssi_signo.cast_signed()
        };
        match signal {
            libc::SIGWINCH => copy_size(self.outer, self.master),
            libc::SIGTSTP => self.suspend(),
            libc::SIGHUP => return was_ignored(signal),
            // Dwell's group gets these from the terminal or from whoever ends the job; the program was of that group.
            // SAFETY: takes plain numbers.
            libc::SIGINT | libc::SIGQUIT => unsafe {
                libc::ioctl(self.master, TIOCSIG, c_ulong::from(signal.cast_unsigned()));
            },
            _ => self.signal_program(signal),
        }
        true
    }

    fn signal_program(&self, signal: c_int) {
        // SAFETY: takes plain numbers; only a group that is there is signalled, never all processes.
        unsafe {
            let group = libc::tcgetpgrp(self.master);
            if group > 1 {
                libc::kill(-group, signal);
            }
        }
    }

    /// Ctrl-Z: the program stops, and Dwell with the rest of its job, until the shell continues the job. The program leads a session,
    /// whose terminal cannot stop it.
    fn suspend(&mut self) {
        self.signal_program(libc::SIGSTOP);
        let is_job_told = self.before.is_none();
        self.restore();
        // SAFETY: plain signal calls with valid arguments.
        unsafe {
            if is_job_told {
                libc::raise(libc::SIGTSTP);
            } else {
                libc::kill(0, libc::SIGTSTP);
            }
            let mut stop = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(stop.as_mut_ptr());
            libc::sigaddset(stop.as_mut_ptr(), libc::SIGTSTP);
            libc::sigprocmask(libc::SIG_UNBLOCK, stop.as_ptr(), ptr::null_mut()); // stops here
            libc::sigprocmask(libc::SIG_BLOCK, stop.as_ptr(), ptr::null_mut());
        }
        self.signal_program(libc::SIGCONT);
    }

    fn is_foreground(&self) -> bool {
        // SAFETY: takes plain numbers.
        unsafe { libc::tcgetpgrp(self.outer) == libc::getpgrp() }
    }

    /// Keys reach the program's terminal as they are typed, which knows what they mean.
    fn pass_keys_unchanged(&mut self) {
        if self.before.is_some() {
            return;
        }
        let Ok(before) = modes(self.outer) else { return };
        let mut unchanged = before;
        // SAFETY: valid structures.
        unsafe {
            libc::cfmakeraw(&raw mut unchanged);
            unchanged.c_oflag = before.c_oflag; // Dwell writes there, too
            if libc::tcsetattr(self.outer, libc::TCSADRAIN, &raw const unchanged) == 0 {
                self.before = Some(before);
            }
        }
    }

    fn restore(&mut self) {
        if let Some(before) = self.before.take() {
            // SAFETY: a valid structure.
            unsafe { libc::tcsetattr(self.outer, libc::TCSADRAIN, &raw const before) };
        }
    }
}

fn poll_of(fd: RawFd, events: c_short) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

/// Closes all but these, which become the first ones: a pipe must not stay open because the relay inherited it.
unsafe fn keep_only(descriptors: [RawFd; 4]) -> Option<[RawFd; 4]> {
    // SAFETY: plain calls on numbers.
    unsafe {
        // Above all that is closed or overwritten first.
        let moved = descriptors.map(|one| libc::fcntl(one, libc::F_DUPFD_CLOEXEC, 100));
        if moved.iter().any(|&one| one < 0) {
            return None;
        }
        let mine = [0, 1, 2, 3];
        for (from, to) in moved.into_iter().zip(mine) {
            libc::dup2(from, to);
        }
        libc::syscall(libc::SYS_close_range, mine.len(), libc::c_uint::MAX, 0);
        Some(mine)
    }
}

/// The signals that the relay acts on, as a descriptor; negative when it cannot be made.
unsafe fn receive_signals() -> RawFd {
    const TAKEN: [c_int; 6] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP, libc::SIGWINCH];
    // SAFETY: plain signal calls with valid arguments.
    unsafe {
        let mut taken = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(taken.as_mut_ptr());
        for signal in TAKEN {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigaddset(taken.as_mut_ptr(), signal);
        }
        // A terminal that another job has taken in the meantime fails the call instead of stopping the relay.
        libc::signal(libc::SIGTTIN, libc::SIG_IGN);
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::sigprocmask(libc::SIG_SETMASK, taken.as_ptr(), ptr::null_mut());
        libc::signalfd(-1, taken.as_ptr(), libc::SFD_CLOEXEC)
    }
}
