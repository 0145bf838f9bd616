//! Replays the ordered records: keeps track of who lives, and turns switches into intervals and samples into weights.
//!
//! Symbols and objects are found later: here they are numbers of raw stacks and waits.

use dwell_model::{CallKind, Outcome, Reason, Syscall, ThreadId, WakerKind};
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{
    CreationRecord, ExecRecord, FUTEX_COMMANDS, FUTEX_PRIVATE, FUTEX_WAIT, FUTEX_WAIT_BITSET, STATE_DEAD, SampleRecord,
    SwitchRecord, THREAD_SEEDED, ThreadExitRecord, ThreadNewRecord, WokenFutexRecord, object_kind, switch_flag,
    waker_context,
};

use crate::input::annotation_event::{AnnotationEvent, AnnotationKind};
use crate::input::event::Event;
use crate::input::meta::Meta;
use crate::interner::Interner;
use crate::replay::annotations::{Annotations, CreatorStack, EventContext};
use crate::replay::creations::LockCreations;
use crate::replay::intervals::{OffCpuIntervals, SwitchIn, SwitchOut, ThreadCreator, ThreadStart};
use crate::replay::lock_owner::LockOwner;
use crate::replay::numbers::{StackNumber, WaitNumber};
use crate::replay::threads::ThreadTable;
use crate::replay::waits::{Sleep, StackKey, WaitKey, WaitTarget, expected};

/// The kernel's name of a timer's file, and the one in /proc.
const TIMER_FILE: &str = "[timerfd]";
const WAIT4: i16 = Syscall::number_of("wait4") as i16;
const FUTEX: i16 = Syscall::number_of("futex") as i16;
const FUTEX_WAITV: i16 = Syscall::number_of("futex_waitv") as i16;

/// The state of the replay.
pub struct Replay {
    start_ns: u64,
    end_ns: u64,
    /// Latest time seen, ns since the start.
    pub last_ns: u64,
    /// Who lives.
    pub thread_table: ThreadTable,
    /// Who runs.
    pub intervals: OffCpuIntervals,
    /// Distinct raw stacks.
    pub stacks: Interner<StackKey>,
    /// Distinct waits.
    pub waits: Interner<WaitKey>,
    /// When each of them was first seen, CLOCK_MONOTONIC ns.
    pub first_waits: Vec<u64>,
    /// What programs said of themselves.
    pub annotations: Annotations,
    /// Where they initialised locks.
    pub creations: LockCreations,
    /// Events replayed.
    pub events: u64,
}

impl Replay {
    /// A replay of a collection that lasted from `start_ns` to `end_ns`, CLOCK_MONOTONIC.
    pub fn new(start_ns: u64, end_ns: u64) -> Self {
        Self {
            start_ns,
            end_ns: end_ns.max(start_ns),
            last_ns: 0,
            thread_table: ThreadTable::default(),
            intervals: OffCpuIntervals::default(),
            stacks: Interner::default(),
            waits: Interner::default(),
            first_waits: Vec::new(),
            annotations: Annotations::default(),
            creations: LockCreations::default(),
            events: 0,
        }
    }

    /// The time as the tables tell it.
    pub fn relative(&self, time_ns: u64) -> u64 {
        time_ns.clamp(self.start_ns, self.end_ns) - self.start_ns
    }

    /// Takes the next event; times do not run back.
    pub fn take(&mut self, event: &Event, meta: &Meta) {
        let now = self.relative(event.time());
        self.last_ns = self.last_ns.max(now);
        self.events += 1;
        match event {
            Event::Switch(record) => self.switch(record, now, meta),
            Event::Sample(record) => self.sample(record, now, meta),
            Event::New(record) => self.begin(record, now),
            Event::Name(record) => self.thread_table.rename(record.h.tid, &record.comm),
            Event::Exit(record) => self.exit(record, now),
            Event::ThreadAccount(record) => self.thread_table.note_accounts(record),
            Event::Exec(record) => self.exec(record, now),
            Event::Pause(_) => self.intervals.pause(now),
            Event::Resume(_) => {
                self.intervals.resume(now);
                self.annotations.sync.resume_all();
            }
            Event::Annotation(annotation) => self.apply_annotation(annotation, now),
            Event::Stitch(record) => self.annotations.stitches.ask(record.tgid, record.id, record.user_stack),
            Event::Creation(record) => self.create(record),
            Event::WokenFutex(record) => self.wake_by_futex(record),
        }
    }

    /// A thread initialises a lock.
    fn create(&mut self, record: &CreationRecord) {
        let Some(thread) = self.thread_table.find(record.h.tid).filter(|_| record.user_stack != 0) else { return };
        let stack = self.user_stack(record.user_stack);
        self.creations.add(self.thread_table.image(thread), record.address, (record.h.time_ns, stack));
    }

    /// What woke the thread is what it waited for.
    fn wake_by_futex(&mut self, record: &WokenFutexRecord) {
        let Some(thread) = self.thread_table.find(record.h.tid) else { return };
        let Some((_, Reason::Waiting, number)) = self.intervals.open_row(thread) else { return };
        let any = self.wait_of(number).filter(|wait| matches!(wait.hint, WaitTarget::AnyOf(_))).copied();
        if let Some(wait) = any {
            let known = WaitKey { hint: WaitTarget::None, object: record.address, ..wait };
            let number = self.intern_wait(known, record.h.time_ns);
            self.intervals.set_wait(thread, number);
        }
    }

    /// A program says something of itself. What it says within a pause is taken as of the pause's start.
    fn apply_annotation(&mut self, annotation: &AnnotationEvent, now: u64) {
        if self.annotations.define(annotation.source, &annotation.what) {
            return;
        }
        let Some((thread, life)) = self
            .thread_table
            .annotating_thread(annotation.tid, annotation.tgid)
            .and_then(|thread| Some((thread, self.thread_table.life(thread)?)))
        else {
            self.annotations.counted.unknown_threads += 1;
            return;
        };
        let image = self.thread_table.image(thread);
        let recorded = |time_ns| self.intervals.recorded(time_ns);
        let context = EventContext {
            thread,
            process: life.process,
            tgid: annotation.tgid,
            source: annotation.source,
            image,
            image_ns: self.thread_table.images.get(image as usize).map_or(0, |image| image.start_ns),
            now_ns: recorded(now),
            at_ns: recorded(self.relative(annotation.at_ns)),
            was_there: life.was_there,
        };
        match annotation.what {
            AnnotationKind::ThreadName(name) => self.thread_table.set_announced_name(thread, name),
            AnnotationKind::ThreadIgnore => self.thread_table.ignore(thread),
            AnnotationKind::Frame { domain, id, start_ns, end_ns } => {
                let begun = EventContext { at_ns: recorded(self.relative(start_ns)), ..context };
                self.annotations.frame(&begun, domain, id, recorded(self.relative(end_ns)));
            }
            AnnotationKind::Request { name, start_ns, end_ns } => {
                let begun = EventContext { at_ns: recorded(self.relative(start_ns)), ..context };
                self.annotations.request(&begun, name, recorded(self.relative(end_ns)));
            }
            ref what => self.annotations.take(&context, what),
        }
    }

    /// The threads that ended unseen in a pause are closed at its start.
    pub fn close_silent(&mut self) {
        for thread in self.intervals.silent_since_pause() {
            let Some(life) = self.thread_table.life(thread) else { continue };
            let (tid, start) = (life.tid, life.start_ns);
            if start < self.intervals.resumed_ns() {
                let end = self.intervals.end_in_pause(thread).unwrap_or(start);
                self.thread_table.close(tid, end.max(start));
            }
        }
    }

    fn begin(&mut self, record: &ThreadNewRecord, now: u64) {
        let seeded = record.flags & THREAD_SEEDED != 0;
        if seeded && self.thread_table.find(record.h.tid).is_some() {
            return; // told again when the collection was resumed
        }
        let was_there = seeded && !self.intervals.is_paused();
        let start = if was_there { self.intervals.resumed_ns() } else { now };
        let (thread, stale) = self.thread_table.begin(record, start);
        if let Some(stale) = stale {
            self.intervals.end(stale, now);
        }
        let beginning = if seeded { ThreadStart::Unknown } else { ThreadStart::Created(self.creator(thread, record)) };
        self.intervals.begin(thread, start, beginning);
    }

    fn creator(&mut self, thread: ThreadId, record: &ThreadNewRecord) -> ThreadCreator {
        let parent = self.thread_table.life(thread).map_or(ThreadId::NONE, |life| life.parent);
        ThreadCreator { thread: parent, stack: self.stack((record.creator_stack, 0), CreatorStack::default()) }
    }

    fn exit(&mut self, record: &ThreadExitRecord, now: u64) {
        let paused = self.intervals.resumed_ns() > 0 || self.intervals.is_paused();
        if let Some(thread) = self.thread_table.account(record, now, paused) {
            self.intervals.end(thread, now);
        }
    }

    fn exec(&mut self, record: &ExecRecord, now: u64) {
        if self.thread_table.find(record.h.tid).is_none() && self.thread_table.find(record.old_tid).is_none() {
            // The collector tells so of a process that it attaches to; its threads are told later.
            return self.thread_table.announce(record);
        }
        let (thread, replaced) = self.thread_table.exec(record, now);
        if let Some(replaced) = replaced {
            self.intervals.end(replaced, now);
        }
        if let Some(thread) = thread {
            self.intervals.see_running(thread, now, u16::MAX);
        }
    }

    fn synthesize_thread(&mut self, tid: u32, tgid: u32, now: u64) -> ThreadId {
        let thread = self.thread_table.synthesize_thread(tid, tgid, now);
        self.intervals.begin(thread, now, ThreadStart::Unknown);
        thread
    }

    fn find(&mut self, tid: u32, user_stack: u64, now: u64, meta: &Meta) -> ThreadId {
        self.thread_table.find(tid).unwrap_or_else(|| {
            let tgid = meta.stack(user_stack).map_or(tid, |stack| stack.tgid);
            self.synthesize_thread(tid, tgid, now)
        })
    }

    fn switch(&mut self, record: &SwitchRecord, now: u64, meta: &Meta) {
        let seeded = record.flags & switch_flag::SEEDED != 0;
        if record.h.tid != 0 {
            self.switch_out(record, now, seeded, meta);
        }
        if record.next_tid != 0 {
            let thread = self.find(record.next_tid, 0, now, meta);
            if seeded {
                self.intervals.seen_on_cpu(thread, now);
            } else {
                let how = self.describe_switch_in(thread, record, meta);
                self.intervals.switch_in(thread, now, how);
            }
        }
    }

    fn switch_out(&mut self, record: &SwitchRecord, now: u64, seeded: bool, meta: &Meta) {
        if record.state & STATE_DEAD != 0 {
            if let Some(thread) = self.thread_table.find(record.h.tid) {
                self.intervals.end(thread, now);
                self.thread_table.close(record.h.tid, now);
            }
            return;
        }
        let thread = self.find(record.h.tid, record.user_stack, now, meta);
        if !self.intervals.takes_switch_out(thread, seeded) {
            return;
        }
        let why = self.describe_switch_out(thread, record);
        if seeded {
            self.intervals.seen_off_cpu(thread, why);
        } else {
            self.intervals.switch_out(thread, now, why, record.cpu);
        }
    }

    fn stack(&mut self, (user, kernel): (u64, u64), asker: CreatorStack) -> StackNumber {
        if user == 0 && kernel == 0 {
            return StackNumber::NONE;
        }
        StackNumber::new(self.stacks.intern(StackKey { user, kernel, asker }))
    }

    /// The wait of a number.
    pub fn wait_of(&self, number: WaitNumber) -> Option<&WaitKey> {
        self.waits.keys().get(number.get()?)
    }

    /// The number of a user stack of its own.
    pub fn user_stack(&mut self, key: u64) -> StackNumber {
        self.stack((key, 0), CreatorStack::default())
    }

    /// The stack of `thread`, below the stack that requested its work.
    fn stack_of(&mut self, thread: ThreadId, user: u64, kernel: u64) -> StackNumber {
        let asker = self.annotations.stitches.asker(thread, self.thread_table.image(thread), user);
        self.stack((user, kernel), asker)
    }

    fn describe_switch_out(&mut self, thread: ThreadId, record: &SwitchRecord) -> SwitchOut {
        let syscall = i16::try_from(record.syscall).unwrap_or(-1);
        let stack = self.stack_of(thread, record.user_stack, record.kernel_stack);
        let preempted = record.flags & switch_flag::PREEMPTED != 0;
        if record.state != 0 && !preempted {
            let (wait, owner) = self.wait(thread, record, stack);
            let same_call = record.flags & switch_flag::SAME_CALL != 0;
            return SwitchOut { reason: Reason::Waiting, syscall, wait, stack, owner, same_call };
        }
        let yielded = Syscall::kind_of(syscall) == CallKind::Yield;
        let reason = if yielded { Reason::Yielded } else { Reason::Preempted };
        SwitchOut { reason, syscall, wait: WaitNumber::NONE, stack, owner: None, same_call: false }
    }

    /// The wait, and who has the lock that it is for, where that is known.
    fn wait(&mut self, thread: ThreadId, record: &SwitchRecord, stack: StackNumber) -> (WaitNumber, Option<LockOwner>) {
        let syscall = i16::try_from(record.syscall).unwrap_or(-1);
        let operation = if syscall == FUTEX { record.detail as u16 } else { 0 };
        let image = self.thread_table.image(thread);
        let sleep = Sleep::of(record.state, record.flags & switch_flag::IOWAIT != 0);
        // A program does not announce waits for pages, nor stops.
        let announced = self.annotations.sync.awaited(thread, image).filter(|_| sleep == Sleep::Interruptible);
        let owner = LockOwner::of(thread, record, announced, &self.thread_table);
        let wait = WaitKey {
            image,
            stack,
            syscall,
            operation,
            sleep,
            hint: self.hint(syscall, record),
            object: record.object,
            announced: announced.map(|wait| wait.object),
            owner_source: owner.map(|owner| owner.source),
            lacks_memory: record.flags & switch_flag::MEMORY_LIMIT != 0,
        };
        (self.intern_wait(wait, record.h.time_ns), owner)
    }

    /// The number of a wait that was seen at `time_ns`, CLOCK_MONOTONIC.
    pub fn intern_wait(&mut self, wait: WaitKey, time_ns: u64) -> WaitNumber {
        let number = self.waits.intern(wait);
        if number == self.first_waits.len() {
            self.first_waits.push(time_ns);
        }
        WaitNumber::new(number)
    }

    fn hint(&self, syscall: i16, record: &SwitchRecord) -> WaitTarget {
        let detail = record.detail;
        match syscall {
            _ if record.flags & switch_flag::GIL != 0 => WaitTarget::Gil,
            _ if record.flags & switch_flag::JAVA_LOCK != 0 => WaitTarget::JavaLock,
            FUTEX => {
                let (operation, value) = (detail as u32, (detail >> 32) as u32);
                let waits = matches!(operation & FUTEX_COMMANDS, FUTEX_WAIT | FUTEX_WAIT_BITSET);
                let plain = waits && operation & FUTEX_PRIVATE == 0;
                let joined = self.thread_table.outer_id(record.h.tid, value).filter(|_| plain);
                let thread = joined.and_then(|joined| self.thread_table.find(joined));
                thread.map_or(WaitTarget::Value(expected(value)), WaitTarget::Thread)
            }
            FUTEX_WAITV => match (detail >> 16) as u16 {
                0 | 1 => WaitTarget::None,
                count => WaitTarget::AnyOf(count),
            },
            WAIT4 => {
                let child = self.thread_table.outer_id(record.h.tid, detail as u32);
                child.and_then(|child| self.thread_table.process(child)).map_or(WaitTarget::None, WaitTarget::Process)
            }
            _ if Syscall::kind_of(syscall) == CallKind::Poll && record.object == 0 && detail != 0 => WaitTarget::Files,
            _ => WaitTarget::None,
        }
    }

    fn describe_switch_in(&mut self, thread: ThreadId, record: &SwitchRecord, meta: &Meta) -> SwitchIn {
        let (syscall, _, wait) = self.intervals.open_row(thread).unwrap_or((-1, Reason::Unknown, WaitNumber::NONE));
        let wait = self.wait_of(wait).copied();
        let call = Syscall::kind_of(syscall);
        let by_interrupt = matches!(record.waker_context, waker_context::HARDIRQ | waker_context::IDLE);
        let timer_file = by_interrupt && wait.is_some_and(|wait| has_timer(&wait, meta));
        let mut outcome = outcome(record, call, wait.map(|wait| wait.sleep));
        if timer_file && outcome == Outcome::TimedOut {
            outcome = Outcome::Woken;
        }
        let waker = match record.waker_context {
            waker_context::TASK | waker_context::KERNEL_THREAD | waker_context::ANSWER | waker_context::PUBLISHER => {
                let woken_ns = self.relative(record.wake_time_ns);
                self.thread_table.find_at(record.waker_tid, woken_ns).unwrap_or(ThreadId::NONE)
            }
            _ => ThreadId::NONE,
        };
        let waker_kind = match record.waker_context {
            _ if waker.is_some() => WakerKind::Thread,
            waker_context::IO_QUOTA => WakerKind::IoQuota,
            _ if wait.is_some_and(|wait| wait.lacks_memory) => WakerKind::MemoryLimit,
            waker_context::TASK => WakerKind::OtherThread,
            waker_context::ANSWER => WakerKind::Answer,
            waker_context::PUBLISHER => WakerKind::Publisher,
            waker_context::KERNEL_THREAD => WakerKind::KernelThread,
            waker_context::NONE => WakerKind::Unknown,
            _ if timer_file || outcome == Outcome::TimedOut || call == CallKind::Sleep => WakerKind::Timer,
            waker_context::SOFTIRQ if wait.is_some_and(|wait| is_network(&wait, meta)) => WakerKind::Network,
            _ => WakerKind::Interrupt,
        };
        SwitchIn {
            cpu: record.cpu,
            wake_ns: (record.wake_time_ns != 0).then(|| self.relative(record.wake_time_ns)),
            outcome,
            waker,
            waker_kind,
            waker_stack: self.stack((record.waker_stack, 0), CreatorStack::default()),
        }
    }

    fn sample(&mut self, record: &SampleRecord, now: u64, meta: &Meta) {
        let thread = self.find(record.h.tid, record.user_stack, now, meta);
        let stack = self.stack_of(thread, record.user_stack, record.kernel_stack);
        if let Some(slice_ns) = self.intervals.sample(thread, now, record.cpu) {
            self.intervals.weights.sample(thread, now, slice_ns, (record.cpu, stack));
        }
    }
}

/// How the wait that a switch-in ends came to its end.
fn outcome(record: &SwitchRecord, call: CallKind, sleep: Option<Sleep>) -> Outcome {
    let signal = record.flags & switch_flag::SIGNAL_PENDING != 0;
    // A signal is what these calls wait for, or comes along with it.
    let expected = matches!(call, CallKind::Signal | CallKind::Child);
    // Another thread gave it what it waits for, before the end of the program reached it.
    let is_given = || call == CallKind::Futex && Syscall::name_of(record.waker_syscall as i16).starts_with("futex");
    if signal && !expected && sleep == Some(Sleep::Interruptible) && !is_given() {
        return Outcome::Interrupted;
    }
    let interrupt = matches!(record.waker_context, waker_context::HARDIRQ | waker_context::IDLE);
    if interrupt && call.has_time_limit() { Outcome::TimedOut } else { Outcome::Woken }
}

/// Whether a timer file is among what the thread polls: its expiry, like that of the call's own time limit, is an
/// interrupt, but it is what the thread waits for.
fn has_timer(wait: &WaitKey, meta: &Meta) -> bool {
    if wait.kind() != CallKind::Poll || wait.object == 0 {
        return false;
    }
    let is_timer =
        |key: u64| meta.object(key, u64::MAX).is_some_and(|object| c_string(&object.text).contains(TIMER_FILE));
    let polled = meta.object(wait.object, u64::MAX).is_some_and(|set| {
        set.kind == object_kind::POLL_SET && set.members.iter().any(|&key| key != 0 && is_timer(key))
    });
    polled || meta.members(wait.object).is_some_and(|members| members.contains(TIMER_FILE))
}

fn is_network(wait: &WaitKey, meta: &Meta) -> bool {
    let socket = |object: u64| meta.object(object, u64::MAX).is_some_and(|object| object.kind == object_kind::SOCKET);
    match wait.kind() {
        CallKind::Network | CallKind::Poll => true,
        CallKind::Futex => false,
        _ => wait.object != 0 && socket(wait.object),
    }
}
