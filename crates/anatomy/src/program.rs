//! One program in QEMU's user mode.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The emulator of a program for x86-64.
pub const EMULATOR: &str = "qemu-x86_64";

/// Why a program cannot be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There is none.
    #[error("there is no program {0}")]
    Missing(String),
    /// It cannot be opened, or executed.
    #[error("{0} cannot be executed: {1}")]
    Denied(String, String),
    /// A text with `#!`.
    #[error("{program} is a script of {interpreter}")]
    Script {
        /// The script.
        program: String,
        /// The program that runs it.
        interpreter: String,
    },
    /// For another processor, or in 32 bits.
    #[error("{0} is a program for {1}; only 64-bit x86 programs are traced")]
    Architecture(String, &'static str),
    /// Not an ELF file, or cut off.
    #[error("{0} is no program: it has no ELF header")]
    NotAProgram(String),
}

/// A file of this name that can be executed, along `$PATH`.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The program's file, when it can be traced.
pub fn check(name: &OsStr) -> Result<PathBuf, Unfit> {
    let shown = name.to_string_lossy().into_owned();
    let path = find(name).ok_or_else(|| Unfit::Missing(shown.clone()))?;
    if !is_executable(&path) {
        return Err(Unfit::Denied(shown, "it has no permission to execute".to_owned()));
    }
    let mut head = [0u8; 256];
    let read = File::open(&path).and_then(|mut file| file.read(&mut head));
    let read = read.map_err(|error| Unfit::Denied(shown.clone(), error.to_string()))?;
    fit(shown, &head[..read]).map(|()| path)
}

/// Whether a file that begins so can be traced.
fn fit(program: String, head: &[u8]) -> Result<(), Unfit> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let interpreter = String::from_utf8_lossy(line).trim().to_owned();
        return Err(Unfit::Script { program, interpreter });
    }
    let (Some(b"\x7fELF"), Some(&class), Some(machine)) = (head.get(..4), head.get(4), head.get(18..20)) else {
        return Err(Unfit::NotAProgram(program));
    };
    match (class, machine) {
        (2, [62, 0]) => Ok(()),
        (1, [3, 0]) => Err(Unfit::Architecture(program, "32-bit x86")),
        (1, [62, 0]) => Err(Unfit::Architecture(program, "x32")),
        (_, [183, 0]) => Err(Unfit::Architecture(program, "ARM64")),
        _ => Err(Unfit::Architecture(program, "another processor")),
    }
}

/// Whether an emulator loads plug-ins: its help says so.
pub fn takes_plugins(emulator: &Path) -> bool {
    let help = Command::new(emulator).arg("-help").stdin(Stdio::null()).output();
    help.is_ok_and(|help| help.stdout.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"-plugin")))
}

/// The command line of QEMU for a program.
pub fn command(emulator: &Path, program: &Path, words: &[OsString], plugin: &str) -> Command {
    let mut command = Command::new(emulator);
    // The program sees itself called as the user did.
    command.arg("-0").arg(words.first().map_or(program.as_os_str(), OsString::as_os_str));
    command.arg("-plugin").arg(plugin).arg(program).args(words.iter().skip(1));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_for_this_processor_are_fit() {
        let mut head = std::fs::read(std::env::current_exe().unwrap()).unwrap()[..64].to_vec();
        assert_eq!(fit("x".into(), &head), Ok(()));
        head[4] = 1;
        head[18] = 3;
        assert_eq!(fit("x".into(), &head), Err(Unfit::Architecture("x".into(), "32-bit x86")));
        assert_eq!(fit("x".into(), b"\x7fELF"), Err(Unfit::NotAProgram("x".into())));
        assert_eq!(fit("x".into(), b""), Err(Unfit::NotAProgram("x".into())));
        let script = Unfit::Script { program: "x".into(), interpreter: "/bin/sh -e".into() };
        assert_eq!(fit("x".into(), b"#! /bin/sh -e\necho"), Err(script));
    }
}
