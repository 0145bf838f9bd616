//! The fixed-layout records of the raw trace; `wire.h` is the same in C, and says what each field means. A test compares the
//! place of every field.

use bytemuck::{Pod, Zeroable};

/// Most frames that one stack record holds.
pub const MAX_FRAMES: usize = 127;
/// Bytes of the text of an object or of a path.
pub const TEXT_BYTES: usize = 256;
/// Most members of a poll set that an object record names.
pub const MAX_MEMBERS: usize = 8;

/// Numbers of [`RecordHeader::kind`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod kind {
    pub const SWITCH: u16 = 1;
    pub const SAMPLE: u16 = 2;
    pub const STACK: u16 = 3;
    pub const OBJECT: u16 = 4;
    pub const THREAD_NEW: u16 = 5;
    pub const THREAD_NAME: u16 = 6;
    pub const THREAD_EXIT: u16 = 7;
    pub const EXEC: u16 = 8;
    pub const REGISTERS: u16 = 9;
    pub const STACK_COPY: u16 = 10;
    pub const PYTHON_STACK: u16 = 11;
    pub const PYTHON_CODE: u16 = 12;
    pub const TASK_PROBE: u16 = 13;
    pub const STITCH: u16 = 14;
    pub const SOCKET: u16 = 15;
    pub const SOCKET_WAIT: u16 = 16;
    pub const TCP_HOLD: u16 = 17;
    pub const TCP_EVENT: u16 = 18;
    pub const SOCKET_PEER: u16 = 19;
    pub const DELAY: u16 = 20;
    pub const REQUEST: u16 = 21;
    pub const DELAYS: u16 = 22;
    pub const THREAD_LEFT: u16 = 23;
    pub const CREATION: u16 = 24;
    pub const WOKEN_FUTEX: u16 = 25;
    pub const MAP: u16 = 32;
    pub const COMMAND: u16 = 33;
    pub const MEMBERS: u16 = 34;
    pub const ROUND: u16 = 35;
    pub const PAUSE: u16 = 36;
    pub const RESUME: u16 = 37;
    pub const ITT_NAMES: u16 = 38;
    pub const ITT_EVENTS: u16 = 39;
    pub const MACHINE: u16 = 40;
    pub const INTERFACE: u16 = 41;
}

/// Bits of [`SwitchRecord::flags`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod switch_flag {
    pub const PREEMPTED: u8 = 1;
    pub const IOWAIT: u8 = 2;
    pub const SIGNAL_PENDING: u8 = 4;
    pub const SEEDED: u8 = 8;
    pub const GIL: u8 = 16;
    pub const SAME_CALL: u8 = 32;
    pub const MEMORY_LIMIT: u8 = 64;
}

/// Numbers of [`SwitchRecord::waker_context`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod waker_context {
    pub const NONE: u8 = 0;
    pub const TASK: u8 = 1;
    pub const SOFTIRQ: u8 = 2;
    pub const HARDIRQ: u8 = 3;
    pub const IDLE: u8 = 4;
    pub const IO_QUOTA: u8 = 5;
}

/// Numbers of [`ObjectRecord::kind`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod object_kind {
    pub const FILE: u8 = 1;
    pub const PIPE: u8 = 2;
    pub const SOCKET: u8 = 3;
    pub const CHARACTER_DEVICE: u8 = 4;
    pub const ANONYMOUS: u8 = 5;
    pub const POLL_SET: u8 = 6;
    pub const PATH: u8 = 7;
    pub const STOP: u8 = 8;
}

/// Bits of [`TcpState::flags`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod tcp_state_flag {
    pub const KNOWN: u8 = 1;
    pub const NODELAY: u8 = 2;
    pub const CORK: u8 = 4;
}

/// Numbers of [`TaskProbeRecord::end`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod task_edge {
    pub const BEGIN: u8 = 0;
    pub const END: u8 = 1;
    pub const NEXT: u8 = 2;
}

/// Numbers of [`DelayRecord::vector`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod delay_vector {
    pub const LOCAL_TIMER: u8 = 1;
    pub const RESCHEDULE: u8 = 2;
    pub const CALL_FUNCTION: u8 = 3;
    pub const IRQ_WORK: u8 = 4;
    pub const PLATFORM: u8 = 5;
    pub const THERMAL: u8 = 6;
}

/// Classes of sizes that a [`SocketRecord`] counts; class n has the sizes of n bits.
pub const SIZE_CLASSES: usize = 24;
/// Bits of [`SocketRecord::flags`].
#[allow(missing_docs, reason = "wire.h documents them")]
pub mod socket_flag {
    pub const WAS_OPEN: u8 = 1;
    pub const CONNECTED: u8 = 2;
    pub const SENT_FIRST: u8 = 4;
}

/// Bytes of a Python function's name, or of its file's path, that a record holds.
pub const PYTHON_TEXT_BYTES: usize = 256;
/// Bit of [`PythonStackHeader::flags`]: there are more frames, or they could not be read.
pub const PYTHON_CUT: u16 = 1;
/// [`PythonFrame::native`]: not known; counting segments and evaluations tells.
pub const PYTHON_BY_COUNT: u16 = 0xfffe;
/// Bit of [`StackHeader::flags`]: the frames are kernel addresses.
pub const STACK_KERNEL: u8 = 1;
/// Bit of [`InterfaceHeader::flags`]: in another network namespace than the collector's.
pub const INTERFACE_FOREIGN: u32 = 1;
/// A counter that is not known.
pub const COUNTER_UNKNOWN: u64 = u64::MAX;
/// Bit of [`ThreadNewRecord::flags`]: the thread was there before.
pub const THREAD_SEEDED: u32 = 1;

macro_rules! records {
    ($($name:ident = $bytes:expr, $doc:literal { $($field:ident: $ty:ty,)* })*) => {$(
        #[doc = $doc]
        #[allow(missing_docs, reason = "wire.h documents the fields")]
        #[derive(Clone, Copy, Debug, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name { $(pub $field: $ty,)* }
        const _: () = assert!(size_of::<$name>() == $bytes);
    )*
        #[cfg(test)]
        const LAYOUTS: &[layout::Layout] = &[$(layout::Layout {
            name: stringify!($name),
            bytes: $bytes,
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$ty>()),)*],
        },)*];
    };
}

records! {
    RecordHeader = 16, "What every record begins with." {
        kind: u16, size: u16, tid: u32, time_ns: u64,
    }
    SwitchRecord = 96, "A context switch." {
        h: RecordHeader, next_tid: u32, cpu: u16, flags: u8, waker_context: u8,
        state: u32, syscall: i32, object: u64, detail: u64, user_stack: u64, kernel_stack: u64,
        wake_time_ns: u64, waker_stack: u64, waker_tid: u32, waker_syscall: i32,
        holder_tid: u32, owner: u32,
    }
    SampleRecord = 40, "A running thread, by the clock." {
        h: RecordHeader, cpu: u16, in_kernel: u16, period_ns: u32, user_stack: u64, kernel_stack: u64,
    }
    StackHeader = 32, "The fixed part of a stack record; `count` addresses follow, leaf first." {
        h: RecordHeader, key: u64, tgid: u32, count: u16, flags: u8, end: u8,
    }
    PythonFrame = 16, "A Python frame." {
        code: u64, instruction: i32, native: u16, segment: u16,
    }
    PythonStackHeader = 32, "The fixed part of a Python stack's record; `count` frames follow, leaf first." {
        h: RecordHeader, key: u64, count: u16, flags: u16, reserved: u32,
    }
    PythonCodeHeader = 552, "The fixed part of a Python function's record; its line table, or the beginning of it, follows." {
        h: RecordHeader, key: u64, first_line: u32, table_bytes: u32, file_bytes: u16, name_bytes: u16,
        file_kind: u8, name_kind: u8, version: u8, reserved: u8,
        file: [u8; PYTHON_TEXT_BYTES], name: [u8; PYTHON_TEXT_BYTES],
    }
    ObjectRecord = 416, "What an object key stands for." {
        h: RecordHeader, key: u64, inode: u64, tgid: u32, fd: i32, kind: u8, socket_state: u8, family: u16,
        protocol: u16, local_port: u16, remote_port: u16, text_bytes: u16, local_address: [u8; 16],
        remote_address: [u8; 16], member_count: u32, device: u32, reserved: u32, members: [u64; MAX_MEMBERS], text: [u8; TEXT_BYTES],
    }
    ThreadNewRecord = 64, "A thread came into being, or was there." {
        h: RecordHeader, tgid: u32, parent_tid: u32, parent_tgid: u32, flags: u32, creator_stack: u64, comm: [u8; 16],
        inner_tid: u32, pid_namespace: u32,
    }
    ThreadNameRecord = 32, "A thread's new name." {
        h: RecordHeader, comm: [u8; 16],
    }
    ThreadExitRecord = 32, "A thread left the CPU for the last time." {
        h: RecordHeader, tgid: u32, exit_code: i32, cpu_ns: u64,
    }
    ThreadLeftRecord = 40, "A thread is recorded no more: its process runs what the user may not look at, since `since_ns`; for the collector, never in a spool." {
        exit: ThreadExitRecord, since_ns: u64,
    }
    ExecRecord = 296, "A process runs another program." {
        h: RecordHeader, tgid: u32, old_tid: u32, comm: [u8; 16], path: [u8; TEXT_BYTES],
    }
    RegistersRecord = 176, "A thread's user registers, and `bytes` of its stack behind; for the collector, never in a spool." {
        h: RecordHeader, key: u64, ip: u64, registers: [u64; 16], switches: u64, tgid: u32, bytes: u32,
    }
    TaskProbeRecord = 24, "A thread passed a probe that begins or ends a task." {
        h: RecordHeader, tgid: u32, probe: u16, end: u8, reserved: u8,
    }
    StitchRecord = 40, "Where work was asked for that other threads do." {
        h: RecordHeader, id: u64, user_stack: u64, tgid: u32, reserved: u32,
    }
    CreationRecord = 40, "A thread initialised a lock." {
        h: RecordHeader, address: u64, user_stack: u64, tgid: u32, reserved: u32,
    }
    WokenFutexRecord = 24, "By which of its futexes a thread in futex_waitv was woken." {
        h: RecordHeader, address: u64,
    }
    TcpState = 64, "How a TCP socket stands at one instant." {
        flags: u8, state: u8, congestion: u8, backoff: u8, unsent: u32, in_flight: u32, packets_out: u32, cwnd: u32,
        send_window: u32, queued: u32, send_buffer: u32, receive_buffer: u32, unread: u32, retransmits: u32, mss: u32,
        srtt_us: u32, min_rtt_us: u32, backlog: u32, backlog_limit: u32,
    }
    SocketRecord = 640, "What is known and counted of a socket." {
        h: RecordHeader, cookie: u64, object: u64, peer: u64, first_ns: u64, closed_ns: u64, bytes_sent: u64,
        bytes_received: u64, sends: u64, receives: u64, sends_refused: u64, receives_empty: u64, turns: u64,
        receives_short: u64, taken_total: u64, arrivals: u64, queued_ns: u64, most_queued: u32, drops: u32,
        bytes_before: u64, sends_before: u32, first_send_bytes: u32, last_send_bytes: u32, largest_pipeline: u32,
        hold_ns: u64, hold_stack: u64, hold_tid: u32, hold_bytes: u32,
        tgid: u32, delayed_acks: u32, family: u16, protocol: u16, ty: u16, flags: u8, hold_kind: u8,
        local_port: u16, remote_port: u16, path_bytes: u32, local_address: [u8; 16], remote_address: [u8; 16],
        tcp: TcpState, sizes_sent: [u32; SIZE_CLASSES], sizes_received: [u32; SIZE_CLASSES], path: [u8; 128],
    }
    SocketWaitRecord = 144, "A wait that a socket ended, or that was on one." {
        h: RecordHeader, start_ns: u64, cookie: u64, object: u64, direction: u8, poll_send: u8, received: u8, reserved: u8,
        sends_before: u32, bytes_before: u64, first_send_bytes: u32, last_send_bytes: u32, bytes_after: u64,
        peer_tid: u32, receives: u32, state: TcpState,
    }
    TcpHoldRecord = 48, "TCP held data of a program back." {
        h: RecordHeader, end_ns: u64, cookie: u64, user_stack: u64, bytes: u32, kind: u8, end_kind: u8, reserved: u16,
    }
    TcpEventRecord = 40, "A delayed ACK, a retransmission." {
        h: RecordHeader, cookie: u64, peer: u64, bytes: u32, kind: u8, reserved: [u8; 3],
    }
    SocketPeerRecord = 56, "Which process has the other end of a socket." {
        h: RecordHeader, cookie: u64, peer: u64, pid: u32, reserved: u32, comm: [u8; 16],
    }
    DelayRecord = 56, "What kept a thread from its work." {
        h: RecordHeader, begin_ns: u64, detail: u64, other_tid: u32, cpu: u16, kind: u8, vector: u8, text: [u8; 16],
    }
    DelaysHeader = 32, "The fixed part of a DELAYS record; `count` short delays follow." {
        h: RecordHeader, base_ns: u64, cpu: u16, count: u16, reserved: u32,
    }
    ShortDelay = 12, "A delay of a DELAYS record." {
        begin_ns: u32, length_ns: u32, detail: u16, kind: u8, reserved: u8,
    }
    RequestRecord = 32, "A thread received on a socket and sent on it." {
        h: RecordHeader, begin_ns: u64, tgid: u32, family: u16, local_port: u16,
    }
    IttHeader = 56, "The fixed part of an ITT_NAMES or ITT_EVENTS record; `bytes` follow, padded to 8." {
        h: RecordHeader, tgid: u32, source: u32, base_ticks: u64, base_ns: u64, ns_per_tick: u64, lost: u32, bytes: u32,
    }
    MachineHeader = 24, "The fixed part of a MACHINE record; `count` counters follow." {
        h: RecordHeader, count: u32, cpus: u32,
    }
    InterfaceHeader = 48, "The fixed part of an INTERFACE record; `count` counters follow." {
        h: RecordHeader, count: u32, flags: u32, network: u64, name: [u8; 16],
    }
    MapHeader = 88, "The fixed part of a file mapping's record; `path_bytes` of path follow, padded to 8." {
        h: RecordHeader, start: u64, length: u64, file_offset: u64, inode: u64, device: u32, protection: u32,
        build_id: [u8; 20], build_id_bytes: u32, path_bytes: u32, reserved: u32,
    }
    TextHeader = 32, "The fixed part of a COMMAND (key 0) or MEMBERS record; `text_bytes` of text follow, padded to 8." {
        h: RecordHeader, key: u64, text_bytes: u32, reserved: u32,
    }
}

#[cfg(test)]
mod layout {
    //! Compares each record with its struct in `wire.h`: two swapped fields of one width have the same size.

    use std::collections::BTreeMap;

    /// A record as this file declares it.
    pub struct Layout {
        pub name: &'static str,
        pub bytes: usize,
        /// Name, offset and bytes of each.
        pub fields: &'static [(&'static str, usize, usize)],
    }

    impl Layout {
        /// Its name in C: `record_switch` of `SwitchRecord`, `tcp_state` of `TcpState`.
        fn name_in_c(&self) -> String {
            let kind = self.name.strip_suffix("Record").or_else(|| self.name.strip_suffix("Header"));
            let kind = kind.filter(|kind| *kind != "Record");
            let (prefix, words) = kind.map_or(("", self.name), |kind| ("record_", kind));
            let snake = words.char_indices().map(|(at, letter)| match letter {
                _ if letter.is_lowercase() => letter.to_string(),
                _ if at == 0 => letter.to_lowercase().to_string(),
                _ => format!("_{}", letter.to_lowercase()),
            });
            prefix.to_owned() + &snake.collect::<String>()
        }
    }

    const WIRE: &str = concat!(include_str!("wire.h"), include_str!("wire_sockets.h"));

    /// A struct as `wire.h` declares it.
    #[derive(Default)]
    struct Struct {
        bytes: usize,
        alignment: usize,
        fields: Vec<(String, usize, usize)>,
    }

    impl Struct {
        /// Adds `TYPE NAME;` or `TYPE NAME[COUNT];`.
        fn add(&mut self, declaration: &str, known: &Header) {
            let (ty, name) = declaration.rsplit_once(' ').expect("a type and a name");
            let (name, count) = name.split_once('[').map_or((name, 1), |(name, count)| (name, known.number(count)));
            let (bytes, alignment) = known.size_of(ty);
            self.bytes = self.bytes.next_multiple_of(alignment);
            self.fields.push((name.to_owned(), self.bytes, count * bytes));
            self.bytes += count * bytes;
            self.alignment = self.alignment.max(alignment);
        }
    }

    /// What `wire.h` declares.
    #[derive(Default)]
    struct Header {
        constants: BTreeMap<String, usize>,
        structs: BTreeMap<String, Struct>,
    }

    impl Header {
        fn parse(text: &str) -> Self {
            let mut known = Self::default();
            let without_comments: String = text.split("/*").map(|part| part.split("*/").last().unwrap_or("")).collect();
            let mut open: Option<(String, Struct)> = None;
            for line in without_comments.lines().map(str::trim) {
                if let Some(define) = line.strip_prefix("#define ") {
                    let constant = define.split_once(char::is_whitespace);
                    let number = constant.and_then(|(name, number)| Some((name, number.trim().parse().ok()?)));
                    known.constants.extend(number.map(|(name, number)| (name.to_owned(), number)));
                } else if let Some(name) = line.strip_prefix("struct ").and_then(|line| line.strip_suffix(" {")) {
                    open = Some((name.to_owned(), Struct::default()));
                } else if let Some((name, mut end)) = open.take_if(|_| line == "};") {
                    end.bytes = end.bytes.next_multiple_of(end.alignment);
                    known.structs.insert(name, end);
                } else if let (Some((_, open)), Some(declaration)) = (&mut open, line.strip_suffix(';')) {
                    open.add(declaration, &known);
                }
            }
            known
        }

        fn number(&self, count: &str) -> usize {
            let count = count.trim_end_matches(']');
            count.parse().ok().or_else(|| self.constants.get(count).copied()).expect("a number or a constant")
        }

        /// Bytes and alignment of a type.
        fn size_of(&self, ty: &str) -> (usize, usize) {
            match ty {
                "u8" | "char" => (1, 1),
                "u16" => (2, 2),
                "u32" | "s32" => (4, 4),
                "u64" => (8, 8),
                _ => {
                    let inner = ty.strip_prefix("struct ").and_then(|name| self.structs.get(name)).expect("a struct");
                    (inner.bytes, inner.alignment)
                }
            }
        }
    }

    /// What the header and `wire.rs` do not have in common, if anything.
    fn difference(mut header: Header) -> Option<String> {
        // Only user space writes mappings and texts.
        let shared = super::LAYOUTS.iter().filter(|layout| !["MapHeader", "TextHeader"].contains(&layout.name));
        for layout in shared {
            let name = layout.name_in_c();
            let Some(found) = header.structs.remove(&name) else { return Some(format!("wire.h has no {name}")) };
            let expected =
                layout.fields.iter().map(|&(field, at, bytes)| (if field == "ty" { "type" } else { field }, at, bytes));
            let fields = found.fields.iter().map(|(field, at, bytes)| (field.as_str(), *at, *bytes));
            if let Some((in_c, in_rust)) = fields.zip(expected).find(|(in_c, in_rust)| in_c != in_rust) {
                return Some(format!("{name}: {in_c:?} is {in_rust:?} in wire.rs (name, offset, bytes)"));
            }
            // Behind the fixed part of a record of any length, C goes on with what follows.
            let end = found.fields.get(layout.fields.len()).map_or(found.bytes, |(_, at, _)| *at);
            if found.fields.len() < layout.fields.len() || end != layout.bytes {
                return Some(format!("{name}: its {} fields end at {end}", layout.fields.len()));
            }
        }
        header.structs.keys().next().map(|name| format!("wire.rs has no {name}"))
    }

    #[test]
    fn every_field_lies_where_the_kernel_side_has_it() {
        assert_eq!(difference(Header::parse(WIRE)), None);
    }

    #[test]
    fn two_swapped_fields_of_one_width_are_seen() {
        let swapped = WIRE
            .replace("u32 unsent;", "u32 other;")
            .replace("u32 in_flight;", "u32 unsent;")
            .replace("u32 other;", "u32 in_flight;");
        let difference = difference(Header::parse(&swapped)).expect("a difference");
        assert!(difference.starts_with("tcp_state: (\"in_flight\", 4, 4)"), "{difference}");
    }
}
