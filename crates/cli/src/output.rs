//! Where reports go: standard output, or a file that is written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Hinted, Result, status};
use crate::owner::Invoker;
use crate::reading::is_device;
use crate::terminal;

/// Written to a file at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes `text` to `path`, or to standard output.
pub fn write(text: &str, path: Option<&Path>) -> Result<()> {
    match path {
        Some(path) if path != Path::new("-") => to_file(path, |file| terminal::write_to(file, text)).map_err(|error| {
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

/// Streams what `fill` writes to `path`, or to standard output. What is `binary` goes to no terminal. An interrupt stops it, and
/// leaves no part of a file.
pub fn stream(path: Option<&Path>, binary: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let path = path.filter(|path| *path != Path::new("-"));
    let streamed = match path {
        None => terminal::stream(binary, fill),
        Some(path) => notice_interrupts(&stop)
            .and_then(|()| to_file(path, |file| buffered(Stoppable { file, stop: &stop }, fill))),
    };
    let Err(error) = streamed else { return Ok(()) };
    let name = path.map_or_else(|| "standard output".into(), |path| path.display().to_string());
    if stop.load(Ordering::Relaxed) {
        return Err(Hinted::new(format!("interrupted: {name} is not written")).with_status(status::INTERRUPTED));
    }
    Err(match error.kind() {
        io::ErrorKind::BrokenPipe if path.is_none() => return Ok(()),
        io::ErrorKind::Unsupported => Hinted::new(error).hint("-o FILE writes it to a file"),
        _ => Hinted::new(format!("cannot write {name}: {error}")).hint(match path {
            Some(_) if is_full(error.kind()) => "free some space, or name a file on another disk",
            Some(_) => "name a file in a folder that exists and can be written",
            None => "-o FILE writes elsewhere",
        }),
    })
}

/// Whether the disk is full.
pub fn is_full(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn buffered(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    fill(&mut out)?;
    out.flush()
}

/// Sets `stop` at the first of these signals; the second one ends the process.
pub fn notice_interrupts(stop: &Arc<AtomicBool>) -> io::Result<()> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().try_for_each(|signal| {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(stop)).map(drop)
    })
}

/// Fails once it is told to stop.
struct Stoppable<'f> {
    file: &'f mut File,
    stop: &'f AtomicBool,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::other("interrupted")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn to_file(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if is_device(path) {
        return fill(&mut OpenOptions::new().write(true).open(path)?);
    }
    let partial = partial_name(path)?;
    // Made anew: never through a link that somebody laid there.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&partial)?;
    let written = fill(&mut file).and_then(|()| keep(&file)).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The error that is reported is the one that mattered.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn keep(file: &File) -> io::Result<()> {
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
    fn what_fails_half_way_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let half = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            out.flush()?;
            Err(io::Error::other("no more"))
        };
        assert!(stream(Some(&folder.path().join("export")), false, half).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_interrupt_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let interrupted = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            out.flush()?;
            signal_hook::low_level::raise(SIGINT)?;
            out.write_all(&[0; 2 * BUFFER_BYTES])
        };
        let error = stream(Some(&folder.path().join("export")), true, interrupted).unwrap_err();
        assert!(error.to_string().starts_with("interrupted: ") && error.to_string().ends_with("export is not written"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(write("x", Some(Path::new("/no/such/folder/file"))).is_err());
    }
}
