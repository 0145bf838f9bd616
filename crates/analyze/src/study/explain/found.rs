//! What the walk finds: causes, and the time that chains wait because of them.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_store::WordMap;

use crate::study::explain::chains::{Chains, NodeId};
use crate::study::explain::terms::{Cause, CauseKind, Link};

/// Waits are idle when their enders had no work for this part of the time or more.
const IDLE_SHARE: f64 = 0.5;

/// A cause, by number.
pub type CauseId = u32;

/// Waits of one role for one thing at one place, thread-nanoseconds.
#[derive(Default)]
struct Answers {
    /// All of them.
    all_ns: u64,
    /// Those that did not end by a time-out, or with the recording.
    answered_ns: u64,
    /// Those because of threads without work.
    no_work_ns: u64,
}

/// What the walk finds.
#[derive(Default)]
pub struct FoundCauses {
    /// The causes.
    pub causes: Vec<Cause>,
    /// Time that each chain waits because of each cause: thread-nanoseconds.
    pub waits_ns: WordMap<(NodeId, CauseId), u64>,
    /// Of each cause: pieces of threads' time in which anybody waited because of it.
    pub spans: Vec<Vec<(u64, u64)>>,
    /// Of each cause: a stack of it.
    pub stacks: Vec<StackId>,
    /// Steps that it took.
    pub steps: u64,
    numbers: WordMap<Cause, CauseId>,
}

impl FoundCauses {
    /// The number of a cause, which is at `stack`.
    pub fn number(&mut self, cause: Cause, stack: StackId) -> CauseId {
        let next = self.causes.len() as CauseId;
        let number = *self.numbers.entry(cause).or_insert(next);
        if number == next {
            self.causes.push(cause);
            self.spans.push(Vec::new());
            self.stacks.push(stack);
        }
        number
    }

    /// Adds what another walk found; `here` says which node each of its is.
    pub fn add(&mut self, other: Self, here: &[NodeId]) {
        let numbers: Vec<CauseId> =
            other.causes.iter().zip(&other.stacks).map(|(cause, stack)| self.number(*cause, *stack)).collect();
        for ((node, cause), ns) in other.waits_ns {
            let sum = self.waits_ns.entry((here[node as usize], numbers[cause as usize])).or_default();
            *sum = sum.saturating_add(ns);
        }
        for (number, spans) in numbers.iter().zip(other.spans) {
            spans.into_iter().for_each(|span| self.span(*number, span));
        }
        self.steps += other.steps;
    }

    /// Removes the waits that were for whatever comes: those of a role for one thing at one place that, where they were
    /// answered, were mostly answered by threads without work. Who was asked is not idle. Returns them: the first wait of the
    /// chain, thread-nanoseconds.
    pub fn remove_idle_waits(&mut self, chains: &Chains) -> Vec<(Link, u64)> {
        let mut groups: BTreeMap<Link, Answers> = BTreeMap::new();
        for ((node, cause), ns) in &self.waits_ns {
            let Some(first) = chains.first(*node) else { continue };
            let (of, cause) = (groups.entry(first).or_default(), &self.causes[*cause as usize]);
            let is_open = matches!(cause.kind, CauseKind::TimedOut | CauseKind::Unfinished);
            of.all_ns = of.all_ns.saturating_add(*ns);
            if !is_open || chains.node(*node).depth > 1 {
                of.answered_ns = of.answered_ns.saturating_add(*ns);
            }
            if cause.no_work {
                of.no_work_ns = of.no_work_ns.saturating_add(*ns);
            }
        }
        groups.retain(|_, of| of.no_work_ns > 0 && of.no_work_ns as f64 >= IDLE_SHARE * of.answered_ns as f64);
        self.waits_ns.retain(|(node, _), _| chains.first(*node).is_none_or(|first| !groups.contains_key(&first)));
        groups.into_iter().map(|(first, of)| (first, of.all_ns)).collect()
    }

    /// Notes a piece of time in which anybody waited because of a cause. They come latest first, mostly: the last one grows.
    pub fn span(&mut self, cause: CauseId, (from, to): (u64, u64)) {
        let spans = &mut self.spans[cause as usize];
        match spans.last_mut() {
            Some(last) if from <= last.1 && last.0 <= to => *last = (from.min(last.0), to.max(last.1)),
            _ => spans.push((from, to)),
        }
    }
}
