//! Why a collection could not begin, or broke off.

use std::ffi::OsString;
use std::io;

use dwell_probes::ValueProbeError;

/// Result of a collection.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. A hook family that is missing is no error but a notice in the result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The collector may not load BPF programs.
    #[error("no permission to load BPF programs: {missing}")]
    Permission {
        /// Capability or setting that is missing.
        missing: String,
    },
    /// Neither BPF programs nor perf events can be used.
    #[error("no permission to record: {reason}")]
    PerfRefused {
        /// What speaks against either.
        reason: String,
        /// It is the level of `kernel.perf_event_paranoid`.
        by_setting: bool,
    },
    /// What only BPF programs record was asked for.
    #[error("{what} needs BPF, which cannot be used: {reason}")]
    NeedsBpf {
        /// Options.
        what: String,
        /// What speaks against BPF.
        reason: String,
    },
    /// An event that was to be counted cannot be.
    #[error("this machine cannot count the event {event}: {reason}")]
    EventRefused {
        /// As given.
        event: String,
        /// What speaks against it.
        reason: String,
    },
    /// The kernel cannot do what every collection needs.
    #[error("this kernel cannot be recorded: {reason}")]
    Unsupported {
        /// What it lacks.
        reason: String,
        /// What to do.
        remedy: String,
        /// What the kernel said, a line each; may be empty.
        log: String,
    },
    /// A process is another user's, and the user may record own ones only.
    #[error("process {pid} belongs to another user; without root you can record only your own")]
    NotYours {
        /// The process.
        pid: u32,
    },
    /// Fewer files may be open than a collection needs.
    #[error("only {limit} files may be open at a time; a collection on this machine needs {needed}")]
    TooFewDescriptors {
        /// RLIMIT_NOFILE.
        limit: u64,
        /// How many it needs.
        needed: u64,
    },
    /// `/proc` shows the processes of another pid namespace.
    #[error("/proc shows another pid namespace than the one Dwell runs in")]
    ForeignProc,
    /// The program to be launched is not there.
    #[error("program {:?} not found", program)]
    ProgramNotFound {
        /// As given.
        program: OsString,
    },
    /// The program to be launched cannot be executed.
    #[error("cannot run {:?}: {source}", program)]
    ProgramNotExecutable {
        /// As given.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// A process to be attached to is not there.
    #[error("no process {target}")]
    NoSuchProcess {
        /// Process id or name, as given.
        target: String,
    },
    /// The user to run the program as is not there.
    #[error("no user {name:?}")]
    NoSuchUser {
        /// As given.
        name: String,
    },
    /// A task probe has no place.
    #[error(transparent)]
    TaskProbe(#[from] dwell_probes::Error),
    /// A probe with values has no place, or no such value.
    #[error(transparent)]
    ValueProbe(#[from] ValueProbeError),
    /// The kernel sets no probe at this tracepoint.
    #[error("probe {probe}: the kernel cannot set it: {source}")]
    TracepointRefused {
        /// Name of the probe.
        probe: String,
        /// The kernel's reason.
        source: libbpf_rs::Error,
    },
    /// Tracepoints tell of the kernel's memory, which only root may read.
    #[error("probes at tracepoints need root")]
    TracepointsNeedRoot,
    /// The probes with values have more places than their hook tells apart.
    #[error("the probes have {places} places, of which {} can be told apart", dwell_wire::MOST_PROBE_SITES)]
    TooManyProbeSites {
        /// How many they have.
        places: usize,
    },
    /// The file of a task probe is not there.
    #[error("probe {probe}: no file {:?}", file)]
    NoSuchProbeFile {
        /// Name of the probe.
        probe: String,
        /// As given.
        file: std::path::PathBuf,
    },
    /// More intervals begin or end at a system call than its hook tells apart.
    #[error("more than {most} intervals begin or end at one system call")]
    TooManyAtACall {
        /// How many it does.
        most: usize,
    },
    /// There is no system call of this name.
    #[error("there is no system call {name:?} for {probe:?} to begin or end at")]
    NoSuchCall {
        /// The interval.
        probe: String,
        /// As given.
        name: String,
    },
    /// The kernel sets no probes in programs, or not this one.
    #[error("probe {probe}: the kernel cannot set it: {source}")]
    TaskProbeRefused {
        /// Name of the probe.
        probe: String,
        /// libbpf's reason.
        source: libbpf_rs::Error,
    },
    /// An operating-system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A BPF program was refused.
    #[error("{what}: {source}")]
    Bpf {
        /// What was being done.
        what: String,
        /// libbpf's reason.
        source: libbpf_rs::Error,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Store(#[from] dwell_store::Error),
}

impl Error {
    /// The kernel lacks something that Dwell has no better word for.
    pub(crate) fn unsupported(reason: impl Into<String>) -> Self {
        let remedy = "dwell doctor says what this machine offers".into();
        Self::Unsupported { reason: reason.into(), remedy, log: String::new() }
    }

    /// Whether the kernel would do it for someone with more rights.
    pub fn is_for_lack_of_rights(&self) -> bool {
        matches!(self, Self::TaskProbeRefused { source, .. } if source.kind() == libbpf_rs::ErrorKind::PermissionDenied)
    }

    /// What the kernel said, a line each; mostly empty.
    pub(crate) fn log(&self) -> &str {
        if let Self::Unsupported { log, .. } = self { log } else { "" }
    }

    /// The reason alone, for a notice that tells what is missing because of it.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unsupported { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn last_os(what: &'static str) -> Self {
        Self::System { what, source: io::Error::last_os_error() }
    }
}
