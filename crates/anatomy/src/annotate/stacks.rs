//! Call stacks, from nothing but the blocks and where calls and returns touch the stack.
//!
//! A call leaves its return address somewhere, a return takes one from somewhere: the address of that access says which call
//! it ends, whatever happened in between (exceptions, longjmp, frames that a tail call replaced). An access on another stack
//! means that the kernel, or a library of coroutines, has switched: the stack that is left is kept until somebody returns to it.
//! Where the flow goes where no branch leads, an interrupt, an exception or a signal has come; its end goes on as if nothing
//! had been.

use std::collections::HashMap;

use dwell_itrace::Word;

use super::code::{Code, Exit, Place};
use super::phases::{Half, KERNEL, USER};

/// Frames of a stack; deeper recursion is counted in its last one.
const MOST_FRAMES: usize = 1 << 14;
/// Stacks that are kept while others run, per thread.
const MOST_PARKED: usize = 1 << 10;
/// How far up in a parked stack a return may lead.
const PARKED_DEPTH: usize = 8;
/// Within so many frames a return address can have been moved.
const MOVED_DEPTH: usize = 2;
/// Below this distance two accesses are on one stack of the program.
const STACK_BYTES: u64 = 1 << 20;
/// Stacks in the kernel are aligned to their size: 16 KiB.
const KERNEL_STACK_SHIFT: u32 = 14;

/// An active function.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its number.
    pub function: u32,
    /// The phase that it is in.
    pub phase: u16,
    /// Where that is done.
    pub half: Half,
    /// Which frame of the whole trace it is: names its call.
    pub serial: u64,
    /// Where the return address lies; 0 when it is not known.
    slot: u64,
    /// The return address; 0 when it is not known.
    back: u64,
    /// What was interrupted, when the frame began by an interrupt, an exception or a signal; none of a system call.
    resume: Option<Previous>,
    /// Left by the instruction that leaves the kernel, or by the signal's return.
    is_entry: bool,
}

/// What was executed last.
#[derive(Clone, Copy, Debug)]
struct Previous {
    block: u32,
    /// Where its call left, or its return took, the address.
    slot: u64,
}

/// What happened to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A function was called.
    Enter {
        /// The frame.
        serial: u64,
        /// How many frames are above it.
        depth: u16,
        /// Its function.
        function: u32,
        /// Its phase.
        phase: u16,
    },
    /// The frame has ended.
    Leave {
        /// See `Enter`.
        serial: u64,
    },
    /// What follows is executed on another stack, of which this is the outermost frame.
    Resume {
        /// See `Enter`.
        serial: u64,
    },
}

#[derive(Default)]
struct Thread {
    stack: Vec<Frame>,
    parked: Vec<Vec<Frame>>,
    previous: Option<Previous>,
}

/// The stacks of all threads.
#[derive(Default)]
pub struct Stacks {
    threads: HashMap<u32, Thread>,
    current: u32,
    thread: Thread,
    serial: u64,
    /// By block, whether a call led to it.
    called: Vec<bool>,
    /// What has happened, for the caller to take.
    pub changes: Vec<Change>,
}

impl Stacks {
    /// What follows is executed by this thread.
    pub fn switch(&mut self, thread: u32) {
        let next = self.threads.remove(&thread).unwrap_or_default();
        let before = std::mem::replace(&mut self.thread, next);
        self.threads.insert(std::mem::replace(&mut self.current, thread), before);
        self.resumed();
    }

    /// Another stack goes on.
    fn resumed(&mut self) {
        self.changes.extend(self.thread.stack.first().map(|outermost| Change::Resume { serial: outermost.serial }));
    }

    /// What follows of this thread does not continue what was before.
    pub fn forget_thread(&mut self) {
        let thread = std::mem::take(&mut self.thread);
        self.end(&thread);
    }

    /// What follows of any thread does not continue what was before.
    pub fn forget(&mut self) {
        self.forget_thread();
        let mut others: Vec<(u32, Thread)> = self.threads.drain().collect();
        others.sort_unstable_by_key(|other| other.0);
        others.into_iter().for_each(|other| self.end(&other.1));
    }

    /// All calls of a thread have ended, the innermost ones first.
    fn end(&mut self, thread: &Thread) {
        let frames = thread.parked.iter().chain([&thread.stack]).flat_map(|stack| stack.iter().rev());
        self.changes.extend(frames.map(|frame| Change::Leave { serial: frame.serial }));
    }

    /// The thread that is executed.
    pub fn thread(&self) -> u32 {
        self.current
    }

    /// A block is executed, with these accesses; returns its frame.
    #[inline]
    pub fn step(&mut self, code: &Code, block: u32, accesses: &[Word]) -> Frame {
        let place = &code.blocks[block as usize];
        if let Some(previous) = self.thread.previous {
            self.follow(code, previous, place);
            self.note(code, previous, block);
        }
        self.agree(code, place);
        let slot = match place.exit {
            Exit::Call => stack_access(place, accesses, true),
            Exit::Return => stack_access(place, accesses, false),
            _ => 0,
        };
        self.thread.previous = Some(Previous { block, slot });
        self.thread.stack[self.thread.stack.len() - 1]
    }

    /// The flow has come from one block to another.
    #[inline]
    fn follow(&mut self, code: &Code, previous: Previous, place: &Place) {
        let before = &code.blocks[previous.block as usize];
        if before.function == place.function && matches!(before.exit, Exit::Near(_)) {
            return;
        }
        let is_entry = |place: &Place| code.functions[place.function as usize].is_entry;
        let returns = before.exit == Exit::Return && self.caller(previous.slot, place).is_some();
        if is_entry(place) && !is_entry(before) && !returns {
            return self.push(code, place, Begin { resume: Some(previous), is_entry: true, ..Begin::default() });
        }
        // An exception within it, from which the program has returned.
        if before.address < place.address && place.address < before.end {
            return;
        }
        match before.exit {
            Exit::Call if place.address != before.end => {
                self.push(code, place, Begin { slot: previous.slot, back: before.end, ..Begin::default() });
            }
            Exit::Return => self.return_to(previous.slot, place),
            Exit::SystemCall if place.is_kernel() => {
                self.push(code, place, Begin { is_entry: true, ..Begin::default() });
            }
            Exit::SystemCall if place.address != before.end => self.resume(code, place),
            Exit::Resume => self.resume(code, place),
            Exit::Near(target) if ![before.end, target, before.last].contains(&place.address) => {
                self.push(code, place, Begin { resume: Some(previous), is_entry: true, ..Begin::default() });
            }
            _ => {}
        }
    }

    /// A jump from one function into another's middle (longjmp, an exception's handler) leads to an active call of it, if there
    /// is one. Where calls lead to is a function's beginning: a jump there is a call at the end of a function.
    #[inline]
    fn note(&mut self, code: &Code, previous: Previous, block: u32) {
        let (before, place) = (&code.blocks[previous.block as usize], &code.blocks[block as usize]);
        if matches!(before.exit, Exit::Near(_)) || before.function == place.function {
            return;
        }
        if self.called.len() <= block as usize {
            self.called.resize(code.blocks.len(), false);
        }
        if before.exit == Exit::Call {
            self.called[block as usize] = true;
        } else if before.exit == Exit::Anywhere && !self.called[block as usize] {
            let active = self.thread.stack.iter().rposition(|frame| frame.function == place.function);
            if let Some(at) = active {
                self.cut(at + 1);
            }
        }
    }

    /// Makes the innermost frame one of the block's function: jumps lead to other functions without a call.
    #[inline]
    fn agree(&mut self, code: &Code, place: &Place) {
        match self.thread.stack.last() {
            None => self.push(code, place, Begin::default()),
            Some(top) if top.function != place.function => {
                let begin = Begin { slot: top.slot, back: top.back, resume: top.resume, is_entry: top.is_entry };
                self.pop();
                self.push(code, place, begin);
            }
            Some(_) => {}
        }
    }

    fn push(&mut self, code: &Code, place: &Place, begin: Begin) {
        if self.thread.stack.len() >= MOST_FRAMES {
            return;
        }
        let (phase, half) = match self.thread.stack.last() {
            Some(caller) if !begin.is_entry => (caller.phase, caller.half),
            Some(caller) if place.is_kernel() && begin.resume.is_some() => (KERNEL, caller.half),
            _ if place.is_kernel() => (KERNEL, Half::Top),
            _ => (USER, Half::User),
        };
        let (phase, half) = match code.functions[place.function as usize].phase {
            Some((phase, own)) => (phase, own.unwrap_or(half)),
            None => (phase, half),
        };
        let Begin { slot, back, resume, is_entry } = begin;
        let (function, serial, depth) = (place.function, self.serial, self.thread.stack.len() as u16);
        self.thread.stack.push(Frame { function, phase, half, serial, slot, back, resume, is_entry });
        self.changes.push(Change::Enter { serial, depth, function, phase });
        self.serial += 1;
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.thread.stack.pop()?;
        self.changes.push(Change::Leave { serial: frame.serial });
        Some(frame)
    }

    /// Ends the frames from this one on.
    fn cut(&mut self, length: usize) -> Option<Frame> {
        let mut last = None;
        while self.thread.stack.len() > length {
            last = self.pop();
        }
        last
    }

    /// The frame that a return ends, which took its address from `slot`. The kernel's entries move return addresses to
    /// where there is room for registers: then the address itself tells.
    fn caller(&self, slot: u64, place: &Place) -> Option<usize> {
        let stack = &self.thread.stack;
        let moved = || {
            let from = stack.len().saturating_sub(MOVED_DEPTH);
            stack[from..].iter().rposition(|frame| frame.back == place.address).map(|at| at + from)
        };
        find(stack, slot, MOST_FRAMES).or_else(moved)
    }

    /// A return took its address from `slot`.
    fn return_to(&mut self, slot: u64, place: &Place) {
        if let Some(at) = self.caller(slot, place) {
            self.cut(at);
            return;
        }
        if let Some(at) = self.thread.parked.iter().position(|stack| find(stack, slot, PARKED_DEPTH).is_some()) {
            let stack = self.thread.parked.swap_remove(at);
            self.park(stack);
            self.resumed();
            if let Some(at) = find(&self.thread.stack, slot, PARKED_DEPTH) {
                self.cut(at);
            }
            return;
        }
        let Some(top) = self.thread.stack.iter().rev().map(|frame| frame.slot).find(|&slot| slot != 0) else { return };
        let is_other = match place.is_kernel() {
            true => top >> KERNEL_STACK_SHIFT != slot >> KERNEL_STACK_SHIFT,
            false => top.abs_diff(slot) > STACK_BYTES,
        };
        if is_other {
            return self.park(Vec::new());
        }
        // Frames below the address on the stack are gone, whoever removed them.
        while self.thread.stack.last().is_some_and(|frame| frame.slot != 0 && frame.slot < slot) {
            self.pop();
        }
    }

    /// Goes on with another stack.
    fn park(&mut self, stack: Vec<Frame>) {
        let left = std::mem::replace(&mut self.thread.stack, stack);
        if self.thread.parked.len() >= MOST_PARKED {
            for frame in self.thread.parked.remove(0) {
                self.changes.push(Change::Leave { serial: frame.serial });
            }
        }
        self.thread.parked.push(left);
    }

    /// What interrupted the program has ended.
    fn resume(&mut self, code: &Code, place: &Place) {
        let Some(at) = self.thread.stack.iter().rposition(|frame| frame.is_entry) else {
            self.cut(0);
            return;
        };
        if let Some(previous) = self.cut(at).and_then(|entry| entry.resume) {
            self.follow(code, previous, place);
        }
    }
}

/// How a frame begins.
#[derive(Clone, Copy, Default)]
struct Begin {
    slot: u64,
    back: u64,
    resume: Option<Previous>,
    is_entry: bool,
}

/// The frame whose return address lies there, among the innermost ones.
fn find(stack: &[Frame], slot: u64, depth: usize) -> Option<usize> {
    let from = stack.len().saturating_sub(depth);
    stack[from..].iter().rposition(|frame| frame.slot == slot && slot != 0).map(|at| at + from)
}

/// The address of the last instruction's access to the stack: what a call writes, a return reads.
fn stack_access(place: &Place, accesses: &[Word], store: bool) -> u64 {
    let last = usize::from(place.instructions) - 1;
    let of_last = accesses.iter().rev().map(|word| word.as_access()).take_while(|access| access.instruction() == last);
    of_last.into_iter().find(|access| access.is_store() == store).map_or(0, |access| access.address())
}
