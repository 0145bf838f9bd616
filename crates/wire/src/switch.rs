//! Context switches and samples.

use crate::declare::{enums, records};
use crate::header::RecordHeader;

enums! {
    /// Bits of [`SwitchRecord::flags`].
    switch_flag: u8 = switch_flag, SWITCH_ {
        /// The scheduler's preempt argument.
        PREEMPTED = 1,
        /// task_struct.in_iowait of the thread switched out.
        IOWAIT = 2,
        /// Of the thread switched in.
        SIGNAL_PENDING = 4,
        /// Not a switch: the thread's state when recording began or was resumed.
        SEEDED = 8,
        /// The thread switched out waits for CPython's global interpreter lock.
        GIL = 16,
        /// The thread switched out waits in the same call as the last time, as far as its stack and registers tell: the column
        /// `off_cpu.same_call`.
        SAME_CALL = 32,
        /// The thread switched out waits because its control group is at its limit of memory.
        MEMORY_LIMIT = 64,
        /// The thread switched out waits for a Java monitor, or for a lock of `java.util.concurrent`. The BPF program gives the lock's
        /// address as `object`, operation | 1 << 16 for a monitor | class << 32 as `detail`, what the lock says of its owner as `owner_tid`
        /// and `owner_inner_tid`; in the trace `object` is the key of an [`ObjectRecord`](crate::ObjectRecord), and `owner_inner_tid` is 0.
        JAVA_LOCK = 128,
    }
    /// Numbers of [`SwitchRecord::waker_context`].
    waker_context: u8 = waker_context, WAKER_ {
        /// Not known.
        NONE = 0,
        /// A thread.
        TASK = 1,
        /// A soft interrupt.
        SOFTIRQ = 2,
        /// A hard interrupt.
        HARDIRQ = 3,
        /// An interrupt that hit the idle task, kind not known.
        IDLE = 4,
        /// A device, done with a request that an I/O quota held back for most of the wait.
        IO_QUOTA = 5,
        /// A thread of the kernel.
        KERNEL_THREAD = 6,
        /// A thread that is not profiled, and answers over a connection that it had accepted.
        ANSWER = 7,
        /// The same, where nothing came over that connection since it last sent: it publishes.
        PUBLISHER = 8,
    }
}

records! {
    /// A context switch.
    SwitchRecord = record_switch, 96 {
        /// `tid`: the thread switched out, 0 when it is not profiled.
        h: RecordHeader,
        /// The thread switched in, 0 when it is not profiled.
        next_tid: u32,
        /// Where it was.
        cpu: u16,
        /// Of [`switch_flag`].
        flags: u8,
        /// One of [`waker_context`].
        waker_context: u8,
        /// Of the thread switched out: prev_state of sched_switch, 0 = still runnable.
        state: u32,
        /// Of the thread switched out: number of the system call it is in, -1 = none.
        syscall: i32,
        /// Of the thread switched out: futex: address; file descriptor: key of an
        /// [`ObjectRecord`](crate::ObjectRecord); 0 = none.
        object: u64,
        /// Of the thread switched out: futex: operation | expected value << 32; futex_waitv: futexes << 16 | the first
        /// one's expected value << 32; wait4: pid; sleeps: requested ns.
        detail: u64,
        /// Of the thread switched out: key of a stack record, 0 = none.
        user_stack: u64,
        /// Of the thread switched out: key of a stack record, 0 = none.
        kernel_stack: u64,
        /// Of the thread switched in: 0 = no wake-up seen.
        wake_time_ns: u64,
        /// Of the thread switched in: where its waker was.
        waker_stack: u64,
        /// Of the thread switched in: who woke it.
        waker_tid: u32,
        /// Of the thread switched in: the system call that its waker was in.
        waker_syscall: i32,
        /// Of the thread switched out: who has the lock that it waits for, by what CPython, the kernel or the JVM say, 0 = not known.
        owner_tid: u32,
        /// The same by what a C library's lock says: an id in that thread's pid namespace.
        owner_inner_tid: u32,
    }
    /// A running thread, by the clock.
    SampleRecord = record_sample, 40 {
        /// `tid`: the running thread.
        h: RecordHeader,
        /// Where it runs.
        cpu: u16,
        /// Whether it runs the kernel's code: 1 or 0.
        in_kernel: u16,
        /// Of the clock.
        period_ns: u32,
        /// Key of a stack record, 0 = none.
        user_stack: u64,
        /// Key of a stack record, 0 = none.
        kernel_stack: u64,
    }
}
