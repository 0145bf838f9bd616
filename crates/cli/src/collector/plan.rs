//! What a collection that the page asks for is on the command line, and why it cannot be.

use std::path::{Path, PathBuf};

use dwell_server::{CollectedAnalysis, CollectionPlan, CollectionRequest, CollectionTarget};

use crate::args::is_program;
use crate::error::{Hinted, Result, script_word};

/// A command line of more words or letters is nothing that anybody typed.
const MOST_WORDS: usize = 1024;
const MOST_LETTERS: usize = 32 << 10;
/// A week: who wants more starts it in a terminal.
const LONGEST_S: u32 = 7 * 24 * 3600;

/// The plan.
pub fn plan(folder: &Path, wanted: &CollectionRequest) -> CollectionPlan {
    let problem = check(folder, wanted).err().map(|error| error.message().to_owned()).unwrap_or_default();
    CollectionPlan { command: command_line(wanted), problem }
}

/// The command as one types it.
pub fn command_line(wanted: &CollectionRequest) -> String {
    let words = words(wanted).into_iter().map(|word| script_word(&word));
    ["sudo".to_owned(), "dwell".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The words behind `dwell`.
pub fn words(wanted: &CollectionRequest) -> Vec<String> {
    let analysis = match wanted.analysis {
        CollectedAnalysis::Threading => "threading",
        CollectedAnalysis::Latency => "latency",
    };
    let mut words = vec!["collect".to_owned(), analysis.to_owned()];
    let topics = [("sockets", wanted.sockets), ("system", wanted.system)];
    let topics: Vec<&str> = topics.iter().filter(|(_, is_wanted)| *is_wanted).map(|(topic, _)| *topic).collect();
    if !topics.is_empty() {
        words.push(format!("--analyze={analysis},{}", topics.join(",")));
    }
    words.extend(wanted.exact_fibers.then(|| "--fibers=exact".to_owned()));
    words.extend(wanted.start_paused.then(|| "--start-paused".to_owned()));
    words.extend((wanted.duration_s > 0).then(|| format!("--duration={}s", wanted.duration_s)));
    match &wanted.target {
        CollectionTarget::Machine => words.push("--all".to_owned()),
        CollectionTarget::Cgroup(path) => words.push(format!("--cgroup={path}")),
        CollectionTarget::Processes(pids) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            words.push(format!("--target-pid={}", pids.join(",")));
        }
        CollectionTarget::Program { program, arguments, folder } => {
            words.extend((!folder.is_empty()).then(|| format!("--app-working-dir={folder}")));
            words.push("--".to_owned());
            words.push(program.clone());
            words.extend(arguments.iter().cloned());
        }
    }
    words
}

/// Why the collection cannot be started, as far as that is seen before.
pub fn check(folder: &Path, wanted: &CollectionRequest) -> Result<()> {
    let words = words(wanted);
    if words.len() > MOST_WORDS || words.iter().map(String::len).sum::<usize>() > MOST_LETTERS {
        return Err(Hinted::new("the command line is too long").hint("put it into a script, and start that"));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Hinted::new("no word of a command line has a NUL in it").hint("leave it out"));
    }
    if wanted.duration_s > LONGEST_S {
        return Err(Hinted::new("a collection from the page takes a week at most").hint("give a shorter time, or none"));
    }
    match &wanted.target {
        CollectionTarget::Machine => Ok(()),
        CollectionTarget::Cgroup(path) if path.is_empty() => {
            Err(Hinted::new("no control group is chosen").hint("systemd-cgls lists them"))
        }
        CollectionTarget::Cgroup(_) => Ok(()),
        CollectionTarget::Processes(pids) => processes(pids),
        CollectionTarget::Program { program, folder: own, .. } => self::program(folder, program, own),
    }
}

fn processes(pids: &[u32]) -> Result<()> {
    if pids.is_empty() {
        return Err(Hinted::new("no process is chosen").hint("choose one of the list"));
    }
    match pids.iter().find(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
        Some(gone) => Err(Hinted::new(format!("there is no process {gone}")).hint("choose one of the list")),
        None => Ok(()),
    }
}

/// Whether the program is there; whether the user may run it, only running it tells.
fn program(results: &Path, program: &str, folder: &str) -> Result<()> {
    if program.is_empty() {
        return Err(Hinted::new("no program is given").hint("give its path, or its name where the shell finds it"));
    }
    let folder: PathBuf = if folder.is_empty() { results.to_owned() } else { results.join(folder) };
    if !folder.is_dir() {
        return Err(Hinted::new(format!("there is no folder {}", folder.display())).hint("give one that is there"));
    }
    let is_there = match program.contains('/') {
        true => is_program(folder.join(program).as_os_str()),
        false => is_program(program.as_ref()),
    };
    if is_there {
        return Ok(());
    }
    Err(Hinted::new(format!("there is no program {program}")).hint("give its whole path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: CollectionTarget) -> CollectionRequest {
        CollectionRequest {
            analysis: CollectedAnalysis::Threading,
            target,
            duration_s: 0,
            sockets: false,
            system: false,
            exact_fibers: false,
            start_paused: false,
        }
    }

    fn launch(program: &str, arguments: &[&str]) -> CollectionRequest {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        of(CollectionTarget::Program { program: program.into(), arguments, folder: String::new() })
    }

    #[test]
    fn the_command_line_can_be_copied() {
        assert_eq!(
            command_line(&launch("./a b", &["--duration", "$(rm -rf /)"])),
            "sudo dwell collect threading -- './a b' --duration '$(rm -rf /)'"
        );
        let machine = CollectionRequest { duration_s: 5, sockets: true, system: true, ..of(CollectionTarget::Machine) };
        assert_eq!(
            command_line(&machine),
            "sudo dwell collect threading --analyze=threading,sockets,system --duration=5s --all"
        );
        let attached =
            CollectionRequest { analysis: CollectedAnalysis::Latency, ..of(CollectionTarget::Processes(vec![7, 9])) };
        assert_eq!(command_line(&attached), "sudo dwell collect latency --target-pid=7,9");
    }

    #[test]
    fn what_cannot_be_is_told_before() {
        let problem = |wanted: &CollectionRequest| plan(Path::new("/"), wanted).problem;
        assert_eq!(problem(&launch("sh", &["-c", "true"])), "");
        assert_eq!(problem(&launch("/bin/sh", &[])), "");
        assert_eq!(problem(&launch("", &[])), "no program is given");
        assert_eq!(problem(&launch("no-such-program", &[])), "there is no program no-such-program");
        assert_eq!(problem(&launch("/etc", &[])), "there is no program /etc");
        assert_eq!(problem(&launch("sh", &["a\0b"])), "no word of a command line has a NUL in it");
        assert_eq!(problem(&launch("sh", &vec!["x"; 2000])), "the command line is too long");
        assert_eq!(problem(&of(CollectionTarget::Processes(vec![1]))), "");
        assert_eq!(problem(&of(CollectionTarget::Processes(vec![4_000_000_000]))), "there is no process 4000000000");
        assert_eq!(problem(&of(CollectionTarget::Processes(Vec::new()))), "no process is chosen");
    }
}
