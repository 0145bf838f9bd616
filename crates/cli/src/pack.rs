//! `dwell pack` and `dwell unpack`: a result as one file, and back.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_store::{PackFailure, PrivatePart, ResultFolder};

use crate::args::{PackArgs, UnpackArgs};
use crate::error::{Hinted, Result, quoted, status};
use crate::owner::Invoker;
use crate::reading::{self, Reading};
use crate::report::newest_result;
use crate::text::units;
use crate::{output, terminal};

/// How the name of a packed result ends.
pub const ENDING: &str = "dwell";

/// Packs the result that the command line names.
pub fn pack(args: &PackArgs) -> Result<ExitCode> {
    let result = args.result.clone().map_or_else(|| newest_result("dwell pack FOLDER"), Ok)?;
    let target = target(args, &result);
    let folder = reading::open(&result, target.as_deref())?;
    if let Some(file) = target.as_deref().filter(|file| !args.force && is_there(file)) {
        let error = Hinted::new(format!("{} already exists", file.display()));
        return Err(error.hint("--force replaces it; -o FILE names another one"));
    }
    let left_out: BTreeSet<PrivatePart> = args.leave_out.iter().map(|&part| part.into()).collect();
    let mut unread = None;
    let written = output::stream(target.as_deref(), true, |out| match dwell_store::pack(&folder, &left_out, out) {
        Ok(()) => Ok(()),
        Err(PackFailure::Output(error)) => Err(error),
        Err(PackFailure::Result(error)) => {
            unread = Some(error);
            Err(io::Error::other("the result cannot be read"))
        }
    });
    match unread {
        Some(error) => return Err(error.into()),
        None => written?,
    }
    if let Some(file) = &target {
        let bytes = fs::metadata(file).map_or(0, |file| file.len());
        terminal::print_line(format_args!("dwell: packed {}: {}", file.display(), units::bytes(bytes)));
        terminal::print_line(format_args!("dwell: next: dwell view {}", quoted(file)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file to be written; none: standard output.
fn target(args: &PackArgs, result: &Path) -> Option<PathBuf> {
    let file = args.output.clone().unwrap_or_else(|| {
        let whole = fs::canonicalize(result); // `.` and `..` have no name
        let name = whole.as_deref().unwrap_or(result).file_name().unwrap_or("result".as_ref());
        let mut name = name.to_owned();
        name.push(format!(".{ENDING}"));
        name.into()
    });
    (file != Path::new("-")).then_some(file)
}

fn is_there(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok() && !reading::is_device(file)
}

/// Unpacks the file that the command line names.
pub fn unpack(args: &UnpackArgs) -> Result<ExitCode> {
    let target = folder(args);
    Reading::of([&*args.file])?.writing_below(&target).confine()?;
    let stop = Arc::new(AtomicBool::new(false));
    output::notice_interrupts(&stop).map_err(|error| Hinted::new(format!("cannot handle signals: {error}")))?;
    let result = unpacked(&args.file, &target, &stop).map_err(|error| match stop.load(Ordering::Relaxed) {
        true => Hinted::new(format!("interrupted: {} is not made", target.display())).with_status(status::INTERRUPTED),
        false => error,
    })?;
    if let Some(invoker) = Invoker::of_sudo() {
        let given = invoker.take_folder(result.held());
        given.map_err(|error| Hinted::new(format!("cannot give {} to {}: {error}", target.display(), invoker.name)))?;
    }
    if !args.quiet {
        let path = quoted(&target);
        terminal::print_line(format_args!("dwell: result {}; next: dwell report summary {path}", target.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the result is made: in a folder of results that is there, or at a path where nothing is yet.
fn folder(args: &UnpackArgs) -> PathBuf {
    let name = name_of(&args.file);
    match &args.folder {
        None => name,
        Some(folder) if folder.is_dir() && !folder.join("manifest.json").exists() => folder.join(name),
        Some(folder) => folder.clone(),
    }
}

/// What the result of a packed file is called.
pub fn name_of(file: &Path) -> PathBuf {
    let is_usual = file.extension().is_some_and(|ending| ending == ENDING);
    let name = if is_usual { file.file_stem() } else { file.file_name() };
    let mut name = name.unwrap_or("result".as_ref()).to_owned();
    if !is_usual {
        name.push("-unpacked"); // at the file's own name is the file
    }
    name.into()
}

fn unpacked(file: &Path, target: &Path, stop: &AtomicBool) -> Result<ResultFolder> {
    let opened = dwell_files::open_regular(file).and_then(|opened| Ok((opened.metadata()?.len(), opened)));
    let (bytes, opened) = opened.map_err(|error| {
        let error = Hinted::new(format!("cannot read {}: {error}", file.display()));
        error.hint("name a file that dwell pack made")
    })?;
    dwell_store::unpack(StoppableFile { file: opened, stop }, bytes, file, target).map_err(|error| hinted(error, file))
}

fn hinted(error: dwell_store::Error, file: &Path) -> Hinted {
    let elsewhere = format!("dwell unpack {} FOLDER unpacks it elsewhere", quoted(file));
    match &error {
        dwell_store::Error::Exists { .. } => Hinted::new(error).hint(elsewhere),
        dwell_store::Error::Io { source, .. } if output::is_full(source.kind()) => {
            let hint = format!("free some space; {elsewhere}, and TMPDIR=FOLDER says where a report does");
            Hinted::new(error).hint(hint)
        }
        _ => error.into(),
    }
}

/// Fails once it is told to stop.
struct StoppableFile<'s> {
    file: File,
    stop: &'s AtomicBool,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::other("interrupted")),
            false => self.file.read(buffer),
        }
    }
}
