//! The scripts of a program: what they are called, and on which line a character is.

use std::collections::HashMap;

use crate::layout::Layout;
use crate::memory::{HeapMemory, word_at};
use crate::strings::text;

/// Longest text of a script whose lines are counted, characters.
const MOST_SOURCE: usize = 16 << 20;
/// Lines of all scripts that are remembered, about.
const MOST_LINES: usize = 4 << 20;
/// Longest name of a script.
const MOST_NAME: usize = 1_000;

/// A script.
#[derive(Debug, Default)]
pub struct Script {
    /// `/srv/app.js`, `node:internal/timers`; empty where it has none.
    pub name: String,
    /// Where each line ends, characters.
    line_ends: Vec<u32>,
}

impl Script {
    /// The line of a character, counted from 1; `None` where the text is not known.
    pub fn line_of(&self, character: usize) -> Option<usize> {
        let before = self.line_ends.partition_point(|end| (*end as usize) < character);
        (before < self.line_ends.len()).then_some(before + 1)
    }
}

/// The scripts that were met.
#[derive(Debug, Default)]
pub struct Scripts {
    known: HashMap<u64, Script>,
    lines: usize,
}

impl Scripts {
    /// The script at an address.
    pub fn at(&mut self, memory: &mut impl HeapMemory, layout: &Layout, address: u64) -> &Script {
        if self.lines > MOST_LINES {
            *self = Self::default();
        }
        self.known.entry(address).or_insert_with(|| {
            let script = read(memory, layout, address);
            self.lines += script.line_ends.len() + 1;
            script
        })
    }
}

fn read(memory: &mut impl HeapMemory, layout: &Layout, address: u64) -> Script {
    let mut field = |offset: u32, most| {
        let value = word_at(memory, address + u64::from(offset))?;
        text(memory, layout, value, most)
    };
    let name = field(layout.script_name, MOST_NAME).unwrap_or_default();
    let source = field(layout.script_source, MOST_SOURCE);
    Script { name, line_ends: source.map(|source| line_ends(&source)).unwrap_or_default() }
}

/// Where each line ends, in UTF-16 characters, as V8 counts them; the last one with the text.
fn line_ends(source: &str) -> Vec<u32> {
    let mut at = 0u32;
    let mut ends = Vec::new();
    for character in source.chars() {
        if character == '\n' {
            ends.push(at);
        }
        at += character.len_utf16() as u32;
    }
    ends.push(at);
    ends
}
