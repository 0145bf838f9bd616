//! Follows processes in the order of time: what they map, which programs they run, and when they end.

use dwell_store::raw::wire::{ExecRecord, RecordHeader, kind};

use super::copies::walk_copies_of;
use super::drained::EventSink;
use super::process_events::ProcessEvent;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::programs::keeper::FileKeeper;
use crate::programs::proc;
use crate::programs::process_lifetimes::{ProcessLifetimes, ProcessMembership};
use crate::stacks::unwinding::UnwindTables;

/// Follows what happened to processes, of all CPUs in the order of time: a child has what its parent had mapped until then.
pub fn follow(
    drained: &mut EventSink,
    unwinding: &mut UnwindTables,
    keeper: &mut FileKeeper,
    now_ns: u64,
) -> Result<()> {
    if let Some(looked_up) = &mut drained.looked_up {
        let found = looked_up.look(&drained.process_events, now_ns);
        drained.mapped(found, now_ns);
    }
    let mut all = std::mem::take(&mut drained.process_events);
    all.sort_by_key(|(time_ns, _)| *time_ns);
    for (time_ns, event) in all {
        let (kind, tid, key, text) = match event {
            ProcessEvent::ThreadNew { tgid, parent, is_first } => {
                if is_first && drained.lifetimes.is_reuse(tgid, time_ns) {
                    drained.lifetimes.end(tgid);
                    end_process(tgid, time_ns, drained, unwinding, keeper)?;
                }
                drained.lifetimes.thread_new(tgid, time_ns);
                unwinding.thread_new(tgid, parent)?;
                keeper.thread_new(tgid, parent, is_first.then_some(time_ns));
                continue;
            }
            ProcessEvent::ThreadExit(tgid) => {
                drained.lifetimes.thread_exit(tgid, time_ns);
                continue;
            }
            ProcessEvent::Mapped(mut mapping) => {
                match drained.lifetimes.belongs(mapping.header.h.tid, time_ns) {
                    ProcessMembership::Yes => {
                        keeper.mapped(&mut mapping); // before its table is made: that takes time
                        drained.maps_code(&mapping);
                        unwinding.map(&mapping)?;
                        drained.recorder.meta().map(mapping.header, &mapping.path);
                    }
                    ProcessMembership::NotYetKnown => {
                        drained.process_events.push((time_ns, ProcessEvent::Mapped(mapping)));
                    }
                    ProcessMembership::No => {}
                }
                continue;
            }
            ProcessEvent::Program { pid } => {
                let is_still = ProcessLifetimes::is_still(pid, time_ns);
                walk_copies_of(pid, time_ns, drained, unwinding)?;
                drained.programs.push(pid);
                drained.forget_program(pid);
                if is_still {
                    drained.javascript.runs(pid, time_ns);
                }
                drained.ended_programs.push((pid, time_ns));
                unwinding.read_process(pid, is_still)?;
                keeper.program(pid, time_ns, is_still);
                if is_still {
                    write_belonging(pid, now_ns, drained);
                }
                let words = if is_still { proc::command_line(pid) } else { Vec::new() };
                (kind::COMMAND, pid, 0, words)
            }
            ProcessEvent::EpollMembers { pid, fd, key } => {
                (kind::MEMBERS, pid, key, drained.epoll_sets.seen((pid, fd, key), now_ns))
            }
        };
        drained.recorder.meta().text(RecordHeader { kind, size: 0, tid, time_ns: now_ns }, key, &text);
    }
    for (pid, key, members) in drained.epoll_sets.look_again(now_ns) {
        let header = RecordHeader { kind: kind::MEMBERS, size: 0, tid: pid, time_ns: now_ns };
        drained.recorder.meta().text(header, key, &members);
    }
    for tgid in drained.lifetimes.end_round(now_ns) {
        end_process(tgid, u64::MAX, drained, unwinding, keeper)?;
    }
    Ok(())
}

fn write_belonging(pid: u32, now_ns: u64, drained: &mut EventSink) {
    let text = drained.belongings.of(pid, now_ns);
    if !text.is_empty() {
        let header = RecordHeader { kind: kind::BELONGING, size: 0, tid: pid, time_ns: now_ns };
        drained.recorder.meta().text(header, 0, &text);
    }
}

/// Process `tgid` ended, before `time_ns`, when another one had its id: whatever is kept by its id goes. The maximum:
/// nobody has it.
fn end_process(
    tgid: u32,
    time_ns: u64,
    drained: &mut EventSink,
    unwinding: &mut UnwindTables,
    keeper: &mut FileKeeper,
) -> Result<()> {
    walk_copies_of(tgid, time_ns, drained, unwinding)?;
    unwinding.forget_process(tgid, time_ns != u64::MAX)?;
    keeper.exit(tgid, time_ns.min(monotonic_ns()));
    drained.fault_places.forget(tgid);
    drained.forget_program(tgid);
    drained.scope_filter.iter_mut().for_each(|filter| filter.forget(tgid));
    drained.ended_programs.push((tgid, time_ns));
    Ok(())
}

/// What a launched program tells by its exec and its mappings, of processes that run already.
pub fn describe_running(pids: &[u32], now_ns: u64, drained: &mut EventSink) {
    for &pid in pids {
        let mut exec = ExecRecord {
            h: RecordHeader { kind: kind::EXEC, size: 0, tid: pid, time_ns: now_ns },
            tgid: pid,
            old_tid: pid,
            ..bytemuck::Zeroable::zeroed()
        };
        let path = proc::executable(pid);
        let kept = path.len().min(exec.path.len() - 1);
        exec.path[..kept].copy_from_slice(&path[..kept]);
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let kept = name.len().min(exec.comm.len() - 1);
        exec.comm[..kept].copy_from_slice(&name[..kept]);
        drained.lifetimes.begin(pid, now_ns);
        drained.recorder.meta().fixed(&exec);
        drained.process_events.push((now_ns, ProcessEvent::Program { pid }));
    }
}
