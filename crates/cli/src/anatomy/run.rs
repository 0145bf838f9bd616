//! `dwell anatomy run`: records a program and replays it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use dwell_anatomy::annotate::{Anatomy, Annotator};
use dwell_anatomy::program::{self, EMULATOR, Unfit};
use dwell_anatomy::reports::Asked;
use dwell_anatomy::trace::{Head, TraceWriter};
use dwell_anatomy::{Ended, Error, Listener, Namer, Recorder, Stopper, Window, Windowed};
use dwell_capture::IttLibrary;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::names::FileNames;
use super::replay;
use crate::args::{RecordedArgs, RunArgs};
use crate::error::{Hinted, Result, quoted, shell_word, status};
use crate::owner::Invoker;
use crate::terminal;
use crate::text::units;

/// Records a program, and shows a report. Returns the program's exit status.
pub fn program(args: &RunArgs) -> Result<ExitCode> {
    replay::check_recorded(&args.report)?;
    let Some(name) = args.command.first() else { return Err(Hinted::usage("which program?").hint("-- PROGRAM")) };
    let program = program::check(name).map_err(|unfit| of_program(&unfit, args))?;
    let emulator = program::find(OsStr::new(EMULATOR)).ok_or_else(no_emulator)?;
    let annotator = replay::annotator(&args.model)?;
    let collector = match args.recorded.window {
        Some(Window::Tasks) => Some(IttLibrary::install().map_err(|error| no_collector(&error))?),
        _ => None,
    };
    let start = || {
        let command = |plugin: &str| {
            let mut command = program::command(&emulator, &program, &args.command, plugin);
            command.envs(collector.iter().map(IttLibrary::variable));
            command
        };
        Recorder::start(command, false).map_err(|error| of_recording(&error))
    };
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let head = Head { command: words.collect(), ..Head::default() };
    let (ended, anatomy) = record(start, &mut FileNames::default(), &head, &args.recorded, annotator)?;
    if ended.left {
        terminal::print_line(
            "dwell: the program started another one in its place, or closed what it inherited: the trace ends there",
        );
    }
    let asked = Asked { limit: args.shown.limit, function: None, depth: u16::MAX };
    replay::show(&args.report, &anatomy, &asked, &args.shown)?;
    Ok(exit_code(ended))
}

/// Records, into a file and from there into the model, or into the model at once.
pub fn record(
    start: impl FnOnce() -> Result<Recorder>,
    namer: &mut dyn Namer,
    head: &Head,
    args: &RecordedArgs,
    mut annotator: Annotator,
) -> Result<(Ended, Anatomy)> {
    let (recorded, signals) = survive_signals()?;
    if args.no_trace {
        let ended = drain(start()?, signals, namer, args, &mut annotator)?;
        recorded.store(true, Ordering::Relaxed);
        return Ok((ended, annotator.finish()));
    }
    let path = args.trace.clone().unwrap_or_else(replay::next);
    let file = BufWriter::with_capacity(1 << 20, create(&path)?);
    let mut writer = TraceWriter::new(file, head).map_err(|error| unwritten(&path, &error))?;
    let began = Instant::now();
    let ended = start().and_then(|recorder| drain(recorder, signals, namer, args, &mut writer));
    let elapsed = began.elapsed();
    let ended = ended.inspect_err(|_| {
        let _ = std::fs::remove_file(&path);
    })?;
    writer.finish().inspect_err(|_| drop(std::fs::remove_file(&path))).map_err(|error| unwritten(&path, &error))?;
    recorded.store(true, Ordering::Relaxed);
    let anatomy = replay::replay(&path, annotator)?;
    tell(&path, &anatomy, elapsed.as_secs_f64());
    Ok((ended, anatomy))
}

fn drain(
    recorder: Recorder,
    signals: Signals,
    namer: &mut dyn Namer,
    args: &RecordedArgs,
    listener: &mut dyn Listener,
) -> Result<Ended> {
    let window = args.window.clone().unwrap_or_default();
    let mut windowed = Windowed::new(window.clone(), listener);
    let signals = end_when_told(signals, recorder.stopper())?;
    let ended = recorder.drain(namer, &mut windowed).map_err(|error| of_recording(&error));
    signals.close();
    let ended = ended?;
    if windowed.opened == 0 {
        return Err(empty_window(&window));
    }
    Ok(ended)
}

fn empty_window(window: &Window) -> Hinted {
    let what = match window {
        Window::Within(function) => format!("no function `{function}` was executed"),
        Window::Tasks => "the program began no ITT task".to_owned(),
        Window::Between(begin, _) => format!("no function `{begin}` was executed"),
        _ => "the program ended before the window began".to_owned(),
    };
    Hinted::new(format!("{what}: there is nothing in the window"))
        .hint("dwell anatomy run without --window shows what is executed")
}

/// How much was recorded, and what to type next.
fn tell(path: &Path, anatomy: &Anatomy, seconds: f64) {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let total = anatomy.total();
    let instructions = total.instructions + total.string_iterations;
    let per_instruction = bytes as f64 / instructions.max(1) as f64;
    terminal::print_line(format_args!(
        "dwell: {} instructions in {} s; {}, {} bytes for each",
        units::count(instructions),
        units::real(seconds),
        units::bytes(bytes),
        units::real(per_instruction)
    ));
    terminal::print_line(format_args!("{}", replay::next_steps(path)));
}

/// No signal ends Dwell until the flag is set. Ctrl-C goes to the program too, which ends as it sees fit; the others are
/// those that only Dwell gets.
fn survive_signals() -> Result<(Arc<AtomicBool>, Signals)> {
    let recorded = Arc::new(AtomicBool::new(false));
    // Under nohup a terminal that goes away ends nothing.
    let hangs_up = (!dwell_capture::was_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangs_up) {
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&recorded));
    }
    let signals = Signals::new(std::iter::once(SIGTERM).chain(hangs_up));
    Ok((recorded, signals.map_err(|error| Hinted::new(format!("cannot handle signals: {error}")))?))
}

/// The first of the signals ends the program, and what was recorded is kept. Until the handle is closed.
fn end_when_told(mut signals: Signals, stopper: Stopper) -> Result<Handle> {
    let handle = signals.handle();
    let watching = move || {
        if signals.forever().next().is_some() {
            let _ = stopper.stop();
        }
    };
    let started = thread::Builder::new().spawn(watching);
    started
        .map_err(|error| Hinted::new(format!("cannot watch for signals: {error}")).hint("ulimit -u shows a limit"))?;
    Ok(handle)
}

fn create(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "name another file with --trace".to_owned(),
            _ => "name a file in a folder that you may write in with --trace, or use --no-trace".to_owned(),
        };
        Hinted::new(format!("cannot write {}: {error}", path.display())).hint(hint)
    })?;
    if let Some(invoker) = Invoker::of_sudo() {
        let _ = invoker.take_file(&file);
    }
    Ok(file)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Hinted {
    Hinted::new(format!("cannot write {}: {error}", path.display())).hint("free some space, or use --no-trace")
}

fn no_collector(error: &std::io::Error) -> Hinted {
    Hinted::new(format!("the collector of ITT tasks cannot be written: {error}"))
        .hint("name a folder that you may write in with XDG_CACHE_HOME")
}

fn no_emulator() -> Hinted {
    Hinted::new(format!("there is no {EMULATOR} on this machine, in which programs are traced"))
        .hint("sudo apt-get install -y qemu-user")
        .with_status(status::UNAVAILABLE)
}

fn of_program(unfit: &Unfit, args: &RunArgs) -> Hinted {
    let hinted = Hinted::usage(unfit);
    match unfit {
        Unfit::Missing(_) => hinted.hint("name a program along $PATH, or with its folder"),
        Unfit::Denied(program, _) => hinted.hint(format!("chmod +x {}", quoted(&PathBuf::from(program)))),
        Unfit::Script { program, interpreter } => {
            let words = args.command.iter().skip(1).map(|word| format!(" {}", shell_word(&word.to_string_lossy())));
            let interpreter = interpreter.strip_prefix("/usr/bin/env ").unwrap_or(interpreter);
            hinted.hint(format!(
                "dwell anatomy run -- {interpreter} {}{}",
                quoted(&PathBuf::from(program)),
                words.collect::<String>()
            ))
        }
        Unfit::Architecture(..) => hinted.hint("build it for x86-64: gcc -m64"),
        Unfit::NotAProgram(_) => hinted.hint("name an ELF program"),
    }
}

/// What recording can fail with.
pub fn of_recording(error: &Error) -> Hinted {
    let hinted = Hinted::new(error);
    match error {
        Error::NoRecording { .. } => hinted.hint("what QEMU wrote above says why; QEMU 6.0 and newer load this plug-in"),
        Error::NoPlugins(_) => hinted
            .hint("./configure --target-list=x86_64-linux-user --enable-plugins && make, in QEMU's source; put build/ first in PATH")
            .with_status(status::UNAVAILABLE),
        Error::Garbled => hinted.hint("a smaller --window may leave out the part that does it"),
        Error::Start { program, .. } => {
            let package = if program.ends_with(EMULATOR) { "qemu-user" } else { "qemu-system-x86" };
            hinted.hint(format!("sudo apt-get install -y --reinstall {package}"))
        }
        Error::System { .. } => hinted.hint("ulimit -a shows whether a limit is reached"),
    }
}

fn exit_code(ended: Ended) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    let code = ended.status.code().or_else(|| ended.status.signal().map(|signal| 128 + signal)).unwrap_or(0);
    ExitCode::from(u8::try_from(code).unwrap_or(status::FAILURE))
}
