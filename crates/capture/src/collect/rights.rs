//! Which rights are in force when: each only as long as something needs it.

use dwell_model::Topic;
use dwell_rights::{self as rights, Raised, Right};

use crate::drain::source::Source;
use crate::error::{Error, Result};
use crate::kernel::perf;
use crate::kernel::version;
use crate::options::Options;

/// What is in force while the source of records is opened.
pub(super) const TO_START: [Right; 3] = [rights::BPF, rights::PERFMON, rights::SYSLOG];
/// What is in force while the targets' threads are taken in.
const TO_SEED: [Right; 2] = [rights::BPF, rights::PERFMON];

/// Tells the state of every thread of the targets, with the rights that this takes.
pub(super) fn seed(source: &mut dyn Source) -> Result<()> {
    let _raised = rights::raise(&TO_SEED);
    source.seed()
}

/// Gives up the rights that nothing needs any more once recording has begun. Kept, without effect until they are raised:
/// with BPF, CAP_BPF for the tables of code that is mapped later, and CAP_PERFMON where hooks come and go (delays, who asks
/// for work through ITT, the clocks of processes that join); for users who may record everyone, the rights that read their processes and files. Root keeps a list.
pub(super) fn settle_rights(options: &Options, source: &str) -> Result<()> {
    let mut kept = Vec::new();
    if source == "bpf" {
        kept.push(rights::BPF);
        let hooks_come_and_go = options.itt || options.topics.contains(&Topic::Latency) || options.joining.is_some();
        kept.extend(hooks_come_and_go.then_some(rights::PERFMON));
    }
    if !options.own_only {
        kept.extend(TO_LOOK);
    }
    let sets_uprobes_as_events = options.itt && !version::sets_probes_at_once();
    let opens_events = options.topics.contains(&Topic::Latency) && perf::level_for_root().is_some();
    let opens_events = opens_events || options.joining.is_some();
    let settled =
        rights::keep(&kept).and_then(|()| rights::confine::confine_recorder(sets_uprobes_as_events || opens_events));
    settled.map_err(|source| Error::System { what: "giving up capabilities", source })
}

/// What reads processes and files of other users, for whoever may record these.
const TO_LOOK: [Right; 2] = [rights::PTRACE, rights::READ_SEARCH];

/// Nothing while only own processes are recorded: these are read with the user's own rights.
pub(super) fn looking(options: &Options) -> Option<Raised> {
    (!options.own_only).then(|| rights::raise(&TO_LOOK))
}
