//! Rows of the named tables instead of the replay's numbers: nothing else makes a row of the result from one of the replay.

use dwell_model::ThreadId;
use dwell_store::Annotations;
use dwell_store::tables::{Markers, OffCpu, Samples, SyncWaits, Tasks};
use rayon::join;

use super::named::Named;
use crate::objects::futile_wakeups;
use crate::replay::annotations::{Nested, UnresolvedAnnotations};
use crate::replay::rows::{RawMarkers, RawOffCpu, RawSamples, RawSyncWaits};

/// The intervals off the CPU and the samples.
pub fn events(off_cpu: RawOffCpu, samples: RawSamples, named: &Named) -> (OffCpu, Samples) {
    join(|| intervals(off_cpu, named), || self::samples(samples, named))
}

fn intervals(raw: RawOffCpu, named: &Named) -> OffCpu {
    let RawOffCpu { stack, waker_stack, wait, mut holder, same_call, .. } = raw;
    for (holder, wait) in holder.iter_mut().zip(&wait) {
        if wait.get().is_some_and(|number| named.objects.holders.get(number) == Some(&false)) {
            *holder = ThreadId::NONE;
        }
    }
    let stacks = || join(|| named.woven.rows.column(stack), || named.woven.rows.column(waker_stack));
    let ((stack, waker_stack), object) = join(stacks, || named.objects.of_waits.column(wait));
    let rows = OffCpu {
        again: Vec::new(),
        thread: raw.thread,
        start_ns: raw.start_ns,
        wait_ns: raw.wait_ns,
        runnable_ns: raw.runnable_ns,
        cpu: raw.cpu,
        reason: raw.reason,
        outcome: raw.outcome,
        syscall: raw.syscall,
        object,
        stack,
        waker: raw.waker,
        waker_kind: raw.waker_kind,
        waker_stack,
        holder,
    };
    OffCpu { again: futile_wakeups(&rows, &same_call, &named.objects.objects), ..rows }
}

fn samples(raw: RawSamples, named: &Named) -> Samples {
    Samples {
        thread: raw.thread,
        time_ns: raw.time_ns,
        weight_ns: raw.weight_ns,
        cpu: raw.cpu,
        stack: named.woven.rows.column(raw.stack),
        estimated: raw.estimated,
    }
}

/// What programs said of themselves. Takes the types of tasks from `named`.
pub fn annotations(told: UnresolvedAnnotations, named: &mut Named) -> Annotations {
    let task_types = std::mem::take(&mut named.task_types);
    let named = &*named;
    let others = || join(|| markers(told.markers, named), || sync_waits(told.sync_waits, named));
    let (tasks, (markers, sync_waits)) = join(|| tasks(told.tasks, named), others);
    Annotations {
        task_types,
        tasks,
        task_metadata: told.metadata,
        markers,
        counters: told.counters,
        counter_values: told.counter_values,
        sync_waits,
    }
}

fn tasks(Nested { rows, parents }: Nested, named: &Named) -> Tasks {
    Tasks {
        task_type: named.task_type_rows.column(rows.task_type),
        thread: rows.thread,
        end_thread: rows.end_thread,
        start_ns: rows.start_ns,
        end_ns: rows.end_ns,
        parent: parents,
        id: rows.id,
        finished: rows.finished,
    }
}

fn markers(raw: RawMarkers, named: &Named) -> Markers {
    Markers {
        task_type: named.task_type_rows.column(raw.task_type),
        thread: raw.thread,
        time_ns: raw.time_ns,
        scope: raw.scope,
    }
}

fn sync_waits(raw: RawSyncWaits, named: &Named) -> SyncWaits {
    SyncWaits {
        thread: raw.thread,
        object: named.objects.of_told.column(raw.object),
        start_ns: raw.start_ns,
        end_ns: raw.end_ns,
        outcome: raw.outcome,
    }
}
