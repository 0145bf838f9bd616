//! What a kernel must have for any collection by BPF. `dwell collect` and `dwell doctor` both ask here.

use std::path::Path;

use crate::error::{Error, Result};
use crate::kernel::btf;
use crate::machine;

const BTF: &str = "/sys/kernel/btf/vmlinux";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// Helpers of the kernel that every collection calls, the Linux that they came with, and what for.
const HELPERS: [(&str, &str, &str); 2] = [
    ("BPF_FUNC_task_storage_get", "5.11", "what Dwell knows of a thread lies with the thread"),
    ("BPF_FUNC_task_pt_regs", "5.15", "a waiting thread's registers tell what it waits on"),
];

/// Fails where this kernel cannot be recorded, with the reason by name.
pub fn check() -> Result<()> {
    if !Path::new(BTF).exists() {
        return Err(Error::Unsupported {
            reason: format!(
                "Linux {} has no BTF, the description of its own types ({BTF} is missing)",
                machine::kernel()
            ),
            remedy: "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are".into(),
            log: String::new(),
        });
    }
    let lockdown = std::fs::read_to_string(LOCKDOWN).unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Err(locked_down(String::new()));
    }
    match missing_helper() {
        Some((since, why)) => Err(Error::Unsupported {
            reason: format!("Linux {} is too old: {why}, and BPF reads that since Linux {since}", machine::kernel()),
            remedy: "boot Linux 5.15 or newer".into(),
            log: String::new(),
        }),
        None => Ok(()),
    }
}

/// The kernel's description of its own types, in the format BTF.
pub fn kernel_types() -> std::io::Result<Vec<u8>> {
    std::fs::read(BTF)
}

/// The kernel keeps its memory from BPF. `log`: what the verifier said, where that told.
pub fn locked_down(log: String) -> Error {
    Error::Unsupported {
        reason: "it is locked down (lockdown=confidentiality): BPF may not read its memory".into(),
        remedy: "boot with lockdown=integrity, which keeps the kernel's code from changes all the same".into(),
        log,
    }
}

fn missing_helper() -> Option<(&'static str, &'static str)> {
    let there = btf::types()?.helpers.as_ref()?;
    HELPERS.iter().rev().find(|(helper, ..)| !there.contains(*helper)).map(|(_, since, why)| (*since, *why))
}
