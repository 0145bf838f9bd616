//! Reading another process's memory, many pieces at once: a call of the kernel costs more than the bytes.

/// The memory of a process.
pub trait RemoteMemory {
    /// The bytes of all `pieces` (address, length), one behind the other. A piece that is not all there reads as zeros: in all
    /// that is read here, a zero stands for nothing.
    fn read_pieces(&mut self, pieces: &[(u64, usize)]) -> Vec<u8>;
}

/// The `length` bytes at each address.
pub fn records<'b>(
    memory: &mut impl RemoteMemory,
    addresses: &[u64],
    length: usize,
    bytes: &'b mut Vec<u8>,
) -> impl Iterator<Item = &'b [u8]> {
    let pieces: Vec<_> = addresses.iter().map(|&address| (address, length)).collect();
    *bytes = memory.read_pieces(&pieces);
    bytes.resize(length * addresses.len(), 0);
    bytes.chunks_exact(length.max(1))
}

/// The word at `offset` behind each address.
pub fn words_at(memory: &mut impl RemoteMemory, addresses: &[u64], offset: u64) -> Vec<u64> {
    let places: Vec<u64> = addresses.iter().map(|address| address.wrapping_add(offset)).collect();
    let mut bytes = Vec::new();
    records(memory, &places, 8, &mut bytes).map(|record| word(record, 0)).collect()
}

/// The 16 bits at `offset` behind each address.
pub fn shorts_at(memory: &mut impl RemoteMemory, addresses: &[u64], offset: u64) -> Vec<u16> {
    let places: Vec<u64> = addresses.iter().map(|address| address.wrapping_add(offset)).collect();
    let mut bytes = Vec::new();
    records(memory, &places, 2, &mut bytes).map(|record| short(record, 0)).collect()
}

/// The word at an address.
pub fn word_at(memory: &mut impl RemoteMemory, address: u64) -> u64 {
    word(&memory.read_pieces(&[(address, 8)]), 0)
}

/// The 32 bits at an address.
pub fn number_at(memory: &mut impl RemoteMemory, address: u64) -> u32 {
    number(&memory.read_pieces(&[(address, 4)]), 0)
}

/// The word at `offset` of a record, zero beyond its end.
pub fn word(record: &[u8], offset: u64) -> u64 {
    u64::from_le_bytes(field(record, offset))
}

/// The 32 bits at `offset` of a record, zero beyond its end.
pub fn number(record: &[u8], offset: u64) -> u32 {
    u32::from_le_bytes(field(record, offset))
}

/// The 16 bits at `offset` of a record, zero beyond its end.
pub fn short(record: &[u8], offset: u64) -> u16 {
    u16::from_le_bytes(field(record, offset))
}

fn field<const BYTES: usize>(record: &[u8], offset: u64) -> [u8; BYTES] {
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    record.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; BYTES])
}

/// A C string's text at the beginning of `bytes`.
pub fn c_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
