//! What a timeline shows a thread as doing.

use dwell_model::{ObjectType, Reason};
use dwell_store::{EventKey, Events, Trace};

use crate::measure::cpu_kind::CpuKind;
use crate::question::words::words;
use crate::stacks::call_stacks::CallStacks;
use crate::stacks::idle::IdleWaits;
use crate::stacks::object::object_type;
use crate::stacks::spin::CpuKinds;

words! { "timeline state";
    /// What a thread does, as the timeline colours it.
    TimelineState {
        Running = "running", "Running", "On a CPU, at the program's work.";
        Spin = "spin", "Spinning", "On a CPU, logically waiting.";
        Overhead = "overhead", "Overhead", "On a CPU, in a threading runtime.";
        Lock = "lock", "Waiting for a Lock", "Blocked on a mutex or another lock.";
        Condition = "condition", "Waiting for Others", "Blocked on a condition variable, semaphore, barrier, event or thread.";
        Idle = "idle", "Idle", "Blocked for want of work: a pool's thread, an event loop.";
        Socket = "socket", "Socket", "Blocked on the network.";
        Io = "io", "I/O", "Blocked on a pipe, file, page or block device.";
        Sleep = "sleep", "Sleep", "Blocked for a time of its own choice.";
        OtherWait = "other-wait", "Other Wait", "Blocked on anything else, or for unknown reasons.";
        Preempted = "preempted", "Run Queue", "Ready, but not on a CPU: preempted, or woken and not yet run.";
        Starting = "starting", "Starting", "New, and not yet run.";
        Absent = "absent", "Absent", "Not started, or ended.";
        Paused = "paused", "Paused", "Recording was paused: what it did is not known.";
    }
}

/// Number of states.
pub const STATES: usize = TimelineState::ALL.len();

impl TimelineState {
    /// Its place in [`TimelineState::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it is time on a CPU.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Spin | Self::Overhead)
    }

    /// The state of waits on objects of a type.
    fn of_type(kind: ObjectType) -> Self {
        use ObjectType as T;
        match kind {
            T::Mutex | T::RwLock | T::SpinLock | T::Once | T::Futex => Self::Lock,
            T::KernelLock | T::FileLock | T::Gil | T::JvmMonitor => Self::Lock,
            T::ConditionVariable | T::Semaphore | T::Barrier | T::OpenMpBarrier | T::TbbScheduler => Self::Condition,
            T::ThreadJoin | T::GoRuntime | T::Event | T::Channel | T::WaitGroup => Self::Condition,
            T::Socket => Self::Socket,
            T::Stream | T::BlockIo | T::PageFault | T::IoUring => Self::Io,
            T::Sleep | T::Timer => Self::Sleep,
            _ => Self::OtherWait,
        }
    }
}

/// The state of every key: of running time, or of the blocked part of an interval.
pub fn states_of(trace: &Trace, events: &Events, stacks: &CallStacks<'_>) -> Vec<TimelineState> {
    let (mut cpu_kinds, mut idle_waits) = (CpuKinds::default(), IdleWaits::default());
    let mut state = |key: &EventKey| match key.reason() {
        None => match cpu_kinds.of(stacks, key.stack()) {
            CpuKind::Effective => TimelineState::Running,
            CpuKind::Spin(_) => TimelineState::Spin,
            CpuKind::Overhead(_) => TimelineState::Overhead,
        },
        Some(Reason::Waiting) => {
            let kind = object_type(trace, key.object());
            let idle = idle_waits.is_idle(stacks, key.stack(), kind);
            if idle { TimelineState::Idle } else { TimelineState::of_type(kind) }
        }
        Some(Reason::Starting) => TimelineState::Starting,
        Some(_) => TimelineState::OtherWait,
    };
    events.keys.iter().map(&mut state).collect()
}

/// What a band that threads share shows of what they did: it runs where any of them does, queues where one could, and
/// else waits as most of them do.
pub fn shown(times: &[u64; STATES]) -> Option<TimelineState> {
    let most = |wanted: &dyn Fn(TimelineState) -> bool| {
        let states = TimelineState::ALL.iter().copied().rev().filter(|state| wanted(*state));
        states.max_by_key(|state| times[state.index()]).filter(|state| times[state.index()] > 0)
    };
    let queues = |state| matches!(state, TimelineState::Preempted | TimelineState::Starting);
    most(&TimelineState::is_running).or_else(|| most(&queues)).or_else(|| most(&|_| true))
}
