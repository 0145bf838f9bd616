//! The last seconds of what is shown: `dwell collect` records in the background and keeps only its end, and a key makes an ordinary
//! result of that. The recording lies in a hidden folder of the current one, since a result shares its files by hard links.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use dwell_store::{ControlReply, ControlRequest, ControlStatus, Folder, ResultFolder};
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::args::TopArgs;
use crate::collect::{SUFFIX, give_away};
use crate::control::ask;
use crate::error::{Hinted, Result, quoted};
use crate::output_end::OutputEnd;
use crate::owner::Invoker;
use crate::text::units;

/// What is kept where no time is said.
pub const USUAL_KEPT_NS: u64 = 30_000_000_000;
/// How often the collector is asked how it goes.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Descriptions that the collector keeps beside its events, in MB: then it records no more.
const DATA_LIMIT_MEGABYTES: &str = "1000";
/// The collector's result within the hidden folder.
const RESULT: &str = "result";

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The options of `dwell collect` that choose it.
    pub options: Vec<String>,
    /// The same in words: `all processes`.
    pub title: String,
}

impl Recorded {
    /// What the screen shows: the process whose threads it shows, else what the command line chooses.
    pub fn shown(args: &TopArgs, inside: Option<(u32, String)>) -> Self {
        if let Some((pid, name)) = inside {
            return Self { options: vec![format!("--target-pid={pid}")], title: format!("{name} ({pid})") };
        }
        let belonging = &args.belonging;
        let groups = [("cgroup", &belonging.cgroup), ("unit", &belonging.unit), ("container", &belonging.container)];
        let named = groups.into_iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name.clone())));
        let pids = args.target_pid.iter().map(|pid| ("target-pid", pid.to_string()));
        let name = args.target_process.iter().map(|name| ("target-process", name.clone()));
        let chosen: Vec<(&str, String)> = named.chain(pids).chain(name).collect();
        if chosen.is_empty() {
            // Dwell itself waits, too, which would be among the causes.
            let options = ["--all", "--strategy=dwell:notrace:notrace"];
            return Self { options: options.map(str::to_owned).to_vec(), title: "all processes".to_owned() };
        }
        let title = chosen.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join(", ");
        Self { options: chosen.into_iter().map(|(kind, what)| format!("--{kind}={what}")).collect(), title }
    }
}

/// What the thread that asks the collector tells.
enum Told {
    Status(ControlStatus),
    Written(PathBuf, Duration),
    Failed(String),
}

/// A recording of the last seconds that goes on.
pub struct Recorder {
    what: Recorded,
    kept_ns: u64,
    child: Child,
    messages: OutputEnd,
    /// CPU time of the collector at the last look, and when that was.
    looked: (Duration, Instant),
    status: Option<ControlStatus>,
    wishes: Sender<()>,
    told: Receiver<Told>,
    is_writing: bool,
    /// What the last look at it found.
    cost: String,
    folder: TempDir,
}

impl Recorder {
    /// Begins, in the current folder.
    pub fn start(what: Recorded, kept_ns: u64) -> Result<Self> {
        let hint = "cd to a folder that you may write to, and run dwell top again";
        let failed = |error: std::io::Error| Hinted::new(format!("cannot record here: {error}")).hint(hint);
        let folder = tempfile::Builder::new().prefix(".dwell-top-").tempdir_in(".").map_err(failed)?;
        let result = folder.path().join(RESULT);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        // As the agent's recordings do, it ends with this process, whatever ends that.
        command.args(["window", "--agent"]).arg(std::process::id().to_string()).arg("--");
        command.args(["collect", "threading", "--quiet", "--finalization-mode=none"]);
        command.args(["--data-limit", DATA_LIMIT_MEGABYTES]).args(&what.options);
        command.arg(format!("--ring-buffer={}ms", (kept_ns / 1_000_000).max(1)));
        command.arg("--result-dir").arg(&result);
        // A group of its own: Ctrl-C in the terminal is not for it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let stderr = child.stderr.take().ok_or_else(|| Hinted::new("cannot read what the recording says"))?;
        let ((wishes, wished), (tell, told)) = (channel(), channel());
        thread::spawn(move || serve(&result, &wished, &tell));
        Ok(Self {
            what,
            kept_ns,
            child,
            messages: OutputEnd::of(stderr),
            looked: (Duration::ZERO, Instant::now()),
            status: None,
            wishes,
            told,
            is_writing: false,
            cost: String::new(),
            folder,
        })
    }

    /// Asks for a result of what is kept. What to say meanwhile.
    pub fn write(&mut self) -> String {
        if self.is_writing {
            return "the last seconds are being written already".to_owned();
        }
        if self.status.is_none() {
            return "the recording is only beginning: w again in a moment".to_owned();
        }
        self.is_writing = self.wishes.send(()).is_ok();
        format!("writing the last {} …", units::duration(self.kept_so_far_ns()))
    }

    fn kept_so_far_ns(&self) -> u64 {
        self.status.as_ref().map_or(0, |status| status.elapsed_ns).min(self.kept_ns)
    }

    /// What it has to say since the last call: a result that was written, or a failure; with whether it has ended.
    pub fn take_messages(&mut self, results: &mut Vec<PathBuf>) -> (Option<String>, bool) {
        let mut message = None;
        while let Ok(told) = self.told.try_recv() {
            match told {
                Told::Status(status) => self.status = Some(status),
                Told::Written(path, took) => {
                    self.is_writing = false;
                    let name = quoted(&path);
                    message = Some(format!(
                        "{name} has what was recorded last (finalized in {:.1} s): dwell report explain {name}, dwell view {name}",
                        took.as_secs_f64()
                    ));
                    results.push(path);
                }
                Told::Failed(why) => {
                    self.is_writing = false;
                    message = Some(why);
                }
            }
        }
        if let Ok(Some(_)) = self.child.try_wait() {
            let said = self.messages.text();
            let first = said.lines().next().unwrap_or("dwell: it said nothing").trim_start_matches("dwell: ");
            return (Some(format!("the recording has ended: {first}")), true);
        }
        (message, false)
    }

    /// Looks what it costs.
    pub fn look(&mut self) {
        let cpu = cpu_time(self.child.id()).unwrap_or_default();
        let (before, since) = std::mem::replace(&mut self.looked, (cpu, Instant::now()));
        let share = cpu.saturating_sub(before).as_secs_f64() / since.elapsed().as_secs_f64().max(1e-3);
        let spool = Folder::open(&self.folder.path().join(RESULT)).and_then(|folder| folder.folder("spool"));
        let bytes = spool.and_then(|spool| {
            Ok(spool.names()?.iter().filter_map(|name| Some(spool.size(name.to_str()?))).sum::<u64>())
        });
        let bytes = bytes.map(|bytes| format!(", {}", units::bytes(bytes))).unwrap_or_default();
        self.cost = format!("{:.1} % of a CPU{bytes}", share * 100.0);
    }

    /// A line for the head of the screen.
    pub fn line(&self) -> String {
        let kept = match self.status {
            None => format!("begins to record {}", self.what.title),
            Some(_) => format!("records {}: keeps {}", self.what.title, units::duration(self.kept_so_far_ns())),
        };
        let keys = if self.is_writing { "writing …" } else { "w writes, W ends" };
        format!("● {kept}, {}; {keys}", self.cost)
    }
}

impl Drop for Recorder {
    /// It ends as by Ctrl-C: what it records runs on.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
            let _ = self.child.wait();
        }
    }
}

/// Asks the collector how it goes, and for results, until nobody listens.
fn serve(collected: &Path, wished: &Receiver<()>, tell: &Sender<Told>) {
    loop {
        let told = match wished.recv_timeout(ASK_EVERY / 4) {
            Ok(()) => {
                let began = Instant::now();
                match write(collected) {
                    Ok(path) => Told::Written(path, began.elapsed()),
                    Err(error) => Told::Failed(format!("nothing was written: {error}")),
                }
            }
            Err(RecvTimeoutError::Timeout) => match ask(collected, &ControlRequest::Status) {
                Ok(ControlReply::Status(status)) => Told::Status(status),
                _ => continue, // it has not begun, or ends
            },
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if tell.send(told).is_err() {
            return;
        }
    }
}

/// Makes a result of what is kept, in the current folder.
fn write(collected: &Path) -> Result<PathBuf> {
    let name = match ask(collected, &ControlRequest::Snapshot)? {
        ControlReply::Snapshot(name) => name,
        ControlReply::Refused(why) => return Err(Hinted::new(why)),
        _ => return Err(Hinted::new("the collector answers something else")),
    };
    let kept = ResultFolder::open(&collected.join(name))?;
    let made = ResultFolder::create_next(Path::new(""), SUFFIX)?;
    for (from, to) in [(kept.spool()?, made.spool()?), (kept.modules()?, made.modules()?)] {
        let failed = |error| Hinted::new(format!("{} cannot be filled: {error}", made.path().display()));
        dwell_capture::link_all(&from, &to).map_err(failed)?;
    }
    made.write_manifest(&kept.manifest()?)?;
    let _ = kept.held().clone().delete(); // the hidden folder goes with it anyway
    finalize(made.path())?;
    give_away(Invoker::of_sudo().as_ref(), &made);
    Ok(made.path().to_owned())
}

fn finalize(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Hinted::new(format!("cannot finalize {}: {error}", path.display()));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    let output = command.args(["finalize", "--quiet"]).arg(path).process_group(0).output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Hinted::new(said.lines().next().unwrap_or("finalizing failed").trim_start_matches("dwell: ").to_owned()))
}

/// CPU time of process `pid`: fields 14 and 15 of proc_pid_stat(5).
fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    fn recorded(words: &[&str], inside: Option<(u32, String)>) -> (Vec<String>, String) {
        let cli = Cli::try_parse_from([&["dwell", "top"], words].concat()).expect("options of top");
        let crate::args::Command::Top(args) = cli.command else { panic!("another command") };
        let Recorded { options, title } = Recorded::shown(&args, inside);
        (options, title)
    }

    #[test]
    fn what_is_shown_is_recorded() {
        let one = |option: &str, title: &str| (vec![option.to_owned()], title.to_owned());
        assert_eq!(recorded(&[], None).1, "all processes");
        assert_eq!(recorded(&["--all"], None).0, ["--all", "--strategy=dwell:notrace:notrace"]);
        assert_eq!(recorded(&["-p", "7"], None), one("--target-pid=7", "7"));
        assert_eq!(recorded(&["--target-process=-x y"], None), one("--target-process=-x y", "-x y"));
        assert_eq!(recorded(&["--unit", "web"], Some((9, "boss".into()))), one("--target-pid=9", "boss (9)"));
        let (options, title) = recorded(&["--cgroup", "a*", "--container", "db"], None);
        assert_eq!(options, ["--cgroup=a*", "--container=db"]);
        assert_eq!(title, "a*, db");
    }

    #[test]
    fn this_process_has_used_time() {
        assert!(cpu_time(std::process::id()).is_some());
        assert_eq!(cpu_time(0), None);
    }
}
