//! `dwell install` and `dwell uninstall`: puts this program where the members of a group can run it, with the capabilities that
//! recording takes, and takes it away again.
//!
//! The file is made complete under another name that only root may read, and takes its place in one step: nobody else can
//! ever execute it with capabilities, and no link in the folder is followed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use dwell_rights::{RIGHTS, file_attribute};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, StatVfsMountFlags, Uid, XattrFlags, fchmod, fchown, fsetxattr, fstatvfs, mkdirat,
    openat, renameat, unlinkat,
};
use rustix::io::Errno;

use crate::args::{InstallArgs, UninstallArgs};
use crate::error::{Hinted, Result, quoted, under_sudo};
use crate::safe_folder::{self, CAPABILITIES, foreign, has_capabilities};
use crate::{output, trust};

/// What the program is called.
const NAME: &str = "dwell";
/// Root may change the program, the group may run it, others nothing.
const MODE: u32 = 0o750;
/// Everybody may run it: how a package brings it.
const OPEN_MODE: u32 = 0o755;

/// Where the program is, or goes to.
struct InstallPlace {
    folder: OwnedFd,
    path: PathBuf,
}

/// Who may run the program, and whether it has capabilities then.
struct Access {
    group: Gid,
    mode: u32,
    capable: bool,
}

/// Puts the program in place, and says whom that trusts with what.
pub fn install(args: &InstallArgs) -> Result<ExitCode> {
    needs_root()?;
    let group = group(&args.group)?;
    let place = if args.in_place { InstallPlace::of_this_program()? } else { InstallPlace::below(&args.prefix)? };
    place.check()?;
    place.put(&Access { group, mode: MODE, capable: true })?;
    if args.all_users {
        trust::allow_all_users()?;
    }
    let undo = if args.in_place { "uninstall --in-place" } else { "uninstall" };
    output::print(&said(&place.path, (&args.group, group), undo))?;
    Ok(ExitCode::SUCCESS)
}

/// Takes away what [`install`] put there. The group stays, since it may have been there before.
pub fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    needs_root()?;
    let mut text = if args.in_place { open_to_all()? } else { remove_if_there(&program_below(&args.prefix))? };
    if trust::forget_all_users()? {
        text.push_str(&format!("Removed {}.\n", trust::FILE));
    }
    text.push_str("The group stays; sudo groupdel GROUP removes it.\n");
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn open_to_all() -> Result<String> {
    let place = InstallPlace::of_this_program()?;
    place.put(&Access { group: Gid::ROOT, mode: OPEN_MODE, capable: false })?;
    Ok(format!("{} has no capabilities; everybody may run it.\n", place.path.display()))
}

fn remove_if_there(path: &Path) -> Result<String> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(format!("{} is not there.\n", path.display())),
        Err(error) => Err(Hinted::new(format!("cannot look at {}: {error}", path.display()))),
        Ok(_) => remove(path),
    }
}

fn needs_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Hinted::new("only root can give a program capabilities").hint(under_sudo()))
}

fn program_below(prefix: &Path) -> PathBuf {
    prefix.join("bin").join(NAME)
}

/// The number of the group `name`, which is made if it is not there.
fn group(name: &str) -> Result<Gid> {
    if let Some(group) = find_group(name)? {
        return Ok(group);
    }
    let failed = |why: String| {
        Hinted::new(format!("cannot make the group {name}: {why}")).hint("--group takes an existing group")
    };
    let made = Command::new("groupadd").args(["--system", "--", name]).output();
    let made = made.map_err(|error| failed(format!("groupadd: {error}")))?;
    if !made.status.success() {
        return Err(failed(String::from_utf8_lossy(&made.stderr).trim().to_owned()));
    }
    find_group(name)?.ok_or_else(|| failed("groupadd made it elsewhere".into()))
}

/// From getent(1), which asks all that the machine asks for groups.
fn find_group(name: &str) -> Result<Option<Gid>> {
    let hint = "getent is part of libc-bin";
    let found = Command::new("getent").args(["group", "--", name]).output();
    let found = found.map_err(|error| Hinted::new(format!("cannot look for the group {name}: {error}")).hint(hint))?;
    let line = String::from_utf8_lossy(&found.stdout);
    Ok(line.split(':').nth(2).and_then(|number| number.parse().ok()).map(Gid::from_raw))
}

const PROGRAM: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl InstallPlace {
    /// `bin/dwell` below `prefix`; makes `bin`.
    fn below(prefix: &Path) -> Result<Self> {
        let path = program_below(prefix);
        let failed = |error| cannot_open(&prefix.join("bin"), error);
        let prefix = openat(CWD, prefix, FOLDER, Mode::empty()).map_err(failed)?;
        let made = mkdirat(&prefix, "bin", Mode::from_raw_mode(0o755));
        if let Err(error) = made
            && error != Errno::EXIST
        {
            return Err(failed(error));
        }
        let folder = openat(&prefix, "bin", FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(failed)?;
        if made.is_ok() {
            fchmod(&folder, Mode::from_raw_mode(OPEN_MODE)).map_err(failed)?; // whatever the umask
        }
        Ok(Self { folder, path })
    }

    /// Where this program's own file lies.
    fn of_this_program() -> Result<Self> {
        let failed = |error: io::Error| Hinted::new(format!("cannot find the file of this program: {error}"));
        let path = std::env::current_exe().map_err(failed)?;
        let folder = path.parent().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let opened = openat(CWD, folder, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        Ok(Self { folder: opened.map_err(|error| cannot_open(folder, error))?, path })
    }

    /// In a folder that others may change, they could put another program in its place.
    fn check(&self) -> Result<()> {
        let path = self.path.display();
        let failed = |error: io::Error| Hinted::new(format!("cannot look at {path}: {error}"));
        safe_folder::check(&self.folder, &self.path)?;
        safe_folder::check_present(&self.folder, &self.path)?;
        let mount = fstatvfs(&self.folder).map_err(|error| failed(error.into()))?;
        if mount.f_flag.contains(StatVfsMountFlags::NOSUID) {
            let message = format!("the file system of {path} is mounted nosuid: capabilities have no effect there");
            return Err(Hinted::new(message).hint("--prefix of another file system; findmnt lists them"));
        }
        Ok(())
    }

    /// Writes this program under another name and renames it.
    fn put(&self, access: &Access) -> Result<()> {
        let temporary = format!(".{NAME}.{}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = self.path.file_name().unwrap_or(NAME.as_ref());
        let written = || -> io::Result<()> {
            let mut file: File = openat(&self.folder, &temporary, flags, Mode::from_raw_mode(0o600))?.into();
            let done = fill(&mut file, access)
                .and_then(|()| self.revoke_present(name))
                .and_then(|()| Ok(renameat(&self.folder, &temporary, &self.folder, name)?));
            if done.is_err() {
                // The first failure is what the user is told.
                let _ = unlinkat(&self.folder, &temporary, AtFlags::empty());
            }
            done
        };
        written().map_err(|error| explain(&error, &self.path))
    }

    /// Whoever holds the program that is replaced keeps no right by it.
    fn revoke_present(&self, name: &OsStr) -> io::Result<()> {
        match openat(&self.folder, name, PROGRAM, Mode::empty()) {
            Ok(present) if has_capabilities(&present) => safe_folder::revoke(&present),
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn cannot_open(folder: &Path, error: Errno) -> Hinted {
    Hinted::new(format!("cannot open {}: {error}", folder.display())).hint(format!("mkdir -p {}", quoted(folder)))
}

/// In this order: a change of owner takes the capabilities away, and they come last.
fn fill(file: &mut File, access: &Access) -> io::Result<()> {
    io::copy(&mut File::open("/proc/self/exe")?, file)?;
    fchown(file.as_fd(), Some(Uid::ROOT), Some(access.group))?;
    fchmod(file.as_fd(), Mode::from_raw_mode(access.mode))?;
    if access.capable {
        fsetxattr(file.as_fd(), CAPABILITIES, &file_attribute(), XattrFlags::empty())?;
    }
    file.sync_all()
}

fn explain(error: &io::Error, path: &Path) -> Hinted {
    let hinted = Hinted::new(format!("cannot install {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::Unsupported => Hinted::new(format!(
            "the file system of {} keeps no capabilities of files (security.capability)",
            path.display()
        ))
        .hint("--prefix of another file system, such as ext4, xfs or btrfs; findmnt lists them"),
        io::ErrorKind::PermissionDenied => {
            hinted.hint("it takes CAP_SETFCAP and CAP_CHOWN: in a container, install outside")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull => {
            hinted.hint("--prefix of another file system")
        }
        _ => hinted.hint("ls -ld shows the folder, df -h its room"),
    }
}

/// Removes the program if it is one that was installed.
fn remove(path: &Path) -> Result<String> {
    let failed = |error: io::Error| Hinted::new(format!("cannot remove {}: {error}", path.display()));
    let file = openat(CWD, path, PROGRAM, Mode::empty()).map_err(|error| failed(error.into()))?;
    if !has_capabilities(&file) {
        return Err(foreign(path));
    }
    safe_folder::revoke(&file).map_err(failed)?;
    fs::remove_file(path).map_err(failed)?;
    Ok(format!("Removed {}.\n", path.display()))
}

/// Whom this trusts, with what, and the command that undoes it.
fn said(path: &Path, (group, number): (&str, Gid), undo: &str) -> String {
    let rights: String = RIGHTS.iter().map(|right| format!("  {:20} {}\n", right.name, right.gives)).collect();
    let whose = if trust::all_users() {
        format!(
            "{} allows them to record the programs of all users, root's too: whoever is in the\n\
             group can learn what every process does and read the files that it has mapped.\n",
            trust::FILE
        )
    } else {
        "They can record their own programs, not those of other users (--all-users allows it).\n".to_owned()
    };
    format!(
        "{path} is in place, for root and the group {group}.\n\n\
         Members of {group} ({members}) can now record without sudo. This trusts them with a program\n\
         that holds these capabilities, some of them as long as it records, and gives none to what\n\
         it runs:\n\
         {rights}\
         {whose}\
         Beyond their own programs they learn when other users' threads delay theirs, by name, and\n\
         at which addresses the kernel's code lies: kptr_restrict and KASLR hide nothing from them.\n\
         An error in Dwell or in the kernel's BPF could give them more: add only whom you would\n\
         let record as root.\n\n\
         {without}\
         sudo usermod -aG {group} USER   # then USER logs in again\n\
         sudo {path} {undo}   # undoes this\n",
        path = path.display(),
        members = members(number, group),
        without = dwell_capture::level_for_root().map(without_perf_events).unwrap_or_default(),
    )
}

/// What members lack where the kernel keeps perf events to root.
fn without_perf_events(level: i32) -> String {
    format!(
        "kernel.perf_event_paranoid is {level}: if this is a kernel of Debian or Ubuntu, only root may use perf\n\
         events, and members' results have waits, with names, but no CPU samples. This changes it:\n\
         echo kernel.perf_event_paranoid=2 | sudo tee /etc/sysctl.d/60-dwell.conf; sudo sysctl --system\n\n"
    )
}

fn members(number: Gid, group: &str) -> String {
    let found = Command::new("getent").args(["group", &number.as_raw().to_string()]).output();
    let line = found.map(|found| String::from_utf8_lossy(&found.stdout).trim().to_owned()).unwrap_or_default();
    let listed = line.rsplit(':').next().unwrap_or_default().replace(',', ", ");
    if listed.is_empty() { format!("nobody yet; `getent group {group}` lists them") } else { listed }
}
