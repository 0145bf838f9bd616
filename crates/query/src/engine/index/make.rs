//! Making the index, and opening results through it.

use dwell_model::Reason;
use dwell_store::{IndexWriter, Opened, ResultFolder, Trace};
use dwell_view::ByClass;
use dwell_work::parallel;

use crate::engine::index::began::BeganWriter;
use crate::engine::index::blocks::{BlockPlace, LENGTH_BLOCKS, LENGTHS_SECTION, PLACE_SECTION, SUMS_SECTION};
use crate::engine::index::by_cpu::ByCpu;
use crate::engine::index::by_running::ByRunning;
use crate::engine::index::chart_buckets::{CHART_SECTION, ChartBucket};
use crate::engine::index::code;
use crate::engine::index::levels::{FAN_OUT, HEAD_SECTION, Head, edge, levels};
use crate::engine::index::running::RunningWriter;
use crate::engine::sums::{KeySums, Numbering, Summer};
use crate::engine::sweep::{OffCpuSplit, SweepInput, Visitor};
use crate::history::pyramid::Pyramids;
use crate::measure::lengths::{Run, merged, runs_of};
use crate::question::query::Query;
use crate::question::windows::{Part, Windows};
use crate::stacks::tasks::began_in;

/// Why a result cannot be opened.
pub type BuildError = dwell_store::Error;

/// When an index is made, and how fine.
#[derive(Clone, Copy, Debug)]
pub struct Fineness {
    /// Events from which an index is worth its file.
    pub least_events: usize,
    /// Events of a block of the lowest level, about.
    pub block_events: u64,
    /// Buckets of the curves in each of them.
    pub block_buckets: usize,
}

/// Events from which a result has an index.
pub const INDEXED_EVENTS: usize = 200_000;
const FINENESS: Fineness = Fineness { least_events: INDEXED_EVENTS, block_events: 131_072, block_buckets: 4096 };
/// Blocks of the lowest level at most: FAN_OUT to this power.
const MOST_LEVELS: u32 = 5;

/// Opens a finalized result; makes its index first when it is large and has none. Where no index can be written, the
/// result is read as a whole. Fails when it is no finalized result, or damaged.
pub fn open(folder: &ResultFolder) -> Result<Trace, BuildError> {
    open_as(folder, FINENESS)
}

/// How often a damaged index is made anew before a result is read without one.
const ATTEMPTS: usize = 2;

/// What `answer` says of a result that is opened as [`open`] does. Damage of the index is found when the damaged part is
/// used: the index is made anew then, and the answer too.
pub fn answered<T, E: From<BuildError>>(folder: &ResultFolder, answer: impl Fn(Trace) -> Result<T, E>) -> Result<T, E> {
    answered_as(folder, FINENESS, answer)
}

/// The same with other sizes.
pub fn answered_as<T, E: From<BuildError>>(
    folder: &ResultFolder,
    fineness: Fineness,
    answer: impl Fn(Trace) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        let trace = open_as(folder, fineness)?;
        let index = trace.shared_index();
        let answered = answer(trace);
        match index.filter(|index| index.is_damaged()) {
            None => return answered,
            // Where it cannot be deleted it is damaged the next time too.
            Some(index) => drop(index.discard()),
        }
    }
    answer(Trace::read(folder)?)
}

/// [`open`] with other sizes.
pub fn open_as(folder: &ResultFolder, fineness: Fineness) -> Result<Trace, BuildError> {
    let trace = match Trace::open(folder, fineness.least_events)? {
        Opened::Ready(trace) => return Ok(*trace),
        Opened::Unindexed(trace) => *trace,
    };
    let Ok((mut writer, trace)) = IndexWriter::begin(folder, trace) else { return Trace::read(folder) };
    match write(&mut writer, &trace, fineness) {
        // Something that is no file is in its place, most likely.
        Ok(()) => writer.finish(trace).or_else(|_| Trace::read(folder)),
        Err(_) => {
            writer.abandon();
            Trace::read(folder)
        }
    }
}

/// [`open`] through an index, however small the result is.
pub fn open_indexed(folder: &ResultFolder) -> Result<Trace, BuildError> {
    open_as(folder, Fineness { least_events: 1, block_events: 3, block_buckets: 16 })
}

fn write(writer: &mut IndexWriter, trace: &Trace, fineness: Fineness) -> Result<(), BuildError> {
    let events = (trace.events().off_cpu.count() + trace.events().samples.count()) as u64;
    let level = (events / fineness.block_events).max(1).ilog2() / FAN_OUT.ilog2();
    let head = Head::of(trace, FAN_OUT.pow(level.min(MOST_LEVELS)));
    writer.append(HEAD_SECTION, &[head])?;
    let began = BeganWriter::new(trace);
    let mut made = lowest(trace, (&head, fineness.block_buckets), &began);
    let buckets: Vec<ChartBucket> = made.iter().flat_map(|block| block.buckets.iter().copied()).collect();
    writer.append(CHART_SECTION, &buckets)?;
    RunningWriter::write(made.iter_mut().map(|block| std::mem::take(&mut block.running)).collect(), writer)?;
    let (mut places, mut sums, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for count in levels(head.blocks) {
        if count < head.blocks {
            made = next_level(trace, &made);
        }
        if count <= LENGTH_BLOCKS && (count == head.blocks || count * FAN_OUT > LENGTH_BLOCKS) {
            for (block, made) in made.iter_mut().enumerate() {
                let edge = |block: u64| edge(head.elapsed_ns, count, block);
                let windows = Windows::whole(trace);
                let parts: Vec<Part> = windows.inside(edge(block as u64), edge(block as u64 + 1)).collect();
                made.lengths = lengths_of(trace, &began, &parts);
            }
        }
        for block in &made {
            let place = |bytes: &Vec<u8>, size: usize| [bytes.len() as u64, (bytes.len() + size) as u64];
            places.push(BlockPlace {
                sums: place(&sums, block.sums.len()),
                lengths: place(&lengths, block.lengths.len()),
            });
            sums.extend_from_slice(&block.sums);
            lengths.extend_from_slice(&block.lengths);
        }
    }
    began.write(writer)?;
    writer.append(PLACE_SECTION, &places)?;
    writer.append(SUMS_SECTION, &sums)?;
    writer.append(LENGTHS_SECTION, &lengths)?;
    drop((sums, lengths, made));
    ByRunning::write(writer, trace, &head)?;
    ByCpu::write(writer, trace, &head)?;
    Pyramids::write(writer, trace)
}

/// A block as bytes.
#[derive(Default)]
struct Made {
    sums: Vec<u8>,
    lengths: Vec<u8>,
    buckets: Vec<ChartBucket>,
    running: RunningWriter,
}

/// The blocks of the lowest level, made side by side on all CPUs.
fn lowest(trace: &Trace, (head, buckets): (&Head, usize), began: &BeganWriter) -> Vec<Made> {
    let windows = Windows::whole(trace);
    let swept = SweepInput::new(trace, &Query::default());
    let workers = parallel::workers() as u64;
    let share = head.blocks.div_ceil(workers);
    let work = |worker: usize| {
        let mut sums = KeySums::new(Numbering::of_keys(trace).outside());
        let blocks = (worker as u64 * share)..head.blocks.min((worker as u64 + 1) * share);
        blocks
            .map(|block| lowest_block(trace, (&swept, &windows), (head, block, buckets), (&mut sums, began)))
            .collect::<Vec<Made>>()
    };
    parallel::map(workers as usize, work).into_iter().flatten().collect()
}

fn lowest_block(
    trace: &Trace,
    (swept, windows): (&SweepInput<'_>, &Windows),
    (head, block, buckets): (&Head, u64, usize),
    (sums, began): (&mut KeySums, &BeganWriter),
) -> Made {
    let edge = |block| edge(head.elapsed_ns, head.blocks, block);
    let (from, to) = (edge(block), edge(block + 1));
    let mut buckets = Buckets { from, to, buckets: vec![Bucket::default(); buckets] };
    let mut running = RunningWriter::default();
    for part in windows.inside(from, to) {
        let summer = Summer::new(trace, sums, None);
        let levels = swept.sweep(part, &mut All { summer, began, buckets: &mut buckets, running: &mut running });
        sums.levels.add(&levels);
    }
    let bytes = code::encode(sums);
    sums.clear();
    let buckets = buckets.buckets.iter().map(Bucket::stored).collect();
    Made { sums: bytes, lengths: Vec::new(), buckets, running }
}

/// The lengths of the waits that began in these parts, thread by thread.
fn lengths_of(trace: &Trace, began: &BeganWriter, parts: &[Part]) -> Vec<u8> {
    let (events, keys) = (trace.events(), Numbering::of_keys(trace));
    let of_thread = |thread: usize| {
        let mut waits = Vec::new();
        for part in parts {
            let to = if part.to_the_end { part.to.saturating_add(1) } else { part.to };
            events.off_cpu.for_each_wait(events.off_cpu.begun(thread, part.from, to), |row, wait_ns, key| {
                let class = began.class(row).filter(|_| events.key(key).reason() == Some(Reason::Waiting));
                waits.extend(class.map(|class| (keys.number(key, began_in(trace, row)), class as u8, wait_ns)));
            });
        }
        runs_of(waits)
    };
    let mut runs = parallel::map(trace.threads.tid.len(), of_thread).concat();
    // Keys are numbered thread by thread, outside of tasks.
    runs.sort_by_key(Run::place);
    code::encode_runs(&runs)
}

/// Every [`FAN_OUT`] blocks as one.
fn next_level(trace: &Trace, blocks: &[Made]) -> Vec<Made> {
    let keys = Numbering::of_keys(trace);
    let mut sums = KeySums::new(keys.outside());
    let mut add = |blocks: &[Made]| {
        let mut runs: Vec<Run> = Vec::new();
        for block in blocks {
            // They were encoded just now.
            let _ = code::decode(&block.sums, keys, true, &mut sums);
            code::for_each_run(&block.lengths, |run| runs.push(run.clone()));
        }
        let bytes = code::encode(&sums);
        sums.clear();
        Made { sums: bytes, lengths: code::encode_runs(&merged(runs)), ..Made::default() }
    };
    blocks.chunks(FAN_OUT as usize).map(&mut add).collect()
}

/// A bucket of the curves while it is summed.
#[derive(Clone, Copy, Default)]
struct Bucket {
    active_ns: u64,
    running_ns: u64,
    ready_ns: u64,
    most_running: usize,
    most_ready: usize,
}

impl Bucket {
    fn stored(&self) -> ChartBucket {
        let most = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        ChartBucket {
            active_ns: self.active_ns as f32,
            running_ns: self.running_ns as f32,
            ready_ns: self.ready_ns as f32,
            most_running: most(self.most_running),
            most_ready: most(self.most_ready),
        }
    }
}

struct Buckets {
    from: u64,
    to: u64,
    buckets: Vec<Bucket>,
}

impl Buckets {
    fn add(&mut self, mut from: u64, to: u64, running: usize, ready: usize) {
        let (span, count) = (self.to - self.from, self.buckets.len() as u64);
        let mut bucket = (u128::from(from - self.from) * u128::from(count) / u128::from(span.max(1))) as u64;
        while from < to && bucket < count {
            let end = (self.from + edge(span, count, bucket + 1)).min(to);
            if from < end {
                let (sums, ns) = (&mut self.buckets[bucket as usize], end - from);
                sums.active_ns += ns;
                sums.running_ns = sums.running_ns.saturating_add(ns.saturating_mul(running as u64));
                sums.ready_ns = sums.ready_ns.saturating_add(ns.saturating_mul(ready as u64));
                sums.most_running = sums.most_running.max(running);
                sums.most_ready = sums.most_ready.max(ready);
                from = end;
            }
            bucket += 1;
        }
    }
}

/// Everything that a block has, from one sweep.
struct All<'a> {
    summer: Summer<'a>,
    began: &'a BeganWriter,
    buckets: &'a mut Buckets,
    running: &'a mut RunningWriter,
}

impl Visitor for All<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit) {
        self.summer.off_cpu(row, split);
        if let Some(class) = split.began {
            self.began.note(row, class);
        }
    }

    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &ByClass) {
        self.summer.ran(thread, sample, context, running);
    }

    fn level(&mut self, from: u64, to: u64, running: usize, ready: usize) {
        self.buckets.add(from, to, running, ready);
        self.running.note(from, running);
    }
}
