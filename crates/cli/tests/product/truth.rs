//! Every sample program, recorded live, against `samples/NAME.truth.toml`: objects named and typed right, wait times
//! and counts as the sample itself measured them, threads all there, diagnoses made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::chain::{self, Chain};
use crate::conservation;
use crate::expectation::Expected;
use crate::harness::Case;
use crate::recording::{Recording, is_type, number, root, sample, text};

/// How often a recording is repeated that was disturbed.
const ATTEMPTS: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    /// What the sample does, for the reader of the file.
    #[serde(rename = "title")]
    _title: String,
    /// The truth file of another sample, which holds for this one.
    same_as: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    exit_status: i32,
    /// Object type whose names have to be the same in a second recording.
    stable_names: Option<String>,
    #[serde(default)]
    summary: BTreeMap<String, Expected>,
    #[serde(default)]
    object: Vec<Rows>,
    #[serde(default)]
    thread: Vec<Rows>,
    /// What the explanation of the waits must tell.
    #[serde(default)]
    cause: Vec<Cause>,
    /// What Dwell must find. It may find what is in `may_find`, and nothing else: any other finding is a false one.
    #[serde(default)]
    finding: Vec<Finding>,
    /// Ids of findings that hold on some machines only.
    #[serde(default)]
    may_find: Vec<String>,
    #[serde(default)]
    report: Vec<Report>,
    #[serde(default)]
    chain: Vec<Chain>,
}

/// Rows of `waits` or `threads`, chosen by name and type, and what their sum has to be.
#[derive(Deserialize)]
struct Rows {
    name: Option<String>,
    name_contains: Option<String>,
    #[serde(default, rename = "type")]
    types: OneOrMany,
    #[serde(default)]
    filter: Vec<String>,
    /// Functions that the top stack has, leaf first, with others between them.
    #[serde(default)]
    stack: Vec<String>,
    #[serde(default)]
    waker_stack: Vec<String>,
    /// Number of rows.
    count: Option<usize>,
    #[serde(flatten)]
    fields: BTreeMap<String, Expected>,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum OneOrMany {
    #[default]
    Any,
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    /// What was done, by the column `kind`.
    kind: Option<String>,
    /// Words that the cause has: the object that was waited for, or the place.
    mentions: Option<String>,
    /// As of a finding.
    #[serde(default)]
    needs_bpf: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    id: String,
    /// Words that its evidence has.
    mentions: Option<String>,
    /// It is not made of what perf events alone tell.
    #[serde(default)]
    needs_bpf: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    args: Vec<String>,
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    /// As of a finding.
    #[serde(default)]
    needs_bpf: bool,
}

/// One case for each truth file.
pub fn cases() -> Vec<Case> {
    names().into_iter().map(|name| Case::new(format!("truth::{name}"), move || check(&name))).collect()
}

/// The samples that have a truth file.
pub fn names() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("samples")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".truth.toml")?.to_owned()));
    names.collect()
}

fn read_truth(name: &str) -> Result<Truth> {
    let read = |name: &str| -> Result<Truth> {
        let path = root().join("samples").join(format!("{name}.truth.toml"));
        toml::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())
    };
    let own = read(name)?;
    own.same_as.as_deref().map(read).transpose().map(|other| other.unwrap_or(own))
}

/// What a truth file is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Machine {
    /// Everything that the file says.
    Fast,
    /// Counts, types and names: times are no program's own, nor complete are the stacks, where everything takes 20 times as long.
    Slow,
}

impl Machine {
    fn compares(self, field: &str) -> bool {
        self == Self::Fast || !field.ends_with("_ns")
    }
}

/// The environment that a sample's truth file asks for.
pub fn environment(name: &str) -> Result<BTreeMap<String, String>> {
    Ok(read_truth(name)?.env)
}

/// A sample's recording of a slow machine against its truth: counts, types and names.
pub fn check_counts(recording: &Recording, name: &str) -> Result<()> {
    let mut wrong = of_tables(recording, &read_truth(name)?, Machine::Slow)?;
    wrong.extend(conservation::of_parts(recording)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn check(name: &str) -> Result<()> {
    check_recorded(name, &|environment| Recording::with_environment(&[], &[&sample(name)?], environment), true)
}

/// Records a sample in an environment.
type Record<'a> = &'a dyn Fn(&[(&str, &str)]) -> Result<Recording>;

/// The sample's truth against what `once` records of it, in an environment. `account`: its CPU time is the kernel's account.
pub fn check_recorded(name: &str, once: Record<'_>, account: bool) -> Result<()> {
    let cpu_ns = |recording: &Recording| recording.output.truth("rusage_ns").filter(|_| account);
    let truth = read_truth(name)?;
    let recording = record(&truth, once, &cpu_ns)?;
    let mut wrong = of_tables(&recording, &truth, Machine::Fast)?;
    wrong.extend(of_causes(&recording, &truth)?);
    wrong.extend(of_findings(&recording, &truth)?);
    wrong.extend(of_reports(&recording, &truth)?);
    wrong.extend(chain::mismatches(&recording, &truth.chain)?);
    if let Some(of_type) = &truth.stable_names {
        wrong.extend(of_names(&recording, &record(&truth, once, &cpu_ns)?, of_type)?);
    }
    if let Err(error) = conservation::check(&recording, cpu_ns(&recording)) {
        wrong.push(format!("{error:#}"));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// How the sample ended, the summary, the objects and the threads.
fn of_tables(recording: &Recording, truth: &Truth, machine: Machine) -> Result<Vec<String>> {
    let code = recording.output.code();
    let stderr = &recording.output.stderr;
    ensure!(code == truth.exit_status, "exit status {code}, expected {}\n{stderr}", truth.exit_status);
    let mut wrong = of_summary(recording, truth, machine)?;
    for rows in &truth.object {
        wrong.extend(of_rows(recording, ("waits", "object"), rows, machine)?);
    }
    for rows in &truth.thread {
        wrong.extend(of_rows(recording, ("threads", "name"), rows, machine)?);
    }
    Ok(wrong)
}

/// Records the sample; again, a few times, when something outside it made the recording incomplete: no exact count can
/// be expected of such a one.
fn record(truth: &Truth, once: Record<'_>, cpu_ns: &dyn Fn(&Recording) -> Option<f64>) -> Result<Recording> {
    let environment: Vec<(&str, &str)> = truth.env.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut recording = once(&environment)?;
    for _ in 0..ATTEMPTS {
        if !conservation::is_disturbed(&recording, cpu_ns(&recording))? {
            break;
        }
        recording = once(&environment)?;
    }
    Ok(recording)
}

fn of_summary(recording: &Recording, truth: &Truth, machine: Machine) -> Result<Vec<String>> {
    let summary = recording.report(&["summary"])?;
    let mut wrong = Vec::new();
    for (field, expected) in truth.summary.iter().filter(|(field, _)| machine.compares(field)) {
        let actual = number(&summary, field)?;
        wrong.extend(expected.mismatch(field, actual, &recording.output)?.map(|why| format!("summary: {why}")));
    }
    Ok(wrong)
}

fn of_rows(recording: &Recording, of: (&str, &str), rows: &Rows, machine: Machine) -> Result<Vec<String>> {
    let (report, name_field) = of;
    let mut arguments = vec![report, "--include-idle"];
    rows.filter.iter().for_each(|filter| arguments.extend(["--filter", filter]));
    let all = recording.rows(&arguments)?;
    let chosen: Vec<&Value> = all.iter().filter(|row| rows.choose(row, name_field)).collect();
    let what = rows.describe(report);
    if chosen.is_empty() {
        let there = all.iter().map(|row| format!("{} ({})", text(row, name_field), text(row, "type")));
        return Ok(vec![format!("no row {what}; there are: {}", there.take(12).collect::<Vec<_>>().join(", "))]);
    }
    let mut wrong = Vec::new();
    if rows.count.is_some_and(|count| count != chosen.len()) {
        wrong.push(format!("{} rows, expected {:?}", chosen.len(), rows.count));
    }
    for (field, expected) in rows.fields.iter().filter(|(field, _)| machine.compares(field)) {
        wrong.extend(expected.mismatch(field, total(&chosen, field)?, &recording.output)?);
    }
    for (field, functions) in [("top_stack", &rows.stack), ("top_waker_stack", &rows.waker_stack)] {
        if machine == Machine::Fast && !chosen.iter().any(|row| has_functions(&row[field], functions)) {
            wrong.push(format!("{field} has no {functions:?}: {}", chosen[0][field]));
        }
    }
    Ok(wrong.into_iter().map(|why| format!("{what}: {why}")).collect())
}

/// The sum of a field; of numbers of threads, which rows may share, the largest.
fn total(rows: &[&Value], field: &str) -> Result<f64> {
    let values = rows.iter().map(|row| number(row, field)).collect::<Result<Vec<f64>>>()?;
    Ok(if field == "threads" { values.into_iter().fold(0.0, f64::max) } else { values.iter().sum() })
}

impl Rows {
    fn choose(&self, row: &Value, name_field: &str) -> bool {
        let name = text(row, name_field);
        self.name.as_ref().is_none_or(|wanted| wanted == name)
            && self.name_contains.as_ref().is_none_or(|part| name.contains(part.as_str()))
            && match &self.types {
                OneOrMany::Any => true,
                OneOrMany::One(id) => is_type(row, id),
                OneOrMany::Many(ids) => ids.iter().any(|id| is_type(row, id)),
            }
    }

    fn describe(&self, report: &str) -> String {
        let types = match &self.types {
            OneOrMany::Any => String::new(),
            OneOrMany::One(id) => id.clone(),
            OneOrMany::Many(ids) => ids.join(" or "),
        };
        let name = self.name.as_ref().or(self.name_contains.as_ref()).map_or("", String::as_str);
        [report, &types, name, &self.filter.join(" ")]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Whether the frames of a stack, leaf first, have these functions in this order.
fn has_functions(stack: &Value, functions: &[String]) -> bool {
    let mut frames = stack.as_array().into_iter().flatten().filter_map(Value::as_str);
    functions.iter().all(|function| frames.any(|frame| frame.contains(function.as_str())))
}

fn of_causes(recording: &Recording, truth: &Truth) -> Result<Vec<String>> {
    let told = recording.rows(&["explain"])?;
    let is_told = |cause: &Cause| {
        told.iter().any(|row| {
            cause.kind.as_ref().is_none_or(|kind| kind == text(row, "kind"))
                && cause.mentions.as_ref().is_none_or(|words| row.to_string().contains(words.as_str()))
        })
    };
    let by_perf = recording.manifest()?["source"] == "perf";
    let wanted = truth.cause.iter().filter(|cause| !by_perf || !cause.needs_bpf);
    let say = |cause: &Cause| {
        let texts: Vec<&str> = told.iter().map(|row| text(row, "text")).collect();
        let kind = cause.kind.as_deref().unwrap_or("any kind");
        format!("no cause of {kind} about {:?}; told were: {texts:?}", cause.mentions)
    };
    Ok(wanted.filter(|cause| !is_told(cause)).map(say).collect())
}

fn of_findings(recording: &Recording, truth: &Truth) -> Result<Vec<String>> {
    let made_rows = recording.rows(&["findings", "--include-idle"])?;
    let is_made = |finding: &Finding| {
        made_rows.iter().any(|row| {
            let mentioned = finding.mentions.as_ref().is_none_or(|words| row.to_string().contains(words.as_str()));
            [text(row, "id"), text(row, "finding")].contains(&finding.id.as_str()) && mentioned
        })
    };
    let by_perf = recording.manifest()?["source"] == "perf";
    let wanted = truth.finding.iter().filter(|finding| !by_perf || !finding.needs_bpf);
    let missing = wanted.filter(|finding| !is_made(finding));
    let made: Vec<String> =
        made_rows.iter().map(|row| format!("{}{}", text(row, "id"), text(row, "finding"))).collect();
    let unproved = made_rows.iter().map(|row| recording.unproved(row)).collect::<Result<Vec<_>>>()?.concat();
    let say = |finding: &Finding| {
        let about = finding.mentions.as_ref().map(|words| format!(" about {words}")).unwrap_or_default();
        format!("no finding {}{about}; made were: {}", finding.id, made.join(", "))
    };
    let known = |row: &Value| {
        let is = |id: &str| [text(row, "id"), text(row, "finding")].contains(&id);
        truth.finding.iter().any(|finding| is(&finding.id)) || truth.may_find.iter().any(|id| is(id))
    };
    let false_ones = made_rows.iter().filter(|row| !known(row)).map(|row| format!("a false finding: {row}"));
    Ok(missing.map(say).chain(false_ones).chain(unproved).collect())
}

fn of_reports(recording: &Recording, truth: &Truth) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let by_perf = recording.manifest()?["source"] == "perf";
    for report in truth.report.iter().filter(|report| !by_perf || !report.needs_bpf) {
        let arguments: Vec<&str> = report.args.iter().map(String::as_str).collect();
        let text = recording.report(&arguments)?.to_string();
        let missing = report.contains.iter().filter(|words| !text.contains(words.as_str()));
        wrong.extend(missing.map(|words| format!("report {} does not say {words}", arguments.join(" "))));
        let false_words = report.lacks.iter().filter(|words| text.contains(words.as_str()));
        wrong.extend(false_words.map(|words| format!("report {} says {words}", arguments.join(" "))));
    }
    Ok(wrong)
}

fn of_names(first: &Recording, second: &Recording, of_type: &str) -> Result<Option<String>> {
    let names = |recording: &Recording| -> Result<BTreeSet<String>> {
        let rows = recording.rows(&["waits", "--include-idle"])?;
        Ok(rows.iter().filter(|row| is_type(row, of_type)).map(|row| text(row, "object").to_owned()).collect())
    };
    let (first, second) = (names(first)?, names(second)?);
    Ok((first != second).then(|| format!("names differ from run to run: {first:?} and {second:?}")))
}
