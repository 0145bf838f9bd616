//! Splits each thread's running time over its samples, so that the weights sum to it exactly.
//!
//! A sample stands for the running time since the thread's sample before; what a thread runs after its last sample
//! goes to that one. A thread without a sample, because it ran less than a sampling interval, gets estimated ones: its
//! running time at the stacks where it left the CPU.

use std::ops::Range;

use dwell_model::ThreadId;

use crate::hash::FastMap;
use crate::replay::numbers::StackNumber;
use crate::replay::rows::{RawSampleRow, RawSamples};

#[derive(Clone, Copy, Default)]
struct Clock {
    ran_ns: u64,
    at_sample_ns: u64,
    last: Option<usize>,
}

#[derive(Clone, Copy)]
struct Estimate {
    weight_ns: u64,
    time_ns: u64,
    cpu: u16,
}

/// Running time on its way to samples.
#[derive(Default)]
pub struct SampleWeights {
    clocks: Vec<Clock>,
    samples: RawSamples,
    estimates: FastMap<(ThreadId, StackNumber), Estimate>,
}

impl SampleWeights {
    /// The next thread begins.
    pub fn begin(&mut self) {
        self.clocks.push(Clock::default());
    }

    /// The thread ran over `span` and left the CPU at `stack`.
    pub fn ran(&mut self, thread: ThreadId, span: Range<u64>, cpu: u16, stack: StackNumber) {
        let Some(clock) = thread.get().and_then(|row| self.clocks.get_mut(row)) else { return };
        let ran_ns = span.end - span.start;
        clock.ran_ns += ran_ns;
        if clock.last.is_some() || ran_ns == 0 {
            return;
        }
        let estimate = self.estimates.entry((thread, stack)).or_insert(Estimate { weight_ns: 0, time_ns: 0, cpu });
        estimate.weight_ns += ran_ns;
        estimate.time_ns = span.end;
        estimate.cpu = cpu;
    }

    /// A sample of the thread, which has run for `slice_ns` since it came to its CPU.
    pub fn sample(&mut self, thread: ThreadId, time_ns: u64, slice_ns: u64, at: (u16, StackNumber)) {
        let Some(clock) = thread.get().and_then(|row| self.clocks.get_mut(row)) else { return };
        let ran_ns = clock.ran_ns + slice_ns;
        let weight_ns = ran_ns - clock.at_sample_ns;
        clock.at_sample_ns = ran_ns;
        let (cpu, stack) = at;
        let row = RawSampleRow { thread, time_ns, weight_ns, cpu, stack, estimated: false };
        clock.last = Some(self.samples.push(row));
    }

    /// The samples in the order of time; every thread's intervals are closed.
    pub fn finish(&mut self) -> RawSamples {
        for clock in &self.clocks {
            if let Some(last) = clock.last {
                self.samples.weight_ns[last] += clock.ran_ns - clock.at_sample_ns;
            }
        }
        let estimates = self.estimates();
        let mut samples = std::mem::take(&mut self.samples);
        for ((thread, stack), Estimate { weight_ns, time_ns, cpu }) in estimates {
            samples.push(RawSampleRow { thread, time_ns, weight_ns, cpu, stack, estimated: true });
        }
        samples.in_order_of(|samples| &samples.time_ns)
    }

    /// The estimates of threads without a sample. Time without a stack, at a thread's end, goes to its latest one.
    fn estimates(&mut self) -> Vec<((ThreadId, StackNumber), Estimate)> {
        let clocks = &self.clocks;
        let sampled = |thread: ThreadId| thread.get().is_none_or(|row| clocks[row].last.is_some());
        let mut all: Vec<_> = self.estimates.drain().filter(|((thread, _), _)| !sampled(*thread)).collect();
        // Time without a stack comes last in its thread's group.
        all.sort_by_key(|&((thread, stack), estimate)| (thread, !stack.is_some(), estimate.time_ns, stack));
        let mut kept: Vec<((ThreadId, StackNumber), Estimate)> = Vec::with_capacity(all.len());
        for ((thread, stack), estimate) in all {
            match kept.last_mut() {
                Some(((last, _), latest)) if *last == thread && !stack.is_some() => {
                    latest.weight_ns += estimate.weight_ns;
                }
                _ => kept.push(((thread, stack), estimate)),
            }
        }
        kept
    }
}
