//! The keys of `dwell top`'s screen that ask more of a row, each once in a terminal beside a real program.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Running, needs_program, needs_recording, run_dwell, wait_for};
use crate::top::{HELD, build};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("top_screen::the_last_seconds", the_last_seconds),
        Case::new("top_screen::objects_and_stacks_of_a_thread", objects_and_stacks_of_a_thread),
        Case::new("top_screen::trees_and_marks", trees_and_marks),
        Case::new("top_screen::the_mouse", the_mouse),
    ]
}

/// `dwell top` in a terminal, in a folder of its own.
struct Screen {
    tmux: String,
    folder: TempDir,
}

impl Screen {
    fn open(columns: u16, lines: u16) -> Result<Self> {
        needs_recording()?;
        let screen = Self { tmux: needs_program("tmux")?, folder: TempDir::new()? };
        let folder = screen.path().display().to_string();
        let size = ["-x", &columns.to_string(), "-y", &lines.to_string()].map(str::to_owned);
        screen.tell(&["new-session", "-d", "-c", &folder, &size[0], &size[1], &size[2], &size[3], "sh"])?;
        Ok(screen)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn tell(&self, arguments: &[&str]) -> Result<String> {
        let socket = self.path().join("tmux");
        let output = Command::new(&self.tmux).arg("-S").arg(socket).args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts `dwell top` with these options.
    fn top(&self, options: &str) -> Result<()> {
        self.keys(&[&format!("{} top --interval 300ms {options}", env!("CARGO_BIN_EXE_dwell")), "Enter"])
    }

    fn keys(&self, keys: &[&str]) -> Result<()> {
        self.tell(&[&["send-keys"], keys].concat()).map(drop)
    }

    /// Waits until these words are on the screen, and gives all of it.
    fn shows(&self, words: &str) -> Result<String> {
        let screen = || self.tell(&["capture-pane", "-p"]).unwrap_or_default();
        let found = wait_for(words, || Some(screen()).filter(|screen| screen.contains(words)));
        found.with_context(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tell(&["kill-server"]);
    }
}

/// A boss holds a mutex that three workers wait for.
fn boss(screen: &Screen) -> Result<Running> {
    Running::start(&mut Command::new(build(screen.path(), "boss", HELD)?))
}

/// What `w` writes is a result like any other, of a recording that began before the key; nothing else stays.
fn the_last_seconds() -> Result<()> {
    let screen = Screen::open(110, 30)?;
    let _program = boss(&screen)?;
    screen.top("--target-process boss --keep 2s")?;
    screen.shows("records boss: keeps 2.00 s")?;
    screen.keys(&["w"])?;
    screen.shows("r000th has what was recorded last")?;
    screen.keys(&["W"])?;
    wait_for("the end of the recording", || {
        screen.tell(&["capture-pane", "-p"]).ok().filter(|screen| !screen.contains("records boss"))
    })?;
    // Of one process, from inside it, and to the end of the screen.
    screen.keys(&["Enter"])?;
    screen.shows("THREAD")?;
    screen.keys(&["w"])?;
    screen.shows("records boss (")?;
    screen.keys(&["q"])?;
    screen.shows("dwell: result r000th")?;
    let result = screen.path().join("r000th").display().to_string();
    let output = run_dwell(&["report", "threads", &result, "--format", "json"])?;
    let view: serde_json::Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let lived = view["rows"].as_array().into_iter().flatten().filter_map(|row| row["lifetime_ns"].as_f64());
    let longest = lived.fold(0.0, f64::max);
    ensure!((1.5e9..4e9).contains(&longest), "two seconds were kept, not {longest} ns: {view}");
    ensure!(view.to_string().contains("worker"), "{view}");
    let left =
        fs::read_dir(screen.path())?.flatten().filter(|it| it.file_name().to_string_lossy().starts_with(".dwell"));
    ensure!(left.count() == 0, "the hidden folder stays");
    Ok(())
}

/// From a process to a thread, to what it waits for and who has that, to both stacks; and back.
fn objects_and_stacks_of_a_thread() -> Result<()> {
    let screen = Screen::open(100, 40)?;
    let program = boss(&screen)?;
    let pid = program.pid();
    screen.top(&format!("-p {pid} --sort blocked"))?;
    screen.shows("mutex of boss")?;
    screen.keys(&["Enter"])?;
    screen.shows("THREAD  ")?;
    screen.keys(&["Enter"])?;
    let objects = screen.shows("THREAD worker (")?;
    let lock = objects.lines().find(|line| line.contains("lock") && line.contains("mutex 0x")).context("no lock")?;
    ensure!(lock.trim_start().starts_with("100") && lock.contains(&format!("held by boss ({pid})")), "{objects}");
    ensure!(objects.contains(&format!("the holder boss ({pid}) sleeps")), "{objects}");
    screen.keys(&["Enter"])?;
    let stacks = screen.shows("main (boss)")?;
    let place = |words: &str| {
        stacks.lines().position(|line| line.contains(words)).with_context(|| format!("{words}: {stacks}"))
    };
    let in_order =
        ["worker (", "[k] futex", "pthread_mutex_lock", "  worker (boss)", "[k] hrtimer_nanosleep", "  main (boss)"];
    let places = in_order.into_iter().map(place).collect::<Result<Vec<_>>>()?;
    ensure!(places.is_sorted(), "the waiter's stack comes first, the innermost function at the top: {stacks}");
    screen.keys(&["Escape"])?;
    screen.shows("the holder boss")?;
    screen.keys(&["Escape"])?;
    screen.shows("WAITS FOR")?;
    // One that runs has no stack, which is said.
    let busy = Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))?;
    let (pid, output) = (busy.pid(), |pid: u32| run_dwell(&["stacks", &format!("{pid}:{pid}")]));
    let said = wait_for("a thread that runs", || output(pid).ok().filter(|it| it.stdout.contains("while it runs")))?;
    ensure!(said.code() == 0 && said.stdout.starts_with(&format!("sh ({pid}) of sh ({pid})")), "{}", said.stdout);
    Ok(())
}

/// A shell with two children that sleep, and the options that show these three processes.
fn shell() -> Result<(Running, String)> {
    let shell = Running::start(Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]))?;
    let pid = shell.pid();
    let children = wait_for("the children", || {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let pids: Vec<u32> = text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        let sleeps = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
        (pids.len() == 2 && pids.iter().all(sleeps)).then_some(pids)
    })?;
    Ok((shell, format!("-p {pid},{},{} --sort pid", children[0], children[1])))
}

/// Children are below their parent, and summed in it when it is folded; a marked row comes first in any order.
fn trees_and_marks() -> Result<()> {
    let screen = Screen::open(120, 24)?;
    let (_shell, options) = shell()?;
    screen.top(&options)?;
    screen.shows("sleep ")?;
    screen.keys(&["Home", "t"])?;
    let tree = screen.shows("-sh ")?;
    ensure!(tree.lines().filter(|line| line.starts_with("  sleep ")).count() == 2, "{tree}");
    screen.keys(&["-"])?;
    let folded = screen.shows("+sh ×3 ")?;
    ensure!(!folded.lines().any(|line| line.starts_with("  sleep ")), "{folded}");
    let sh = folded.lines().find(|line| line.starts_with("+sh")).context("no row")?;
    ensure!(sh.contains(" 200 "), "two children sleep all the time: {sh}");
    screen.keys(&["Right"])?;
    screen.shows("  sleep ")?;
    screen.keys(&["t", "End", "m", "Home"])?;
    let marked = screen.shows("*sleep ")?;
    let rows = || marked.lines().skip_while(|line| !line.starts_with("PROCESS")).skip(1);
    ensure!(rows().next().is_some_and(|line| line.starts_with("*sleep")), "{marked}");
    ensure!(rows().nth(1).is_some_and(|line| line.starts_with("sh ")), "{marked}");
    screen.keys(&["m"])?;
    wait_for("no mark", || screen.tell(&["capture-pane", "-p"]).ok().filter(|screen| !screen.contains("*sleep")))?;
    Ok(())
}

/// A click selects and a second one goes in; a click on a heading sorts; the wheel selects other rows.
fn the_mouse() -> Result<()> {
    let screen = Screen::open(120, 24)?;
    let (shell, options) = shell()?;
    screen.top(&options)?;
    screen.shows("sleep ")?;
    // As a terminal reports them: button, column and line from 1 on.
    let report =
        |button: u8, column: u16, line: u16| screen.keys(&["-l", &format!("\u{1b}[<{button};{column};{line}M")]);
    report(0, 30, 3)?;
    screen.shows("dwell top by cpu")?;
    report(0, 20, 3)?;
    screen.shows("dwell top by pid")?;
    report(0, 5, 5)?;
    screen.shows("sleep: mostly in clock_nanosleep")?;
    report(0, 5, 4)?;
    screen.shows("sh: mostly in")?;
    report(0, 5, 4)?;
    let inside = screen.shows("THREAD ")?;
    ensure!(inside.contains(&format!("{:>8} ", shell.pid())) && !inside.contains("sleep "), "{inside}");
    screen.keys(&["Escape"])?;
    screen.shows("PROCESS")?;
    report(65, 5, 6)?;
    screen.shows("sleep: mostly in clock_nanosleep").map(drop)
}
