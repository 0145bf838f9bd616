//! Opens files once more as the user to whom the result will belong. The collector opens files of the profiled program as root, and
//! the copies become the user's: only what the kernel lets that user read may be copied. A program may be executed, and so recorded,
//! without being readable.
#![allow(unsafe_code, reason = "the groups of a user; the descriptors of this process")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::fs::Gid;
use rustix::process::Uid;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::options::User;

/// Groups that a user may be in, as the kernel has it (NGROUPS_MAX).
const MOST_GROUPS: usize = 65_536;

type Reply = Sender<io::Result<File>>;

/// A thread with the user's rights that opens what others have open.
pub struct FileReopener(Sender<(File, Reply)>);

impl FileReopener {
    /// Starts the thread, which becomes `user`, or keeps no capability where this process is the user's own. Call it while this
    /// process may still change users.
    pub fn start(user: Option<User>) -> io::Result<Self> {
        let (files, inbox) = channel();
        let (ready, settled) = channel();
        let work = move || {
            let settling = user.map_or_else(|| dwell_rights::keep(&[]), |user| become_user(&user));
            let is_settled = settling.is_ok();
            let _ = ready.send(settling); // who waits for it is there, or has given up
            if is_settled {
                reopen_all(&inbox);
            }
        };
        thread::Builder::new().name("reopening".into()).spawn(work)?;
        settled.recv().map_err(io::Error::other)??;
        Ok(Self(files))
    }

    /// The same file, as the user opens it.
    ///
    /// # Errors
    ///
    /// Those of open(2): `PermissionDenied` where the user may not read it.
    pub fn reopen(&self, file: File) -> io::Result<File> {
        let (reply, answer) = channel();
        self.0.send((file, reply)).map_err(io::Error::other)?;
        answer.recv().map_err(io::Error::other)?
    }
}

fn reopen_all(inbox: &Receiver<(File, Reply)>) {
    for (file, reply) in inbox {
        let _ = reply.send(dwell_files::reopen(&file)); // who waits for it is there, or has given up
    }
}

/// Makes this thread the user's, without capabilities; the other threads stay as they are.
fn become_user(user: &User) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&groups_of(user))?;
    set_thread_res_gid(gid, gid, gid)?;
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

/// The user's groups; the main one alone where the system does not know the user.
fn groups_of(user: &User) -> Vec<Gid> {
    let mut groups = vec![0; MOST_GROUPS];
    let mut count = MOST_GROUPS as libc::c_int;
    let name = CString::new(user.name.as_bytes()).unwrap_or_default();
    // SAFETY: a C string, and an array of `count` numbers.
    let found = unsafe { libc::getgrouplist(name.as_ptr(), user.gid, groups.as_mut_ptr(), &raw mut count) };
    groups.truncate(if found < 0 { 0 } else { count.max(0).cast_unsigned() as usize });
    if groups.is_empty() {
        groups.push(user.gid);
    }
    groups.into_iter().map(Gid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_user_may_only_execute_is_not_opened_for_them() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().expect("folder");
        let nobody = User { name: "nobody".into(), uid: 65534, gid: 65534 };
        let reopening = FileReopener::start(Some(nobody)).expect("started");
        let mut opens = |mode: u32| {
            let path = folder.path().join(format!("{mode:o}"));
            std::fs::write(&path, "x").expect("file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("mode");
            reopening.reopen(File::open(path).expect("opened")).is_ok()
        };
        assert_eq!([0o755, 0o644, 0o711, 0o600].map(&mut opens), [true, true, false, false]);
        assert!(
            FileReopener::start(None).expect("started").reopen(File::open("/proc/self/exe").expect("opened")).is_ok()
        );
    }
}
