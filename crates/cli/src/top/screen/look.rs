//! A close look at one process: Dwell's own collection of it, exact, and what its summary says.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use tempfile::TempDir;

/// What is wanted of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Its summary; the result goes.
    Summary,
    /// A result in the current folder, and its summary.
    Result,
    /// No collection: the stacks of these threads, each of a process.
    Stacks(Vec<(u32, u32)>),
}

/// A collection that runs, or its summary.
pub struct Look {
    /// What it is of.
    pub title: String,
    /// What it has said.
    pub lines: Vec<String>,
    /// The first line on the screen.
    pub scrolled: usize,
    said: Receiver<String>,
    child: Child,
    /// Where its result is, if that goes with it.
    folder: Option<TempDir>,
}

impl Look {
    /// Collects process `pid`, or takes stacks.
    pub fn start(pid: u32, name: &str, wanted: &Wanted) -> io::Result<Self> {
        let folder = if *wanted == Wanted::Summary { Some(TempDir::new()?) } else { None };
        let mut command = Command::new(std::env::current_exe()?);
        match wanted {
            Wanted::Stacks(threads) => {
                command.arg("stacks").args(threads.iter().map(|(pid, tid)| format!("{pid}:{tid}")));
            }
            Wanted::Summary | Wanted::Result => {
                command.args(["collect", "threading", "--target-pid", &pid.to_string(), "--duration"]);
                command.arg(if *wanted == Wanted::Summary { "2s" } else { "5s" });
            }
        }
        if let Some(folder) = &folder {
            command.arg("--result-dir").arg(folder.path().join("result"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (tell, said) = channel();
        let streams: [Option<Box<dyn Read + Send>>; 2] =
            [child.stdout.take().map(|it| Box::new(it) as _), child.stderr.take().map(|it| Box::new(it) as _)];
        for mut stream in streams.into_iter().flatten() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut text = String::new();
                // What is not text ends what it says.
                let _ = stream.read_to_string(&mut text);
                let _ = tell.send(text);
            });
        }
        let title = match wanted {
            Wanted::Stacks(_) => "stacks now, of the thread and of those that have what it waits for".to_owned(),
            Wanted::Summary | Wanted::Result => format!("{name} ({pid})"),
        };
        Ok(Self { title, lines: Vec::new(), scrolled: 0, said, child, folder })
    }

    /// Takes what it has said meanwhile. Whether there is anything new.
    pub fn take_messages(&mut self) -> bool {
        let mut is_new = false;
        loop {
            match self.said.try_recv() {
                Ok(text) => {
                    // What it proposes next is about the result, which goes.
                    let is_passing = self.folder.is_some();
                    let kept = text.lines().take_while(|line| !is_passing || *line != "Next");
                    self.lines.extend(kept.map(str::to_owned));
                    is_new = true;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return is_new,
            }
        }
    }

    /// Whether it still collects.
    pub fn is_collecting(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Look {
    /// One that is left ends like by Ctrl-C: what it profiles runs on.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            }
            let _ = self.child.wait();
        }
    }
}
