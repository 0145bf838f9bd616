//! Prediction of directions: gshare, and TAGE (A. Seznec, P. Michaud: A case for (partially) tagged geometric history length
//! branch prediction, JILP 2006), without its loop predictor. Hashes are multiplications instead of folded registers: a
//! model needs good indices, not short wires.

use crate::description::{Branch, Predictor};

const TABLES: usize = 6;
const SHORTEST: f64 = 5.0;
/// Branches after which `useful` is taken back, so that dead entries can go.
const AGE: u32 = 1 << 18;
const TAG_MASK: u64 = 0xfff;

/// Predicts whether branches are taken.
#[derive(Debug)]
pub(crate) struct Directions {
    history: u128,
    bits: u32,
    base: Box<[i8]>,
    rest: Rest,
}

#[derive(Debug)]
enum Rest {
    Gshare { mask: u64 },
    Tage(Tage),
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u16,
    counter: i8,
    useful: u8,
}

#[derive(Debug)]
struct Tage {
    tables: Box<[Entry]>,
    /// What each table sees of the history: the last 64 branches, and those before.
    masks: [(u64, u64); TABLES],
    /// Whether entries that were just made predict worse than what was there before (positive: they do).
    distrust: i8,
    branches: u32,
    random: u32,
}

/// What the tables say of a branch.
struct Found {
    at: [usize; TABLES],
    tags: [u16; TABLES],
    provider: Option<usize>,
    second: bool,
    taken: bool,
}

fn step(counter: i8, taken: bool, limit: i8) -> i8 {
    if taken { (counter + 1).min(limit) } else { (counter - 1).max(-limit - 1) }
}

fn mask(branches: u32) -> u128 {
    if branches >= 128 { u128::MAX } else { (1 << branches) - 1 }
}

/// The lower and the upper half.
fn split(history: u128) -> (u64, u64) {
    (history as u64, (history >> 64) as u64)
}

impl Directions {
    pub fn new(branch: &Branch) -> Self {
        let entries = 1usize << branch.table_bits;
        let rest = match branch.predictor {
            Predictor::Gshare => Rest::Gshare { mask: mask(branch.history.min(branch.table_bits)) as u64 },
            Predictor::Tage => Rest::Tage(Tage::new(entries, branch.history)),
        };
        Self { history: 0, bits: branch.table_bits, base: vec![0; entries].into(), rest }
    }

    /// A branch at an address went this way: whether that was predicted.
    #[inline]
    pub fn predicted(&mut self, address: u64, taken: bool) -> bool {
        let entries = (1usize << self.bits) - 1;
        let right = match &mut self.rest {
            Rest::Gshare { mask } => {
                let counter = &mut self.base[(address ^ (self.history as u64 & *mask)) as usize & entries];
                let predicted = *counter >= 0;
                *counter = step(*counter, taken, 1);
                predicted == taken
            }
            Rest::Tage(tage) => {
                let base = &mut self.base[(address ^ address >> self.bits) as usize & entries];
                tage.predicted((address, self.history), base, self.bits, taken)
            }
        };
        self.history = self.history << 1 | u128::from(taken);
        right
    }
}

impl Tage {
    fn new(entries: usize, longest: u32) -> Self {
        let ratio = (f64::from(longest.max(6)) / SHORTEST).powf(1.0 / (TABLES - 1) as f64);
        let masks = std::array::from_fn(|i| split(mask((SHORTEST * ratio.powi(i as i32)).round() as u32)));
        Self {
            tables: vec![Entry::default(); entries * TABLES].into(),
            masks,
            distrust: 0,
            branches: 0,
            random: 0x2545_f491,
        }
    }

    fn predicted(&mut self, place: (u64, u128), base: &mut i8, bits: u32, taken: bool) -> bool {
        let found = self.find(place, *base >= 0, bits);
        self.update(&found, base, taken);
        if found.taken != taken {
            self.allocate(&found, taken);
        }
        self.branches += 1;
        if self.branches.is_multiple_of(AGE) {
            self.tables.iter_mut().for_each(|entry| entry.useful >>= 1);
        }
        found.taken == taken
    }

    #[inline]
    fn find(&self, (address, history): (u64, u128), base: bool, bits: u32) -> Found {
        let mut found = Found { at: [0; TABLES], tags: [0; TABLES], provider: None, second: base, taken: base };
        let entries = (1usize << bits) - 1;
        let place = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Which tables know the branch, without a jump: that would be as hard to predict as the branch itself.
        let (mut known, mut taken) = (0u32, 0u32);
        let (recent, before) = split(history);
        for (i, mask) in self.masks.iter().enumerate() {
            let low = (recent & mask.0 ^ (before & mask.1).rotate_left(23) ^ place).wrapping_mul(0xff51_afd7_ed55_8ccd);
            let mixed = low ^ low >> 33;
            found.at[i] = i << bits | mixed as usize & entries;
            found.tags[i] = (mixed >> 40 & TAG_MASK) as u16 | 1 << 12;
            let entry = &self.tables[found.at[i]];
            known |= u32::from(entry.tag == found.tags[i]) << i;
            taken |= u32::from(entry.counter >= 0) << i;
        }
        if known != 0 {
            let provider = known.ilog2();
            let second = known ^ 1 << provider;
            found.provider = Some(provider as usize);
            found.taken = taken >> provider & 1 == 1;
            if second != 0 {
                found.second = taken >> second.ilog2() & 1 == 1;
            }
        }
        if let Some(provider) = found.provider {
            let entry = &self.tables[found.at[provider]];
            let new = entry.useful == 0 && matches!(entry.counter, -1 | 0);
            if new && self.distrust > 0 {
                found.taken = found.second;
            }
        }
        found
    }

    #[inline]
    fn update(&mut self, found: &Found, base: &mut i8, taken: bool) {
        let Some(provider) = found.provider else {
            *base = step(*base, taken, 1);
            return;
        };
        let entry = &mut self.tables[found.at[provider]];
        let said = entry.counter >= 0;
        let new = entry.useful == 0 && matches!(entry.counter, -1 | 0);
        if said != found.second {
            if new {
                self.distrust = step(self.distrust, said != taken, 7);
            }
            entry.useful = if said == taken { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
        }
        entry.counter = step(entry.counter, taken, 3);
        if entry.useful == 0 {
            *base = step(*base, taken, 1);
        }
    }

    /// A wrong prediction gets an entry with a longer history.
    fn allocate(&mut self, found: &Found, taken: bool) {
        let from = found.provider.map_or(0, |provider| provider + 1);
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let skip = usize::from(self.random >> 30 == 0);
        let free = (from + skip..TABLES).chain(from..TABLES).find(|&i| self.tables[found.at[i]].useful == 0);
        match free {
            Some(i) => {
                self.tables[found.at[i]] = Entry { tag: found.tags[i], counter: if taken { 0 } else { -1 }, useful: 0 };
            }
            None => (from..TABLES).for_each(|i| self.tables[found.at[i]].useful -= 1),
        }
    }
}
