//! The launched program begins as if Dwell were not there, and neither harms the other: what it inherits, what it can do to root's
//! terminal when it is another user's, and what becomes of it when the collector is killed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Running, collect, dwell, needs_program, needs_recording, root, wait_for};
use crate::settings::Setting;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("harmless::a_program_inherits_what_it_would_without_dwell", inherits),
        Case::new("harmless::ignored_and_blocked_signals_are_inherited", signals),
        Case::new("harmless::nohup_outlives_the_terminal", nohup),
        Case::new("harmless::the_exit_status_is_the_programs", exit_status),
        Case::new("harmless::another_users_program_types_into_its_own_terminal", terminal),
        Case::new("harmless::a_collector_killed_at_any_moment_leaves_the_program", killed_early),
        Case::new("harmless::a_collector_killed_on_a_terminal_leaves_the_program", killed_on_terminal),
    ]
}

const USER: &str = "nobody";
const SOURCES: [&str; 2] = ["bpf", "perf"];

/// Runs the words as a shell's command, with a user's settings that differ from the usual ones.
fn in_a_users_shell(words: &str) -> Command {
    let mut shell = Command::new("sh");
    let settings = "umask 027; ulimit -n 700; ulimit -c 1000; exec 7</dev/null; export COLOUR=red; ";
    shell.args(["-c", &format!("{settings} exec nice -n 3 chrt --batch 0 taskset 1 {words}")]);
    shell.stdin(Stdio::null()).stderr(Stdio::piped());
    shell
}

fn facts(words: &str) -> Result<BTreeMap<String, Value>> {
    let output = in_a_users_shell(words).output()?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let facts: Result<Vec<(String, Value)>, _> = lines.lines().map(serde_json::from_str).collect();
    let facts = facts.with_context(|| format!("{words}: {lines}"))?;
    ensure!(output.status.success() && !facts.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(facts.into_iter().collect())
}

fn inherits() -> Result<()> {
    needs_recording()?;
    let (python, _) = (needs_program("/usr/bin/python3")?, needs_program("chrt")?);
    let script = root().join("crates/cli/tests/product/inherited.py");
    let program = format!("{python} {} one two", script.display());
    let without = facts(&program)?;
    ensure!(without.len() >= 35, "only {} facts", without.len());
    for source in SOURCES {
        let folder = TempDir::new()?;
        let own = dwell(&[]).get_program().display().to_string();
        let result = folder.path().join("result").display().to_string();
        let words = format!("{own} collect threading --quiet --source {source} --result-dir {result} -- {program}");
        let with = facts(&words)?;
        let differs = |(name, value): &(&String, &Value)| with.get(*name) != Some(*value);
        let changed: Vec<_> =
            without.iter().filter(differs).map(|(name, value)| (name, value, with.get(name))).collect();
        ensure!(changed.is_empty(), "{source}: {changed:?}");
    }
    Ok(())
}

/// The lines of signals of a program's `/proc/self/status`.
fn signals_of(command: &mut Command) -> Result<Vec<String>> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with("SigIgn") || line.starts_with("SigBlk"));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    ensure!(lines.len() == 2, "{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(lines)
}

fn signals() -> Result<()> {
    needs_recording()?;
    let env = needs_program("env")?;
    for options in [
        ["--ignore-signal=HUP,INT,TERM,PIPE,XFSZ,QUIT,USR1", "--block-signal=USR2,ALRM"],
        ["--ignore-signal=CHLD,TSTP", "--block-signal=HUP,TERM,INT,WINCH"],
    ] {
        let begin = || {
            let mut command = Command::new(&env);
            command.arg("--default-signal").args(options);
            command
        };
        let program = ["grep", "^Sig", "/proc/self/status"];
        let without = signals_of(begin().args(program))?;
        for source in SOURCES {
            let folder = TempDir::new()?;
            let behind = collect(folder.path(), &["--source", source], &program);
            let with = signals_of(begin().arg(behind.get_program()).args(behind.get_args()))?;
            ensure!(with == without, "{options:?} {source}: {with:?} instead of {without:?}");
        }
    }
    Ok(())
}

/// A terminal that is closed sends SIGHUP to the whole job.
fn nohup() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let (begun, survived) = (folder.path().join("begun"), folder.path().join("survived"));
    let script = format!("touch {}; sleep 2; touch {}", begun.display(), survived.display());
    let behind = collect(folder.path(), &[], &["sh", "-c", &script]);
    let mut command = Command::new("setsid");
    command.args(["--wait", "nohup"]).arg(behind.get_program()).args(behind.get_args());
    let running = Running::start(&mut command)?;
    wait_for("the program to begin", || begun.exists().then_some(()))?;
    let job = wait_for("the job", || group_of(&begun.with_file_name("result")))?;
    Command::new("kill").args(["-HUP", "--", &format!("-{job}")]).status()?;
    let output = running.finish()?;
    ensure!(output.status.success() && survived.exists(), "the job ended: {}", output.stderr);
    Ok(())
}

/// The process group of the collector that records into this result.
fn group_of(result: &Path) -> Option<i32> {
    let is_of_result = |pid: &str| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&words).replace('\0', " ");
        text.contains(&result.display().to_string()) && !text.starts_with("sh") && !text.starts_with("setsid")
    };
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let pid = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).find(|pid| is_of_result(pid))?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Whatever becomes of the result: under a umask that takes the owner's rights, and on a disk that is too small for the recording, or
/// only for the tables.
fn exit_status() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let command = |folder: &Path| {
        let behind = collect(folder, &["--quiet"], &["sh", "-c", "sleep 0.2; exit 7"]);
        let words = behind.get_args().map(|word| word.display().to_string()).collect::<Vec<_>>();
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        format!("{} {}", behind.get_program().display(), quoted.join(" "))
    };
    let status = Command::new("sh").args(["-c", &format!("umask 0177; {}", command(folder.path()))]).status()?;
    let report =
        crate::recording::run_dwell(&["report", "summary", &folder.path().join("result").display().to_string()])?;
    ensure!(status.code() == Some(7) && report.status.success(), "umask 0177: {status}, {}", report.stderr);
    for (size, is_too_small) in [("64k", true), ("128k", true), ("1m", false)] {
        let small = folder.path().join(size);
        fs::create_dir(&small)?;
        let script = format!("mount -t tmpfs -o size={size} none {} && {}", small.display(), command(&small));
        let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).stdin(Stdio::null()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("unshare: ") {
            return Err(Skip(errors.into_owned()).into());
        }
        let is_told = !is_too_small || errors.contains("error: ") && errors.contains("hint: ");
        ensure!(output.status.code() == Some(7) && is_told, "{size}: {} {errors}", output.status);
    }
    Ok(())
}

/// A folder that every user may write in.
fn open_folder() -> Result<TempDir> {
    let folder = TempDir::new()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    Ok(folder)
}

/// Types commands into a root shell on a terminal of its own, and returns what the terminal showed.
fn in_roots_shell(commands: &[String], pause: Duration) -> Result<String> {
    needs_program("script")?;
    let mut shell = Command::new("script");
    shell.args(["-qec", "env -i PATH=/usr/bin:/bin PS1=ready bash --norc --noprofile -i", "/dev/null"]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut shell = shell.spawn()?;
    let mut keys = shell.stdin.take().context("no input")?;
    for command in commands {
        std::thread::sleep(Duration::from_millis(500));
        std::io::Write::write_all(&mut keys, format!("{command}\n").as_bytes())?;
        std::thread::sleep(pause);
    }
    std::io::Write::write_all(&mut keys, b"exit\n")?;
    drop(keys);
    Ok(String::from_utf8_lossy(&shell.wait_with_output()?.stdout).into_owned())
}

fn as_user(folder: &TempDir, options: &[&str], program: &str) -> String {
    let behind = collect(folder.path(), &[&["--user", USER], options].concat(), &[]);
    let words: Vec<String> = behind.get_args().map(|word| word.display().to_string()).collect();
    format!("{} {} -- {program}", behind.get_program().display(), words.join(" "))
}

/// With TIOCSTI, which types into a terminal, as every program could before Linux 6.2.
fn terminal() -> Result<()> {
    needs_recording()?;
    needs_program("perl")?;
    let _typing = Setting::change("dev/tty/legacy_tiocsti", 1)?;
    let folder = open_folder()?;
    let (typed, said) = (folder.path().join("typed"), folder.path().join("said"));
    let script = folder.path().join("type.pl");
    let text = format!(
        "open(my $own, '+<', '/dev/tty'); my $failed = 0;\n\
         for my $terminal (*STDIN, *STDOUT, $own) {{\n\
           for my $key (split //, \"touch {}\\n\") {{ ioctl($terminal, 0x5412, $key) or $failed++ }} }}\n\
         open(my $out, '>', '{}'); print $out \"$> $failed \", -t STDIN ? 1 : 0;",
        typed.display(),
        said.display()
    );
    fs::write(&script, text)?;
    let command = as_user(&folder, &[], &format!("perl {}", script.display()));
    let shown = in_roots_shell(&[command], Duration::from_secs(4))?;
    let said = fs::read_to_string(&said).with_context(|| format!("the program did not run: {shown}"))?;
    ensure!(said == "65534 0 1", "user, refused keys, has a terminal: {said}");
    ensure!(!typed.exists(), "the program typed a command into root's shell: {shown}");
    Ok(())
}

/// Also before the program was let go: who started a job wants it done.
fn killed_early() -> Result<()> {
    needs_recording()?;
    for milliseconds in [20, 60, 120, 200, 300, 420, 550, 900] {
        let folder = TempDir::new()?;
        let done = folder.path().join("done");
        let script = format!("sleep 0.3; touch {}", done.display());
        let running = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", &script]))?;
        let has_child = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid())).ok();
        wait_for("the program's process", || has_child().filter(|children| !children.trim().is_empty()))?;
        std::thread::sleep(Duration::from_millis(milliseconds));
        running.signal(Signal::KILL)?;
        running.finish()?;
        wait_for("the program to reach its end", || done.exists().then_some(()))
            .with_context(|| format!("killed {milliseconds} ms after the program's process was there"))?;
    }
    Ok(())
}

/// The program's own terminal must not hang up with the collector.
fn killed_on_terminal() -> Result<()> {
    needs_recording()?;
    if !rustix::process::geteuid().is_root() {
        return Err(Skip("needs root".into()).into());
    }
    let folder = open_folder()?;
    let (begun, done) = (folder.path().join("begun"), folder.path().join("done"));
    let script = folder.path().join("program.sh");
    let result = folder.path().join("result");
    let text = format!("touch {}; sleep 2; echo still here && touch {}", begun.display(), done.display());
    fs::write(&script, text)?;
    let collecting = as_user(&folder, &[], &format!("sh {} &", script.display()));
    let kill = format!("until [ -e {} ]; do sleep 0.1; done; sleep 0.3; kill -9 $!", begun.display());
    let shown = in_roots_shell(&[collecting, kill], Duration::from_secs(5))?;
    ensure!(done.exists(), "the program ended with the collector: {shown}");
    ensure!(shown.contains("still here"), "what it wrote is lost: {shown}");
    ensure!(result.exists(), "no result");
    Ok(())
}
