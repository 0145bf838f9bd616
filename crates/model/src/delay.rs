//! What can keep a thread from its work: the kinds of the table `delays`, and the causes that an outlier is split among.

use crate::state::codes;

codes! {
    /// What delays a thread.
    Delay {
        /// Nothing that was recorded: the thread ran its own code, or the machine was taken from it unseen.
        Unexplained = 0, "unexplained", "Unexplained";
        /// Another thread had the CPU that was taken from it.
        Preemption = 1, "preemption", "Preemption";
        /// A thread of the kernel had the CPU that was taken from it.
        KernelWork = 2, "kernel-work", "Kernel work";
        /// It was moved to another CPU while it could run.
        Migration = 3, "migration", "Migration";
        /// Its cgroup had used up its CPU time.
        Throttling = 4, "throttling", "Cgroup throttling";
        /// It was woken and waited for a CPU.
        RunQueue = 5, "run-queue", "Run queue";
        /// It was woken, and the CPU had to leave an idle state first.
        IdleExit = 6, "idle-exit", "Idle-state exit";
        /// The scheduler's tick or another timer interrupted it.
        Timer = 7, "timer", "Timer interrupt";
        /// A device interrupted it.
        Interrupt = 8, "interrupt", "Interrupt";
        /// A soft interrupt ran in its time.
        SoftInterrupt = 9, "soft-interrupt", "Soft interrupt";
        /// Another CPU interrupted it.
        Ipi = 10, "ipi", "Inter-processor interrupt";
        /// Another CPU made it forget address translations.
        TlbShootdown = 11, "tlb-shootdown", "TLB shoot-down";
        /// A page that was in memory had to be mapped.
        MinorFault = 12, "minor-fault", "Minor page fault";
        /// A page had to be read from a disk.
        MajorFault = 13, "major-fault", "Major page fault";
        /// It had to free memory first.
        Reclaim = 14, "reclaim", "Memory reclaim";
        /// It had to make contiguous memory first.
        Compaction = 15, "compaction", "Memory compaction";
        /// It was in a system call.
        SystemCall = 16, "system-call", "System call";
        /// It ran a handler of a signal.
        Signal = 17, "signal", "Signal handler";
        /// It was stopped, by job control or a debugger.
        Stopped = 18, "stopped", "Stopped";
        /// It waited for a lock.
        Lock = 19, "lock", "Lock wait";
        /// It waited for something else.
        Wait = 20, "wait", "Other wait";
        /// It waited for a device.
        BlockIo = 21, "block-io", "Block I/O";
        /// It had asked to sleep.
        Sleep = 22, "sleep", "Sleep";
        /// It waited while the collector of its runtime ran.
        GarbageCollection = 23, "garbage-collection", "Garbage collection";
        /// The hypervisor gave its CPU to others.
        Steal = 24, "steal", "Steal";
        /// It burnt CPU time in a wait that the program announced.
        Spin = 25, "spin", "Spin wait";
        /// Its CPU ran slower than it did before.
        Frequency = 26, "frequency", "CPU frequency";
    }
}

impl Delay {
    /// Which of two delays that began at the same instant lies within the other: the one with the higher rank. What is
    /// recorded in detail lies within what is only known to have happened.
    pub fn rank(self) -> u8 {
        match self {
            Self::Unexplained => 0,
            Self::Steal | Self::Frequency => 1,
            Self::Signal => 2,
            Self::Spin => 3,
            Self::SystemCall => 4,
            Self::MinorFault | Self::MajorFault => 5,
            Self::Reclaim | Self::Compaction => 6,
            Self::Lock
            | Self::Wait
            | Self::BlockIo
            | Self::Sleep
            | Self::Stopped
            | Self::GarbageCollection
            | Self::RunQueue => 7,
            Self::Preemption | Self::KernelWork | Self::Migration | Self::Throttling | Self::IdleExit => 8,
            Self::Timer | Self::Interrupt | Self::Ipi | Self::TlbShootdown => 9,
            Self::SoftInterrupt => 10,
        }
    }
}
