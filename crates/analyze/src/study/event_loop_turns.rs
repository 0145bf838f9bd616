//! The turns of event loops: what a thread does between two waits for events, cut where it may have asked for events in
//! between without a wait.
//!
//! A poll that finds something returns at once and leaves no off-CPU row, so that the many short turns of a busy loop
//! look like one long one. Samples tell them apart: one in a call that polls, reads, writes or accepts, one in the loop's own code,
//! or one in another handler than the sample before shows that a new turn may have begun. What lies in between is a
//! [`Stretch`]. Whether one is longer than chance explains is its reader's question: samples see few of the calls.

use std::collections::BTreeMap;
use std::rc::Rc;

use dwell_model::{CallKind, ObjectType, Outcome, Reason, StackId, Syscall};
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::Part;
use dwell_query::stacks::call_stacks::{FunctionId, NO_FUNCTION};
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;

use crate::study::explain::parks_threads;

/// A wait so long is no loop's, wherever it is: alone it proves that the loop stood still.
pub const LONG_WAIT_NS: u64 = 10_000_000;

/// A thread's time in which nothing shows that it asked for events.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// Start, ns.
    pub from: u64,
    /// End.
    pub to: u64,
    /// Time on a CPU.
    pub running_ns: u64,
    /// Time in waits shorter than [`LONG_WAIT_NS`].
    pub waiting_ns: u64,
    /// Time in long waits.
    pub long_wait_ns: u64,
    /// Samples and shorter waits in it: what shows that it is one.
    pub observations: usize,
    /// Running time and shorter waits by stack.
    pub places: BTreeMap<StackId, u64>,
    /// Long waits by stack.
    pub long_waits: BTreeMap<StackId, u64>,
}

/// The turns of one loop.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Waits for events.
    pub polls: usize,
    /// The stretches of [`MANY`] observations or with a long wait, in order of time.
    pub stretches: Vec<Stretch>,
    /// Each turn between two waits for events.
    pub turns: Vec<Turn>,
    /// Stretches of [`MANY`] observations.
    pub many: usize,
    /// Observations in all.
    pub observations: usize,
    /// Stretches that one of them ended.
    pub cuts: usize,
}

/// What a thread does from one wait for events to the next.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Time on a CPU and in other waits.
    pub ns: u64,
    /// Samples and short waits in it.
    pub observations: usize,
    /// Whether a sample cut it: then it may be several.
    pub is_cut: bool,
    /// Its stretches in [`Turns::stretches`] begin here.
    pub first: usize,
    /// And end before this one.
    pub end: usize,
}

/// Observations from which a stretch is kept.
pub const MANY: usize = 8;

/// Calls by which a loop asks for events, or moves what they announce.
const CALLS: &[&str] = &[
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect",
    "pselect6",
    "io_uring_enter",
    "io_uring_wait_cqe",
    "io_uring_submit",
    "read",
    "readv",
    "pread64",
    "preadv",
    "write",
    "writev",
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile",
    "sendfile64",
    "accept",
    "accept4",
    // What calls the kernel by number could be any of them.
    "syscall",
];

/// The loops themselves, of libraries and servers: at the leaf of a sample they are between two handlers.
const LOOPS: &[&str] = &[
    "uv_run",
    "uv__io_poll",
    "aeMain",
    "aeProcessEvents",
    "aeApiPoll",
    "event_base_loop",
    "ev_run",
    "ngx_process_events_and_timers",
    "BaseEventLoop._run_once",
    "BaseEventLoop.run_forever",
    "_run_once",
    "run_forever",
];

/// What calls the handlers of an event loop, or polls its tasks, in names of functions: whatever blocks below it keeps all others of its thread.
const RUN_HANDLERS: &[&str] = &[
    "BaseEventLoop._run_once",
    "Handle._run",
    "uvloop.loop.",
    "tokio::runtime::scheduler::multi_thread::worker::Context::run_task",
    "tokio::runtime::scheduler::current_thread::CoreGuard",
    "io.netty.channel.nio.NioEventLoop.",
    "io.netty.channel.epoll.EpollEventLoop.",
    "io.netty.util.concurrent.SingleThreadEventExecutor.",
    "ngx_process_events_and_timers",
];

/// Whether a function of this name runs the handlers of an event loop, one after the other.
pub fn runs_handlers(function: &str) -> bool {
    RUN_HANDLERS.iter().any(|name| function.starts_with(name))
}

/// Whether a function of this name is an event loop's: what it calls is a handler, or waits for events.
pub fn runs_loop(function: &str) -> bool {
    LOOPS.contains(&function) || runs_handlers(function)
}

/// Schedulers whose threads take over from one that is busy: it blocks nobody.
const SHARED: &[&str] = &[
    "runtime.netpoll",
    "runtime.findRunnable",
    "runtime.findrunnable",
    "tokio::runtime::scheduler::multi_thread::",
    "boost::asio::detail::scheduler::",
    "asio::detail::scheduler::",
];

/// What a sample or a short wait says of the loop.
#[derive(Clone, Copy)]
enum Sign {
    /// It may ask for events.
    Asks,
    /// It is in a handler, or in the function of the loop itself ([`NO_FUNCTION`]).
    Handles(FunctionId),
}

/// Reads the turns of threads.
pub struct TurnReader<'f, 't> {
    fold: &'f Fold<'t>,
    idle: IdleWaits,
    /// Where the loop waited last.
    polled: StackId,
    /// The program's functions from the root to there.
    pub path: Rc<[FunctionId]>,
}

impl<'f, 't> TurnReader<'f, 't> {
    /// A reader of the fold's trace.
    pub fn new(fold: &'f Fold<'t>) -> Self {
        Self { fold, idle: IdleWaits::default(), polled: StackId::NONE, path: Rc::new([]) }
    }

    /// The turns of `thread` within `parts`.
    pub fn turns(&mut self, thread: usize, parts: &[Part]) -> Turns {
        let mut turns = Turns::default();
        parts.iter().for_each(|part| self.read(thread, *part, &mut turns));
        turns
    }

    fn read(&mut self, thread: usize, part: Part, turns: &mut Turns) {
        let events = self.fold.trace.events();
        let (mut open, mut reached): (Option<OpenTurn>, u64) = (None, part.from);
        for row in events.off_cpu.begun(thread, part.from, part.to) {
            let (times, key) = (events.off_cpu.times(row), events.off_cpu_key(row));
            let kind = object_type(self.fold.trace, key.object());
            let waits = key.reason() == Some(Reason::Waiting);
            if let Some(turn) = &mut open {
                self.run(thread, (reached, times.start_ns), turn, turns);
            }
            reached = events.off_cpu.end_ns(row);
            if waits && is_poll(key.syscall(), kind) {
                turns.polls += 1;
                if let Some(turn) = open.take() {
                    turn.end(times.start_ns, turns);
                }
                open = (reached < part.to).then(|| OpenTurn::new(self.path(key.stack()), reached, turns));
            } else if let Some(turn) = open.as_mut().filter(|_| waits) {
                // A supervisor looks after its children at times of its own.
                let is_until_own_time = parks_threads(kind)
                    && Outcome::from_code(key.outcome()) == Outcome::TimedOut
                    && times.wait_ns >= LONG_WAIT_NS;
                if is_until_own_time || self.idle.is_idle(&self.fold.sums.stacks, key.stack(), kind) {
                    open = None; // it has nothing to do: no turn that anybody waits for
                } else {
                    self.wait(key.stack(), (times.start_ns, times.wait_ns), turn, turns);
                }
            }
        }
        // What follows the last wait for events within the part is no whole turn.
    }

    /// The thread runs `from .. to`.
    fn run(&self, thread: usize, (from, to): (u64, u64), turn: &mut OpenTurn, turns: &mut Turns) {
        let (events, mut reached) = (self.fold.trace.events(), from);
        let samples = &events.samples;
        let rows = samples.of(thread);
        let (first, end) = (samples.partition_point(rows.clone(), |time| time <= from), rows.end);
        for sample in (first..end).take_while(|sample| samples.time_ns(*sample) <= to) {
            let (time, stack) = (samples.time_ns(sample), events.key(samples.key(sample)).stack());
            turn.ns = turn.ns.saturating_add(time - reached);
            turn.sees(self.sign(stack, &turn.path), (reached, time), turns);
            turn.ran_at(stack, time - reached);
            reached = time;
        }
        turn.ns = turn.ns.saturating_add(to.saturating_sub(reached));
        turn.rest_ns = turn.rest_ns.saturating_add(to.saturating_sub(reached));
    }

    /// It waits at `stack` for something else than events.
    fn wait(&self, stack: StackId, (start, wait_ns): (u64, u64), turn: &mut OpenTurn, turns: &mut Turns) {
        let end = start.saturating_add(wait_ns);
        turn.ns = turn.ns.saturating_add(wait_ns);
        if wait_ns >= LONG_WAIT_NS {
            turn.open.long_wait_ns = turn.open.long_wait_ns.saturating_add(wait_ns);
            let place = turn.open.long_waits.entry(stack).or_default();
            *place = place.saturating_add(wait_ns);
            turn.open.to = end;
            return;
        }
        turn.sees(self.sign(stack, &turn.path), (start, end), turns);
        turn.waited_at(stack, wait_ns);
    }

    /// The functions of the program from the root to the call that asks for events.
    fn path(&mut self, stack: StackId) -> Rc<[FunctionId]> {
        if self.polled != stack {
            let stacks = &self.fold.sums.stacks;
            let own = stacks.whole_chain(stack).skip_while(|at| stacks.is_system(*at));
            let mut path: Vec<FunctionId> = own.map(|at| stacks.function(at)).collect();
            path.reverse();
            (self.polled, self.path) = (stack, path.into());
        }
        self.path.clone()
    }

    /// What the stack of a sample says in a turn of the loop at `path`.
    fn sign(&self, stack: StackId, path: &[FunctionId]) -> Sign {
        let stacks = &self.fold.sums.stacks;
        let name = |at: &StackId| stacks.function_name(stacks.function(*at));
        let mut system = stacks.whole_chain(stack).take_while(|at| stacks.is_system(*at));
        if system.any(|at| is_call(name(&at))) {
            return Sign::Asks;
        }
        let leaf = stacks.whole_chain(stack).find(|at| !stacks.is_kernel(*at));
        if leaf.is_some_and(|leaf| LOOPS.contains(&name(&leaf))) {
            return Sign::Asks;
        }
        if leaf.is_none() {
            return Sign::Asks; // nobody knows where it was
        }
        let mut functions: Vec<FunctionId> = stacks.whole_chain(stack).map(|at| stacks.function(at)).collect();
        functions.reverse();
        let common = functions.iter().zip(path).take_while(|(one, other)| one == other).count();
        Sign::Handles(functions.get(common).copied().unwrap_or(NO_FUNCTION))
    }

    /// Whether other threads take over what `thread` polls at `stack` when it is busy.
    pub fn is_shared(&self, stack: StackId) -> bool {
        self.fold.sums.stacks.whole_names(stack).any(|name| SHARED.iter().any(|shared| name.starts_with(shared)))
    }
}

/// Whether a wait in this call for this type of object is one for whatever comes.
pub fn is_poll(syscall: i16, object: ObjectType) -> bool {
    match Syscall::kind_of(syscall) {
        // One that names a single file awaits an answer.
        CallKind::Poll => object == ObjectType::Event,
        CallKind::IoUring => object == ObjectType::IoUring,
        _ => false,
    }
}

/// Whether a function of the system is one of the calls, or the kernel's entry of it.
fn is_call(function: &str) -> bool {
    let name = function.trim_start_matches("__x64_sys_").trim_start_matches("__se_sys_").trim_start_matches("__GI_");
    let name = name.trim_start_matches('_').trim_start_matches("libc_");
    CALLS.contains(&name)
}

/// A turn that is being read.
struct OpenTurn {
    /// The functions from the root to the loop's wait.
    path: Rc<[FunctionId]>,
    /// The stretch that goes on.
    open: Stretch,
    /// Handler that it is in; none seen yet: [`NO_FUNCTION`].
    handler: FunctionId,
    /// Running time since its last sample.
    rest_ns: u64,
    /// Time on a CPU and in waits, so far.
    ns: u64,
    /// The number of its first stretch, and of the observations before it.
    first: usize,
    before: usize,
    /// Stretches that ended before it.
    cuts: usize,
}

impl OpenTurn {
    fn new(path: Rc<[FunctionId]>, from: u64, turns: &Turns) -> Self {
        let open = Stretch { from, to: from, ..Stretch::default() };
        Self {
            path,
            open,
            handler: NO_FUNCTION,
            rest_ns: 0,
            ns: 0,
            first: turns.stretches.len(),
            before: turns.observations,
            cuts: turns.cuts,
        }
    }

    /// Ends the stretch where `sign`, seen for `from .. to`, says that the loop went on.
    fn sees(&mut self, sign: Sign, (from, to): (u64, u64), turns: &mut Turns) {
        match sign {
            Sign::Asks => {
                self.cut(to, turns);
                self.handler = NO_FUNCTION;
                return;
            }
            Sign::Handles(NO_FUNCTION) => {}
            Sign::Handles(handler) => {
                if self.handler != NO_FUNCTION && self.handler != handler {
                    self.cut(from, turns);
                }
                self.handler = handler;
            }
        }
        self.open.observations += 1;
        self.open.to = to;
    }

    /// A sample ends the stretch; the next one begins at `from`.
    fn cut(&mut self, from: u64, turns: &mut Turns) {
        let ended = std::mem::replace(&mut self.open, Stretch { from, to: from, ..Stretch::default() });
        self.rest_ns = 0;
        turns.cuts += 1;
        turns.keep(ended);
    }

    /// It ran `ns` up to a sample at `stack`.
    fn ran_at(&mut self, stack: StackId, ns: u64) {
        // A sample that asks is of no stretch.
        if self.open.observations > 0 {
            let ns = ns.saturating_add(std::mem::take(&mut self.rest_ns));
            self.open.running_ns = self.open.running_ns.saturating_add(ns);
            self.open.is_at(stack, ns);
        }
    }

    /// It waited so long at `stack`.
    fn waited_at(&mut self, stack: StackId, ns: u64) {
        if self.open.observations > 0 {
            self.open.waiting_ns = self.open.waiting_ns.saturating_add(ns);
            self.open.is_at(stack, ns);
        }
    }

    /// The next wait for events begins at `to`.
    fn end(mut self, to: u64, turns: &mut Turns) {
        self.open.running_ns = self.open.running_ns.saturating_add(self.rest_ns);
        self.open.to = to;
        turns.keep(self.open);
        let observations = turns.observations - self.before;
        let is_cut = turns.cuts > self.cuts;
        turns.turns.push(Turn { ns: self.ns, observations, is_cut, first: self.first, end: turns.stretches.len() });
    }
}

impl Stretch {
    fn is_at(&mut self, stack: StackId, ns: u64) {
        let place = self.places.entry(stack).or_default();
        *place = place.saturating_add(ns);
    }
}

impl Turns {
    fn keep(&mut self, stretch: Stretch) {
        self.observations += stretch.observations;
        self.many += usize::from(stretch.observations >= MANY);
        if stretch.observations >= MANY || stretch.long_wait_ns > 0 {
            self.stretches.push(stretch);
        }
    }
}
