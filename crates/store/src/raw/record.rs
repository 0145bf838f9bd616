//! Reading and building records. Every length is checked: a chunk from disk is hostile input.

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};

use super::wire::{
    AcceptQueueRecord, ConnectsRecord, CreationRecord, DelayRecord, DelaysHeader, EventCountsRecord, ExecRecord,
    FiberNewRecord, FiberStateRecord, InterfaceHeader, IttHeader, MachineHeader, MapHeader, ObjectRecord,
    OpenRequestsRecord, ProbeHitRecord, RecordHeader, RequestRecord, SampleRecord, ScriptFrame, ScriptFunctionHeader,
    ScriptStackHeader, ShortDelay, SocketPeerRecord, SocketRecord, SocketWaitRecord, StackHeader, StitchRecord,
    SwitchRecord, TaskProbeRecord, TcpEventRecord, TcpHoldRecord, TextHeader, ThreadAccountRecord, ThreadExitRecord,
    ThreadNameRecord, ThreadNewRecord, VainTryRecord, WokenFutexRecord, kind,
};

/// One record, borrowed from a chunk.
#[derive(Debug)]
#[allow(missing_docs, reason = "dwell-wire documents the kinds")]
pub enum Record<'a> {
    Switch(SwitchRecord),
    Sample(SampleRecord),
    /// Frames leaf first.
    Stack(StackHeader, Vec<u64>),
    /// Frames of a script, leaf first.
    ScriptStack(ScriptStackHeader, Vec<ScriptFrame>),
    /// A function of a script and what there is of its line table.
    ScriptFunction(Box<ScriptFunctionHeader>, &'a [u8]),
    Object(Box<ObjectRecord>),
    ThreadNew(ThreadNewRecord),
    ThreadName(ThreadNameRecord),
    ThreadExit(ThreadExitRecord),
    ThreadAccount(ThreadAccountRecord),
    Exec(Box<ExecRecord>),
    /// The mapping and the file's path.
    Map(MapHeader, &'a [u8]),
    /// A process's arguments, zero-separated.
    Command(TextHeader, &'a [u8]),
    Belonging(TextHeader, &'a [u8]),
    Mark(TextHeader, &'a [u8]),
    /// An epoll set's members, a line each.
    Members(TextHeader, &'a [u8]),
    TaskProbe(TaskProbeRecord),
    /// The hit, and the texts behind it.
    ProbeHit(Box<ProbeHitRecord>, &'a [u8]),
    Stitch(StitchRecord),
    Creation(CreationRecord),
    WokenFutex(WokenFutexRecord),
    Socket(Box<SocketRecord>),
    SocketWait(Box<SocketWaitRecord>),
    TcpHold(TcpHoldRecord),
    TcpEvent(TcpEventRecord),
    SocketPeer(SocketPeerRecord),
    Delay(DelayRecord),
    /// Short ones of one thread, each as a record of its own would tell it.
    Delays(Vec<DelayRecord>),
    Request(RequestRecord),
    EventCounts(Box<EventCountsRecord>),
    OpenRequests(OpenRequestsRecord),
    AcceptQueue(Box<AcceptQueueRecord>),
    VainTry(Box<VainTryRecord>),
    Connects(ConnectsRecord),
    /// What a program named through ITT.
    IttNames(IttHeader, &'a [u8]),
    /// What a thread announced through ITT.
    IttEvents(IttHeader, &'a [u8]),
    /// The machine's counters, as many as are there.
    Machine(MachineHeader, Vec<u64>),
    /// An interface's counters, as many as are there.
    Interface(InterfaceHeader, Vec<u64>),
    FiberNew(FiberNewRecord),
    FiberState(FiberStateRecord),
    Round(RecordHeader),
    Pause(RecordHeader),
    Resume(RecordHeader),
    /// A kind that this version does not know.
    Unknown(RecordHeader),
}

impl<'a> Record<'a> {
    /// The one record in `bytes`. `None` when they are too few for its kind.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        parse(prefix(bytes)?, bytes)
    }
}

/// Iterates over the records of a chunk's bytes. A record whose size does not fit ends the iteration;
/// [`Records::rest`] then says how many bytes were not read.
pub struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// Records in `bytes`, a decompressed chunk.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes that are not read yet, or cannot be.
    pub fn rest(&self) -> usize {
        self.bytes.len()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let header: RecordHeader = prefix(self.bytes)?;
        let size = usize::from(header.size);
        if size < size_of::<RecordHeader>() || size > self.bytes.len() {
            return None;
        }
        let (body, rest) = self.bytes.split_at(size);
        let record = parse(header, body)?;
        self.bytes = rest;
        Some(record)
    }
}

fn parse(header: RecordHeader, body: &[u8]) -> Option<Record<'_>> {
    Some(match header.kind {
        kind::SWITCH => Record::Switch(prefix(body)?),
        kind::SAMPLE => Record::Sample(prefix(body)?),
        kind::STACK => {
            let stack: StackHeader = prefix(body)?;
            let frames = body.get(size_of::<StackHeader>()..)?;
            Record::Stack(stack, numbers(frames, u32::from(stack.count)))
        }
        kind::SCRIPT_STACK => {
            let stack: ScriptStackHeader = prefix(body)?;
            let frames = body.get(size_of::<ScriptStackHeader>()..)?.chunks_exact(size_of::<ScriptFrame>());
            let frames = frames.take(usize::from(stack.count));
            Record::ScriptStack(stack, frames.map(pod_read_unaligned).collect())
        }
        kind::SCRIPT_FUNCTION => {
            let code: ScriptFunctionHeader = prefix(body)?;
            let table = body.get(size_of::<ScriptFunctionHeader>()..)?;
            let present = table.len().min(code.table_bytes as usize);
            Record::ScriptFunction(Box::new(code), &table[..present])
        }
        kind::OBJECT => Record::Object(Box::new(prefix(body)?)),
        kind::THREAD_NEW => Record::ThreadNew(prefix(body)?),
        kind::THREAD_NAME => Record::ThreadName(prefix(body)?),
        kind::THREAD_EXIT => Record::ThreadExit(prefix(body)?),
        kind::THREAD_ACCOUNT => Record::ThreadAccount(prefix(body)?),
        kind::EXEC => Record::Exec(Box::new(prefix(body)?)),
        kind::MAP => map(body)?,
        kind::COMMAND => text(body).map(|(header, text)| Record::Command(header, text))?,
        kind::MARK => text(body).map(|(header, text)| Record::Mark(header, text))?,
        kind::BELONGING => text(body).map(|(header, text)| Record::Belonging(header, text))?,
        kind::MEMBERS => text(body).map(|(header, text)| Record::Members(header, text))?,
        kind::TASK_PROBE => Record::TaskProbe(prefix(body)?),
        kind::PROBE_HIT => {
            let hit: ProbeHitRecord = prefix(body)?;
            Record::ProbeHit(Box::new(hit), body.get(size_of::<ProbeHitRecord>()..)?)
        }
        kind::STITCH => Record::Stitch(prefix(body)?),
        kind::CREATION => Record::Creation(prefix(body)?),
        kind::WOKEN_FUTEX => Record::WokenFutex(prefix(body)?),
        kind::SOCKET => Record::Socket(Box::new(prefix(body)?)),
        kind::SOCKET_WAIT => Record::SocketWait(Box::new(prefix(body)?)),
        kind::TCP_HOLD => Record::TcpHold(prefix(body)?),
        kind::TCP_EVENT => Record::TcpEvent(prefix(body)?),
        kind::SOCKET_PEER => Record::SocketPeer(prefix(body)?),
        kind::DELAY => Record::Delay(prefix(body)?),
        kind::DELAYS => Record::Delays(short_delays(body)?),
        kind::REQUEST => Record::Request(prefix(body)?),
        kind::EVENT_COUNTS => Record::EventCounts(Box::new(prefix(body)?)),
        kind::OPEN_REQUESTS => Record::OpenRequests(prefix(body)?),
        kind::ACCEPT_QUEUE => Record::AcceptQueue(Box::new(prefix(body)?)),
        kind::VAIN_TRY => Record::VainTry(Box::new(prefix(body)?)),
        kind::CONNECTS => Record::Connects(prefix(body)?),
        kind::ITT_NAMES => itt(body).map(|(header, bytes)| Record::IttNames(header, bytes))?,
        kind::ITT_EVENTS => itt(body).map(|(header, bytes)| Record::IttEvents(header, bytes))?,
        kind::MACHINE => {
            let machine: MachineHeader = prefix(body)?;
            Record::Machine(machine, numbers(body.get(size_of::<MachineHeader>()..)?, machine.count))
        }
        kind::INTERFACE => {
            let interface: InterfaceHeader = prefix(body)?;
            Record::Interface(interface, numbers(body.get(size_of::<InterfaceHeader>()..)?, interface.count))
        }
        kind::FIBER_NEW => Record::FiberNew(prefix(body)?),
        kind::FIBER_STATE => Record::FiberState(prefix(body)?),
        kind::ROUND => Record::Round(header),
        kind::PAUSE => Record::Pause(header),
        kind::RESUME => Record::Resume(header),
        _ => Record::Unknown(header),
    })
}

fn map(body: &[u8]) -> Option<Record<'_>> {
    let map: MapHeader = prefix(body)?;
    Some(Record::Map(map, tail(body, size_of::<MapHeader>(), map.path_bytes)?))
}

fn text(body: &[u8]) -> Option<(TextHeader, &[u8])> {
    let header: TextHeader = prefix(body)?;
    Some((header, tail(body, size_of::<TextHeader>(), header.text_bytes)?))
}

fn short_delays(body: &[u8]) -> Option<Vec<DelayRecord>> {
    let header: DelaysHeader = prefix(body)?;
    let short = body.get(size_of::<DelaysHeader>()..)?.chunks_exact(size_of::<ShortDelay>());
    let delay = |bytes: &[u8]| {
        let short: ShortDelay = pod_read_unaligned(bytes);
        let begin_ns = header.base_ns.saturating_add(short.begin_ns.into());
        DelayRecord {
            h: RecordHeader { kind: kind::DELAY, time_ns: begin_ns.saturating_add(short.length_ns.into()), ..header.h },
            begin_ns,
            detail: short.detail.into(),
            cpu: header.cpu,
            kind: short.kind,
            ..DelayRecord::zeroed()
        }
    };
    Some(short.take(header.count.into()).map(delay).collect())
}

fn itt(body: &[u8]) -> Option<(IttHeader, &[u8])> {
    let header: IttHeader = prefix(body)?;
    Some((header, tail(body, size_of::<IttHeader>(), header.bytes)?))
}

/// At most `count` of the numbers that are there.
fn numbers(bytes: &[u8], count: u32) -> Vec<u64> {
    bytes.chunks_exact(8).take(count as usize).map(pod_read_unaligned).collect()
}

fn tail(body: &[u8], fixed: usize, length: u32) -> Option<&[u8]> {
    body.get(fixed..)?.get(..length as usize)
}

/// The fixed-layout record, or part of one, that `bytes` begin with. `None` when they are too few.
pub fn prefix<T: Pod>(bytes: &[u8]) -> Option<T> {
    bytes.get(..size_of::<T>()).map(pod_read_unaligned)
}

/// The text before the first zero byte; what is not UTF-8 is replaced.
pub fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// The name of a Unix socket: a path, or behind a zero byte an abstract name, which only its length ends. Zero bytes are written as
/// `@`, as `/proc/net/unix` has them; those at its end, with which some programs fill the address, are left out.
pub fn unix_socket_name(bytes: &[u8]) -> String {
    match bytes.first() {
        Some(0) => format!("@{}", String::from_utf8_lossy(&bytes[1..]).trim_end_matches('\0').replace('\0', "@")),
        _ => c_string(bytes),
    }
}

/// Builds the records that are written in user space.
#[derive(Default)]
pub struct RecordBuffer {
    /// The records so far.
    pub bytes: Vec<u8>,
}

impl RecordBuffer {
    /// A record that is a header only: ROUND, PAUSE, RESUME.
    pub fn mark(&mut self, kind: u16, time_ns: u64) {
        let size = size_of::<RecordHeader>() as u16;
        self.bytes.extend_from_slice(bytes_of(&RecordHeader { kind, size, tid: 0, time_ns }));
    }

    /// Any fixed-layout record; its header's size is set here.
    pub fn fixed<T: Pod>(&mut self, record: &T) {
        self.push(bytes_of(record), &[]);
    }

    /// A stack, frames leaf first.
    pub fn stack(&mut self, mut stack: StackHeader, frames: &[u64]) {
        stack.h.kind = kind::STACK;
        stack.count = frames.len() as u16;
        self.push(bytes_of(&stack), bytemuck::cast_slice(frames));
    }

    /// The frames of a script in a stack, leaf first.
    pub fn script_stack(&mut self, mut stack: ScriptStackHeader, frames: &[ScriptFrame]) {
        stack.h.kind = kind::SCRIPT_STACK;
        stack.count = frames.len() as u16;
        self.push(bytes_of(&stack), bytemuck::cast_slice(frames));
    }

    /// A function of a script with its line table.
    pub fn script_function(&mut self, mut code: ScriptFunctionHeader, table: &[u8]) {
        code.h.kind = kind::SCRIPT_FUNCTION;
        self.push(bytes_of(&code), table);
    }

    /// A mapping of the file `path`; longer paths than 64 KiB are cut.
    pub fn map(&mut self, mut map: MapHeader, path: &[u8]) {
        let path = &path[..path.len().min(60_000)];
        map.h.kind = kind::MAP;
        map.path_bytes = path.len() as u32;
        self.push(bytes_of(&map), path);
    }

    /// A COMMAND, BELONGING, MARK or MEMBERS record; its header's size is set here.
    pub fn text(&mut self, h: RecordHeader, key: u64, text: &[u8]) {
        let text = &text[..text.len().min(60_000)];
        let header = TextHeader { h, key, text_bytes: text.len() as u32, ..Zeroable::zeroed() };
        self.push(bytes_of(&header), text);
    }

    /// An ITT_NAMES or ITT_EVENTS record of at most 60,000 `bytes`; its header's size is set here.
    pub fn itt(&mut self, mut header: IttHeader, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(60_000)];
        header.bytes = bytes.len() as u32;
        self.push(bytes_of(&header), bytes);
    }

    /// A MACHINE record.
    pub fn machine(&mut self, mut machine: MachineHeader, counters: &[u64]) {
        machine.h.kind = kind::MACHINE;
        machine.count = counters.len() as u32;
        self.push(bytes_of(&machine), bytemuck::cast_slice(counters));
    }

    /// An INTERFACE record.
    pub fn interface(&mut self, mut interface: InterfaceHeader, counters: &[u64]) {
        interface.h.kind = kind::INTERFACE;
        interface.count = counters.len() as u32;
        self.push(bytes_of(&interface), bytemuck::cast_slice(counters));
    }

    fn push(&mut self, fixed: &[u8], rest: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(fixed);
        self.bytes.extend_from_slice(rest);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let size = (self.bytes.len() - at) as u16;
        self.bytes[at + 2..at + 4].copy_from_slice(&size.to_ne_bytes());
    }
}
