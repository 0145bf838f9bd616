//! Writes a trace while it is recorded: whoever listens finds what words have in common, a thread of its own packs that and
//! writes it, so that neither packing nor the disk keeps the recorder waiting.

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use dwell_itrace::{Block, Lost, Word};

use super::codec::Writer;
use super::definitions::Definition;
use super::{DEFINITIONS, END, FRAME_WORDS, HEAD, Head, MAGIC, Tail, VERSION, WORDS};
use crate::stream::{Function, Listener};

/// zstd's: the streams are small, what is left in them is entropy.
const LEVEL: i32 = 1;
/// Bytes of definitions that make a frame.
const DEFINITION_BYTES: usize = 1 << 20;
/// Frames that may wait until they are packed.
const WAITING_FRAMES: usize = 4;

/// A trace being written. The first failure ends the writing.
pub struct TraceWriter<W> {
    frames: SyncSender<Frame>,
    packing: JoinHandle<io::Result<W>>,
    codec: Writer,
    definitions: Vec<u8>,
    blocks: usize,
    /// Words of the frame that is being filled.
    pending: usize,
    words: u64,
    failed: bool,
}

/// A frame that is not packed yet.
enum Frame {
    Definitions(Vec<u8>),
    Words { count: usize, control: Vec<u8>, moves: Vec<u8> },
    End(Tail),
}

impl<W: Write + Send + 'static> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(mut out: W, head: &Head) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let head = serde_json::to_vec(&Head { version: VERSION, ..head.clone() })?;
        write_frame(&mut out, HEAD, &[&head])?;
        let (frames, waiting) = sync_channel(WAITING_FRAMES);
        let mut packer = Packer { out, packer: zstd::bulk::Compressor::new(LEVEL)? };
        let pack = move || waiting.iter().try_for_each(|frame| packer.write(&frame)).map(|()| packer.out);
        Ok(Self {
            frames,
            packing: thread::Builder::new().name("packing".to_owned()).spawn(pack)?,
            codec: Writer::default(),
            definitions: Vec::new(),
            blocks: 0,
            pending: 0,
            words: 0,
            failed: false,
        })
    }

    /// Ends the trace; returns what it was written to. Fails with the first failure that there was.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush();
        self.send(Frame::End(Tail { words: self.words }));
        drop(self.frames);
        self.packing.join().unwrap_or_else(|_| Err(io::Error::other("the trace could not be packed")))
    }

    fn send(&mut self, frame: Frame) {
        // Where nobody takes it, the thread has ended, and returns why.
        self.failed |= self.frames.send(frame).is_err();
    }

    fn define(&mut self, definition: &Definition) {
        definition.encode(&mut self.definitions);
        if self.definitions.len() > DEFINITION_BYTES {
            self.flush();
        }
    }

    /// Sends what there is: definitions before the words that name them.
    fn flush(&mut self) {
        if !self.definitions.is_empty() {
            let definitions = std::mem::take(&mut self.definitions);
            self.send(Frame::Definitions(definitions));
        }
        if self.pending > 0 {
            self.codec.end_frame();
            let (control, moves) = (std::mem::take(&mut self.codec.control), std::mem::take(&mut self.codec.moves));
            let count = std::mem::take(&mut self.pending);
            self.send(Frame::Words { count, control, moves });
        }
    }
}

struct Packer<W> {
    out: W,
    packer: zstd::bulk::Compressor<'static>,
}

impl<W: Write> Packer<W> {
    fn write(&mut self, frame: &Frame) -> io::Result<()> {
        match frame {
            Frame::Definitions(definitions) => {
                let packed = self.packer.compress(definitions)?;
                let bytes = (definitions.len() as u32).to_le_bytes();
                write_frame(&mut self.out, DEFINITIONS, &[&bytes, &packed])
            }
            Frame::Words { count, control, moves } => {
                let packed_control = self.packer.compress(control)?;
                let packed_moves = self.packer.compress(moves)?;
                let numbers = [*count, control.len(), moves.len(), packed_control.len()];
                let numbers = numbers.map(|number| (number as u32).to_le_bytes());
                write_frame(&mut self.out, WORDS, &[numbers.as_flattened(), &packed_control, &packed_moves])
            }
            Frame::End(tail) => {
                write_frame(&mut self.out, END, &[&serde_json::to_vec(tail)?])?;
                self.out.flush()
            }
        }
    }
}

impl<W: Write + Send + 'static> Listener for TraceWriter<W> {
    fn function(&mut self, function: &Function) {
        self.define(&Definition::Function(function.clone()));
    }

    fn block(&mut self, _: u32, block: &Block, function: u32) {
        self.blocks += 1;
        self.define(&Definition::Block(block.clone(), function));
    }

    fn words(&mut self, words: &[Word]) {
        if self.failed {
            return;
        }
        if self.pending > 0 && self.pending + words.len() > FRAME_WORDS {
            self.flush();
        }
        self.codec.write(words, self.blocks);
        self.pending += words.len();
        self.words += words.len() as u64;
    }

    fn lost(&mut self, what: Lost) {
        self.define(&Definition::Lost(what));
    }

    fn is_enough(&self) -> bool {
        self.failed
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
