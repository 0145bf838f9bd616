//! The bytes of the index's blocks: numbers as LEB128, sums and lengths as far as they are not zero.

use dwell_view::ByClass;

use crate::engine::sums::{KeySums, NumberSums, Numbering};
use crate::engine::sweep::ConcurrencyStats;
use crate::measure::lengths::Run;

/// A number in groups of seven bits, the lowest first.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads numbers; `None` at the end of damaged bytes.
pub struct NumberReader<'a> {
    bytes: &'a [u8],
}

impl<'a> NumberReader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next number.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }
}

fn put_list(out: &mut Vec<u8>, list: &[u64]) {
    put(out, list.len() as u64);
    list.iter().for_each(|number| put(out, *number));
}

fn list(reader: &mut NumberReader<'_>) -> Option<Vec<u64>> {
    let count = reader.number()?;
    (0..count).map(|_| reader.number()).collect()
}

fn mask<T: Copy + PartialEq + Default>(classes: &[T; 5]) -> u8 {
    (0..5).filter(|class| classes[*class] != T::default()).fold(0, |mask, class| mask | 1 << class)
}

fn put_classes(out: &mut Vec<u8>, classes: &ByClass, mask: u8) {
    (0..5).filter(|class| mask & 1 << class != 0).for_each(|class| put(out, classes[class]));
}

fn classes(reader: &mut NumberReader<'_>, mask: u8) -> Option<ByClass> {
    let mut classes = [0; 5];
    for (class, ns) in classes.iter_mut().enumerate() {
        if mask & 1 << class != 0 {
            *ns = reader.number()?;
        }
    }
    Some(classes)
}

/// A block's sums, levels and unsampled times.
pub fn encode(sums: &KeySums) -> Vec<u8> {
    let mut out = Vec::new();
    put_list(&mut out, &sums.levels.histogram_cpu);
    put_list(&mut out, &sums.levels.histogram_concurrency);
    put(&mut out, sums.levels.oversubscribed_ns);
    put(&mut out, sums.levels.denied_ns);
    put(&mut out, sums.levels.misplaced_rows);
    put(&mut out, sums.unsampled.len() as u64);
    for (number, running) in &sums.unsampled {
        put(&mut out, *number);
        out.push(mask(running));
        put_classes(&mut out, running, mask(running));
    }
    let mut last = 0;
    put(&mut out, sums.number_count() as u64);
    for (number, sums) in sums.in_order() {
        put(&mut out, number - last);
        last = number;
        put_sums(&mut out, sums);
    }
    out
}

/// Bits of the byte before a number's sums, above the classes of its time.
const HAS_RUNNABLE: u8 = 1 << 5;
const HAS_BEGAN: u8 = 1 << 6;

/// A number's sums, as far as they are not zero.
pub fn put_sums(out: &mut Vec<u8>, sums: &NumberSums) {
    let (time, runnable, began) = (mask(&sums.time()), mask(&sums.runnable()), mask(&sums.began()));
    let has = |bit: u8, mask: u8| if mask == 0 { 0 } else { bit };
    out.push(time | has(HAS_RUNNABLE, runnable) | has(HAS_BEGAN, began));
    put_classes(out, &sums.time(), time);
    if runnable != 0 {
        out.push(runnable);
        put_classes(out, &sums.runnable(), runnable);
    }
    if began != 0 {
        out.push(began);
        for class in (0..5).filter(|class| began & 1 << class != 0) {
            put(out, u64::from(sums.classes[class].began));
            put(out, sums.classes[class].longest);
        }
    }
}

/// Adds a block to `sums`, with its times by class or without them; skips numbers outside of `keys`.
/// `None` when the bytes are damaged.
pub fn decode(bytes: &[u8], keys: Numbering, with_times: bool, sums: &mut KeySums) -> Option<()> {
    let reader = &mut NumberReader::new(bytes);
    decode_head(reader, with_times, sums)?;
    let mut number = 0u64;
    for _ in 0..reader.number()? {
        number = number.checked_add(reader.number()?)?;
        let mut of_number = sums_of(reader)?;
        if !with_times {
            of_number.classes.iter_mut().for_each(|class| (class.time, class.runnable) = (0, 0));
        }
        if keys.contains(number) {
            sums.slot(number).add(&of_number);
        }
    }
    Some(())
}

/// Adds what a block begins with: n(t) and c(t), and the times without samples.
pub fn decode_head(reader: &mut NumberReader<'_>, with_times: bool, sums: &mut KeySums) -> Option<()> {
    let levels = ConcurrencyStats {
        histogram_cpu: list(reader)?,
        histogram_concurrency: list(reader)?,
        oversubscribed_ns: reader.number()?,
        denied_ns: reader.number()?,
        misplaced_rows: reader.number()?,
    };
    sums.levels.add(&levels);
    for _ in 0..reader.number()? {
        let (number, mask) = (reader.number()?, reader.byte()?);
        let running = classes(reader, mask)?;
        if with_times {
            sums.add_unsampled(number, &running);
        }
    }
    Some(())
}

/// What [`put_sums`] wrote.
pub fn sums_of(reader: &mut NumberReader<'_>) -> Option<NumberSums> {
    let flags = reader.byte()?;
    let mut sums = NumberSums::default();
    sums.add_time(&classes(reader, flags)?);
    if flags & HAS_RUNNABLE != 0 {
        let mask = reader.byte()?;
        sums.add_runnable(&classes(reader, mask)?);
    }
    if flags & HAS_BEGAN != 0 {
        let mask = reader.byte()?;
        for class in (0..5).filter(|class| mask & 1 << class != 0) {
            sums.classes[class].began = u32::try_from(reader.number()?).unwrap_or(u32::MAX);
            sums.classes[class].longest = reader.number()?;
        }
    }
    Some(sums)
}

/// A block's lengths, in order of number and class.
pub fn encode_runs(runs: &[Run]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut last = 0;
    for run in runs {
        put(&mut out, run.number - last);
        last = run.number;
        out.push(run.class);
        put(&mut out, run.count);
        put(&mut out, run.min);
        if run.count > 1 {
            put(&mut out, run.max - run.min);
        }
        if run.count > 2 {
            put(&mut out, run.bins.len() as u64);
            let mut before = 0;
            for (bin, count) in &run.bins {
                put(&mut out, u64::from(bin - before));
                put(&mut out, u64::from(*count));
                before = *bin;
            }
        }
    }
    out
}

/// Tells the runs of a block; stops where the bytes are damaged.
pub fn for_each_run(bytes: &[u8], mut tell: impl FnMut(&Run)) {
    let mut reader = NumberReader::new(bytes);
    let mut run = Run::default();
    while !reader.bytes.is_empty() && next_run(&mut reader, &mut run).is_some() {
        tell(&run);
    }
}

fn next_run(reader: &mut NumberReader<'_>, run: &mut Run) -> Option<()> {
    run.number = run.number.checked_add(reader.number()?)?;
    run.class = reader.byte()?.min(4);
    run.count = reader.number()?;
    run.min = reader.number()?;
    run.max = if run.count > 1 { run.min.saturating_add(reader.number()?) } else { run.min };
    run.bins.clear();
    if run.count > 2 {
        let mut bin = 0u64;
        for _ in 0..reader.number()? {
            bin = bin.saturating_add(reader.number()?);
            let count = u32::try_from(reader.number()?).unwrap_or(u32::MAX);
            run.bins.push((u16::try_from(bin).ok()?, count));
        }
    }
    Some(())
}
