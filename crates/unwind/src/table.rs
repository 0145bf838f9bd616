//! The unwind table of one file: rows sorted by address and an index over blocks of 256 bytes of code.
//!
//! Addresses in a table are counted from its base: the link-time address of the file's first executable segment, rounded
//! down to a page. A table is a run of 64-bit words: first the index, a word per block of code (the first row that matters
//! to the block in the low half, their number in the high half), then the rows. Rows are counted from the table's first
//! word, so that a table can be put anywhere as it is. Before the first word, counted backwards, lie the extra words.

use std::path::Path;

use gimli::LittleEndian;
use object::ReadRef;

use crate::cfi::{self, Extent, Function, Functions};
use crate::elf::{Elf, FrameSection, MOST_BYTES, PAGE_BYTES, Segment};
use crate::error::{Error, Result};
use crate::go;
use crate::interpreters::{self, Interpreter};
use crate::row::{Extra, Row, Rule, Step};
use dwell_files::{BoundedFile, open_regular};
use dwell_wire::UNWIND_BLOCK_SHIFT;

/// Between two functions, up to this many bytes are padding, on which no thread ever stands, and get no row of their own.
const MAX_PADDING: u64 = 32;

/// Where a file's parts lie: leads from mappings to table addresses.
#[derive(Clone, Debug)]
pub struct Layout {
    base: u64,
    segments: Vec<Segment>,
}

impl Layout {
    /// The link-time address from which the table's addresses are counted.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The file's loadable segments.
    pub fn load_segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The table's address for the first byte of an executable mapping that begins at `file_offset` of the file.
    pub fn address_of_mapping(&self, file_offset: u64) -> Option<u32> {
        let vaddr = self
            .segments
            .iter()
            .filter(|segment| segment.executable)
            .find_map(|segment| segment.vaddr_of(file_offset))?;
        u32::try_from(vaddr.checked_sub(self.base)?).ok()
    }
}

/// How to walk through one file's code.
#[derive(Debug)]
pub struct UnwindTable {
    layout: Layout,
    extras: usize,
    blocks: usize,
    words: Vec<u64>,
    build_id: Vec<u8>,
    skipped: u64,
    interpreter: Option<Interpreter>,
}

impl UnwindTable {
    /// The table of the ELF file at `path`. Only the parts that are needed are read, so that size and later truncation of
    /// the file do not matter.
    pub fn of_file(path: &Path) -> Result<Self> {
        let file = open_regular(path).map_err(|error| Error::io(path, error))?;
        Self::of_open_file(file)
    }

    pub(crate) fn of_open_file(file: std::fs::File) -> Result<Self> {
        Self::of_data(&BoundedFile::new(file, MOST_BYTES))
    }

    /// The table of an ELF image in memory: a file's content, or the vDSO.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of_data(bytes)
    }

    fn of_data<'data, R: ReadRef<'data>>(data: R) -> Result<Self> {
        let elf = Elf::parse(data)?;
        let file_bytes = data.len().unwrap_or(0);
        let extent = extent(&elf.segments, file_bytes).ok_or(Error::Layout)?;
        let found = match (go::read(&elf, extent), elf.frame_section()) {
            // Go's table has what .debug_frame says, and more; .eh_frame is of C code beside it.
            (Some(go), Ok(section)) if !section.debug => together(go, read_frames(&section, extent)),
            (Some(go), _) => go,
            (None, section) => read_frames(&section?, extent),
        };
        let rows = merge(&found, extent);
        let blocks = rows.last().map_or(0, |row| (row.pc >> UNWIND_BLOCK_SHIFT) as usize + 1);
        let (build_id, interpreter) = (elf.build_id(), interpreters::interpreter(&elf));
        Ok(Self {
            layout: Layout { base: extent.base, segments: elf.segments },
            extras: found.extras.list.len(),
            blocks,
            words: extras_index_and_rows(&found.extras.list, &rows, blocks),
            build_id,
            skipped: found.skipped,
            interpreter,
        })
    }

    /// Where the file's parts lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Extra words, index, rows.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Extra words, index, rows, taken out of the table.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// How many words lie before the table's first word, the index's.
    pub fn extras(&self) -> usize {
        self.extras
    }

    /// The index: a word for each block of code.
    pub fn index(&self) -> &[u64] {
        &self.words[self.extras..][..self.blocks]
    }

    /// The rows, packed, ascending by address.
    pub fn rows(&self) -> &[u64] {
        &self.words[self.extras + self.blocks..]
    }

    /// The extra word that a step of [`Rule::Extra`] names.
    pub fn extra(&self, step: Step) -> Option<Extra> {
        let number = usize::try_from(step.cfa).ok().filter(|number| *number < self.extras)?;
        self.words.get(self.extras - 1 - number).map(|word| Extra::from_word(*word))
    }

    /// The file's GNU build-id; empty when it has none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// Entries of the call frame information that could not be used.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The interpreter that the file holds.
    pub(crate) fn interpreter(&self) -> Option<Interpreter> {
        self.interpreter
    }

    /// The step for table address `pc`, found as the BPF programs find it: by the block's index word, then by binary search.
    pub fn lookup(&self, pc: u32) -> Step {
        let first_word = u32::try_from(self.extras).unwrap_or(u32::MAX);
        let place = TablePlace { first_word, blocks: u32::try_from(self.blocks).unwrap_or(u32::MAX), pc };
        place.step(|number| self.words.get(number as usize).copied())
    }
}

/// An address in a table that lies somewhere in a space of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePlace {
    pub(crate) first_word: u32,
    pub(crate) blocks: u32,
    /// Counted from the table's base.
    pub(crate) pc: u32,
}

impl TablePlace {
    /// The step that holds there, in the space that `word` reads.
    pub(crate) fn step(self, word: impl Fn(u32) -> Option<u64>) -> Step {
        self.row(word).map_or(Step::of(Rule::NoTable), |row| Row::from_word(row).step)
    }

    fn row(self, word: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        let block = self.pc >> UNWIND_BLOCK_SHIFT;
        if block >= self.blocks {
            return None;
        }
        let entry = word(self.first_word.checked_add(block)?)?;
        let mut low = self.first_word.checked_add(entry as u32)?;
        let mut high = low.checked_add((entry >> 32) as u32)?;
        let mut row = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let found = word(middle)?;
            if found as u32 <= self.pc {
                row = Some(found);
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        row
    }
}

/// From the first page of code to its last byte; none when there is no code, or it lies too far apart for 32-bit
/// addresses or for an index in proportion to the file.
fn extent(segments: &[Segment], file_bytes: u64) -> Option<Extent> {
    let code = || segments.iter().filter(|segment| segment.executable && segment.file_size > 0);
    let base = code().map(|segment| segment.vaddr).min()? & !(PAGE_BYTES - 1);
    let end = code().map(Segment::end).max()?;
    let most = file_bytes.saturating_mul(4).saturating_add(64 << 20).min(u64::from(u32::MAX));
    (end - base <= most).then_some(Extent { base, end })
}

fn read_frames(section: &FrameSection<'_>, extent: Extent) -> Functions {
    let bases = gimli::BaseAddresses::default().set_eh_frame(section.vaddr).set_text(section.text).set_got(section.got);
    if section.debug {
        let mut frames = gimli::DebugFrame::new(&section.bytes, LittleEndian);
        frames.set_address_size(8);
        cfi::read_section(&frames, &bases, extent)
    } else {
        let mut frames = gimli::EhFrame::new(&section.bytes, LittleEndian);
        frames.set_address_size(8);
        cfi::read_section(&frames, &bases, extent)
    }
}

/// The functions of both.
fn together(mut one: Functions, other: Functions) -> Functions {
    let rows = one.rows.len();
    one.functions.extend(other.functions.iter().map(|it| Function { first_row: it.first_row + rows, ..*it }));
    one.rows.extend(other.rows);
    Functions { skipped: one.skipped + other.skipped, extras: other.extras, ..one }
}

/// All functions' rows in ascending order, each address by the first function that begins closest before it.
fn merge(found: &Functions, extent: Extent) -> Vec<Row> {
    let mut functions = found.functions.clone();
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    let mut rows = Rows { rows: Vec::with_capacity(found.rows.len()) };
    let mut last_end = 0;
    for (position, function) in functions.iter().enumerate() {
        if function.start > last_end {
            append_early(&mut rows, found, function, extent);
        }
        last_end = function.end;
        let next = functions.get(position + 1).map_or(u64::MAX, |next| next.start);
        append(&mut rows, found, function, relative(next, extent));
        if function.end.saturating_add(MAX_PADDING) < next {
            rows.push(Row { pc: relative(function.end, extent), step: Step::of(Rule::NoTable) });
        }
    }
    rows.rows
}

fn relative(address: u64, extent: Extent) -> u32 {
    u32::try_from(address - extent.base).unwrap_or(u32::MAX)
}

fn append(rows: &mut Rows, found: &Functions, function: &Function, limit: u32) {
    let own = found.rows.iter().skip(function.first_row).take(function.row_count);
    for row in own.take_while(|row| row.pc < limit) {
        rows.push(*row);
    }
}

/// A function that is entered by a return, as `makecontext` and the kernel's signal frames do, is looked up like any return
/// address: by the byte before it.
fn append_early(rows: &mut Rows, found: &Functions, function: &Function, extent: Extent) {
    let first = found.rows.get(function.first_row).filter(|row| matches!(row.step.rule, Rule::End | Rule::Signal));
    let (Some(row), Some(pc)) = (first, relative(function.start, extent).checked_sub(1)) else { return };
    rows.push(Row { pc, step: row.step });
}

struct Rows {
    rows: Vec<Row>,
}

impl Rows {
    fn push(&mut self, row: Row) {
        if self.rows.last().is_none_or(|last| last.step != row.step) {
            self.rows.push(row);
        }
    }
}

/// The index word of a block names the rows from the one that holds at the block's first byte to the last that begins
/// in the block.
pub(crate) fn extras_index_and_rows(extras: &[Extra], rows: &[Row], blocks: usize) -> Vec<u64> {
    let mut words = Vec::with_capacity(extras.len() + blocks + rows.len());
    words.extend(extras.iter().rev().map(|extra| extra.to_word()));
    let mut next = 0; // the first row that begins behind the block's first byte
    for block in 0..blocks as u64 {
        let first_byte = block << UNWIND_BLOCK_SHIFT;
        while rows.get(next).is_some_and(|row| u64::from(row.pc) <= first_byte) {
            next += 1;
        }
        let first = next.saturating_sub(1);
        while rows.get(next).is_some_and(|row| u64::from(row.pc) < first_byte + (1 << UNWIND_BLOCK_SHIFT)) {
            next += 1;
        }
        words.push((blocks + first) as u64 | ((next - first) as u64) << 32);
    }
    words.extend(rows.iter().map(|row| row.to_word()));
    words
}
