//! Which families a collection loads before the program runs.

use dwell_model::Topic;

use crate::drain::source::Targets;
use crate::options::{FiberMode, Options};
use crate::topics::value_probes;

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
        ("value_probe", value_probes::kinds(targets.value_probes).0),
        ("tracepoint_probe", value_probes::kinds(targets.value_probes).1),
        ("creation", !targets.libraries.is_empty()),
        ("goroutine", options.fibers == FiberMode::Exact),
        ("counted_events", !options.events.is_empty()),
        ("holders", true),
        ("io_quota", true),
        ("connects", true),
        ("open_requests", true),
        ("system", has(Topic::System)),
    ];
    all.into_iter().filter(|(_, wanted)| *wanted).map(|(family, _)| family).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::event_name::CountedEvent;
    use crate::kernel::loading::FAMILIES;
    use crate::options::{Launch, Target};
    use crate::topics::task_probes::ProbePlaces;

    #[test]
    fn each_is_loaded_once_and_has_an_object() {
        let mut options = Options::new(Target::Launch(Launch::default()));
        let libraries = [PathBuf::from("libc.so.6")];
        let targets = Targets {
            pids: &[],
            program: Some(Path::new("first")),
            probes: &ProbePlaces::default(),
            value_probes: &[],
            libraries: &libraries,
        };
        let few = families(&options, &targets);
        options.topics = Topic::ALL.to_vec();
        options.requests = true;
        options.events = CountedEvent::parse("page-faults").into_iter().collect();
        options.fibers = FiberMode::Exact;
        let all = families(&options, &targets);
        assert!(few.len() < all.len() && few.iter().all(|family| all.contains(family)), "{few:?} {all:?}");
        for family in &all {
            assert_eq!(all.iter().filter(|it| *it == family).count(), 1);
            assert!(FAMILIES.iter().any(|(name, _)| name == family), "{family}");
        }
    }
}
