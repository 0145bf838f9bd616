//! How a thread stands at one instant, for `dwell top`; never in a spool.

use crate::declare::{Char, enums, records};
use crate::header::COMM_BYTES;

enums! {
    /// Bits of [`TaskSnapshot::flags`].
    task_flag: u32 = task_flag, TASK_IS_ {
        /// It has a CPU.
        ON_CPU = 1,
        /// task_struct.in_iowait.
        IOWAIT = 2,
        /// It is a thread of the kernel's own.
        KERNEL_THREAD = 4,
    }
}

records! {
    /// A thread at one instant. Accounts are those since its birth.
    TaskSnapshot = task_snapshot, 104 {
        /// When, CLOCK_MONOTONIC.
        time_ns: u64,
        /// When it was born, CLOCK_MONOTONIC: with its id, what tells it from every other one.
        started_ns: u64,
        /// The kernel's account of its running time (sum_exec_runtime), up to the last tick or switch.
        running_ns: u64,
        /// The same of its time in the run queue (sched_info.run_delay), up to when it ran last.
        runnable_ns: u64,
        /// How often it has left the CPU (nvcsw + nivcsw).
        switches: u64,
        /// The first arguments of its system call.
        arguments: [u64; 3],
        /// Its id.
        tid: u32,
        /// Its process's.
        pid: u32,
        /// task_struct.__state: 0 = it runs or could.
        state: u32,
        /// Number of the system call that it is in, -1 = none, or it has a CPU.
        syscall: i32,
        /// Of [`task_flag`].
        flags: u32,
        /// The process that its process is a child of, 0 = not known here.
        parent: u32,
        /// Its name.
        comm: [Char; COMM_BYTES],
    }
}
