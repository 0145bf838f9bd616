//! The kernel's symbols for root, and for a user who may see their addresses only through Dwell's rights: read before finalization,
//! which has none. Whoever may never see them uses the kernel's own files.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use dwell_resolve::KernelFiles;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::geteuid;

use crate::error::Result;
use crate::trust;

/// Copies in memory of the files that tell the kernel's symbols.
#[derive(Debug)]
pub struct KernelSymbols(Option<[OwnedFd; 2]>);

impl KernelSymbols {
    /// Reads them with the right to, where this process holds it and can record kernel code.
    pub fn read() -> Self {
        if !geteuid().is_root() && !dwell_rights::may_see_kernel() {
            return Self(None);
        }
        let _raised = trust::to_read_symbols();
        // A kernel that has no modules has no list of them.
        let modules = fs::read("/proc/modules").unwrap_or_default();
        let symbols = fs::read("/proc/kallsyms").ok().and_then(|symbols| in_memory(&symbols));
        Self(symbols.zip(in_memory(&modules)).map(<[_; 2]>::from))
    }

    /// The same; then gives up all rights.
    pub fn take() -> Result<Self> {
        let symbols = Self::read();
        trust::keep(&[])?;
        Ok(symbols)
    }

    /// Where finalization finds them.
    pub fn files(&self) -> KernelFiles {
        let path = |file: &OwnedFd| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        match &self.0 {
            Some([kallsyms, modules]) => KernelFiles { kallsyms: path(kallsyms), modules: path(modules) },
            None => KernelFiles::default(),
        }
    }
}

fn in_memory(text: &[u8]) -> Option<OwnedFd> {
    let mut file = File::from(memfd_create("dwell-symbols", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(text).ok()?;
    Some(file.into())
}
