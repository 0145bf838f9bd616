//! Capture: loads the BPF programs, launches or attaches, drains the rings and writes the raw trace.
//!
//! The only crate that knows libbpf and perf events. It interprets nothing: a record goes to the spool as the kernel
//! wrote it, beside what only user space can know in time (mappings, command lines, members of epoll sets).

mod clock;
mod collect;
mod copying;
mod edges;
mod error;
mod fault_places;
mod forgetting;
mod hooks;
mod itt;
mod keeper;
mod kernel;
mod kernel_types;
mod latency;
mod launch;
mod loading;
mod losing;
mod machine;
mod maps;
mod options;
mod outliers;
mod perf;
mod probe;
mod proc;
mod processor_trace;
pub mod readers;
mod recorder;
mod sampling;
mod scope;
mod sockets;
mod system;
mod task_probes;
mod unprivileged;
mod unwinding;
mod view;
mod waiting;
mod walk;
mod watch;

pub use dwell_probes::TaskProbe;

pub use collect::{Progress, collect};
pub use error::{Error, Result};
pub use itt::{Library as IttLibrary, environment};
pub use options::{EventSource, Launch, Options, Rule, Target};
pub use outliers::FOLDER as OUTLIERS;
pub use perf::level_for_root;
pub use probe::{Capability, VerifiedHook, probe, verify_hooks};
pub use proc::pids_named;
pub use watch::{Subject, Trigger};
