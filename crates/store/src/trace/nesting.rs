//! What each thread says that it is in, instant by instant: its tasks and announced waits, nested.
//!
//! A thread's time is cut where one of them begins or ends; a piece is in a *context*: the path of what is open, the
//! outermost first. Contexts are numbered, and equal ones of all threads are one. Overlapped tasks, regions and frames
//! are no part of it: they do not nest, and may end on another thread.

use std::ops::Range;

use dwell_model::{ObjectId, TaskKind, TaskTypeId, ThreadId};

use super::annotations::Annotations;
use super::events::SampleEvents;
use crate::hash::WordMap;
use crate::table::Table;
use crate::tables::Threads;

/// The context outside of everything.
pub const OUTSIDE: u32 = 0;

/// What a thread can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A task, an event, or a visit between two probes.
    Task(TaskTypeId),
    /// A wait that the program announced.
    Wait(ObjectId),
}

/// Open scopes of a thread that are told apart; what begins inside of so many is a part of the last one.
const DEEPEST: usize = 64;

/// The contexts of every thread, each thread's stretches in order of time.
#[derive(Debug, Default)]
pub struct Nesting {
    begins: Vec<u64>,
    /// When a stretch begins; it ends with the next one, or the thread.
    pub start_ns: Vec<u64>,
    /// Its context.
    pub context: Vec<u32>,
    /// The sample, a row of the samples' events, that stands for what runs behind its own samples: the thread's next one
    /// in an equal context, else the last one; `u32::MAX` for none.
    pub sample: Vec<u32>,
    /// The context around each, and what it is in there; that of [`OUTSIDE`] is no part of it.
    paths: Vec<(u32, Scope)>,
    /// Tasks and waits that began inside of [`DEEPEST`] others.
    pub too_deep: u64,
}

impl Nesting {
    /// The contexts that the annotations of a trace make, from its threads and their samples.
    pub(super) fn of(annotations: &Annotations, threads: &Threads, samples: &SampleEvents) -> Self {
        let mut builder = Builder { nesting: Self::default(), ids: WordMap::default(), open: Vec::new() };
        let mut scopes = scopes(annotations, threads.tid.len());
        builder.nesting.begins.push(0);
        for (thread, scopes) in scopes.iter_mut().enumerate() {
            if !scopes.is_empty() {
                scopes.sort_by_key(|(start, ..)| *start);
                builder.thread((threads.start_ns[thread], threads.end_ns[thread]), scopes);
                builder.nesting.stand_ins(samples, thread);
            }
            builder.nesting.begins.push(builder.nesting.start_ns.len() as u64);
        }
        builder.nesting
    }

    /// Stretches of `thread`; empty for one that is in no task and no announced wait all its life.
    pub fn of_thread(&self, thread: usize) -> Range<usize> {
        let at = |index: usize| self.begins.get(index).map_or(0, |begin| *begin as usize);
        at(thread)..at(thread + 1)
    }

    /// Number of contexts.
    pub fn contexts(&self) -> usize {
        self.paths.len() + 1
    }

    /// Whether there is any context but [`OUTSIDE`].
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The context around `context`, and what it is in there; none for [`OUTSIDE`].
    pub fn scope(&self, context: u32) -> Option<(u32, Scope)> {
        self.paths.get((context as usize).checked_sub(1)?).copied()
    }

    /// Task types of a context, the innermost first.
    pub fn tasks(&self, context: u32) -> impl Iterator<Item = TaskTypeId> + '_ {
        let path = std::iter::successors(self.scope(context), |(around, _)| self.scope(*around));
        path.filter_map(|(_, scope)| match scope {
            Scope::Task(task) => Some(task),
            Scope::Wait(_) => None,
        })
    }

    /// The innermost task type of a context.
    pub fn task(&self, context: u32) -> TaskTypeId {
        self.tasks(context).next().unwrap_or(TaskTypeId::NONE)
    }

    /// What is waited on in a context by the program's own word: an announced wait, with no task begun in it.
    pub fn announced(&self, context: u32) -> ObjectId {
        match self.scope(context) {
            Some((_, Scope::Wait(object))) => object,
            _ => ObjectId::NONE,
        }
    }

    /// The context of `thread` at an instant.
    pub fn at(&self, thread: usize, time: u64) -> u32 {
        let rows = self.of_thread(thread);
        let behind = self.start_ns[rows.clone()].partition_point(|start| *start <= time);
        behind.checked_sub(1).map_or(OUTSIDE, |last| self.context[rows.start + last])
    }

    /// Fills in `sample` for the last thread's stretches.
    fn stand_ins(&mut self, samples: &SampleEvents, thread: usize) {
        let first = self.begins.last().map_or(0, |begin| *begin as usize);
        let of_thread = samples.of(thread);
        // A sample stands for the time before it, so that one at the end of a stretch is the stretch's.
        let behind = |time: Option<&u64>| {
            time.map_or(of_thread.end, |end| samples.partition_point(of_thread.clone(), |at| at <= *end))
        };
        let (mut next, mut end): (WordMap<u32, u32>, usize) = (WordMap::default(), of_thread.end);
        for row in (first..self.start_ns.len()).rev() {
            self.sample[row] = next.get(&self.context[row]).copied().unwrap_or(u32::MAX);
            let from = if row == first { of_thread.start } else { behind(self.start_ns.get(row)) };
            if from < end {
                next.insert(self.context[row], from as u32);
            }
            end = from;
        }
        let mut last: WordMap<u32, u32> = WordMap::default();
        let mut from = of_thread.start;
        for row in first..self.start_ns.len() {
            let end = behind(self.start_ns.get(row + 1));
            if from < end {
                last.insert(self.context[row], end as u32 - 1);
            }
            if self.sample[row] == u32::MAX {
                self.sample[row] = last.get(&self.context[row]).copied().unwrap_or(u32::MAX);
            }
            from = end;
        }
    }
}

/// A scope of a thread: start and end, ns, and what it is.
type Span = (u64, u64, Scope);

/// The scopes that nest, by thread.
fn scopes(annotations: &Annotations, threads: usize) -> Vec<Vec<Span>> {
    let mut scopes: Vec<Vec<Span>> = vec![Vec::new(); threads];
    let mut add = |thread: ThreadId, span: Span| {
        if let Some(of) = thread.get().and_then(|thread| scopes.get_mut(thread)).filter(|_| span.0 < span.1) {
            of.push(span);
        }
    };
    let (tasks, waits) = (&annotations.tasks, &annotations.sync_waits);
    for row in 0..tasks.len() {
        let task = tasks.task_type[row];
        let kind = task.get().and_then(|task| annotations.task_types.kind.get(task)).copied().unwrap_or(0);
        if matches!(TaskKind::from_code(kind), TaskKind::Task | TaskKind::Event | TaskKind::Probe) {
            add(tasks.thread[row], (tasks.start_ns[row], tasks.end_ns[row], Scope::Task(task)));
        }
    }
    for row in 0..waits.len() {
        add(waits.thread[row], (waits.start_ns[row], waits.end_ns[row], Scope::Wait(waits.object[row])));
    }
    scopes
}

struct Builder {
    nesting: Nesting,
    ids: WordMap<(u32, Scope), u32>,
    /// The open scopes of the thread at hand: end, what it is, and the context in it.
    open: Vec<(u64, Scope, u32)>,
}

impl Builder {
    /// The stretches of one thread from its scopes in order of their starts.
    fn thread(&mut self, life: (u64, u64), scopes: &[Span]) {
        self.open.clear();
        self.stretch(life.0, OUTSIDE);
        for (start, end, scope) in scopes {
            let start = (*start).max(life.0);
            if start >= (*end).min(life.1) {
                continue;
            }
            self.close(start);
            if self.open.len() == DEEPEST {
                self.nesting.too_deep += 1;
                continue;
            }
            let context = self.context(self.innermost(), *scope);
            self.open.push((*end, *scope, context));
            self.stretch(start, context);
        }
        self.close(life.1);
    }

    fn innermost(&self) -> u32 {
        self.open.last().map_or(OUTSIDE, |(.., context)| *context)
    }

    /// Ends what is open and over at `time`. Of scopes that cross, those left stay nested as they began.
    fn close(&mut self, time: u64) {
        let over = |open: &[(u64, Scope, u32)]| {
            // At the same instant, the inner one first.
            let ends = open.iter().enumerate().rev().map(|(place, (end, ..))| (*end, place));
            ends.filter(|(end, _)| *end <= time).min_by_key(|(end, _)| *end)
        };
        while let Some((end, place)) = over(&self.open) {
            self.open.remove(place);
            for above in place..self.open.len() {
                let around = above.checked_sub(1).map_or(OUTSIDE, |below| self.open[below].2);
                self.open[above].2 = self.context(around, self.open[above].1);
            }
            self.stretch(end, self.innermost());
        }
    }

    fn context(&mut self, around: u32, scope: Scope) -> u32 {
        // A task in one of its own kind is no other context: recursion has no end.
        if self.nesting.scope(around).is_some_and(|(_, known)| known == scope) {
            return around;
        }
        let paths = &mut self.nesting.paths;
        *self.ids.entry((around, scope)).or_insert_with(|| {
            paths.push((around, scope));
            paths.len() as u32
        })
    }

    fn stretch(&mut self, time: u64, context: u32) {
        let nesting = &mut self.nesting;
        let first = nesting.begins.last().map_or(0, |begin| *begin as usize);
        let count = nesting.start_ns.len();
        if count > first && nesting.context[count - 1] == context {
            return;
        }
        if count > first && nesting.start_ns[count - 1] == time {
            nesting.context[count - 1] = context;
            return;
        }
        nesting.start_ns.push(time);
        nesting.context.push(context);
        nesting.sample.push(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(scopes: &[(u64, u64, u32)]) -> Vec<(u64, Vec<u32>)> {
        let mut builder = Builder { nesting: Nesting::default(), ids: WordMap::default(), open: Vec::new() };
        let scopes: Vec<Span> =
            scopes.iter().map(|(start, end, task)| (*start, *end, Scope::Task(TaskTypeId::from_raw(*task)))).collect();
        builder.nesting.begins.push(0);
        builder.thread((10, 100), &scopes);
        let nesting = builder.nesting;
        let path = |context: u32| nesting.tasks(context).map(TaskTypeId::raw).collect();
        nesting.start_ns.iter().zip(&nesting.context).map(|(start, context)| (*start, path(*context))).collect()
    }

    #[test]
    fn tasks_nest() {
        let nested = stretches(&[(20, 60, 1), (30, 40, 2), (40, 50, 3)]);
        let expected: Vec<(u64, Vec<u32>)> =
            vec![(10, vec![]), (20, vec![1]), (30, vec![2, 1]), (40, vec![3, 1]), (50, vec![1]), (60, vec![])];
        assert_eq!(nested, expected);
    }

    #[test]
    fn tasks_of_two_domains_may_cross() {
        let crossed = stretches(&[(20, 50, 1), (30, 60, 2)]);
        assert_eq!(crossed, vec![(10, vec![]), (20, vec![1]), (30, vec![2, 1]), (50, vec![2]), (60, vec![])]);
    }

    #[test]
    fn recursion_is_one_context_and_lives_bound_tasks() {
        let deep: Vec<(u64, u64, u32)> = (0..200).map(|depth| (20 + depth / 10, 200 - depth, 1)).collect();
        assert_eq!(stretches(&deep), vec![(10, vec![]), (20, vec![1])]);
        assert_eq!(stretches(&[(0, 15, 1), (0, 5, 2), (90, 900, 3)]), vec![(10, vec![1]), (15, vec![]), (90, vec![3])]);
    }
}
