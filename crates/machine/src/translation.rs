//! TLBs and page walks. The trace has no page tables: [`ranges::page_shift`] says how large a page is, and the entries that a
//! walk reads lie at made-up addresses, eight neighbours in a line as in real tables, so that walks hit and miss in the caches.

use crate::cache::{Cache, Geometry};
use crate::counts::TICKS_PER_CYCLE;
use crate::description::{Replacement, Tlb, Translation};
use crate::hierarchy::{Hierarchy, Slots, When};
use crate::ranges;

/// Where the made-up page tables lie: not canonical, so no program's address.
const TABLES: u64 = 1 << 55;
const ADDRESS_BITS: u64 = (1 << 48) - 1;

/// What a translation took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Translated {
    /// When the address is known, ticks.
    pub ready: u64,
    /// The first-level TLB lacked it.
    pub missed: bool,
    /// So did the second level.
    pub walked: bool,
}

#[derive(Debug)]
pub(crate) struct Tlbs {
    code: Cache,
    data: Cache,
    data_large: Cache,
    second: Option<Cache>,
    directory: Cache,
    second_latency: u64,
    walkers: Slots,
    last_data: u64,
    last_code: u64,
}

fn cache(entries: u64, ways: usize) -> Cache {
    Cache::new(Geometry { slices: 1, sets: entries / ways as u64, ways, replacement: Replacement::Lru })
}

fn of(tlb: &Tlb) -> Cache {
    cache(tlb.entries, tlb.ways)
}

/// A page: its number and size.
fn page(address: u64) -> (u64, u32) {
    let shift = ranges::page_shift(address);
    ((address & ADDRESS_BITS) >> shift | u64::from(shift) << 40, shift)
}

impl Tlbs {
    pub fn new(translation: &Translation) -> Self {
        let entries = translation.directory_entries;
        Self {
            code: of(&translation.code),
            data: of(&translation.data),
            data_large: of(&translation.data_large),
            second: translation.second.as_ref().map(of),
            directory: cache(entries.next_power_of_two(), entries.next_power_of_two().min(4) as usize),
            second_latency: translation.second_latency * TICKS_PER_CYCLE,
            walkers: Slots::new(translation.walkers),
            last_data: u64::MAX,
            last_code: u64::MAX,
        }
    }

    /// An address of data is translated. The page of the access before is the one used last: it needs no look-up.
    #[inline(always)]
    pub fn data(&mut self, address: u64, when: When, memory: &mut Hierarchy) -> Translated {
        if address >> 12 == self.last_data {
            return Translated { ready: when.known, missed: false, walked: false };
        }
        self.last_data = address >> 12;
        let (key, shift) = page(address);
        let first = if shift == 12 { &mut self.data } else { &mut self.data_large };
        if first.touch(key).is_some() {
            return Translated { ready: when.known, missed: false, walked: false };
        }
        first.fill(key, 0, 0);
        self.second(address, when, memory)
    }

    /// An address of code is translated.
    #[inline(always)]
    pub fn code(&mut self, address: u64, when: When, memory: &mut Hierarchy) -> Translated {
        if address >> 12 == self.last_code {
            return Translated { ready: when.known, missed: false, walked: false };
        }
        self.last_code = address >> 12;
        let (key, _) = page(address);
        if self.code.touch(key).is_some() {
            return Translated { ready: when.known, missed: false, walked: false };
        }
        self.code.fill(key, 0, 0);
        self.second(address, when, memory)
    }

    #[inline(never)]
    fn second(&mut self, address: u64, when: When, memory: &mut Hierarchy) -> Translated {
        let (key, shift) = page(address);
        let known = when.known + self.second_latency;
        if let Some(second) = &mut self.second {
            if second.touch(key).is_some() {
                return Translated { ready: known, missed: true, walked: false };
            }
            second.fill(key, 0, 0);
        }
        let ready = self.walk(address & ADDRESS_BITS, shift, When { known, ..when }, memory);
        Translated { ready, missed: true, walked: true }
    }

    /// Reads the page's entry, and the one above it if the cache of directory entries lacks that.
    fn walk(&mut self, address: u64, shift: u32, when: When, memory: &mut Hierarchy) -> u64 {
        let above = shift + 9;
        let directory = address >> above | u64::from(above) << 40;
        let mut known = self.walkers.begin(when.known);
        let mut read = |shift: u32, known: u64| {
            let entry = TABLES | u64::from(shift) << 40 | (address >> shift) << 3;
            memory.data::<true>(entry >> memory.shift, false, When { known, ..when }).ready
        };
        if self.directory.touch(directory).is_none() {
            self.directory.fill(directory, 0, 0);
            known = read(above, known);
        }
        known = read(shift, known);
        self.walkers.end(known);
        known
    }
}
