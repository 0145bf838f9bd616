//! Each instruction of some functions, or of one call, with what the model says of it.

use std::collections::{BTreeMap, HashMap};

use dwell_itrace::Block;
use dwell_machine::{Instruction, Level};
use dwell_view::glob;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, IntelFormatter};

use super::stacks::Change;

/// Which instructions are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of functions whose names match a pattern.
    Functions(String),
    /// Those of one call, with what it calls: its number in the annotated trace.
    Call(u64),
}

/// An instruction as it was executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// Its block.
    pub block: u32,
    /// What the model saw.
    pub seen: Instruction,
    /// It is a branch that was predicted wrongly.
    pub mispredicted: bool,
}

/// All executions of one instruction together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How often.
    pub executions: u64,
    /// Ticks from the dispatch of the one before to its own.
    pub ticks: u64,
    /// Loads and stores that L1 did not serve.
    pub l1_misses: u64,
    /// Loads and stores that neither L2 nor a nearer cache served.
    pub l2_misses: u64,
    /// Loads and stores that memory served.
    pub llc_misses: u64,
    /// The DTLB lacked its page.
    pub dtlb_misses: u64,
    /// It had to wait for room in the window or the store buffer.
    pub stalls: u64,
    /// It is a branch that was predicted wrongly.
    pub mispredicts: u64,
}

impl Sum {
    fn add(&mut self, seen: &Instruction) {
        self.executions += 1;
        self.ticks += seen.dispatched.saturating_sub(seen.begun);
        for level in [seen.load, seen.store].into_iter().flatten() {
            self.l1_misses += u64::from(level > Level::L1);
            self.l2_misses += u64::from(level > Level::L2);
            self.llc_misses += u64::from(level > Level::Llc);
        }
        self.dtlb_misses += u64::from(seen.dtlb_miss);
        self.stalls += u64::from(seen.stalled);
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            executions: self.executions + other.executions,
            ticks: self.ticks + other.ticks,
            l1_misses: self.l1_misses + other.l1_misses,
            l2_misses: self.l2_misses + other.l2_misses,
            llc_misses: self.llc_misses + other.llc_misses,
            dtlb_misses: self.dtlb_misses + other.dtlb_misses,
            stalls: self.stalls + other.stalls,
            mispredicts: self.mispredicts + other.mispredicts,
        }
    }
}

/// A block of a function that is looked at.
struct Known {
    block: Block,
    function: u32,
    /// Where the sums of its instructions begin.
    sums: usize,
}

/// The instructions that were asked for.
pub struct Detail {
    wanted: Wanted,
    limit: usize,
    /// Numbers of the functions that match.
    functions: Vec<bool>,
    blocks: HashMap<u32, Known>,
    sums: Vec<Sum>,
    /// The block that is executed, if it is looked at, with where its sums begin.
    current: Option<(u32, usize)>,
    /// The sum of the instruction that was executed last.
    last: usize,
    call: State,
    /// What was executed, as far as there was room.
    pub executed: Vec<Executed>,
    /// Instructions behind these.
    pub more: u64,
}

/// Where the replay is, of the wanted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before it.
    Before,
    /// It begins in the words that are replayed next.
    Near,
    /// In it.
    Within,
    /// Behind it.
    Behind,
}

impl Detail {
    /// At most `limit` instructions.
    pub fn new(wanted: Wanted, limit: usize) -> Self {
        let call = if matches!(wanted, Wanted::Call(_)) { State::Before } else { State::Within };
        let (functions, blocks, sums, executed) = (Vec::new(), HashMap::new(), Vec::new(), Vec::new());
        Self { wanted, limit, functions, blocks, sums, current: None, last: 0, call, executed, more: 0 }
    }

    /// The next function.
    pub fn add_function(&mut self, name: &str) {
        self.functions.push(match &self.wanted {
            Wanted::Functions(pattern) => glob(pattern, name),
            Wanted::Call(_) => true,
        });
    }

    /// A block of a function.
    pub fn add_block(&mut self, id: u32, block: &Block, function: u32) {
        if self.functions.get(function as usize) == Some(&true) {
            let sums = self.sums.len();
            self.sums.resize(sums + block.count(), Sum::default());
            self.blocks.insert(id, Known { block: block.clone(), function, sums });
        }
    }

    /// The model will come to this soon.
    pub fn announce(&mut self, change: Change) {
        if self.call == State::Before && self.is_begin(change) {
            self.call = State::Near;
        }
    }

    /// The model has come to this.
    pub fn apply(&mut self, change: Change) {
        match change {
            _ if self.is_begin(change) => self.call = State::Within,
            Change::Leave { serial } if self.wanted == Wanted::Call(serial) => self.call = State::Behind,
            _ => {}
        }
    }

    fn is_begin(&self, change: Change) -> bool {
        matches!(change, Change::Enter { serial, .. } if self.wanted == Wanted::Call(serial))
    }

    /// Whether each instruction is to be watched from here on.
    pub fn is_near(&self) -> bool {
        matches!(self.call, State::Near | State::Within)
    }

    /// Whether nothing more can come.
    pub fn is_complete(&self) -> bool {
        self.call == State::Behind
    }

    /// A block is executed.
    pub fn begin(&mut self, block: u32) {
        let known = self.blocks.get(&block).filter(|_| self.call == State::Within);
        self.current = known.map(|known| (block, known.sums));
    }

    /// An instruction of it is executed.
    pub fn instruction(&mut self, seen: &Instruction) {
        let Some((block, sums)) = self.current else { return };
        self.last = sums + seen.index;
        if let Some(sum) = self.sums.get_mut(self.last) {
            sum.add(seen);
        }
        if self.executed.len() < self.limit {
            self.executed.push(Executed { block, seen: *seen, mispredicted: false });
        } else {
            self.more += 1;
        }
    }

    /// The last one was predicted wrongly.
    pub fn mispredicted(&mut self) {
        if self.current.is_none() {
            return;
        }
        if let Some(sum) = self.sums.get_mut(self.last) {
            sum.mispredicts += 1;
        }
        if let (0, Some(last)) = (self.more, self.executed.last_mut()) {
            last.mispredicted = true;
        }
    }

    /// Each instruction that was executed, the first `limit` of them: its function, address and text, and the sum of its
    /// executions; and how many follow.
    pub fn code(&self, limit: usize) -> (Vec<(u32, u64, String, Sum)>, usize) {
        let mut all = BTreeMap::new();
        for known in self.blocks.values() {
            for ((address, bytes), sum) in known.block.instructions().zip(&self.sums[known.sums..]) {
                let entry = all.entry((known.function, address)).or_insert((bytes, Sum::default()));
                entry.1 = entry.1.and(*sum);
            }
        }
        all.retain(|_, (_, sum)| sum.executions > 0);
        let more = all.len().saturating_sub(limit);
        let line = |((function, address), (bytes, sum))| (function, address, text(address, bytes), sum);
        (all.into_iter().take(limit).map(line).collect(), more)
    }

    /// The number of an instruction's function.
    pub fn function(&self, executed: &Executed) -> Option<u32> {
        self.blocks.get(&executed.block).map(|known| known.function)
    }

    /// The address and the text of an instruction.
    pub fn text(&self, executed: &Executed) -> (u64, String) {
        let known = self.blocks.get(&executed.block);
        let found = known.and_then(|known| known.block.instructions().nth(executed.seen.index));
        found.map_or((0, String::new()), |(address, bytes)| (address, text(address, bytes)))
    }
}

/// In Intel's syntax.
fn text(address: u64, bytes: &[u8]) -> String {
    let mut text = String::new();
    let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    IntelFormatter::new().format(&decoded, &mut text);
    text
}
