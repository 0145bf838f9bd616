//! The utilization class in which each interval off the CPU began, half a byte each: who asks for the intervals or the
//! lengths of a class needs no sweep.

use std::sync::atomic::{AtomicU8, Ordering};

use dwell_store::{Column, IndexWriter, Trace};

/// Number of the section of the index.
const SECTION: u64 = 105;

/// The classes of the intervals of an index.
pub struct Began {
    halves: Column<u8>,
}

impl Began {
    /// Those of the index of `trace`.
    pub fn of(trace: &Trace) -> Option<Self> {
        let halves: Column<u8> = trace.index()?.column(SECTION);
        (halves.len() == trace.events().off_cpu.end().div_ceil(2)).then_some(Self { halves })
    }

    /// The class; none of one that began while its thread was not alive.
    pub fn class(&self, row: usize) -> Option<usize> {
        class(*self.halves.get(row / 2)?, row)
    }
}

fn class(halves: u8, row: usize) -> Option<usize> {
    let half = halves >> (row % 2 * 4) & 0xf;
    usize::from(half).checked_sub(1).filter(|class| *class < 5)
}

/// The classes while they are found out, by several workers.
pub struct BeganWriter {
    halves: Vec<AtomicU8>,
}

impl BeganWriter {
    /// For the intervals of `trace`.
    pub fn new(trace: &Trace) -> Self {
        Self { halves: (0..trace.events().off_cpu.end().div_ceil(2)).map(|_| AtomicU8::new(0)).collect() }
    }

    /// Notes the class of an interval.
    pub fn note(&self, row: usize, class: usize) {
        if let Some(byte) = self.halves.get(row / 2) {
            byte.fetch_or((class as u8 + 1) << (row % 2 * 4), Ordering::Relaxed);
        }
    }

    /// The class of an interval that was noted.
    pub fn class(&self, row: usize) -> Option<usize> {
        self.halves.get(row / 2).and_then(|byte| class(byte.load(Ordering::Relaxed), row))
    }

    /// Writes them.
    pub fn write(self, writer: &mut IndexWriter) -> dwell_store::Result<()> {
        let halves: Vec<u8> = self.halves.into_iter().map(AtomicU8::into_inner).collect();
        writer.append(SECTION, &halves)
    }
}
