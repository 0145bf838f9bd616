//! Perfetto's trace: who ran on which CPU and who woke whom, a slice for each wait with what it was for and an arrow from its waker, and
//! the samples with their call stacks.
//!
//! Times are those of the monotonic clock at the collection. Packets are written one by one.

mod clock;
mod interning;
mod message;
mod scheduling;

use std::io::{Result, Write};

use dwell_analyze::Fold;
use dwell_analyze::selected::{
    SelectedPiece, SelectedSample, ThreadActivity, WaitDetails, for_each_piece, for_each_sample, thread_name,
};
use dwell_model::{ObjectType, Outcome, Reason, WakerKind};
use prost::Message;

use crate::losses;
use clock::clock_ns;
use interning::Interning;
use message::{
    DebugAnnotation, FtraceEventBundle, PerfSample, ProcessName, ProcessTree, ThreadDescriptor, ThreadName, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};
use scheduling::Scheduling;

/// The one sequence of packets: what one of them interns, the later ones may name.
const SEQUENCE: u32 = 1;
/// Flags of a packet: nothing before it is needed; what is interned before it is.
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;
/// Events of one bundle.
const BUNDLE_EVENTS: usize = 2000;
/// Kinds of track events.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
/// The track of what the exporter says; those of threads are behind it.
const REMARKS_TRACK: u64 = 1;

/// Writes the scheduling of all threads in the query's range, and the waits and samples that its filters let through. Instants on a track of its own
/// say what was lost. Fails where `out` does.
pub fn write(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    let mut writer = TraceWriter { fold, out, interning: Interning::new(fold), begun: false, flows: 0 };
    let scheduling = Scheduling::new(fold);
    writer.names()?;
    writer.remarks(scheduling.unplaced_ns)?;
    for cpu in scheduling.cpus() {
        writer.cpu(&scheduling, cpu)?;
    }
    drop(scheduling);
    (0..fold.trace.threads.tid.len()).try_for_each(|thread| writer.thread(thread))
}

struct TraceWriter<'f, 't, 'o> {
    fold: &'f Fold<'t>,
    out: &'o mut dyn Write,
    interning: Interning<'f, 't>,
    begun: bool,
    /// Arrows so far.
    flows: u64,
}

impl TraceWriter<'_, '_, '_> {
    fn write(&mut self, mut packet: TracePacket) -> Result<()> {
        packet.trusted_packet_sequence_id = SEQUENCE;
        packet.sequence_flags = if self.begun { NEEDS_STATE } else { STATE_CLEARED };
        packet.interned_data = self.interning.take_news();
        self.begun = true;
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }

    fn names(&mut self) -> Result<()> {
        let (processes, threads) = (&self.fold.trace.processes, &self.fold.trace.threads);
        let process =
            |(pid, name): (&u32, &String)| ProcessName { pid: Some(signed(*pid)), cmdline: vec![name.clone()] };
        let tree = ProcessTree {
            processes: processes.pid.iter().zip(&processes.name).map(process).collect(),
            threads: (0..threads.tid.len())
                .map(|row| ThreadName {
                    tid: Some(signed(threads.tid[row])),
                    name: threads.name[row].clone(),
                    tgid: signed(self.pid(row)),
                })
                .collect(),
        };
        let timestamp = Some(clock_ns(self.fold, 0));
        self.write(TracePacket { timestamp, process_tree: Some(tree), ..TracePacket::default() })?;
        (0..threads.tid.len()).try_for_each(|row| {
            let thread = ThreadDescriptor {
                pid: Some(signed(self.pid(row))),
                tid: Some(threads.tid[row].into()),
                thread_name: threads.name[row].clone(),
            };
            self.track(TrackDescriptor { uuid: track(row), thread: Some(thread), ..TrackDescriptor::default() })
        })
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> Result<()> {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    fn pid(&self, thread: usize) -> u32 {
        let process = self.fold.trace.threads.process.get(thread).and_then(|id| id.get());
        process.and_then(|row| self.fold.trace.processes.pid.get(row)).copied().unwrap_or(0)
    }

    fn remarks(&mut self, unplaced_ns: u64) -> Result<()> {
        let mut remarks = losses::remarks(self.fold.trace, 0);
        if unplaced_ns > 0 {
            remarks.push(format!("{unplaced_ns} ns of running time are on no CPU, since it is not known on which"));
        }
        if remarks.is_empty() {
            return Ok(());
        }
        let name = losses::EXPORTER.to_owned();
        self.track(TrackDescriptor { uuid: REMARKS_TRACK, name, ..TrackDescriptor::default() })?;
        for remark in remarks {
            let name_iid = self.interning.name(&remark);
            let event = TrackEvent { kind: INSTANT, name_iid, track_uuid: REMARKS_TRACK, ..TrackEvent::default() };
            self.event(0, event)?;
        }
        Ok(())
    }

    fn event(&mut self, time_ns: u64, event: TrackEvent) -> Result<()> {
        let timestamp = Some(clock_ns(self.fold, time_ns));
        self.write(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() })
    }

    fn cpu(&mut self, scheduling: &Scheduling, cpu: u16) -> Result<()> {
        let names = &self.fold.trace.objects.name;
        let mut bundle = FtraceEventBundle { cpu: Some(cpu.into()), event: Vec::new() };
        let mut written = Ok(());
        // The closure for symbols and the writer both intern.
        let symbols: Vec<u64> = names.iter().map(|name| self.interning.symbol(name)).collect();
        let unknown = self.interning.symbol("[no object]");
        let symbol = |object: u32| symbols.get(object as usize).copied().unwrap_or(unknown);
        scheduling.events(self.fold, cpu, symbol, |event| {
            bundle.event.push(event);
            if bundle.event.len() == BUNDLE_EVENTS && written.is_ok() {
                let full = FtraceEventBundle { cpu: bundle.cpu, event: std::mem::take(&mut bundle.event) };
                written = self.write(TracePacket { ftrace_events: Some(full), ..TracePacket::default() });
            }
        });
        written?;
        self.write(TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() })
    }

    fn thread(&mut self, thread: usize) -> Result<()> {
        let mut written = Ok(());
        for_each_piece(self.fold, thread, |piece| {
            if let ThreadActivity::Waited(wait) = &piece.did
                && piece.selected
                && wait.reason == Reason::Waiting
                && written.is_ok()
            {
                written = self.wait(thread, &piece, wait);
            }
        });
        written?;
        let mut written = Ok(());
        for_each_sample(self.fold, thread, |sample| {
            if written.is_ok() {
                written = self.sample(thread, &sample);
            }
        });
        written
    }

    fn wait(&mut self, thread: usize, piece: &SelectedPiece, wait: &WaitDetails) -> Result<()> {
        let objects = &self.fold.trace.objects;
        let object = wait.object.get().filter(|row| *row < objects.name.len());
        let name = object.map_or("[no object]", |row| objects.name[row].as_str());
        let kind = object.map_or(ObjectType::Unknown, |row| ObjectType::from_code(objects.kind[row]));
        let waker = match wait.waker_kind {
            WakerKind::Thread => thread_name(self.fold, wait.waker),
            kind => kind.id().to_owned(),
        };
        let begin = TrackEvent {
            debug_annotations: vec![
                self.annotation("object", name),
                self.annotation("type", kind.id()),
                self.annotation("outcome", wait.outcome.id()),
                self.annotation("waker", &waker),
                DebugAnnotation {
                    name_iid: self.interning.annotation_name("stack"),
                    string_value_iid: self.interning.stack_text(piece.stack),
                },
            ],
            kind: SLICE_BEGIN,
            name_iid: self.interning.name(name),
            track_uuid: track(thread),
            ..TrackEvent::default()
        };
        self.event(piece.from_ns, begin)?;
        let waker = wait.waker.get().filter(|_| wait.has_end && wait.outcome != Outcome::Unfinished);
        let flow = waker.map(|waker| self.arrow_from(waker, thread, piece.to_ns)).transpose()?;
        let terminating_flow_ids = flow.into_iter().collect();
        let track_uuid = track(thread);
        self.event(
            piece.to_ns,
            TrackEvent { kind: SLICE_END, track_uuid, terminating_flow_ids, ..TrackEvent::default() },
        )
    }

    /// An instant of the waker that an arrow to the woken thread begins at; the arrow's number.
    fn arrow_from(&mut self, waker: usize, woken: usize, time_ns: u64) -> Result<u64> {
        self.flows += 1;
        let (flow, threads) = (self.flows, &self.fold.trace.threads);
        let name_iid = self.interning.name(&format!("wakes {}", threads.name[woken]));
        let track_uuid = track(waker);
        let flow_ids = vec![flow];
        self.event(time_ns, TrackEvent { kind: INSTANT, name_iid, track_uuid, flow_ids, ..TrackEvent::default() })?;
        Ok(flow)
    }

    fn annotation(&mut self, name: &'static str, text: &str) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: self.interning.annotation_name(name),
            string_value_iid: self.interning.annotation_text(text),
        }
    }

    fn sample(&mut self, thread: usize, sample: &SelectedSample) -> Result<()> {
        let perf_sample = PerfSample {
            cpu: Some(sample.cpu.into()),
            pid: Some(self.pid(thread)),
            tid: Some(self.fold.trace.threads.tid[thread]),
            callstack_iid: self.interning.callstack(sample.stack),
        };
        let timestamp = Some(clock_ns(self.fold, sample.time_ns));
        self.write(TracePacket { timestamp, perf_sample: Some(perf_sample), ..TracePacket::default() })
    }
}

/// The track of a thread.
fn track(thread: usize) -> u64 {
    thread as u64 + REMARKS_TRACK + 1
}

fn signed(id: u32) -> i32 {
    id.cast_signed()
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Query;

    use super::*;
    use crate::test_trace::two_threads;

    fn packets() -> Vec<TracePacket> {
        let (trace, query) = (two_threads(), Query::default());
        let mut out = Vec::new();
        write(&Fold::new(&trace, &query).unwrap(), &mut out).unwrap();
        Trace::decode(out.as_slice()).unwrap().packet
    }

    #[test]
    fn each_cpu_begins_with_a_switch_that_may_be_dropped() {
        let packets = packets();
        let bundles: Vec<&FtraceEventBundle> = packets.iter().filter_map(|it| it.ftrace_events.as_ref()).collect();
        assert_eq!(bundles.iter().map(|it| it.cpu.unwrap()).collect::<Vec<_>>(), [0, 1]);
        let switches = |bundle: &FtraceEventBundle| -> Vec<(u64, i32, i32)> {
            let switch = |it: &message::FtraceEvent| {
                let switch = it.sched_switch.as_ref()?;
                Some((it.timestamp?, switch.prev_pid?, switch.next_pid?))
            };
            bundle.event.iter().filter_map(switch).collect()
        };
        assert_eq!(switches(bundles[0]), [(5, 0, 0), (5, 0, 10), (4_000_005, 10, 0)]);
        assert_eq!(switches(bundles[1]), [(5, 0, 0), (5, 0, 11), (1_000_005, 11, 0)]);
    }

    #[test]
    fn a_wait_is_a_slice_and_a_sample_has_a_stack() {
        let packets = packets();
        let of_kind =
            |kind: i32| packets.iter().filter_map(|it| it.track_event.as_ref()).filter(move |it| it.kind == kind);
        assert_eq!(of_kind(SLICE_BEGIN).count(), 1);
        assert_eq!(of_kind(SLICE_BEGIN).next().unwrap().debug_annotations.len(), 5);
        assert_eq!(of_kind(SLICE_END).count(), 1);
        assert_eq!(of_kind(INSTANT).count(), 1, "the loss; the wait is unfinished, and has no arrow");
        assert_eq!(packets.iter().filter(|it| it.perf_sample.is_some()).count(), 5);
    }
}
