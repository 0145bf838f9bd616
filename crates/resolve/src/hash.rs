//! A fast hash for the small fixed-size keys of the replay: a context switch costs four look-ups.
//!
//! It is no defence against chosen keys; what comes from a damaged trace can be slow, never wrong.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map under [`KeyHasher`].
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

/// Multiplies and rotates, word by word (the scheme of rustc's FxHasher).
#[derive(Clone, Copy, Default)]
pub struct KeyHasher(u64);

impl KeyHasher {
    fn add(&mut self, word: u64) {
        self.0 = self.0.wrapping_add(word).wrapping_mul(FACTOR);
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }
    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

/// FNV-1a, 64 bits: for names that have to be the same from run to run and from version to version.
#[derive(Clone, Copy)]
pub struct StableHash(u64);

impl StableHash {
    /// The hash of nothing.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes and a separator.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash folded to 32 bits.
    pub fn folded(self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}
