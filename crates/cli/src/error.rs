//! The one error of the binary: a sentence, the next command to try, and the exit status.

use crate::terminal;
use crate::text::style::steers;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Result of a command.
pub type Result<T> = std::result::Result<T, Hinted>;

/// Exit statuses, apart from the profiled program's own.
pub mod status {
    /// What was asked for could not be done.
    pub const FAILURE: u8 = 1;
    /// The command line makes no sense.
    pub const USAGE: u8 = 2;
    /// Ended by an interrupt, as shells count it: 128 + SIGINT.
    pub const INTERRUPTED: u8 = 130;
    /// Privileges or a kernel feature are missing; test harnesses take it as "skipped".
    pub const UNAVAILABLE: u8 = 77;
}

/// An error as the user sees it.
#[derive(Debug)]
pub struct Hinted {
    message: String,
    /// Lines to be shown beneath the message; may be empty.
    details: String,
    hint: Option<String>,
    status: u8,
}

impl Hinted {
    /// A failure: one sentence, no capital, no full stop.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), details: String::new(), hint: None, status: status::FAILURE }
    }

    /// A command line that makes no sense.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(message).with_status(status::USAGE)
    }

    /// The same with lines that explain it.
    #[must_use]
    pub fn details(mut self, lines: impl Into<String>) -> Self {
        self.details = lines.into();
        self
    }

    /// The same with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with another exit status.
    #[must_use]
    pub fn with_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints it on standard error, once; returns the exit status.
    pub fn report(&self) -> ExitCode {
        terminal::print_line(format_args!("error: {}", self.message));
        for line in self.details.lines() {
            terminal::print_line(format_args!("  {line}"));
        }
        if let Some(hint) = &self.hint {
            terminal::print_line(format_args!("hint: {hint}"));
        }
        ExitCode::from(self.status)
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

impl From<dwell_store::Error> for Hinted {
    fn from(error: dwell_store::Error) -> Self {
        use dwell_store::Error as E;
        let hinted = Self::new(&error);
        match &error {
            E::NotFinalized { path } => hinted.hint(format!("dwell finalize {}", quoted(path))),
            E::NotAResult { .. } => {
                hinted.hint("dwell collect threading -- PROGRAM makes a result; name an existing one")
            }
            E::Strange { path, .. } => hinted.hint(strange(path)),
            E::OtherFormat { .. } => hinted.hint("read it with the Dwell that wrote it, or record the program anew"),
            E::Packed { .. } => hinted.hint("ask who sent it for another copy; dwell pack RESULT makes one"),
            E::Exists { path } => hinted.hint(another_folder(path)),
            E::Table { .. } => hinted.hint(DAMAGED),
            E::TooLarge { .. } => hinted.hint(dwell_store::error::TOO_LARGE_HINT),
            E::Io { path, source } => hinted.hint(io_hint(path, source)),
        }
    }
}

impl From<dwell_resolve::Error> for Hinted {
    fn from(error: dwell_resolve::Error) -> Self {
        use dwell_resolve::Error as E;
        let hinted = Self::new(&error);
        match error {
            E::Store(error) => error.into(),
            E::AlreadyFinalized { path } => hinted.hint(format!("dwell report summary {}", quoted(&path))),
            E::NoSpool { .. } => hinted.hint("dwell collect threading -- PROGRAM records anew"),
        }
    }
}

impl From<dwell_server::Error> for Hinted {
    fn from(error: dwell_server::Error) -> Self {
        use dwell_server::Error as E;
        let hinted = Self::new(&error);
        match error {
            E::Store(error) => error.into(),
            E::Listen { source, .. } => hinted.hint(match source.kind() {
                std::io::ErrorKind::AddrInUse => "name another --port, or none for a free one",
                std::io::ErrorKind::PermissionDenied => "name a --port above 1023",
                _ => "name an address of this machine with --listen; `ip address` shows them",
            }),
            E::Tls { .. } | E::Unreadable { .. } => {
                hinted.hint("--tls-cert takes the certificate chain and --tls-key its key, both PEM")
            }
            E::Trace { source, .. } => hinted.hint(source.hint()),
            E::System(_) => hinted.hint("ulimit -n; ulimit -u show whether a limit is reached"),
        }
    }
}

impl From<dwell_analyze::QueryError> for Hinted {
    fn from(error: dwell_analyze::QueryError) -> Self {
        let hint = error.hint().unwrap_or_else(|| query_hint(&error).to_owned());
        Self::usage(&error).hint(hint)
    }
}

/// Which command tells what could have been asked for.
fn query_hint(error: &dwell_analyze::QueryError) -> &'static str {
    use dwell_analyze::QueryError as E;
    match error {
        E::Unknown { what: "object", .. } => "dwell report waits lists the objects",
        E::Unknown { what: "function", .. } => "dwell report hotspots lists the functions",
        E::Unknown { what: "source file" | "module", .. } | E::NoListing { .. } => {
            "dwell report hotspots --format csv lists the functions with their modules and source lines"
        }
        E::SubjectMissing { what: "an object" } => {
            "dwell report waits lists the objects; then dwell report blame OBJECT"
        }
        E::SubjectMissing { what: "an interval" } | E::Unknown { what: "interval", .. } => {
            "dwell report latency lists the worst intervals with their ids; --outlier and --limit let more through"
        }
        E::SubjectMissing { .. } => {
            "dwell report hotspots lists the functions; then dwell report caller-callee FUNCTION"
        }
        E::NoFibers => "dwell report losses says whether goroutines were there that could not be read",
        E::EmptyRange { .. } => "dwell report timeline shows when something happened",
        _ => "dwell report --help lists reports, levels and filter keys",
    }
}

const DAMAGED: &str = "dwell finalize RESULT makes the tables again where the raw data was kept; else collect again";

fn io_hint(path: &Path, source: &std::io::Error) -> String {
    use std::io::ErrorKind as Kind;
    let is_table =
        path.extension().is_some_and(|it| it == "parquet") || path.file_name().is_some_and(|it| it == "tables");
    match source.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => room_hint(path, source.kind()),
        Kind::PermissionDenied => "name a folder that you may use with --result-dir, or run under sudo".into(),
        _ if is_table => DAMAGED.into(),
        Kind::NotFound => match path.parent().filter(|parent| !parent.is_dir()) {
            Some(parent) => format!("mkdir -p {}", quoted(parent)),
            None => "name another folder".into(),
        },
        _ => "name another folder, or look at the disk that it is on".into(),
    }
}

/// A collection that was killed in its first moments may have left a folder with empty ones in it.
fn another_folder(path: &Path) -> String {
    if dwell_store::ResultFolder::is_empty(path) {
        let path = quoted(path);
        return format!(
            "find {path} -type d -empty -delete deletes it, it is empty; or name another folder with --result-dir"
        );
    }
    "name another folder with --result-dir".into()
}

/// How there is room for a file again. What finalization could not write it can write later: the raw data is there.
fn room_hint(path: &Path, kind: std::io::ErrorKind) -> String {
    let too_large = kind == std::io::ErrorKind::FileTooLarge;
    let make_room = if too_large { "ulimit -f unlimited" } else { "free some space" };
    let tables = path.ancestors().find(|path| path.file_name().is_some_and(|name| name == "tables.partial"));
    match tables.and_then(Path::parent) {
        Some(result) => format!("{make_room}; then dwell finalize {}", quoted(result)),
        None => format!("{make_room}, or name another disk with --result-dir"),
    }
}

/// Something else than Dwell made is in the place of a result's file.
fn strange(path: &Path) -> String {
    format!("ls -ld {} shows what is there; Dwell made something else, or somebody else made it", quoted(path))
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// A word as every shell takes it: for scripts that are run.
pub fn script_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A word as a shell takes it: for commands that are shown.
pub fn shell_word(word: &str) -> String {
    if !word.contains(steers) {
        script_word(word)
    } else {
        // What could steer the terminal is not shown as it is, and yet the command can be copied.
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if steers(c) => format!("\\U{:08x}", u32::from(c)),
            c => c.to_string(),
        };
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    }
}

/// This command line under sudo.
pub fn under_sudo() -> String {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("dwell"));
    let words = std::env::args_os().skip(1).map(|argument| shell_word(&argument.to_string_lossy()));
    std::iter::once(format!("sudo {}", quoted(&own))).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinalized_result_names_the_exact_command() {
        let error = Hinted::from(dwell_store::Error::NotFinalized { path: "my results/r000th".into() });
        assert_eq!(error.hint.as_deref(), Some("dwell finalize 'my results/r000th'"));
        assert_eq!(error.status, status::FAILURE);
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("a.out"), "a.out");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(script_word("it's\n"), "'it'\\''s\n'");
        assert_eq!(shell_word("it's\x1b[2J·\n"), r"$'it\'s\U0000001b[2J·\U0000000a'");
    }
}
