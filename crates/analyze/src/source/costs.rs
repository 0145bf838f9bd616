//! Where in the subject the time of each stack was spent: by line, and by address.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ModuleId, StackId};
use dwell_query::engine::fold::Fold;

use crate::source::cost::Cost;
use crate::source::subject::Subject;

/// A line: file, number, and the inlined function that it is of.
pub type CostLine<'t> = (&'t str, u32, Option<&'t str>);

/// Which instruction an address on a stack means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// The one that begins there.
    There,
    /// The one that ends there: a call.
    Before,
    /// The one that ends there when it is a system call, else the one that begins there.
    BeforeIfSystemCall,
}

/// A place in machine code: module, address, and which instruction it means.
pub type Address = (ModuleId, u64, Means);

/// The time of a subject.
#[derive(Default)]
pub struct Costs<'t> {
    /// By line.
    pub lines: BTreeMap<CostLine<'t>, Cost>,
    /// By address.
    pub addresses: BTreeMap<Address, Cost>,
    /// Of all stacks that go through the subject, each once.
    pub total: Cost,
}

/// A frame of a stack, the leaf first.
struct Frame {
    row: usize,
    /// Which call it is of: inlined functions share theirs with the function that they are inlined into.
    call: usize,
    /// Whether the thread went into the kernel here.
    into_kernel: bool,
}

impl<'t> Costs<'t> {
    /// Sums what the fold's query selects.
    pub fn new(fold: &Fold<'t>, subject: &Subject) -> Self {
        let mut by_stack: HashMap<StackId, Cost> = HashMap::new();
        for (_, site, weights) in fold.selected() {
            let cost = Cost {
                cpu_ns: weights.cpu_ns(),
                cpu_total_ns: weights.cpu_ns(),
                wait_ns: weights.wait_ns(),
                wait_total_ns: weights.wait_ns(),
                waits: weights.wait_count,
            };
            by_stack.entry(site.key.stack).or_default().add(&cost);
        }
        let mut costs = Self::default();
        for (stack, cost) in by_stack {
            costs.add(fold, subject, stack, &cost);
        }
        costs
    }

    fn add(&mut self, fold: &Fold<'t>, subject: &Subject, stack: StackId, cost: &Cost) {
        let frames = &fold.trace.frames;
        let is_subject = |frame: &Frame| subject.has_frame(fold.trace, frame.row);
        let (mut chain, leaf, own) = chain(fold, stack);
        for frame in chain.iter_mut().filter(|frame| frame.call == 0) {
            frame.into_kernel |= cost.waits > 0 || cost.wait_total_ns > 0;
        }
        let chain = chain;
        let shown = || {
            chain.iter().enumerate().skip(leaf).filter(|(_, frame)| fold.query.inlines || !frames.inlined[frame.row])
        };
        let (mut lines, mut calls) = (BTreeMap::<CostLine<'t>, Cost>::new(), BTreeMap::<Address, Cost>::new());
        let mut total = Cost::default();
        for (at, frame) in shown().filter(|(_, frame)| is_subject(frame)) {
            let part =
                part(cost, chain[leaf].call == frame.call, chain.get(own).is_some_and(|own| own.call == frame.call));
            merge(calls.entry(address(fold, frame)).or_default(), &part);
            merge(&mut total, &part);
            for (inner, within) in shown().filter(|(inner, within)| *inner <= at && within.call == frame.call) {
                let inlined = (!is_subject(within)).then(|| frames.function[within.row].as_str());
                let line = (frames.file[within.row].as_str(), frames.line[within.row], inlined);
                merge(lines.entry(line).or_default(), &self::part(cost, inner == leaf, inner == own));
            }
        }
        lines.into_iter().for_each(|(line, part)| self.lines.entry(line).or_default().add(&part));
        calls.into_iter().for_each(|(address, part)| self.addresses.entry(address).or_default().add(&part));
        self.total.add(&total);
    }
}

/// The stack's frames from the leaf, the number of the one that CPU time is attributed to, and of the one that a wait is.
fn chain(fold: &Fold<'_>, stack: StackId) -> (Vec<Frame>, usize, usize) {
    let frames = &fold.trace.frames;
    let (leaf_stack, own_stack) = (fold.sums.stacks.shown(stack), fold.sums.stacks.own(stack));
    let (mut chain, mut leaf, mut own, mut call) = (Vec::new(), 0, 0, 0);
    let mut inner_kernel = false;
    for (at, stack) in fold.sums.stacks.whole_chain(stack).enumerate() {
        let Some(row) = fold.sums.stacks.frame(stack) else { break };
        chain.push(Frame { row, call, into_kernel: inner_kernel && !frames.kernel[row] });
        leaf = if stack == leaf_stack { at } else { leaf };
        own = if stack == own_stack { at } else { own };
        if !frames.inlined[row] {
            call += 1;
            inner_kernel = frames.kernel[row];
        }
    }
    (chain, leaf, own)
}

fn address(fold: &Fold<'_>, frame: &Frame) -> Address {
    let frames = &fold.trace.frames;
    let means = match (frames.after_call[frame.row], frame.into_kernel) {
        (true, _) => Means::Before,
        (false, true) => Means::BeforeIfSystemCall,
        (false, false) => Means::There,
    };
    (frames.module[frame.row], frames.offset[frame.row], means)
}

/// The part of a stack's time that is of a place on it.
fn part(cost: &Cost, is_leaf: bool, is_own: bool) -> Cost {
    Cost {
        cpu_ns: if is_leaf { cost.cpu_ns } else { 0 },
        wait_ns: if is_own { cost.wait_ns } else { 0 },
        waits: if is_own { cost.waits } else { 0 },
        ..*cost
    }
}

/// A stack counts once for a place, however often it goes through it.
fn merge(sum: &mut Cost, part: &Cost) {
    sum.cpu_ns = sum.cpu_ns.max(part.cpu_ns);
    sum.cpu_total_ns = sum.cpu_total_ns.max(part.cpu_total_ns);
    sum.wait_ns = sum.wait_ns.max(part.wait_ns);
    sum.wait_total_ns = sum.wait_total_ns.max(part.wait_total_ns);
    sum.waits = sum.waits.max(part.waits);
}
