//! Prediction of directions: gshare, and TAGE (A. Seznec, P. Michaud: A case for (partially) tagged geometric history length
//! branch prediction, JILP 2006), without its loop predictor. Hashes are multiplications instead of folded registers: a
//! model needs good indices, not short wires.

use crate::description::{Branch, Predictor};

const TABLES: usize = 6;
const SHORTEST: f64 = 5.0;
/// Branches after which `useful` is taken back, so that dead entries can go.
const AGE: u32 = 1 << 18;
/// An entry has a tag of 12 bits, a bit that it is one, and a counter of three bits: from [`TAKEN`] on, taken.
const COUNTER: u16 = 7;
const TAKEN: u16 = 4;
const IS_ENTRY: u16 = 1 << 15;

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

#[derive(Debug)]
struct Tage {
    /// The entries of all tables, small: they compete with the rest of the model for the cache.
    entries: Box<[u16]>,
    /// How often each was right where the others were not, up to 3.
    useful: Box<[u8]>,
    /// What each table sees of the history: the last 64 branches, and those before.
    masks: [(u64, u64); TABLES],
    /// Whether entries that were just made predict worse than what was there before (positive: they do).
    distrust: i8,
    branches: u32,
    random: u32,
}

/// What the tables say of a branch. Predictors are numbered from 0, the base; the longest that knows the branch provides.
struct Found {
    at: [usize; TABLES],
    tags: [u16; TABLES],
    provider: usize,
    /// What it says.
    said: bool,
    /// What would be said without it.
    second: bool,
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
            entries: vec![0; entries * TABLES].into(),
            useful: vec![0; entries * TABLES].into(),
            masks,
            distrust: 0,
            branches: 0,
            random: 0x2545_f491,
        }
    }

    #[inline]
    fn predicted(&mut self, place: (u64, u128), base: &mut i8, bits: u32, taken: bool) -> bool {
        let found = self.find(place, *base >= 0, bits);
        let predicted = if found.provider == 0 {
            *base = step(*base, taken, 1);
            found.said
        } else {
            self.update(&found, base, taken)
        };
        if predicted != taken {
            self.allocate(&found, taken);
        }
        self.branches += 1;
        if self.branches.is_multiple_of(AGE) {
            self.useful.iter_mut().for_each(|useful| *useful >>= 1);
        }
        predicted == taken
    }

    #[inline(always)]
    fn find(&self, (address, history): (u64, u128), base: bool, bits: u32) -> Found {
        let (mut at, mut tags) = ([0; TABLES], [0; TABLES]);
        let entries = (1usize << bits) - 1;
        let place = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Which tables know the branch, without a jump: that would be as hard to predict as the branch itself.
        let (mut known, mut taken) = (1u32, u32::from(base));
        let (recent, before) = split(history);
        for (i, mask) in self.masks.iter().enumerate() {
            let low = (recent & mask.0 ^ (before & mask.1).rotate_left(23) ^ place).wrapping_mul(0xff51_afd7_ed55_8ccd);
            at[i] = i << bits | (low ^ low >> 33) as usize & entries;
            tags[i] = (low >> 37) as u16 & !COUNTER | IS_ENTRY;
            let entry = self.entries[at[i]];
            known |= u32::from(entry ^ tags[i] <= COUNTER) << (i + 1);
            taken |= u32::from(entry & TAKEN != 0) << (i + 1);
        }
        let provider = known.ilog2();
        let second = (known ^ 1 << provider | 1).ilog2();
        let says = |predictor: u32| taken >> predictor & 1 == 1;
        Found { at, tags, provider: provider as usize, said: says(provider), second: says(second) }
    }

    /// A table provides: what is predicted, and what it learns.
    #[inline(always)]
    fn update(&mut self, found: &Found, base: &mut i8, taken: bool) -> bool {
        let at = found.at[found.provider - 1];
        let (entry, useful) = (&mut self.entries[at], &mut self.useful[at]);
        let counter = *entry & COUNTER;
        let new = *useful == 0 && matches!(counter, 3 | TAKEN);
        let predicted = if new && self.distrust > 0 { found.second } else { found.said };
        if found.said != found.second {
            if new {
                self.distrust = step(self.distrust, found.said != taken, 7);
            }
            *useful = if found.said == taken { (*useful + 1).min(3) } else { useful.saturating_sub(1) };
        }
        let counter = if taken { (counter + 1).min(COUNTER) } else { counter.saturating_sub(1) };
        *entry = *entry & !COUNTER | counter;
        if *useful == 0 {
            *base = step(*base, taken, 1);
        }
        predicted
    }

    /// A wrong prediction gets an entry with a longer history.
    #[cold]
    fn allocate(&mut self, found: &Found, taken: bool) {
        let from = found.provider;
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let skip = usize::from(self.random >> 30 == 0);
        let free = (from + skip..TABLES).chain(from..TABLES).find(|&i| self.useful[found.at[i]] == 0);
        match free {
            Some(i) => self.entries[found.at[i]] = found.tags[i] | if taken { TAKEN } else { TAKEN - 1 },
            None => (from..TABLES).for_each(|i| self.useful[found.at[i]] -= 1),
        }
    }
}
