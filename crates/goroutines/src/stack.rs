//! The stacks of goroutines that stand: Go's compiler keeps frame pointers.

use crate::stretches::{read_each, word_at};
use crate::{MemoryStretch, StretchReader};

/// Read of each stack at first: nearly all are no deeper.
const FIRST_BYTES: u64 = 1024;
/// Read of one that goes on behind that.
const MOST_BYTES: u64 = 32 << 10;
/// Frames that are taken.
const MOST_FRAMES: usize = 128;

/// Where a goroutine stands.
#[derive(Clone, Copy)]
pub struct Start {
    pub pc: u64,
    pub sp: u64,
    pub bp: u64,
    /// Where its stack ends.
    pub end: u64,
}

impl Start {
    fn window(&self, most: u64) -> MemoryStretch {
        MemoryStretch { address: self.sp, length: self.end.saturating_sub(self.sp).min(most) as usize }
    }
}

/// The frames of each stack, leaf first: at least where it stands.
pub fn read(memory: &mut dyn StretchReader, starts: &[Start]) -> Vec<Vec<u64>> {
    let mut stacks: Vec<Vec<u64>> = starts.iter().map(|start| vec![start.pc]).collect();
    let mut deep = Vec::new();
    let windows: Vec<MemoryStretch> = starts.iter().map(|start| start.window(FIRST_BYTES)).collect();
    read_each(memory, &windows, &mut |number, bytes| {
        if !walk(&starts[number], bytes, &mut stacks[number]) {
            deep.push(number);
        }
    });
    let windows: Vec<MemoryStretch> = deep.iter().map(|&number| starts[number].window(MOST_BYTES)).collect();
    read_each(memory, &windows, &mut |at, bytes| {
        let number = deep[at];
        walk(&starts[number], bytes, &mut stacks[number]);
    });
    stacks
}

/// Follows the chain of frame pointers in `bytes`, which the stack begins with. Returns whether it ended there.
fn walk(start: &Start, bytes: &[u8], frames: &mut Vec<u64>) -> bool {
    frames.truncate(1);
    let mut bp = start.bp;
    while frames.len() < MOST_FRAMES {
        if bp < start.sp || bp.saturating_add(16) > start.end {
            return true;
        }
        let at = (bp - start.sp) as usize;
        let (Some(caller_bp), Some(pc)) = (word_at(bytes, at), word_at(bytes, at.saturating_add(8))) else {
            return false;
        };
        if pc == 0 {
            return true;
        }
        frames.push(pc);
        if caller_bp <= bp {
            return true;
        }
        bp = caller_bp;
    }
    true
}
