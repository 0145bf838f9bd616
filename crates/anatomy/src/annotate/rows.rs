//! What an execution is counted under.

use std::collections::HashMap;

use super::phases::Half;

/// What the executions of a row have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The function.
    pub function: u32,
    /// The phase.
    pub phase: u16,
    /// Where it is done.
    pub half: Half,
    /// What the program's marks said last: the number of its section, 0 before the first mark.
    pub section: u16,
    /// The packet that is worked on in a soft interrupt, from 1; 0 for none, [`LATER`] for all behind the last that are
    /// told apart.
    pub packet: u16,
}

/// Packets that are told apart.
pub const PACKETS: u16 = 64;
/// The number of all packets behind them.
pub const LATER: u16 = PACKETS + 1;

/// Rows that are told apart by section and packet too, and rows in all.
const MOST_DETAILED: usize = 1 << 18;
const MOST_ROWS: usize = 1 << 20;

/// Rows by number.
#[derive(Default)]
pub struct Rows {
    /// Every row.
    pub all: Vec<Row>,
    numbers: HashMap<Row, u32>,
    /// For each block, the row that it was counted under last.
    last: Vec<Option<(Row, u32)>>,
    /// How often one was wanted that there was no room for.
    pub merged: u64,
}

impl Rows {
    /// The number of a block's row.
    #[inline]
    pub fn number(&mut self, block: u32, row: Row) -> u32 {
        let block = block as usize;
        if block >= self.last.len() {
            self.last.resize(block + 1, None);
        }
        match self.last[block] {
            Some((last, number)) if last == row => number,
            _ => self.look_up(block, row),
        }
    }

    fn look_up(&mut self, block: usize, row: Row) -> u32 {
        let number = match self.numbers.get(&row) {
            Some(&number) => number,
            None if self.all.len() < MOST_DETAILED => self.add(row),
            None => {
                let coarse = Row { section: 0, packet: 0, ..row };
                self.merged += 1;
                self.numbers.get(&coarse).copied().unwrap_or_else(|| self.add(coarse))
            }
        };
        self.last[block] = Some((row, number));
        number
    }

    /// The number of a new row; of one too many that of the first row.
    fn add(&mut self, row: Row) -> u32 {
        if self.all.len() >= MOST_ROWS {
            return 0;
        }
        let number = self.all.len() as u32;
        self.all.push(row);
        self.numbers.insert(row, number);
        number
    }
}
