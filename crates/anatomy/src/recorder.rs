//! Runs QEMU with the plug-in and reads what it records, while it records.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, PipeReader, PipeWriter, Read, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dwell_itrace::ring::{
    CHUNK_WORDS, FIRST_CHUNKS, LANE_BYTES, LANES, Lane, MEMORY_BYTES, OUTBOX_OFFSET, Outbox, STOP, chunk_offset,
};
use dwell_itrace::{Block, MOST_THREADS, Mark, Message, VERSION, Word};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::error::Error;
use crate::naming::Naming;
use crate::program;
use crate::stream::{Listener, Module, Namer};

/// The plug-in, as build.rs made it.
static PLUGIN: &[u8] = include_bytes!(env!("DWELL_QEMU_PLUGIN"));

/// QEMU at work.
pub struct Recorder {
    emulator: PathBuf,
    child: Arc<Mutex<Child>>,
    memory: File,
    messages: Counted<BufReader<PipeReader>>,
    /// Bytes of the messages that were read.
    taken: u64,
    tokens: PipeWriter,
    threads: Threads,
    /// Where the memory begins in QEMU, once it has said so.
    base: Option<u64>,
    stopped: bool,
    bytes: Vec<u8>,
    words: Vec<Word>,
    said_bye: bool,
}

/// What is read, and how many bytes of it were.
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.from.read(buffer).inspect(|&count| self.bytes += count as u64)
    }
}

/// Which thread a virtual CPU runs: numbers of CPUs are used again, those of threads are not.
#[derive(Default)]
struct Threads {
    of_cpu: HashMap<u32, u32>,
    /// The execution that a thread's last chunk ended in: its accesses may go on in the next one.
    unfinished: HashMap<u32, Vec<Word>>,
    count: u32,
    current: Option<u32>,
}

impl Threads {
    fn of(&mut self, cpu: u32) -> u32 {
        *self.of_cpu.entry(cpu).or_insert_with(|| {
            let thread = self.count.min(MOST_THREADS - 1);
            self.count = thread + 1;
            thread
        })
    }
}

/// A chunk with words.
#[derive(Clone, Copy)]
struct Filled {
    cpu: u32,
    chunk: u32,
    words: usize,
}

/// How a recording ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// QEMU's status: in user mode the program's.
    pub status: ExitStatus,
    /// Whether the program went on outside of the emulator: it started another one in its place.
    pub left: bool,
}

impl Recorder {
    /// Starts QEMU. `command` makes its command line of what `-plugin` takes. With a closed gate nothing is recorded before
    /// the guest says so.
    pub fn start(command: impl FnOnce(&str) -> Command, gate_closed: bool) -> Result<Self, Error> {
        let cannot = |source| Error::System { what: "cannot set the recording up", source };
        let (memory, library) = (memory_file().map_err(cannot)?, plugin_file().map_err(cannot)?);
        let (messages, messages_end) = io::pipe().map_err(cannot)?;
        let (tokens_end, mut tokens) = io::pipe().map_err(cannot)?;
        let inherited: [OwnedFd; 4] = [library, memory, messages_end.into(), tokens_end.into()];
        for descriptor in &inherited {
            fcntl_setfd(descriptor, FdFlags::empty()).map_err(|error| cannot(error.into()))?;
        }
        let [library, memory, messages_end, tokens_end] = inherited.each_ref().map(|it| it.as_raw_fd());
        let mut command = command(&format!(
            "file=/proc/self/fd/{library},library={library},memory={memory},messages={messages_end},\
             tokens={tokens_end},gate={}",
            if gate_closed { "closed" } else { "open" }
        ));
        for chunk in 0..FIRST_CHUNKS {
            tokens.write_all(&chunk.to_le_bytes()).map_err(cannot)?;
        }
        let emulator = PathBuf::from(command.get_program());
        let child = command.spawn().map_err(|source| Error::Start { program: emulator.clone(), source })?;
        // With our copies of its ends open we would not see that it has gone.
        let [_, memory, _, _] = inherited;
        fcntl_setfd(&memory, FdFlags::CLOEXEC).map_err(|error| cannot(error.into()))?;
        Ok(Self {
            emulator,
            child: Arc::new(Mutex::new(child)),
            memory: File::from(memory),
            messages: Counted { from: BufReader::with_capacity(1 << 16, messages), bytes: 0 },
            taken: 0,
            tokens,
            threads: Threads::default(),
            base: None,
            stopped: false,
            bytes: vec![0; CHUNK_WORDS * 8],
            words: Vec::with_capacity(CHUNK_WORDS),
            said_bye: false,
        })
    }

    /// What ends QEMU from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.child))
    }

    /// Reads until QEMU has ended, or nothing more can come from it.
    pub fn drain(mut self, namer: &mut dyn Namer, listener: &mut dyn Listener) -> Result<Ended, Error> {
        let mut naming = Naming::new(namer);
        let told = self.listen(&mut naming, listener);
        if told.is_err() {
            // What is recorded from here on nobody could read.
            let _ = self.stopper().stop();
        }
        if told.is_ok() && self.base.is_some() {
            self.take_the_rest(&mut naming, listener);
        }
        listener.end();
        drop(self.tokens);
        let status = wait(&self.child).map_err(|source| Error::System { what: "cannot wait for QEMU", source })?;
        told?;
        if self.base.is_none() {
            let takes_plugins = program::takes_plugins(&self.emulator);
            return Err(if takes_plugins { Error::NoRecording { status } } else { Error::NoPlugins(self.emulator) });
        }
        let left = !self.said_bye && !self.stopped && status.code().is_some();
        Ok(Ended { status, left })
    }

    fn listen(&mut self, naming: &mut Naming<'_>, listener: &mut dyn Listener) -> Result<(), Error> {
        loop {
            let message = match Message::read(&mut self.messages) {
                Ok(Some(message)) => message,
                // One that was killed while it said something said all before.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Ok(None) => return Ok(()),
                Err(_) => return Err(Error::Garbled),
            };
            self.taken = self.messages.bytes;
            self.take(message, naming, listener)?;
            if listener.is_enough() && !self.stopped {
                self.stopped = true;
                let _ = self.tokens.write_all(&STOP.to_le_bytes());
            }
        }
    }

    fn take(&mut self, message: Message, naming: &mut Naming<'_>, listener: &mut dyn Listener) -> Result<(), Error> {
        match message {
            Message::Hello { version: VERSION, memory, .. } => self.base = Some(memory),
            Message::Hello { .. } => return Err(Error::Garbled),
            Message::Module { start, end, offset, path } => {
                let path = String::from_utf8_lossy(&path).into_owned();
                naming.add_module(Module { start, end, offset, path });
            }
            Message::Block { address, module, lengths, code } => {
                let block = Block::new(address, &code, &lengths).map_err(|_| Error::Garbled)?;
                naming.add_block(block, module);
            }
            Message::Chunk { cpu, chunk, words } => {
                naming.emit(listener);
                self.take_chunk(Filled { cpu, chunk, words: words as usize }, naming.count(), listener)?;
                // A recorder that has gone needs none.
                let _ = self.tokens.write_all(&chunk.to_le_bytes());
            }
            Message::End { cpu } => {
                if let Some(thread) = self.threads.of_cpu.remove(&cpu) {
                    self.finish(thread, listener);
                }
            }
            Message::Lost { what } => listener.lost(what),
            Message::Bye => self.said_bye = true,
        }
        Ok(())
    }

    fn take_chunk(&mut self, filled: Filled, blocks: u32, listener: &mut dyn Listener) -> Result<(), Error> {
        let Filled { cpu, chunk, words } = filled;
        let offset = chunk_offset(chunk).filter(|_| words <= CHUNK_WORDS).ok_or(Error::Garbled)?;
        if self.stopped {
            return Ok(());
        }
        let bytes = &mut self.bytes[..words * 8];
        let read = self.memory.read_exact_at(bytes, offset as u64);
        read.map_err(|source| Error::System { what: "cannot read the recorder's memory", source })?;
        let thread = self.threads.of(cpu);
        self.words.clear();
        self.words.append(self.threads.unfinished.entry(thread).or_default());
        self.words.extend(bytes.as_chunks().0.iter().map(|word| Word(u64::from_le_bytes(*word))));
        let unfinished = split_unfinished(&mut self.words, blocks);
        self.threads.unfinished.insert(thread, unfinished);
        self.emit(thread, listener);
        Ok(())
    }

    /// Hands the words on.
    fn emit(&mut self, thread: u32, listener: &mut dyn Listener) {
        if self.words.is_empty() {
            return;
        }
        if self.threads.current.replace(thread) != Some(thread) {
            listener.words(&[Word::mark(Mark::Thread(thread))]);
        }
        // Accesses before the first block are of one that was executed before the recording.
        let begin = self.words.iter().position(|word| !word.is_access()).unwrap_or(self.words.len());
        listener.words(&self.words[begin..]);
    }

    /// What a thread has executed last is complete.
    fn finish(&mut self, thread: u32, listener: &mut dyn Listener) {
        self.words = self.threads.unfinished.remove(&thread).unwrap_or_default();
        marks_behind(&mut self.words);
        self.emit(thread, listener);
    }

    /// Messages that one that was killed did not send any more.
    fn empty_outbox(&mut self, naming: &mut Naming<'_>, listener: &mut dyn Listener) {
        let mut outbox = vec![0u8; MEMORY_BYTES - OUTBOX_OFFSET];
        if self.memory.read_exact_at(&mut outbox, OUTBOX_OFFSET as u64).is_err() {
            return;
        }
        let mut unread = Outbox::unread(&outbox, self.taken).unwrap_or_default();
        while let Ok(Some(message)) = Message::read(&mut unread) {
            let _ = self.take(message, naming, listener);
        }
    }

    /// What stood in the chunks when QEMU ended.
    fn take_the_rest(&mut self, naming: &mut Naming<'_>, listener: &mut dyn Listener) {
        let Some(base) = self.base else { return };
        self.empty_outbox(naming, listener);
        naming.emit(listener);
        let mut lanes = vec![0u8; LANES * LANE_BYTES];
        if self.memory.read_exact_at(&mut lanes, 0).is_err() {
            return;
        }
        for (cpu, lane) in lanes.as_chunks::<LANE_BYTES>().0.iter().enumerate() {
            if let Some((chunk, words)) = Lane::read(lane, base).filter(|lane| lane.1 > 0) {
                let filled = Filled { cpu: cpu as u32, chunk, words };
                let _ = self.take_chunk(filled, naming.count(), listener);
            }
        }
        let mut left: Vec<u32> = self.threads.unfinished.keys().copied().collect();
        left.sort_unstable();
        left.into_iter().for_each(|thread| self.finish(thread, listener));
    }
}

/// Ends QEMU, when it has not ended.
pub struct Stopper(Arc<Mutex<Child>>);

impl Stopper {
    /// Ends it: what it has recorded until now is kept.
    pub fn stop(&self) -> io::Result<()> {
        self.0.lock().map_or(Ok(()), |mut child| child.kill())
    }
}

/// Waits without keeping others from ending it: what it said last was said just before it ended.
fn wait(child: &Mutex<Child>) -> io::Result<ExitStatus> {
    let mut pause = Duration::from_micros(50);
    loop {
        let status = child.lock().map_or_else(|_| Err(io::ErrorKind::Other.into()), |mut child| child.try_wait())?;
        match status {
            Some(status) => return Ok(status),
            None => thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Leaves whole executions in `words`, of the first `blocks` blocks, and returns what the last one has so far.
fn split_unfinished(words: &mut Vec<Word>, blocks: u32) -> Vec<Word> {
    // Few chunks have anything else; this looks at all words, since that is faster than to stop at the first.
    let is_other = |word: &Word| !(word.is_access() || word.is_block() && word.id() < blocks);
    let has_others = words.iter().fold(false, |others, word| others | is_other(word));
    if has_others {
        // Words of another making, as a program that overwrote the memory would leave them, do not come through.
        words.iter_mut().for_each(|word| *word = checked(*word, blocks));
    }
    let whole = words.iter().rposition(|word| word.is_block()).unwrap_or(0);
    if has_others {
        marks_behind(&mut words[..whole]);
    }
    let unfinished = words.split_off(whole);
    if unfinished.len() > CHUNK_WORDS {
        return vec![Word::mark(Mark::Lost(unfinished.len() as u32))]; // no execution has so many accesses
    }
    unfinished
}

/// For the fuzzer: what a recorder left in the memory, which the emulated program can write. A lane, the bytes of the outbox that
/// were read, the bytes of the outbox in two bytes, the outbox, and words of 3 known blocks.
pub fn memory_left(bytes: &[u8]) -> usize {
    const BLOCKS: u32 = 3;
    let Some((lane, rest)) = bytes.split_first_chunk() else { return 0 };
    let Some((&[taken, low, high], rest)) = rest.split_first_chunk() else { return 0 };
    let (outbox, words) = rest.split_at(usize::from(u16::from_le_bytes([low, high])).min(rest.len()));
    let filled = Lane::read(lane, 1 << 40).map_or(0, |(_, words)| words);
    assert!(filled <= CHUNK_WORDS, "more words than a chunk has");
    let mut unread = Outbox::unread(outbox, taken.into()).unwrap_or_default();
    while let Ok(Some(_)) = Message::read(&mut unread) {}
    let mut words: Vec<Word> = words.as_chunks().0.iter().map(|word| Word(u64::from_le_bytes(*word))).collect();
    let count = words.len();
    let unfinished = split_unfinished(&mut words, BLOCKS);
    let all = || words.iter().chain(&unfinished);
    assert!(all().all(|word| !word.is_block() || word.id() < BLOCKS), "a word of a block that is not there");
    assert!(all().count() <= count, "words were made up");
    filled + count
}

/// A mark is written when its instruction is executed, among the accesses of its block: it comes behind them.
fn marks_behind(words: &mut [Word]) {
    let mut at = 0;
    while let Some(mark) = words[at..].iter().position(|word| !word.is_access() && !word.is_block()) {
        at += mark + 1;
        let accesses = words[at..].iter().take_while(|word| word.is_access()).count();
        words[at - 1..at + accesses].rotate_left(1);
        at += accesses;
    }
}

/// Stands for an invalid word.
const LOST: Word = Word::mark(Mark::Lost(1));

fn checked(word: Word, blocks: u32) -> Word {
    let known =
        word.is_access() || (word.is_block() && word.id() < blocks) || (!word.is_block() && word.event().is_some());
    if known { word } else { LOST }
}

fn memory_file() -> io::Result<OwnedFd> {
    let memory = memfd_create("dwell-anatomy", MemfdFlags::CLOEXEC)?;
    ftruncate(&memory, MEMORY_BYTES as u64)?;
    Ok(memory)
}

/// The plug-in in a file that has no name: nobody can exchange it, and nothing is left behind.
fn plugin_file() -> io::Result<OwnedFd> {
    let plugin = memfd_create("libdwell_qemu.so", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(plugin);
    file.write_all(PLUGIN)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_in_a_block_comes_behind_its_accesses() {
        let access = |at| Word::access(0x1000, at, 3, true);
        let (mark, block) = (Word::mark(Mark::Note(7)), Word::block(0));
        let mut words = [mark, access(5), block, access(0), mark, access(2), access(3), block, mark, block];
        marks_behind(&mut words);
        assert_eq!(words, [access(5), mark, block, access(0), access(2), access(3), mark, block, mark, block]);
    }
}
