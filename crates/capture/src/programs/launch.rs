//! Launching the program stopped: the child waits until recording has begun, then becomes the program.
#![allow(unsafe_code, reason = "fork and exec; only async-signal-safe calls between them")]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dwell_model::{Notice, notice};

use crate::error::{Error, Result};
use crate::options::Launch;
use crate::programs::signals;
use crate::programs::terminal::OwnTerminal;

/// The launched program. Dropping it before [`Child::release`] ends the child without running the program; where Dwell itself is
/// killed before, the program runs.
#[derive(Debug)]
pub struct Child {
    /// Its process id.
    pub pid: u32,
    /// The program that it will run.
    pub path: PathBuf,
    /// The user that it will run as.
    pub uid: u32,
    gate: Option<OwnedFd>,
    /// Where it runs as another user.
    _terminal: Option<OwnTerminal>,
    failure: OwnedFd,
    program: OsString,
    status: Option<i32>,
    /// Whether the program, or a thread of it, made Dwell its tracer.
    traced: bool,
}

struct Identity {
    uid: libc::uid_t,
    gid: libc::gid_t,
    name: CString,
    home: CString,
}

/// Forks a child that will run the program, with `variables` in its environment. Fails, without a child, when there is no
/// such program or user.
pub fn spawn(launch: &Launch, variables: &[(&str, OsString)]) -> Result<Child> {
    let program = launch.command.first().cloned().unwrap_or_default();
    let path = launch.path()?;
    let identity = launch.user.as_deref().map(find_user).transpose()?;
    let c_path = c_string(path.as_os_str());
    let arguments: Vec<CString> = launch.command.iter().map(|argument| c_string(argument)).collect();
    let environment = environment(identity.as_ref(), variables);
    let directory = launch.working_dir.as_ref().map(|path| c_string(path.as_os_str()));
    let (gate_reader, gate) = pipe()?;
    let (failure, failure_writer) = pipe()?;
    let arguments = pointers(&arguments);
    let environment = pointers(&environment);
    let other_user = identity.as_ref().filter(|identity| identity.uid != rustix::process::geteuid().as_raw());
    let mut terminal = other_user.map(|identity| OwnTerminal::open(identity.uid)).transpose()?.flatten();
    // SAFETY: the child calls only async-signal-safe functions on data prepared above, then exec or _exit.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(Error::last_os("fork"));
    }
    if pid == 0 {
        signals::restore_inherited();
        if dwell_rights::give_up_in_child().is_err() {
            // SAFETY: ends the child, which must not go on with capabilities.
            unsafe { libc::_exit(127) };
        }
        // SAFETY: as above; the descriptors and strings live in the child's copy of memory.
        unsafe {
            libc::close(gate.as_raw_fd());
            if !is_let_go(gate_reader.as_raw_fd())
                || terminal.as_ref().is_some_and(|terminal| terminal.enter().is_err())
            {
                libc::_exit(127);
            }
            let errno = become_program(&c_path, &arguments, &environment, directory.as_deref(), identity.as_ref());
            libc::write(failure_writer.as_raw_fd(), (&raw const errno).cast(), 4);
            libc::_exit(127);
        }
    }
    terminal.iter_mut().for_each(OwnTerminal::hand_over);
    let uid = identity.map_or_else(|| rustix::process::geteuid().as_raw(), |identity| identity.uid);
    let (gate, pid) = (Some(gate), pid as u32);
    Ok(Child { pid, path, uid, gate, _terminal: terminal, failure, program, status: None, traced: false })
}

/// How often it is looked whether the program has ended, when nothing is recorded any more.
const LOOK: Duration = Duration::from_millis(20);

/// What the parent writes to the gate.
const RUN: u8 = 1;
const DO_NOT_RUN: u8 = 0;

/// Waits at the gate. Returns whether the program is to run: also when the collector died before recording began, since who started
/// a job under Dwell wants it done. Async-signal-safe.
fn is_let_go(gate: RawFd) -> bool {
    let mut byte = RUN;
    loop {
        // SAFETY: reads at most one byte into a valid place.
        let read = unsafe { libc::read(gate, (&raw mut byte).cast(), 1) };
        if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return byte == RUN;
        }
    }
}

impl Child {
    /// Lets the child run the program. Fails when exec does.
    pub fn release(&mut self) -> Result<()> {
        if let Some(gate) = self.gate.take() {
            let opened = File::from(gate).write_all(&[RUN]);
            opened.map_err(|source| Error::System { what: "letting the program begin", source })?;
        }
        let mut errno = 0i32;
        // SAFETY: reads at most 4 bytes into `errno`. Our copy of the writing end is closed; exec closes the child's.
        let read = unsafe { libc::read(self.failure.as_raw_fd(), (&raw mut errno).cast(), 4) };
        if read == 4 {
            self.wait_blocking();
            let source = io::Error::from_raw_os_error(errno);
            return Err(Error::ProgramNotExecutable { program: self.program.clone(), source });
        }
        Ok(())
    }

    /// The exit status as a shell reports it, once the process has ended.
    pub fn exit_status(&mut self) -> Option<i32> {
        while self.status.is_none() {
            let mut status = 0;
            // SAFETY: waits, without blocking, for our own child into a valid place.
            let waited = unsafe { libc::waitpid(self.pid as i32, &raw mut status, libc::WNOHANG) };
            if waited == self.pid as i32 && libc::WIFSTOPPED(status) {
                self.traced = true;
                stop_tracing(waited, libc::WSTOPSIG(status));
            } else if waited == self.pid as i32 {
                self.status = Some(shell_status(status));
            } else if waited < 0 {
                self.status = Some(0); // somebody else reaped it
            } else {
                break;
            }
        }
        self.status
    }

    /// Waits for the program's end, or until `stop` is set. Returns its exit status as a shell reports it.
    pub fn wait(&mut self, stop: &AtomicBool) -> Option<i32> {
        while self.exit_status().is_none() && !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        self.status
    }

    /// What the reader of the result should know of the launch.
    pub fn notice(&self) -> Option<Notice> {
        self.traced.then(|| notice!(MADE_TRACER))
    }

    fn wait_blocking(&mut self) {
        // SAFETY: waits for our own child; a null status is allowed.
        unsafe { libc::waitpid(self.pid as i32, ptr::null_mut(), 0) };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            let _ = File::from(gate).write_all(&[DO_NOT_RUN]); // a child that is gone needs no telling
            self.wait_blocking();
        }
    }
}

fn shell_status(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

/// Lets go of process `pid`, which made its parent its tracer (PTRACE_TRACEME) and stopped at `signal`: it gets the signal and
/// runs on. Only a tracer is told of such stops without asking for them.
fn stop_tracing(pid: i32, signal: i32) {
    const NOWHERE: *const libc::c_void = ptr::null();
    // SAFETY: a plain structure of numbers, which the call fills in; the process stands still and is traced by this thread.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let known = libc::ptrace(libc::PTRACE_GETSIGINFO, pid, NOWHERE, &raw mut info) == 0;
        // exec sends this one to traced processes only, as if they had sent it (ptrace_event in include/linux/ptrace.h).
        let by_exec = known && signal == libc::SIGTRAP && info.si_code == libc::SI_USER && info.si_pid() == pid;
        let signal = if by_exec { 0 } else { signal };
        libc::ptrace(libc::PTRACE_DETACH, pid, NOWHERE, libc::c_long::from(signal));
    }
}

/// What only the child does: take the user's identity, go to the directory, exec. Returns the error number.
unsafe fn become_program(
    path: &CStr,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
    directory: Option<&CStr>,
    identity: Option<&Identity>,
) -> i32 {
    // SAFETY: all pointers come from live CStrings and null-terminated arrays of them.
    unsafe {
        if let Some(identity) = identity {
            let taken = libc::initgroups(identity.name.as_ptr(), identity.gid) == 0
                && libc::setgid(identity.gid) == 0
                && libc::setuid(identity.uid) == 0;
            if !taken {
                return *libc::__errno_location();
            }
        }
        if directory.is_some_and(|directory| libc::chdir(directory.as_ptr()) != 0) {
            return *libc::__errno_location();
        }
        libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr());
        *libc::__errno_location()
    }
}

impl Launch {
    /// The file of the program.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        find_program(self.command.first().map_or(OsStr::new(""), OsString::as_os_str), self.working_dir.as_deref())
    }
}

fn find_program(program: &OsStr, working_dir: Option<&Path>) -> Result<PathBuf> {
    let not_found = || Error::ProgramNotFound { program: program.to_owned() };
    if program.is_empty() {
        return Err(not_found());
    }
    let candidates: Vec<PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![working_dir.map_or_else(|| PathBuf::from(program), |directory| directory.join(program))]
    } else {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).map(|folder| folder.join(program)).collect()
    };
    let found = candidates.iter().filter_map(|path| Some((path, std::fs::metadata(path).ok()?)));
    let mut files = found.filter(|(_, metadata)| metadata.is_file()).peekable();
    if files.peek().is_none() {
        return Err(not_found());
    }
    let executable = files.find(|(_, metadata)| metadata.permissions().mode() & 0o111 != 0);
    let denied = || Error::ProgramNotExecutable {
        program: program.to_owned(),
        source: io::Error::from_raw_os_error(libc::EACCES),
    };
    let (path, _) = executable.ok_or_else(denied)?;
    std::path::absolute(path).map_err(|source| Error::System { what: "finding the program", source })
}

fn find_user(name: &str) -> Result<Identity> {
    let unknown = || Error::NoSuchUser { name: name.to_owned() };
    let c_name = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: getpwnam takes a C string and returns a record that stays valid until the next call; its fields are
    // copied at once. Only one thread of the collector calls it.
    unsafe {
        let record = libc::getpwnam(c_name.as_ptr());
        if record.is_null() {
            return Err(unknown());
        }
        let home = CStr::from_ptr((*record).pw_dir).to_owned();
        Ok(Identity { uid: (*record).pw_uid, gid: (*record).pw_gid, name: c_name, home })
    }
}

fn environment(identity: Option<&Identity>, variables: &[(&str, OsString)]) -> Vec<CString> {
    let pair = |key: &str, value: &[u8]| [key.as_bytes(), b"=", value].concat();
    let own = identity.map(|identity| {
        [("HOME", &identity.home), ("USER", &identity.name), ("LOGNAME", &identity.name)]
            .map(|(key, value)| (key, value.to_bytes()))
    });
    let added = variables.iter().map(|(key, value)| (*key, value.as_bytes()));
    let added: Vec<(&str, &[u8])> = own.into_iter().flatten().chain(added).collect();
    let kept = std::env::vars_os().filter(|(key, _)| !added.iter().any(|(name, _)| key == *name));
    let kept = kept.map(|(key, value)| [key.as_bytes(), b"=", value.as_bytes()].concat());
    let added = added.iter().map(|(key, value)| pair(key, value));
    kept.chain(added).filter_map(|pair| CString::new(pair).ok()).collect()
}

fn c_string(text: &OsStr) -> CString {
    let bytes = text.as_bytes().iter().copied().take_while(|&byte| byte != 0).collect::<Vec<u8>>();
    CString::new(bytes).unwrap_or_default()
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe().map_err(|source| Error::System { what: "pipe", source })?;
    Ok((reader.into(), writer.into()))
}

/// A descriptor that becomes readable when process `pid` ends; `None` on kernels before 5.3.
pub fn pidfd(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the call takes plain numbers; a non-negative result is a new descriptor of ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as i32))
    }
}
