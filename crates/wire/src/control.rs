//! What user space tells the BPF programs.

use crate::declare::{constants, enums, records};

constants! {
    /// Places that one run of look_at_sockets looks at.
    SOCKETS_AT_ONCE: usize = 32, SOCKETS_AT_ONCE;
}

enums! {
    /// Bits of what the BPF programs do with a thread.
    thread_mode: u8 = thread_mode, THREAD_ {
        /// Record this thread.
        RECORD = 1,
        /// And the processes that it forks.
        FOLLOW = 2,
        /// Dwell's own child until its exec.
        LAUNCHING = 4,
        /// One of Dwell's own, on which the hooks of delays are measured.
        MEASURE = 8,
    }
}

records! {
    /// What user space sets; read by every program. It changes while they run.
    Control = control, 48 {
        /// Whether nothing is recorded now.
        paused: u32,
        /// Whether processes that a recorded one forks are recorded, too.
        follow_children: u32,
        /// Of the rules that say which programs are recorded.
        rule_count: u32,
        /// Whether all waits have kernel stacks, not only those whose system call does not say what they are on.
        kernel_stacks_for_all: u32,
        /// Of samples.
        period_ns: u32,
        /// From a CPU's run queue to its preempt count; meaningless unless `has_preempt_count`.
        preempt_count_offset: i32,
        /// Whether that is known.
        has_preempt_count: u32,
        /// Counts how often user space wanted everything told again.
        generation: u32,
        /// Since when delays are seen without a gap: of what began before, the begin may be another's.
        since_ns: u64,
        /// Whether a JVM is recorded, and it is known where its memory tells what its threads wait for.
        reads_java_locks: u32,
        /// Of the machine.
        online_cpus: u32,
    }
    /// Whom the hooks see. Set before loading.
    Scope = scope, 24 {
        /// Of the pid namespace whose ids are told; 0 = the first namespace: all ids are the kernel's.
        pid_level: u32,
        /// Inode of that namespace.
        pid_namespace: u32,
        /// Whether only that is recorded which runs as this user and group, without capabilities in this user
        /// namespace.
        own_only: u32,
        /// This user.
        uid: u32,
        /// This group.
        gid: u32,
        /// Inode of this user namespace.
        user_namespace: u32,
    }
}
