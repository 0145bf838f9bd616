//! The words after `dwell report`: a report's name, its subject if it has one, and a result, in the order NAME SUBJECT
//! RESULT or RESULT NAME SUBJECT. A handle alone stands for the report that shows it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, TypedValueParser};
use dwell_analyze::{FilterKey, Level, Report, report_of_handle};

use crate::error::{Hinted, Result};

/// The name of the report that is no view: the log of collection and finalization.
const LOG: &str = "log";

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSubject {
    /// A view.
    View(Report),
    /// The log.
    Log,
}

impl ReportSubject {
    fn parse(word: &str) -> Result<Self> {
        if word == LOG {
            return Ok(Self::Log);
        }
        Report::parse(word).map(Self::View).map_err(|error| match super::meaning_of(word) {
            Some(meaning) => Hinted::usage(error).hint(meaning),
            None => error.into(),
        })
    }

    fn subject(self) -> Option<&'static str> {
        match self {
            Self::View(report) => report.subject(),
            Self::Log => None,
        }
    }
}

/// What the words ask for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// What to show.
    pub what: ReportSubject,
    /// Object of `blame`, function of `caller-callee`, or the handle of the one thing that is shown.
    pub subject: Option<String>,
    /// The result's folder; none: the newest here.
    pub result: Option<PathBuf>,
}

impl Asked {
    /// Understands the words.
    pub fn parse(words: &[String]) -> Result<Self> {
        let known = words.iter().take(2).position(|word| ReportSubject::parse(word).is_ok());
        if let Some(asked) = known.is_none().then(|| Self::of_handle_alone(words)).flatten() {
            return asked;
        }
        let known = known.unwrap_or(0);
        let name = words.get(known).map_or("", String::as_str);
        let what = ReportSubject::parse(name)?;
        let mut result = words.get(..known).and_then(<[String]>::first).map(PathBuf::from);
        let mut rest: Vec<&String> = words.iter().skip(known + 1).collect();
        let handle = handle_among(what, name, &rest)?.map(|at| rest.remove(at).clone());
        let mut rest = rest.into_iter();
        // The only word left may be the result, the subject forgotten.
        let only = words.get(known + 1).filter(|_| known == 0 && words.len() == 2);
        let forgotten = only.is_some_and(is_result);
        let subject = what.subject().filter(|_| !forgotten).and_then(|_| rest.next().cloned());
        if result.is_none() {
            result = rest.next().map(PathBuf::from);
        }
        let (subject, result) = match (subject, result) {
            // The other way round.
            (Some(word), Some(path)) if is_result(&word) && !is_result(&path) => {
                (Some(path.to_string_lossy().into_owned()), Some(word.into()))
            }
            words => words,
        };
        match rest.next() {
            None => Ok(Self { what, subject: subject.or(handle), result }),
            Some(word) => Err(Hinted::usage(format!("`{word}` is one word too many")).hint(form(what, name))),
        }
    }

    /// Understands a handle with at most a result beside it; none where there is no handle.
    fn of_handle_alone(words: &[String]) -> Option<Result<Self>> {
        let handle = |word: &String| shown_by(word).map(|report| (word.clone(), report));
        let (at, (word, report)) = words.iter().take(2).enumerate().find_map(|(at, word)| Some((at, handle(word)?)))?;
        let mut others = words.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, word)| word);
        let result = others.next().map(PathBuf::from);
        Some(match others.next() {
            None => Ok(Self { what: ReportSubject::View(report), subject: Some(word), result }),
            Some(other) => {
                Err(Hinted::usage(format!("`{other}` is one word too many"))
                    .hint(format!("dwell report {word} [RESULT]")))
            }
        })
    }

    /// Whether one row of a report is asked for, by its handle.
    pub fn is_of_one(&self) -> bool {
        let ReportSubject::View(report) = self.what else { return false };
        self.subject.as_deref().is_some_and(|subject| takes_row(report, subject))
    }
}

/// The report that shows what a word is the handle of. A file or folder of that name is a result.
fn shown_by(word: &str) -> Option<Report> {
    report_of_handle(word).filter(|_| !Path::new(word).exists())
}

/// Whether the report shows one of its rows where it is given this handle.
fn takes_row(report: Report, handle: &str) -> bool {
    report.subject().is_none() && report.takes_handle(handle)
}

/// Which of the words is the handle of the one thing that the report is to show. Fails at that of a thing that another report shows.
fn handle_among(what: ReportSubject, name: &str, words: &[&String]) -> Result<Option<usize>> {
    let ReportSubject::View(report) = what else { return Ok(None) };
    if let Some(at) = words.iter().position(|word| shown_by(word).is_some() && takes_row(report, word)) {
        return Ok(Some(at));
    }
    let has_rows = matches!(report, Report::Waits | Report::Threads | Report::Findings | Report::Latency);
    match words.iter().filter(|_| has_rows).find_map(|word| Some((word, shown_by(word)?))) {
        Some((word, shown_by)) => Err(Hinted::usage(format!("`{word}` is the handle of nothing that {name} shows"))
            .hint(format!("dwell report {} {word}", shown_by.id()))),
        None => Ok(None),
    }
}

fn is_result(word: impl AsRef<Path>) -> bool {
    word.as_ref().join("manifest.json").is_file()
}

fn form(what: ReportSubject, name: &str) -> String {
    match what.subject() {
        Some(subject) => {
            format!("dwell report {name} {} [RESULT]", subject.rsplit(' ').next().unwrap_or_default().to_uppercase())
        }
        None => format!("dwell report {name} [RESULT]"),
    }
}

/// Takes any word; help and completions get the reports' names from it.
#[derive(Clone, Debug)]
pub struct ReportWords;

impl TypedValueParser for ReportWords {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        let invalid = || clap::Error::new(clap::error::ErrorKind::InvalidUtf8).with_cmd(command);
        value.to_str().map(str::to_owned).ok_or_else(invalid)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = Report::ALL.iter().map(|report| PossibleValue::new(report.id()).help(report.help()));
        Some(Box::new(names.chain([PossibleValue::new(LOG).help(LOG_HELP)])))
    }
}

const LOG_HELP: &str = "The log of collection and finalization.";

/// The end of `dwell report --help`: every report, level and key, and examples.
pub fn help() -> String {
    let mut text = String::from("Reports:\n");
    for report in Report::ALL {
        text.push_str(&format!("  {:<13}  {}\n", report.id(), report.help()));
    }
    text.push_str(&format!("  {LOG:<13}  {LOG_HELP}\n"));
    text.push_str(&format!("\nLevels of --group-by:\n{}", listed(Level::ALL.iter().map(|level| level.id()))));
    text.push_str(&format!("\nKeys of --filter and --exclude:\n{}", listed(FilterKey::ALL.iter().map(|key| key.id()))));
    text.push_str(EXAMPLES);
    text
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let line = words.collect::<Vec<_>>().join(", ");
    crate::text::style::wrap(&line, 76).iter().map(|line| format!("  {line}\n")).collect()
}

const EXAMPLES: &str = "
Examples:
  dwell report summary      # of the newest result here
  dwell report waits r000th --group-by object,function
                            # where each object was waited on
  dwell report waits --filter thread=worker* --time-range 1.5s-3s --format json
  dwell report blame queue_lock
                            # who held threads up on queue_lock, doing what
  dwell report f2           # one finding whole, by its handle; w3 is an object, t7 a thread
  dwell report top-down --metric wait_ns,cpu_ns --limit 20
  dwell report timeline --format csv --output timeline.csv
  dwell report --html report.html r000th
                            # one file to attach to a ticket";

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<Asked> {
        Asked::parse(&words.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn name_and_result_come_in_either_order() {
        let waits = |result: Option<&str>| Asked {
            what: ReportSubject::View(Report::Waits),
            subject: None,
            result: result.map(PathBuf::from),
        };
        assert_eq!(asked("waits").unwrap(), waits(None));
        assert_eq!(asked("waits r000th").unwrap(), waits(Some("r000th")));
        assert_eq!(asked("r000th waits").unwrap(), waits(Some("r000th")));
        assert_eq!(asked("log").unwrap().what, ReportSubject::Log);
    }

    #[test]
    fn a_subject_follows_its_report() {
        let blame = asked("blame queue_lock r000th").unwrap();
        assert_eq!((blame.subject.as_deref(), blame.result), (Some("queue_lock"), Some("r000th".into())));
        assert_eq!(asked("r000th blame queue_lock").unwrap().subject.as_deref(), Some("queue_lock"));
        assert_eq!(asked("blame").unwrap().subject, None);
        assert_eq!(asked("blame waits").unwrap().subject.as_deref(), Some("waits"));
    }

    #[test]
    fn a_result_alone_is_no_subject() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("manifest.json"), "{}").unwrap();
        let path = folder.path().display().to_string();
        let blame = Asked::parse(&["blame".into(), path.clone()]).unwrap();
        assert_eq!((blame.subject, blame.result), (None, Some(folder.path().to_owned())));
        let named = Asked::parse(&[path, "blame".into(), "queue_lock".into()]).unwrap();
        assert_eq!(named.subject.as_deref(), Some("queue_lock"));
        let other_way =
            Asked::parse(&["blame".into(), folder.path().display().to_string(), "queue_lock".into()]).unwrap();
        assert_eq!(
            (other_way.subject.as_deref(), other_way.result),
            (Some("queue_lock"), Some(folder.path().to_owned()))
        );
    }

    #[test]
    fn a_handle_is_of_one_row() {
        let of = |words: &str| {
            let asked = asked(words).unwrap();
            let result = asked.result.as_ref().map(|path| path.display().to_string());
            (asked.what, asked.subject.clone(), result, asked.is_of_one())
        };
        let one = |report, handle: &str, result: Option<&str>| {
            (ReportSubject::View(report), Some(handle.to_owned()), result.map(str::to_owned), true)
        };
        assert_eq!(of("waits w3"), one(Report::Waits, "w3", None));
        assert_eq!(of("r000th threads t7"), one(Report::Threads, "t7", Some("r000th")));
        assert_eq!(of("latency r000th ow525"), one(Report::Latency, "ow525", Some("r000th")));
        assert_eq!(of("f2"), one(Report::Findings, "f2", None));
        assert_eq!(of("r000th w3"), one(Report::Waits, "w3", Some("r000th")));
        assert_eq!(of("ot1 r000th").0, ReportSubject::View(Report::Outlier));
        assert!(!of("blame w3").3 && !of("waits r000th").3);
        assert_eq!(asked("waits t7").unwrap_err().to_string(), "`t7` is the handle of nothing that waits shows");
        assert_eq!(asked("f2 a b").unwrap_err().to_string(), "`b` is one word too many");
    }

    #[test]
    fn mistakes_are_explained() {
        assert_eq!(asked("wiats").unwrap_err().to_string(), "there is no report `wiats`");
        assert_eq!(asked("waits a b").unwrap_err().to_string(), "`b` is one word too many");
    }
}
