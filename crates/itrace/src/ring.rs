//! How a recorder hands over what it records: memory shared with its reader, and two pipes.
//!
//! The memory begins with one [`Lane`] per virtual CPU; behind them lie chunks of words. A recorder fills a chunk, announces
//! it by a [`Message`](crate::Message) in one pipe and takes the number of an empty one from the other, where the reader puts
//! it when it has copied the words: a slow reader makes the recorder wait, and memory is bounded. The lanes say what stands in
//! the chunks of a recorder that was killed. Messages that can wait stand in an outbox behind the chunks until one
//! that cannot is sent: a write for each block would wake the reader thousands of times.

/// Virtual CPUs that can be recorded at a time.
pub const LANES: usize = 4096;
/// Bytes of a lane: a cache line, so that CPUs do not disturb one another.
pub const LANE_BYTES: usize = 64;
/// Words of a chunk.
pub const CHUNK_WORDS: usize = 1 << 15;
/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
/// Chunks that there are at the beginning, empty.
pub const FIRST_CHUNKS: u32 = 8;
/// Chunks that there can be: the recorder takes a new one for each thread.
pub const MOST_CHUNKS: u32 = LANES as u32 + FIRST_CHUNKS;
/// Where the outbox begins, in bytes.
pub const OUTBOX_OFFSET: usize = LANES * LANE_BYTES + MOST_CHUNKS as usize * CHUNK_BYTES;
/// Bytes of messages that an outbox has room for: a pipe takes as many at once.
pub const OUTBOX_ROOM: usize = 1 << 16;
/// Bytes of the shared memory, of which only what is used takes room.
pub const MEMORY_BYTES: usize = OUTBOX_OFFSET + size_of::<Outbox>() + OUTBOX_ROOM;
/// In the place of an empty chunk's number: record no more.
pub const STOP: u32 = u32::MAX;

/// Where a virtual CPU writes. The addresses are the recorder's; [`Message::Hello`](crate::Message::Hello) tells where the
/// memory begins there.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Address of the next word; 0 before the first one.
    pub cursor: u64,
    /// Address behind the last word that there is room for.
    pub end: u64,
    /// Address of the chunk's first word.
    pub begin: u64,
    /// Number of the chunk.
    pub chunk: u32,
    /// Accesses of the repeated string instruction under way; the recorder's own.
    pub string_accesses: u32,
}

/// What stands before the messages of the outbox.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Outbox {
    /// Bytes of messages that were written to the pipe before these.
    pub sent: u64,
    /// Bytes of messages that stand here.
    pub filled: u64,
}

impl Outbox {
    /// The messages that a reader lacks who read `taken` bytes of messages from the pipe: `bytes` are the whole outbox. None
    /// where that makes no sense.
    pub fn unread(bytes: &[u8], taken: u64) -> Option<&[u8]> {
        let number = |at: usize| bytes.get(at..)?.first_chunk().map(|it| u64::from_le_bytes(*it));
        let (sent, filled) = (number(0)?, usize::try_from(number(8)?).ok()?);
        let messages = bytes.get(size_of::<Self>()..)?.get(..filled)?;
        messages.get(usize::try_from(taken.checked_sub(sent)?).ok()?..)
    }
}

impl Lane {
    /// A lane as it stands in the memory; none when it has no chunk, or what stands there makes no sense.
    pub fn read(bytes: &[u8; LANE_BYTES], memory: u64) -> Option<(u32, usize)> {
        let number = |at: usize| bytes[at..].first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
        let (cursor, begin, chunk) = (number(0), number(16), number(24) as u32);
        let place = chunk_offset(chunk)? as u64;
        let filled = cursor.checked_sub(begin)?;
        let makes_sense = begin == memory.wrapping_add(place) && filled <= CHUNK_BYTES as u64 && begin != 0;
        makes_sense.then_some((chunk, (filled / 8) as usize))
    }
}

/// Where a chunk begins in the memory, in bytes; none for a number that no chunk has.
pub fn chunk_offset(chunk: u32) -> Option<usize> {
    (chunk < MOST_CHUNKS).then(|| LANES * LANE_BYTES + chunk as usize * CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(cursor: u64, begin: u64, chunk: u64) -> [u8; LANE_BYTES] {
        let mut bytes = [0; LANE_BYTES];
        for (at, value) in [(0, cursor), (16, begin), (24, chunk)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_lane_tells_how_many_words_are_in_its_chunk() {
        let begin = 0x7000_0000 + chunk_offset(3).unwrap() as u64;
        assert_eq!(Lane::read(&lane(begin + 80, begin, 3), 0x7000_0000), Some((3, 10)));
        assert_eq!(std::mem::size_of::<Lane>(), LANE_BYTES);
    }

    #[test]
    fn a_lane_that_makes_no_sense_has_nothing() {
        let begin = 0x7000_0000 + chunk_offset(3).unwrap() as u64;
        let full = CHUNK_BYTES as u64;
        for (cursor, at, chunk) in
            [(0, 0, 0), (begin - 8, begin, 3), (begin + full + 8, begin, 3), (begin, begin, 4), (0, 0, 1 << 31)]
        {
            assert_eq!(Lane::read(&lane(cursor, at, chunk), 0x7000_0000), None, "{cursor:x} {at:x} {chunk}");
        }
    }

    #[test]
    fn an_outbox_tells_what_was_not_read() {
        let outbox = |sent: u64, filled: u64| [&sent.to_le_bytes(), &filled.to_le_bytes(), &b"messages"[..]].concat();
        assert_eq!(Outbox::unread(&outbox(100, 8), 100), Some(&b"messages"[..]));
        // Killed while it was written to the pipe.
        assert_eq!(Outbox::unread(&outbox(100, 8), 103), Some(&b"sages"[..]));
        assert_eq!(Outbox::unread(&outbox(100, 0), 100), Some(&b""[..]));
        for (sent, filled, taken) in [(100, 8, 99), (100, 8, 109), (100, 9, 100), (0, u64::MAX, 0)] {
            assert_eq!(Outbox::unread(&outbox(sent, filled), taken), None, "{sent} {filled} {taken}");
        }
        assert_eq!(Outbox::unread(&[0; 9], 0), None);
    }
}
