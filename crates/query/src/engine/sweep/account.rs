//! What a thread's steps say of its intervals, cut by the clock.

use crate::engine::sweep::course::{Phase, StepKind, ThreadCursor};
use crate::engine::sweep::swept::{OffCpuSplit, SweepInput, Visitor};
use crate::measure::utilization::{add, minus};

/// How the program stood right behind a step.
#[derive(Clone, Copy)]
pub struct ClockSnapshot<const N: usize> {
    /// Time of each class until then.
    pub clock: [u64; N],
    /// Threads that ran.
    pub running: u32,
}

/// What is to be told of one thread.
pub struct IntervalSplitter<const N: usize> {
    phase: Phase,
    /// Class in which the row at hand began, when it is counted.
    began: Option<u8>,
    /// Off-CPU row that it is in.
    row: usize,
    next_row: usize,
    next_sample: usize,
    /// Tasks and announced waits that it is in.
    context: u32,
    next_edge: usize,
    /// The clock when the phase began.
    since: [u64; N],
    /// Blocked part of the row at hand.
    blocked: [u64; N],
    /// Running time since the last sample, the phase at hand left out.
    ran: [u64; N],
}

impl<const N: usize> IntervalSplitter<N> {
    /// Of a thread with this course ahead.
    pub fn new(course: &ThreadCursor) -> Self {
        Self {
            phase: course.phase,
            began: None,
            row: course.row,
            next_row: course.rows.0,
            next_sample: course.samples.0,
            context: course.context,
            next_edge: course.edges.0,
            since: [0; N],
            blocked: [0; N],
            ran: [0; N],
        }
    }

    /// A step, behind which the program stood as in `moment`.
    pub fn step(
        &mut self,
        swept: &SweepInput<'_>,
        (thread, what): (usize, StepKind),
        moment: &ClockSnapshot<N>,
        visitor: &mut impl Visitor<N>,
    ) {
        match what {
            StepKind::Woken => {
                self.blocked = self.pass(moment);
                self.phase = Phase::Runnable;
            }
            StepKind::Ran => self.close_row(moment, visitor),
            StepKind::Start => {
                self.phase = Phase::Running;
                self.since = moment.clock;
            }
            StepKind::Sample => self.sample(thread, moment, visitor),
            StepKind::Edge => self.edge(swept, thread, moment, visitor),
            StepKind::Blocks | StepKind::Queues | StepKind::Passes => self.leave(swept, what, moment, visitor),
            StepKind::End => self.stop(swept, thread, moment, visitor),
        }
    }

    /// Tells what is known of a thread that ends, or at the end of the sweep.
    pub fn stop(
        &mut self,
        swept: &SweepInput<'_>,
        thread: usize,
        moment: &ClockSnapshot<N>,
        visitor: &mut impl Visitor<N>,
    ) {
        if self.phase == Phase::Absent {
            return;
        }
        self.close_row(moment, visitor);
        let passed = self.pass(moment);
        add(&mut self.ran, &passed);
        self.tell_ran(swept, thread, visitor);
        self.phase = Phase::Absent;
    }

    /// Time since the phase, or what was last asked of it, began.
    fn pass(&mut self, moment: &ClockSnapshot<N>) -> [u64; N] {
        let passed = minus(&moment.clock, &self.since);
        self.since = moment.clock;
        passed
    }

    /// Tells what the thread ran since its last sample, or since its context began.
    fn tell_ran(&mut self, swept: &SweepInput<'_>, thread: usize, visitor: &mut impl Visitor<N>) {
        let ran = std::mem::replace(&mut self.ran, [0; N]);
        visitor.ran(thread, self.representative_sample(swept, thread), self.context, &ran);
    }

    /// The sample that stands for what the thread runs now: its next one in the same context, else the last one.
    fn representative_sample(&self, swept: &SweepInput<'_>, thread: usize) -> Option<usize> {
        let (samples, nesting) = (swept.events.samples.of(thread), swept.nesting);
        let next = Some(self.next_sample).filter(|next| *next < samples.end);
        let stretches = nesting.of_thread(thread);
        let Some(current) = self.next_edge.checked_sub(1).filter(|current| stretches.contains(current)) else {
            // What runs after the last sample is of that.
            return next.or_else(|| samples.last());
        };
        let edge = || nesting.start_ns[self.next_edge];
        let is_within = |next: &usize| self.next_edge == stretches.end || swept.events.samples.time_ns(*next) <= edge();
        next.filter(is_within)
            .or_else(|| Some(nesting.sample[current] as usize).filter(|row| *row != u32::MAX as usize))
    }

    /// The thread begins or ends a task or an announced wait: what it did until now was in the context before.
    fn edge(
        &mut self,
        swept: &SweepInput<'_>,
        thread: usize,
        moment: &ClockSnapshot<N>,
        visitor: &mut impl Visitor<N>,
    ) {
        let passed = self.pass(moment);
        let began = self.began.take().map(usize::from);
        let (row, context) = (self.row, self.context);
        let blocked = std::mem::replace(&mut self.blocked, [0; N]);
        match self.phase {
            Phase::Running => add(&mut self.ran, &passed),
            Phase::Blocked => {
                visitor.off_cpu(row, &OffCpuSplit { context, blocked: passed, runnable: [0; N], began });
            }
            Phase::Runnable => visitor.off_cpu(row, &OffCpuSplit { context, blocked, runnable: passed, began }),
            Phase::Absent => {}
        }
        self.tell_ran(swept, thread, visitor);
        self.context = swept.nesting.context[self.next_edge];
        self.next_edge += 1;
    }

    /// Ends the row that the thread is in, if any: it runs then.
    fn close_row(&mut self, moment: &ClockSnapshot<N>, visitor: &mut impl Visitor<N>) {
        if !matches!(self.phase, Phase::Blocked | Phase::Runnable) {
            return;
        }
        let passed = self.pass(moment);
        let was_blocked = self.phase == Phase::Blocked;
        let (blocked, runnable) = if was_blocked { (passed, [0; N]) } else { (self.blocked, passed) };
        self.phase = Phase::Running;
        let (context, began) = (self.context, self.began.map(usize::from));
        visitor.off_cpu(self.row, &OffCpuSplit { context, blocked, runnable, began });
    }

    /// The thread leaves the CPU.
    fn leave(
        &mut self,
        swept: &SweepInput<'_>,
        what: StepKind,
        moment: &ClockSnapshot<N>,
        visitor: &mut impl Visitor<N>,
    ) {
        self.close_row(moment, visitor);
        let passed = self.pass(moment);
        add(&mut self.ran, &passed);
        // One that comes back at once was away all the same.
        let running = moment.running as usize - usize::from(what == StepKind::Passes);
        self.began = Some(swept.class_of[running]);
        self.row = self.next_row;
        self.next_row += 1;
        self.blocked = [0; N];
        self.phase = if what == StepKind::Blocks { Phase::Blocked } else { Phase::Runnable };
        if what == StepKind::Passes {
            self.close_row(moment, visitor);
        }
    }

    fn sample(&mut self, thread: usize, moment: &ClockSnapshot<N>, visitor: &mut impl Visitor<N>) {
        if self.phase == Phase::Running {
            let passed = self.pass(moment);
            add(&mut self.ran, &passed);
        }
        let ran = std::mem::replace(&mut self.ran, [0; N]);
        let sample = self.next_sample;
        self.next_sample += 1;
        visitor.ran(thread, Some(sample), self.context, &ran);
    }
}
