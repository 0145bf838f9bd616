//! What a program says of itself, one thing at a time, whoever carried it: ITT's calls, and the passes of probes.

use dwell_model::{CounterKind, MarkerScope, MarkerValueKind, ObjectType, TaskKind};

use dwell_store::raw::wire::{RecordHeader, RequestRecord, TaskProbeRecord, task_edge};

use super::texts::TextId;

/// An `__itt_id`; all zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstanceId(pub u64, pub u64);

impl InstanceId {
    /// Whether it names something.
    pub fn is_some(self) -> bool {
        self != Self::default()
    }
}

/// What a task is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskName {
    /// By this text.
    Text(TextId),
    /// As the function at this address.
    Function(u64),
}

/// Where a task's beginning and end find each other: in a domain, or in the two ends of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// An ITT domain.
    Domain(TextId),
    /// Number of a `--task-probe`, or of a `--probe` where the kind is that of its hits.
    Probe(u16),
}

/// What a datum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataSubject {
    /// The task of this id.
    Id(InstanceId),
    /// The thread's innermost task of the domain.
    Current,
    /// No task.
    Nothing,
}

/// Who said it, when, and what.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotationEvent {
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Number of the process's shared file: ids and addresses are the file's. 0 for none.
    pub source: u32,
    /// When it was said, CLOCK_MONOTONIC ns.
    pub time_ns: u64,
    /// When it happened: another time where the program tells one (`_ex`).
    pub at_ns: u64,
    /// What.
    pub what: AnnotationKind,
}

/// A value that was read at the hit of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitValue {
    /// What it is.
    pub kind: MarkerValueKind,
    /// A number's bits.
    pub bits: u64,
    /// A text.
    pub text: TextId,
}

/// One thing said.
#[derive(Clone, Debug, PartialEq)]
pub enum AnnotationKind {
    /// So many of the thread's events before this one are lost.
    Lost(u32),
    /// A task that nests in its thread's others begins.
    Begin { scope: Scope, name: TaskName, id: InstanceId, parent: InstanceId },
    /// The innermost task of the domain ends.
    End { scope: Scope },
    /// The same, if there is one, and the next one begins.
    Next { scope: Scope },
    /// A task, region or frame begins that is ended by its id.
    BeginById { kind: TaskKind, domain: TextId, name: TaskName, id: InstanceId, parent: InstanceId },
    /// It ends.
    EndById { kind: TaskKind, domain: TextId, id: InstanceId },
    /// A frame that was from then until then, CLOCK_MONOTONIC ns.
    Frame { domain: TextId, id: InstanceId, start_ns: u64, end_ns: u64 },
    /// A request that was handled from then until then, CLOCK_MONOTONIC ns.
    Request { name: TextId, start_ns: u64, end_ns: u64 },
    /// An event starts.
    EventStart(TextId),
    /// The latest event of the name ends.
    EventEnd(TextId),
    /// An instant.
    Marker { domain: TextId, name: TextId, scope: MarkerScope },
    /// A probe with values was hit.
    Hit { probe: u16, values: Box<[HitValue]> },
    /// A number, of a task or of nothing.
    Number { domain: TextId, of: MetadataSubject, key: TextId, value: f64 },
    /// A text.
    Text { domain: TextId, of: MetadataSubject, key: TextId, text: TextId },
    /// A counter's value, or what is added to it.
    Count { domain: TextId, name: TextId, kind: CounterKind, value: f64 },
    /// A synchronization object lies at the address from now on.
    SyncCreate { address: u64, kind: ObjectType, class: TextId, name: TextId },
    /// It has another name.
    SyncRename { address: u64, name: TextId },
    /// It is gone.
    SyncDestroy(u64),
    /// The thread begins to wait for it.
    Prepare(u64),
    /// The thread has it.
    Acquired(u64),
    /// The thread gave up.
    Cancel(u64),
    /// The thread gives it away.
    Releasing(u64),
    /// The program records again: what it said in between is missing.
    Resumed,
    /// The thread's name.
    ThreadName(TextId),
    /// The thread does not count.
    ThreadIgnore,
    /// From here on the thread does the work that was requested under this id.
    Enter { id: u64 },
    /// And no longer.
    Leave(u64),
}

impl AnnotationEvent {
    /// The pass of a probe.
    pub fn of_probe(record: &TaskProbeRecord) -> Self {
        let scope = Scope::Probe(record.probe);
        let (name, none) = (TaskName::Text(TextId::EMPTY), InstanceId::default());
        let begin = AnnotationKind::Begin { scope, name, id: none, parent: none };
        let what = match record.end {
            task_edge::BEGIN => begin,
            task_edge::NEXT => AnnotationKind::Next { scope },
            _ => AnnotationKind::End { scope },
        };
        let (tid, time_ns) = (record.h.tid, record.h.time_ns);
        Self { tid, tgid: record.tgid, source: 0, time_ns, at_ns: time_ns, what }
    }

    /// An instant of the whole recording that its user marked; the record names the first thread of a process.
    pub fn of_mark(h: &RecordHeader, name: TextId) -> Self {
        let what = AnnotationKind::Marker { domain: TextId::EMPTY, name, scope: MarkerScope::Global };
        Self { tid: h.tid, tgid: h.tid, source: 0, time_ns: h.time_ns, at_ns: h.time_ns, what }
    }

    /// A request that was handled.
    pub fn of_request(record: &RequestRecord, name: TextId) -> Self {
        let (tid, time_ns) = (record.h.tid, record.h.time_ns);
        let what = AnnotationKind::Request { name, start_ns: record.begin_ns, end_ns: time_ns };
        Self { tid, tgid: record.tgid, source: 0, time_ns, at_ns: time_ns, what }
    }
}
