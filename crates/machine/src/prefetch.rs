//! Prefetchers that learn: equal steps of one instruction, and runs of lines in a page.

const STEPS: usize = 256;
/// Steps that are followed (Intel's L1 stride prefetcher: up to 2 KiB).
const MAX_STEP: i64 = 2048;
const STREAMS: usize = 32;
const PAGE_SHIFT: u32 = 12;
/// Lines between the last access and the furthest prefetch (Intel's L2 streamer: up to 20).
const AHEAD: i64 = 20;
/// Lines that one access can ask for (the streamer's: two).
const PER_ACCESS: i64 = 2;

#[derive(Debug, Clone, Copy, Default)]
struct Step {
    instruction: u32,
    sure: u8,
    step: i64,
    last: u64,
}

/// What each instruction accessed last, and how far that was from the time before.
#[derive(Debug)]
pub(crate) struct Strides(Box<[Step; STEPS]>);

impl Strides {
    pub fn new() -> Self {
        Self(Box::new([Step::default(); STEPS]))
    }

    /// An instruction accesses an address; the address to prefetch, if its steps have been equal three times.
    #[inline]
    pub fn observe(&mut self, instruction: u32, address: u64, line_bytes: i64) -> Option<u64> {
        let slot = &mut self.0[instruction as usize % STEPS];
        // Without a jump until something is sure: steps are as hard to predict as addresses.
        let known = slot.instruction == instruction;
        let step = address.wrapping_sub(slot.last) as i64 * i64::from(known);
        let again = (step == slot.step) & (step != 0);
        let sure = (slot.sure + 1).min(3) * u8::from(again);
        *slot = Step { instruction, sure, step, last: address };
        if sure < 2 || step.abs() > MAX_STEP {
            return None;
        }
        let ahead = if step.abs() < line_bytes { line_bytes * step.signum() } else { step };
        let target = address.wrapping_add(ahead as u64);
        (target >> PAGE_SHIFT == address >> PAGE_SHIFT).then_some(target)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    page: u64,
    last: i64,
    /// The furthest line requested.
    frontier: i64,
    direction: i64,
    run: u32,
}

/// Runs of lines up or down in a page.
#[derive(Debug)]
pub(crate) struct Streams {
    streams: Box<[Stream; STREAMS]>,
    lines_shift: u32,
}

impl Streams {
    /// For lines of `1 << line_shift` bytes.
    pub fn new(line_shift: u32) -> Self {
        Self { streams: Box::new([Stream::default(); STREAMS]), lines_shift: PAGE_SHIFT.saturating_sub(line_shift) }
    }

    /// Takes note of a request for a line: the first line to prefetch, the direction and how many.
    pub fn observe(&mut self, line: u64) -> (u64, i64, i64) {
        const NOTHING: (u64, i64, i64) = (0, 0, 0);
        let lines = 1i64 << self.lines_shift;
        let page = (line >> self.lines_shift) + 1;
        let at = line as i64 & (lines - 1);
        let slot = &mut self.streams[(page ^ page >> 5) as usize % STREAMS];
        if slot.page != page {
            *slot = Stream { page, last: at, frontier: at, direction: 0, run: 0 };
            return NOTHING;
        }
        let direction = (at - slot.last).signum();
        if direction == 0 {
            return NOTHING;
        }
        slot.last = at;
        if direction != slot.direction {
            (slot.direction, slot.run, slot.frontier) = (direction, 1, at);
            return NOTHING;
        }
        slot.run += 1;
        let behind = (slot.frontier - at) * direction < 0;
        let from = if behind { at } else { slot.frontier };
        let edge = if direction > 0 { lines - 1 } else { 0 };
        let room = ((edge - from) * direction).min(AHEAD - (from - at) * direction);
        let count = room.clamp(0, PER_ACCESS);
        slot.frontier = from + count * direction;
        (line.wrapping_add((from + direction - at) as u64), direction, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_followed_inside_a_page() {
        let mut strides = Strides::new();
        let asked: Vec<_> = (0..6).map(|i| strides.observe(7, 0x1000 + i * 256, 64)).collect();
        assert_eq!(asked, [None, None, None, Some(0x1400), Some(0x1500), Some(0x1600)]);
        assert_eq!(strides.observe(7, 0x1f00, 64), None);
    }

    #[test]
    fn a_run_is_asked_for_once_up_to_the_page_end() {
        let mut streams = Streams::new(6);
        let mut asked = Vec::new();
        for line in 0..64 {
            let (first, direction, count) = streams.observe(line);
            asked.extend((0..count).map(|i| first as i64 + i * direction));
        }
        assert_eq!(asked, (3..64).collect::<Vec<_>>());
    }
}
