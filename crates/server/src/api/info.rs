//! What a result is: the list of them, and for one its manifest, threads, losses, and the words that it can be asked in.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::{Path, State};
use dwell_analyze::{FilterKey, Level, Loss, METRICS, Report, lost};
use dwell_anatomy::trace;
use dwell_model::{MetricDef, TaskKind};
use dwell_store::Trace;
use dwell_view::answer;
use serde_json::{Map, Value as Json};

use super::document::{Document, made};
use super::transport::{document, written};
use crate::problem::{Fault, Problem};
use crate::state::{App, Listed};

answer! {
    /// One of GET /api/results: a result, or an instruction trace. `dwell view r000th` has one, `dwell view FOLDER` all of a folder.
    pub struct ResultInfo {
        /// Its id in addresses.
        pub id: String,
        /// Its name on the screen.
        pub name: String,
        /// The command line, or the ids of the processes that were attached to.
        pub program: String,
        /// What was analyzed; `anatomy` for an instruction trace.
        pub analysis: String,
        /// How long it took; 0 for an instruction trace, where that depends on the machine.
        pub elapsed_ns: u64,
        /// RFC 3339, in UTC; empty for unknown.
        pub created: String,
        /// Bytes of its files.
        pub size_bytes: u64,
        /// Why it cannot be read.
        pub problem: Option<String>,
        /// The server's id of the problem.
        pub problem_kind: Option<&'static str>,
    }
}

answer! {
    /// A metric.
    pub struct MetricInfo {
        /// Its id.
        pub id: &'static str,
        /// Its title.
        pub title: &'static str,
        /// Its unit.
        pub unit: &'static str,
        /// Whether sums of it mean something.
        pub additive: bool,
        /// Which values are better: `lower`, `higher` or `neither`.
        pub better: &'static str,
        /// One line of help.
        pub help: &'static str,
        /// All that is to say of it.
        pub detail: &'static str,
    }
}

answer! {
    /// A word to choose among others.
    pub struct ChoiceWord {
        /// The word in questions.
        pub id: &'static str,
        /// The words on the screen.
        pub title: &'static str,
        /// One line of help.
        pub help: &'static str,
    }
}

answer! {
    /// A thread, with its times.
    pub struct ThreadInfo {
        /// Row of the threads table.
        pub id: usize,
        /// The kernel's id of it.
        pub tid: u32,
        /// The id of its process; 0 for unknown.
        pub pid: u32,
        /// Its name.
        pub name: String,
        /// The name of its process.
        pub process: String,
        /// Start of its life, ns.
        pub start_ns: u64,
        /// End of its life, ns.
        pub end_ns: u64,
        /// Time on a CPU.
        pub running_ns: u64,
        /// Time in the run queue.
        pub runnable_ns: u64,
        /// Time blocked.
        pub waiting_ns: u64,
        /// How often it waited.
        pub waits: u64,
        /// How often it left a CPU.
        pub switches: u64,
    }
}

answer! {
    /// A name of tasks, frames, regions or markers; these refer to it by its place in the list.
    pub struct TaskType {
        /// Name.
        pub name: String,
        /// Domain; empty for none.
        pub domain: String,
        /// `task`, `frame`, …
        pub kind: &'static str,
    }
}

answer! {
    /// A result, and the words that it can be asked in.
    pub struct Info<'t> {
        /// Its manifest.json.
        pub manifest: Map<String, Json>,
        /// How long the collection took.
        pub elapsed_ns: u64,
        /// CPUs that the program may use.
        pub cpus: u32,
        /// CPUs that the program is meant to use.
        pub target_concurrency: u32,
        /// All metrics.
        pub metrics: Vec<MetricInfo>,
        /// Levels of grouping.
        pub levels: Vec<ChoiceWord>,
        /// Keys of filters.
        pub filter_keys: Vec<ChoiceWord>,
        /// All reports.
        pub reports: Vec<ChoiceWord>,
        /// What data was lost.
        pub losses: Vec<Loss<'t>>,
        /// Remarks of collection and finalization.
        pub notices: &'t [String],
        /// All threads.
        pub threads: Vec<ThreadInfo>,
        /// Names of tasks, frames, regions and markers.
        pub task_types: Vec<TaskType>,
        /// Number of counters.
        pub counters: usize,
    }
}

answer! {
    /// The log of collection and finalization.
    pub struct LogText {
        /// Its text; of a long one, the end.
        pub text: String,
    }
}

/// All results and traces.
pub async fn results(State(app): State<Arc<App>>) -> Result<Document, Problem> {
    let results = app.compute({
        let app = app.clone();
        move || Ok(app.library.results())
    });
    let traces = app.compute({
        let app = app.clone();
        move || Ok(app.library.traces().into_iter().map(|(id, path)| of_trace(&id, &path)).collect::<Vec<_>>())
    });
    let traces = traces.await?;
    let mut all: Vec<ResultInfo> = results.await?.iter().map(of_result).chain(traces).collect();
    all.sort_by(|a, b| b.created.cmp(&a.created));
    Ok(made(document(&all)?))
}

fn of_result(result: &Listed) -> ResultInfo {
    let manifest = result.manifest.as_ref().ok();
    let mut program = manifest.map_or_else(String::new, |it| it.command.join(" "));
    if program.is_empty() {
        let pids = manifest.into_iter().flat_map(|it| &it.target_pids);
        program = pids.map(u32::to_string).collect::<Vec<_>>().join(", ");
    }
    let (fault, problem) = result.problem().unzip();
    ResultInfo {
        id: result.id.clone(),
        name: result.id.clone(),
        program,
        analysis: manifest.map_or_else(String::new, |it| it.analysis.clone()),
        elapsed_ns: manifest.map_or(0, |it| it.end_ns.saturating_sub(it.start_ns)),
        created: manifest.map_or_else(String::new, |it| date(it.started_at)),
        size_bytes: result.size_bytes,
        problem,
        problem_kind: fault.map(Fault::id),
    }
}

/// An instruction trace among the results.
fn of_trace(id: &str, path: &std::path::Path) -> ResultInfo {
    let (recorded, problem) = match trace::recorded(path) {
        Ok(head) => (Some(head), None),
        Err(error) => (None, Some(error)),
    };
    let metadata = path.metadata().ok();
    let written = metadata.as_ref().and_then(|it| it.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    ResultInfo {
        id: id.to_owned(),
        name: id.to_owned(),
        program: recorded.map_or(String::new(), |head| head.command.join(" ")),
        analysis: "anatomy".to_owned(),
        elapsed_ns: 0,
        created: date(written.map_or(0.0, |it| it.as_secs_f64())),
        size_bytes: metadata.map_or(0, |it| it.len()),
        problem: problem.as_ref().map(ToString::to_string),
        problem_kind: problem.map(|error| Problem::from(error).fault.id()),
    }
}

/// The result itself.
pub fn info(trace: &Trace) -> Result<String, Problem> {
    let metric = |metric: &MetricDef| MetricInfo {
        id: metric.id,
        title: metric.title,
        unit: metric.unit.id(),
        additive: metric.additive,
        better: metric.better.id(),
        help: metric.short_help,
        detail: metric.long_help,
    };
    let word = |id, title, help| ChoiceWord { id, title, help };
    let Ok(Json::Object(manifest)) = serde_json::to_value(&trace.manifest) else { return Err(Problem::internal()) };
    document(&Info {
        manifest,
        elapsed_ns: dwell_analyze::elapsed_ns(trace),
        cpus: trace.manifest.cpus.usable,
        target_concurrency: trace.manifest.target_concurrency.unwrap_or(trace.manifest.cpus.usable),
        metrics: METRICS.iter().map(metric).collect(),
        levels: Level::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect(),
        filter_keys: FilterKey::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect(),
        reports: Report::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect(),
        losses: lost(trace).collect(),
        notices: &trace.notices.text,
        threads: threads(trace),
        task_types: task_types(trace),
        counters: trace.annotations.counters.name.len(),
    })
}

fn task_types(trace: &Trace) -> Vec<TaskType> {
    let types = &trace.annotations.task_types;
    let columns = types.name.iter().zip(&types.domain).zip(&types.kind);
    let row = |((name, domain), kind): ((&String, &String), &u8)| TaskType {
        name: name.clone(),
        domain: domain.clone(),
        kind: TaskKind::from_code(*kind).id(),
    };
    columns.map(row).collect()
}

fn threads(trace: &Trace) -> Vec<ThreadInfo> {
    let (threads, processes) = (&trace.threads, &trace.processes);
    let of_thread = |thread: usize, times: &dwell_analyze::ThreadTimes| {
        let process = threads.process[thread].get().filter(|row| *row < processes.pid.len());
        ThreadInfo {
            id: thread,
            tid: threads.tid[thread],
            pid: process.map_or(0, |row| processes.pid[row]),
            name: threads.name[thread].clone(),
            process: process.map_or_else(String::new, |row| processes.name[row].clone()),
            start_ns: threads.start_ns[thread],
            end_ns: threads.end_ns[thread],
            running_ns: times.running_ns,
            runnable_ns: times.runnable_ns,
            waiting_ns: times.waiting_ns,
            waits: times.waits,
            switches: times.switches,
        }
    };
    let times = dwell_analyze::thread_times(trace);
    times.iter().enumerate().map(|(thread, times)| of_thread(thread, times)).collect()
}

/// The log of collection and finalization; of a long one, its end.
pub async fn log(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Document, Problem> {
    let read = app.compute({
        let app = app.clone();
        move || {
            let log = app.library.find(&id)?.log();
            log.map_err(|error| Problem::new(Fault::LogUnread, format!("the log cannot be read: {error}")))
        }
    });
    Ok(made(written(&LogText { text: read.await? })?))
}

/// A time of day as RFC 3339 in UTC; empty for a number outside the calendar.
fn date(seconds: f64) -> String {
    // 9999-12-31: what lies behind has no such form.
    if !(0.0..253_402_300_800.0).contains(&seconds) {
        return String::new();
    }
    let seconds = seconds as u64;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days, for days since 1970.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        assert_eq!(date(0.0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399.9), "2000-02-28T23:59:59Z");
        assert_eq!(date(1_709_208_000.0), "2024-02-29T12:00:00Z");
        assert_eq!(date(f64::NAN), "");
        assert_eq!(date(-1.0), "");
    }
}
