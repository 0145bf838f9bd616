//! One level of cache (or a TLB, a BTB, a µop cache: anything that looks keys up in sets).
//!
//! All sets lie in one flat array, a word per way: the key above [`FLAG_BITS`] flags. Under LRU a set is kept in the order of
//! use, the newest first: most look-ups end at the first word, nothing is written, and the victim is the last one. Under the
//! other policies a line keeps its way as long as it is here, so that a small table can say in which way a key was found last:
//! nearly every look-up ends there.

use crate::description::Replacement;

/// The line was written since it came.
pub(crate) const DIRTY: u64 = 1;
/// The line was prefetched and not used since.
pub(crate) const PREFETCHED: u64 = 2;
const CLASS_SHIFT: u32 = 2;
const CLASS: u64 = 3 << CLASS_SHIFT;
const FLAG_BITS: u32 = 4;
const FLAGS: u64 = (1 << FLAG_BITS) - 1;
/// No line: keys have at most 58 bits.
const NONE: u64 = u64::MAX << FLAG_BITS;

/// The classes of service that can own ways.
pub(crate) const MAX_CLASSES: usize = 4;

#[derive(Debug)]
pub(crate) struct Cache {
    ways: usize,
    set_mask: u64,
    /// Slices share nothing: a hash of all bits of a key says which one it is in.
    slices: u64,
    replacement: Replacement,
    lines: Box<[u64]>,
    /// Unless LRU: in which way keys were found last, by their lowest bits.
    hints: Box<[u8]>,
    /// Pseudo-LRU: each set's tree, a bit for each inner node; the first bit, which is no node's, says that no way is empty.
    trees: Box<[u64]>,
    /// What a use of a way does to the tree: the bits of the nodes above it, and those that then point to the right.
    paths: Box<[(u64, u64)]>,
    random: u64,
}

const FULL: u64 = 1;

/// The most hints of a cache: those of a larger one would themselves be looked up slowly.
const MAX_HINTS: usize = 1 << 15;

/// A line that had to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub key: u64,
    pub dirty: bool,
}

/// How a cache is laid out: `slices` times `sets` (a power of two) times `ways`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    pub slices: u64,
    pub sets: u64,
    pub ways: usize,
    pub replacement: Replacement,
}

impl Cache {
    pub fn new(geometry: Geometry) -> Self {
        Self::partitioned(geometry, &[geometry.ways])
    }

    /// A cache in which class `i` owns `quotas[i]` ways of each set; the quotas sum to the ways.
    pub fn partitioned(geometry: Geometry, quotas: &[usize]) -> Self {
        let sets = (geometry.slices * geometry.sets) as usize;
        let set: Vec<u64> = (0u64..)
            .zip(quotas)
            .flat_map(|(class, &ways)| std::iter::repeat_n(NONE | class << CLASS_SHIFT, ways))
            .collect();
        let hints = (sets * set.len() * 2).next_power_of_two().min(MAX_HINTS);
        Self {
            ways: geometry.ways,
            set_mask: geometry.sets - 1,
            slices: geometry.slices,
            replacement: geometry.replacement,
            lines: set.repeat(sets).into(),
            trees: vec![0; if geometry.replacement == Replacement::Plru { sets } else { 0 }].into(),
            hints: vec![0; if geometry.replacement == Replacement::Lru { 0 } else { hints }].into(),
            paths: (0..geometry.ways).map(|way| path(way, geometry.ways)).collect(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The number of the key's set.
    #[inline(always)]
    fn set(&self, key: u64) -> usize {
        let set = key & self.set_mask;
        if self.slices == 1 {
            return set as usize;
        }
        let hash = (key >> 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let slice = (hash * self.slices) >> 32;
        (slice * (self.set_mask + 1) + set) as usize
    }

    /// Looks a key up and makes it the one used last. The place is good for [`Cache::flag`] until the next call.
    #[inline(always)]
    pub fn touch(&mut self, key: u64) -> Option<usize> {
        let set = self.set(key);
        let base = set * self.ways;
        let is = |line: u64| line & !FLAGS == key << FLAG_BITS;
        if self.replacement == Replacement::Lru {
            return if is(self.lines[base]) { Some(base) } else { self.move_up(base, key) };
        }
        let mut way = self.hinted(key);
        if !is(self.lines[base + way]) {
            way = self.find(base, key)?;
            self.hint(key, way);
        }
        self.use_way(set, way);
        Some(base + way)
    }

    /// Makes a key that is in the set that begins at `base` its first.
    #[inline]
    fn move_up(&mut self, base: usize, key: u64) -> Option<usize> {
        let way = self.find(base, key)?;
        let newer = &mut self.lines[base..=base + way];
        push_front(newer, newer[way]);
        Some(base)
    }

    /// The way in which a key was last, or any other.
    #[inline(always)]
    fn hinted(&self, key: u64) -> usize {
        usize::from(self.hints[key as usize & (self.hints.len() - 1)])
    }

    #[inline(always)]
    fn hint(&mut self, key: u64, way: usize) {
        let hint = key as usize & (self.hints.len() - 1);
        self.hints[hint] = way as u8;
    }

    /// The way of a key in the set that begins at `base`.
    #[inline]
    fn find(&self, base: usize, key: u64) -> Option<usize> {
        self.lines[base..base + self.ways].iter().position(|&line| line & !FLAGS == key << FLAG_BITS)
    }

    /// Looks a key up without a trace.
    #[inline]
    pub fn holds(&self, key: u64) -> bool {
        let base = self.set(key) * self.ways;
        let first = if self.replacement == Replacement::Lru { 0 } else { self.hinted(key) };
        self.lines[base + first] & !FLAGS == key << FLAG_BITS || self.find(base, key).is_some()
    }

    /// Sets flags of the line at a place.
    #[inline(always)]
    pub fn flag(&mut self, place: usize, flags: u64) {
        self.lines[place] |= flags;
    }

    /// Takes a flag away; whether it was set.
    #[inline(always)]
    pub fn unflag(&mut self, place: usize, flag: u64) -> bool {
        let was = self.lines[place] & flag != 0;
        self.lines[place] &= !flag;
        was
    }

    /// Marks a line as written if it is here; not a use.
    pub fn soil(&mut self, key: u64) -> bool {
        let base = self.set(key) * self.ways;
        let found = self.find(base, key);
        found.map(|way| self.lines[base + way] |= DIRTY).is_some()
    }

    /// Takes a line in that is not here, for a class; says which one had to go.
    #[inline]
    pub fn fill(&mut self, key: u64, class: usize, flags: u64) -> Option<Victim> {
        let set = self.set(key);
        let class = (class as u64) << CLASS_SHIFT;
        let way = self.victim(set, class);
        let lines = &mut self.lines[set * self.ways..=set * self.ways + way];
        let old = lines[way];
        let line = key << FLAG_BITS | class | flags;
        if self.replacement == Replacement::Lru {
            push_front(lines, line);
        } else {
            lines[way] = line;
            self.hint(key, way);
            self.use_way(set, way);
        }
        (old & !FLAGS != NONE).then_some(Victim { key: old >> FLAG_BITS, dirty: old & DIRTY != 0 })
    }

    /// Takes a line out; whether it was here, and written.
    pub fn remove(&mut self, key: u64) -> Option<bool> {
        let set = self.set(key);
        let way = self.find(set * self.ways, key)?;
        let lines = &mut self.lines[set * self.ways..(set + 1) * self.ways];
        let found = lines[way];
        let empty = NONE | found & CLASS;
        if self.replacement == Replacement::Lru {
            lines.copy_within(way + 1.., way);
            lines[self.ways - 1] = empty;
        } else {
            lines[way] = empty;
            if let Some(tree) = self.trees.get_mut(set) {
                *tree &= !FULL;
            }
        }
        Some(found & DIRTY != 0)
    }

    #[inline]
    fn victim(&mut self, set: usize, class: u64) -> usize {
        let lines = &self.lines[set * self.ways..(set + 1) * self.ways];
        let last = self.ways - 1;
        match self.replacement {
            Replacement::Lru if lines[last] & CLASS == class => last,
            Replacement::Lru => lines.iter().rposition(|line| line & CLASS == class).unwrap_or(last),
            Replacement::Plru => self.pointed_at(set),
            Replacement::Random => {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                let owned = lines.iter().filter(|line| **line & CLASS == class).count().max(1);
                let chosen = (self.random >> 32) as usize % owned;
                let mut ways = (0..self.ways).filter(|&way| lines[way] & CLASS == class);
                empty(lines).filter(|&way| lines[way] & CLASS == class).or_else(|| ways.nth(chosen)).unwrap_or(last)
            }
        }
    }

    /// A way that keeps its place is used: the nodes above it point to the other side.
    #[inline(always)]
    fn use_way(&mut self, set: usize, way: usize) {
        if let Some(tree) = self.trees.get_mut(set) {
            let (nodes, right) = self.paths[way];
            *tree = *tree & !nodes | right;
        }
    }

    /// An empty way, or where the nodes point to. Ways that are not there (a number that is no power of two) are not entered.
    fn pointed_at(&mut self, set: usize) -> usize {
        let tree = &mut self.trees[set];
        if *tree & FULL == 0 {
            if let Some(way) = empty(&self.lines[set * self.ways..(set + 1) * self.ways]) {
                return way;
            }
            *tree |= FULL;
        }
        let leaves = self.ways.next_power_of_two();
        let (mut node, mut span) = (1, leaves);
        while node < leaves {
            span /= 2;
            let right = node * 2 + 1;
            let first_of_right = (right << span.trailing_zeros()) - leaves;
            node = node * 2 + (*tree >> node & 1) as usize * usize::from(first_of_right < self.ways);
        }
        node - leaves
    }
}

/// Puts a line before the others, of which the last one goes.
#[inline(always)]
fn push_front(lines: &mut [u64], line: u64) {
    let mut before = line;
    for place in lines {
        before = std::mem::replace(place, before);
    }
}

/// The nodes above a way, and those of them that point away from it to the right.
fn path(way: usize, ways: usize) -> (u64, u64) {
    let mut node = ways.next_power_of_two() + way;
    let (mut nodes, mut right) = (0, 0);
    while node > 1 {
        let is_left = node & 1 == 0;
        node >>= 1;
        // Trees are of at most 64 ways; caches of more are no trees.
        nodes |= 1u64.checked_shl(node as u32).unwrap_or(0);
        right |= u64::from(is_left).checked_shl(node as u32).unwrap_or(0);
    }
    (nodes, right)
}

fn empty(set: &[u64]) -> Option<usize> {
    set.iter().position(|&line| line & !FLAGS == NONE)
}
