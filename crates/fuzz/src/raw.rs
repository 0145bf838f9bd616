//! Records of a raw trace as input.

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use dwell_itt_wire::{Event, Id, Name, Named, NamesBuffer, Value};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::*;

/// Bytes of the fixed part of a record of a kind; none of those that no record has.
fn least(kind: u16) -> Option<usize> {
    Some(match kind {
        kind::SWITCH => size_of::<SwitchRecord>(),
        kind::SAMPLE => size_of::<SampleRecord>(),
        kind::STACK => size_of::<StackHeader>(),
        kind::OBJECT => size_of::<ObjectRecord>(),
        kind::THREAD_NEW => size_of::<ThreadNewRecord>(),
        kind::THREAD_NAME => size_of::<ThreadNameRecord>(),
        kind::THREAD_EXIT => size_of::<ThreadExitRecord>(),
        kind::THREAD_ACCOUNT => size_of::<ThreadAccountRecord>(),
        kind::EXEC => size_of::<ExecRecord>(),
        kind::SCRIPT_STACK => size_of::<ScriptStackHeader>(),
        kind::SCRIPT_FUNCTION => size_of::<ScriptFunctionHeader>(),
        kind::TASK_PROBE => size_of::<TaskProbeRecord>(),
        kind::PROBE_HIT => size_of::<ProbeHitRecord>(),
        kind::STITCH => size_of::<StitchRecord>(),
        kind::CREATION => size_of::<CreationRecord>(),
        kind::WOKEN_FUTEX => size_of::<WokenFutexRecord>(),
        kind::SOCKET => size_of::<SocketRecord>(),
        kind::SOCKET_WAIT => size_of::<SocketWaitRecord>(),
        kind::TCP_HOLD => size_of::<TcpHoldRecord>(),
        kind::TCP_EVENT => size_of::<TcpEventRecord>(),
        kind::SOCKET_PEER => size_of::<SocketPeerRecord>(),
        kind::DELAY => size_of::<DelayRecord>(),
        kind::REQUEST => size_of::<RequestRecord>(),
        kind::DELAYS => size_of::<DelaysHeader>(),
        kind::MAP => size_of::<MapHeader>(),
        kind::COMMAND | kind::MEMBERS => size_of::<TextHeader>(),
        kind::ITT_NAMES | kind::ITT_EVENTS => size_of::<IttHeader>(),
        kind::MACHINE => size_of::<MachineHeader>(),
        kind::INTERFACE => size_of::<InterfaceHeader>(),
        kind::OPEN_REQUESTS => size_of::<OpenRequestsRecord>(),
        kind::ACCEPT_QUEUE => size_of::<AcceptQueueRecord>(),
        kind::VAIN_TRY => size_of::<VainTryRecord>(),
        kind::CONNECTS => size_of::<ConnectsRecord>(),
        kind::ROUND | kind::PAUSE | kind::RESUME => size_of::<RecordHeader>(),
        _ => return None,
    })
}

/// The records that `bytes` begin with, with sizes that fit: a mutated one would end the reading, and what is behind it
/// would never be looked at. Bytes of no kind of record are passed over.
pub(crate) fn sized(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some(header) = bytes.get(..size_of::<RecordHeader>()) {
        let mut header: RecordHeader = pod_read_unaligned(header);
        let Some(least) = least(header.kind) else {
            bytes = &bytes[8..];
            continue;
        };
        let there = usize::from(header.size).max(least).min(bytes.len());
        let mut record = bytes[..there].to_vec();
        record.resize(there.max(least).next_multiple_of(8), 0);
        header.size = record.len().min(usize::from(!7u16)) as u16;
        record.truncate(header.size.into());
        record[..size_of::<RecordHeader>()].copy_from_slice(bytes_of(&header));
        records.push(record);
        bytes = &bytes[there..];
    }
    records
}

/// Whether a record is of the stream of events: see the recorder of the crate capture.
pub(crate) fn is_event(record: &[u8]) -> bool {
    let kind = record.first_chunk().map_or(0, |kind| u16::from_le_bytes(*kind));
    let events = [
        kind::SWITCH,
        kind::SAMPLE,
        kind::TASK_PROBE,
        kind::PROBE_HIT,
        kind::STITCH,
        kind::CREATION,
        kind::WOKEN_FUTEX,
        kind::SOCKET_WAIT,
        kind::TCP_HOLD,
        kind::TCP_EVENT,
        kind::DELAY,
        kind::DELAYS,
        kind::REQUEST,
        kind::ITT_EVENTS,
        kind::ROUND,
    ];
    events.contains(&kind)
}

const PROCESS: u32 = 10;
const END_NS: u64 = 100_000;

/// Makes records one after the other.
#[derive(Default)]
struct Maker(RecordBuffer);

impl Maker {
    fn h(kind: u16, tid: u32, time_ns: u64) -> RecordHeader {
        RecordHeader { kind, size: 0, tid, time_ns }
    }

    /// A record of zeros but for what `set` sets.
    fn put<T: Pod>(&mut self, (kind, tid, time_ns): (u16, u32, u64), set: impl FnOnce(&mut T)) {
        let mut record = T::zeroed();
        set(&mut record);
        let mut bytes = bytes_of(&record).to_vec();
        let header = RecordHeader { size: bytes.len() as u16, ..Self::h(kind, tid, time_ns) };
        bytes[..size_of::<RecordHeader>()].copy_from_slice(bytes_of(&header));
        self.0.bytes.extend(bytes);
    }

    fn lives(&mut self) {
        for (tid, comm) in [(PROCESS, *b"app\0\0\0\0\0\0\0\0\0\0\0\0\0"), (11, *b"worker\0\0\0\0\0\0\0\0\0\0")] {
            self.put::<ThreadNewRecord>((kind::THREAD_NEW, tid, 100), |it| {
                (it.tgid, it.parent_tid, it.parent_tgid, it.comm) = (PROCESS, 1, 1, comm);
            });
        }
        self.put::<ExecRecord>((kind::EXEC, PROCESS, 110), |it| {
            (it.tgid, it.old_tid) = (PROCESS, PROCESS);
            it.path[..8].copy_from_slice(b"/bin/app");
            it.comm[..3].copy_from_slice(b"app");
        });
        self.0.text(Self::h(kind::COMMAND, PROCESS, 120), 0, b"app\0--fast\0");
        self.0.map(
            MapHeader { h: Self::h(kind::MAP, PROCESS, 120), start: 0x1000, length: 0x9000, ..MapHeader::zeroed() },
            b"/bin/app",
        );
        for key in 1..4u64 {
            let h = Self::h(kind::STACK, PROCESS, 130);
            let flags = if key == 3 { STACK_KERNEL } else { 0 };
            let header = StackHeader { h, key, tgid: PROCESS, count: 0, flags, end: 1 };
            self.0.stack(header, &[0x1000 + key * 16, 0x2000, 0x3000]);
        }
    }

    fn objects(&mut self) {
        for (key, kind) in [(7, object_kind::FILE), (8, object_kind::SOCKET), (9, object_kind::POLL_SET)] {
            self.put::<ObjectRecord>((kind::OBJECT, PROCESS, 140), |it| {
                (it.key, it.kind, it.tgid, it.fd) = (key, kind, PROCESS, 3);
                (it.family, it.protocol, it.local_port, it.remote_port) = (2, 6, 80, 4000);
                (it.members[0], it.member_count) = (7, 1);
                it.text[..4].copy_from_slice(b"file");
                it.text_bytes = 5;
            });
        }
        self.0.text(Self::h(kind::MEMBERS, PROCESS, 150), 9, b"TCP 1.2.3.4:5\n");
        self.put::<SocketRecord>((kind::SOCKET, PROCESS, 160), |it| {
            (it.cookie, it.object, it.peer, it.tgid, it.sends, it.turns) = (5, 8, 6, PROCESS, 9, 3);
            (it.family, it.protocol, it.ty, it.first_ns, it.closed_ns) = (2, 6, 1, 150, 900);
        });
        self.put::<SocketPeerRecord>((kind::SOCKET_PEER, 0, 170), |it| (it.cookie, it.peer, it.pid) = (5, 6, 12));
        self.put::<ScriptStackHeader>((kind::SCRIPT_STACK, PROCESS, 170), |it| it.key = 4);
        self.put::<ScriptFunctionHeader>((kind::SCRIPT_FUNCTION, PROCESS, 170), |it| {
            (it.key, it.first_line, it.version, it.name_bytes) = (0x77, 3, 12, 3);
            it.name[..3].copy_from_slice(b"run");
        });
        self.put::<MachineHeader>((kind::MACHINE, 0, 180), |it| it.cpus = 2);
        self.put::<InterfaceHeader>((kind::INTERFACE, 0, 180), |it| it.name[..2].copy_from_slice(b"lo"));
    }

    /// Both threads take turns on one CPU.
    fn events(&mut self) {
        for turn in 0..12u64 {
            let (time_ns, out) = (1_000 + turn * 1_000, PROCESS + (turn % 2) as u32);
            self.put::<SwitchRecord>((kind::SWITCH, out, time_ns), |it| {
                (it.next_tid, it.state, it.syscall, it.object) = (21 - out, (turn % 3) as u32, 202, 7 + turn % 3);
                (it.user_stack, it.kernel_stack, it.waker_stack) = (1 + turn % 2, 3 * (turn % 2), 2);
                (it.wake_time_ns, it.waker_tid, it.waker_context) = (time_ns - 100, out, waker_context::TASK);
            });
            self.put::<SampleRecord>((kind::SAMPLE, 21 - out, time_ns + 400), |it| {
                (it.user_stack, it.period_ns) = (1 + turn % 2, 1_000);
            });
            self.put::<DelayRecord>((kind::DELAY, 21 - out, time_ns + 600), |it| {
                (it.begin_ns, it.kind, it.detail) = (time_ns + 500, (turn % 12) as u8, 7);
            });
            let end = if turn % 2 == 0 { task_edge::BEGIN } else { task_edge::END };
            self.put::<TaskProbeRecord>((kind::TASK_PROBE, PROCESS, time_ns + 700), |it| {
                (it.tgid, it.end) = (PROCESS, end);
            });
            self.put::<ProbeHitRecord>((kind::PROBE_HIT, PROCESS, time_ns + 800), |it| {
                (it.tgid, it.types[0], it.types[1], it.values[1]) = (PROCESS, probe_type::SIGNED, probe_type::TEXT, 9);
            });
        }
        self.put::<SocketWaitRecord>((kind::SOCKET_WAIT, PROCESS, 3_000), |it| {
            (it.start_ns, it.cookie, it.object, it.peer_tid) = (1_000, 5, 8, 11);
        });
        self.put::<TcpHoldRecord>((kind::TCP_HOLD, PROCESS, 2_000), |it| {
            (it.end_ns, it.cookie, it.user_stack) = (2_500, 5, 1);
        });
        self.put::<TcpEventRecord>((kind::TCP_EVENT, PROCESS, 2_100), |it| (it.cookie, it.peer) = (5, 6));
        self.put::<RequestRecord>((kind::REQUEST, PROCESS, 5_000), |it| (it.begin_ns, it.tgid) = (4_000, PROCESS));
        self.put::<StitchRecord>((kind::STITCH, PROCESS, 5_000), |it| {
            (it.id, it.user_stack, it.tgid) = (9, 1, PROCESS);
        });
        self.put::<CreationRecord>((kind::CREATION, PROCESS, 5_000), |it| {
            (it.address, it.user_stack, it.tgid) = (0x5000, 1, PROCESS);
        });
        for is_incoming in [1, 0] {
            self.put::<OpenRequestsRecord>((kind::OPEN_REQUESTS, PROCESS, 2_000), |it| {
                (it.is_incoming, it.port) = (is_incoming, 80);
                (it.connections, it.open, it.requests) = (4, 2, 9);
            });
        }
        for port in [80, 0] {
            self.put::<AcceptQueueRecord>((kind::ACCEPT_QUEUE, PROCESS, 2_000), |it| {
                (it.owner, it.port, it.waiting, it.limit, it.oldest_ns) = (PROCESS, port, 3, 128, 1_000);
                (it.name[0], it.name_bytes) = (b'/', 1);
            });
        }
        for vain_try in [1, 2] {
            self.put::<VainTryRecord>((kind::VAIN_TRY, 11, 4_000), |it| {
                (it.kind, it.object, it.holder_tgid, it.remote_port) = (vain_try, 8, 12, 5432);
            });
        }
        for brief in [0, 40] {
            self.put::<ConnectsRecord>((kind::CONNECTS, 11, 5_000), |it| {
                (it.connects, it.brief, it.user_stack, it.remote_port) = (40, brief, 5, 5432);
                (it.connect_ns, it.life_ns) = (u64::MAX, u64::MAX / 2);
            });
        }
        self.put::<WokenFutexRecord>((kind::WOKEN_FUTEX, 11, 6_000), |it| it.address = 0x5000);
        self.0.mark(kind::PAUSE, 20_000);
        self.0.mark(kind::RESUME, 21_000);
        self.0.mark(kind::ROUND, 30_000);
        self.put::<ThreadAccountRecord>((kind::THREAD_ACCOUNT, 11, 39_000), |it| {
            (it.write_calls, it.write_bytes, it.policy, it.nice) = (3, 90, 5, 19);
        });
        self.put::<ThreadExitRecord>((kind::THREAD_EXIT, 11, 40_000), |it| (it.tgid, it.cpu_ns) = (PROCESS, 7_000));
    }

    fn announced(&mut self) {
        let header = |kind: u16, tid: u32| IttHeader {
            h: Self::h(kind, tid, 10_000),
            tgid: PROCESS,
            source: 1,
            ns_per_tick: 1 << 32,
            ..IttHeader::zeroed()
        };
        let mut names = NamesBuffer::default();
        let all = [
            Name::Domain { id: 1, text: b"app" },
            Name::String { id: 1, text: b"parse" },
            Name::Counter { id: 1, kind: 8, domain: b"net", name: b"bytes" },
        ];
        all.into_iter().for_each(|name| names.push(&Named { ticks: 1, tid: PROCESS, name }));
        self.0.itt(header(kind::ITT_NAMES, 0), &names.bytes);
        let mut bytes = Vec::new();
        let (domain, name) = (1, 1);
        let events = [
            Event::TaskBegin { domain, name, id: Id::NONE, parent: Id::NONE },
            Event::CounterSet { counter: 1, value: Value::Float(0.5) },
            Event::FrameSubmit { domain, id: Id::NONE, begin: 3_000, end: 8_000 },
            Event::TaskEnd { domain },
        ];
        for (turn, event) in events.iter().enumerate() {
            event.encode(2_000 + turn as u64 * 900, |word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        self.0.itt(header(kind::ITT_EVENTS, PROCESS), &bytes);
    }
}

/// A small recording with a record of each kind.
pub(crate) fn seed() -> Vec<u8> {
    let mut maker = Maker::default();
    maker.lives();
    maker.objects();
    maker.announced();
    maker.events();
    [&END_NS.to_le_bytes()[..], &maker.0.bytes].concat()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    vec![seed()]
}
