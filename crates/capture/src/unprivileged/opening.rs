//! What is asked before a recording by perf events begins: whether this user may open them, and which calls can be traced.

use std::ffi::CString;

use dwell_model::Topic;

use super::calls;
use super::closing::Lock;
use super::events::{self, Tracepoint};
use super::ids;
use crate::error::{Error, Result};
use crate::kernel::perf;
use crate::machine;
use crate::options::Options;
use crate::programs::proc;

/// The tracepoints of the calls that are traced: one of all of them, where that fires; else one of each.
pub(super) fn tracepoints(sees_kernel: bool, lock: Option<&Lock>) -> Vec<Tracepoint> {
    let mut wanted = calls::all();
    let filter = CString::new(calls::filter(&wanted)).ok();
    wanted.extend(sees_kernel.then_some(calls::EVERY));
    let ids = ids::find(&wanted, lock);
    if let Some(&id) = ids.get(&calls::EVERY.number) {
        return vec![Tracepoint { id, filter }];
    }
    let most = calls::how_many(machine::online().len());
    let of_each = wanted.iter().filter_map(|call| ids.get(&call.number));
    of_each.take(most).map(|&id| Tracepoint { id, filter: None }).collect()
}

/// Asks whether events that are open by now are of a process that its user may look at. CAP_PERFMON opens others' too, and
/// since the process was looked at first it may have become another user's; the kernel ends the events of one that does later.
pub(super) fn check_yours(pid: u32, own_only: bool) -> Result<()> {
    if own_only && !proc::may_look_at(pid) && proc::is_alive(pid) { Err(Error::NotYours { pid }) } else { Ok(()) }
}

/// Fails when the options ask for what only BPF can record.
pub(super) fn refuse_what_needs_bpf(options: &Options, why: Option<&Error>) -> Result<()> {
    let topic = |topic: Topic| options.topics.contains(&topic).then(|| format!("--analyze {}", topic.id()));
    let wanted = topic(Topic::Sockets)
        .or_else(|| topic(Topic::Latency))
        .or_else(|| (!options.task_probes.is_empty()).then(|| "--task-probe and --interval".to_owned()))
        .or_else(|| (!options.probes.is_empty()).then(|| "--probe".to_owned()))
        .or_else(|| (!options.events.is_empty()).then(|| "--events".to_owned()))
        .or_else(|| options.requests.then(|| "--interval socket".to_owned()));
    let Some(what) = wanted else { return Ok(()) };
    let reason = why.map_or_else(|| "--source perf was given".to_owned(), Error::reason);
    Err(Error::NeedsBpf { what, reason })
}

/// Fails where this user can open no event of their own programs; else returns whether they may see what the kernel does for
/// them.
pub fn check() -> Result<bool> {
    events::opens().map_err(|error| refused(&error, None))?;
    Ok(events::sees_kernel())
}

pub(super) fn refused(error: &std::io::Error, why: Option<&Error>) -> Error {
    let bpf = why.map_or_else(String::new, |error| format!("{}; ", error.reason()));
    match perf::forbidding_level(error) {
        Some(level) => {
            Error::PerfRefused { reason: format!("{bpf}kernel.perf_event_paranoid is {level}"), by_setting: true }
        }
        None => Error::PerfRefused { reason: format!("{bpf}perf_event_open: {error}"), by_setting: false },
    }
}
