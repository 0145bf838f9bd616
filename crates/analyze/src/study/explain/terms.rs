//! The words in which waits are explained: kinds of waits, links of a chain, causes.

use dwell_model::{ObjectType, Syscall};

/// A role of threads, by number: those of one program that do one thing.
pub type RoleId = u32;
/// What is waited for, as it is called, by number.
pub type LabelId = u32;
/// A place in the program, by number.
pub type PlaceId = u32;
/// Stands for no role, label or place.
pub const NOTHING: u32 = u32::MAX;

/// Whether somebody is held up by a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitClass {
    /// A thing that was asked for has not come yet.
    Demand,
    /// The same, and the wait was given up at the end of its time.
    GivenUp,
    /// For threads or children that end: for the work itself.
    Structure,
    /// The thread chose the time: a sleep, the time-out of a loop.
    Own,
    /// For whatever comes.
    Idle,
}

/// One wait of a chain: who waited for what, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// Who waited.
    pub role: RoleId,
    /// What for.
    pub label: LabelId,
    /// Where.
    pub place: PlaceId,
}

/// What a thread did that others waited for, or what ended a wait that no thread of the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CauseKind {
    /// It ran.
    Ran,
    /// It collected garbage.
    Collected,
    /// It was ready, and others had the CPUs.
    RunQueue,
    /// It slept.
    Slept,
    /// It waited until its own time-out.
    TimedOut,
    /// It waited to the end of the recording.
    Unfinished,
    /// A program that is not recorded ended its wait.
    Outside,
    /// It was an event loop's, which requests waited for meanwhile; nobody recorded ended it.
    OpenRequests,
    /// Connections waited for it to accept them: nobody who is recorded did.
    AcceptQueue,
    /// A thread of the kernel did.
    Kernel,
    /// The network did.
    Network,
    /// A timer of the kernel did.
    Timer,
    /// A device did.
    Device,
    /// A device did, which a quota had kept from the request.
    IoQuota,
    /// Whoever did: it would not have waited with more memory.
    MemoryLimit,
    /// An interrupt did.
    Interrupt,
    /// Nobody who was seen did.
    Unknown,
    /// It did not exist yet, and nobody is known to have made it.
    Unborn,
    /// It had ended.
    Ended,
    /// Threads waited for one another.
    Circle,
    /// A signal or a debugger stopped it.
    Stopped,
}

impl CauseKind {
    /// Its name in CSV and JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ran => "running",
            Self::Collected => "garbage-collection",
            Self::RunQueue => "run-queue",
            Self::Slept => "slept",
            Self::TimedOut => "timed-out",
            Self::Unfinished => "unfinished",
            Self::Outside => "outside",
            Self::OpenRequests => "open-requests",
            Self::AcceptQueue => "accept-queue",
            Self::Kernel => "kernel-thread",
            Self::Network => "network",
            Self::Timer => "timer",
            Self::Device => "device",
            Self::IoQuota => "io-quota",
            Self::MemoryLimit => "memory-limit",
            Self::Interrupt => "interrupt",
            Self::Unknown => "unknown",
            Self::Unborn => "unborn",
            Self::Ended => "ended",
            Self::Circle => "circle",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it is what a program would not do if it had anything to do.
    pub fn is_pause(self) -> bool {
        matches!(self, Self::Slept | Self::TimedOut | Self::Device | Self::IoQuota | Self::MemoryLimit)
    }

    /// Whether nothing was done meanwhile, here or elsewhere: behind a thread without work it is nobody's delay.
    pub fn is_passive(self) -> bool {
        matches!(self, Self::Slept | Self::TimedOut | Self::Unfinished | Self::Timer | Self::Interrupt | Self::Unknown)
    }
}

/// A root cause of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause {
    /// What it is.
    pub kind: CauseKind,
    /// Whose time it was.
    pub role: RoleId,
    /// What that waited for, where it waited.
    pub label: LabelId,
    /// Where it was.
    pub place: PlaceId,
    /// Who had the CPU that it was ready for.
    pub behind: RoleId,
    /// Whether there was only no work: somebody without work waited for it.
    pub no_work: bool,
}

/// Whether a wait on an object of this type is for one thing that is needed, whatever happens around it.
pub fn is_needed(kind: ObjectType) -> bool {
    use ObjectType::*;
    matches!(
        kind,
        Mutex
            | RwLock
            | SpinLock
            | Once
            | KernelLock
            | FileLock
            | Gil
            | Barrier
            | OpenMpBarrier
            | WaitGroup
            | PageFault
            | BlockIo
    )
}

/// Whether threads give work or answers to one another over an object of this type.
pub fn hands_over(kind: ObjectType) -> bool {
    use ObjectType::*;
    matches!(
        kind,
        ConditionVariable
            | Semaphore
            | Futex
            | Socket
            | Stream
            | Event
            | IoUring
            | JvmMonitor
            | GoRuntime
            | Channel
            | TbbScheduler
            | User
            | Unknown
    )
}

/// Whether threads park on objects of this type until another thread of the program wakes them; each may have its own.
pub fn parks_threads(kind: ObjectType) -> bool {
    use ObjectType::*;
    matches!(kind, ConditionVariable | Semaphore | Futex | JvmMonitor)
}

/// Event loops wait in these: for many things at once, until a time of their own.
const EVENT_LOOPS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// Whether event loops wait in the system call of this number.
pub fn is_of_event_loop(call: i16) -> bool {
    call >= 0 && EVENT_LOOPS.contains(&Syscall::name_of(call).as_str())
}

/// Whether a set has a socket that asks others: one that connected, of this machine or to another one.
pub fn asks(name: &str) -> bool {
    is_client_socket(name) || name.contains("Unix /") || name.contains("Unix @")
}

/// Whether a connection's ends have both the same address of this machine; in a name, or in what a call waits for.
pub fn is_within_machine(name: &str) -> bool {
    ["127.0.0.1:", "[::1]:"].iter().any(|address| {
        let ends = name.split_once("TCP ").and_then(|(_, ends)| ends.strip_prefix(address)?.split_once(" -> "));
        ends.is_some_and(|(_, other)| other.starts_with(address))
    })
}

/// Whether the socket's own port was nobody's choice: this end connected.
pub fn is_client_socket(name: &str) -> bool {
    name.contains(":* ->")
}

/// Whether threads of a JVM wait there while it stops them.
pub fn is_safepoint(name: &str) -> bool {
    name.contains("JVM safepoint")
}

/// Whether only answers can come over it, as far as its name tells: of a set with other connections, within the machine, those who answer are
/// known, and whatever else comes is no answer.
pub fn asks_alone(name: &str) -> bool {
    is_client_socket(name) && !(listens(name) && is_within_machine(name))
}

/// How answers are called for which a goroutine waits that sent a request.
const RESPONSE: &str = "Response in ";

/// Whether a goroutine waits for the answer to its request.
pub fn is_response(name: &str) -> bool {
    name.starts_with(RESPONSE)
}

/// How sockets are called over which what others do is heard of: packets, and what the kernel tells.
const UNASKED: &[&str] = &["Packet socket", "Netlink"];

/// Whether nothing but questions can come: a socket that listens, connections that it accepted, sets of these, and what the
/// kernel asks a file system in user space.
pub fn serves(name: &str) -> bool {
    let accepted = name.split_once(" -> ").is_some_and(|(own, other)| {
        let other = other.split(' ').next().unwrap_or_default();
        !own.ends_with(":*") && other.ends_with(":*")
    });
    accepted
        || UNASKED.iter().any(|kind| name.contains(kind))
        || name == "/dev/fuse"
        || name.starts_with("TCP listen")
        || name.ends_with("poll {connections}")
}

/// Whether new connections may come over it, beside what else it has, or datagrams of anybody.
pub fn accepts(name: &str) -> bool {
    name.contains("TCP listen") || name.split_once("UDP ").is_some_and(|(_, ends)| !ends.contains(" -> "))
}

/// Whether questions may come over it, beside what else it has.
pub fn listens(name: &str) -> bool {
    serves(name) || accepts(name) || name.contains("connections")
}

/// Whether a set has connections that are too many to be named, and some of these may ask others: `epoll {Unix pair, connections}`.
pub fn may_ask(name: &str) -> bool {
    name.contains("connections") && !serves(name) && !accepts(name)
}

/// A wait that goes on so soon after it was broken off, by a time-out or a signal, is the same wait, ns.
pub const GOES_ON_NS: u64 = 1_000_000;

/// Descriptors of a set by which threads of one program wake one another, or itself at a time.
const OWN_DESCRIPTORS: &[&str] = &["eventfd", "pipe", "Unix pair", "timerfd"];

/// Whether a set has nothing that others could write to: only threads of the program end a wait for it.
pub fn is_internal(name: &str) -> bool {
    let members = name.split_once(" {").and_then(|(_, members)| members.strip_suffix('}'));
    members.is_some_and(|members| members.split(", ").all(|member| OWN_DESCRIPTORS.contains(&member)))
}

/// Whether a set has sockets that are connected to nobody beside what is internal: their owner asks by datagrams, as for a name.
pub fn asks_by_datagrams(name: &str) -> bool {
    let members = name.split_once(" {").and_then(|(_, members)| members.strip_suffix('}'));
    let is_own = |member: &str| member == NAMELESS_SOCKET || OWN_DESCRIPTORS.contains(&member);
    members.is_some_and(|members| {
        members.split(", ").all(is_own) && members.split(", ").any(|member| member == NAMELESS_SOCKET)
    })
}

/// How a socket without addresses is called in a set.
const NAMELESS_SOCKET: &str = "socket";

/// Whether it is a pool of connections: whoever waits there needs one.
pub fn is_connection_pool(name: &str) -> bool {
    name.starts_with("Connection pool")
}

/// Whether whoever waits there needs a connection that is to be made, or to become free where there may be no more.
pub fn is_new_connection(name: &str) -> bool {
    name.starts_with("New connection")
}

/// Whether it is a pipe that has no room: whoever writes is held up, until its reader reads.
pub fn is_full_pipe(name: &str) -> bool {
    name.starts_with("Full pipe")
}
