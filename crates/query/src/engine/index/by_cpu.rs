//! Sums by CPU in a few blocks of time, of what each thread did there, classified: what the list of CPUs shows. Which
//! function or object it was is not told apart, since there would be as many sums as intervals.

use dwell_store::{Column, IndexWriter, Trace};
use dwell_work::{parallel, stop};

use crate::engine::index::code::{NumberReader, put, put_sums, sums_of};
use crate::engine::index::levels::{Head, edge, levels};
use crate::engine::key_equivalence::alike_by_thread;
use crate::engine::sums::{DetailKeys, KeySums, Summer};
use crate::engine::sweep::SweepInput;
use crate::question::query::Query;
use crate::question::windows::Windows;

/// Numbers of the sections of the index: the key that stands for each, where the blocks are, their bytes.
const SECTIONS: [u64; 3] = [114, 115, 116];
/// Blocks at most.
const BLOCKS: u64 = 64;

/// The sums by CPU of an index.
pub struct ByCpu {
    /// Ends of the blocks in the bytes.
    ends: Column<u64>,
    bytes: Column<u8>,
}

impl ByCpu {
    /// Those of the index of `trace`, when it has any that tell apart what `details` do.
    pub fn of(trace: &Trace, head: &Head, details: &DetailKeys) -> Option<Self> {
        let (index, asked) = (trace.index()?, details.only_cpus()?);
        let stands_for: Column<u32> = index.column(SECTIONS[0]);
        let found = Self { ends: index.column(SECTIONS[1]), bytes: index.column(SECTIONS[2]) };
        let is_whole = stands_for.len() == asked.len() && found.ends.len() as u64 == blocks_of(head);
        let same = |(key, stands_for): (&u32, &u32)| asked.get(*stands_for as usize) == Some(key);
        (is_whole && asked.iter().zip(stands_for.iter()).all(same)).then_some(found)
    }

    /// How many blocks there are, of equal length.
    pub fn blocks(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Adds a block's sums.
    pub fn add(&self, block: usize, details: &mut DetailKeys, sums: &mut KeySums) {
        let begin = block.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        let end = self.ends.get(block).map_or(0, |end| *end as usize);
        // Damaged bytes end early: the index is the user's own, and can be deleted.
        let _ = decode(self.bytes.get(begin..end).unwrap_or_default(), details, sums);
    }

    /// Makes them; none for a result with tasks, whose times are by task too.
    pub fn write(writer: &mut IndexWriter, trace: &Trace, head: &Head) -> dwell_store::Result<()> {
        if !trace.nesting().is_empty() {
            return Ok(());
        }
        let (whole, swept, blocks) =
            (Windows::whole(trace), SweepInput::new(trace, &Query::default()), blocks_of(head));
        let stands_for = alike_by_thread(trace);
        let details = DetailKeys::by_cpu(stands_for.clone());
        let block = |block: usize| {
            let edge = |block: u64| edge(head.elapsed_ns, blocks, block);
            let (mut sums, mut details) = (KeySums::new(0), details.fresh());
            for part in whole.inside(edge(block as u64), edge(block as u64 + 1)) {
                swept.sweep(part, &mut Summer::new(trace, &mut sums, Some(&mut details)));
            }
            encode(&sums, &details)
        };
        let made = parallel::map(blocks as usize, block);
        let ends = made.iter().scan(0u64, |end, block| {
            *end += block.len() as u64;
            Some(*end)
        });
        writer.append(SECTIONS[0], &stands_for)?;
        writer.append(SECTIONS[1], &ends.collect::<Vec<_>>())?;
        writer.append(SECTIONS[2], &made.concat())
    }
}

/// The largest number of blocks of a level that is not above [`BLOCKS`].
fn blocks_of(head: &Head) -> u64 {
    levels(head.blocks).into_iter().find(|count| *count <= BLOCKS).unwrap_or(1)
}

/// Key, CPU and sums, in order.
fn encode(sums: &KeySums, details: &DetailKeys) -> Vec<u8> {
    let pair = |(number, sums)| details.pairs.get(number as usize).map(|(key, detail)| (*key, detail.cpu, sums));
    let mut all: Vec<_> = sums.in_order().filter_map(pair).collect();
    all.sort_unstable_by_key(|(key, cpu, _)| (*key, *cpu));
    let mut out = Vec::new();
    put(&mut out, all.len() as u64);
    let mut last = 0;
    for (key, cpu, sums) in all {
        put(&mut out, key - last);
        last = key;
        put(&mut out, u64::from(cpu));
        put_sums(&mut out, sums);
    }
    out
}

/// Adds a block to `sums`. `None` when the bytes are damaged.
fn decode(bytes: &[u8], details: &mut DetailKeys, sums: &mut KeySums) -> Option<()> {
    let reader = &mut NumberReader::new(bytes);
    let mut key = 0u64;
    let keys = details.only_cpus().map_or(0, <[u32]>::len) as u64;
    for step in 0..reader.number()? {
        if step.is_multiple_of(1024) {
            stop::check();
        }
        key = key.checked_add(reader.number()?)?;
        let cpu = u16::try_from(reader.number()?).ok()?;
        let of_key = sums_of(reader)?;
        if key < keys {
            let number = details.of(key, details.on_cpu(cpu));
            sums.slot(number).add(&of_key);
        }
    }
    Some(())
}
