//! Reads a trace back. Whatever the file holds, memory stays bounded and nothing panics.

use std::io::{ErrorKind, Read};

use dwell_itrace::{Event, MOST_THREADS, Mark, Word};
use dwell_work::stop;

use super::codec::Reader;
use super::definitions::{Definition, next};
use super::{
    DEFINITIONS, END, FRAME_HEAD, FRAME_WORDS, HEAD, Head, MAGIC, MOST_DEFINITIONS, MOST_HEAD, MOST_PAYLOAD, Tail,
    TraceError, VERSION, WORDS,
};
use crate::stream::Listener;

/// Reads a trace to its end, to the listener, or until that has enough. `begin` is told what was recorded, before the rest.
pub fn read(from: impl Read, begin: impl FnOnce(&Head), listener: &mut dyn Listener) -> Result<Head, TraceError> {
    let (head, mut frames) = begun(from)?;
    let mut state = State { codec: Reader::default(), blocks: 0, functions: 0, words: 0, room: MOST_DEFINITIONS };
    begin(&head);
    while !listener.is_enough() {
        // A frame of a hundred bytes may hold two million words: reads of the file are too rare for whoever stops it.
        stop::check();
        match frames.next(state.words)? {
            (DEFINITIONS, payload) => state.define(&payload, listener).ok_or_else(|| frames.damaged("definitions"))?,
            (WORDS, payload) => state.words(&payload, listener).ok_or_else(|| frames.damaged("words"))?,
            (END, payload) => {
                let tail: Tail = serde_json::from_slice(&payload).map_err(|_| frames.damaged("its end"))?;
                if tail.words != state.words {
                    return Err(frames.damaged("its words are not as many as its end says"));
                }
                break;
            }
            _ => return Err(frames.damaged("a frame of an unknown kind")),
        }
    }
    listener.end();
    Ok(head)
}

/// What was recorded in a trace.
pub fn head(from: impl Read) -> Result<Head, TraceError> {
    Ok(begun(from)?.0)
}

fn begun<R: Read>(from: R) -> Result<(Head, Frames<R>), TraceError> {
    let mut frames = Frames { from, at: 0 };
    let mut magic = [0; MAGIC.len()];
    let got = frames.fill(&mut magic)?;
    if got < magic.len() || &magic != MAGIC {
        return Err(TraceError::NotATrace);
    }
    let (kind, payload) = frames.next(0)?;
    if kind != HEAD || payload.len() > MOST_HEAD {
        return Err(frames.damaged("it does not begin with what was recorded"));
    }
    let head: Head = serde_json::from_slice(&payload).map_err(|_| frames.damaged("what was recorded"))?;
    if head.version == VERSION { Ok((head, frames)) } else { Err(TraceError::Version(head.version)) }
}

struct Frames<R> {
    from: R,
    at: u64,
}

impl<R: Read> Frames<R> {
    /// Fills the buffer as far as the file goes.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.from.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }

    /// The next frame's kind and payload. `words` have been read before.
    fn next(&mut self, words: u64) -> Result<(u32, Vec<u8>), TraceError> {
        let mut head = [0u8; FRAME_HEAD];
        let cut = Err(TraceError::Truncated { words });
        if self.fill(&mut head)? < head.len() {
            return cut;
        }
        let [kind, bytes, checksum] = [0, 4, 8].map(|at| number(&head, at).unwrap_or(0));
        if bytes as usize > MOST_PAYLOAD {
            return Err(self.damaged("its length"));
        }
        let mut payload = Vec::new();
        self.from.by_ref().take(u64::from(bytes)).read_to_end(&mut payload)?;
        if payload.len() < bytes as usize {
            return cut;
        }
        if crc32fast::hash(&payload) != checksum {
            return Err(self.damaged("its checksum"));
        }
        self.at += (FRAME_HEAD + payload.len()) as u64;
        Ok((kind, payload))
    }

    fn damaged(&self, what: &'static str) -> TraceError {
        TraceError::Damaged { at: self.at, what }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|it| u32::from_le_bytes(*it))
}

struct State {
    codec: Reader,
    blocks: u32,
    functions: u32,
    words: u64,
    /// Bytes of definitions that may follow.
    room: usize,
}

impl State {
    fn define(&mut self, payload: &[u8], listener: &mut dyn Listener) -> Option<()> {
        let bytes = number(payload, 0)? as usize;
        self.room = self.room.checked_sub(bytes)?;
        let definitions = unpacked(payload.get(4..)?, bytes)?;
        let mut rest = &definitions[..];
        while !rest.is_empty() {
            match next(&mut rest)? {
                Definition::Function(function) => {
                    listener.function(&function);
                    self.functions += 1;
                }
                Definition::Block(block, function) => {
                    listener.block(self.blocks, &block, Some(function).filter(|&it| it < self.functions)?);
                    self.blocks += 1;
                }
                Definition::Lost(what) => listener.lost(what),
            }
        }
        Some(())
    }

    fn words(&mut self, payload: &[u8], listener: &mut dyn Listener) -> Option<()> {
        let [count, control, moves, packed] = [0, 4, 8, 12].map(|at| number(payload, at).map(|it| it as usize));
        let (packed_control, packed_moves) = payload.get(16..)?.split_at_checked(packed?)?;
        let (control, moves) = (unpacked(packed_control, control?)?, unpacked(packed_moves, moves?)?);
        let most = count?;
        let words = self.codec.read(&control, &moves, self.blocks as usize, most.min(MOST_WORDS))?;
        let too_far = |word: &Word| matches!(word.event(), Some(Event::Mark(Mark::Thread(it))) if it >= MOST_THREADS);
        if words.len() != most || words.iter().any(too_far) {
            return None;
        }
        self.words += words.len() as u64;
        listener.words(&words);
        Some(())
    }
}

/// A frame has one slice of the recorder more than [`FRAME_WORDS`] at most, which is a chunk and the execution before it.
const MOST_WORDS: usize = FRAME_WORDS * 8;

fn unpacked(packed: &[u8], bytes: usize) -> Option<Vec<u8>> {
    if bytes > MOST_PAYLOAD {
        return None;
    }
    zstd::bulk::decompress(packed, bytes).ok().filter(|unpacked| unpacked.len() == bytes)
}
