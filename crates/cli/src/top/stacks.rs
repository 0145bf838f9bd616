//! The stacks of threads as they stand now, with names: in a process of its own, since reading the files of programs takes time,
//! and is done without rights.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dwell_capture::{StandingFrame, StandingStack, standing_stacks};
use dwell_files::open_regular_of;
use dwell_resolve::CodeNames;

use crate::collect::explain;
use crate::error::Result;
use crate::output;
use crate::reading::Reading;

/// Frames of one stack that are printed.
const MOST_FRAMES: usize = 64;

/// The files of the stacks' code, held open: a confined process reaches no files by way of another process's root folder.
type HeldFiles = HashMap<(u32, PathBuf), File>;

/// Prints the stacks of threads, each `PID:TID`.
pub fn run(threads: &[(u32, u32)]) -> Result<ExitCode> {
    let stacks = standing_stacks(threads).map_err(|error| explain(error, None))?;
    let mut files = HeldFiles::new();
    for (&(pid, _), stack) in threads.iter().zip(&stacks) {
        for file in stack.user.iter().flatten().filter_map(|frame| frame.file.clone()) {
            if let Ok(open) = open_regular_of(pid, &file) {
                files.insert((pid, file), open);
            }
        }
    }
    Reading::default().without_index().confine_as_is()?;
    let mut names = CodeNames::default();
    let mut name = |pid: u32, frame: &StandingFrame| {
        let file = files.get(&(pid, frame.file.clone()?))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        names.names(Path::new(&path), &[frame.offset]).pop().flatten()
    };
    let texts = threads.iter().zip(&stacks).map(|(&(pid, tid), stack)| text(pid, tid, stack, &mut name));
    output::print(&texts.collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// One of them: `12:34`.
pub fn parse(text: &str) -> std::result::Result<(u32, u32), String> {
    let ids = text.split_once(':').and_then(|(pid, tid)| Some((pid.parse().ok()?, tid.parse().ok()?)));
    ids.ok_or_else(|| format!("`{text}` is no process and thread, such as 12:34"))
}

/// What is printed of one stack, with the names that `name` gives.
fn text(
    pid: u32,
    tid: u32,
    stack: &StandingStack,
    name: &mut impl FnMut(u32, &StandingFrame) -> Option<String>,
) -> String {
    let mut lines =
        vec![format!("{} of {}", labeled(&format!("{pid}/task/{tid}"), tid), labeled(&pid.to_string(), pid))];
    lines.extend(stack.kernel.iter().take(MOST_FRAMES).map(|name| format!("  [k] {name}")));
    let Some(frames) = &stack.user else {
        lines
            .push("  Its user stack cannot be taken while it runs, and it ran just now: Enter tries again.".to_owned());
        return lines.join("\n") + "\n";
    };
    let shown: Vec<String> = frames.iter().take(MOST_FRAMES).map(|frame| placed(frame, name(pid, frame))).collect();
    let is_interpreted =
        shown.iter().any(|name| name.contains("_PyEval_Eval") || name.contains("Builtins_Interpreter"));
    lines.extend(shown.into_iter().map(|name| format!("  {name}")));
    if frames.len() > MOST_FRAMES {
        lines.push(format!("  … {} more", frames.len() - MOST_FRAMES));
    }
    if !stack.is_complete {
        lines.push("  It cannot be followed further: no unwind table, or the stack cannot be read.".to_owned());
    }
    if is_interpreted {
        lines.push("  These are the interpreter's own functions: e and c have those of the script.".to_owned());
    }
    lines.join("\n") + "\n"
}

/// `worker (12)`, by the name in a folder of `/proc`.
fn labeled(folder: &str, id: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{folder}/comm")).unwrap_or_default();
    format!("{} ({id})", name.trim_end())
}

/// `main (server)`.
fn placed(frame: &StandingFrame, name: Option<String>) -> String {
    let Some(file) = &frame.file else { return format!("{:#x} (made at run time)", frame.offset) };
    let base = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name {
        Some(name) => format!("{name} ({base})"),
        None => format!("{base}+{:#x}", frame.offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said() {
        let text = |stack: &StandingStack| {
            text(u32::MAX, u32::MAX, stack, &mut |_: u32, it: &StandingFrame| {
                (it.offset == 1).then(|| "main".to_owned())
            })
        };
        let runs = text(&StandingStack { kernel: vec!["do_wait".into()], ..StandingStack::default() });
        assert!(runs.contains("[k] do_wait\n") && runs.contains("cannot be taken while it runs"), "{runs}");
        let frame = |file: Option<&str>| StandingFrame { file: file.map(Into::into), offset: 0x40 };
        let frames = vec![frame(Some("/none/libx.so")); MOST_FRAMES + 1];
        let cut = text(&StandingStack { user: Some(frames), is_complete: false, kernel: Vec::new() });
        assert!(
            cut.contains("  libx.so+0x40\n") && cut.contains("… 1 more") && cut.contains("followed further"),
            "{cut}"
        );
        let whole = text(&StandingStack { user: Some(vec![frame(None)]), is_complete: true, kernel: Vec::new() });
        let named = StandingFrame { file: Some("/bin/app".into()), offset: 1 };
        let named = text(&StandingStack { user: Some(vec![named]), is_complete: true, kernel: Vec::new() });
        assert_eq!(named, " (4294967295) of  (4294967295)\n  main (app)\n");
        assert_eq!(whole, " (4294967295) of  (4294967295)\n  0x40 (made at run time)\n");
    }

    #[test]
    fn threads_are_read() {
        assert_eq!(parse("12:34"), Ok((12, 34)));
        assert!(parse("12").is_err() && parse("a:1").is_err());
    }
}
