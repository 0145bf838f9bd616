//! Names of the files in a result's `modules` folder: what the collector keeps of a process's files because finalization
//! could not read them any more. The writer and the reader of the folder meet here.

/// A kept file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptFile {
    /// The map of a process's run-time code, `perf-PID.map`, as it was at `time_ns`.
    PerfMap {
        /// The process.
        tgid: u32,
        /// CLOCK_MONOTONIC, ns.
        time_ns: u64,
    },
    /// The log of a process's run-time code, `jit-PID.dump`, which the process mapped at `time_ns`.
    JitDump {
        /// The process.
        tgid: u32,
        /// CLOCK_MONOTONIC, ns.
        time_ns: u64,
    },
    /// A file with code that its path does not lead to: in another mount namespace, deleted or replaced.
    Module {
        /// [`module_identity`].
        identity: String,
    },
}

impl KeptFile {
    /// The file's name.
    pub fn file_name(&self) -> String {
        match self {
            Self::PerfMap { tgid, time_ns } => format!("perf-{tgid}-{time_ns}.map"),
            Self::JitDump { tgid, time_ns } => format!("jit-{tgid}-{time_ns}.dump"),
            Self::Module { identity } => format!("{identity}.elf"),
        }
    }

    /// What the file of this name is; `None` for other files.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(identity) = name.strip_suffix(".elf") {
            return Some(Self::Module { identity: identity.to_owned() });
        }
        let numbers = |prefix: &str, suffix: &str| {
            let (tgid, time_ns) = name.strip_prefix(prefix)?.strip_suffix(suffix)?.split_once('-')?;
            Some((tgid.parse().ok()?, time_ns.parse().ok()?))
        };
        let map = numbers("perf-", ".map").map(|(tgid, time_ns)| Self::PerfMap { tgid, time_ns });
        map.or_else(|| numbers("jit-", ".dump").map(|(tgid, time_ns)| Self::JitDump { tgid, time_ns }))
    }
}

/// What tells a mapped file from others of the same path: its build id in hexadecimal, or device and inode. `None` when
/// the kernel told neither.
pub fn module_identity(build_id: &[u8], device: u32, inode: u64) -> Option<String> {
    if !build_id.is_empty() {
        return Some(build_id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    (inode != 0).then(|| format!("inode-{device:x}-{inode:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let all = [
            KeptFile::PerfMap { tgid: 7, time_ns: u64::MAX },
            KeptFile::JitDump { tgid: 4_194_304, time_ns: 0 },
            KeptFile::Module { identity: module_identity(&[0xab, 1], 0, 9).expect("identity") },
            KeptFile::Module { identity: module_identity(&[], 8, 9).expect("identity") },
        ];
        for kept in all {
            assert_eq!(KeptFile::parse(&kept.file_name()), Some(kept));
        }
        assert_eq!(module_identity(&[], 8, 0), None);
        for other in ["vdso.so", "perf-x-1.map", "perf-1.map", "jit-1-2.map", ""] {
            assert_eq!(KeptFile::parse(other), None, "{other}");
        }
    }
}
