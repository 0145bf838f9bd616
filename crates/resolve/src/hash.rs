//! Hashes: a fast one for the small fixed-size keys of the replay (a context switch costs four look-ups), and a stable one.

pub use dwell_store::WordHasher as KeyHasher;
pub use dwell_store::WordMap as FastMap;

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
