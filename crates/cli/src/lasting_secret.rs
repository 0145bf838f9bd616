//! The secret of a user's `dwell view`, from which the same address comes each time: a file that only the user can read, in a folder
//! that only the user can enter. What is there and is not so is not used, and not written to either.

use std::env;
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use dwell_server::Secret;
use dwell_store::Folder;
use rustix::fs::fstat;

use crate::owner::Invoker;

const FOLDER: &str = "dwell";
const FILE: &str = "view-secret";
/// Rights of anybody but the owner.
const OTHERS: u32 = 0o077;

/// The folder in which programs keep what is to stay, of the user of this process: of who called sudo, whose environment is not
/// here, below that user's home.
pub fn state_folder(invoker: Option<&Invoker>) -> Option<PathBuf> {
    let below = |home: PathBuf| home.join(".local/state");
    let named = |name: &str| env::var_os(name).map(PathBuf::from);
    let folder = match invoker {
        Some(invoker) => invoker.home().map(below),
        None => named("XDG_STATE_HOME").filter(|path| path.is_absolute()).or_else(|| named("HOME").map(below)),
    };
    folder.filter(|path| path.is_absolute())
}

/// The file in that folder.
pub fn place(state: &Path) -> PathBuf {
    state.join(FOLDER).join(FILE)
}

/// The secret in the folder `state`; a fresh one is put there where none is.
///
/// # Errors
///
/// There is none, and none can be made; or others could read or choose it.
pub fn of(state: &Path) -> io::Result<Secret> {
    let folder = own_folder(state)?;
    match read(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write(&folder, &Secret::new()?)?;
            read(&folder)
        }
        secret => secret,
    }
}

fn own_folder(state: &Path) -> io::Result<Folder> {
    DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let state = Folder::open(state)?;
    let own = match state.folder(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => state.make_folder(FOLDER, 0o700)?,
        folder => folder?,
    };
    demand_private(&own, "the folder")?;
    Ok(own)
}

fn read(folder: &Folder) -> io::Result<Secret> {
    let file = folder.read(FILE)?;
    demand_private(&file, "the file")?;
    let mut bytes = Vec::new();
    file.take(1 << 10).read_to_end(&mut bytes)?;
    Secret::of(&bytes).ok_or_else(|| io::Error::other(format!("the file has {} bytes", bytes.len())))
}

/// Whole or not at all: two servers may begin at once.
fn write(folder: &Folder, secret: &Secret) -> io::Result<()> {
    let partial = format!("{FILE}.{}", std::process::id());
    folder.remove(&partial)?;
    let write = |mut file: File| {
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(secret.bytes())?;
        file.sync_all()
    };
    folder.create_file(&partial).and_then(write).and_then(|()| folder.rename(&partial, FILE))
}

/// Of this process's user, and of no use to others.
fn demand_private(place: impl AsFd, what: &str) -> io::Result<()> {
    let metadata = File::from(place.as_fd().try_clone_to_owned()?).metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("{what} is another user's")));
    }
    if metadata.mode() & OTHERS != 0 {
        return Err(io::Error::other(format!(
            "others may use {what}: its mode is {:o}",
            fstat(place)?.st_mode & 0o7777
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn it_is_made_once_for_its_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join(".local/state");
        let first = of(&state).unwrap();
        assert_eq!(of(&state).unwrap().bytes(), first.bytes());
        assert_eq!(fs::read(place(&state)).unwrap(), first.bytes());
        assert_eq!((mode(&state.join(FOLDER)), mode(&place(&state))), (0o700, 0o600));
        fs::remove_file(place(&state)).unwrap();
        assert_ne!(of(&state).unwrap().bytes(), first.bytes(), "deleting it makes a new one");
        assert_eq!(fs::read_dir(state.join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn what_others_could_read_or_choose_is_not_used() {
        type Spoil = fn(&Path);
        let spoils: [(&str, Spoil); 8] = [
            ("the file has 31 bytes", |file| fs::write(file, [0; 31]).unwrap()),
            ("the file has 33 bytes", |file| fs::write(file, [0; 33]).unwrap()),
            ("others may use the file: its mode is 640", |file| {
                fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap();
            }),
            ("others may use the folder: its mode is 755", |file| {
                fs::set_permissions(file.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
            }),
            ("a link", |file| {
                fs::rename(file, file.with_extension("else")).unwrap();
                symlink("view-secret.else", file).unwrap();
            }),
            ("a folder", |file| {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            }),
            ("no folder is in its place", |file| {
                let folder = file.parent().unwrap();
                fs::rename(folder, folder.with_extension("else")).unwrap();
                symlink("dwell.else", folder).unwrap();
            }),
            ("another user's", |file| std::os::unix::fs::chown(file, Some(65_534), None).unwrap()),
        ];
        for (reason, spoil) in spoils {
            if reason.contains("another") && !rustix::process::geteuid().is_root() {
                continue;
            }
            let state = tempfile::tempdir().unwrap();
            of(state.path()).unwrap();
            spoil(&place(state.path()));
            let said = of(state.path()).unwrap_err().to_string();
            assert!(said.contains(reason), "{reason}: {said}");
        }
    }
}
