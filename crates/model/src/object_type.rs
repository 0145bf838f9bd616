//! What a thread can wait on.

use crate::state::codes;

/// Name of the kernel's lock of a process's address space.
pub const MMAP_LOCK: &str = "mmap_lock";

codes! {
    /// The type of a synchronization object, in the words of the field.
    ObjectType {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// A mutual exclusion lock.
        Mutex = 1, "mutex", "Mutex";
        /// A condition variable.
        ConditionVariable = 2, "condition-variable", "Condition Variable";
        /// A read/write lock.
        RwLock = 3, "rwlock", "Read/Write Lock";
        /// A counting semaphore.
        Semaphore = 4, "semaphore", "Semaphore";
        /// A barrier.
        Barrier = 5, "barrier", "Barrier";
        /// A spin lock.
        SpinLock = 6, "spin-lock", "Spin Lock";
        /// A one-time initialization.
        Once = 7, "once", "Once";
        /// The end of another thread.
        ThreadJoin = 8, "thread-join", "Thread join";
        /// A futex whose user is not recognised.
        Futex = 9, "futex", "Futex";
        /// A socket, named by its addresses.
        Socket = 10, "socket", "Socket";
        /// A pipe, terminal or file, named by its path.
        Stream = 11, "stream", "Stream";
        /// An eventfd, or an epoll, poll or select set.
        Event = 12, "event", "Event";
        /// A timer file descriptor or a POSIX timer.
        Timer = 13, "timer", "Timer";
        /// A sleep of given length.
        Sleep = 14, "sleep", "Sleep";
        /// A child process.
        ChildProcess = 15, "child-process", "Child process";
        /// A signal.
        Signal = 16, "signal", "Signal";
        /// Completions of an io_uring.
        IoUring = 17, "io-uring", "io_uring";
        /// A page being brought in.
        PageFault = 18, "page-fault", "Page fault";
        /// A block device.
        BlockIo = 19, "block-io", "Block I/O";
        /// A lock inside the kernel.
        KernelLock = 20, "kernel-lock", "Kernel lock";
        /// Python's global interpreter lock.
        Gil = 21, "gil", "GIL";
        /// A Java monitor or a parked Java thread.
        JvmMonitor = 22, "jvm-monitor", "JVM monitor / parking";
        /// Go's scheduler.
        GoRuntime = 23, "go-runtime", "Go channel / runtime";
        /// oneTBB's scheduler.
        TbbScheduler = 24, "tbb-scheduler", "TBB scheduler";
        /// A barrier or task wait of an OpenMP runtime.
        OpenMpBarrier = 25, "openmp-barrier", "OpenMP barrier";
        /// An object that the program named through ITT.
        User = 26, "user", "User";
        /// A lock on a file: flock or fcntl.
        FileLock = 27, "file-lock", "File lock";
        /// A channel, through which fibers hand values on.
        Channel = 28, "channel", "Channel";
        /// A counter of tasks that are to be done (`sync.WaitGroup`).
        WaitGroup = 29, "wait-group", "Wait group";
    }
}

impl ObjectType {
    /// Whether one thread holds it while others wait, as far as the type tells.
    pub fn has_holder(self) -> bool {
        use ObjectType::*;
        matches!(self, Mutex | RwLock | SpinLock | KernelLock | JvmMonitor | Gil | Futex | FileLock)
    }

    /// Whether a thread waits for it in order to take it and to give it back, in one call until it has it.
    pub fn is_taken(self) -> bool {
        use ObjectType::*;
        matches!(self, Mutex | RwLock | SpinLock)
    }
}
