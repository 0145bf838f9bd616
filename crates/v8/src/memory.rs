//! The memory in which V8's heap lies.

/// The memory of a process.
pub trait HeapMemory {
    /// The `length` bytes at an address; `None` where they are not all there.
    fn bytes_at(&mut self, address: u64, length: usize) -> Option<Vec<u8>>;
}

/// Bit by which a value tells that it is the address of an object, and no small integer: V8 adds 1 to addresses.
const HEAP_OBJECT: u64 = 1;
/// Bits that tell strong references from weak ones.
const TAG_MASK: u64 = 3;

/// The address of the object that a value refers to; `None` of a small integer or a weak reference.
pub fn object_of(value: u64) -> Option<u64> {
    (value & TAG_MASK == HEAP_OBJECT && value > 4096).then(|| value - HEAP_OBJECT)
}

/// A small integer: its upper 32 bits, where values have 64 (builds without pointer compression, as Node's are).
pub fn small_integer(value: u64) -> Option<i32> {
    (value & u64::from(u32::MAX) == 0).then(|| (value.cast_signed() >> 32) as i32)
}

/// The word at an address.
pub fn word_at(memory: &mut impl HeapMemory, address: u64) -> Option<u64> {
    words(&memory.bytes_at(address, 8)?).next()
}

/// The 32 bits at an address.
pub fn number_at(memory: &mut impl HeapMemory, address: u64) -> Option<u32> {
    Some(u32::from_le_bytes(memory.bytes_at(address, 4)?.try_into().ok()?))
}

/// The 16 bits at an address.
pub fn short_at(memory: &mut impl HeapMemory, address: u64) -> Option<u16> {
    Some(u16::from_le_bytes(memory.bytes_at(address, 2)?.try_into().ok()?))
}

/// The words of some bytes.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}
