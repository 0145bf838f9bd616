//! Whether a program with capabilities may be put into a folder: nobody but root can put another one in its place later, and
//! what is there under its name is Dwell's.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, fgetxattr, fstat, openat};
use rustix::io::Errno;

use crate::error::{Hinted, Result, quoted};

/// The attribute in which the kernel looks for the capabilities of a file.
pub const CAPABILITIES: &str = "security.capability";

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
    let is_sticky = folder.st_mode & 0o1000 != 0 && !holds_program;
    folder.st_uid != 0 || ((by_all || by_group) && !is_sticky)
}

fn changeable(folder: &OwnedFd, is: &Stat, path: &Path) -> Hinted {
    let name = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).unwrap_or_else(|_| path.to_owned());
    let message = format!("someone other than root can change the folder of {}: {}", path.display(), name.display());
    let mend = if is.st_uid == 0 { "sudo chmod go-w" } else { "sudo chown root" };
    Hinted::new(message).hint(format!("{mend} {}, or --prefix of another folder", quoted(&name)))
}
