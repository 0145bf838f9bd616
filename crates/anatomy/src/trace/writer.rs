//! Writes a trace while it is recorded.

use std::io::{self, Write};

use dwell_itrace::{Block, Lost, Word};

use super::codec::Writer;
use super::definitions::Definition;
use super::{DEFINITIONS, END, FRAME_WORDS, HEAD, Head, MAGIC, Tail, VERSION, WORDS};
use crate::stream::{Function, Listener};

/// zstd's: the streams are small, what is left in them is entropy.
const LEVEL: i32 = 1;
/// Bytes of definitions that make a frame.
const DEFINITION_BYTES: usize = 1 << 20;

/// A trace being written. The first failure is kept and ends the writing.
pub struct TraceWriter<W> {
    out: W,
    codec: Writer,
    packer: zstd::bulk::Compressor<'static>,
    definitions: Vec<u8>,
    blocks: usize,
    /// Words of the frame that is being filled.
    pending: usize,
    words: u64,
    failure: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(mut out: W, head: &Head) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let head = serde_json::to_vec(&Head { version: VERSION, ..head.clone() })?;
        write_frame(&mut out, HEAD, &[&head])?;
        Ok(Self {
            out,
            codec: Writer::default(),
            packer: zstd::bulk::Compressor::new(LEVEL)?,
            definitions: Vec::new(),
            blocks: 0,
            pending: 0,
            words: 0,
            failure: None,
        })
    }

    /// Ends the trace. Fails with the first failure that there was.
    pub fn finish(mut self) -> io::Result<()> {
        self.attempt(Self::flush);
        let tail = serde_json::to_vec(&Tail { words: self.words })?;
        self.attempt(|it| write_frame(&mut it.out, END, &[&tail]).and_then(|()| it.out.flush()));
        self.failure.map_or(Ok(()), Err)
    }

    fn attempt(&mut self, step: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failure.is_none()
            && let Err(failure) = step(self)
        {
            self.failure = Some(failure);
        }
    }

    fn define(&mut self, definition: &Definition) {
        definition.encode(&mut self.definitions);
        if self.definitions.len() > DEFINITION_BYTES {
            self.attempt(Self::flush);
        }
    }

    /// Writes what there is: definitions before the words that name them.
    fn flush(&mut self) -> io::Result<()> {
        if !self.definitions.is_empty() {
            let packed = self.packer.compress(&self.definitions)?;
            let bytes = (self.definitions.len() as u32).to_le_bytes();
            write_frame(&mut self.out, DEFINITIONS, &[&bytes, &packed])?;
            self.definitions.clear();
        }
        if self.pending > 0 {
            self.codec.end_frame();
            let control = self.packer.compress(&self.codec.control)?;
            let moves = self.packer.compress(&self.codec.moves)?;
            let numbers = [self.pending, self.codec.control.len(), self.codec.moves.len(), control.len()];
            let numbers = numbers.map(|number| (number as u32).to_le_bytes());
            write_frame(&mut self.out, WORDS, &[numbers.as_flattened(), &control, &moves])?;
            self.codec.control.clear();
            self.codec.moves.clear();
            self.pending = 0;
        }
        Ok(())
    }
}

impl<W: Write> Listener for TraceWriter<W> {
    fn function(&mut self, function: &Function) {
        self.define(&Definition::Function(function.clone()));
    }

    fn block(&mut self, _: u32, block: &Block, function: u32) {
        self.blocks += 1;
        self.define(&Definition::Block(block.clone(), function));
    }

    fn words(&mut self, words: &[Word]) {
        if self.failure.is_some() {
            return;
        }
        if self.pending > 0 && self.pending + words.len() > FRAME_WORDS {
            self.attempt(Self::flush);
        }
        self.codec.write(words, self.blocks);
        self.pending += words.len();
        self.words += words.len() as u64;
    }

    fn lost(&mut self, what: Lost) {
        self.define(&Definition::Lost(what));
    }

    fn is_enough(&self) -> bool {
        self.failure.is_some()
    }
}

fn write_frame(out: &mut impl Write, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    for number in [kind, bytes as u32, hasher.finalize()] {
        out.write_all(&number.to_le_bytes())?;
    }
    parts.iter().try_for_each(|part| out.write_all(part))
}
