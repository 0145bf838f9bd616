//! Rows of the named tables instead of the replay's numbers: nothing else makes a row of the result from one of the replay.

use std::collections::HashMap;

use dwell_model::{FiberId, MarkerValueKind, ObjectId, ObjectType, StackId, ThreadId, WakerKind};
use dwell_store::tables::{
    FiberOffCpu, FiberRow, FiberSamples, Fibers, MarkerValues, Markers, OffCpu, Samples, SyncWaits, Tasks,
};
use dwell_store::{Annotations, FiberTables, ProbeDefinition};
use rayon::join;

use super::named::Named;
use crate::input::texts::Texts;
use crate::replay::annotations::{NestedTasks, UnresolvedAnnotations};
use crate::replay::fibers::{RawFiber, RawFibers};
use crate::replay::numbers::WaitNumber;
use crate::replay::rows::{RawMarkerValues, RawMarkers, RawOffCpu, RawSamples, RawSyncWaits};

/// The intervals off the CPU and the samples.
pub fn events(off_cpu: RawOffCpu, samples: RawSamples, named: &Named) -> (OffCpu, Samples) {
    join(|| intervals(off_cpu, named), || self::samples(samples, named))
}

fn intervals(raw: RawOffCpu, named: &Named) -> OffCpu {
    let RawOffCpu { stack, waker_stack, wait, owner, same_call, .. } = raw;
    let holder = holders(owner, &wait, named);
    let stacks = || join(|| named.woven.rows.column(stack), || named.woven.rows.column(waker_stack));
    let ((stack, waker_stack), object) = join(stacks, || named.objects.of_waits.column(wait));
    OffCpu {
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
        same_call,
    }
}

/// The owners that are those of the objects that the rows wait for. Of a row whose end was lost the object is not known any more.
fn holders(mut owners: Vec<ThreadId>, waits: &[WaitNumber], named: &Named) -> Vec<ThreadId> {
    for (owner, wait) in owners.iter_mut().zip(waits) {
        if wait.get().is_some_and(|number| named.objects.has_holder.get(number) == Some(&false)) {
            *owner = ThreadId::NONE;
        }
    }
    owners
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

/// What Go's compiler calls the function that it makes of `go f(x)`.
const WRAPPER: &str = ".gowrap";

/// The fibers, and what they did.
pub fn fibers(raw: RawFibers, named: &Named) -> FiberTables {
    let RawFibers { fibers, off_cpu, samples } = raw;
    let wrapped = wrapped(&fibers, &off_cpu, named);
    let mut table = Fibers::default();
    for fiber in &fibers {
        table.push(fiber_row(fiber, &wrapped, named));
    }
    let fiber = |ids: Vec<ThreadId>| ids.into_iter().map(|id| id.get().map_or(FiberId::NONE, FiberId::new)).collect();
    let object: Vec<ObjectId> = named.objects.of_waits.column(off_cpu.wait);
    let kinds = off_cpu.waker_kind.iter().zip(&object);
    let waker_kind = kinds.map(|(&kind, &object)| fiber_waker_kind(kind, object, named)).collect();
    FiberTables {
        fibers: table,
        off_cpu: FiberOffCpu {
            fiber: fiber(off_cpu.thread),
            start_ns: off_cpu.start_ns,
            wait_ns: off_cpu.wait_ns,
            runnable_ns: off_cpu.runnable_ns,
            reason: off_cpu.reason,
            outcome: off_cpu.outcome,
            syscall: off_cpu.syscall,
            object,
            stack: named.woven.rows.column(off_cpu.stack),
            waker: fiber(off_cpu.waker),
            waker_kind,
            waker_stack: named.woven.rows.column(off_cpu.waker_stack),
            holder: fiber(off_cpu.owner),
        },
        samples: FiberSamples {
            fiber: fiber(samples.thread),
            time_ns: samples.time_ns,
            weight_ns: samples.weight_ns,
            stack: named.woven.rows.column(samples.stack),
            estimated: samples.estimated,
        },
    }
}

/// What each wrapper among the fibers' first functions calls, by the wrapper's name.
fn wrapped(fibers: &[RawFiber], off_cpu: &RawOffCpu, named: &Named) -> HashMap<String, String> {
    let mut wrapped = HashMap::new();
    for (fiber, &stack) in off_cpu.thread.iter().zip(&off_cpu.stack) {
        let Some(fiber) = fiber.get().map(|row| &fibers[row]) else { continue };
        let name = function_of(named.woven.rows.get(fiber.entry), named).filter(|name| name.contains(WRAPPER));
        let Some(name) = name.filter(|name| !wrapped.contains_key(*name)) else { continue };
        if let Some(called) = called_by(name, named.woven.rows.get(stack), named) {
            wrapped.insert(name.to_owned(), called.to_owned());
        }
    }
    wrapped
}

fn fiber_row(fiber: &RawFiber, wrapped: &HashMap<String, String>, named: &Named) -> FiberRow {
    let name = function_of(named.woven.rows.get(fiber.entry), named).unwrap_or("fiber");
    FiberRow {
        kind: u8::try_from(fiber.kind).unwrap_or(0),
        number: fiber.number,
        process: fiber.process,
        parent: fiber.parent.get().map_or(FiberId::NONE, FiberId::new),
        name: wrapped.get(name).map_or(name, String::as_str).to_owned(),
        created_stack: named.woven.rows.get(fiber.created),
        start_ns: fiber.start_ns,
        end_ns: fiber.end_ns,
        exited: fiber.exited,
    }
}

/// The function that `caller` called on a stack.
fn called_by<'n>(caller: &str, stack: StackId, named: &'n Named) -> Option<&'n str> {
    let stacks = &named.woven.stacks;
    let rows = std::iter::successors(stack.get(), |&row| stacks.parent[row].get());
    let functions = rows.filter_map(|row| Some(named.woven.frames.function[stacks.frame[row].get()?].as_str()));
    let mut below = None;
    for function in functions {
        if function == caller {
            return below;
        }
        below = Some(function);
    }
    None
}

fn function_of(stack: StackId, named: &Named) -> Option<&str> {
    let frame = named.woven.stacks.frame.get(stack.get()?)?.get()?;
    named.woven.frames.function.get(frame).map(String::as_str)
}

/// What a fiber waits for says who ended it, where nothing else does.
fn fiber_waker_kind(kind: u8, object: ObjectId, named: &Named) -> u8 {
    let of_object =
        object.get().map_or(ObjectType::Unknown, |row| ObjectType::from_code(named.objects.objects.kind[row]));
    match (WakerKind::from_code(kind), of_object) {
        (WakerKind::Unknown, ObjectType::Sleep) => WakerKind::Timer.code(),
        (WakerKind::Unknown, ObjectType::Socket) => WakerKind::Network.code(),
        _ => kind,
    }
}

/// What programs said of themselves. Takes the types of tasks from `named`.
pub fn annotations(
    unresolved: UnresolvedAnnotations,
    texts: &Texts,
    probes: &[ProbeDefinition],
    named: &mut Named,
) -> Annotations {
    let task_types = std::mem::take(&mut named.task_types);
    let named = &*named;
    let marker_values = marker_values(unresolved.marker_values, texts, probes, named);
    let others = || join(|| markers(unresolved.markers, named), || sync_waits(unresolved.sync_waits, named));
    let (tasks, (markers, sync_waits)) = join(|| tasks(unresolved.tasks, named), others);
    Annotations {
        task_types,
        tasks,
        task_metadata: unresolved.metadata,
        markers,
        marker_values,
        counters: unresolved.counters,
        counter_values: unresolved.counter_values,
        sync_waits,
    }
}

fn tasks(NestedTasks { rows, parents }: NestedTasks, named: &Named) -> Tasks {
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

fn marker_values(raw: RawMarkerValues, texts: &Texts, probes: &[ProbeDefinition], named: &Named) -> MarkerValues {
    let key = |(&probe, &place): (&u16, &u8)| {
        let probe = probes.get(usize::from(probe));
        probe
            .and_then(|probe| probe.values.get(usize::from(place)))
            .map_or_else(|| format!("value {place}"), String::clone)
    };
    let name = |row: usize| number_name(probes, (raw.probe[row], raw.place[row]), (raw.kind[row], raw.bits[row]));
    let names: Vec<Option<String>> = (0..raw.bits.len()).map(name).collect();
    let is_named = |row: usize| names[row].is_some();
    MarkerValues {
        key: raw.probe.iter().zip(&raw.place).map(key).collect(),
        task_type: named.task_type_rows.column(raw.task_type),
        thread: raw.thread,
        time_ns: raw.time_ns,
        kind: raw
            .kind
            .iter()
            .enumerate()
            .map(|(row, kind)| if is_named(row) { MarkerValueKind::Text.code() } else { *kind })
            .collect(),
        bits: raw.bits.iter().enumerate().map(|(row, bits)| if is_named(row) { 0 } else { *bits }).collect(),
        text: raw.text.iter().zip(names).map(|(id, name)| name.unwrap_or_else(|| texts.show(*id, "text"))).collect(),
    }
}

/// The name that the value's type has for this number.
fn number_name(probes: &[ProbeDefinition], (probe, place): (u16, u8), (kind, bits): (u8, u64)) -> Option<String> {
    let is_number = [MarkerValueKind::Unsigned, MarkerValueKind::Signed].map(MarkerValueKind::code).contains(&kind);
    let names = probes.get(usize::from(probe))?.names.get(usize::from(place)).filter(|_| is_number)?;
    names.iter().find(|(number, _)| *number == bits).map(|(_, name)| name.clone())
}

fn sync_waits(raw: RawSyncWaits, named: &Named) -> SyncWaits {
    SyncWaits {
        thread: raw.thread,
        object: named.objects.of_announced.column(raw.object),
        start_ns: raw.start_ns,
        end_ns: raw.end_ns,
        outcome: raw.outcome,
    }
}
