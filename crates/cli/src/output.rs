//! Where reports go: standard output, or a file that is written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Hinted, Result};
use crate::owner::Invoker;
use crate::reading::is_device;
use crate::terminal;

/// Writes `text` to `path`, or to standard output.
pub fn write(text: &str, path: Option<&Path>) -> Result<()> {
    match path {
        Some(path) if path != Path::new("-") => to_file(text, path).map_err(|error| {
            Hinted::new(format!("cannot write {}: {error}", path.display()))
                .hint("name a file in a folder that exists and can be written")
        }),
        _ => print(text),
    }
}

/// Writes to standard output. A reader that has gone (`| head`) is no failure.
pub fn print(text: &str) -> Result<()> {
    match terminal::print(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Hinted::new(format!("cannot write to standard output: {error}")).hint("--output FILE writes elsewhere"))
        }
        _ => Ok(()),
    }
}

fn to_file(text: &str, path: &Path) -> io::Result<()> {
    if is_device(path) {
        return terminal::write_to(&mut OpenOptions::new().write(true).open(path)?, text);
    }
    let partial = partial_name(path)?;
    // Made anew: never through a link that somebody laid there.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&partial)?;
    let written = fill(&mut file, text).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The error that is reported is the one that mattered.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn fill(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(invoker) = Invoker::of_sudo() {
        invoker.take_file(file)?;
    }
    file.sync_all()
}

fn partial_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this names no file"))?;
    Ok(path.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write("report", Some(&link)).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&link).unwrap(), "report");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left behind");
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(write("x", Some(Path::new("/no/such/folder/file"))).is_err());
    }
}
