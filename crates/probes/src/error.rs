//! Why a probe has no place in a file.

use std::path::PathBuf;

/// Result of looking for a probe's places.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not an x86-64 ELF file, or a damaged one.
    #[error("{} is no x86-64 ELF file", file.display())]
    Elf {
        /// The file.
        file: PathBuf,
    },
    /// There is no function of this name.
    #[error("no function {name:?} in {}", file.display())]
    NoSuchFunction {
        /// As given.
        name: String,
        /// The file.
        file: PathBuf,
        /// Names that are like it, best first; empty when the file tells no names.
        nearest: Vec<String>,
    },
    /// The name stands for several functions.
    #[error("{name:?} stands for {} functions of {}", candidates.len(), file.display())]
    Ambiguous {
        /// As given.
        name: String,
        /// The file.
        file: PathBuf,
        /// What stands for one of them each.
        candidates: Vec<String>,
    },
    /// The function's end is not known: it has no size, or no instruction that leaves it.
    #[error("{name:?} in {} {why}", file.display())]
    NoEnd {
        /// As given.
        name: String,
        /// The file.
        file: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The address lies outside of all code.
    #[error("there is no code at {address:#x} in {}", file.display())]
    NoCode {
        /// Link-time address.
        address: u64,
        /// The file.
        file: PathBuf,
    },
    /// The function is left by a jump to another one, which returns in its place.
    #[error("{name:?} in {} ends with a call of another function, which returns in its place", file.display())]
    EndsInAnother {
        /// As given.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// The USDT probe has no such argument.
    #[error("{probe} has no arg{number}: it has {there} arguments")]
    NoSuchArgument {
        /// The probe.
        probe: String,
        /// As given.
        number: u8,
        /// How many it has.
        there: usize,
    },
    /// A USDT probe's argument lies where the hook cannot look.
    #[error("arg{number} of {probe} lies at {place:?}, which cannot be read")]
    UnreadableArgument {
        /// The probe.
        probe: String,
        /// As given.
        number: u8,
        /// As the file says.
        place: String,
    },
    /// There is no such USDT probe.
    #[error("no USDT probe {provider}:{name} in {}", file.display())]
    NoSuchUsdt {
        /// As given.
        provider: String,
        /// As given.
        name: String,
        /// The file.
        file: PathBuf,
        /// Those that there are.
        known: Vec<String>,
    },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "name the file with its path: NAME=uprobe:/path/to/file:FUNCTION".into(),
            Self::Elf { .. } => {
                "name the program or library that has the function: NAME=uprobe:/path/to/file:FUNCTION; a \
                                 script's code is in its interpreter"
                    .into()
            }
            Self::NoSuchFunction { nearest, file, .. } if nearest.is_empty() => format!(
                "`nm -DC {0}` and `nm -C {0}` list the functions; an address of `objdump -d {0}` can be given as +0xADDRESS",
                file.display()
            ),
            Self::NoSuchFunction { nearest, .. } => format!("there is {}", nearest.join(", ")),
            Self::Ambiguous { candidates, .. } => format!("name one of {}", candidates.join(", ")),
            Self::NoEnd { .. } => "name where the task begins and where it ends: BEGIN..END".into(),
            Self::EndsInAnother { .. } => "probe the return of the function that it ends with".into(),
            Self::NoSuchArgument { there: 0, .. } => "leave the values out".into(),
            Self::NoSuchArgument { there, .. } => format!("the first is arg0, the last arg{}", there - 1),
            Self::UnreadableArgument { .. } => "leave this value out".into(),
            Self::NoCode { file, .. } => format!("`objdump -d {}` shows code and its addresses", file.display()),
            Self::NoSuchUsdt { known, .. } if known.is_empty() => {
                "the file has no USDT probes; NAME=uprobe:FILE:FUNCTION takes functions".into()
            }
            Self::NoSuchUsdt { known, .. } => format!("there is {}", known.join(", ")),
        }
    }
}
