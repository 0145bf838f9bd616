//! What processes of this machine belong to: control groups, units of systemd, containers and their pods.
//!
//! Only reads: the mounted cgroup file systems, `/proc/PID/cgroup`, and the files in which Docker, Podman, containerd and CRI-O
//! keep the names of their containers. Any of these may be missing, or be of a version that says other things: then a name is
//! missing, never more.

mod engines;
mod folders;
mod path;

use std::fs;
use std::path::PathBuf;

pub use engines::{Container, Engines};
pub use folders::{Folders, NoSuchGroup};
pub use path::{container_id, unit};

/// Which processes: those of the whole machine, or those of some control groups and of the groups within them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All that run a program.
    Machine,
    /// Those of these folders of a cgroup file system.
    Folders(Vec<PathBuf>),
}

impl Selection {
    /// The processes that belong to it now, in the order of their ids; the calling one is left out.
    pub fn pids(&self) -> Vec<u32> {
        let own = std::process::id();
        let mut pids = match self {
            Self::Machine => programs(),
            Self::Folders(folders) => folders.iter().flat_map(|folder| folders::processes_in(folder)).collect(),
        };
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|&pid| pid != own);
        pids
    }
}

/// All processes but the kernel's own threads, which run no program.
fn programs() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| !is_kernel_thread(pid)).collect()
}

/// By the flag PF_KTHREAD (include/linux/sched.h) in the 9th field of proc_pid_stat(5). A process that has ended is no kernel thread.
fn is_kernel_thread(pid: u32) -> bool {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses is the program's choice.
    let flags = stat.rsplit_once(") ").and_then(|(_, fields)| fields.split(' ').nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_KTHREAD != 0)
}

/// The control group of process `pid`, as `/proc` names it: `/system.slice/nginx.service`; empty where it is not known. Of several
/// hierarchies (cgroup v1) the one that says most.
pub fn of_process(pid: u32) -> String {
    path::telling(&fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()).to_owned()
}
