//! Running time where nothing but samples tells of it: a thread is taken to run for one period before each of its
//! samples, so that sums of running times are sums of periods, as perf has them. What it did between is not known.

use bytemuck::Zeroable;
use dwell_model::BETWEEN_SAMPLES;
use dwell_store::raw::wire::{RecordHeader, SwitchRecord, kind};

use crate::error::Error;
use crate::raw_trace::RawTrace;
use crate::threads::{KnownThread, Place};

/// A clock's interrupt may come so much later than its period says.
const SLACK_NS: u64 = 20_000;
/// TASK_INTERRUPTIBLE: it stands as a wait, whose call says that nothing is known.
const INTERRUPTIBLE: u32 = 1;

/// The thread was sampled at `now_ns`, and is taken to run since `since_ns`. Writes when it left the CPU and came back,
/// if it did since its sample before.
pub fn run_until(
    trace: &mut RawTrace,
    (tid, thread): (u32, &mut KnownThread),
    cpu: u16,
    (since_ns, now_ns): (u64, u64),
) -> Result<(), Error> {
    if thread.place != Place::OnCpu || since_ns > thread.sampled_ns.saturating_add(SLACK_NS) {
        leave(trace, (tid, thread))?;
        let begin_ns = since_ns.max(thread.sampled_ns);
        let h = RecordHeader { kind: kind::SWITCH, size: 0, tid: 0, time_ns: begin_ns };
        let record = SwitchRecord { h, next_tid: tid, cpu, syscall: -1, ..SwitchRecord::zeroed() };
        trace.once(begin_ns, |records| records.fixed(&record))?;
        thread.place = Place::OnCpu;
    }
    (thread.sampled_ns, thread.cpu) = (now_ns, cpu);
    Ok(())
}

/// The thread is not known to run any longer than until its latest sample.
pub fn leave(trace: &mut RawTrace, (tid, thread): (u32, &mut KnownThread)) -> Result<(), Error> {
    if thread.place != Place::OnCpu {
        return Ok(());
    }
    thread.place = Place::OffCpu;
    let h = RecordHeader { kind: kind::SWITCH, size: 0, tid, time_ns: thread.sampled_ns };
    let record = SwitchRecord {
        h,
        cpu: thread.cpu,
        state: INTERRUPTIBLE,
        syscall: i32::from(BETWEEN_SAMPLES),
        ..SwitchRecord::zeroed()
    };
    trace.once(thread.sampled_ns, |records| records.fixed(&record))
}
