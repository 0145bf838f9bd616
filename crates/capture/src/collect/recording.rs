//! Where a collection writes: the raw trace and, with a trigger, the results of outliers.

use std::io;

use dwell_model::{Notice, notice};
use dwell_rights as rights;
use dwell_store::ResultFolder;

use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::options::Options;
use crate::output::outliers::Outliers;
use crate::output::processor_trace::ProcessorTrace;
use crate::output::recorder::Recorder;
use crate::output::watch::IntervalWatch;

/// The writing end of the raw trace, with what a trigger looks for.
pub(super) fn recorder(folder: &ResultFolder, options: &Options) -> Result<Recorder> {
    let mut recorder = Recorder::create(&folder.spool()?, monotonic_ns(), options.ring_buffer_ns)?;
    let probes = || options.task_probes.iter().map(|probe| probe.name.as_str());
    recorder.watch = options.trigger.clone().map(|trigger| IntervalWatch::new(trigger, probes()));
    Ok(recorder)
}

/// The flight recorder, if a trigger is set.
pub(super) fn outliers(folder: &ResultFolder, options: &Options, notices: &mut Vec<Notice>) -> Option<Outliers> {
    options.trigger.as_ref()?;
    let traces = if options.own_only { Err(foreign_code()) } else { trace_processor() };
    notices.extend(match &traces {
        Ok(Some(_)) => None,
        Ok(None) => Some(notice!(NO_INTEL_PT)),
        Err(error) => Some(notice!(INTEL_PT_UNUSABLE, error = error)),
    });
    let traces = traces.ok().flatten();
    Some(Outliers::new(folder, options.outliers_per_minute, options.outliers_bytes, traces))
}

fn trace_processor() -> io::Result<Option<ProcessorTrace>> {
    let _raised = rights::raise(&[rights::PERFMON]);
    ProcessorTrace::begin()
}

/// Intel PT traces a CPU, whoever's code it runs.
fn foreign_code() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "only root may: it would trace other users' code too")
}

/// What counts for the data limit: what a bounded recording does not forget, or everything.
pub(super) fn recorded_bytes(recorder: &Recorder, options: &Options) -> u64 {
    if options.ring_buffer_ns.is_some() { recorder.meta_bytes() } else { recorder.written_bytes() }
}
