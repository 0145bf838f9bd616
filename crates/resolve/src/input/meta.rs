//! What the trace tells once, apart from what happens at a time.

use std::collections::HashSet;

use dwell_store::raw::Record;
use dwell_store::raw::wire::{
    AcceptQueueRecord, ConnectsRecord, DelayRecord, EventCountsRecord, FiberNewRecord, FiberStateRecord,
    InterfaceHeader, MachineHeader, MapHeader, ObjectRecord, OpenRequestsRecord, RequestRecord, STACK_KERNEL,
    ScriptFrame, ScriptFunctionHeader, ScriptStackHeader, StackHeader, TCP_LISTEN, VainTryRecord, object_kind,
};

use crate::hash::FastMap;
use crate::input::annotation_event::AnnotationEvent;
use crate::input::belonging::Belonging;
use crate::input::event::Event;
use crate::input::itt::Decoder;
use crate::input::probe_hit;
use crate::input::sockets::RawSockets;

/// Members of a set of descriptors that are kept, of all looks.
const MOST_MEMBERS: usize = 64;

/// A stack as recorded.
#[derive(Clone, Copy, Debug)]
pub struct RawStack {
    /// Process, 0 for kernel stacks.
    pub tgid: u32,
    /// When it was first seen, CLOCK_MONOTONIC ns.
    pub time_ns: u64,
    /// Whether its frames are kernel addresses.
    pub kernel: bool,
    /// Code of the model crate's `StackEnd`.
    pub end: u8,
    first: usize,
    count: usize,
}

impl RawStack {
    /// A stack of nothing, of a process at a time.
    pub fn without_frames(tgid: u32, time_ns: u64) -> Self {
        Self { tgid, time_ns, kernel: false, end: 0, first: 0, count: 0 }
    }

    /// A stack that ended so.
    #[cfg(test)]
    pub fn of_end(end: u8) -> Self {
        Self { end, ..Self::without_frames(1, 0) }
    }
}

/// The frames of a script in a stack as recorded.
#[derive(Clone, Debug)]
pub struct ScriptStack {
    /// Leaf first.
    pub frames: Box<[ScriptFrame]>,
    /// `SCRIPT_CUT`.
    pub flags: u16,
}

/// A mapping as recorded.
#[derive(Clone, Debug)]
pub struct RawMap {
    /// The record.
    pub header: MapHeader,
    /// The file's path.
    pub path: Box<[u8]>,
}

/// What was seen of a fiber.
#[derive(Clone, Copy, Debug)]
pub enum FiberRecord {
    /// It is there.
    New(FiberNewRecord),
    /// It is in another state.
    State(FiberStateRecord),
}

/// What the trace tells once: stacks, objects, mappings, command lines.
#[derive(Default)]
pub struct Meta {
    stacks: FastMap<u64, RawStack>,
    frames: Vec<u64>,
    objects: FastMap<u64, Vec<ObjectRecord>>,
    members: FastMap<u64, String>,
    script_stacks: FastMap<u64, ScriptStack>,
    script_functions: FastMap<u64, (ScriptFunctionHeader, Box<[u8]>)>,
    /// Mappings, in the order of the stream.
    pub maps: Vec<RawMap>,
    /// Process, time and arguments.
    pub commands: Vec<(u32, u64, String)>,
    /// What processes belong to: process id, time.
    pub belongings: Vec<(u32, u64, Belonging)>,
    /// The machine's counters, as read.
    pub machine: Vec<(MachineHeader, Vec<u64>)>,
    /// The interfaces' counters, as read.
    pub interfaces: Vec<(InterfaceHeader, Vec<u64>)>,
    /// What programs write through ITT.
    pub itt: Decoder,
    /// Sockets.
    pub sockets: RawSockets,
    /// What delayed threads.
    pub delays: Vec<DelayRecord>,
    /// What threads counted of events, in the order of the stream.
    pub event_counts: Vec<EventCountsRecord>,
    /// How many requests waited for their answers, in the order of the stream.
    pub open_requests: Vec<OpenRequestsRecord>,
    /// How many connections waited to be accepted, in the order of the stream.
    pub accept_queues: Vec<AcceptQueueRecord>,
    /// What threads tried in vain, in the order of the stream.
    pub vain_tries: Vec<VainTryRecord>,
    /// What connections processes opened, in the order of the stream.
    pub connects: Vec<ConnectsRecord>,
    /// What was seen of fibers, in the order of the stream.
    pub fibers: Vec<FiberRecord>,
    /// Ports of TCP that profiled programs listen at.
    pub listening: HashSet<u16>,
    /// Latest time of a ROUND mark.
    pub round_ns: u64,
}

impl Meta {
    /// The stack of `key`.
    pub fn stack(&self, key: u64) -> Option<RawStack> {
        self.stacks.get(&key).copied()
    }

    /// The stack's addresses, leaf first.
    pub fn frames(&self, stack: RawStack) -> &[u64] {
        &self.frames[stack.first..stack.first + stack.count]
    }

    /// The frames of a script in the stack of `key`.
    pub fn script_stack(&self, key: u64) -> Option<&ScriptStack> {
        self.script_stacks.get(&key)
    }

    /// Every function of a script by its key: its description and what there is of its line table.
    pub fn script_functions(&self) -> impl Iterator<Item = (&u64, &(ScriptFunctionHeader, Box<[u8]>))> {
        self.script_functions.iter()
    }

    /// What object key `key` stood for at `time_ns`: the latest description until then, or the first.
    pub fn object(&self, key: u64, time_ns: u64) -> Option<&ObjectRecord> {
        let versions = self.objects.get(&key)?;
        versions.iter().rev().find(|version| version.h.time_ns <= time_ns).or_else(|| versions.first())
    }

    /// The members of an epoll set, a line each.
    pub fn members(&self, key: u64) -> Option<&str> {
        self.members.get(&key).map(String::as_str)
    }

    /// Keeps what is told once; hands out what happens at a time.
    pub fn take(&mut self, record: Record<'_>, happens: &mut dyn FnMut(Event)) {
        match record {
            Record::Switch(record) => happens(Event::Switch(record)),
            Record::Sample(record) => happens(Event::Sample(record)),
            Record::ThreadNew(record) => happens(Event::New(record)),
            Record::ThreadName(record) => happens(Event::Name(record)),
            Record::ThreadExit(record) => happens(Event::Exit(record)),
            Record::ThreadAccount(record) => happens(Event::ThreadAccount(record)),
            Record::Exec(record) => happens(Event::Exec(record)),
            Record::Pause(header) => happens(Event::Pause(header.time_ns)),
            Record::Resume(header) => happens(Event::Resume(header.time_ns)),
            Record::TaskProbe(record) => happens(Event::Annotation(AnnotationEvent::of_probe(&record))),
            Record::ProbeHit(record, texts) => {
                let annotation = probe_hit::hit(&record, texts, &mut self.itt.texts);
                happens(Event::Annotation(annotation));
            }
            Record::Stitch(record) => happens(Event::Stitch(record)),
            Record::Creation(record) => happens(Event::Creation(record)),
            Record::WokenFutex(record) => happens(Event::WokenFutex(record)),
            Record::IttNames(header, bytes) => {
                self.itt.names(&header, bytes, &mut |annotation| happens(Event::Annotation(annotation)));
            }
            Record::IttEvents(header, bytes) => {
                self.itt.events(&header, bytes, &mut |annotation| happens(Event::Annotation(annotation)));
            }
            Record::Stack(header, frames) => self.take_stack(header, &frames),
            Record::ScriptStack(header, frames) => self.take_script_stack(&header, frames.into()),
            Record::ScriptFunction(header, table) => {
                self.script_functions.entry(header.key).or_insert_with(|| (*header, table.into()));
            }
            Record::Object(record) => self.take_object(*record),
            Record::Map(header, path) => self.maps.push(RawMap { header, path: path.into() }),
            Record::Command(header, text) => {
                self.commands.push((header.h.tid, header.h.time_ns, command_line(text)));
            }
            Record::Mark(header, text) => {
                let name = self.itt.texts.intern(text);
                happens(Event::Annotation(AnnotationEvent::of_mark(&header.h, name)));
            }
            Record::Belonging(header, text) => {
                self.belongings.push((header.h.tid, header.h.time_ns, Belonging::parse(text)));
            }
            Record::Members(header, text) => {
                add_members(self.members.entry(header.key).or_default(), &String::from_utf8_lossy(text));
            }
            Record::Machine(header, counters) => self.machine.push((header, counters)),
            Record::Interface(header, counters) => self.interfaces.push((header, counters)),
            Record::Round(header) => self.round_ns = self.round_ns.max(header.time_ns),
            Record::FiberNew(record) => self.fibers.push(FiberRecord::New(record)),
            Record::FiberState(record) => self.fibers.push(FiberRecord::State(record)),
            Record::EventCounts(record) => self.event_counts.push(*record),
            Record::OpenRequests(record) => self.open_requests.push(record),
            Record::AcceptQueue(record) => self.accept_queues.push(*record),
            Record::VainTry(record) => self.vain_tries.push(*record),
            Record::Connects(record) => self.connects.push(record),
            Record::Delay(record) => self.delays.push(record),
            Record::Delays(records) => self.delays.extend(records),
            Record::Request(record) => {
                let name = self.itt.texts.intern(request_name(&record).as_bytes());
                happens(Event::Annotation(AnnotationEvent::of_request(&record, name)));
            }
            Record::Socket(_)
            | Record::SocketWait(_)
            | Record::TcpHold(_)
            | Record::TcpEvent(_)
            | Record::SocketPeer(_) => self.take_of_socket(&record),
            Record::Unknown(_) => {}
        }
    }

    fn take_of_socket(&mut self, record: &Record<'_>) {
        if let Record::Socket(socket) = record
            && socket.tcp.state == TCP_LISTEN
        {
            self.listening.insert(socket.local_port);
        }
        self.sockets.take(record);
    }

    fn take_stack(&mut self, header: StackHeader, frames: &[u64]) {
        let stack = RawStack {
            tgid: header.tgid,
            time_ns: header.h.time_ns,
            kernel: header.flags & STACK_KERNEL != 0,
            end: header.end,
            first: self.frames.len(),
            count: frames.len(),
        };
        if let std::collections::hash_map::Entry::Vacant(entry) = self.stacks.entry(header.key) {
            entry.insert(stack);
            self.frames.extend_from_slice(frames);
        }
    }

    fn take_script_stack(&mut self, header: &ScriptStackHeader, frames: Box<[ScriptFrame]>) {
        self.script_stacks.entry(header.key).or_insert(ScriptStack { frames, flags: header.flags });
    }

    fn take_object(&mut self, record: ObjectRecord) {
        if record.kind == object_kind::SOCKET && record.socket_state == TCP_LISTEN {
            self.listening.insert(record.local_port);
        }
        let versions = self.objects.entry(record.key).or_default();
        if versions.last().is_none_or(|last| !same_object(last, &record)) {
            versions.push(record);
            versions.sort_by_key(|version| version.h.time_ns);
        }
    }
}

/// The arguments, with spaces between.
fn command_line(text: &[u8]) -> String {
    let words: Vec<_> = text.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().to_owned()
}

/// Adds what a set has at a later look: a client's connections come after the set.
fn add_members(members: &mut String, found: &str) {
    for line in found.lines() {
        if members.lines().count() < MOST_MEMBERS && !members.lines().any(|known| known == line) {
            members.push_str(if members.is_empty() { "" } else { "\n" });
            members.push_str(line);
        }
    }
}

/// What the requests on a socket are called: by the port that they come to.
fn request_name(request: &RequestRecord) -> String {
    if request.local_port == 0 { "request".to_owned() } else { format!("request :{}", request.local_port) }
}

fn same_object(a: &ObjectRecord, b: &ObjectRecord) -> bool {
    let addresses = |object: &ObjectRecord| (object.local_address, object.remote_address);
    let ports = |object: &ObjectRecord| (object.kind, object.socket_state, object.local_port, object.remote_port);
    ports(a) == ports(b) && addresses(a) == addresses(b) && a.members == b.members && a.text == b.text
}
