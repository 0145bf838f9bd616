//! Decodes what programs wrote through ITT: names instead of their numbers, nanoseconds instead of ticks.
//!
//! All names are in the `meta` stream, which is read first: an event's numbers can be resolved when it is read.

use std::collections::HashMap;

use dwell_itt_wire::{Event, Id, Name, Named, Value};
use dwell_model::{CounterKind, MarkerScope, ObjectType, TaskKind};
use dwell_store::raw::wire::IttHeader;

use super::annotation_event::{AnnotationEvent, AnnotationKind, InstanceId, MetadataSubject, Scope, TaskName};
use super::texts::{TextId, Texts};
use crate::input::ticks::time_ns;

/// Attributes of `__itt_sync_create`.
const ATTRIBUTE_BARRIER: u32 = 1;
const ATTRIBUTE_MUTEX: u32 = 2;

/// The names that one process gave, by the numbers that its file has for them.
#[derive(Default)]
struct Names {
    domains: HashMap<u16, TextId>,
    strings: HashMap<u32, TextId>,
    events: HashMap<u32, TextId>,
    /// Domain and name.
    counters: HashMap<u32, (TextId, TextId)>,
}

/// Decodes the records of every process.
#[derive(Default)]
pub struct Decoder {
    sources: HashMap<u32, Names>,
    /// Every text.
    pub texts: Texts,
    /// Bytes that are no records, and records that make no sense.
    pub damaged: u64,
}

fn instance(id: Id) -> InstanceId {
    InstanceId(id.d1, id.d2)
}

impl Names {
    fn domain(&self, id: u16) -> TextId {
        if id == 0 { TextId::EMPTY } else { self.domains.get(&id).copied().unwrap_or(TextId::UNKNOWN) }
    }

    fn string(&self, id: u32) -> TextId {
        if id == 0 { TextId::EMPTY } else { self.strings.get(&id).copied().unwrap_or(TextId::UNKNOWN) }
    }

    fn task(&self, id: u32) -> TaskName {
        TaskName::Text(self.string(id))
    }

    fn event(&self, id: u32) -> TextId {
        self.events.get(&id).copied().unwrap_or(TextId::UNKNOWN)
    }

    fn counter(&self, id: u32) -> (TextId, TextId) {
        self.counters.get(&id).copied().unwrap_or((TextId::UNKNOWN, TextId::UNKNOWN))
    }

    fn what(&self, header: &IttHeader, event: &Event<'_>) -> Option<AnnotationKind> {
        let task = TaskKind::Overlapped;
        Some(match *event {
            Event::TaskBegin { domain, name, id, parent } => self.begin(domain, self.task(name), (id, parent)),
            Event::TaskBeginFn { domain, function, id, parent } => {
                self.begin(domain, TaskName::Function(function), (id, parent))
            }
            Event::TaskEnd { domain } => AnnotationKind::End { scope: Scope::Domain(self.domain(domain)) },
            Event::OverlappedBegin { domain, name, id, parent } => {
                self.begin_by_id((task, domain), self.task(name), (id, parent))
            }
            Event::OverlappedEnd { domain, id } => self.end_by_id(task, domain, id),
            Event::RegionBegin { domain, name, id, parent } => {
                self.begin_by_id((TaskKind::Region, domain), self.task(name), (id, parent))
            }
            Event::RegionEnd { domain, id } => self.end_by_id(TaskKind::Region, domain, id),
            Event::FrameBegin { domain, id } => {
                let name = TaskName::Text(self.domain(domain));
                self.begin_by_id((TaskKind::Frame, domain), name, (id, Id::NONE))
            }
            Event::FrameEnd { domain, id } => self.end_by_id(TaskKind::Frame, domain, id),
            Event::FrameSubmit { domain, id, begin, end } => AnnotationKind::Frame {
                domain: self.domain(domain),
                id: instance(id),
                start_ns: time_ns(header, begin),
                end_ns: time_ns(header, end),
            },
            ref other => return self.what_else(other),
        })
    }

    fn begin(&self, domain: u16, name: TaskName, (id, parent): (Id, Id)) -> AnnotationKind {
        AnnotationKind::Begin {
            scope: Scope::Domain(self.domain(domain)),
            name,
            id: instance(id),
            parent: instance(parent),
        }
    }

    fn begin_by_id(&self, (kind, domain): (TaskKind, u16), name: TaskName, (id, parent): (Id, Id)) -> AnnotationKind {
        AnnotationKind::BeginById {
            kind,
            domain: self.domain(domain),
            name,
            id: instance(id),
            parent: instance(parent),
        }
    }

    fn end_by_id(&self, kind: TaskKind, domain: u16, id: Id) -> AnnotationKind {
        AnnotationKind::EndById { kind, domain: self.domain(domain), id: instance(id) }
    }

    /// Everything except tasks.
    fn what_else(&self, event: &Event<'_>) -> Option<AnnotationKind> {
        Some(match *event {
            Event::Marker { domain, name, scope, .. } => AnnotationKind::Marker {
                domain: self.domain(domain),
                name: self.string(name),
                scope: MarkerScope::from_code(u8::try_from(scope).unwrap_or(0)),
            },
            Event::EventStart { event } => AnnotationKind::EventStart(self.event(event)),
            Event::EventEnd { event } => AnnotationKind::EventEnd(self.event(event)),
            Event::CounterSet { counter, value } => count(self.counter(counter), CounterKind::Set, value),
            Event::CounterAdd { counter, delta } => {
                count(self.counter(counter), CounterKind::Sum, Value::Signed(delta))
            }
            Event::NamedCounterAdd { domain, name, delta } => {
                count((self.domain(domain), self.string(name)), CounterKind::Sum, Value::Signed(delta))
            }
            Event::SyncPrepare { address } => AnnotationKind::Prepare(address),
            Event::SyncAcquired { address } => AnnotationKind::Acquired(address),
            Event::SyncReleasing { address } => AnnotationKind::Releasing(address),
            Event::SyncCancel { address } => AnnotationKind::Cancel(address),
            Event::StackEnter { id } => AnnotationKind::Enter { id },
            Event::StackLeave { id } => AnnotationKind::Leave(id),
            _ => return None,
        })
    }
}

fn count((domain, name): (TextId, TextId), kind: CounterKind, value: Value) -> AnnotationKind {
    AnnotationKind::Count { domain, name, kind, value: value.as_f64() }
}

/// What a datum is of: of no task, when it says so and names none.
fn subject(id: Id, scope: u32) -> MetadataSubject {
    const GLOBAL: u32 = 1;
    const PROCESS: u32 = 2;
    const THREAD: u32 = 3;
    const MARKER: u32 = 5;
    match scope {
        _ if !id.is_none() => MetadataSubject::Id(instance(id)),
        GLOBAL | PROCESS | THREAD | MARKER => MetadataSubject::Nothing,
        _ => MetadataSubject::Current,
    }
}

impl Decoder {
    /// Takes an ITT_NAMES record: keeps the names, hands out what happened. Names of code are skipped.
    pub fn names(&mut self, header: &IttHeader, bytes: &[u8], take: &mut dyn FnMut(AnnotationEvent)) {
        let mut names = dwell_itt_wire::names(bytes);
        for named in names.by_ref() {
            let time_ns = time_ns(header, named.ticks);
            if let Some(what) = self.name(header.source, &named) {
                let (tid, tgid, source) = (named.tid, header.tgid, header.source);
                take(AnnotationEvent { tid, tgid, source, time_ns, at_ns: time_ns, what });
            }
        }
        self.damaged += names.unknown() + names.rest() as u64;
    }

    fn name(&mut self, source: u32, named: &Named<'_>) -> Option<AnnotationKind> {
        let names = self.sources.entry(source).or_default();
        let texts = &mut self.texts;
        match named.name {
            Name::Domain { id, text } => {
                names.domains.insert(id, texts.intern(text));
            }
            Name::String { id, text } => {
                names.strings.insert(id, texts.intern(text));
            }
            Name::Event { id, text } => {
                names.events.insert(id, texts.intern(text));
            }
            Name::Counter { id, domain, name, .. } => {
                names.counters.insert(id, (texts.intern(domain), texts.intern(name)));
            }
            Name::SyncCreate { address, attribute, class, name } => {
                let kind = object_type(&String::from_utf8_lossy(class), attribute);
                return Some(AnnotationKind::SyncCreate {
                    address,
                    kind,
                    class: texts.intern(class),
                    name: texts.intern(name),
                });
            }
            Name::SyncRename { address, name } => {
                return Some(AnnotationKind::SyncRename { address, name: texts.intern(name) });
            }
            Name::SyncDestroy { address } => return Some(AnnotationKind::SyncDestroy(address)),
            Name::ThreadName { text } => return Some(AnnotationKind::ThreadName(texts.intern(text))),
            Name::ThreadIgnore => return Some(AnnotationKind::ThreadIgnore),
            Name::Resume { .. } => return Some(AnnotationKind::Resumed),
            _ => {}
        }
        None
    }

    /// Takes an ITT_EVENTS record: hands out what its thread said, in the order in which it did.
    pub fn events(&mut self, header: &IttHeader, bytes: &[u8], take: &mut dyn FnMut(AnnotationEvent)) {
        let (tid, tgid, source) = (header.h.tid, header.tgid, header.source);
        let mut events = dwell_itt_wire::events(bytes);
        let mut lost = header.lost;
        let mut latest_ns = 0;
        let unknown = Names::default();
        for stamped in events.by_ref() {
            let at_ns = time_ns(header, stamped.ticks);
            latest_ns = at_ns.max(latest_ns);
            let mut say = |what| take(AnnotationEvent { tid, tgid, source, time_ns: latest_ns, at_ns, what });
            if std::mem::take(&mut lost) > 0 {
                say(AnnotationKind::Lost(header.lost));
            }
            let names = self.sources.get(&source).unwrap_or(&unknown);
            if let Some(what) = names.what(header, &stamped.event) {
                say(what);
            } else {
                data(names, &mut self.texts, &stamped.event, &mut say);
            }
        }
        if lost > 0 {
            let time_ns = header.h.time_ns;
            take(AnnotationEvent { tid, tgid, source, time_ns, at_ns: time_ns, what: AnnotationKind::Lost(lost) });
        }
        self.damaged += events.unknown() + events.rest() as u64;
    }
}

/// What the program said of a task.
fn data(names: &Names, texts: &mut Texts, event: &Event<'_>, say: &mut dyn FnMut(AnnotationKind)) {
    match *event {
        Event::Numbers { domain, key, id, scope, values } => {
            let (domain, of, key) = (names.domain(domain), subject(id, scope), names.string(key));
            values.iter().for_each(|value| say(AnnotationKind::Number { domain, of, key, value: value.as_f64() }));
        }
        Event::Text { domain, key, id, scope, text } => say(AnnotationKind::Text {
            domain: names.domain(domain),
            of: subject(id, scope),
            key: names.string(key),
            text: texts.intern(text),
        }),
        Event::Formatted { domain, format, id, text } => say(AnnotationKind::Text {
            domain: names.domain(domain),
            of: subject(id, 0),
            key: names.string(format),
            text: texts.intern(text),
        }),
        _ => {}
    }
}

fn object_type(class: &str, attribute: u32) -> ObjectType {
    match (type_of_word(class), attribute) {
        (ObjectType::User, ATTRIBUTE_BARRIER) => ObjectType::Barrier,
        (ObjectType::User, ATTRIBUTE_MUTEX) => ObjectType::Mutex,
        (kind, _) => kind,
    }
}

/// The type that a program's word for an object tells.
fn type_of_word(word: &str) -> ObjectType {
    let word = word.to_lowercase();
    let has = |part: &str| word.contains(part);
    match () {
        () if has("tbb scheduler") => ObjectType::TbbScheduler,
        () if has("barrier") && has("omp") => ObjectType::OpenMpBarrier,
        () if has("barrier") => ObjectType::Barrier,
        () if has("semaphore") => ObjectType::Semaphore,
        () if has("condition") => ObjectType::ConditionVariable,
        () if has("rw") || has("reader") || has("read/write") => ObjectType::RwLock,
        () if has("spin") => ObjectType::SpinLock,
        () if has("mutex") || has("lock") || has("critical") => ObjectType::Mutex,
        () => ObjectType::User,
    }
}
