//! The annotated trace as a flame chart over the clock: which calls were active at each instant, one below the other, and what
//! can be seen of them at a width of so many pixels.
//!
//! One stack is executed at a time. A call whose stack gives way to another one (a switch of tasks, of threads, of coroutines)
//! is cut there and goes on where its stack does, so that pieces of one depth never overlap. Each depth has its pieces in the
//! order of time, with sums of blocks of them: a tile costs what its pixels cost, however many calls there are.

use std::collections::HashMap;

use super::Anatomy;
use super::calls::Call;

/// Depths that are drawn; calls below them are not.
pub const MOST_DEPTHS: usize = 256;
/// Pieces of calls that are kept.
const MOST_PIECES: usize = 1 << 23;
/// Pieces whose sum is kept.
const BLOCK: usize = 64;

/// A part of a call, in which its stack was executed.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: u64,
    end: u64,
    call: u32,
}

impl Piece {
    fn ticks(&self) -> u64 {
        self.end - self.begin
    }
}

/// What [`BLOCK`] pieces have in common.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// Their ticks.
    ticks: u64,
    /// The number of the longest one.
    longest: usize,
}

/// The pieces of one depth.
#[derive(Default)]
struct Depth {
    pieces: Vec<Piece>,
    sums: Vec<Sum>,
}

/// The chart of a trace.
pub struct Chart {
    depths: Vec<Depth>,
    /// From when on it does not have everything, in ticks.
    pub missing: Option<u64>,
    /// Whether there are calls below the last depth.
    pub is_cut: bool,
}

/// Which calls are looked for; the others are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lit {
    /// All calls.
    #[default]
    All,
    /// Those of these phases.
    Phases(Vec<u16>),
    /// Those of this function.
    Function(u32),
}

impl Lit {
    fn has(&self, call: &Call) -> bool {
        match self {
            Self::All => true,
            Self::Phases(phases) => phases.contains(&call.phase),
            Self::Function(function) => call.function == *function,
        }
    }
}

/// A part of the chart.
#[derive(Clone, Debug)]
pub struct Sought {
    /// From where, in ticks.
    pub from: u64,
    /// To where, in ticks.
    pub to: u64,
    /// How many pixels that is.
    pub width: u32,
    /// Which calls.
    pub lit: Lit,
}

/// What is drawn: one row for each piece that can be seen, and for pieces that share a pixel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Calls above it.
    pub depth: Vec<u16>,
    /// Where it begins, in ticks.
    pub begin: Vec<u64>,
    /// Where it ends, in ticks.
    pub end: Vec<u64>,
    /// The number of the call, of several the longest one.
    pub call: Vec<u32>,
    /// How many there are.
    pub calls: Vec<u32>,
    /// Ticks that they take of it.
    pub ticks: Vec<u64>,
}

impl Chart {
    /// The chart of what was annotated.
    pub fn new(anatomy: &Anatomy) -> Self {
        let runs = executed(anatomy);
        let mut chart = Self { depths: Vec::new(), missing: anatomy.missing, is_cut: false };
        let mut room = MOST_PIECES;
        for (number, call) in anatomy.calls.iter().enumerate() {
            let depth = usize::from(call.depth);
            if depth >= MOST_DEPTHS {
                chart.is_cut = true;
                continue;
            }
            if chart.depths.len() <= depth {
                chart.depths.resize_with(depth + 1, Depth::default);
            }
            let of_stack = runs.get(&call.root).map_or(&[][..], Vec::as_slice);
            let first = of_stack.partition_point(|run| run.1 <= call.begin);
            for run in of_stack[first..].iter().take_while(|run| run.0 < call.end) {
                let (begin, end) = (call.begin.max(run.0), call.end.min(run.1));
                if room == 0 {
                    chart.missing = Some(chart.missing.map_or(call.begin, |missing| missing.min(call.begin)));
                } else if begin < end {
                    chart.depths[depth].pieces.push(Piece { begin, end, call: number as u32 });
                    room -= 1;
                }
            }
        }
        chart.depths.iter_mut().for_each(Depth::finish);
        chart
    }

    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        self.depths.iter().map(|depth| depth.pieces.capacity() * size_of::<Piece>()).sum()
    }

    /// Depths that it has.
    pub fn depths(&self) -> usize {
        self.depths.len()
    }

    /// What can be seen of a part.
    pub fn pieces(&self, anatomy: &Anatomy, sought: &Sought) -> Pieces {
        let mut seen = Pieces::default();
        if sought.from >= sought.to {
            return seen;
        }
        for (number, depth) in self.depths.iter().enumerate() {
            let mut tell = |merged: Merged| {
                seen.depth.push(number as u16);
                seen.begin.push(merged.begin);
                seen.end.push(merged.end);
                seen.call.push(depth.pieces[merged.longest].call);
                seen.calls.push(merged.count as u32);
                seen.ticks.push(merged.ticks);
            };
            match &sought.lit {
                Lit::All => depth.seen(sought, &mut tell),
                lit => depth.seen_of(sought, &|piece| lit.has(&anatomy.calls[piece.call as usize]), &mut tell),
            }
        }
        seen
    }

    /// The calls that were active at an instant, the outermost first.
    pub fn active(&self, at: u64) -> Vec<u32> {
        self.depths.iter().map_while(|depth| depth.at(at).map(|piece| piece.call)).collect()
    }
}

/// When each stack was executed, by its outermost call.
fn executed(anatomy: &Anatomy) -> HashMap<u32, Vec<(u64, u64)>> {
    let mut runs: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    let end = anatomy.missing.unwrap_or(anatomy.ticks);
    let ends = anatomy.runs.iter().skip(1).map(|run| run.begin).chain([end]);
    for (run, end) in anatomy.runs.iter().zip(ends) {
        let of_stack = runs.entry(run.root).or_default();
        match of_stack.last_mut() {
            Some(last) if last.1 == run.begin => last.1 = end,
            _ => of_stack.push((run.begin, end)),
        }
    }
    runs
}

/// Pieces that share a pixel, or one that is longer.
struct Merged {
    begin: u64,
    end: u64,
    longest: usize,
    count: usize,
    ticks: u64,
}

/// The width of a pixel, and in which one an instant lies.
struct Pixels {
    from: u64,
    ticks: u64,
}

impl Pixels {
    fn of(sought: &Sought) -> Self {
        let span = sought.to - sought.from;
        Self { from: sought.from, ticks: span.div_ceil(u64::from(sought.width.max(1))).max(1) }
    }

    /// Where the pixel ends in which something begins.
    fn end(&self, begin: u64) -> u64 {
        self.from + (begin.saturating_sub(self.from) / self.ticks + 1) * self.ticks
    }
}

impl Depth {
    fn finish(&mut self) {
        self.pieces.shrink_to_fit();
        if !self.pieces.is_sorted_by_key(|piece| piece.begin) {
            self.pieces.sort_unstable_by_key(|piece| piece.begin);
        }
        let sum = |(number, pieces): (usize, &[Piece])| {
            let longest = (0..pieces.len()).max_by_key(|&at| pieces[at].ticks()).unwrap_or(0);
            Sum { ticks: pieces.iter().map(Piece::ticks).sum(), longest: number * BLOCK + longest }
        };
        self.sums = self.pieces.chunks(BLOCK).enumerate().map(sum).collect();
    }

    fn at(&self, at: u64) -> Option<&Piece> {
        let number = self.pieces.partition_point(|piece| piece.end <= at);
        self.pieces.get(number).filter(|piece| piece.begin <= at)
    }

    fn seen(&self, sought: &Sought, tell: &mut impl FnMut(Merged)) {
        let pixels = Pixels::of(sought);
        let mut at = self.pieces.partition_point(|piece| piece.end <= sought.from);
        while let Some(piece) = self.pieces.get(at).filter(|piece| piece.begin < sought.to) {
            if piece.ticks() >= pixels.ticks {
                tell(self.one(at));
                at += 1;
                continue;
            }
            let mut end = at + self.until(at, pixels.end(piece.begin).min(sought.to));
            // Only the last one that begins in the pixel can be longer.
            if end > at + 1 && self.pieces[end - 1].ticks() >= pixels.ticks {
                end -= 1;
            }
            tell(self.merged(at, end));
            at = end;
        }
    }

    /// How many pieces from here on begin before an instant: found in steps that double, since there are few in a pixel.
    fn until(&self, from: usize, instant: u64) -> usize {
        let pieces = &self.pieces[from..];
        let mut step = 1;
        while step < pieces.len() && pieces[step].begin < instant {
            step *= 2;
        }
        let reach = step.min(pieces.len());
        step / 2 + pieces[step / 2..reach].partition_point(|piece| piece.begin < instant)
    }

    fn one(&self, at: usize) -> Merged {
        let piece = &self.pieces[at];
        Merged { begin: piece.begin, end: piece.end, longest: at, count: 1, ticks: piece.ticks() }
    }

    fn merged(&self, from: usize, to: usize) -> Merged {
        let (mut ticks, mut longest) = (0, from);
        let mut take = |sum: Sum| {
            ticks += sum.ticks;
            if self.pieces[sum.longest].ticks() > self.pieces[longest].ticks() {
                longest = sum.longest;
            }
        };
        let mut at = from;
        while at < to {
            if at.is_multiple_of(BLOCK) && at + BLOCK <= to {
                take(self.sums[at / BLOCK]);
                at += BLOCK;
            } else {
                take(Sum { ticks: self.pieces[at].ticks(), longest: at });
                at += 1;
            }
        }
        let (begin, end) = (self.pieces[from].begin, self.pieces[to - 1].end);
        Merged { begin, end, longest, count: to - from, ticks }
    }

    /// The same of some pieces only: looks at every one.
    fn seen_of(&self, sought: &Sought, is_lit: &impl Fn(&Piece) -> bool, tell: &mut impl FnMut(Merged)) {
        let pixels = Pixels::of(sought);
        let mut open: Option<Merged> = None;
        let first = self.pieces.partition_point(|piece| piece.end <= sought.from);
        for (at, piece) in self.pieces.iter().enumerate().skip(first) {
            if piece.begin >= sought.to {
                break;
            }
            if !is_lit(piece) {
                continue;
            }
            let one = self.one(at);
            match &mut open {
                Some(merged) if one.ticks < pixels.ticks && piece.begin < pixels.end(merged.begin) => {
                    if one.ticks > self.pieces[merged.longest].ticks() {
                        merged.longest = at;
                    }
                    (merged.end, merged.count, merged.ticks) = (one.end, merged.count + 1, merged.ticks + one.ticks);
                }
                _ if one.ticks >= pixels.ticks => {
                    open.take().into_iter().for_each(&mut *tell);
                    tell(one);
                }
                _ => open.replace(one).into_iter().for_each(&mut *tell),
            }
        }
        open.into_iter().for_each(tell);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::annotate::calls::Run;

    fn call(depth: u16, begin: u64, end: u64, root: u32) -> Call {
        Call { function: u32::from(depth), phase: depth % 2, depth, thread: 0, root, begin, end, instructions: 1 }
    }

    fn anatomy(calls: Vec<Call>, runs: Vec<Run>, ticks: u64) -> Anatomy {
        Anatomy { calls, runs, ticks, ..Anatomy::default() }
    }

    fn all(from: u64, to: u64, width: u32) -> Sought {
        Sought { from, to, width, lit: Lit::All }
    }

    #[test]
    fn a_call_is_cut_where_another_stack_is_executed() {
        let calls = vec![call(0, 0, 100, 0), call(1, 10, 90, 0), call(0, 30, 50, 2)];
        let runs = [(0, 0), (30, 2), (50, 0)].map(|(begin, root)| Run { begin, root });
        let anatomy = anatomy(calls, runs.to_vec(), 100);
        let chart = Chart::new(&anatomy);
        let seen = chart.pieces(&anatomy, &all(0, 100, 100));
        let drawn: Vec<_> = (0..seen.call.len()).map(|at| (seen.depth[at], seen.begin[at], seen.end[at])).collect();
        assert_eq!(drawn, [(0, 0, 30), (0, 30, 50), (0, 50, 100), (1, 10, 30), (1, 50, 90)]);
        assert_eq!((chart.active(40), chart.active(60), chart.active(95)), (vec![2], vec![0, 1], vec![0]));
    }

    #[test]
    fn what_shares_a_pixel_is_one_piece_named_by_the_longest() {
        let calls: Vec<Call> = (0..1000).map(|at| call(0, at * 10, at * 10 + 1 + at % 7, 0)).collect();
        let anatomy = anatomy(calls, vec![Run { begin: 0, root: 0 }], 10_000);
        let chart = Chart::new(&anatomy);
        let seen = chart.pieces(&anatomy, &all(0, 10_000, 10));
        assert_eq!(seen.calls, vec![100; 10]);
        assert!(seen.call.iter().all(|&number| number % 7 == 6), "{:?}", seen.call);
        let lit = Sought { lit: Lit::Phases(vec![1]), ..all(0, 10_000, 10) };
        assert_eq!(chart.pieces(&anatomy, &lit), Pieces::default());
    }

    proptest! {
        /// Whatever the pixels, nothing is drawn twice or left out, and looking at every piece gives the same.
        #[test]
        fn every_tick_is_drawn_once(
            lengths in prop::collection::vec((0u64..20, 1u64..400), 1..300), from in 0u64..20_000, span in 1u64..40_000, width in 1u32..300,
        ) {
            let mut clock = 0;
            let calls: Vec<Call> = lengths.iter().map(|&(gap, length)| {
                let begin = clock + gap;
                clock = begin + length;
                call(0, begin, clock, 0)
            }).collect();
            let inside = |call: &&Call| call.begin < from + span && call.end > from;
            let (count, ticks) = calls.iter().filter(inside).fold((0, 0), |(count, ticks), call| (count + 1, ticks + call.end - call.begin));
            let anatomy = anatomy(calls, vec![Run { begin: 0, root: 0 }], clock);
            let chart = Chart::new(&anatomy);
            let seen = chart.pieces(&anatomy, &all(from, from + span, width));
            prop_assert_eq!(seen.calls.iter().map(|&calls| u64::from(calls)).sum::<u64>(), count);
            prop_assert_eq!(seen.ticks.iter().sum::<u64>(), ticks);
            prop_assert!(seen.call.len() <= 2 * width as usize + 2);
            let each = Sought { lit: Lit::Phases(vec![0]), ..all(from, from + span, width) };
            prop_assert_eq!(chart.pieces(&anatomy, &each).ticks.iter().sum::<u64>(), ticks);
        }
    }
}
