//! Progress on the terminal: one line on standard error, none when that is no terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use dwell_capture::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::text::units;

/// A collection's line: elapsed, threads, events, losses.
pub struct Collecting {
    line: Option<ProgressBar>,
}

impl Collecting {
    /// Shows a line, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { line: spinner(quiet) }
    }

    /// Shows the state of the collection.
    pub fn show(&self, progress: &Progress) {
        if let Some(line) = &self.line {
            line.set_message(words(progress));
            line.tick();
        }
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// An export's line: the format, what is done, and for how long already.
pub struct Exporting {
    line: Option<ProgressBar>,
    format: String,
}

impl Exporting {
    /// Shows a line, unless `quiet`.
    pub fn new(format: String, quiet: bool) -> Self {
        let line = spinner(quiet);
        if let Some(line) = &line {
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                line.set_style(style);
            }
            line.set_message(format!("exporting {format}: summing"));
            line.enable_steady_tick(Duration::from_millis(200));
        }
        Self { line, format }
    }

    /// Passes on to `out` what is written, and shows how much that is.
    pub fn counting<'w>(&'w self, out: &'w mut dyn Write) -> impl Write + 'w {
        CountingWriter { out, exporting: self, bytes: 0, shown: 0 }
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Bytes between two changes of an export's line.
const SHOWN_BYTES: u64 = 1 << 20;

struct CountingWriter<'w> {
    out: &'w mut dyn Write,
    exporting: &'w Exporting,
    bytes: u64,
    shown: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        if let Some(line) = &self.exporting.line
            && self.bytes >= self.shown + SHOWN_BYTES
        {
            self.shown = self.bytes;
            line.set_message(format!("exporting {}: {} written", self.exporting.format, units::bytes(self.bytes)));
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn words(progress: &Progress) -> String {
    let state = if progress.paused { "paused" } else { "recording" };
    let mut text = format!(
        "{state} {}, {} threads, {} events, {}",
        units::duration(progress.elapsed_ns),
        units::count(progress.threads),
        units::count(progress.events),
        units::bytes(progress.bytes),
    );
    if progress.losses > 0 {
        text.push_str(&format!(", {} LOST", units::count(progress.losses)));
    }
    text
}

#[expect(clippy::disallowed_methods, reason = "asks whether it is a terminal; the line has no names")]
fn spinner(quiet: bool) -> Option<ProgressBar> {
    if quiet || !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new_spinner();
    // The template is a literal; a wrong one shows indicatif's default line.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    Some(bar)
}

/// A bar for work of known size: finalization, a replay.
pub fn bar(quiet: bool) -> Option<ProgressBar> {
    let bar = spinner(quiet)?;
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {bar:30} {percent} %") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    Some(bar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_export_writes_is_passed_on() {
        let mut written = Vec::new();
        let exporting = Exporting::new("perfetto".into(), true);
        exporting.counting(&mut written).write_all(b"trace").unwrap();
        assert_eq!(written, b"trace");
    }

    #[test]
    fn losses_are_shown_when_there_are_any() {
        let mut progress = Progress {
            elapsed_ns: 1_500_000_000,
            threads: 8,
            events: 12_345,
            losses: 0,
            bytes: 2_000_000,
            paused: false,
        };
        assert_eq!(words(&progress), "recording 1.50 s, 8 threads, 12,345 events, 2.00 MB");
        progress.losses = 3;
        progress.paused = true;
        assert_eq!(words(&progress), "paused 1.50 s, 8 threads, 12,345 events, 2.00 MB, 3 LOST");
    }
}
