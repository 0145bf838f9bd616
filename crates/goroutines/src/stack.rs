//! The stacks of goroutines that stand: Go's compiler keeps frame pointers.

use crate::stretches::{read_each, word_at};
use crate::{MemoryStretch, StretchReader};

/// Read of each stack at first: nearly all are no deeper.
const FIRST_BYTES: u64 = 1024;
/// Read of one that goes on behind that.
const MOST_BYTES: u64 = 32 << 10;
/// Frames of a stack that are taken.
pub const MOST_FRAMES: usize = 128;

/// What the stacks of a pass may take together.
struct StackBudget {
    /// Bytes that are read of those that go on behind their first ones; the others end there.
    deep_bytes: usize,
    /// Frames; later stacks have only the place where they stand.
    frames: usize,
}

const BUDGET: StackBudget = StackBudget { deep_bytes: 1 << 30, frames: 1 << 24 };

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
    read_within(BUDGET, memory, starts)
}

fn read_within(mut budget: StackBudget, memory: &mut dyn StretchReader, starts: &[Start]) -> Vec<Vec<u64>> {
    let mut stacks: Vec<Vec<u64>> = starts.iter().map(|start| vec![start.pc]).collect();
    let mut deep = Vec::new();
    let windows: Vec<MemoryStretch> = starts.iter().map(|start| start.window(FIRST_BYTES)).collect();
    read_each(memory, &windows, &mut |number, bytes| {
        if !budget.walk(&starts[number], bytes, &mut stacks[number]) {
            deep.push(number);
        }
    });
    let windows = deep.iter().map(|&number| starts[number].window(MOST_BYTES));
    let windows: Vec<MemoryStretch> = windows.take_while(|window| budget.affords(window.length)).collect();
    read_each(memory, &windows, &mut |at, bytes| {
        let number = deep[at];
        budget.walk(&starts[number], bytes, &mut stacks[number]);
    });
    stacks
}

impl StackBudget {
    fn affords(&mut self, bytes: usize) -> bool {
        let left = self.deep_bytes.checked_sub(bytes);
        self.deep_bytes = left.unwrap_or(0);
        left.is_some()
    }

    /// As [`walk`], while there are frames left.
    fn walk(&mut self, start: &Start, bytes: &[u8], frames: &mut Vec<u64>) -> bool {
        if self.frames == 0 {
            return true;
        }
        let has_ended = walk(start, bytes, frames);
        self.frames = self.frames.saturating_sub(frames.len());
        has_ended
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const SP: u64 = 0x1000;

    /// Everywhere a chain of frames from [`SP`] on.
    struct EndlessChain {
        asked_bytes: usize,
    }

    impl StretchReader for EndlessChain {
        fn read(&mut self, stretches: &[MemoryStretch], bytes: &mut [u8]) -> usize {
            self.asked_bytes += stretches.iter().map(|stretch| stretch.length).sum::<usize>();
            let mut rest = bytes;
            for stretch in stretches {
                let (stack, behind) = rest.split_at_mut(stretch.length);
                for (frame, number) in stack.chunks_exact_mut(16).zip(1..) {
                    frame[..8].copy_from_slice(&(SP + 16 * number).to_le_bytes());
                    frame[8..].copy_from_slice(&number.to_le_bytes());
                }
                rest = behind;
            }
            stretches.iter().map(|stretch| stretch.length).sum()
        }
    }

    fn lengths(budget: StackBudget) -> (Vec<usize>, usize) {
        let mut memory = EndlessChain { asked_bytes: 0 };
        let starts = [Start { pc: 7, sp: SP, bp: SP, end: SP + (16 << 10) }; 4];
        let stacks = read_within(budget, &mut memory, &starts);
        (stacks.iter().map(Vec::len).collect(), memory.asked_bytes)
    }

    #[test]
    fn deep_stacks_are_read_up_to_a_bound() {
        let (whole, first) = (MOST_FRAMES, 1 + FIRST_BYTES as usize / 16);
        assert_eq!(lengths(BUDGET), (vec![whole; 4], 4 * (17 << 10)));
        let two = StackBudget { deep_bytes: 40 << 10, ..BUDGET };
        assert_eq!(lengths(two), (vec![whole, whole, first, first], (4 + 2 * 16) << 10));
    }

    #[test]
    fn frames_are_kept_up_to_a_bound() {
        let (first, few) = (1 + FIRST_BYTES as usize / 16, StackBudget { frames: 100, ..BUDGET });
        assert_eq!(lengths(few), (vec![first, first, 1, 1], (4 + 2 * 16) << 10));
    }
}
