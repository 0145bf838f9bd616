//! The capabilities that Dwell's own file gives to a user who is not root: [`RIGHTS`], one table, and when they are in force.
//!
//! At the start all are put away: held, but without effect, so that files, programs and folders that the user names are opened
//! with the user's own rights. Each is raised for the few calls that need it and given up when nothing later does. The
//! kernel keeps them by thread: a new thread has those of the one that made it.
//!
//! None of this changes a process of root, whom only [`confine`] restricts. Nor one whose capabilities are its user's own, such as
//! the ambient ones of a service: these go on to the launched program as they would without Dwell.

pub mod confine;

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_ambient_set, clear_ambient_capability_set,
    set_capabilities,
};

/// A capability that Dwell uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// As the kernel calls it.
    pub name: &'static str,
    /// What Dwell does with it.
    pub gives: &'static str,
    /// What a collection lacks without it.
    pub lost: &'static str,
    /// Whether there is no collection without it.
    pub essential: bool,
    set: CapabilitySet,
}

impl Right {
    /// Its number in `linux/capability.h`.
    pub fn number(&self) -> u32 {
        self.set.bits().trailing_zeros()
    }
}

/// Loads programs and tables into the kernel.
pub const BPF: Right = Right {
    name: "CAP_BPF",
    gives: "loads Dwell's own programs and tables into the kernel",
    lost: "no collection by BPF",
    essential: true,
    set: CapabilitySet::BPF,
};
/// Sees the scheduler's events.
pub const PERFMON: Right = Right {
    name: "CAP_PERFMON",
    gives: "sees the scheduler's events and samples running code, kernel code too",
    lost: "no collection by BPF",
    essential: true,
    set: CapabilitySet::PERFMON,
};
/// Reads the stacks of threads that wait already.
pub const PTRACE: Right = Right {
    name: "CAP_SYS_PTRACE",
    gives: "reads the stacks of threads that wait already when Dwell attaches to them",
    lost: "where threads waited when Dwell attached, if Yama or their user forbids it; other users' processes",
    essential: false,
    set: CapabilitySet::SYS_PTRACE,
};
/// Names the functions of the kernel.
pub const SYSLOG: Right = Right {
    name: "CAP_SYSLOG",
    gives: "names the functions of the kernel",
    lost: "names of kernel functions",
    essential: false,
    set: CapabilitySet::SYSLOG,
};
/// Reads files of other users.
pub const READ_SEARCH: Right = Right {
    name: "CAP_DAC_READ_SEARCH",
    gives: "reads the programs of other users for their symbols, if /etc/dwell.conf allows to record these",
    lost: "symbols in files that only other users may read",
    essential: false,
    set: CapabilitySet::DAC_READ_SEARCH,
};

/// All that Dwell uses.
pub const RIGHTS: [Right; 5] = [BPF, PERFMON, PTRACE, SYSLOG, READ_SEARCH];

fn set_of(rights: &[Right]) -> CapabilitySet {
    rights.iter().map(|right| right.set).collect()
}

/// The rights that this thread could raise because its file gives them, in a process that is not root's.
pub fn held() -> Vec<Right> {
    let permitted = sets().map_or(CapabilitySet::empty(), |sets| sets.permitted);
    RIGHTS.into_iter().filter(|right| permitted.contains(right.set)).collect()
}

/// Those in force without which there is no collection, that this thread lacks; root's too, where a container takes them away.
/// `CAP_SYS_ADMIN` has their rights.
pub fn lacking_to_collect() -> Vec<Right> {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let lacks = |right: &Right| right.essential && !effective.intersects(right.set | CapabilitySet::SYS_ADMIN);
    RIGHTS.into_iter().filter(lacks).collect()
}

/// Puts the capabilities of this process's file away, so that none has an effect or goes on to a program. Call it before
/// there is a second thread.
///
/// # Errors
///
/// Those of capset(2): then the process must not go on.
pub fn put_away() -> io::Result<()> {
    let Some(sets) = sets() else { return Ok(()) };
    let none = CapabilitySet::empty();
    // Its user must not trace it, nor the threads of it that have given all up: they share its memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    match clear_ambient_capability_set() {
        Err(error) if error != Errno::INVAL => Err(error.into()), // EINVAL: before Linux 4.3
        _ => set(CapabilitySets { effective: none, inheritable: none, ..sets }),
    }
}

/// Gives all up but `kept`, for good: in this thread and those that it makes.
///
/// # Errors
///
/// Those of capset(2): then the process must not go on.
pub fn keep(kept: &[Right]) -> io::Result<()> {
    let Some(sets) = sets() else { return Ok(()) };
    let permitted = sets.permitted & set_of(kept);
    set(CapabilitySets { effective: sets.effective & permitted, permitted, inheritable: CapabilitySet::empty() })
}

/// Gives all up. Calls nothing but the kernel, so that a forked child may.
///
/// Without CAP_PERFMON the child is then its user's like any other: they may open perf events of it by their own rights
/// only. Such a process must not have read what its user may not: its child has a copy (see [`may_see_kernel`]).
///
/// # Errors
///
/// Those of capset(2) and prctl(2): then the process must not go on.
pub fn give_up_in_child() -> io::Result<()> {
    let Some(sets) = sets() else { return Ok(()) };
    keep(&[])?;
    if sets.permitted.contains(PERFMON.set) {
        return Ok(());
    }
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Whether kernel code can be in what this process records, so that the kernel's symbols are of use to it.
pub fn may_see_kernel() -> bool {
    sets().is_some_and(|sets| sets.permitted.contains(PERFMON.set))
}

/// Rights in force until this is dropped, in the thread that raised them.
#[derive(Debug)]
#[must_use = "the rights are put away again when this is dropped"]
pub struct Raised {
    before: Option<CapabilitySet>,
    /// Another thread has rights of its own.
    _here: std::marker::PhantomData<*const ()>,
}

/// Puts those of `rights` in force that this thread holds. Without them, the calls that need them say so.
pub fn raise(rights: &[Right]) -> Raised {
    let before = sets().map(|sets| {
        let effective = sets.effective | (sets.permitted & set_of(rights));
        // What is permitted can be raised; where a security module refuses, the calls do, too.
        let _ = set(CapabilitySets { effective, ..sets });
        sets.effective
    });
    Raised { before, _here: std::marker::PhantomData }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let (Some(before), Some(sets)) = (self.before, sets()) else { return };
        let lowered = set(CapabilitySets { effective: sets.effective & before, ..sets });
        if lowered.is_err() {
            std::process::abort(); // capset(2) always lets go of what is held
        }
    }
}

/// Those of this thread; none in a process of root's, without any, or whose file gives none.
fn sets() -> Option<CapabilitySets> {
    let sets = (!geteuid().is_root()).then(|| capabilities(None).ok()).flatten()?;
    (!sets.permitted.is_empty() && are_of_file(sets.permitted)).then_some(sets)
}

/// Whether a file gave this process's capabilities: some were not ambient when it began. So the kernel tells it, too, for
/// `AT_SECURE` (`cap_bprm_creds_from_file`, security/commoncap.c). Kept from the first call on: later none are ambient.
fn are_of_file(permitted: CapabilitySet) -> bool {
    static ARE_OF_FILE: OnceLock<bool> = OnceLock::new();
    let is_ambient = |one: CapabilitySet| capability_is_in_ambient_set(one).unwrap_or(false);
    *ARE_OF_FILE.get_or_init(|| permitted.iter().any(|one| !is_ambient(one)))
}

fn set(sets: CapabilitySets) -> io::Result<()> {
    Ok(set_capabilities(None, sets)?)
}

/// `security.capability` of a file that gives all [`RIGHTS`]: `struct vfs_cap_data` of `linux/capability.h`, revision 2. They are
/// permitted, not effective: Dwell raises them itself, and a file whose rights are effective cannot be started at all where
/// one of them is taken away, as in a container.
pub fn file_attribute() -> [u8; 20] {
    const REVISION_2: u32 = 0x0200_0000;
    let bits = set_of(&RIGHTS).bits();
    let words = [REVISION_2, bits as u32, 0, (bits >> 32) as u32, 0];
    let mut bytes = [0; 20];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!(RIGHTS.map(|right| right.number()), [39, 38, 19, 34, 2]);
    }

    #[test]
    fn the_attribute_is_what_setcap_writes() {
        // setcap cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_perfmon,cap_bpf=p
        let expected = [0, 0, 0, 2, 4, 0, 8, 0, 0, 0, 0, 0, 0xc4, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(file_attribute(), expected);
    }

    #[test]
    fn without_rights_nothing_changes() {
        // Neither root nor a plain user: both keep what they have.
        let before = capabilities(None).unwrap();
        if !geteuid().is_root() && !before.permitted.is_empty() {
            return;
        }
        put_away().unwrap();
        keep(&[]).unwrap();
        drop(raise(&RIGHTS));
        assert_eq!(capabilities(None).unwrap(), before);
        assert!(held().is_empty());
    }
}
