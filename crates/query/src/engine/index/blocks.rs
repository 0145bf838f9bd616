//! Blocks of time: which of them answer a question, and reading them.

use std::collections::HashSet;
use std::ops::Range;

use dwell_store::{Column, Index, Trace};
use dwell_work::parallel;

use crate::engine::index::began::Began;
use crate::engine::index::begun::BegunRow;
use crate::engine::index::by_cpu::ByCpu;
use crate::engine::index::by_running::ByRunning;
use crate::engine::index::code;
use crate::engine::index::levels::{FAN_OUT, HEAD_SECTION, Head, edge, levels, limits, pieces};
use crate::engine::index::running::{Running, TakenRows};
use crate::engine::sums::{DetailKeys, KeySums, Numbering, Summer};
use crate::engine::sweep::{OffCpuSplit, OpenInterval, SweepInput, Visitor};
use crate::engine::target::target_concurrency;
use crate::measure::lengths::Run;
use crate::question::filter::FilterKey;
use crate::question::length_rules::LengthRules;
use crate::question::query::Query;
use crate::question::windows::{Part, Windows};

/// Numbers of the sections of the index.
pub const PLACE_SECTION: u64 = 101;
pub const SUMS_SECTION: u64 = 102;
pub const LENGTHS_SECTION: u64 = 103;
/// Blocks of the lowest level that has lengths, at most: below it, lengths are as many as the intervals themselves.
pub const LENGTH_BLOCKS: u64 = 4;

/// Where a block's bytes are in their sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockPlace {
    /// Begin and end of its sums.
    pub sums: [u64; 2],
    /// Begin and end of its lengths.
    pub lengths: [u64; 2],
}

/// The blocks of an index.
pub struct Blocks {
    head: Head,
    places: Column<BlockPlace>,
    sums: Column<u8>,
    lengths: Column<u8>,
    keys: Numbering,
}

impl Blocks {
    /// The blocks of `trace`, when its index has any that fit it.
    pub fn of(trace: &Trace) -> Option<Self> {
        let index: &Index = trace.index()?;
        let head = *index.column::<Head>(HEAD_SECTION).first()?;
        let fits = head == Head::of(trace, head.blocks) && head.blocks > 0 && head.blocks < 1 << 32;
        let places = index.column::<BlockPlace>(PLACE_SECTION);
        let whole = places.len() as u64 == levels(head.blocks).iter().sum::<u64>();
        let (sums, lengths) = (index.column(SUMS_SECTION), index.column(LENGTHS_SECTION));
        let keys = Numbering::of_keys(trace);
        (fits && whole).then_some(Self { head, places, sums, lengths, keys })
    }

    /// Whether they were summed for these classes.
    fn answer(&self, trace: &Trace, query: &Query) -> bool {
        let target = u64::from(target_concurrency(trace, query));
        self.head.target == target && self.head.limits == limits(&query.thresholds)
    }

    /// The blocks inside `from .. to` of the first level that has at most `most`: how many the levels below have, how many
    /// this one, and which of them; and the ends that are left.
    fn inside(&self, from: u64, to: u64, most: u64) -> (Inside, Vec<(u64, u64)>) {
        let below = self.below(most);
        let count = levels(self.head.blocks).into_iter().find(|count| *count <= most).unwrap_or(1);
        let edge = |block: u64| edge(self.head.elapsed_ns, count, block);
        let first = (0..=count).first_block_where(|block| edge(block) >= from);
        let mut end = first;
        while end < count && edge(end + 1) <= to {
            end += 1;
        }
        let mut ends = vec![(from, edge(first)), (edge(end), to)];
        if first >= end {
            ends = vec![(from, to)];
        }
        ends.retain(|(from, to)| from < to);
        (Inside { below, count, blocks: first..end }, ends)
    }

    /// How many blocks the levels of more than `most` have.
    fn below(&self, most: u64) -> u64 {
        levels(self.head.blocks).iter().filter(|count| **count > most).sum()
    }

    /// The same as [`Self::within`] for several spans.
    fn within_all(&self, spans: &[(u64, u64)], most: u64) -> (Vec<usize>, Ends) {
        let within = spans.iter().map(|(from, to)| self.within(*from, *to, most));
        let (numbers, ends): (Vec<_>, Vec<_>) = within.unzip();
        (numbers.concat(), ends.concat())
    }

    /// Numbers of the blocks inside `from .. to`, of levels of at most `most` blocks, the largest there are; and the
    /// ends that are left.
    fn within(&self, from: u64, to: u64, most: u64) -> (Vec<usize>, Vec<(u64, u64)>) {
        let (inside, ends) = self.inside(from, to, most);
        let (mut first, mut end) = (inside.blocks.start, inside.blocks.end);
        let (mut blocks, mut before, mut size) = (Vec::new(), inside.below, inside.count);
        while first < end {
            while first < end && (!first.is_multiple_of(FAN_OUT) || size == 1) {
                blocks.push((before + first) as usize);
                first += 1;
            }
            while first < end && !end.is_multiple_of(FAN_OUT) {
                end -= 1;
                blocks.push((before + end) as usize);
            }
            (before, size) = (before + size, size / FAN_OUT);
            (first, end) = (first / FAN_OUT, end / FAN_OUT);
        }
        (blocks, ends)
    }

    fn bytes(column: &Column<u8>, place: [u64; 2]) -> &[u8] {
        column.get(place[0] as usize..place[1] as usize).unwrap_or_default()
    }

    /// Adds a block's sums, with its times by class or without them.
    pub fn add_sums(&self, block: usize, with_times: bool, sums: &mut KeySums) {
        let place = self.places.get(block).copied().unwrap_or_default();
        // Damaged bytes end early: the index is the user's own, and can be deleted.
        let _ = code::decode(Self::bytes(&self.sums, place.sums), self.keys, with_times, sums);
    }

    /// Adds what a block has besides the sums of its keys.
    pub fn add_head(&self, block: usize, sums: &mut KeySums) {
        let place = self.places.get(block).copied().unwrap_or_default();
        let _ = code::decode_head(&mut code::NumberReader::new(Self::bytes(&self.sums, place.sums)), true, sums);
    }

    /// Tells a block's lengths.
    pub fn for_each_run(&self, block: usize, tell: impl FnMut(&Run)) {
        let place = self.places.get(block).copied().unwrap_or_default();
        code::for_each_run(Self::bytes(&self.lengths, place.lengths), tell);
    }
}

/// Blocks of one level.
struct Inside {
    /// Blocks of the levels below.
    below: u64,
    /// Blocks of the level.
    count: u64,
    blocks: Range<u64>,
}

/// The first number of a range for which something holds that holds for all behind it; the last one when for none.
trait CollectFirst {
    fn first_block_where(self, holds: impl Fn(u64) -> bool) -> u64;
}

impl CollectFirst for std::ops::RangeInclusive<u64> {
    fn first_block_where(self, holds: impl Fn(u64) -> bool) -> u64 {
        let (mut low, mut high) = (*self.start(), *self.end());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// Where blocks have what a question asks for.
enum Source {
    /// In their own sums.
    Sums,
    /// For classes that are not the blocks' own, the times elsewhere: of the blocks behind so many.
    ByRunning(ByRunning, u64),
    /// Where CPUs are told apart, elsewhere, likewise.
    ByCpu(ByCpu, u64),
}

/// Blocks that answer a question.
struct Chosen {
    blocks: Blocks,
    /// Those that are summed.
    summed: Vec<usize>,
    source: Source,
    /// Those whose lengths are told.
    of_lengths: Vec<usize>,
}

/// What of the spans is left at the ends of blocks.
type Ends = Vec<(u64, u64)>;

impl Chosen {
    /// By the blocks' own sums: the largest there are. With the ends that are left, and those whose lengths are.
    fn of_sums(blocks: Blocks, trace: &Trace, query: &Query) -> (Self, Ends, Ends) {
        let spans = Windows::spans(trace, query);
        let ((summed, ends), (of_lengths, length_ends)) =
            (blocks.within_all(&spans, u64::MAX), blocks.within_all(&spans, LENGTH_BLOCKS));
        (Self { blocks, summed, source: Source::Sums, of_lengths }, ends, length_ends)
    }

    /// By times of a level of `count` blocks.
    fn of_level(
        blocks: Blocks,
        (trace, query): (&Trace, &Query),
        count: u64,
        source: impl FnOnce(u64) -> Source,
    ) -> (Self, Ends, Ends) {
        let spans = Windows::spans(trace, query).into_iter();
        let (inside, ends): (Vec<_>, Vec<_>) = spans.map(|(from, to)| blocks.inside(from, to, count)).unzip();
        let below = inside.first().map_or(0, |inside| inside.below);
        let summed =
            inside.into_iter().flat_map(|inside| inside.blocks).map(|block| (below + block) as usize).collect();
        let (of_sums, _, length_ends) = Self::of_sums(blocks, trace, query);
        (Self { summed, source: source(below), ..of_sums }, ends.concat(), length_ends)
    }

    fn by_running(blocks: Blocks, trace: &Trace, query: &Query) -> Option<(Self, Ends, Ends)> {
        let times = ByRunning::of(trace, &blocks.head)?;
        let (summed, ends) = blocks.within_all(&Windows::spans(trace, query), times.blocks());
        let below = blocks.below(times.blocks());
        let (of_sums, _, length_ends) = Self::of_sums(blocks, trace, query);
        Some((Self { summed, source: Source::ByRunning(times, below), ..of_sums }, ends, length_ends))
    }

    /// Lengths are looked at interval by interval: blocks do not tell CPUs apart in them.
    fn by_cpu(blocks: Blocks, trace: &Trace, query: &Query, details: &DetailKeys) -> Option<(Self, Ends, Ends)> {
        let by_cpu = ByCpu::of(trace, &blocks.head, details)?;
        let (chosen, ends, _) =
            Self::of_level(blocks, (trace, query), by_cpu.blocks(), |below| Source::ByCpu(by_cpu, below));
        Some((Self { of_lengths: Vec::new(), ..chosen }, ends, Windows::spans(trace, query)))
    }
}

/// How a question is answered: by blocks, and by sweeps of parts of the time.
pub struct AnswerPlan<'t> {
    swept: SweepInput<'t>,
    trace: &'t Trace,
    chosen: Option<Chosen>,
    /// What is swept besides.
    parts: Vec<Part>,
    /// Whose intervals are looked at besides for their lengths.
    length_parts: Vec<Part>,
    began: Option<Began>,
}

/// Pieces of a part that are looked at side by side.
const PIECES: u64 = 8;
/// Pieces of a part that is swept, for each worker: where there is one only, all wait for who has the last.
const SWEPT_PIECES: u64 = 2;

impl<'t> AnswerPlan<'t> {
    /// For `query`, which looks at `windows` and may tell more apart than keys do.
    pub fn new(trace: &'t Trace, query: &Query, windows: &Windows, details: Option<&DetailKeys>) -> Self {
        let swept = SweepInput::new(trace, query);
        let blocks = Blocks::of(trace);
        let answers = blocks.as_ref().is_some_and(|blocks| blocks.answer(trace, query));
        // Where no filter asks for the class in which intervals began, any will do.
        let by_class = query.filters.iter().chain(&query.exclude).any(|filter| filter.key == FilterKey::Utilization);
        let began = Began::of(trace).filter(|_| answers || !by_class);
        let chosen = blocks.and_then(|blocks| match (answers, details) {
            (true, None) => Some(Chosen::of_sums(blocks, trace, query)),
            (true, Some(details)) => Chosen::by_cpu(blocks, trace, query, details),
            (false, None) if !by_class => Chosen::by_running(blocks, trace, query),
            (false, _) => None,
        });
        // Blocks do not tell the lengths of single waits.
        let chosen = chosen.map(|(chosen, ends, length_ends)| match LengthRules::of_query(query) {
            Some(_) => (Chosen { of_lengths: Vec::new(), ..chosen }, ends, Windows::spans(trace, query)),
            None => (chosen, ends, length_ends),
        });
        let Some((chosen, ends, length_ends)) = chosen else {
            let parts: Vec<Part> = windows.inside(0, u64::MAX).collect();
            return Self { swept, trace, chosen: None, length_parts: parts.clone(), parts, began };
        };
        let parts_of = |ends: Ends| ends.into_iter().flat_map(|(from, to)| windows.inside(from, to)).collect();
        Self { swept, trace, chosen: Some(chosen), parts: parts_of(ends), length_parts: parts_of(length_ends), began }
    }

    /// How much of the time is swept.
    pub fn swept_ns(&self) -> u64 {
        self.parts.iter().map(|part| part.to - part.from).sum()
    }

    /// Sums everything, on all CPUs.
    pub fn sum(&self, details: Option<&mut DetailKeys>) -> KeySums {
        let pieces = pieces(&self.parts, SWEPT_PIECES * parallel::workers() as u64);
        let numbers = self.chosen.as_ref().map_or(&[][..], |chosen| &chosen.summed);
        self.summed(numbers.len() + pieces.len(), details, |sums, details, number| {
            let Some(piece) = number.checked_sub(numbers.len()).and_then(|piece| pieces.get(piece)) else {
                // The largest blocks come last, and take longest.
                let block = numbers.iter().rev().nth(number).zip(self.chosen.as_ref());
                if let Some((block, chosen)) = block {
                    self.add_block(chosen, *block, sums, details);
                }
                return;
            };
            let levels = self.swept.sweep(*piece, &mut Summer::new(self.trace, sums, details));
            sums.levels.add(&levels);
        })
    }

    /// Sums the off-CPU rows of `windows` of which `takes` takes key and wait.
    pub fn sum_taken(
        &self,
        windows: &Windows,
        takes: &(impl Fn(u32, u64) -> bool + Sync),
        details: Option<&mut DetailKeys>,
    ) -> KeySums {
        let parts: Vec<Part> = windows.inside(0, u64::MAX).collect();
        let plain = details.is_none() && self.trace.nesting().is_empty();
        if let Some((running, began)) = Running::of(self.trace).zip(self.began.as_ref()).filter(|_| plain) {
            let rows = TakenRows { trace: self.trace, began, keys: Numbering::of_keys(self.trace), takes };
            let slabs: Vec<(usize, Part)> = parts.iter().flat_map(|part| running.pieces(*part)).collect();
            return self.summed(slabs.len(), None, |sums, _, number| {
                let (slab, part) = slabs[number];
                rows.add(&running.clock(slab, &self.swept), part, sums);
            });
        }
        let pieces = pieces(&parts, parallel::workers() as u64);
        self.summed(pieces.len(), details, |sums, details, number| {
            let summer = Summer::new(self.trace, sums, details);
            self.swept.sweep(pieces[number], &mut SweptRows { summer, trace: self.trace, takes });
        })
    }

    /// The sums of what `add` adds for each number below `count`, on all CPUs.
    fn summed(
        &self,
        count: usize,
        mut details: Option<&mut DetailKeys>,
        add: impl Fn(&mut KeySums, Option<&mut DetailKeys>, usize) + Sync,
    ) -> KeySums {
        let keys = if details.is_some() { 0 } else { Numbering::of_keys(self.trace).outside() };
        let like = details.as_deref();
        let new = || (KeySums::new(keys), like.map(DetailKeys::fresh));
        let add = |(sums, details): &mut (KeySums, Option<DetailKeys>), number: usize| {
            add(sums, details.as_mut(), number);
        };
        let mut parts = parallel::fold(count, new, add).into_iter();
        let (mut sum, own) = if like.is_none_or(|like| like.pairs.is_empty()) { parts.next() } else { None }
            .unwrap_or_else(|| (KeySums::new(keys), None));
        if let (Some(details), Some(own)) = (details.as_deref_mut(), own) {
            *details = own;
        }
        for (part, own) in parts {
            sum.merge(&part, |key| {
                let pair = own.as_ref().and_then(|own| own.pairs.get(key as usize));
                pair.zip(details.as_deref_mut()).map_or(key, |((key, detail), details)| details.of(*key, *detail))
            });
        }
        sum
    }

    fn add_block(&self, chosen: &Chosen, block: usize, sums: &mut KeySums, details: Option<&mut DetailKeys>) {
        let blocks = &chosen.blocks;
        match (&chosen.source, details) {
            (Source::Sums, _) => blocks.add_sums(block, true, sums),
            (Source::ByRunning(times, below), _) => {
                blocks.add_sums(block, false, sums);
                times.add(block - *below as usize, &self.swept, blocks.keys, sums);
            }
            (Source::ByCpu(by_cpu, below), Some(details)) => {
                blocks.add_head(block, sums);
                by_cpu.add(block - *below as usize, details, sums);
            }
            (Source::ByCpu(..), None) => {}
        }
    }

    /// What is made of the lengths of all waits that began, by as many workers as there are: `add` gets whole runs
    /// through `run`, and rows one by one through `row`.
    pub fn lengths<T: Send>(
        &self,
        new: impl Fn() -> T + Sync,
        run: impl Fn(&mut T, &Run) + Sync,
        row: impl Fn(&mut T, BegunRow) + Sync,
    ) -> Vec<T> {
        let pieces = pieces(&self.length_parts, PIECES);
        let numbers = self.chosen.as_ref().map_or(&[][..], |chosen| &chosen.of_lengths);
        parallel::fold(numbers.len() + pieces.len(), new, |made, number| match (numbers.get(number), &self.chosen) {
            (Some(block), Some(chosen)) => chosen.blocks.for_each_run(*block, |of_key| run(made, of_key)),
            _ => {
                let piece = pieces.get(number - numbers.len());
                piece.into_iter().for_each(|piece| self.for_each_begun(*piece, |begun| row(made, begun)));
            }
        })
    }

    /// The intervals that are under way when a window begins and did not begin in an earlier one: each once.
    pub fn under_way(&self, windows: &Windows) -> Vec<OpenInterval> {
        let off_cpu = &self.trace.events().off_cpu;
        let later = windows.inside(0, u64::MAX).filter(|part| part.from > 0);
        let mut all: Vec<OpenInterval> = later.flat_map(|part| self.swept.under_way(part)).collect();
        let mut known = HashSet::new();
        all.retain(|it| !windows.contains(off_cpu.start_ns(it.row)) && known.insert(it.row));
        all
    }

    /// Tells the rows that began in a part of the time: in no order.
    pub fn for_each_begun(&self, part: Part, mut tell: impl FnMut(BegunRow)) {
        let off_cpu = &self.trace.events().off_cpu;
        let Some(began) = &self.began else {
            let tell = |row, class| {
                tell(BegunRow { row, class, wait_ns: off_cpu.wait_ns(row), key: off_cpu.key(row) });
            };
            self.swept.sweep(part, &mut Begun { tell });
            return;
        };
        let to = if part.to_the_end { part.to.saturating_add(1) } else { part.to };
        for thread in 0..self.trace.threads.tid.len() {
            off_cpu.for_each_wait(off_cpu.begun(thread, part.from, to), |row, wait_ns, key| {
                if let Some(class) = began.class(row) {
                    tell(BegunRow { row, class, wait_ns, key });
                }
            });
        }
    }
}

/// Sums the off-CPU rows of which `takes` takes key and wait.
struct SweptRows<'a, 't, F> {
    summer: Summer<'a>,
    trace: &'t Trace,
    takes: &'a F,
}

impl<F: Fn(u32, u64) -> bool> Visitor for SweptRows<'_, '_, F> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        let rows = &self.trace.events().off_cpu;
        if (self.takes)(rows.key(row), rows.wait_ns(row)) {
            self.summer.off_cpu(row, split);
        }
    }
}

/// Tells the rows that begin, with their class.
struct Begun<F> {
    tell: F,
}

impl<F: FnMut(usize, usize)> Visitor for Begun<F> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        if let Some(class) = split.began {
            (self.tell)(row, class);
        }
    }
}
