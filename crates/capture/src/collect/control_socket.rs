//! The socket in a result's folder over which its collection is steered. Only the result's owner and root may.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use dwell_store::{
    CONTROL_SOCKET, ControlReply, ControlRequest, Folder, MOST_LINE_BYTES, ResultFolder, control_line,
    parse_control_line,
};
use rustix::fs::{AtFlags, Mode, chmodat, unlinkat};
use rustix::net::sockopt::socket_peercred;

use crate::options::{Options, User};

/// Who asks has sent its line by then, or is not waited for.
const PATIENCE: Duration = Duration::from_millis(100);
/// Askers that are answered in a round.
const AT_ONCE: usize = 8;

/// The socket.
pub(super) struct ControlSocket {
    listener: UnixListener,
    folder: ResultFolder,
    owner: Option<User>,
}

impl ControlSocket {
    /// Opens the socket. A file system that has none, or a folder whose path leads elsewhere, is no reason not to record.
    pub(super) fn open(folder: &ResultFolder, options: &Options) -> io::Result<Self> {
        let held = folder.held();
        let _ = unlinkat(held, CONTROL_SOCKET, AtFlags::empty());
        let listener = UnixListener::bind(path_in(held))?;
        // By who connects it is decided who may; the mode lets the owner of the result connect who did not make it.
        chmodat(held, CONTROL_SOCKET, Mode::from_raw_mode(0o666), AtFlags::empty())?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, folder: folder.clone(), owner: options.result_owner.clone() })
    }

    /// Readable when somebody asks.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Those who ask now, with what they ask; others are refused.
    pub(super) fn askers(&self) -> Vec<(UnixStream, ControlRequest)> {
        let accepted = std::iter::from_fn(|| self.listener.accept().ok()).take(AT_ONCE);
        accepted.filter_map(|(stream, _)| self.read_request(stream)).collect()
    }

    fn read_request(&self, stream: UnixStream) -> Option<(UnixStream, ControlRequest)> {
        let user = socket_peercred(&stream).ok()?.uid.as_raw();
        let own = rustix::process::geteuid().as_raw();
        let is_allowed = user == 0 || user == own || self.owner.as_ref().is_some_and(|owner| owner.uid == user);
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        if !is_allowed {
            answer(&stream, &ControlReply::Refused("only the result's owner and root may steer its collection".into()));
            return None;
        }
        let mut line = String::new();
        let mut reader = BufReader::new(&stream).take(MOST_LINE_BYTES as u64);
        reader.read_line(&mut line).ok()?;
        match parse_control_line(&line) {
            Some(request) => Some((stream, request)),
            None => {
                answer(&stream, &ControlReply::Refused("this collector does not know what was asked".into()));
                None
            }
        }
    }
}

/// Once the collection is over, nobody listens.
impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = unlinkat(self.folder.held(), CONTROL_SOCKET, AtFlags::empty());
    }
}

/// The path of the socket by way of the held folder: short, and whatever its own path leads to by now.
fn path_in(folder: &Folder) -> String {
    format!("/proc/self/fd/{}/{CONTROL_SOCKET}", folder.as_fd().as_raw_fd())
}

/// Answers who asked.
pub(super) fn answer(mut stream: &UnixStream, reply: &ControlReply) {
    // Who does not read the answer has been told.
    let _ = stream.write_all(control_line(reply).as_bytes());
}
