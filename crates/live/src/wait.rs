//! What a thread stands in at one instant.

use dwell_model::{CallKind, Syscall, SyscallClass};
use dwell_wire::{
    FUTEX_COMMANDS, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_WAITERS, MUTEX_CONTENDED, RWLOCK_WRITTEN, STATE_STOPPED,
    STATE_TRACED, STATE_UNINTERRUPTIBLE, TaskSnapshot, task_flag,
};

/// State bit of a kernel thread that has nothing to do: it sleeps uninterruptibly without counting for the load (TASK_NOLOAD).
const NO_LOAD: u32 = 0x400;

/// What a thread does at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has a CPU.
    Running,
    /// It could run, and waits for a CPU.
    Runnable,
    /// It waits for something else.
    Waiting(WaitedFor),
}

/// What a thread waits for, as its system call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitedFor {
    /// What kind of thing.
    pub kind: WaitKind,
    /// The system call, -1 = none.
    pub syscall: i16,
    /// What tells one thing from another of this kind within a process: a futex's address, a descriptor; 0 = nothing does.
    pub object: u64,
}

macro_rules! wait_kinds {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal;)*) => {
        /// Kinds of waits, as a screen of 80 columns can tell them apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum WaitKind { $($(#[$doc])* $name,)* }

        impl WaitKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in JSON.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// Its name on the screen.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

wait_kinds! {
    /// A lock that somebody else has.
    Lock = "lock", "lock";
    /// Another thread in another way: a condition variable, a semaphore, the end of a thread. Idle workers wait so.
    Condition = "condition", "condition";
    /// Data from or to a socket, or a connection.
    Network = "network", "network";
    /// One of several descriptors: poll, select, epoll.
    Poll = "poll", "poll";
    /// A pipe, a terminal, an eventfd or another file that is no disk's.
    Stream = "stream", "pipe, tty";
    /// A disk.
    Disk = "disk", "disk";
    /// A page of its own memory.
    PageFault = "page-fault", "page fault";
    /// Time to pass.
    Sleep = "sleep", "sleep";
    /// A child process.
    Child = "child", "child";
    /// A signal, or to be let run on.
    Signal = "signal", "signal, stop";
    /// Anything else, also what was over before anybody looked.
    Other = "other", "other";
}

impl WaitKind {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}

impl Standing {
    /// What `task` does.
    pub fn of(task: &TaskSnapshot) -> Self {
        if task.flags & task_flag::ON_CPU != 0 {
            return Self::Running;
        }
        if task.state == 0 {
            return Self::Runnable;
        }
        let call = i16::try_from(task.syscall).ok().and_then(Syscall::of_number);
        let object = match call.map(|call| call.class) {
            Some(SyscallClass::Fd) => task.arguments[0] & 0xffff_ffff,
            Some(SyscallClass::Futex | SyscallClass::FutexVector | SyscallClass::Poll) => task.arguments[0],
            _ => 0,
        };
        let syscall = call.map_or(-1, |call| call.number);
        Self::Waiting(WaitedFor { kind: kind_of(task, call), syscall, object })
    }
}

/// Whether the futex is a lock's: what its word is expected to be is what locks have in theirs while somebody waits, 2 or 3 (glibc's
/// and Rust's), or a bit beside the owner (robust ones, musl's); or the kernel hands it over (FUTEX_LOCK_PI).
fn is_lock(task: &TaskSnapshot) -> bool {
    let [_, operation, expected] = task.arguments.map(|argument| argument as u32);
    let hands_over = matches!(operation & FUTEX_COMMANDS, FUTEX_LOCK_PI | FUTEX_LOCK_PI2);
    hands_over || matches!(expected, MUTEX_CONTENDED | RWLOCK_WRITTEN) || expected & FUTEX_WAITERS != 0
}

fn kind_of(task: &TaskSnapshot, call: Option<&Syscall>) -> WaitKind {
    if task.state & (STATE_STOPPED | STATE_TRACED) != 0 {
        return WaitKind::Signal;
    }
    let is_blocked = task.state & STATE_UNINTERRUPTIBLE != 0 && task.state & NO_LOAD == 0;
    let Some(call) = call else {
        let is_kernels = task.flags & task_flag::KERNEL_THREAD != 0;
        return match (is_kernels, task.flags & task_flag::IOWAIT != 0) {
            (true, true) => WaitKind::Disk,
            (true, false) => WaitKind::Other,
            (false, _) => WaitKind::PageFault,
        };
    };
    match call.kind {
        CallKind::Futex if is_lock(task) => WaitKind::Lock,
        CallKind::FileLock => WaitKind::Lock,
        CallKind::Futex | CallKind::Semaphore => WaitKind::Condition,
        CallKind::Network => WaitKind::Network,
        CallKind::Poll => WaitKind::Poll,
        CallKind::Sleep => WaitKind::Sleep,
        CallKind::Child | CallKind::Spawn => WaitKind::Child,
        CallKind::Signal => WaitKind::Signal,
        CallKind::FileSync | CallKind::IoUring => WaitKind::Disk,
        CallKind::Yield => WaitKind::Other,
        CallKind::Other if is_blocked => WaitKind::Disk,
        CallKind::Other if call.class == SyscallClass::Fd => WaitKind::Stream,
        CallKind::Other => WaitKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn waiting(syscall: i32, state: u32, flags: u32) -> WaitKind {
        let task = TaskSnapshot { syscall, state, flags, arguments: [7, 0, 0], ..TaskSnapshot::zeroed() };
        match Standing::of(&task) {
            Standing::Waiting(waited) => waited.kind,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_task_is_running_runnable_or_waits() {
        let task = TaskSnapshot { flags: task_flag::ON_CPU, ..TaskSnapshot::zeroed() };
        assert_eq!(Standing::of(&task), Standing::Running);
        assert_eq!(Standing::of(&TaskSnapshot::zeroed()), Standing::Runnable);
        let kinds = [
            (202, 1, WaitKind::Condition),
            (230, 1, WaitKind::Sleep),
            (232, 1, WaitKind::Poll),
            (45, 1, WaitKind::Network),
            (0, 1, WaitKind::Stream),
            (0, 2, WaitKind::Disk),
            (74, 2, WaitKind::Disk),
            (61, 1, WaitKind::Child),
            (34, 1, WaitKind::Signal),
            (0, 8, WaitKind::Signal),
            (-1, 2, WaitKind::PageFault),
        ];
        for (syscall, state, kind) in kinds {
            assert_eq!(waiting(syscall, state, 0), kind, "system call {syscall}, state {state}");
        }
        for (operation, expected, kind) in [
            (128, 2, WaitKind::Lock),
            (137, 0, WaitKind::Condition),
            (134, 0, WaitKind::Lock),
            (128, 0x8000_0012, WaitKind::Lock),
        ] {
            let arguments = [0x1000, operation, expected];
            let task = TaskSnapshot { syscall: 202, state: 1, arguments, ..TaskSnapshot::zeroed() };
            assert!(
                matches!(Standing::of(&task), Standing::Waiting(waited) if waited.kind == kind),
                "{operation} {expected}"
            );
        }
        assert_eq!(waiting(-1, 0x402, task_flag::KERNEL_THREAD), WaitKind::Other);
        assert_eq!(waiting(-1, 2, task_flag::KERNEL_THREAD | task_flag::IOWAIT), WaitKind::Disk);
    }

    #[test]
    fn descriptors_and_futexes_are_told_apart() {
        let of = |syscall, argument| {
            let task = TaskSnapshot { syscall, state: 1, arguments: [argument, 0, 0], ..TaskSnapshot::zeroed() };
            Standing::of(&task)
        };
        assert_ne!(of(202, 0x1000), of(202, 0x2000));
        assert_eq!(of(0, 0xffff_ffff_0000_0003), of(0, 3), "a descriptor has 32 bits");
        assert_eq!(of(230, 1), of(230, 2), "a sleep's clock is no object");
    }
}
