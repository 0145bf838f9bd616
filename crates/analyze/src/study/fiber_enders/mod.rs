//! Who ended the waits of sampled fibers, as far as their places tell. Takes a result in which fibers stand for threads; splits waits
//! by who held the lock meanwhile, or was at work at the other end of the channel, and names the child or the process whose end was waited for.
//!
//! A lock of Go does not say who has it. But whoever has it is in a function that took it, and runs or waits for something else there.
//! Where several are there at once, their call sites tell: two fibers can be at one outside of the lock, never within. This is an
//! estimate, as all times of sampled fibers are.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use dwell_model::{FrameId, ObjectId, ObjectType, Outcome, StackId, ThreadId, WakerKind};
use dwell_query::stacks::channels::receives;
use dwell_query::stacks::go_runtime::is_runtime_goroutine;
use dwell_query::stacks::object::object_type;
use dwell_query::stacks::project::{is_of_go, is_of_package};
use dwell_store::tables::{OffCpu, OffCpuRow};
use dwell_store::{Table, Trace};

mod channel_partners;
mod child_processes;
mod crews_at_work;
mod stays;
#[cfg(test)]
mod tests;

use self::channel_partners::name_channel_partners;
use self::child_processes::name_child_processes;
use self::crews_at_work::name_crews_at_work;
use self::stays::{Held, Stay, is_fiber, split_row, stays};
use crate::study::intervals::{length_ns, union};

/// Functions that called the waiting one, in which its holder is looked for: locks are often taken by functions of their own.
const CALLERS: usize = 3;
/// Part of the time of the waits in which somebody must be in such a function.
const SEEN_SHARE: f64 = 0.5;
/// Part of their waits that those of several fibers for one thing cover at most, if they wait for it at once.
const TOGETHER: f64 = 0.8;
/// Frames of a stack that are looked at.
const DEPTH: usize = 64;
/// How names of functions begin that are the runtime's and the locks' own.
const LIBRARY: &[&str] = &["runtime.", "sync.", "internal/sync.", "internal/runtime/"];

/// Names who ended waits in `view`, whose first threads are the fibers that `view.fibers` describes; where each change of state was recorded, of waits
/// for processes only, which a fiber leaves to its thread.
pub fn name_enders(view: &mut Trace) {
    let fibers = view.fiber_threads;
    if view.manifest.fiber_interval_ns == 0 {
        name_child_processes(view, fibers);
        view.tables_changed();
        return;
    }
    let spans: HashMap<ObjectId, Vec<Held>> = {
        let code = CodePlaces::of(view);
        let stays = stays(view, fibers);
        let waits = waits_for_locks(view, fibers);
        waits.iter().map(|(object, rows)| (*object, held(view, &code, &stays, *object, rows))).collect()
    };
    view.off_cpu = split(view, fibers, &spans);
    name_children(view, fibers);
    name_child_processes(view, fibers);
    name_channel_partners(view, fibers);
    name_crews_at_work(view, fibers);
    view.tables_changed();
}

/// Where the holder of each lock was for the longest part of the waits for it: by `view`, or where its fibers were sampled, by their
/// places.
pub fn held_at(view: &Trace) -> HashMap<ObjectId, StackId> {
    let mut view = view.clone();
    name_enders(&mut view);
    let off = &view.off_cpu;
    let mut waited: HashMap<(ObjectId, StackId), u64> = HashMap::new();
    let is_told = |row: &usize| off.waker_stack[*row].is_some() && is_held(object_type(&view, off.object[*row]));
    for row in (0..off.len()).filter(is_told) {
        *waited.entry((off.object[row], off.waker_stack[row])).or_default() += off.wait_ns[row];
    }
    let mut waited: Vec<_> = waited.into_iter().collect();
    waited.sort_unstable_by_key(|((_, stack), ns)| (*ns, stack.raw()));
    waited.into_iter().map(|(of, _)| of).collect() // the longest one last
}

/// Whether somebody has it while others wait.
fn is_held(kind: ObjectType) -> bool {
    matches!(kind, ObjectType::Mutex | ObjectType::RwLock | ObjectType::Once | ObjectType::Semaphore)
}

/// The functions and the frames of stacks.
struct CodePlaces<'t> {
    trace: &'t Trace,
    /// For each frame the first one of its function.
    function_of: Vec<u32>,
    is_library: Vec<bool>,
    /// Whether it is of a package that others wrote, or of Go's own library.
    is_package: Vec<bool>,
}

impl<'t> CodePlaces<'t> {
    fn of(trace: &'t Trace) -> Self {
        let mut first: HashMap<&str, u32> = HashMap::new();
        let names = || trace.frames.function.iter().map(String::as_str);
        let function_of = names().enumerate().map(|(row, name)| *first.entry(name).or_insert(row as u32)).collect();
        let is_library = names().map(|name| LIBRARY.iter().any(|prefix| name.starts_with(prefix))).collect();
        let files = trace.frames.file.iter().map(String::as_str);
        let is_package = names().zip(files).map(|(name, file)| is_of_package(file) || is_of_go(name, file)).collect();
        Self { trace, function_of, is_library, is_package }
    }

    /// Frames, leaf first.
    fn frames(&self, stack: StackId) -> impl Iterator<Item = usize> {
        let stacks = &self.trace.stacks;
        let rows = std::iter::successors(stack.get(), move |&row| stacks.parent[row].get());
        rows.take(DEPTH).filter_map(move |row| stacks.frame[row].get())
    }

    /// The functions of a wait's own code, from the one that waits on. With `runtime.goexit` every goroutine begins.
    fn callers(&self, stack: StackId) -> Vec<u32> {
        let own = self.frames(stack).filter(|&frame| !self.is_library[frame]);
        own.take(CALLERS).map(|frame| self.function_of[frame]).collect()
    }

    /// The methods of the thing that one is a method of: `(*Queue).flush` beside `(*Queue).add`.
    fn methods_beside(&self, function: u32) -> Vec<u32> {
        let names = &self.trace.frames.function;
        let Some((receiver, _)) = names[function as usize].split_once(").") else { return Vec::new() };
        let is_method = |frame: &usize| names[*frame].split_once(").").is_some_and(|(of, _)| of == receiver);
        (0..names.len()).filter(is_method).map(|frame| self.function_of[frame]).collect()
    }

    /// The function of the program's own sources that called what waits.
    fn own_function(&self, stack: StackId) -> Option<u32> {
        let own = self.frames(stack).find(|&frame| !self.is_library[frame] && !self.is_package[frame]);
        own.map(|frame| self.function_of[frame])
    }

    /// The frame at which a stack goes through one of the functions.
    fn frame_in(&self, stack: StackId, functions: &HashSet<u32>) -> Option<FrameId> {
        self.frames(stack).find(|&frame| functions.contains(&self.function_of[frame])).map(FrameId::new)
    }
}

/// The rows of fibers that wait for each lock and that nobody is known to have ended, by object. A wait group that several wait for is one: who
/// came first does the work for all of them, in the function in which they wait.
fn waits_for_locks(view: &Trace, fibers: usize) -> Vec<(ObjectId, Vec<usize>)> {
    let off = &view.off_cpu;
    let mut waits: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for row in 0..off.len() {
        let kind = object_type(view, off.object[row]);
        let may_be_lock = is_held(kind) || kind == ObjectType::WaitGroup;
        if may_be_lock && is_fiber(off.thread[row], fibers) && off.wait_ns[row] > 0 && !off.waker[row].is_some() {
            waits.entry(off.object[row]).or_default().push(row);
        }
    }
    let is_lock = |(object, rows): &(ObjectId, Vec<usize>)| {
        // One from a pool of them is another one's later.
        let wait_together = || {
            let spans =
                || rows.iter().map(|&row| (off.start_ns[row], off.start_ns[row].saturating_add(off.wait_ns[row])));
            let all_ns: u64 = spans().map(|(from, to)| to - from).sum();
            length_ns(&union(spans().collect())) as f64 <= TOGETHER * all_ns as f64
        };
        is_held(object_type(view, *object)) || wait_together()
    };
    waits.into_iter().filter(is_lock).collect()
}

/// Who held the lock `object` while the rows waited for it, by start.
fn held(view: &Trace, code: &CodePlaces<'_>, stays: &[Stay], object: ObjectId, rows: &[usize]) -> Vec<Held> {
    let off = &view.off_cpu;
    let waited = union(rows.iter().map(|&row| (off.start_ns[row], off.start_ns[row] + off.wait_ns[row])).collect());
    let waited_ns: u64 = waited.iter().map(|(from, to)| to - from).sum();
    let stacks: HashSet<StackId> = rows.iter().map(|&row| off.stack[row]).collect();
    let callers: Vec<Vec<u32>> = stacks.iter().map(|stack| code.callers(*stack)).collect();
    let kind = object_type(view, object);
    let mut levels: Vec<HashSet<u32>> =
        (0..CALLERS).map(|level| callers.iter().filter_map(|of_one| of_one.get(level).copied()).collect()).collect();
    // A lock that is a part of something is taken by several of its methods.
    if matches!(kind, ObjectType::Mutex | ObjectType::RwLock) {
        levels.push(
            callers.iter().filter_map(|of_one| of_one.first()).flat_map(|first| code.methods_beside(*first)).collect(),
        );
    }
    // Who has one of a pool's is no longer in the pool's functions.
    if kind == ObjectType::Semaphore {
        levels.push(stacks.iter().filter_map(|stack| code.own_function(*stack)).collect());
    }
    for functions in levels {
        let within = Within::of(code, stays, &functions, object, &waited);
        let spans = within.holders(matches!(kind, ObjectType::RwLock | ObjectType::Semaphore));
        let seen_ns: u64 = spans.iter().map(|span| span.to - span.from).sum();
        if seen_ns as f64 >= SEEN_SHARE * waited_ns as f64 {
            let mut begins_to_wait: HashMap<ThreadId, Vec<u64>> = HashMap::new();
            rows.iter().for_each(|&row| begins_to_wait.entry(off.thread[row]).or_default().push(off.start_ns[row]));
            return without_gaps(spans, &waited, &begins_to_wait);
        }
    }
    Vec::new()
}

/// Fibers in a function that takes a lock, while others waited for it.
struct Within {
    /// With the frame in that function, by start.
    stays: Vec<(Held, FrameId)>,
}

impl Within {
    fn of(
        code: &CodePlaces<'_>,
        stays: &[Stay],
        functions: &HashSet<u32>,
        object: ObjectId,
        waited: &[(u64, u64)],
    ) -> Self {
        let mut frame_in: HashMap<StackId, Option<FrameId>> = HashMap::new();
        let mut within = Vec::new();
        for stay in stays.iter().filter(|stay| stay.object != object) {
            let frame = *frame_in.entry(stay.stack).or_insert_with(|| code.frame_in(stay.stack, functions));
            let Some(frame) = frame else { continue };
            let first = waited.partition_point(|(_, to)| *to <= stay.from);
            for &(from, to) in waited[first..].iter().take_while(|(from, _)| *from < stay.to) {
                let held =
                    Held { from: from.max(stay.from), to: to.min(stay.to), fiber: stay.fiber, stack: stay.stack };
                within.push((held, frame));
            }
        }
        within.sort_by_key(|(held, _)| held.from);
        Self { stays: within }
    }

    /// Who held the lock when: of those that are there, the one at the call site that is most surely within the lock. `is_shared`:
    /// several may hold it.
    fn holders(&self, is_shared: bool) -> Vec<Held> {
        let mut sureness: HashMap<FrameId, i64> = HashMap::new();
        self.sweep(|from, to, active| {
            let length = (to - from).cast_signed();
            let alone = active.windows(2).all(|pair| self.stays[pair[0]].0.fiber == self.stays[pair[1]].0.fiber);
            for (at, &one) in active.iter().enumerate() {
                let (held, frame) = self.stays[one];
                let has_double = active[at + 1..]
                    .iter()
                    .any(|&other| self.stays[other].1 == frame && self.stays[other].0.fiber != held.fiber);
                let vote = if alone || is_shared {
                    length
                } else if has_double {
                    -length
                } else {
                    0
                };
                *sureness.entry(frame).or_default() += vote;
            }
        });
        let mut spans: Vec<Held> = Vec::new();
        self.sweep(|from, to, active| {
            let surest = active.iter().max_by_key(|&&one| {
                let (held, frame) = self.stays[one];
                (sureness.get(&frame).copied().unwrap_or(0), std::cmp::Reverse(held.from))
            });
            let Some(&surest) = surest else { return };
            let (held, _) = self.stays[surest];
            match spans.last_mut() {
                Some(last) if last.fiber == held.fiber && last.to == from => (last.to, last.stack) = (to, held.stack),
                _ => spans.push(Held { from, to, ..held }),
            }
        });
        spans
    }

    /// Calls `each` with stretches of time and the stays that are in all of each.
    fn sweep(&self, mut each: impl FnMut(u64, u64, &[usize])) {
        let mut edges: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * self.stays.len());
        for (number, (held, _)) in self.stays.iter().enumerate() {
            edges.push((held.from, true, number));
            edges.push((held.to, false, number));
        }
        edges.sort_unstable();
        let mut active: Vec<usize> = Vec::new();
        let mut since = 0;
        for (time, begins, number) in edges {
            if time > since && !active.is_empty() {
                each(since, time, &active);
            }
            since = time;
            if begins {
                active.push(number);
            } else {
                active.retain(|&other| other != number);
            }
        }
    }
}

/// Somebody holds a lock while others wait for it: where nobody was seen to, it is who was seen last, until that one waits for it again.
fn without_gaps(
    mut spans: Vec<Held>,
    waited: &[(u64, u64)],
    begins_to_wait: &HashMap<ThreadId, Vec<u64>>,
) -> Vec<Held> {
    for at in 0..spans.len() {
        let Held { to, fiber, .. } = spans[at];
        let next = spans.get(at + 1).map_or(u64::MAX, |next| next.from);
        let waits = begins_to_wait.get(&fiber).map_or(&[][..], Vec::as_slice);
        let again = waits.get(waits.partition_point(|begin| *begin < to)).copied().unwrap_or(u64::MAX);
        let within = waited.get(waited.partition_point(|(_, end)| *end < to)).map_or(to, |(_, end)| *end);
        spans[at].to = next.min(again).min(within).max(to);
    }
    spans
}

/// The rows, those of fibers that wait for a lock split by who held it.
fn split(view: &Trace, fibers: usize, spans: &HashMap<ObjectId, Vec<Held>>) -> OffCpu {
    let (off, mut rows) = (&view.off_cpu, OffCpu::default());
    for row in (0..off.len()).filter_map(|row| off.row(row)) {
        let held = spans.get(&row.object).filter(|_| is_fiber(row.thread, fibers) && row.wait_ns > 0);
        match held {
            Some(held) if !row.waker.is_some() => {
                split_row(&row, held, is_held(object_type(view, row.object)), &mut rows);
            }
            _ => drop(rows.push(row)),
        }
    }
    rows.in_order_of(|rows| &rows.start_ns)
}

/// Fibers that waited when they ended.
fn waiting_at_end(view: &Trace, fibers: usize) -> HashSet<ThreadId> {
    let off = &view.off_cpu;
    let to_its_end = |row: &usize| {
        let end_ns = off.thread[*row].get().filter(|fiber| *fiber < fibers).map(|fiber| view.threads.end_ns[fiber]);
        end_ns.is_some_and(|end_ns| off.wait_ns[*row] > 0 && off.start_ns[*row] + off.wait_ns[*row] >= end_ns)
    };
    (0..off.len()).filter(to_its_end).map(|row| off.thread[row]).collect()
}

/// A fiber that one made.
struct Child {
    born_ns: u64,
    end_ns: u64,
    fiber: ThreadId,
    /// Whether it did not wait when it ended: else it may have ended with the program only.
    ended_itself: bool,
    /// How many of its parent's children do the same.
    alike: usize,
    /// The function that made it.
    made_in: Option<u32>,
}

/// The children of each fiber that are the program's own, by their ends. The runtime's are children, too, and live to the program's end.
fn children(view: &Trace, code: &CodePlaces<'_>, fibers: usize) -> HashMap<ThreadId, Vec<Child>> {
    let (threads, made_at) = (&view.threads, &view.fibers.fibers.created_stack);
    let is_of_program = |&child: &usize| threads.exited[child] && !is_runtime_goroutine(&threads.name[child]);
    let mut alike: HashMap<(ThreadId, &str), usize> = HashMap::new();
    for child in (0..fibers).filter(is_of_program) {
        *alike.entry((threads.parent[child], &threads.name[child])).or_default() += 1;
    }
    let waiting = waiting_at_end(view, fibers);
    let mut children: HashMap<ThreadId, Vec<Child>> = HashMap::new();
    for child in (0..fibers).filter(is_of_program) {
        let (parent, fiber) = (threads.parent[child], ThreadId::new(child));
        let alike = alike[&(parent, threads.name[child].as_str())];
        let (born_ns, end_ns) = (threads.start_ns[child], threads.end_ns[child]);
        let ended_itself = !waiting.contains(&fiber);
        let made_in = made_at.get(child).and_then(|stack| code.callers(*stack).first().copied());
        children.entry(parent).or_default().push(Child { born_ns, end_ns, fiber, ended_itself, alike, made_in });
    }
    children.values_mut().for_each(|of_one| of_one.sort_unstable_by_key(|child| (child.end_ns, child.fiber)));
    children
}

/// A fiber that waits for a wait group waits for those that it made; and so does one that receives from a channel, where one of these
/// ended as the wait did.
fn name_children(view: &mut Trace, fibers: usize) {
    let near_ns = 2 * view.manifest.fiber_interval_ns;
    let code = CodePlaces::of(view);
    let children = children(view, &code, fibers);
    let mut rows = OffCpu::default();
    for row in (0..view.off_cpu.len()).filter_map(|row| view.off_cpu.row(row)) {
        let kind = object_type(view, row.object);
        let is_join = kind == ObjectType::WaitGroup || kind == ObjectType::Channel && receives(view, row.stack);
        let is_open = !row.waker.is_some() && row.outcome != Outcome::Unfinished.code();
        let waits_in = || code.frames(row.stack).map(|frame| code.function_of[frame]).collect::<Vec<u32>>();
        match children.get(&row.thread).filter(|_| is_join && is_open).map(|made| Made {
            children: made,
            waits_in: waits_in(),
            near_ns,
        }) {
            Some(made) if kind == ObjectType::WaitGroup => {
                by_generation(&made, &row).into_iter().for_each(|piece| {
                    rows.push(piece);
                });
            }
            // A channel may be a ticker's, which no child ends: not even one that is still there when the program ends.
            Some(made) => {
                let end_ns = row.start_ns.saturating_add(row.wait_ns);
                let child = made.last_child(end_ns);
                let child = child.filter(|child| child.ended_itself && child.end_ns > row.start_ns);
                let named = child.map(|child| (child.fiber, WakerKind::Thread.code()));
                let (waker, waker_kind) = named.unwrap_or((row.waker, row.waker_kind));
                rows.push(OffCpuRow { waker, waker_kind, ..row });
            }
            None => {
                rows.push(row);
            }
        }
    }
    view.off_cpu = rows.in_order_of(|rows| &rows.start_ns);
}

/// A wait cut by those that ended it: whoever was found waiting at each look may have waited for one generation of children after the other. What came
/// before the first of them that was seen is nobody's.
fn by_generation(made: &Made<'_>, row: &OffCpuRow) -> Vec<OffCpuRow> {
    let row_end = row.start_ns.saturating_add(row.wait_ns);
    let (mut pieces, mut end) = (Vec::new(), row_end);
    let mut piece = |from: u64, to: u64, ender: Option<ThreadId>| {
        let is_last = to == row_end;
        let mut piece = OffCpuRow {
            start_ns: from,
            wait_ns: to - from,
            runnable_ns: if is_last { row.runnable_ns } else { 0 },
            outcome: if is_last { row.outcome } else { Outcome::Woken.code() },
            ..row.clone()
        };
        if let Some(ender) = ender {
            (piece.waker, piece.waker_kind) = (ender, WakerKind::Thread.code());
        }
        pieces.push(piece);
    };
    while end > row.start_ns
        && let Some(child) = made.last_child(end).filter(|child| child.end_ns > row.start_ns)
    {
        // The first look finds children that have been there since the wait began.
        let begin =
            if child.born_ns <= row.start_ns.saturating_add(made.near_ns) { row.start_ns } else { child.born_ns };
        piece(begin, end, Some(child.fiber));
        end = begin;
    }
    if end > row.start_ns || row.wait_ns == 0 {
        piece(row.start_ns, end, None);
    }
    pieces
}

/// The fibers that one made which waits for some of them.
struct Made<'c> {
    /// By their ends.
    children: &'c [Child],
    /// The functions in which it waits, the innermost first.
    waits_in: Vec<u32>,
    /// How far apart ends may be that looks show, ns.
    near_ns: u64,
}

impl Made<'_> {
    /// The child whose end a wait until `end_ns` was for: of several that ended about then one that the function made which waits, and no library that
    /// it calls; that ended by itself, and is of those that do the same work; the nearest one, and the one that lived longest.
    fn last_child(&self, end_ns: u64) -> Option<&Child> {
        let until = self.children.partition_point(|child| child.end_ns <= end_ns.saturating_add(self.near_ns));
        let last =
            self.children[..until].iter().rev().take_while(|child| child.end_ns.saturating_add(self.near_ns) >= end_ns);
        let apart = |child: &Child| Reverse((child.end_ns.abs_diff(end_ns), child.born_ns));
        let caller = |child: &Child| self.waits_in.iter().position(|function| child.made_in == Some(*function));
        let nearness = |child: &Child| Reverse(caller(child).unwrap_or(usize::MAX));
        last.filter(|child| child.born_ns < end_ns)
            .max_by_key(|child| (nearness(child), child.ended_itself, child.alike, apart(child)))
    }
}
