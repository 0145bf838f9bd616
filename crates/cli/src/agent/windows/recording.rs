//! One window: everything is recorded for a moment, explained, and deleted.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use dwell_cgroups::Selection;
use dwell_files::Folder;
use dwell_fleet::CauseRow;
use rustix::process::{Pid, test_kill_process};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::super::processes::{NamedProcess, ProcessNames};
use super::super::settings::AgentSettings;
use super::super::versions::BuildIds;
use super::child;
use super::explained::{ExplainedWindow, WindowProcesses};

/// What is recorded before the window. Until the hooks are attached, the waits that threads were in are not seen to end, so that they look
/// longer than they are, the more the busier the host is.
const LEAD: Duration = Duration::from_millis(500);
/// Beside its length, what a window's recording and each report may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Causes that are kept of a window, the largest.
const MOST_CAUSES: &str = "--limit=500";
/// What is read of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// Processes of one name that are told apart by reports of their own …
const MOST_ALIKE: usize = 32;
/// … each of so many numbers.
const MOST_PIDS: usize = 500;
/// How folders of windows are called, before the number of their agent.
const PREFIX: &str = "dwell-window-";

/// What a window says.
#[derive(Debug, Default)]
pub struct RecordedWindow {
    /// When it began, Unix time.
    pub start_ns: i64,
    /// How long it is.
    pub length_ns: i64,
    /// Who was there.
    pub processes: WindowProcesses,
    /// Why whose threads waited.
    pub causes: Vec<(NamedProcess, CauseRow)>,
}

/// What the manifest of a result says of its time.
#[derive(Deserialize)]
struct RecordedTime {
    started_at: f64,
    start_ns: u64,
    end_ns: u64,
}

/// Records a window now; gives why that failed. `None`: it was told to stop.
pub fn record(
    settings: &AgentSettings,
    build_ids: &BuildIds,
    told_to_stop: &Receiver<()>,
) -> Option<Result<RecordedWindow, String>> {
    let folder = match TempDir::with_prefix(format!("{PREFIX}{}-", std::process::id())) {
        Ok(folder) => folder,
        Err(error) => return Some(Err(format!("no temporary folder can be made: {error}"))),
    };
    let names = ProcessNames::by(&settings.rules, build_ids);
    let mut processes = WindowProcesses::default();
    add_living(&mut processes, &names);
    let (result, length) = (folder.path().join("result"), Duration::from_nanos(settings.window_ns));
    let mut words = words(&["collect", "threading", "--all", "--quiet"]);
    words.push(format!("--duration={}s", (LEAD + length).as_secs_f64()).into());
    words.push(option("--result-dir=", &result));
    if let Err(why) = child::run(&words, LEAD + length + PATIENCE, told_to_stop)? {
        return Some(Err(why));
    }
    add_living(&mut processes, &names);
    let explained = explain(folder.path(), &result, &[], told_to_stop)?;
    let mut causes = match explained {
        Ok(explained) => explained.of_names(&processes),
        Err(why) => return Some(Err(why)),
    };
    for (named, pids) in processes.alike().take(MOST_ALIKE) {
        let filters: Vec<OsString> =
            pids.iter().take(MOST_PIDS).map(|pid| format!("--filter=pid={pid}").into()).collect();
        match explain(folder.path(), &result, &filters, told_to_stop)? {
            Ok(explained) => causes.extend(explained.of_one(named)),
            Err(why) => return Some(Err(why)),
        }
    }
    let time = answer::<RecordedTime>(&result.join("manifest.json"));
    let span = time.and_then(|time| unix_span(&time).ok_or_else(|| "its recording ended too early".into()));
    Some(span.map(|(start_ns, length_ns)| RecordedWindow { start_ns, length_ns, processes, causes }))
}

/// The root causes of a result's waits, of those that the filters let through.
fn explain(
    folder: &Path,
    result: &Path,
    filters: &[OsString],
    told_to_stop: &Receiver<()>,
) -> Option<Result<ExplainedWindow, String>> {
    let file = folder.join("explained.json");
    let mut words = words(&["report", "explain", "--format=json", MOST_CAUSES]);
    words.push(option("--output=", &file));
    words.push(format!("--time-range={}s-", LEAD.as_secs_f64()).into());
    words.extend(filters.iter().cloned());
    words.push(result.into());
    let ended = child::run(&words, PATIENCE, told_to_stop)?;
    Some(ended.and_then(|()| answer(&file)))
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// What a file of JSON says.
fn answer<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        dwell_files::open_regular(file)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{} is not understood: {error}", file.display()))
}

/// Begin and length of the window in a recording; `None` where that ended before the window.
fn unix_span(time: &RecordedTime) -> Option<(i64, i64)> {
    let lead_ns = i64::try_from(LEAD.as_nanos()).ok()?;
    let recorded_ns = i64::try_from(time.end_ns.checked_sub(time.start_ns)?).ok()?;
    let length_ns = recorded_ns.checked_sub(lead_ns).filter(|length_ns| *length_ns > 0)?;
    Some((((time.started_at * 1e9) as i64).saturating_add(lead_ns), length_ns))
}

fn add_living(processes: &mut WindowProcesses, names: &ProcessNames<'_>) {
    for pid in Selection::Machine.pids() {
        if let Some(named) = names.living(pid) {
            processes.add(pid, named);
        }
    }
}

/// Removes the folders of agents that were killed.
pub fn remove_left_behind() {
    let Ok(temporary) = Folder::open(&std::env::temp_dir()) else { return };
    for name in temporary.names().unwrap_or_default() {
        let Some((name, agent)) = name.to_str().and_then(|name| Some((name, agent_of(name)?))) else { continue };
        let is_own = temporary.folder(name).is_ok_and(|folder| folder.is_this_users());
        if is_own && test_kill_process(agent).is_err() {
            let _ = temporary.remove(name); // another agent may do it now
        }
    }
}

/// The agent that made a folder of this name.
fn agent_of(name: &str) -> Option<Pid> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    Pid::from_raw(pid.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_time_of_its_manifest() {
        let time = |end_ns| RecordedTime { started_at: 1_795_844_420.5, start_ns: 100, end_ns };
        assert_eq!(unix_span(&time(500_001_100)), Some((1_795_844_421_000_000_000, 1_000)));
        assert_eq!((unix_span(&time(500_000_100)), unix_span(&time(0))), (None, None));
    }

    #[test]
    fn folders_of_agents_that_are_gone_are_removed() {
        assert_eq!(agent_of("dwell-window-7-abc").map(|pid| pid.as_raw_nonzero().get()), Some(7));
        assert_eq!((agent_of("dwell-window-x-abc"), agent_of("other-7-abc")), (None, None));
        let of = |pid: u32| TempDir::with_prefix(format!("{PREFIX}{pid}-")).unwrap();
        let (gone, own) = (of(i32::MAX as u32), of(std::process::id()));
        remove_left_behind();
        assert!(!gone.path().exists() && own.path().exists());
    }
}
