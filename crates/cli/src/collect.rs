//! `dwell collect`: records a program, finalizes, and prints what is wrong with it.
//!
//! The program's exit status becomes Dwell's. SIGINT, SIGTERM and SIGHUP end the collection and never the data: during
//! finalization the next one ends Dwell, and `dwell finalize` goes on from the raw records.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_analyze::CallStackMode;
use dwell_capture::{Child, Collected, Launch, Options, Target, ValueProbe, may_record, pids_named};
use dwell_cgroups::Selection;
use dwell_store::ResultFolder;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{CollectArgs, FinalizationMode, IntervalArg, StartAt};
use crate::error::{Hinted, Result, quoted, shell_word, status, under_sudo};
use crate::finalize::Naming;
use crate::kernel_symbols::KernelSymbols;
use crate::owner::Invoker;
use crate::progress::Collecting;
use crate::reading::Reading;
use crate::{belonging, finalize, output, reading, report, terminal, trust};

/// The suffix of result folders: `r000th`.
pub const SUFFIX: &str = "th";
/// The same of the latency analysis.
const LATENCY_SUFFIX: &str = "la";
/// What is kept before an outlier, unless --ring-buffer says.
const AROUND_OUTLIER_NS: u64 = 5_000_000_000;
/// Raw data that a flight recorder may keep, unless --data-limit says.
const FLIGHT_RECORDER_BYTES: u64 = 1_000_000_000;

/// Collects what the command line says. Returns the program's exit status.
pub fn run(args: &CollectArgs) -> Result<ExitCode> {
    let own_only = trust::begin_collection()?;
    // Root reads them when they are needed; who has the right to from Dwell's file gives it up.
    let kernel = (!geteuid().is_root()).then(KernelSymbols::read);
    let invoker = Invoker::of_sudo();
    let result_owner = invoker.as_ref().map(Invoker::result_owner);
    let options = Options { own_only, result_owner, ..options(args, own_only)? };
    let folder = create_folder(args)?;
    let signals = Signals::catch()?;
    let outcome = record(&folder, &options, args.quiet, &signals);
    trust::keep(&[])?;
    give_away(invoker.as_ref(), &folder);
    let manifest = match outcome {
        Ok(Collected { is_cancelled: true, manifest }) => {
            let path = folder.path().display().to_string();
            folder
                .held()
                .clone()
                .delete()
                .map_err(|error| Hinted::new(format!("{path} cannot be deleted: {error}")))?;
            terminal::print_line(format_args!("dwell: cancelled; {path} is gone"));
            return Ok(program_status_or(manifest.exit_status));
        }
        Ok(Collected { manifest, .. }) => manifest,
        Err(broken) => {
            let (error, program) = *broken;
            let Some(mut program) = program else { return Err(error) };
            error.report();
            return Ok(program_status(program.wait(&signals.stop)));
        }
    };
    if !args.quiet {
        for notice in &manifest.notices {
            terminal::print_line(format_args!("dwell: {notice}"));
        }
        terminal::print_line(format_args!("dwell: result {}", folder.path().display()));
    }
    signals.let_through();
    let kernel = kernel.unwrap_or_else(KernelSymbols::read);
    let reading = Reading::default().writing_held(folder.held()).fetching(finalize::debug_files());
    let finished = reading.confine_as_owner(folder.held()).and_then(|()| finish(args, &folder, &kernel));
    give_away(invoker.as_ref(), &folder);
    finish_status(finished, manifest.exit_status)
}

/// The program's own status, whatever became of the result: whoever runs a job under Dwell wants to know whether that succeeded.
fn finish_status(finished: Result<()>, exit_status: Option<i32>) -> Result<ExitCode> {
    match (finished, exit_status) {
        (Ok(()), None) => Ok(ExitCode::SUCCESS),
        (Err(error), None) => Err(error),
        (finished, Some(status)) => {
            if let Err(error) = finished {
                error.report();
            }
            Ok(program_status(Some(status)))
        }
    }
}

/// Of a program that has not ended, success.
fn program_status_or(status: Option<i32>) -> ExitCode {
    status.map_or(ExitCode::SUCCESS, |status| program_status(Some(status)))
}

fn program_status(status: Option<i32>) -> ExitCode {
    ExitCode::from(status.and_then(|status| u8::try_from(status).ok()).unwrap_or(status::FAILURE))
}

/// Returns the program that runs on where the collection broke off.
fn record(
    folder: &ResultFolder,
    options: &Options,
    quiet: bool,
    signals: &Signals,
) -> std::result::Result<Collected, Box<(Hinted, Option<Child>)>> {
    let line = Collecting::new(quiet);
    let outcome = dwell_capture::collect(folder, options, &mut |progress| line.show(progress), &signals.stop);
    drop(line);
    outcome.map_err(|broken| Box::new((explain_broken(folder, broken.error), broken.program)))
}

fn explain_broken(folder: &ResultFolder, error: dwell_capture::Error) -> Hinted {
    if !folder.path().is_dir() {
        let hint = "the result's folder was removed or moved: name another one with --result-dir";
        return Hinted::new(&error).hint(hint);
    }
    // Without a manifest there is nothing to finalize.
    let began = began(&error) && folder.path().join("manifest.json").is_file();
    if !began {
        // Nothing was recorded; the error tells why, and an empty folder tells nobody anything.
        let _ = folder.held().clone().delete();
    }
    explain(error, began.then(|| folder.path()))
}

fn finish(args: &CollectArgs, folder: &ResultFolder, kernel: &KernelSymbols) -> Result<()> {
    match args.finalization_mode {
        FinalizationMode::None => return Ok(()),
        FinalizationMode::Deferred => {
            if !args.quiet {
                terminal::print_line(format_args!("dwell: next: dwell finalize {}", quoted(folder.path())));
            }
            return Ok(());
        }
        FinalizationMode::Full | FinalizationMode::Fast => {}
    }
    let naming = Naming { search_dirs: &args.search_dir, mode: args.finalization_mode, kernel };
    let trace = finalize::run_on(folder, &naming, args.quiet)?;
    finalize_outliers(&naming, folder);
    if args.quiet {
        return Ok(());
    }
    output::print(&report::after_collection(&trace, args, folder.path())?)
}

/// The results that a trigger kept.
fn finalize_outliers(naming: &Naming<'_>, folder: &ResultFolder) {
    let Ok(outliers) = folder.held().folder(dwell_capture::OUTLIERS) else { return };
    let names = outliers.names().unwrap_or_default();
    for name in names.iter().filter_map(|name| name.to_str()) {
        let opened = ResultFolder::open_in(&outliers, name).map_err(Hinted::from);
        let finalized = opened.and_then(|folder| finalize::run_on(&folder, naming, true));
        // One that is damaged, or no result, must not keep the others from the user.
        if let Err(error) = finalized {
            let path = outliers.path().join(name);
            terminal::print_line(format_args!("dwell: {} is not complete: {error}", path.display()));
            terminal::print_line(format_args!("hint: dwell finalize {}", quoted(&path)));
        }
    }
}

/// The collector's options from the command line.
fn options(args: &CollectArgs, own_only: bool) -> Result<Options> {
    let joining = belonging::selection(&args.belonging)?;
    let target = match &joining {
        Some(selection) => Target::Attach(members(selection, own_only)),
        None => target(args, own_only)?,
    };
    let mut options = Options::new(target);
    options.joining = joining;
    options.topics = args.analyze.topics();
    options.source = args.source.into();
    options.system_interval_ns = args.analyze.system_interval;
    options.sampling_interval_ns = args.sampling_interval;
    options.follow_children = !args.no_follow_child;
    options.strategy.clone_from(&args.strategy);
    options.start_paused = args.start_paused || args.resume_after.is_some() || args.start_at.is_some();
    options.resume_at_ns = args.start_at.map(StartAt::monotonic_ns);
    options.resume_after_ns = args.resume_after;
    options.duration_ns = args.duration;
    options.data_limit_bytes = args.data_limit.unwrap_or(0);
    options.ring_buffer_ns = args.ring_buffer;
    if args.trigger.is_some() {
        options.trigger.clone_from(&args.trigger);
        options.outliers_per_minute = args.trigger_limit;
        options.ring_buffer_ns = args.ring_buffer.or(Some(AROUND_OUTLIER_NS));
        options.data_limit_bytes = args.data_limit.unwrap_or(FLIGHT_RECORDER_BYTES);
        options.outliers_bytes = options.data_limit_bytes;
    }
    options.kernel_stacks_for_all = args.call_stack_mode == CallStackMode::All;
    options.itt = !args.no_itt;
    options.fibers = args.fibers.into();
    options.task_probes.clone_from(&args.task_probe);
    options.task_probes.extend(args.interval.iter().filter_map(IntervalArg::probe).cloned());
    options.probes = args.probe.iter().map(|text| value_probe(text)).collect::<Result<_>>()?;
    options.requests = args.interval.contains(&IntervalArg::Socket);
    options.events = args.events.clone().map(|list| list.0).unwrap_or_default();
    options.target_concurrency = args.target_concurrency;
    options.command_line = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(options)
}

fn value_probe(text: &str) -> Result<ValueProbe> {
    ValueProbe::parse(text).map_err(|error| Hinted::usage(&error).details(error.pointing()).hint(error.hint))
}

/// The processes of a selection that may be recorded now; there may be none yet.
fn members(selection: &Selection, own_only: bool) -> Vec<u32> {
    selection.pids().into_iter().filter(|&pid| may_record(pid, own_only)).collect()
}

fn target(args: &CollectArgs, own_only: bool) -> Result<Target> {
    if !args.command.is_empty() {
        return Ok(Target::Launch(launch(args)));
    }
    if let Some(name) = &args.target_process {
        let pids = pids_named(name, own_only);
        let hint = "pgrep -a . lists the processes that run; --target-pid takes a number";
        return if pids.is_empty() {
            Err(Hinted::new(format!("no process runs a program called {name}")).hint(hint))
        } else {
            Ok(Target::Attach(pids))
        };
    }
    if args.target_pid.is_empty() {
        let hint = "dwell collect threading -- PROGRAM ARGS, or --target-pid PID, or --all";
        return Err(Hinted::usage("nothing to profile: no program and no process was named").hint(hint));
    }
    Ok(Target::Attach(args.target_pid.clone()))
}

fn launch(args: &CollectArgs) -> Launch {
    let user = args.user.clone().or_else(|| Invoker::of_sudo().map(|invoker| invoker.name));
    Launch { command: args.command.clone(), working_dir: args.app_working_dir.clone(), user }
}

/// Makes the folder of the result that the command line asks for.
pub fn create_folder(args: &CollectArgs) -> Result<ResultFolder> {
    match &args.result_dir {
        Some(path) => Ok(ResultFolder::create(path)?),
        None => {
            reading::await_results_here()?;
            let suffix = if args.analyze.is_latency() { LATENCY_SUFFIX } else { SUFFIX };
            Ok(ResultFolder::create_next(Path::new(""), suffix)?)
        }
    }
}

/// Under sudo the result becomes the user's. What cannot be given away is still readable by all.
pub fn give_away(invoker: Option<&Invoker>, folder: &ResultFolder) {
    let Some(invoker) = invoker else { return };
    match invoker.take_folder(folder.held()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            terminal::print_line(format_args!("dwell: {} stays root's: {error}", folder.path().display()));
        }
        _ => {}
    }
}

/// Whether recording had begun: then the folder has something in it.
fn began(error: &dwell_capture::Error) -> bool {
    use dwell_capture::Error as E;
    matches!(error, E::System { .. } | E::Store(_))
}

/// The collector's error for people.
pub fn explain(error: dwell_capture::Error, kept: Option<&Path>) -> Hinted {
    use dwell_capture::Error as E;
    let hinted = Hinted::new(&error);
    match error {
        E::Permission { .. } | E::PerfRefused { by_setting: false, .. } | E::NeedsBpf { .. } => {
            hinted.hint(with_more_rights()).with_status(status::UNAVAILABLE)
        }
        E::ForeignProc => {
            let hint = "mount -t proc proc /proc, in the mount namespace that Dwell runs in";
            hinted.hint(hint).with_status(status::UNAVAILABLE)
        }
        E::Unsupported { remedy, log, .. } => hinted.details(log).hint(remedy).with_status(status::UNAVAILABLE),
        E::Bpf { .. } => hinted.hint("dwell doctor says what this machine offers").with_status(status::UNAVAILABLE),
        E::PerfRefused { by_setting: true, .. } => hinted
            .hint("sudo sysctl kernel.perf_event_paranoid=2 lets every user record their own programs, until the next boot")
            .with_status(status::UNAVAILABLE),
        E::EventRefused { .. } => hinted
            .hint("dwell doctor says what this machine offers; --events page-faults,context-switches is counted everywhere")
            .with_status(status::UNAVAILABLE),
        E::ProgramNotFound { program } => hinted.hint(where_it_is(&program)),
        E::ProgramNotExecutable { program, source } if source.kind() == io::ErrorKind::NotFound => hinted.hint(format!(
            "head -1 {0} shows the interpreter that is not there (of a binary it is its loader: ldd {0}); name another one: -- sh {0}",
            word(&program)
        )),
        E::ProgramNotExecutable { program, .. } => {
            hinted.hint(format!("chmod +x {0}; for a script, name its interpreter: -- sh {0}", word(&program)))
        }
        E::TooFewDescriptors { needed, .. } => {
            hinted.hint(format!("ulimit -n {}", needed.next_power_of_two())).with_status(status::UNAVAILABLE)
        }
        E::NotYours { .. } => hinted.hint(under_sudo()).with_status(status::UNAVAILABLE),
        E::NoSuchProcess { .. } => hinted.hint("pgrep -a NAME finds the process; --target-process takes a name"),
        E::TaskProbe(error) => hinted.hint(error.hint()),
        E::ValueProbe(error) => hinted.details(error.pointing()).hint(error.hint),
        E::TracepointsNeedRoot => hinted.hint(under_sudo()).with_status(status::UNAVAILABLE),
        E::TracepointRefused { .. } => hinted
            .hint("Linux 5.15 and newer set probes at tracepoints; dwell doctor says what this machine offers")
            .with_status(status::UNAVAILABLE),
        E::TooManyProbeSites { .. } => hinted.hint("leave out --probe until there are fewer places"),
        E::TooManyAtACall { most } => hinted.hint(format!("leave out --interval until no call ends more than {most}")),
        E::NoSuchCall { .. } => hinted.hint("man 2 syscalls lists them; dwell knows those of x86-64"),
        E::NoSuchProbeFile { .. } => hinted.hint("name it with its path: --task-probe NAME=uprobe:/path/to/file:FUNCTION"),
        E::TaskProbeRefused { .. } if error.is_for_lack_of_rights() => {
            hinted.hint(with_more_rights()).with_status(status::UNAVAILABLE)
        }
        E::TaskProbeRefused { .. } => hinted
            .hint("zgrep CONFIG_UPROBE_EVENTS /proc/config.gz tells whether the kernel has uprobes; the file must be on a disk"),
        E::NoSuchUser { .. } => hinted.hint("getent passwd lists the users"),
        E::Store(error) => kept.map_or_else(|| error.into(), |folder| continue_with(&hinted, folder)),
        E::System { .. } => {
            kept.map_or(hinted, |folder| continue_with(&Hinted::new("the collection broke off"), folder))
        }
    }
}

/// Root has all rights: something else refuses them.
fn with_more_rights() -> String {
    if rustix::process::geteuid().is_root() {
        return "dwell doctor says what this machine offers".to_owned();
    }
    under_sudo()
}

fn continue_with(error: &Hinted, folder: &Path) -> Hinted {
    Hinted::new(error).hint(format!("dwell finalize {} shows what was recorded until then", quoted(folder)))
}

fn where_it_is(program: &OsStr) -> String {
    let here = Path::new(".").join(program);
    if here.is_file() {
        return format!("it is in the current folder: -- {}", quoted(&here));
    }
    format!("command -v {} finds out where it is", word(program))
}

fn word(word: &OsStr) -> String {
    shell_word(&word.to_string_lossy())
}

/// The signals that end a collection.
pub struct Signals {
    /// Whether one came.
    pub stop: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
}

impl Signals {
    /// From now on they are noted.
    pub fn catch() -> Result<Self> {
        let signals = Self { stop: Arc::default(), again: Arc::default() };
        // Under nohup a terminal that goes away ends nothing.
        let ends = |signal: &i32| *signal != SIGHUP || !dwell_capture::was_ignored(SIGHUP);
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(ends) {
            // In this order: once `again` is set, the signal has its default effect.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&signals.again))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&signals.stop)))
                .map_err(|error| Hinted::new(format!("cannot handle signals: {error}")))?;
        }
        Ok(signals)
    }

    /// Whether one came.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// From now on a signal ends Dwell.
    fn let_through(&self) {
        self.again.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_privileges_have_their_own_status_and_the_exact_command() {
        let error = explain(dwell_capture::Error::Permission { missing: "CAP_BPF".into() }, None);
        let text = format!("{error:?}");
        let way = if rustix::process::geteuid().is_root() { "dwell doctor" } else { "sudo /" };
        assert!(text.contains("status: 77") && text.contains(way), "{text}");
    }

    #[test]
    fn a_broken_off_collection_names_the_way_on() {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let error = dwell_store::Error::Io { path: "r000th/spool".into(), source };
        let text = format!("{:?}", explain(error.into(), Some(Path::new("r000th"))));
        assert!(text.contains("dwell finalize r000th"), "{text}");
    }
}
