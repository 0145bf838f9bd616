//! What people type who know another tool: `dwell record -g ./app`, `dwell -collect threading -r DIR -- ./app`, `dwell -p PID`.
//!
//! It takes a command line and says which of Dwell's is meant: the same one ([`MeantCommand::Same`]), or the nearest
//! ([`MeantCommand::Other`]). It runs nothing. What is meant by a word stands in two tables: `peers` for people, which is also
//! docs/coming-from.md, and `options` for the options of each tool. Dwell's own command lines pass as they are.

mod nearest;
mod options;
mod peers;
mod spelling;
#[cfg(test)]
mod tests;
mod translate;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Command;
use dwell_store::{Folder, ResultFolder};

pub use self::nearest::NearestCommand;
use self::options::{
    ANALYSES, OptionHabit, PERF_RECORD, PERF_REPORT, REPORTS, RESULT, STRACE, TOP, VTUNE_COLLECT, VTUNE_REPORT,
};
pub use self::peers::meaning_of;
pub use self::spelling::nearest as nearest_word;
use self::translate::{HabitRules, Translation, own_option};
use crate::error::shell_word;

/// What a command line means.
#[derive(Debug)]
pub enum MeantCommand {
    /// What it says: it is in Dwell's own words.
    Own(Vec<OsString>),
    /// Another command line, which does the same.
    Same {
        /// Dwell's words.
        words: Vec<OsString>,
        /// What to say of it, a sentence each.
        remarks: Vec<String>,
    },
    /// Nothing that Dwell does; the nearest command is named.
    Other(NearestCommand),
}

/// The analysis that is collected when none is named.
const USUAL: &str = "threading";

/// What `words` mean, the program's name first; `dwell` is Dwell's command line.
pub fn meant(words: Vec<OsString>, dwell: &Command) -> MeantCommand {
    let Some(first) = words.get(1).and_then(|word| word.to_str()).map(str::to_owned) else {
        return MeantCommand::Own(words);
    };
    if matches!(first.as_str(), "-h" | "--help" | "-V" | "--version") {
        return MeantCommand::Own(words);
    }
    if let Some(command) = dwell.find_subcommand(&first) {
        return of_own_command(words, command, dwell);
    }
    let habits = Habits { dwell };
    let rest = &words[2..];
    let second = rest.first().and_then(|word| word.to_str());
    match (first.as_str(), second) {
        ("record", _) => habits.recording(&[PERF_RECORD], rest),
        ("sched" | "lock" | "mem" | "kwork" | "trace", Some("record")) => habits.recording(&[PERF_RECORD], &rest[1..]),
        ("stat" | "trace", Some(program)) if !program.starts_with('-') => counting(&first, habits.recording(&[], rest)),
        ("annotate", _) => habits.reading(&["source"], &[PERF_REPORT], rest),
        ("diff", _) => habits.reading(&["compare"], &[PERF_REPORT], rest),
        _ if first.starts_with('-') => habits.of_options(&first, &words),
        _ => match peers::of_command(&words[1..]) {
            Some(row) => MeantCommand::Other(row),
            None if is_program(&words[1]) => habits.recording(&[], &words[1..]),
            None if is_result(&words[1]) => habits.reading(&["report", "summary"], &[], &words[1..]),
            None => MeantCommand::Own(words),
        },
    }
}

/// Whether it is a program's file, or one that the shell finds by its name.
pub fn is_program(word: &OsStr) -> bool {
    let runs = |path: &Path| path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if Path::new(word).components().count() > 1 || word.as_encoded_bytes().contains(&b'/') {
        return runs(Path::new(word));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| runs(&folder.join(word)))
}

/// Whether it is a result's folder.
fn is_result(word: &OsStr) -> bool {
    let path = Path::new(word);
    path.parent().zip(path.file_name().and_then(OsStr::to_str)).is_some_and(|(parent, name)| {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        Folder::open(parent).is_ok_and(|parent| ResultFolder::is_meant(&parent, name))
    })
}

/// The analysis that `word` is a misspelling of, of Dwell's or VTune's.
pub fn nearest_analysis(word: &str) -> Option<&'static str> {
    let nearest = spelling::nearest(word, ANALYSES.iter().map(|(name, _)| *name))?;
    ANALYSES.iter().find(|(name, _)| *name == nearest).and_then(|(_, words)| words.first().copied())
}

/// A command line that begins with one of Dwell's commands: options with one dash, analyses of VTune, options of perf.
fn of_own_command(words: Vec<OsString>, command: &Command, dwell: &Command) -> MeantCommand {
    let habits = Habits { dwell };
    if command.get_name() != "collect" {
        let table: &[&[OptionHabit]] = match command.get_name() {
            "report" => &[PERF_REPORT, RESULT],
            "top" => &[TOP],
            "sql" | "export" | "view" | "pack" | "source" | "finalize" => &[RESULT],
            _ => &[],
        };
        let is_meant = has_long_option_with_one_dash(&words[2..], command) || has_perf_sort_keys(&words, command);
        let parsed = dwell.clone().try_get_matches_from(&words);
        let is_wrong = !table.is_empty() && parsed.is_err_and(|error| is_mistake(&error) && words.len() > 2);
        let translated = || habits.reading(&[command.get_name()], table, &words[2..]);
        return match is_meant || is_wrong {
            true => habits.own_unless_better(translated(), is_meant, words.clone()),
            false => MeantCommand::Own(words),
        };
    }
    let analysis = words.get(2).and_then(|word| word.to_str()).unwrap_or_default();
    let is_own = command.find_subcommand(analysis).is_some();
    let known = ANALYSES.iter().find(|(name, _)| *name == analysis).map(|(_, meant)| *meant);
    let is_option = analysis.starts_with('-') && !matches!(analysis, "-h" | "--help");
    let (meant, rest) = match known {
        Some(meant) => (meant, &words[3..]),
        None if is_option => (&[USUAL][..], &words[2..]),
        None if is_program(analysis.as_ref()) => return habits.recording(&[], &words[2..]),
        None => return MeantCommand::Own(words),
    };
    let mut whole: Vec<OsString> = vec!["dwell".into(), "collect".into()];
    whole.extend(meant.iter().map(OsString::from));
    whole.extend_from_slice(rest);
    let Some(own) = command.find_subcommand(meant[0]) else { return MeantCommand::Own(whole) };
    if let Some((word, option)) = misspelt_option(rest, own) {
        return MeantCommand::Other(NearestCommand::new(
            format!("unexpected argument '{word}'"),
            format!("did you mean `--{option}`?"),
        ));
    }
    let is_meant = has_long_option_with_one_dash(rest, own);
    let is_wrong = dwell.clone().try_get_matches_from(&whole).is_err_and(|error| is_mistake(&error));
    if is_meant || is_wrong {
        let translated = habits.collecting(meant, &[VTUNE_COLLECT, PERF_RECORD], rest);
        return habits.own_unless_better(translated, is_meant, whole);
    }
    match is_own || is_option {
        true => MeantCommand::Own(whole),
        false => MeantCommand::Same { remarks: vec![runs(&whole)], words: whole },
    }
}

fn is_mistake(error: &clap::Error) -> bool {
    error.use_stderr()
}

/// `-result-dir=DIR`, which would be `-r` with `esult-dir=DIR`.
fn has_long_option_with_one_dash(words: &[OsString], command: &Command) -> bool {
    let options = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let named = options.filter_map(|word| word.strip_prefix('-').filter(|name| !name.starts_with('-')));
    let mut names = named.map(|name| name.split('=').next().unwrap_or(name));
    names.any(|name| name.len() > 1 && own_option(command, name).is_some())
}

/// `-reslt-dir=DIR`, which would be `-r` with `eslt-dir=DIR`: the word, and the option that is meant.
fn misspelt_option<'a>(words: &'a [OsString], command: &'a Command) -> Option<(&'a str, &'a str)> {
    let options = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    options.into_iter().find_map(|word| {
        let (name, _) = word.strip_prefix('-').filter(|name| !name.starts_with('-'))?.split_once('=')?;
        let longs = command.get_arguments().filter_map(|arg| arg.get_long());
        let is_long = name.len() > 3 && own_option(command, name).is_none();
        spelling::nearest(name, longs).filter(|_| is_long).map(|option| (word, option))
    })
}

/// `--sort comm,dso`, perf's levels: Dwell's parser takes any word there, and has columns for single ones.
fn has_perf_sort_keys(words: &[OsString], command: &Command) -> bool {
    let is_sort = |word: &OsString| word.to_str().is_some_and(|word| matches!(word, "--sort" | "-s"));
    let keys = words.windows(2).filter(|pair| is_sort(&pair[0])).filter_map(|pair| pair[1].to_str());
    let joined = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--sort="));
    command.get_name() == "report" && keys.chain(joined).any(|keys| keys == "comm" || keys.contains(','))
}

/// Command lines of other tools, for Dwell's parser.
struct Habits<'a> {
    dwell: &'a Command,
}

impl Habits<'_> {
    /// A recording of a program, or of what runs.
    fn recording(&self, tables: &[&[OptionHabit]], words: &[OsString]) -> MeantCommand {
        self.collecting(&[USUAL], tables, words)
    }

    fn collecting(&self, analysis: &[&str], tables: &[&[OptionHabit]], words: &[OsString]) -> MeantCommand {
        let path = ["collect", analysis.first().copied().unwrap_or(USUAL)];
        let Some(own) = self.command(&path) else { return MeantCommand::Own(words.to_vec()) };
        let mut translation = Translation::read(words, HabitRules { habits: tables, own, runs_program: true });
        let attaches = |word: &OsString| matches!(word.to_str(), Some("--target-pid" | "--all" | "--cgroup"));
        // perf's way to say how long: `perf record -p PID -- sleep 10`.
        let time = translation.rest.get(1).and_then(|time| time.to_str()).filter(|_| {
            translation.rest.len() == 2 && translation.rest[0] == "sleep" && translation.options.iter().any(attaches)
        });
        if let Some(time) =
            time.map(|time| if time.ends_with(char::is_alphabetic) { time.into() } else { format!("{time}s") })
        {
            translation.options.extend(["--duration".into(), time.into()]);
            translation.rest.clear();
        }
        let mut whole: Vec<OsString> = vec!["dwell".into(), "collect".into()];
        whole.extend(analysis.iter().map(OsString::from));
        whole.append(&mut translation.options);
        if !translation.rest.is_empty() {
            whole.push("--".into());
            whole.append(&mut translation.rest);
        }
        said(whole, &translation)
    }

    /// A command that reads a result: names, the result, options.
    fn reading(&self, command: &[&str], tables: &[&[OptionHabit]], words: &[OsString]) -> MeantCommand {
        let Some(own) = self.command(&command[..1]) else { return MeantCommand::Own(words.to_vec()) };
        let mut translation = Translation::read(words, HabitRules { habits: tables, own, runs_program: false });
        let mut whole: Vec<OsString> = vec!["dwell".into()];
        whole.extend(command.iter().map(OsString::from));
        if command == ["report"] && translation.rest.is_empty() {
            let with_callers = words.iter().any(|word| word == "--children");
            whole.push(if with_callers { "top-down" } else { "hotspots" }.into());
        }
        whole.append(&mut translation.rest);
        whole.append(&mut translation.names);
        whole.append(&mut translation.options);
        said(whole, &translation)
    }

    /// `-collect NAME` and other actions of VTune's; else strace's options.
    fn of_options(&self, first: &str, words: &[OsString]) -> MeantCommand {
        let bare = first.trim_start_matches('-');
        let (action, attached) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        let (value, rest) = match attached {
            Some(value) => (Some(value), &words[2..]),
            None => (words.get(2).and_then(|word| word.to_str()), words.get(3..).unwrap_or_default()),
        };
        match (action, value) {
            ("collect" | "c", Some(analysis)) if action == "collect" || known_analysis(analysis).is_some() => {
                match known_analysis(analysis) {
                    Some(meant) => self.collecting(meant, &[VTUNE_COLLECT], rest),
                    None => no_analysis(analysis),
                }
            }
            ("report" | "R", Some(report)) => self.vtune_report(report, rest),
            ("command", Some(word)) => self.steering(word, rest),
            ("finalize", _) => self.reading(&["finalize"], &[VTUNE_REPORT, RESULT], &words[2..]),
            ("version", _) => MeantCommand::Own(vec!["dwell".into(), "--version".into()]),
            ("help", _) => MeantCommand::Own(vec!["dwell".into(), "--help".into()]),
            _ if self.is_of_strace(bare) => self.recording(&[STRACE], &words[1..]),
            _ => MeantCommand::Own(words.to_vec()),
        }
    }

    /// Whether strace has this option, or `collect` has: `-p4242`, `-d`.
    fn is_of_strace(&self, option: &str) -> bool {
        let first = option.chars().next().map(String::from).unwrap_or_default();
        let is_known = |name: &str| {
            STRACE.iter().any(|habit| habit.names.contains(&name))
                || self.command(&["collect", USUAL]).is_some_and(|collect| own_option(collect, name).is_some())
        };
        is_known(option.split('=').next().unwrap_or(option)) || is_known(&first)
    }

    fn vtune_report(&self, report: &str, rest: &[OsString]) -> MeantCommand {
        let is_source = |word: &OsString| word.to_str().is_some_and(|word| word.contains("source-object"));
        if rest.iter().any(is_source) {
            return self.vtune_source(rest);
        }
        let results = Translation::read(rest, self.report_rules()).names.len();
        if results > 1 {
            return self.reading(&["compare"], &[VTUNE_REPORT, RESULT], rest);
        }
        match REPORTS.iter().find(|(name, _)| *name == report) {
            Some((_, own)) => self.reading(&["report", own], &[VTUNE_REPORT, RESULT], rest),
            None => MeantCommand::Other(NearestCommand::new(
                format!("Dwell has no report `{report}`"),
                "dwell report --help lists the reports",
            )),
        }
    }

    fn report_rules(&self) -> HabitRules<'_> {
        HabitRules {
            habits: &[VTUNE_REPORT, RESULT],
            own: self.command(&["report"]).unwrap_or(self.dwell),
            runs_program: false,
        }
    }

    /// `-source-object function=NAME`.
    fn vtune_source(&self, rest: &[OsString]) -> MeantCommand {
        self.reading(&["source"], &[VTUNE_REPORT, RESULT], rest)
    }

    /// `-command stop -r DIR`.
    fn steering(&self, word: &str, rest: &[OsString]) -> MeantCommand {
        let Some(own) = self.command(&["control"]) else { return MeantCommand::Own(rest.to_vec()) };
        let mut read =
            Translation::read(rest, HabitRules { habits: &[VTUNE_REPORT, RESULT], own, runs_program: false });
        let mut whole: Vec<OsString> = vec!["dwell".into(), "control".into()];
        whole.append(&mut read.names);
        whole.push(if word == "detach" { "stop" } else { word }.into());
        whole.append(&mut read.rest);
        said(whole, &read)
    }

    fn command(&self, path: &[&str]) -> Option<&Command> {
        path.iter().try_fold(self.dwell, |command, name| command.find_subcommand(name))
    }

    /// A translation of what began with Dwell's own command, where that is right; else the error of Dwell's own parser.
    fn own_unless_better(&self, translated: MeantCommand, is_meant: bool, own: Vec<OsString>) -> MeantCommand {
        match &translated {
            MeantCommand::Same { words, .. } if self.is_right(words, &own) => translated,
            _ if is_meant => translated,
            _ => MeantCommand::Own(own),
        }
    }

    /// Whether `words` make sense, and run the program that stands in `own` after dashes, or one that exists.
    fn is_right(&self, words: &[OsString], own: &[OsString]) -> bool {
        let is_same_program = match (program_of(words), program_of(own)) {
            (Some(program), None) => program.first().is_some_and(|word| is_program(word)),
            (program, typed) => program == typed,
        };
        is_same_program && self.dwell.clone().try_get_matches_from(words).is_ok()
    }
}

/// What stands after the dashes.
fn program_of(words: &[OsString]) -> Option<&[OsString]> {
    let dashes = words.iter().position(|word| word == "--")?;
    words.get(dashes + 1..)
}

/// `perf stat` and `perf trace` of a program: their numbers are others, and so the collection is only named.
fn counting(name: &str, recording: MeantCommand) -> MeantCommand {
    match recording {
        MeantCommand::Same { words, .. } => MeantCommand::Other(NearestCommand::new(
            format!(
                "Dwell prints no totals as `perf {name}` does: it times runs and waits, and `--events` counts events"
            ),
            shown(&words),
        )),
        other => other,
    }
}

fn known_analysis(word: &str) -> Option<&'static [&'static str]> {
    ANALYSES.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant)
}

/// Says that `word` names no analysis, and which there are.
pub fn no_analysis_error(word: &str) -> NearestCommand {
    let command = match nearest_analysis(word) {
        Some("latency") => "dwell collect latency -- PROGRAM, or dwell collect threading -- PROGRAM",
        _ => {
            "dwell collect threading -- PROGRAM records running, locks and all other waits; dwell collect latency -- PROGRAM single delays"
        }
    };
    NearestCommand::new(format!("`{word}` is no analysis, and no program that can be run"), command)
}

fn no_analysis(word: &str) -> MeantCommand {
    MeantCommand::Other(no_analysis_error(word))
}

/// The command that runs, or the error with it as the hint where something is missing.
fn said(words: Vec<OsString>, translation: &Translation) -> MeantCommand {
    if translation.missing.is_empty() {
        let mut remarks = vec![runs(&words)];
        remarks.extend(translation.remarks());
        return MeantCommand::Same { words, remarks };
    }
    MeantCommand::Other(NearestCommand::new(translation.missing.join("; "), shown(&words)))
}

fn runs(words: &[OsString]) -> String {
    format!("this runs `{}`", shown(words))
}

fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}
