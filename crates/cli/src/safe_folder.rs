//! Whether a program with capabilities may be put into a folder: nobody but root can put another one in its place later, and
//! what is there under its name is Dwell's.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat, fchmod, fgetxattr, fremovexattr, fstat, openat};
use rustix::io::Errno;

use crate::error::{Hinted, Result, quoted};

/// The attribute in which the kernel looks for the capabilities of a file.
pub const CAPABILITIES: &str = "security.capability";

/// The access list beyond the mode bits (acl(5)).
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Fails if someone other than root can change the folder of the program at `path`, or one above it.
pub fn check(folder: &OwnedFd, path: &Path) -> Result<()> {
    let failed = |error: Errno| cannot_look(path, &error.into());
    let program_in = fstat(folder).map_err(failed)?;
    let mut at = folder.try_clone().map_err(|error| cannot_look(path, &error))?;
    loop {
        let here = fstat(&at).map_err(failed)?;
        if can_be_changed(&here, same_file(&here, &program_in)) {
            return Err(changeable(&at, &here, path));
        }
        if list_lets_others_write(&at, same_file(&here, &program_in) || !is_sticky(&here)) {
            return Err(changeable_by_list(&at, path));
        }
        let above = openat(&at, "..", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        at = above.map_err(failed)?;
        if same_file(&here, &fstat(&at).map_err(failed)?) {
            return Ok(()); // the root
        }
    }
}

/// Fails if the file at `path`, in the folder, is there and neither an installed Dwell nor the running one.
pub fn check_present(folder: &OwnedFd, path: &Path) -> Result<()> {
    let failed = |error: Errno| cannot_look(path, &error.into());
    let Some(name) = path.file_name() else { return Err(foreign(path)) };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let there = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::LOOP) => return Err(foreign(path)),
        opened => opened.map_err(failed)?,
    };
    let running = openat(CWD, "/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let is_running = same_file(&fstat(&there).map_err(failed)?, &fstat(&running).map_err(failed)?);
    if is_running || has_capabilities(&there) { Ok(()) } else { Err(foreign(path)) }
}

/// Takes the capabilities and all permissions of an installed program away, for those who hold it open, too: removing or replacing
/// it only takes its name away.
pub fn revoke(program: &OwnedFd) -> io::Result<()> {
    match fremovexattr(program, CAPABILITIES) {
        Ok(()) | Err(Errno::NODATA) => Ok(fchmod(program, Mode::empty())?),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file gives capabilities: of those called `dwell`, only an installed one does.
pub fn has_capabilities(file: &OwnedFd) -> bool {
    let mut attribute = [0; 64];
    fgetxattr(file, CAPABILITIES, &mut attribute).is_ok_and(|length| length > 0)
}

/// The error for a program that is not Dwell's.
pub fn foreign(path: &Path) -> Hinted {
    let message = format!("{} has no capabilities: dwell install did not put it there", path.display());
    Hinted::new(message).hint(format!("sudo rm {}", quoted(path)))
}

fn cannot_look(path: &Path, error: &io::Error) -> Hinted {
    Hinted::new(format!("cannot look at {}: {error}", path.display()))
}

fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether someone other than root can put something in the place of what lies in this folder. In a sticky one, such as
/// /tmp, nobody but its owner can; the program itself must not lie in one.
fn can_be_changed(folder: &Stat, holds_program: bool) -> bool {
    let by_all = folder.st_mode & 0o002 != 0;
    let by_group = folder.st_mode & 0o020 != 0 && folder.st_gid != 0;
    folder.st_uid != 0 || ((by_all || by_group) && (holds_program || !is_sticky(folder)))
}

fn is_sticky(folder: &Stat) -> bool {
    folder.st_mode & 0o1000 != 0
}

/// Whether the folder's access list lets a user or group other than root's write. A list that cannot be read counts as one that does.
fn list_lets_others_write(folder: &OwnedFd, writers_can_replace: bool) -> bool {
    let mut list = vec![0; 64 << 10];
    match fgetxattr(folder, ACCESS_LIST, &mut list) {
        Ok(bytes) => writers_can_replace && names_a_writer(&list[..bytes]),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => false, // the mode bits say all
        Err(_) => true,
    }
}

/// Whether an access list names a user or group other than root that may write. `struct posix_acl_xattr_header` and
/// `posix_acl_xattr_entry` (linux/posix_acl_xattr.h): a version, then tag, permissions and id of each entry, little-endian.
fn names_a_writer(list: &[u8]) -> bool {
    const VERSION: &[u8] = &2u32.to_le_bytes();
    const USER: u16 = 0x02;
    const GROUP: u16 = 0x08;
    const MASK: u16 = 0x10;
    const WRITES: u16 = 2;
    let Some(entries) = list.strip_prefix(VERSION).filter(|entries| entries.len() % 8 == 0) else { return true };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
    let entries =
        entries.chunks_exact(8).map(|it| (number(&it[..2]) as u16, number(&it[2..4]) as u16, number(&it[4..])));
    let mask = entries.clone().find(|entry| entry.0 == MASK).map_or(u16::MAX, |entry| entry.1);
    entries.into_iter().any(|(tag, rights, id)| [USER, GROUP].contains(&tag) && id != 0 && rights & mask & WRITES != 0)
}

fn changeable_by_list(folder: &OwnedFd, path: &Path) -> Hinted {
    let name = name_of(folder, path);
    let message =
        format!("the access list of {} lets others than root change the folder of {}", name.display(), path.display());
    Hinted::new(message).hint(format!("sudo setfacl -b {}, or --prefix of another folder", quoted(&name)))
}

fn name_of(folder: &OwnedFd, path: &Path) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).unwrap_or_else(|_| path.to_owned())
}

fn changeable(folder: &OwnedFd, is: &Stat, path: &Path) -> Hinted {
    let name = name_of(folder, path);
    let message = format!("someone other than root can change the folder of {}: {}", path.display(), name.display());
    let mend = if is.st_uid == 0 { "sudo chmod go-w" } else { "sudo chown root" };
    Hinted::new(message).hint(format!("{mend} {}, or --prefix of another folder", quoted(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |&(tag, rights, id): &(u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes()[..], &id.to_le_bytes()[..]].concat()
        };
        [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
    }

    #[test]
    fn an_access_list_names_a_writer_other_than_root() {
        const ANY: u32 = u32::MAX;
        let usual = [(1, 7, ANY), (4, 5, ANY), (0x10, 7, ANY), (0x20, 5, ANY)];
        let with = |entry: (u16, u16, u32)| names_a_writer(&list(&[&usual[..], &[entry]].concat()));
        assert!(!names_a_writer(&list(&usual)));
        assert!(with((2, 7, 1000)) && with((8, 2, 50)));
        assert!(!with((2, 5, 1000)) && !with((2, 7, 0)) && !with((8, 7, 0)));
        assert!(!names_a_writer(&list(&[(2, 7, 1000), (0x10, 5, ANY)])), "the mask takes it away");
        assert!(names_a_writer(b"?") && names_a_writer(&list(&usual)[..9]), "what is not understood");
    }
}
