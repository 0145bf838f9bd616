//! All that programs said so far.

use dwell_model::{MarkerScope, SyncOutcome, TaskKind};
use dwell_store::tables::{CounterValues, Counters, TaskMetadata};

use super::async_stacks::Stitches;
use super::counted::UnkeptCounts;
use super::counters::CounterBook;
use super::event_context::EventContext;
use super::sync::SyncBook;
use super::tasks::{NestedTasks, TaskBook, TypeKey};
use crate::input::annotation_event::{AnnotationKind, HitValue, InstanceId, MetadataSubject, Scope, TaskName};
use crate::input::texts::{TextId, Texts};
use crate::replay::rows::{
    RawMarkerRow, RawMarkerValueRow, RawMarkerValues, RawMarkers, RawMetadata, RawMetadatumRow, RawSyncWaits,
};
use crate::replay::threads::{ImageId, ThreadTable};

/// Most rows of metadata, which hold text.
const MOST_METADATA: usize = 8 << 20;
/// Most markers.
const MOST_MARKERS: usize = 250_000_000;

/// The tables; types and objects have no names yet.
pub struct UnresolvedAnnotations {
    /// Tasks.
    pub tasks: NestedTasks,
    /// Complete.
    pub metadata: TaskMetadata,
    /// Markers.
    pub markers: RawMarkers,
    /// Values of markers; the names of their keys are the manifest's.
    pub marker_values: RawMarkerValues,
    /// Complete.
    pub counters: Counters,
    /// Complete.
    pub counter_values: CounterValues,
    /// Announced waits.
    pub sync_waits: RawSyncWaits,
}

/// All that was said so far.
#[derive(Default)]
pub struct Annotations {
    /// Tasks.
    pub tasks: TaskBook,
    /// Counters.
    counters: CounterBook,
    /// Objects and waits for them.
    pub sync: SyncBook,
    /// Work that other threads requested.
    pub stitches: Stitches,
    metadata: RawMetadata,
    markers: RawMarkers,
    marker_values: RawMarkerValues,
    /// What could not be kept.
    pub counted: UnkeptCounts,
}

impl Annotations {
    /// Takes the next thing said, unless it names or leaves out the thread.
    pub fn take(&mut self, context: &EventContext, what: &AnnotationKind) {
        let counted = &mut self.counted;
        match *what {
            AnnotationKind::Lost(count) => self.lose(context, count),
            AnnotationKind::Begin { scope, name, id, parent } => {
                let kind = if matches!(scope, Scope::Probe(_)) { TaskKind::Probe } else { TaskKind::Task };
                self.tasks.begin(context, type_key(context, kind, scope, name), (id, parent), counted);
            }
            AnnotationKind::End { scope } => self.tasks.end(context, scope, counted),
            AnnotationKind::Next { scope } => {
                if self.tasks.is_open(context, scope) {
                    self.tasks.end(context, scope, counted);
                }
                let key = type_key(context, TaskKind::Probe, scope, TaskName::Text(TextId::EMPTY));
                self.tasks.begin(context, key, (InstanceId::default(), InstanceId::default()), counted);
            }
            AnnotationKind::BeginById { kind, domain, name, id, parent } => {
                self.tasks.begin_by_id(
                    context,
                    type_key(context, kind, Scope::Domain(domain), name),
                    (id, parent),
                    counted,
                );
            }
            AnnotationKind::EndById { kind, domain, id } => self.tasks.end_by_id(context, (kind, domain), id, counted),
            AnnotationKind::EventStart(name) => self.tasks.start_event(context, name, counted),
            AnnotationKind::EventEnd(name) => self.tasks.end_event(context, name, counted),
            AnnotationKind::Frame { .. } | AnnotationKind::Request { .. } => {}
            AnnotationKind::Marker { domain, name, scope } => self.mark(context, (domain, name), scope),
            AnnotationKind::Hit { probe, ref values } => self.hit(context, probe, values),
            AnnotationKind::Number { domain, of, key, value } => {
                self.datum(context, (domain, of), (key, TextId::EMPTY), value);
            }
            AnnotationKind::Text { domain, of, key, text } => self.datum(context, (domain, of), (key, text), 0.0),
            AnnotationKind::Count { domain, name, kind, value } => {
                self.counters.count(context, (domain, name), (kind, value), counted);
            }
            AnnotationKind::Enter { id } => self.stitches.enter(context, id, &mut self.counted),
            AnnotationKind::Leave(id) => self.stitches.leave(context, id),
            AnnotationKind::ThreadName(_) | AnnotationKind::ThreadIgnore => {}
            _ => self.take_sync(context, what),
        }
    }

    fn take_sync(&mut self, context: &EventContext, what: &AnnotationKind) {
        let (sync, counted) = (&mut self.sync, &mut self.counted);
        match *what {
            AnnotationKind::Prepare(address) => sync.prepare(context, address, counted),
            AnnotationKind::Acquired(address) => sync.end(context, address, SyncOutcome::Acquired, counted),
            AnnotationKind::Cancel(address) => sync.end(context, address, SyncOutcome::Cancelled, counted),
            AnnotationKind::Releasing(address) => sync.release(context, address),
            _ => {}
        }
    }

    /// Takes what is said of a program; false for what a thread says.
    pub fn define(&mut self, source: u32, what: &AnnotationKind) -> bool {
        let (sync, counted) = (&mut self.sync, &mut self.counted);
        match *what {
            AnnotationKind::SyncCreate { address, kind, class, name } => {
                sync.create(source, address, (kind, class, name), counted);
            }
            AnnotationKind::SyncRename { address, name } => sync.rename(source, address, name, counted),
            AnnotationKind::SyncDestroy(address) => sync.destroy(source, address),
            AnnotationKind::Resumed => sync.resume(source),
            _ => return false,
        }
        true
    }

    /// A frame that was from `context.at_ns` to `end_ns`.
    pub fn frame(&mut self, context: &EventContext, domain: TextId, id: InstanceId, end_ns: u64) {
        let key = type_key(context, TaskKind::Frame, Scope::Domain(domain), TaskName::Text(domain));
        self.tasks.frame((context, &EventContext { at_ns: end_ns, ..*context }), key, id, &mut self.counted);
    }

    /// A request that was handled from `context.at_ns` to `end_ns`.
    pub fn request(&mut self, context: &EventContext, name: TextId, end_ns: u64) {
        let key = type_key(context, TaskKind::Request, Scope::Domain(TextId::EMPTY), TaskName::Text(name));
        self.tasks.frame(
            (context, &EventContext { at_ns: end_ns, ..*context }),
            key,
            InstanceId::default(),
            &mut self.counted,
        );
    }

    fn lose(&mut self, context: &EventContext, count: u32) {
        self.counted.lost += u64::from(count);
        self.tasks.lose(context);
        self.sync.lose(context);
        self.stitches.lose(context);
    }

    fn mark(&mut self, context: &EventContext, (domain, name): (TextId, TextId), scope: MarkerScope) {
        if self.markers.len() >= MOST_MARKERS {
            self.counted.rows += 1;
            return;
        }
        let key = type_key(context, TaskKind::Marker, Scope::Domain(domain), TaskName::Text(name));
        let task_type = self.tasks.type_of(key, &mut self.counted);
        self.markers.push(RawMarkerRow {
            task_type,
            thread: context.thread,
            time_ns: context.at_ns,
            scope: scope.code(),
        });
    }

    /// A hit of a probe: a marker and its values.
    fn hit(&mut self, context: &EventContext, probe: u16, values: &[HitValue]) {
        if self.markers.len() >= MOST_MARKERS || self.marker_values.len() + values.len() > MOST_METADATA {
            self.counted.rows += 1;
            return;
        }
        let name = TaskName::Text(TextId::EMPTY);
        let key = type_key(context, TaskKind::ProbeHit, Scope::Probe(probe), name);
        let task_type = self.tasks.type_of(key, &mut self.counted);
        let (thread, time_ns) = (context.thread, context.at_ns);
        self.markers.push(RawMarkerRow { task_type, thread, time_ns, scope: MarkerScope::Thread.code() });
        for (place, &HitValue { kind, bits, text }) in (0..).zip(values) {
            let kind = kind.code();
            self.marker_values.push(RawMarkerValueRow { task_type, thread, time_ns, probe, place, kind, bits, text });
        }
    }

    fn datum(
        &mut self,
        context: &EventContext,
        (domain, of): (TextId, MetadataSubject),
        (key, text): (TextId, TextId),
        number: f64,
    ) {
        if !number.is_finite() {
            self.counted.values += 1;
        } else if self.metadata.len() >= MOST_METADATA {
            self.counted.rows += 1;
        } else {
            let task = self.tasks.of_datum(context, domain, of);
            self.metadata.push(RawMetadatumRow {
                task,
                thread: context.thread,
                time_ns: context.now_ns,
                key,
                number,
                text,
            });
        }
    }

    /// The tables. `end_ns` is the collection's.
    pub fn finish(&mut self, thread_table: &ThreadTable, texts: &Texts, end_ns: u64) -> UnresolvedAnnotations {
        let (tasks, task_rows) = self.tasks.finish(thread_table, end_ns);
        let metadata = std::mem::take(&mut self.metadata);
        let show = |ids: Vec<TextId>, what| ids.into_iter().map(|id| texts.show(id, what)).collect();
        let metadata = TaskMetadata {
            task: task_rows.column(metadata.task),
            thread: metadata.thread,
            time_ns: metadata.time_ns,
            key: show(metadata.key, "key"),
            number: metadata.number,
            text: show(metadata.text, "text"),
        };
        let markers = std::mem::take(&mut self.markers).in_order_of(|markers| &markers.time_ns);
        let marker_values = std::mem::take(&mut self.marker_values).in_order_of(|values| &values.time_ns);
        let (counters, counter_values) = std::mem::take(&mut self.counters).finish(texts);
        let sync_waits = self.sync.finish(thread_table, end_ns, &mut self.counted);
        UnresolvedAnnotations { tasks, metadata, markers, marker_values, counters, counter_values, sync_waits }
    }
}

fn type_key(context: &EventContext, kind: TaskKind, scope: Scope, name: TaskName) -> TypeKey {
    let image = if matches!(name, TaskName::Function(_)) { context.image } else { ImageId::MAX };
    TypeKey { kind, scope, name, image }
}
