//! `dwell view`: serves results to the browser of this machine.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use dwell_anatomy::trace;
use dwell_server::{Collector, Library, Options, Secret, Server, TlsFiles};
use dwell_store::{Folder, ResultFolder};

use crate::args::ViewArgs;
use crate::collector;
use crate::error::{Hinted, Result, quoted};
use crate::lasting_secret;
use crate::output;
use crate::owner::Invoker;
use crate::reading::Reading;
use crate::terminal;

/// Serves until Ctrl-C.
pub fn run(args: &ViewArgs) -> Result<ExitCode> {
    let tls = tls(args)?;
    let listen = SocketAddr::new(args.listen, args.port);
    let collector = collector(args)?;
    let reading = Reading::of([&*args.path])?;
    let invoker = drop_privileges(&args.path)?;
    let library = if collector.is_some() { Library::folder(&args.path) } else { library(&args.path)? };
    let secret = lasting_secret(listen, invoker.as_ref());
    let is_to_last = secret.is_some();
    let server = Server::bind(Options { library, listen, tls, secret, collector })?;
    if is_to_last && !server.has_lasting_address() {
        tell_of_this_run("the kernel does not tell whose program a connection is from");
    }
    if !Server::has_ui() {
        terminal::print_line("dwell: this dwell was built without its web UI; `make web` and a new build put it in");
    }
    output::print(&format!("{}\n", server.url()))?;
    terminal::print_line("dwell: open this address in a browser; Ctrl-C ends");
    if !args.no_browser {
        open_browser(server.url());
    }
    reading.serving().confine_as_is()?;
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

/// The process that makes collections, if the page may have any made: started before this one gives up its rights.
fn collector(args: &ViewArgs) -> Result<Option<Collector>> {
    if !args.collect {
        return Ok(None);
    }
    if !args.listen.is_loopback() && !args.allow_remote_collect {
        let message = format!("{} can be reached from other machines, which could start programs here", args.listen);
        return Err(Hinted::usage(message).hint("leave --listen out and use ssh -L; or add --allow-remote-collect"));
    }
    if !args.path.is_dir() || args.path.join("manifest.json").exists() {
        let message = format!("{} is no folder of results", args.path.display());
        return Err(
            Hinted::usage(message).hint("name the folder that results are to be in: dwell view --collect FOLDER")
        );
    }
    collector::start(&args.path).map(Some)
}

fn tls(args: &ViewArgs) -> Result<Option<TlsFiles>> {
    if let (Some(certificate), Some(key)) = (args.tls_cert.clone(), args.tls_key.clone()) {
        return Ok(Some(TlsFiles { certificate, key }));
    }
    if args.listen.is_loopback() || args.insecure {
        return Ok(None);
    }
    let message = format!("{} can be reached from other machines, and needs encryption", args.listen);
    Err(Hinted::usage(message).hint(
        "give --tls-cert and --tls-key, or --insecure; or leave --listen out and use ssh -L PORT:127.0.0.1:PORT HOST",
    ))
}

/// Viewing needs no privileges: under sudo, the server is the user's from here on.
fn drop_privileges(path: &Path) -> Result<Option<Invoker>> {
    let Some(invoker) = Invoker::of_sudo() else { return Ok(None) };
    let failed = |error| Hinted::new(format!("cannot become {}: {error}", invoker.name)).hint("run it without sudo");
    invoker.become_user().map_err(failed)?;
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_denied = match path.is_dir() {
        true => Folder::open(path).and_then(|folder| folder.read("manifest.json")).is_err_and(denied),
        false => trace::open(path).is_err_and(denied),
    };
    if !is_denied {
        return Ok(Some(invoker));
    }
    let message = format!("{} may not read {}, and dwell view reads no more than that", invoker.name, path.display());
    Err(Hinted::new(message).hint(format!("sudo chown -R {} {}", invoker.name, quoted(path))))
}

/// The secret for an address that stays: of a chosen port, which a bookmark can name, and for this machine alone, where the kernel
/// tells who asks.
fn lasting_secret(listen: SocketAddr, invoker: Option<&Invoker>) -> Option<Secret> {
    if listen.port() == 0 || !listen.ip().is_loopback() {
        return None;
    }
    let Some(state) = lasting_secret::state_folder(invoker) else {
        tell_of_this_run("there is no home folder to keep its secret in");
        return None;
    };
    let why = |error: io::Error| tell_of_this_run(&format!("{}: {error}", lasting_secret::place(&state).display()));
    lasting_secret::of(&state).map_err(why).ok()
}

fn tell_of_this_run(reason: &str) {
    terminal::print_line(format!("dwell: the address is of this run only, and no bookmark for the next: {reason}"));
}

fn library(path: &Path) -> Result<Library> {
    Library::open(path).map_err(|error| {
        let is_folder = path.is_dir() && !path.join("manifest.json").exists();
        if is_folder && ResultFolder::latest(path).is_none() {
            return Hinted::new(format!("there is no result in {}", path.display()))
                .hint("dwell collect threading -- PROGRAM makes one; dwell view FOLDER names another folder");
        }
        error.into()
    })
}

/// Opens the user's browser, where there is a screen to show it on. Root has none: its browser would run with all
/// its rights, in somebody else's session.
fn open_browser(url: &str) {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some_and(|it| !it.is_empty()));
    let privileged = rustix::process::geteuid().is_root() || env::var_os("SUDO_UID").is_some();
    if !screen || privileged {
        return;
    }
    // The address is on the screen already: that nothing opens is no failure.
    let _ = entry_page(url).and_then(|page| {
        Command::new("xdg-open").arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
}

/// A page that only the user can read and that leads to `url`: everybody can read the arguments of a command, and the
/// token with them. Each server of the user's overwrites the one before.
fn entry_page(url: &str) -> io::Result<PathBuf> {
    let folder = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let page = folder.ok_or_else(|| io::Error::other("no XDG_RUNTIME_DIR"))?.join("dwell-view.html");
    match fs::remove_file(&page) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&page)?;
    let html = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Dwell</title>");
    file.write_all(html.as_bytes())?;
    Ok(page)
}
