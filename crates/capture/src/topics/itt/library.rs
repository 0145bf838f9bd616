//! The library that instrumented programs load: part of this binary, written to a file when it is needed.
//!
//! The file's name has a hash of its content: programs that still have an older one loaded are not disturbed, and children
//! find the same path. It is checked byte by byte before it is used.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use dwell_itt_wire::layout::{JIT_VARIABLE, LIBRARY_VARIABLE, State, VARIABLE};

/// The library, as build.rs made it.
static BYTES: &[u8] = include_bytes!(env!("DWELL_ITT_LIBRARY"));
/// A hash of it, hexadecimal.
const HASH: &str = env!("DWELL_ITT_HASH");

/// What the file's name begins with.
pub const NAME: &str = "libdwell_itt-";

/// Whether a file that a program mapped is one.
pub fn is_library(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(NAME.as_bytes()))
}

/// Whether the file is our library, of this or another version.
pub fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(NAME.as_bytes()))
}

/// The library in a file.
#[derive(Clone, Debug)]
pub struct Library {
    /// Where it is: an absolute path that every user can read.
    pub path: PathBuf,
}

impl Library {
    /// Finds the file, or writes it. Fails when no folder for it can be written and executed from.
    pub fn install() -> io::Result<Self> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "no folder for it");
        for folder in folders() {
            match install_in(&folder) {
                Ok(path) => return Ok(Self { path }),
                Err(error) => failure = io::Error::new(error.kind(), format!("{}: {error}", folder.display())),
            }
        }
        Err(failure)
    }

    /// The environment variable that makes a program load it.
    pub fn variable(&self) -> (&'static str, &Path) {
        (LIBRARY_VARIABLE, &self.path)
    }
}

/// Where the file may be: in the system's caches for root, since the program may run as anybody; else in the user's.
fn folders() -> Vec<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return vec!["/var/cache/dwell".into(), "/run/dwell".into()];
    }
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    [caches.or(home), runtime].into_iter().flatten().map(|folder| folder.join("dwell")).collect()
}

fn install_in(folder: &Path) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let denied = |why: &str| io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned());
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() || !is_own(&metadata) {
        return Err(denied("others may write in it"));
    }
    if rustix::fs::statvfs(folder)?.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC) {
        return Err(denied("mounted noexec"));
    }
    let path = folder.join(format!("{NAME}{HASH}.so"));
    if is_intact(&path) {
        return Ok(path);
    }
    let new = folder.join(format!(".{NAME}{HASH}.{}", std::process::id()));
    let written = write(&new).and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map(|()| path)
}

/// Whether nobody but us, or root, can have changed it.
fn is_own(metadata: &fs::Metadata) -> bool {
    let uid = rustix::process::geteuid().as_raw();
    (metadata.uid() == uid || metadata.uid() == 0) && metadata.mode() & 0o022 == 0
}

fn is_intact(path: &Path) -> bool {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return false };
    let is_ours = |metadata: &fs::Metadata| {
        metadata.is_file()
            && is_own(metadata)
            && metadata.mode() & 0o555 == 0o555
            && metadata.len() == BYTES.len() as u64
    };
    let mut content = Vec::with_capacity(BYTES.len());
    file.metadata().is_ok_and(|metadata| is_ours(&metadata))
        && Read::by_ref(&mut file).take(BYTES.len() as u64).read_to_end(&mut content).is_ok()
        && content == BYTES
}

fn write(path: &Path) -> io::Result<()> {
    let _ = fs::remove_file(path); // of a Dwell with our process id that was killed
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(BYTES)?;
    readable_by_all(&file)
}

/// Whatever the umask is.
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

/// The environment variables that make a program load `library` and write into `folder`, in this state from the beginning.
pub fn variables(library: &Path, folder: &Path, state: State) -> Vec<(&'static str, OsString)> {
    let path = library.as_os_str().to_owned();
    vec![
        (LIBRARY_VARIABLE, path.clone()),
        (JIT_VARIABLE, path),
        (VARIABLE, state.variable(&folder.to_string_lossy()).into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_written_once_and_again_when_it_was_changed() {
        let folder = tempfile::tempdir().expect("folder");
        let path = install_in(folder.path()).expect("installed");
        assert_eq!(fs::read(&path).expect("file"), BYTES);
        let first = fs::metadata(&path).expect("file").ino();
        assert_eq!(install_in(folder.path()).expect("again"), path);
        assert_eq!(fs::metadata(&path).expect("file").ino(), first);
        fs::write(&path, "other").expect("write");
        install_in(folder.path()).expect("restored");
        assert_eq!(fs::read(&path).expect("file"), BYTES);
        fs::remove_file(&path).and_then(|()| std::os::unix::fs::symlink("/etc/passwd", &path)).expect("link");
        install_in(folder.path()).expect("restored");
        assert!(fs::symlink_metadata(&path).expect("file").is_file());
    }

    #[test]
    fn a_folder_in_which_others_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("mode");
        assert!(install_in(folder.path()).is_err());
    }

    /// Where the linker left nothing that ends the program, no panic can be reached.
    #[test]
    fn it_cannot_panic_and_needs_the_c_library_alone() {
        let mentions = |name: &[u8]| BYTES.windows(name.len()).any(|bytes| bytes == name);
        assert!(mentions(b"\0libc.so.6\0") && mentions(b"\0pthread_mutex_lock\0"));
        assert!(!mentions(b"\0abort\0") && !mentions(b"\0libgcc_s.so.1\0"));
    }
}
