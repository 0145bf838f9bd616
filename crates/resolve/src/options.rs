//! How a user wants a trace finalized.

use std::path::PathBuf;

use crate::code::access::User;
use crate::code::debuginfod::DebuginfodSettings;
use crate::code::kernel::KernelFiles;

/// How much of the files' debug information is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything: source lines, inlined functions, separate debug files.
    #[default]
    Full,
    /// Symbol tables only.
    Fast,
}

/// How to finalize.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where else to look for the profiled files and their debug files: `--search-dir`.
    pub search_dirs: Vec<PathBuf>,
    /// Servers to ask for debug files, when the user names any.
    pub debuginfod: Option<DebuginfodSettings>,
    /// Where the kernel's symbols are.
    pub kernel: KernelFiles,
    /// `--finalization-mode`.
    pub mode: Mode,
    /// Expand inlined functions; needs [`Mode::Full`].
    pub inlines: bool,
    /// Keep the raw data after success.
    pub keep_spool: bool,
    /// Whose the result will be, where this process runs as root for that user; none: who this process runs as. Files that this user
    /// may not read are not used.
    pub reader: Option<User>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            search_dirs: Vec::new(),
            debuginfod: None,
            kernel: KernelFiles::default(),
            mode: Mode::Full,
            inlines: true,
            keep_spool: false,
            reader: None,
        }
    }
}
