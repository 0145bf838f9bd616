//! Sums over all waits of a machine, made in the kernel: for `dwell top --exact`; never in a spool.

use crate::declare::{Char, constants, enums, records};
use crate::header::COMM_BYTES;

constants! {
    /// Keys in each of the two maps of sums, on a machine with few CPUs.
    MOST_SUMS: u32 = 65536, DWELL_MOST_SUMS;
}

enums! {
    /// What a thread does at an instant, as the hooks saw it.
    sum_stage: u32 = sum_stage, SUM_ {
        /// It has a CPU.
        RUNNING = 1,
        /// It lost the CPU, or was just born, and waits for one.
        QUEUED = 2,
        /// It waits for something else, or was woken and waits for a CPU.
        WAITING = 3,
        /// It has ended.
        GONE = 4,
    }
}

records! {
    /// What is summed by.
    SumKey = sum_key, 32 {
        /// Id of the control group (version 2) that the thread was in.
        cgroup: u64,
        /// What tells one object of a system call from another within a process: a futex's address, a descriptor; 0 = nothing does.
        object: u64,
        /// Its process.
        pid: u32,
        /// The thread, 0 = all of its process together.
        tid: u32,
        /// Number of the system call that it waited in, -1 = none.
        syscall: i32,
        /// task_struct.__state, without the bits that are hints: 0 = no wait, but what a thread did else.
        state: u16,
        /// Of [`crate::task_flag`].
        flags: u8,
        /// Whether it was a futex whose word is a lock's.
        is_lock: u8,
    }
    /// Sums; times in ns.
    SumValue = sum_value, 56 {
        /// Waits that ended.
        waits: u64,
        /// From leaving the CPU to being woken.
        wait_ns: u64,
        /// From being woken to running again.
        runnable_ns: u64,
        /// In the run queue without having waited: after it lost the CPU, or before it ran first.
        queued_ns: u64,
        /// On a CPU, up to the wait.
        running_ns: u64,
        /// How often it left the CPU.
        switches: u64,
        /// The longest wait.
        longest_ns: u64,
    }
    /// What a thread had done at the end of an interval that is in no sum yet.
    OpenSum = open_sum, 88 {
        /// The wait that it was in, or a key without one.
        key: SumKey,
        /// The unfinished part.
        value: SumValue,
    }
    /// What the programs are told.
    SumControl = sum_control, 24 {
        /// When the current interval began, CLOCK_MONOTONIC; 0 = none has begun.
        begin_ns: u64,
        /// Its number: its sums lie in the second map when it is odd.
        interval: u32,
        /// Whether threads have sums of their own.
        by_thread: u32,
        /// Whether the kernel's own threads are summed, too.
        kernel_threads: u32,
        /// Always 0.
        reserved: u32,
    }
    /// What a thread that ended was called.
    SumName = sum_name, 32 {
        /// Its process.
        process: [Char; COMM_BYTES],
        /// The thread.
        thread: [Char; COMM_BYTES],
    }
}
