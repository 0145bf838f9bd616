//! Numbers for equal keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash};

use crate::hash::KeyHasher;

/// Gives equal keys one number.
pub struct Interner<K, S = BuildHasherDefault<KeyHasher>> {
    numbers: HashMap<K, u32, S>,
    keys: Vec<K>,
}

impl<K, S: Default> Default for Interner<K, S> {
    fn default() -> Self {
        Self { numbers: HashMap::default(), keys: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash, S: BuildHasher> Interner<K, S> {
    /// The key's number.
    pub fn intern(&mut self, key: K) -> usize {
        // Most keys are known: a look-up alone is faster than an entry.
        if let Some(&number) = self.numbers.get(&key) {
            return number as usize;
        }
        let next = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.numbers.insert(key, next);
        self.keys.push(key);
        next as usize
    }

    /// The key's number, if it has one already.
    pub fn get(&self, key: &K) -> Option<usize> {
        self.numbers.get(key).map(|number| *number as usize)
    }

    /// The keys by number.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }
}
