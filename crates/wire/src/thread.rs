//! The lives of threads and processes, and what they announce of their work.

use crate::declare::{Char, enums, records};
use crate::header::{COMM_BYTES, RecordHeader, TEXT_BYTES};

enums! {
    /// Bits of [`ThreadNewRecord::flags`].
    thread_flag: u32 = thread_flag, THREAD_ {
        /// It was there before the collection, or when it was resumed.
        SEEDED = 1,
    }
    /// Numbers of [`TaskProbeRecord::end`].
    task_edge: u8 = task_edge, TASK_ {
        /// A task begins.
        BEGIN = 0,
        /// It ends.
        END = 1,
        /// The one that is open ends, the next one begins.
        NEXT = 2,
    }
}

pub use thread_flag::SEEDED as THREAD_SEEDED;

records! {
    /// A thread came into being, or was there.
    ThreadNewRecord = record_thread_new, 64 {
        /// `tid`: the new thread.
        h: RecordHeader,
        /// Its process.
        tgid: u32,
        /// The thread that made it.
        parent_tid: u32,
        /// That one's process.
        parent_tgid: u32,
        /// Of [`thread_flag`].
        flags: u32,
        /// Key of the stack record of where it was created, 0 = not known.
        creator_stack: u64,
        /// Its name.
        comm: [Char; COMM_BYTES],
        /// What it takes for its own id when its pid namespace lies within Dwell's, else 0.
        inner_tid: u32,
        /// Inode of that namespace.
        pid_namespace: u32,
    }
    /// A thread's new name.
    ThreadNameRecord = record_thread_name, 32 {
        /// `tid`: the thread.
        h: RecordHeader,
        /// Its name.
        comm: [Char; COMM_BYTES],
    }
    /// A thread left the CPU for the last time.
    ThreadExitRecord = record_thread_exit, 32 {
        /// `time_ns`: when it left the CPU for the last time.
        h: RecordHeader,
        /// Its process.
        tgid: u32,
        /// As wait(2) reports it.
        exit_code: i32,
        /// The kernel's own account (sum_exec_runtime) of its running time since its [`ThreadNewRecord`].
        cpu_ns: u64,
    }
    /// What the kernel's accounts say of a thread so far: how it is scheduled, and what it has read and written (`task_struct.ioac`): calls of
    /// read, write and their kin on files, pipes and sockets. Written when a thread that runs already is taken in, when a thread ends, and at
    /// the end of the collection.
    ThreadAccountRecord = record_thread_account, 64 {
        /// `tid`: the thread.
        h: RecordHeader,
        /// Calls that read.
        read_calls: u64,
        /// What they read.
        read_bytes: u64,
        /// Calls that write.
        write_calls: u64,
        /// What they wrote.
        write_bytes: u64,
        /// Its policy, as sched(7) numbers them.
        policy: u32,
        /// Its nice value, -20 to 19.
        nice: i32,
        /// On how many CPUs it may run; 0 = on all.
        cpus_allowed: u32,
        /// 0.
        reserved: u32,
    }
    /// A thread is recorded no more: its process runs a program that the user of Dwell may not look at. For the
    /// collector, never in a spool.
    ThreadLeftRecord = record_thread_left, 40 {
        /// What the collector makes of it.
        exit: ThreadExitRecord,
        /// When that program began: before its first file was mapped.
        since_ns: u64,
    }
    /// A process runs another program.
    ExecRecord = record_exec, 296 {
        /// `tid`: after exec, equal to `tgid`.
        h: RecordHeader,
        /// The process.
        tgid: u32,
        /// Id of the thread that called exec, before.
        old_tid: u32,
        /// Its name now.
        comm: [Char; COMM_BYTES],
        /// Of the program.
        path: [Char; TEXT_BYTES],
    }
    /// A pass of `--task-probe` or `--interval`: a thread passed a probe that begins or ends a task.
    TaskProbeRecord = record_task_probe, 24 {
        /// `tid`: the thread.
        h: RecordHeader,
        /// Its process.
        tgid: u32,
        /// Number in the manifest's list of task probes.
        probe: u16,
        /// One of [`task_edge`].
        end: u8,
        /// 0.
        reserved: u8,
    }
    /// __itt_stack_caller_create: work that threads do between callee_enter and callee_leave of `id` was asked for
    /// here.
    StitchRecord = record_stitch, 40 {
        /// `tid`: who called it.
        h: RecordHeader,
        /// By which callee_enter names it.
        id: u64,
        /// Key of a stack record.
        user_stack: u64,
        /// The process.
        tgid: u32,
        /// 0.
        reserved: u32,
    }
    /// A thread received on a socket and sent on it.
    RequestRecord = record_request, 32 {
        /// `tid`: the thread; `time_ns`: when it had sent.
        h: RecordHeader,
        /// When it had received.
        begin_ns: u64,
        /// Its process.
        tgid: u32,
        /// Of the socket.
        family: u16,
        /// Host order, 0 = none.
        local_port: u16,
    }
    /// The fixed part of an ITT_NAMES or ITT_EVENTS record. What the in-process collector wrote follows: `bytes`,
    /// padded to 8. They are the profiled program's: nothing in them can be trusted. Times in them are ticks of the
    /// time stamp counter: ns = base_ns + (ticks - base_ticks) * ns_per_tick / 2^32.
    IttHeader = record_itt, 56 {
        /// `tid`: the thread that wrote them, 0 for names; `time_ns`: when they were drained.
        h: RecordHeader,
        /// The process.
        tgid: u32,
        /// Number of the process's shared file in this collection: names are the file's.
        source: u32,
        /// Of the time stamp counter, at `base_ns`.
        base_ticks: u64,
        /// CLOCK_MONOTONIC at `base_ticks`.
        base_ns: u64,
        /// In units of 2^-32 ns.
        ns_per_tick: u64,
        /// Events of this thread that found its ring full, before these.
        lost: u32,
        /// That follow, without the padding.
        bytes: u32,
    }
    /// The fixed part of a file mapping's record; `path_bytes` of path follow, padded to 8.
    MapHeader = record_map, 88 {
        /// `tid`: the process.
        h: RecordHeader,
        /// Address of its first byte.
        start: u64,
        /// Bytes.
        length: u64,
        /// Of its first byte in the file.
        file_offset: u64,
        /// Of the file.
        inode: u64,
        /// That the file is on.
        device: u32,
        /// As mmap(2) takes it.
        protection: u32,
        /// Of the file, `build_id_bytes` of it.
        build_id: [u8; 20],
        /// 0 = not known.
        build_id_bytes: u32,
        /// Of the path, without the padding.
        path_bytes: u32,
        /// 0.
        reserved: u32,
    }
    /// The fixed part of a COMMAND, BELONGING or MARK (key 0) or MEMBERS record; `text_bytes` of text follow, padded to 8.
    TextHeader = record_text, 32 {
        /// `tid`: of a COMMAND, the process.
        h: RecordHeader,
        /// Of the poll set's object.
        key: u64,
        /// Of the text, without the padding.
        text_bytes: u32,
        /// 0.
        reserved: u32,
    }
}
