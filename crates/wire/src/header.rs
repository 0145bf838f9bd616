//! What every record begins with, and the kinds of records.

use crate::declare::{constants, enums, records};

constants! {
    /// Most frames that one stack record holds.
    MAX_FRAMES: usize = 127, DWELL_MAX_FRAMES;
    /// Bytes of a thread's name.
    COMM_BYTES: usize = 16, DWELL_COMM_BYTES;
    /// Bytes of the text of an object or of a path.
    TEXT_BYTES: usize = 256, DWELL_TEXT_BYTES;
}

enums! {
    /// Numbers of [`RecordHeader::kind`].
    kind: u16 = record_kind, RECORD_ {
        /// A context switch that ends or begins a running interval of a profiled thread.
        SWITCH = 1,
        /// A running thread, by the clock.
        SAMPLE = 2,
        /// The frames behind a stack key; written again when the kernel's memory of it was lost.
        STACK = 3,
        /// What an object key stands for.
        OBJECT = 4,
        /// A thread came into being, or was there.
        THREAD_NEW = 5,
        /// A thread has another name.
        THREAD_NAME = 6,
        /// A thread left the CPU for the last time.
        THREAD_EXIT = 7,
        /// A process runs another program.
        EXEC = 8,
        /// For the collector, which writes a `STACK` in its place: a thread's registers.
        REGISTERS = 9,
        /// For the collector, which writes a `STACK` in its place: registers with a copy of the stack behind.
        STACK_COPY = 10,
        /// The frames of a script of the `STACK` of the same key.
        SCRIPT_STACK = 11,
        /// The function behind a key of these frames.
        SCRIPT_FUNCTION = 12,
        /// A thread passed a probe that begins or ends a task.
        TASK_PROBE = 13,
        /// A thread made the point from which other threads' work descends.
        STITCH = 14,
        /// What is known and counted of a socket; written again as that grows.
        SOCKET = 15,
        /// A wait that a socket ended, or that was on one.
        SOCKET_WAIT = 16,
        /// TCP held data of a program back.
        TCP_HOLD = 17,
        /// A delayed ACK, a retransmission.
        TCP_EVENT = 18,
        /// Which process has the other end of a socket.
        SOCKET_PEER = 19,
        /// What kept a thread from its work, from when to when.
        DELAY = 20,
        /// A thread received on a socket and sent on it.
        REQUEST = 21,
        /// Short delays of one thread on one CPU.
        DELAYS = 22,
        /// For the collector, which writes a `THREAD_EXIT` in its place.
        THREAD_LEFT = 23,
        /// A thread initialised a lock.
        CREATION = 24,
        /// A thread in futex_waitv was woken: by which of its futexes.
        WOKEN_FUTEX = 25,
        /// What a thread counted of the events that are counted (`--events`).
        EVENT_COUNTS = 26,
        /// A thread hit a probe with values.
        PROBE_HIT = 27,
        /// What a thread has read and written so far.
        THREAD_ACCOUNT = 28,
        /// A thread tried something in vain.
        VAIN_TRY = 29,
        /// A file mapped into a process. This and all that follow are written by the collector's user side only.
        MAP = 32,
        /// A process's command line.
        COMMAND = 33,
        /// The members of an epoll set, a line each.
        MEMBERS = 34,
        /// Every record earlier than this time has been drained.
        ROUND = 35,
        /// Recording was paused.
        PAUSE = 36,
        /// Recording goes on.
        RESUME = 37,
        /// What a program named through ITT, as it wrote it: see the crate itt-wire.
        ITT_NAMES = 38,
        /// What a thread announced through ITT, as it wrote it.
        ITT_EVENTS = 39,
        /// The whole machine's counters.
        MACHINE = 40,
        /// A network interface's counters.
        INTERFACE = 41,
        /// What a process belongs to: control group, unit, container and pod, zero-separated.
        BELONGING = 42,
        /// Somebody marked this instant, with a text; `tid`: the first thread of a profiled process.
        MARK = 43,
        /// A fiber (a goroutine) was seen for the first time.
        FIBER_NEW = 44,
        /// A fiber is in another state.
        FIBER_STATE = 45,
        /// How many of a process's connections have a request that waits for its answer.
        OPEN_REQUESTS = 46,
        /// How many connections wait to be accepted at a socket that listens, and which process has it.
        ACCEPT_QUEUE = 47,
        /// How many connections a process opened to one address.
        CONNECTS = 48,
    }
}

records! {
    /// What every record begins with.
    RecordHeader = record_header, 16 {
        /// One of [`kind`].
        kind: u16,
        /// Of the whole record, header included; a multiple of 8.
        size: u16,
        /// The thread that the record is about.
        tid: u32,
        /// CLOCK_MONOTONIC.
        time_ns: u64,
    }
}
