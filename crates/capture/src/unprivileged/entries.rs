//! The records of all rings in the order of time, where they lie.

use super::record;
use super::ring::Ring;

/// A record in a ring.
#[derive(Clone, Copy)]
pub struct RingEntry {
    pub time_ns: u64,
    pub ring: u16,
    pub at: u64,
}

/// Those of a round.
#[derive(Default)]
pub struct Entries {
    pub all: Vec<RingEntry>,
    scratch: Vec<u8>,
}

impl Entries {
    /// Finds the records that came until `line_ns`.
    pub fn collect(&mut self, rings: &mut [Ring], line_ns: u64) {
        for (number, ring) in rings.iter_mut().enumerate() {
            ring.look();
            let mut at = ring.tail;
            while let Some(record) = ring.record(at, &mut self.scratch) {
                let time_ns = record::stamp(record).map_or(0, |stamp| stamp.time_ns);
                if time_ns > line_ns {
                    break;
                }
                let size = record.len() as u64;
                self.all.push(RingEntry { time_ns, ring: number as u16, at });
                at += size;
            }
        }
        self.all.sort_by_key(|entry| entry.time_ns);
    }

    /// Gives the rings back up to the records that were read.
    pub fn release(&mut self, rings: &mut [Ring]) {
        for entry in &self.all {
            let ring = &mut rings[usize::from(entry.ring)];
            let end = entry.at + ring.record(entry.at, &mut self.scratch).map_or(0, |record| record.len() as u64);
            // Within a ring, entries may be out of order by a moment: the latest counts.
            if end > ring.tail {
                ring.tail = end;
            }
        }
        for ring in rings {
            let tail = ring.tail;
            ring.release(tail);
        }
        self.all.clear();
    }
}
