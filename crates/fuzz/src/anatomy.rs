//! Instruction traces as input.

use dwell_anatomy::annotate::{Annotator, Chart, Detail, Phases, Wanted};
use dwell_anatomy::reports::{Asked, REPORTS, report};
use dwell_anatomy::trace::{Head, TraceWriter, read as read_trace, replay};
use dwell_anatomy::{Function, Listener};
use dwell_itrace::ring::{CHUNK_BYTES, chunk_offset};
use dwell_itrace::{Block, Lost, Mark, Message, NO_MODULE, VERSION, Word};
use dwell_machine::{DEFAULT_MACHINE, Machine};
use dwell_view::json;

/// Bytes before the first frame, and before a frame's payload: kind, length, checksum.
const MAGIC_BYTES: usize = 8;
const FRAME_HEAD: usize = 12;

/// Counts what comes.
#[derive(Default)]
struct Counted {
    blocks: usize,
    words: usize,
}

impl Listener for Counted {
    fn function(&mut self, _: &Function) {}

    fn block(&mut self, id: u32, block: &Block, _: u32) {
        assert_eq!(id as usize, self.blocks, "blocks are numbered without gaps");
        assert!(block.count() > 0);
        self.blocks += 1;
    }

    fn words(&mut self, words: &[Word]) {
        let known = words.iter().filter(|word| word.is_block()).all(|word| (word.id() as usize) < self.blocks);
        assert!(known, "a word of a block that was not described");
        self.words += words.len();
    }

    fn lost(&mut self, _: Lost) {}

    /// A few bytes can stand for many words; one frame of them is enough.
    fn is_enough(&self) -> bool {
        self.words > 1 << 20
    }
}

pub(crate) fn read(bytes: &[u8]) {
    let bytes = checksummed(bytes);
    let mut counted = Counted::default();
    let _ = read_trace(&bytes[..], |_| (), &mut counted);
    if counted.words <= MOST_REPLAYED {
        let _ = replayed(&bytes);
    }
}

/// Words of a trace that is replayed: the model takes some 100 ns for each, and the fuzzer's checks as much again.
const MOST_REPLAYED: usize = 1 << 12;

/// All that is shown of a trace on a machine.
fn replayed(bytes: &[u8]) -> Option<()> {
    let annotator = Annotator::new(&Machine::named(DEFAULT_MACHINE).ok()?, Phases::with(None).ok()?).ok()?;
    let (_, anatomy) = replay(bytes, annotator.with(Detail::new(Wanted::Functions("*".into()), 1000))).ok()?;
    let asked = Asked { limit: 100, function: None, depth: u16::MAX };
    for (name, _) in REPORTS {
        let _ = report(name, &anatomy, &asked).map(|view| json::render(&view));
    }
    let _ = Chart::new(&anatomy);
    Some(())
}

/// What the plug-in in an emulator says, and what it leaves in the memory.
pub(crate) fn recorder(bytes: &[u8]) {
    let mut from = bytes;
    while let Ok(Some(_)) = dwell_itrace::Message::read(&mut from) {}
    let _ = dwell_anatomy::readers::memory_left(bytes);
}

/// A lane, an outbox with a message, and words.
pub(crate) fn memory() -> Vec<u8> {
    let chunk = 1u32;
    let begin = (1u64 << 40) + chunk_offset(chunk).unwrap_or(0) as u64;
    let lane = [begin + 80, begin + CHUNK_BYTES as u64, begin, chunk.into(), 0, 0, 0, 0];
    let message = Message::Module { start: 1, end: 2, offset: 0, path: b"/bin/app".to_vec() }.encode();
    let outbox: Vec<u8> =
        [10, message.len() as u64].iter().flat_map(|word| word.to_le_bytes()).chain(message).collect();
    let words = [
        Word::block(0),
        Word::access(64, 1, 3, true),
        Word::mark(Mark::Note(7)),
        Word::access(128, 2, 3, false),
        Word::block(2),
        Word::mark(Mark::Thread(1)),
    ];
    let words = words.iter().flat_map(|word| word.0.to_le_bytes());
    let lane = lane.iter().flat_map(|word| word.to_le_bytes());
    let lengths = [10, outbox.len() as u8, 0];
    lane.chain(lengths).chain(outbox).chain(words).collect()
}

/// The same with the checksums of its frames made right.
fn checksummed(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = MAGIC_BYTES;
    while let Some(length) = out.get(at + 4..).and_then(<[u8]>::first_chunk).map(|it| u32::from_le_bytes(*it) as usize)
    {
        let (payload, end) = (at + FRAME_HEAD, at.saturating_add(FRAME_HEAD).saturating_add(length));
        let Some(checksum) = out.get(payload..end).map(crc32fast::hash) else { break };
        out[at + 8..payload].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
    out
}

pub(crate) fn traces() -> Vec<Vec<u8>> {
    written().into_iter().collect()
}

fn written() -> Option<Vec<u8>> {
    let head = Head { command: vec!["app".into()], ..Head::default() };
    let mut writer = TraceWriter::new(Vec::new(), &head).ok()?;
    writer.function(&Function { name: "main".into(), module: "app".into() });
    for id in 0..3 {
        writer.block(id, &Block::new(0x1000 + u64::from(id), &[0x90, 0x48, 0x89, 0x03], &[1, 3]).ok()?, 0);
    }
    for turn in 0..500u64 {
        let block = Word::block((turn % 3) as u32);
        writer.words(&[block, Word::access(turn * turn * 8, 1, 3, true)]);
    }
    writer.finish().ok()
}

pub(crate) fn messages() -> Vec<Vec<u8>> {
    let all = [
        Message::Hello { version: VERSION, memory: 1 << 40, system: false },
        Message::Module { start: 1 << 30, end: 1 << 31, offset: 0, path: b"/bin/app".to_vec() },
        Message::Block { address: 1 << 30, module: NO_MODULE, lengths: vec![1, 3], code: vec![0x90, 0x48, 0x89, 0x03] },
        Message::Chunk { cpu: 0, chunk: 3, words: 100 },
        Message::Lost { what: Lost::Child },
        Message::End { cpu: 0 },
        Message::Bye,
    ];
    vec![all.iter().flat_map(Message::encode).collect(), memory()]
}
