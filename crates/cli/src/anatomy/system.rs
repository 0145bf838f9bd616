//! `dwell anatomy system`: records a scenario in a guest.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dwell_anatomy::program;
use dwell_anatomy::reports::Asked;
use dwell_anatomy::system::{
    CONSOLE, Card, EMULATOR, Guest, GuestNames, KernelError, KernelSymbols, Names, PROGRAM, Scenario, check_symbols,
    find_kernel, serve,
};
use dwell_anatomy::trace::Head;
use dwell_anatomy::{Recorder, Stopper};
use dwell_resolve::CodeNames;

use super::{replay, run};
use crate::args::{CardArg, SystemArgs};
use crate::error::{Hinted, Result, quoted, status};

/// What the guest says when it has failed, before the reason.
const COMPLAINT: &str = "dwell: guest: ";
/// What it says at its end.
const DONE: &str = "done";

/// Records a scenario, and shows a report.
pub fn scenario(args: &SystemArgs) -> Result<ExitCode> {
    replay::check_recorded(&args.report)?;
    let guest = guest(args)?;
    let emulator = program::find(OsStr::new(EMULATOR)).ok_or_else(no_emulator)?;
    let annotator = replay::annotator(&args.model)?;
    let folder = tempfile::tempdir().map_err(|error| unprepared(&error))?;
    guest.prepare(folder.path()).map_err(|error| unprepared(&error))?;
    let symbols = KernelSymbols::default();
    let ports = serve(&guest.scenario, &symbols).map_err(|error| unprepared(&error))?;
    let (over, watched) = mpsc::channel();
    let start = || {
        let command = |plugin: &str| guest.command(&emulator, folder.path(), ports, plugin);
        let recorder = Recorder::start(command, true).map_err(|error| run::of_recording(&error))?;
        watch(recorder.stopper(), args.time_limit, watched).map_err(|error| unprepared(&error))?;
        Ok(recorder)
    };
    let mut program = names_of(folder.path().join(PROGRAM));
    let mut vmlinux = args.vmlinux.clone().map(names_of);
    let mut namer = GuestNames {
        kernel: symbols.clone(),
        vmlinux: vmlinux.as_mut().map(|names| names as Names<'_>),
        program: &mut program,
    };
    let head = Head { command: settings(args), system: true, ..Head::default() };
    let recorded = run::record(start, &mut namer, &head, &args.recorded, annotator);
    let in_time = over.send(()).is_ok();
    let console = fs::read(folder.path().join(CONSOLE)).unwrap_or_default();
    let complain = || complain(&console, in_time, args);
    // A guest that was ended, or failed, may not even have begun to record.
    if !in_time || !said(&console).is_empty() {
        complain()?;
    }
    let (_, anatomy) = recorded?;
    complain()?;
    let asked = Asked { limit: args.shown.limit, function: None, depth: u16::MAX };
    replay::show(&args.report, &anatomy, &asked, &args.shown)?;
    Ok(ExitCode::SUCCESS)
}

/// What names the functions of a file, by their addresses.
fn names_of(file: PathBuf) -> impl FnMut(&[u64]) -> Vec<Option<String>> {
    let mut code = CodeNames::default();
    move |addresses| code.names_by_address(&file, addresses)
}

/// The scenario, and what differs from how it usually is.
fn settings(args: &SystemArgs) -> Vec<String> {
    let mut words = vec![args.scenario.clone()];
    if args.card == CardArg::Virtio {
        words.push("--card=virtio".to_owned());
    }
    if args.receive_buffer > 0 {
        words.push(format!("--receive-buffer={}", args.receive_buffer));
    }
    if args.no_gro {
        words.push("--no-gro".to_owned());
    }
    words
}

fn guest(args: &SystemArgs) -> Result<Guest> {
    let scenario = Scenario::parse(&args.scenario);
    let is_script = matches!(scenario, Scenario::Script(_));
    if is_script && !Path::new(&args.scenario).is_file() {
        return Err(Hinted::usage(format!("there is no scenario {}", args.scenario))
            .hint(format!("the scenarios are {}; a script is named by its file", Scenario::NAMES.join(", "))));
    }
    if is_script && !args.busybox.is_file() {
        return Err(Hinted::new(format!("there is no {}, which runs the script", args.busybox.display()))
            .hint("sudo apt-get install -y busybox-static")
            .with_status(status::UNAVAILABLE));
    }
    let kernel = find_kernel(args.kernel.as_deref(), &caches()).map_err(|error| of_kernel(&error))?;
    if let Some(symbols) = &args.vmlinux {
        check_symbols(&kernel.image, symbols).map_err(|error| of_kernel(&error))?;
    }
    Ok(Guest {
        kernel,
        scenario,
        card: match args.card {
            CardArg::E1000 => Card::E1000,
            CardArg::Virtio => Card::Virtio,
        },
        receive_buffer: args.receive_buffer,
        gro: !args.no_gro,
        busybox: is_script.then(|| args.busybox.clone()),
    })
}

/// Where packages of kernels are, and what is unpacked of them.
fn caches() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return "/var/cache/dwell".into();
    }
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    caches.or(home).unwrap_or_else(|| "/tmp".into()).join("dwell")
}

/// Ends a guest that takes too long. Whoever waits for it says when it is over.
fn watch(stopper: Stopper, limit_ns: u64, over: mpsc::Receiver<()>) -> io::Result<()> {
    let watching = move || {
        if over.recv_timeout(Duration::from_nanos(limit_ns)) == Err(mpsc::RecvTimeoutError::Timeout) {
            drop(over); // the other end sees that time was up
            let _ = stopper.stop();
        }
    };
    thread::Builder::new().spawn(watching).map(drop)
}

/// What the guest's program said, behind what tells it from the kernel's lines.
fn said(console: &[u8]) -> Vec<String> {
    let console = String::from_utf8_lossy(console);
    console.lines().filter_map(|line| line.trim().strip_prefix(COMPLAINT)).map(str::to_owned).collect()
}

/// What went wrong in the guest.
fn complain(console: &[u8], in_time: bool, args: &SystemArgs) -> Result<()> {
    let said = said(console);
    if said.iter().any(|line| line == DONE) {
        return Ok(());
    }
    if !in_time {
        let seconds = args.time_limit / 1_000_000_000;
        return Err(Hinted::new(format!("the guest did not end within {seconds} s"))
            .hint("--time-limit gives it longer; its kernel must have the modules of the card: --card"));
    }
    let console = String::from_utf8_lossy(console);
    let last = console.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing");
    let why = said.last().map_or(last, String::as_str);
    Err(Hinted::new(format!("the guest failed: {why}")).hint("--kernel names another kernel, --card another card"))
}

fn no_emulator() -> Hinted {
    Hinted::new(format!("there is no {EMULATOR} on this machine, in which guests are traced"))
        .hint("sudo apt-get install -y --no-install-recommends qemu-system-x86 seabios")
        .with_status(status::UNAVAILABLE)
}

fn of_kernel(error: &KernelError) -> Hinted {
    let hinted = Hinted::new(error);
    match error {
        KernelError::Missing { folder } => {
            let folder = quoted(folder);
            hinted.with_status(status::UNAVAILABLE).hint(format!(
                "mkdir -p {folder} && cd {folder} && apt-get download \"$(apt-cache depends linux-image-amd64 | \
                 sed -n 's/.*Depends: \\(linux-image-[^ ]*\\)/\\1/p' | head -1)\""
            ))
        }
        KernelError::Package { .. } => hinted.hint("sudo apt-get install -y dpkg; or download the package again"),
        KernelError::Unusable { .. } => hinted
            .hint("--kernel takes a package linux-image-*.deb, or …/boot/vmlinuz-VERSION beside …/lib/modules/VERSION"),
        KernelError::Symbols { .. } => hinted.hint(
            "--vmlinux takes the vmlinux of the same build; without it the guest's kernel names its functions itself",
        ),
    }
}

fn unprepared(error: &std::io::Error) -> Hinted {
    Hinted::new(format!("the guest cannot be prepared: {error}"))
        .hint("free some space in /tmp, or name another folder in TMPDIR")
}
