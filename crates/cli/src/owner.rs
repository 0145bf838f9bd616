//! Whose the files are that Dwell writes: under sudo, the user's who called it.
//!
//! How a folder changes hands, and how root writes into one that is another's, is `dwell_files::Folder`'s to know.

use std::env;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use dwell_store::Folder;
use rustix::fs::{Gid, Uid, fchown};
use rustix::process::{getegid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The user on whose behalf root runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoker {
    /// Login name.
    pub name: String,
    uid: u32,
    gid: u32,
}

impl Invoker {
    /// The user who called sudo, when this is root and that user is not.
    pub fn of_sudo() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let number = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
        let name = env::var("SUDO_USER").ok().filter(|name| !name.is_empty())?;
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        (uid != 0).then_some(Self { name, uid, gid })
    }

    /// The owner of a folder that root works in, when that is another user: whoever wrote a result decides which files are read for it.
    ///
    /// # Errors
    ///
    /// The user's main group cannot be found out.
    pub fn of_folder(folder: &Folder) -> io::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let uid = rustix::fs::fstat(folder)?.st_uid;
        match Self::of_sudo().filter(|invoker| invoker.uid == uid) {
            None if uid == 0 => Ok(None),
            None => find_user(uid).map(Some),
            invoker => Ok(invoker),
        }
    }

    /// Makes this process the user's, for good. Only while it has one thread: the kernel changes no others.
    pub fn become_user(&self) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[gid])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }

    /// The same if `is_allowed` says, as the user, that the user may do what is to be done; else this process stays root's.
    pub fn become_user_if(&self, is_allowed: impl FnOnce() -> bool) -> io::Result<()> {
        let (user, root) = (Uid::from_raw(self.uid), Uid::ROOT);
        let (group, groups, own) = (Gid::from_raw(self.gid), getgroups()?, getegid());
        set_thread_groups(&[group])?;
        set_thread_res_gid(own, group, own)?;
        set_thread_res_uid(root, user, root)?;
        let is_allowed = is_allowed();
        set_thread_res_uid(root, root, root)?;
        if is_allowed {
            return self.become_user();
        }
        set_thread_res_gid(own, own, own)?;
        Ok(set_thread_groups(&groups)?)
    }

    /// The user as finalization asks for one.
    pub fn user(&self) -> dwell_resolve::User {
        dwell_resolve::User { uid: self.uid, gid: self.gid }
    }

    /// The user as a collection asks for one.
    pub fn result_owner(&self) -> dwell_capture::User {
        dwell_capture::User { name: self.name.clone(), uid: self.uid, gid: self.gid }
    }

    /// Gives an open file to the user.
    pub fn take_file(&self, file: &File) -> io::Result<()> {
        let (uid, gid) = self.ids();
        Ok(fchown(file, uid, gid)?)
    }

    /// Gives the folder and all in it to the user, when it is root's. What root makes in a folder of the user's is theirs at once.
    pub fn take_folder(&self, folder: &Folder) -> io::Result<()> {
        folder.give_away(self.uid, self.gid)
    }

    /// Where the user lives, by getent(1).
    pub fn home(&self) -> Option<PathBuf> {
        const HOME: usize = 5;
        entry_of(self.uid).ok()?.get(HOME).filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    fn ids(&self) -> (Option<Uid>, Option<Gid>) {
        (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))
    }
}

/// What the machine knows of the user with this number, as in passwd(5), by getent(1), which asks all that the machine asks for users.
fn entry_of(uid: u32) -> io::Result<Vec<String>> {
    let found = Command::new("getent").args(["passwd", &uid.to_string()]).output()?;
    Ok(String::from_utf8_lossy(&found.stdout).trim_end().split(':').map(str::to_owned).collect())
}

/// The user with this number. One that nobody knows has no group but that of nobody.
fn find_user(uid: u32) -> io::Result<Invoker> {
    const NO_GROUP: u32 = 65_534;
    let fields = entry_of(uid)?;
    let gid = fields.get(3).and_then(|gid| gid.parse().ok()).unwrap_or(NO_GROUP);
    let name = fields.first().filter(|name| !name.is_empty()).map_or_else(|| uid.to_string(), Clone::clone);
    Ok(Invoker { name, uid, gid })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::path::Path;

    use super::*;

    #[test]
    fn a_folder_changes_hands_and_links_are_not_followed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("r000th"), folder.path().join("outside"));
        fs::create_dir_all(inside.join("tables")).unwrap();
        fs::write(inside.join("tables/threads.parquet"), "x").unwrap();
        fs::write(&outside, "x").unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        let nobody = Invoker { name: "nobody".into(), uid: 65534, gid: 65534 };
        nobody.take_folder(&Folder::open(&inside).unwrap()).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        assert_eq!(owner(&inside), 65534);
        assert_eq!(owner(&inside.join("tables/threads.parquet")), 65534);
        assert_eq!(owner(&inside.join("link")), 65534);
        assert_eq!(owner(&outside), 0);
        // By now it is the user's, who may have put anything there.
        fs::write(inside.join("roots"), "x").unwrap();
        nobody.take_folder(&Folder::open(&inside).unwrap()).unwrap();
        assert_eq!(owner(&inside.join("roots")), 0);
    }
}
