//! What would change a state: files that take a value at once, words for the boot loader, or a command for a shell.

/// A change that Dwell can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Files of `/proc` or `/sys` that take a value at once, until the next boot.
    Write {
        /// All of them, for a shell.
        pattern: String,
        /// Their paths.
        files: Vec<String>,
        /// What to write to each.
        value: String,
    },
    /// Words for the kernel's command line, which take a boot.
    Boot(String),
    /// A command that Dwell does not run itself.
    Shell(String),
}

impl Change {
    /// One file takes a value.
    pub(crate) fn file(path: impl Into<String>, value: impl Into<String>) -> Self {
        let path = path.into();
        Self::Write { pattern: path.clone(), files: vec![path], value: value.into() }
    }

    /// Each of `files`, which `pattern` matches, takes a value.
    pub(crate) fn files(pattern: impl Into<String>, files: Vec<String>, value: impl Into<String>) -> Self {
        Self::Write { pattern: pattern.into(), files, value: value.into() }
    }

    /// The command for a shell.
    pub fn command(&self) -> String {
        match self {
            Self::Write { pattern, value, .. } => write_command(value, pattern),
            Self::Boot(words) => format!("boot the kernel with {words}"),
            Self::Shell(command) => command.clone(),
        }
    }

    /// Whether it lasts until the next boot, needs one, or is the user's to run.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Write { .. } => "write",
            Self::Boot(_) => "boot",
            Self::Shell(_) => "shell",
        }
    }
}

pub(crate) fn write_command(value: &str, files: &str) -> String {
    let value = if value.contains(' ') { format!("'{value}'") } else { value.to_owned() };
    format!("echo {value} | sudo tee {files}")
}
