//! What a result is: the list of them, and for one its manifest, threads, losses, and the words that it can be asked in.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use dwell_analyze::{FilterKey, Level, METRICS, Report, lost};
use dwell_anatomy::trace;
use dwell_model::TaskKind;
use dwell_store::Trace;
use serde_json::{Value as Json, json};

use super::transport::document;
use crate::problem::{Fault, Problem};
use crate::state::{App, Listed};

fn answer(answer: &Json) -> Result<Response, Problem> {
    Ok(([("content-type", "application/json")], document(answer)?).into_response())
}

/// All results and traces.
pub async fn results(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let results = app.compute({
        let app = app.clone();
        move || Ok(app.library.results())
    });
    let traces = app.compute({
        let app = app.clone();
        move || Ok(app.library.traces().into_iter().map(|(id, path)| of_trace(&id, &path)).collect::<Vec<_>>())
    });
    let traces = traces.await?;
    let mut all: Vec<Json> = results.await?.iter().map(of_result).chain(traces).collect();
    all.sort_by(|a, b| b["created"].as_str().cmp(&a["created"].as_str()));
    answer(&all.into())
}

fn of_result(result: &Listed) -> Json {
    let manifest = result.manifest.as_ref().ok();
    let mut program = manifest.map_or_else(String::new, |it| it.command.join(" "));
    if program.is_empty() {
        let pids = manifest.into_iter().flat_map(|it| &it.target_pids);
        program = pids.map(u32::to_string).collect::<Vec<_>>().join(", ");
    }
    let (fault, problem) = result.problem().unzip();
    json!({
        "id": result.id,
        "name": result.id,
        "program": program,
        "analysis": manifest.map_or("", |it| &it.analysis),
        "elapsed_ns": manifest.map_or(0, |it| it.end_ns.saturating_sub(it.start_ns)),
        "created": manifest.map_or_else(String::new, |it| date(it.started_at)),
        "size_bytes": result.size_bytes,
        "problem": problem,
        "problem_kind": fault.map(Fault::id),
    })
}

/// An instruction trace among the results: how long it takes depends on the machine.
fn of_trace(id: &str, path: &std::path::Path) -> Json {
    let (recorded, problem) = match trace::recorded(path) {
        Ok(head) => (Some(head), None),
        Err(error) => (None, Some(error)),
    };
    let metadata = path.metadata().ok();
    let written = metadata.as_ref().and_then(|it| it.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "id": id,
        "name": id,
        "program": recorded.map_or(String::new(), |head| head.command.join(" ")),
        "analysis": "anatomy",
        "elapsed_ns": 0,
        "created": date(written.map_or(0.0, |it| it.as_secs_f64())),
        "size_bytes": metadata.map_or(0, |it| it.len()),
        "problem": problem.as_ref().map(ToString::to_string),
        "problem_kind": problem.map(|error| Problem::from(error).fault.id()),
    })
}

/// The result itself.
pub fn info(trace: &Trace) -> Result<String, Problem> {
    let word = |id: &str, title: &str, help: &str| json!({ "id": id, "title": title, "help": help });
    let metrics = METRICS.iter().map(|metric| {
        json!({
            "id": metric.id, "title": metric.title, "unit": metric.unit.id(), "additive": metric.additive,
            "better": metric.better.id(), "help": metric.short_help, "detail": metric.long_help,
        })
    });
    let losses = lost(trace)
        .map(|loss| json!({ "name": loss.name, "count": loss.count, "doc": loss.doc, "time_ns": loss.time_ns }));
    document(&json!({
        "manifest": serde_json::to_value(&trace.manifest).map_err(|_| Problem::internal())?,
        "elapsed_ns": dwell_analyze::elapsed_ns(trace),
        "cpus": trace.manifest.cpus.usable,
        "target_concurrency": trace.manifest.target_concurrency.unwrap_or(trace.manifest.cpus.usable),
        "metrics": metrics.collect::<Vec<_>>(),
        "levels": Level::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect::<Vec<_>>(),
        "filter_keys": FilterKey::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect::<Vec<_>>(),
        "reports": Report::ALL.iter().map(|it| word(it.id(), it.title(), it.help())).collect::<Vec<_>>(),
        "losses": losses.collect::<Vec<_>>(),
        "notices": trace.notices.text,
        "threads": threads(trace),
        "task_types": task_types(trace),
        "counters": trace.annotations.counters.name.len(),
    }))
}

fn task_types(trace: &Trace) -> Vec<Json> {
    let types = &trace.annotations.task_types;
    let columns = types.name.iter().zip(&types.domain).zip(&types.kind);
    let row = |((name, domain), kind): ((&String, &String), &u8)| json!({ "name": name, "domain": domain, "kind": TaskKind::from_code(*kind).id() });
    columns.map(row).collect()
}

fn threads(trace: &Trace) -> Vec<Json> {
    let (threads, processes) = (&trace.threads, &trace.processes);
    let of_thread = |thread: usize, times: &dwell_analyze::ThreadTimes| {
        let process = threads.process[thread].get().filter(|row| *row < processes.pid.len());
        json!({
            "id": thread,
            "tid": threads.tid[thread],
            "pid": process.map_or(0, |row| processes.pid[row]),
            "name": threads.name[thread],
            "process": process.map_or("", |row| &processes.name[row]),
            "start_ns": threads.start_ns[thread],
            "end_ns": threads.end_ns[thread],
            "running_ns": times.running_ns,
            "runnable_ns": times.runnable_ns,
            "waiting_ns": times.waiting_ns,
            "waits": times.waits,
            "switches": times.switches,
        })
    };
    let times = dwell_analyze::thread_times(trace);
    times.iter().enumerate().map(|(thread, times)| of_thread(thread, times)).collect()
}

/// The log of collection and finalization; of a long one, its end.
pub async fn log(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let read = app.compute({
        let app = app.clone();
        move || {
            let log = app.library.find(&id)?.log();
            log.map_err(|error| Problem::new(Fault::LogUnread, format!("the log cannot be read: {error}")))
        }
    });
    let text = read.await?;
    Ok(([("content-type", "application/json")], json!({ "text": text }).to_string()).into_response())
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
