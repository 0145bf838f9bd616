//! The way through the code as a timeline of functions: who ran from when to when, how deep, for how many instructions.

use crate::decoder::{Flow, Step};

/// Depths below and above which functions are drawn at the edge: a trace may begin anywhere, and may be damaged.
const MOST_DEPTH: i32 = 1 << 16;

/// A stretch in which one function ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<F> {
    /// The function.
    pub function: F,
    /// By the time stamp counter, when its first instruction ran.
    pub tsc: u64,
    /// Address of that instruction.
    pub ip: u64,
    /// Calls that it is deep in, relative to where the trace begins: returns from there lead below 0.
    pub depth: i32,
    /// Instructions until another function ran.
    pub instructions: u64,
}

/// What a trace gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline<F> {
    /// In order; a stretch ends where the next begins.
    pub stretches: Vec<Stretch<F>>,
    /// Instructions in all.
    pub instructions: u64,
    /// Times at which nothing was traced.
    pub pauses: u64,
    /// Places at which the way was lost, by why.
    pub gaps: Vec<(&'static str, u64)>,
    /// Stretches beyond the most that are kept.
    pub left_out: u64,
}

impl<F: Copy + PartialEq> Timeline<F> {
    /// Of the steps of one trace; at most `most` stretches are kept. `function` says which function an address is in.
    pub fn of(steps: impl Iterator<Item = Step>, most: usize, mut function: impl FnMut(u64) -> F) -> Self {
        let mut timeline = Self { stretches: Vec::new(), instructions: 0, pauses: 0, gaps: Vec::new(), left_out: 0 };
        let (mut depth, mut follows, mut before) = (0, false, Flow::On);
        let mut current: Option<Stretch<F>> = None;
        for step in steps {
            let (ip, tsc, flow) = match step {
                Step::Gap { why, lost } => {
                    timeline.gap(why, lost);
                    timeline.keep(current.take(), most);
                    follows = false;
                    continue;
                }
                Step::Instruction { ip, tsc, flow } => (ip, tsc, flow),
            };
            timeline.instructions += 1;
            depth = match before {
                Flow::Call if follows => (depth + 1).min(MOST_DEPTH),
                Flow::Return if follows => (depth - 1).max(-MOST_DEPTH),
                _ => depth,
            };
            (before, follows) = (flow, true);
            let name = function(ip);
            match &mut current {
                Some(stretch) if stretch.function == name && stretch.depth == depth => stretch.instructions += 1,
                _ => {
                    let next = Stretch { function: name, tsc, ip, depth, instructions: 1 };
                    timeline.keep(current.replace(next), most);
                }
            }
        }
        timeline.keep(current, most);
        timeline
    }

    fn gap(&mut self, why: &'static str, lost: bool) {
        if !lost {
            self.pauses += 1;
            return;
        }
        match self.gaps.iter_mut().find(|(it, _)| *it == why) {
            Some((_, count)) => *count += 1,
            None => self.gaps.push((why, 1)),
        }
    }

    fn keep(&mut self, stretch: Option<Stretch<F>>, most: usize) {
        let Some(stretch) = stretch else { return };
        if self.stretches.len() < most {
            self.stretches.push(stretch);
        } else {
            self.left_out += 1;
        }
    }
}
