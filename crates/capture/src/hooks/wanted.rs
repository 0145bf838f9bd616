//! Which families a collection loads before the program runs.

use dwell_model::Topic;

use crate::drain::source::Targets;
use crate::options::Options;

/// Those that a collection of `targets` begins with; those first that the kernel verifies longest, so that what is left for the
/// last CPU is short.
pub fn families(options: &Options, targets: &Targets<'_>) -> Vec<&'static str> {
    let has = |topic| options.topics.contains(&topic);
    let all = [
        ("switch", true),
        ("threads", true),
        ("waking", true),
        ("sample", true),
        ("latency", has(Topic::Latency)),
        ("running", has(Topic::Latency)),
        ("sockets", has(Topic::Sockets)),
        ("requests", options.requests),
        ("call_probe", !targets.probes.calls.is_empty()),
        ("task_probe", !targets.probes.found.is_empty()),
        ("creation", !targets.libraries.is_empty()),
        ("holders", true),
        ("io_quota", true),
        ("system", has(Topic::System)),
    ];
    all.into_iter().filter(|(_, wanted)| *wanted).map(|(family, _)| family).collect()
}
