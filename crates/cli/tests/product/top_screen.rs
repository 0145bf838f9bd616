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
    vec![Case::new("top_screen::the_last_seconds", the_last_seconds)]
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
