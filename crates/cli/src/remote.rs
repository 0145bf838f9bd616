//! `dwell collect ANALYSIS --target ssh:USER@HOST`: the collection runs on another machine.
//!
//! This program is copied there, collects and finalizes there, where the symbols are, and the result is brought back. It
//! takes `ssh` and what every Linux has. Nothing is left behind there: the folder that everything lies in goes when the
//! collection is over, also when the connection breaks (the far side notices the end of its input).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitCode, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use dwell_store::{Manifest, ResultFolder, State};
use tempfile::TempDir;

use crate::args::{CollectArgs, FinalizationMode, SshTarget};
use crate::collect::{Signals, create_folder, give_away};
use crate::error::{Hinted, Result, script_word, status};
use crate::owner::Invoker;
use crate::reading::Reading;
use crate::{output, report, terminal};

/// Exit status of ssh when it could not do its own part.
const SSH_FAILED: i32 = 255;
/// Between two looks whether the far collection is over, or is to be ended.
const LOOK: Duration = Duration::from_millis(20);

/// What is asked of the other machine first: its kind, who we are there, whether sudo needs no password, which programs it lacks,
/// and a folder.
const PROBE: &str = "umask 077; uname -s; uname -m; id -u; \
    if sudo -n true 2>/dev/null; then echo sudo; else echo none; fi; \
    lacks=; for program in tar setsid mktemp; do command -v $program >/dev/null || lacks=\"$lacks $program\"; done; \
    echo \"lacks$lacks\"; mktemp -d \"${TMPDIR:-/tmp}/dwell.XXXXXX\"";

/// The packages of what not every system has.
const PACKAGES: &[(&str, &str)] = &[("tar", "tar"), ("setsid", "util-linux"), ("mktemp", "coreutils")];

/// Runs the collection `$command` in a process group of its own, as a terminal would. A word on standard input ends it
/// as Ctrl-C does; the end of the input does so too, and then everything is deleted, since nobody will fetch it. The collection is
/// no background job of the shell's: those ignore Ctrl-C, and the program would, too.
const RUN: &str = r#"exec 3<&0 </dev/null
(read -r word <&3 || : > "$dir/abandoned"
until [ -s "$dir/group" ]; do sleep 1; done
$sudo kill -INT -$(cat "$dir/group")) >/dev/null 2>&1 &
watcher=$!
setsid sh -c 'echo $$ > "$0/group"; exec "$@"' "$dir" $sudo "$@" 3<&-
status=$?
kill $watcher 2>/dev/null
[ -e "$dir/abandoned" ] && $sudo rm -rf -- "$dir"
exit $status"#;

/// Collects on `target` as the command line says. Returns the program's exit status.
pub fn collect(args: &CollectArgs, target: &SshTarget, words: &[OsString]) -> Result<ExitCode> {
    let invoker = Invoker::of_sudo();
    let there = There::reach(target)?;
    there.copy_self()?;
    let signals = Signals::catch()?;
    let ended = there.collect(args, words, &signals)?;
    let folder = there.fetch(args, ended)?;
    give_away(invoker.as_ref(), &folder);
    drop(there);
    Reading::default().writing_held(folder.held()).confine()?;
    show(args, &folder)?;
    let code = ended.code().unwrap_or(i32::from(status::FAILURE));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(status::FAILURE)))
}

/// What a collection here prints at its end.
fn show(args: &CollectArgs, folder: &ResultFolder) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    let manifest: Manifest = folder.manifest()?;
    for notice in &manifest.notices {
        terminal::print_line(format_args!("dwell: {notice}"));
    }
    terminal::print_line(format_args!("dwell: result {} of {}", folder.path().display(), manifest.host));
    let finalized = matches!(args.finalization_mode, FinalizationMode::Full | FinalizationMode::Fast);
    if !finalized || manifest.state != State::Finalized {
        return Ok(());
    }
    let summary = dwell_analyze::answered(folder, |trace| report::after_collection(&trace, args, folder.path()))?;
    output::print(&summary)
}

/// The other machine, and the folder there that is ours; dropped, it is gone there.
struct There<'t> {
    target: &'t SshTarget,
    /// Holds the socket of the one connection that all commands share.
    local: TempDir,
    sudo: &'static str,
    folder: String,
}

impl<'t> There<'t> {
    /// Looks what machine that is, and makes a folder there.
    fn reach(target: &'t SshTarget) -> Result<Self> {
        let local = TempDir::new().map_err(|error| Hinted::new(format!("cannot make a temporary folder: {error}")))?;
        let mut there = Self { target, local, sudo: "", folder: String::new() };
        let output = there.run(PROBE)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let [system, machine, user, sudo, lacks, rest @ ..] = lines.as_slice() else {
            return Err(there.unexpected(&output, "looking what machine it is"));
        };
        there.folder = rest.first().map_or_else(String::new, |folder| (*folder).to_owned());
        let host = &target.host;
        if (*system, *machine) != ("Linux", std::env::consts::ARCH) {
            let ours = std::env::consts::ARCH;
            let message = format!("{host} is {system} on {machine}, and this Dwell is for Linux on {ours}");
            return Err(Hinted::new(message).hint(format!("collect on a machine of {ours}; ssh {host} uname -m tells")));
        }
        there.sudo = match (*user, *sudo) {
            ("0", _) => "",
            (_, "sudo") => "sudo -n",
            _ => {
                let message = format!("no root on {host}, and sudo there asks for a password");
                let hint = format!("--target ssh:root@{}, or allow sudo there without a password", target.machine());
                return Err(Hinted::new(message).hint(hint).with_status(status::UNAVAILABLE));
            }
        };
        if let Some(program) = lacks.split_whitespace().nth(1) {
            let message = format!("{host} has no {program}, without which a collection there does not work");
            let package = PACKAGES.iter().find(|(known, _)| *known == program).map_or(program, |(_, package)| package);
            let sudo = if there.sudo.is_empty() { "" } else { "sudo " };
            let hint = format!("{} {sudo}apt-get install {package}", there.try_ssh());
            return Err(Hinted::new(message).hint(hint).with_status(status::UNAVAILABLE));
        }
        if !there.folder.starts_with('/') {
            return Err(there.unexpected(&output, "making a folder"));
        }
        Ok(there)
    }

    fn copy_self(&self) -> Result<()> {
        let failed = |error| Hinted::new(format!("cannot read this program: {error}"));
        let own = File::open("/proc/self/exe").map_err(failed)?;
        let dwell = script_word(&format!("{}/dwell", self.folder));
        let script = format!("cat > {dwell} && chmod 700 {dwell} && {dwell} --version");
        let output = self.ssh(&script).stdin(own).output();
        let output = self.checked(output)?;
        if output.status.success() { Ok(()) } else { Err(self.unexpected(&output, "copying Dwell")) }
    }

    /// Runs the collection to its end, or until a signal ends it.
    fn collect(&self, args: &CollectArgs, words: &[OsString], signals: &Signals) -> Result<ExitStatus> {
        let analysis = if args.analyze.is_latency() { "latency" } else { "threading" };
        let dwell = [format!("{}/dwell", self.folder), "collect".into(), analysis.into()];
        let result = ["--quiet".into(), "--result-dir".into(), format!("{}/result", self.folder)];
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let words = dwell.into_iter().chain(result).chain(passed_on(&words));
        let words: Vec<String> = words.map(|word| script_word(&word)).collect();
        let script =
            format!("dir={}; sudo='{}'; set -- {}\n{RUN}", script_word(&self.folder), self.sudo, words.join(" "));
        let mut command = self.ssh(&script);
        // Its own process group: Ctrl-C is for us, who tell the other side.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| self.no_ssh(&error))?;
        // Held open: its end would mean that nobody is here any more.
        let mut input: Option<ChildStdin> = child.stdin.take();
        let mut told = false;
        loop {
            let ended = child.try_wait().map_err(|error| Hinted::new(format!("waiting for ssh: {error}")))?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
            if signals.stopped() && !told {
                told = true;
                // When it cannot be told, the connection has ended, and so will ssh.
                let _ = input.as_mut().map(|input| input.write_all(b"stop\n"));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Brings the result here. There is none when the collection there could not begin: it has said why.
    fn fetch(&self, args: &CollectArgs, ended: ExitStatus) -> Result<ResultFolder> {
        let host = &self.target.host;
        let result = script_word(&format!("{}/result", self.folder));
        let found = self.run(&format!("{} test -e {result}/manifest.json", self.sudo))?;
        if found.status.code() == Some(SSH_FAILED) {
            return Err(Hinted::new(format!("the connection to {host} was lost")).hint(self.try_ssh()));
        }
        if !found.status.success() {
            let message = format!("there is no result on {host}");
            let code = ended.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
            let hint = format!("what it said above is about {host}; paths and processes are those there");
            return Err(Hinted::new(message).hint(hint).with_status(code.unwrap_or(status::FAILURE)));
        }
        let folder = create_folder(args)?;
        let brought = self.unpack(&folder, &result);
        if brought.is_err() {
            let _ = folder.held().clone().delete();
        }
        brought.map(|()| folder)
    }

    fn unpack(&self, folder: &ResultFolder, result: &str) -> Result<()> {
        // Those of the result are made as they are there.
        for made in ["spool", "modules"] {
            let _ = folder.held().remove(made);
        }
        let mut sender = self.ssh(&format!("{} tar -C {result} -cf - .", self.sudo));
        let mut sender =
            sender.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| self.no_ssh(&error))?;
        let archive = sender.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut tar = Command::new("tar");
        tar.args(["--no-same-owner", "--no-same-permissions", "-xf", "-", "-C"]).arg(folder.path()).stdin(archive);
        let received = self.confined(folder, || tar.output());
        drop(tar); // it holds the pipe's reading end, without which the sender ends
        let sent = sender.wait();
        let received = received?;
        if received.status.success() && sent.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        Err(self.unexpected(&received, "bringing the result here"))
    }

    /// Runs a program on what comes from there, which may be hostile: it makes no device, and writes nowhere but in the result.
    fn confined(&self, folder: &ResultFolder, run: impl FnOnce() -> io::Result<Output> + Send) -> Result<Output> {
        let reading = Reading::default().writing_held(folder.held()).fetching(Some(self.local.path().to_owned()));
        // The kernel confines a thread and the programs that it starts.
        let confined = || reading.confine_as_is().map(|()| run());
        let no_tar = |error| Hinted::new(format!("cannot run tar: {error}")).hint("apt-get install tar");
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, confined).map_err(no_tar)?;
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended?.map_err(no_tar)
        })
    }

    /// Runs a script there to its end.
    fn run(&self, script: &str) -> Result<Output> {
        let output = self.ssh(script).stdin(Stdio::null()).output();
        self.checked(output)
    }

    fn checked(&self, output: std::io::Result<Output>) -> Result<Output> {
        let output = output.map_err(|error| self.no_ssh(&error))?;
        if output.status.code() == Some(SSH_FAILED) && self.folder.is_empty() {
            return Err(self.refused(&String::from_utf8_lossy(&output.stderr)));
        }
        Ok(output)
    }

    /// `ssh` with a script for the other machine's shell, not started yet.
    fn ssh(&self, script: &str) -> Command {
        let mut command = self.connection();
        command.args(["-T", "--", &self.target.host]).arg(format!("exec sh -c {}", script_word(script)));
        command
    }

    /// `ssh` with the options of the one connection.
    fn connection(&self) -> Command {
        let given = std::env::var("DWELL_SSH").unwrap_or_else(|_| "ssh".into());
        let mut words = given.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        let socket = self.local.path().join("ssh");
        command.args(words).arg("-o").arg(format!("ControlPath={}", socket.display()));
        command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=10"]);
        command.args(["-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15"]);
        if !io::stdin().is_terminal() {
            command.args(["-o", "BatchMode=yes"]);
        }
        if let Some(port) = self.target.port {
            command.args(["-p", &port.to_string()]);
        }
        command
    }

    fn try_ssh(&self) -> String {
        let port = self.target.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        format!("ssh {port}{}", self.target.host)
    }

    fn no_ssh(&self, error: &std::io::Error) -> Hinted {
        Hinted::new(format!("cannot run ssh: {error}")).hint("apt-get install openssh-client")
    }

    /// ssh came to nothing: why, by what it said.
    fn refused(&self, said: &str) -> Hinted {
        let (host, ssh) = (&self.target.host, self.try_ssh());
        let known: [(&str, &str, String); 5] = [
            (
                "REMOTE HOST IDENTIFICATION HAS CHANGED",
                "has another key than before",
                format!("ssh-keygen -R {} if that is right, then {ssh}", self.target.machine()),
            ),
            (
                "Host key verification failed",
                "has a key that is not known here",
                format!("{ssh} shows the key and remembers it"),
            ),
            (
                "Permission denied",
                "does not let us in",
                format!("ssh-copy-id {host} lets your key in; {ssh} must work without a password, or on a terminal"),
            ),
            ("Could not resolve", "is no host that is known here", format!("look at the name; {ssh} must work")),
            (
                "Connection refused",
                "has no ssh server that answers",
                format!("{ssh} must work; name another port with ssh:{host}:PORT"),
            ),
        ];
        let found = known.into_iter().find(|(sign, ..)| said.contains(sign));
        match found {
            Some((_, what, hint)) => Hinted::new(format!("{host} {what}")).hint(hint),
            None => {
                Hinted::new(format!("no connection to {host}: {}", last_line(said))).hint(format!("{ssh} must work"))
            }
        }
    }

    /// Something on the other machine failed.
    fn unexpected(&self, output: &Output, what: &str) -> Hinted {
        let (host, said) = (&self.target.host, String::from_utf8_lossy(&output.stderr));
        if said.contains("No space left") || said.contains("Disk quota exceeded") {
            let message = format!("no room for {what} on {host}: {}", last_line(&said));
            return Hinted::new(message).hint(format!("free some space: {} df -h /tmp shows it", self.try_ssh()));
        }
        if said.contains("version `GLIBC_") {
            let message = format!("{host} has an older C library than this Dwell was built for");
            let hint = "collect by the packaged Dwell (make dist): it runs on glibc 2.31 and newer";
            return Hinted::new(message).hint(hint).with_status(status::UNAVAILABLE);
        }
        if said.contains("error while loading shared libraries") {
            let hint = format!("install the library on {host}, or collect by the packaged Dwell, which has it inside");
            return Hinted::new(format!("Dwell does not run on {host}: {}", last_line(&said))).hint(hint);
        }
        Hinted::new(format!("{what} on {host} failed: {}", last_line(&said))).hint(self.try_ssh() + " must work")
    }
}

impl Drop for There<'_> {
    fn drop(&mut self) {
        if self.folder.starts_with('/') {
            let _ = self.run(&format!("{} rm -rf -- {}", self.sudo, script_word(&self.folder)));
        }
        let _ = self.connection().args(["-O", "exit", "--", &self.target.host]).stdin(Stdio::null()).output();
    }
}

fn last_line(said: &str) -> &str {
    said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing")
}

/// The options and the program of a command line, for the same command there: without what is for here.
fn passed_on(words: &[String]) -> Vec<String> {
    let at = words.iter().position(|word| word == "collect").map_or(words.len(), |at| (at + 2).min(words.len()));
    let (mut kept, mut words) = (Vec::new(), words[at..].iter());
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(words.by_ref().cloned());
        } else if matches!(word.as_str(), "--target" | "--result-dir" | "-r" | "-o") {
            words.next();
        } else if !is_for_here(word) {
            kept.push(word.clone());
        }
    }
    kept
}

fn is_for_here(word: &str) -> bool {
    let attached = ["--target=", "--result-dir="].iter().any(|option| word.starts_with(option));
    attached
        || matches!(word, "-q" | "--quiet")
        || ((word.starts_with("-r") || word.starts_with("-o")) && Path::new(&word[2..]).components().count() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_here_is_not_passed_on() {
        let words = "dwell collect threading -q --target ssh:a@b -r out --duration 5s --target=ssh:a@b -rout -o out -oout --result-dir=x \
            --target-pid 3 -- app -r out --quiet";
        let words: Vec<String> = words.split_whitespace().map(String::from).collect();
        let kept = passed_on(&words).join(" ");
        assert_eq!(kept, "--duration 5s --target-pid 3 -- app -r out --quiet");
    }
}
