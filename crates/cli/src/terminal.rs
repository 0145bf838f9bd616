//! The one place that writes to the terminal. Processes, results and files are named by others, and a name may have escape
//! sequences, or line ends that begin a line of its own: nothing here lets them through.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use crate::text::style::{is_paint, printable};

/// One line on standard error. That nobody can read it is no failure.
#[expect(clippy::disallowed_methods, reason = "this is the printer")]
pub fn print_line(line: impl Display) {
    let line = format!("{}\n", printable(&line.to_string()));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Lines on standard output. A file or a pipe gets them as they are: data stays what it is.
#[expect(clippy::disallowed_methods, reason = "this is the printer")]
pub fn print(text: &str) -> io::Result<()> {
    write_to(&mut io::stdout().lock(), text)
}

/// What `fill` writes, on standard output. A terminal gets it at the end, as [`print`] has it, and nothing that is `binary`: the
/// error says that, and is of the kind `Unsupported`.
#[expect(clippy::disallowed_methods, reason = "this is the printer")]
pub fn stream(binary: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let stdout = io::stdout().lock();
    match (stdout.is_terminal(), binary) {
        (true, true) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this format is binary, and no text for a terminal"))
        }
        (true, false) => {
            let mut text = Vec::new();
            fill(&mut text)?;
            drop(stdout);
            print(&String::from_utf8_lossy(&text))
        }
        (false, _) => {
            let mut buffered = io::BufWriter::with_capacity(1 << 18, stdout);
            fill(&mut buffered)?;
            buffered.flush()
        }
    }
}

/// The same on a device that was opened by its name, such as `/dev/tty`.
pub fn write_to(device: &mut (impl Write + IsTerminal), text: &str) -> io::Result<()> {
    let text = if device.is_terminal() { Cow::Owned(harmless(text)) } else { Cow::Borrowed(text) };
    device.write_all(text.as_bytes())?;
    device.flush()
}

/// `text` with nothing in it that steers a terminal but for ends of lines, tabs, and Dwell's own colours.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kept = match first {
            '\n' | '\t' => 1,
            // The end of a line of CSV; alone it would begin the line again.
            '\r' if rest.starts_with("\r\n") => 2,
            '\x1b' => paint_length(rest),
            _ => 0,
        };
        if kept > 0 {
            clean.push_str(&rest[..kept]);
            rest = &rest[kept..];
            continue;
        }
        let after = first.len_utf8();
        let plain = rest[after..].find(['\n', '\t', '\r', '\x1b']).map_or(rest.len(), |at| at + after);
        clean.push_str(&printable(&rest[..plain]));
        rest = &rest[plain..];
    }
    clean
}

/// Bytes of the colour that the text begins with, if Dwell paints with it; else 0.
fn paint_length(text: &str) -> usize {
    let code = text.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
    code.filter(|code| is_paint(code)).map_or(0, |code| "\x1b[m".len() + code.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::{Ink, Style};

    #[test]
    fn only_our_colours_reach_the_terminal() {
        let painted = Style { width: 80, color: true }.paint(Ink::Bad, "x").into_owned() + "\n\ty\n";
        assert_eq!(harmless(&painted), painted);
        assert_eq!(harmless("plain\n"), "plain\n");
        assert_eq!(harmless("a\x1b[31mRED\x1b]0;x\x07\rb\r\n"), "a·[31mRED·]0;x··b\r\n");
        assert_eq!(harmless("\x1b\x1b[1mä\u{9b}2J\u{202e}\x1b["), "·\x1b[1mä·2J··[");
    }
}
