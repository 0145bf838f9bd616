//! A part of a recording: what is outside of it goes no further.

use std::collections::{HashMap, HashSet};

use dwell_itrace::{Block, Event, Lost, Mark, Word, marks};
use dwell_view::glob;

use crate::annotate::{Code, Phases, StackChange, Stacks};
use crate::stream::{Function, Listener};

/// Which part of a recording is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// All of it.
    #[default]
    Whole,
    /// What functions of this name do, `*` for any characters, with what they call.
    Within(String),
    /// From each call of the first function to the next call of the second one, on all threads.
    Between(String, String),
    /// The ITT tasks of each thread.
    Tasks,
    /// So many instructions, after so many others; of both a few more, since blocks are whole. Each iteration of a repeated
    /// string instruction counts.
    Instructions {
        /// How many are left out.
        start: u64,
        /// How many follow.
        count: u64,
    },
}

impl Window {
    /// `FUNCTION`, `BEGIN..END`, `task`, or `start:count` in instructions.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "task" {
            return Ok(Self::Tasks);
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((start, count)) = text.split_once(':').filter(|it| is_number(it.0) && is_number(it.1)) {
            let number = |text: &str| text.parse().map_err(|_| format!("{text} is too many instructions"));
            let (start, count) = (number(start)?, number(count)?);
            return match count {
                0 => Err("a window of 0 instructions has nothing in it".to_owned()),
                _ => Ok(Self::Instructions { start, count }),
            };
        }
        match text.split_once("..") {
            Some((begin, end)) if !begin.is_empty() && !end.is_empty() => Ok(Self::Between(begin.into(), end.into())),
            None if !text.is_empty() => Ok(Self::Within(text.into())),
            _ => Err("a window is FUNCTION, BEGIN..END, task, or start:count in instructions".to_owned()),
        }
    }
}

/// Passes on what is in the window.
pub struct Windowed<'a> {
    window: Window,
    inner: &'a mut dyn Listener,
    code: Code,
    phases: Phases,
    stacks: Stacks,
    /// For each function: whether it opens the window, whether it closes it.
    roles: Vec<(bool, bool)>,
    /// On each thread the outermost frame that is in the window.
    within: HashMap<u32, u64>,
    /// Tasks that each thread has begun and not ended.
    tasks: HashMap<u32, u32>,
    /// Whether it is open for the thread that runs, and for which others.
    is_open: bool,
    others: HashSet<u32>,
    /// Whether all threads are between the functions.
    is_between: bool,
    /// Instructions so far, and those of them in the window.
    executed: u64,
    taken: u64,
    /// How often the window was opened.
    pub opened: u64,
    kept: Vec<Word>,
}

impl<'a> Windowed<'a> {
    /// Passes on to `inner`.
    pub fn new(window: Window, inner: &'a mut dyn Listener) -> Self {
        let whole = u64::from(window == Window::Whole);
        Self {
            is_open: window == Window::Whole,
            window,
            inner,
            code: Code::default(),
            phases: Phases::none(),
            stacks: Stacks::default(),
            roles: Vec::new(),
            within: HashMap::new(),
            tasks: HashMap::new(),
            others: HashSet::new(),
            is_between: false,
            executed: 0,
            taken: 0,
            opened: whole,
            kept: Vec::new(),
        }
    }

    /// Opens or closes the window for the thread; what follows the opening does not continue what was before.
    fn set(&mut self, open: bool) {
        if open && !self.is_open {
            self.kept.push(Word::mark(Mark::Gap));
            self.opened += 1;
        }
        self.is_open = open;
    }

    fn execution(&mut self, words: &[Word]) {
        let block = words[0].id();
        let Some(place) = self.code.blocks.get(block as usize) else { return };
        let (function, instructions) = (place.function, u64::from(place.instructions));
        match self.window {
            Window::Whole => {}
            // Blocks are whole: it opens with the first that begins behind `start`, and closes with the one that fills it.
            Window::Instructions { start, count } => self.set(self.executed >= start && self.taken < count),
            Window::Within(_) => {
                self.stacks.step(&self.code, block, &words[1..]);
                self.follow_stack();
                self.set(self.within.contains_key(&self.stacks.thread()));
            }
            Window::Tasks => self.set(self.tasks.get(&self.stacks.thread()).is_some_and(|&open| open > 0)),
            Window::Between(..) => {
                match self.roles[function as usize] {
                    (_, true) => (self.is_between, self.others) = (false, HashSet::new()),
                    (true, _) => self.is_between = true,
                    _ => {}
                }
                self.set(self.is_between);
            }
        }
        self.executed += instructions;
        if self.is_open {
            self.taken += instructions;
            self.kept.extend_from_slice(words);
        }
    }

    fn switch(&mut self, thread: u32) {
        if self.is_open {
            self.others.insert(self.stacks.thread());
        }
        self.is_open = self.others.remove(&thread);
        self.stacks.switch(thread);
    }

    fn note(&mut self, number: u32) {
        let open = self.tasks.entry(self.stacks.thread()).or_default();
        match number {
            marks::TASK_BEGIN => *open = open.saturating_add(1),
            marks::TASK_END => *open = open.saturating_sub(1),
            _ => {}
        }
    }

    fn follow_stack(&mut self) {
        let thread = self.stacks.thread();
        for change in self.stacks.changes.drain(..) {
            match change {
                StackChange::Enter { serial, function, .. } if self.roles[function as usize].0 => {
                    self.within.entry(thread).or_insert(serial);
                }
                StackChange::Leave { serial } if self.within.get(&thread) == Some(&serial) => {
                    self.within.remove(&thread);
                }
                _ => {}
            }
        }
    }
}

impl Listener for Windowed<'_> {
    fn function(&mut self, function: &Function) {
        let is = |pattern: &str| glob(pattern, &function.name);
        self.roles.push(match &self.window {
            Window::Within(pattern) => (is(pattern), false),
            Window::Between(begin, end) => (is(begin), is(end)),
            _ => (false, false),
        });
        self.code.add_function(function, &self.phases);
        self.inner.function(function);
    }

    fn block(&mut self, id: u32, block: &Block, function: u32) {
        self.code.add_block(block, function);
        self.inner.block(id, block, function);
    }

    fn words(&mut self, words: &[Word]) {
        if self.window == Window::Whole {
            return self.inner.words(words);
        }
        let mut rest = words;
        while let Some((&word, behind)) = rest.split_first() {
            let length = 1 + behind.iter().position(|word| !word.is_access()).unwrap_or(behind.len());
            if word.is_block() {
                self.execution(&rest[..length]);
            } else {
                match word.event() {
                    Some(Event::Mark(Mark::Thread(thread))) => self.switch(thread),
                    Some(Event::Mark(Mark::Note(number))) => self.note(number),
                    _ => {}
                }
                self.kept.push(word);
            }
            rest = &rest[length..];
        }
        if !self.kept.is_empty() {
            self.inner.words(&self.kept);
            self.kept.clear();
        }
    }

    fn lost(&mut self, what: Lost) {
        self.inner.lost(what);
    }

    fn is_enough(&self) -> bool {
        let is_over = match self.window {
            Window::Instructions { count, .. } => self.taken >= count,
            _ => false,
        };
        is_over || self.inner.is_enough()
    }

    fn end(&mut self) {
        self.inner.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read() {
        let parse = |text| Window::parse(text).ok();
        assert_eq!(parse("10:20"), Some(Window::Instructions { start: 10, count: 20 }));
        assert_eq!(parse("std::sort*"), Some(Window::Within("std::sort*".into())));
        assert_eq!(parse("a..b"), Some(Window::Between("a".into(), "b".into())));
        assert_eq!(parse("task"), Some(Window::Tasks));
        for wrong in ["", "..", "a..", "1:0", "1:99999999999999999999999"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    /// Keeps what comes.
    #[derive(Default)]
    struct Kept(Vec<Word>);

    impl Listener for Kept {
        fn function(&mut self, _: &Function) {}
        fn block(&mut self, _: u32, _: &Block, _: u32) {}
        fn words(&mut self, words: &[Word]) {
            self.0.extend_from_slice(words);
        }
        fn lost(&mut self, _: Lost) {}
    }

    /// main calls f, which calls g, and goes on: blocks 0 (calls f), 1 (f, calls g), 2 (g), 3 (f returns), 4 (main).
    fn kept(window: &str) -> Vec<Word> {
        let mut kept = Kept::default();
        let mut windowed = Windowed::new(Window::parse(window).unwrap(), &mut kept);
        for name in ["main", "f", "g"] {
            windowed.function(&Function { name: name.into(), module: "app".into() });
        }
        let call = |at: u64, to: u64| {
            let distance = (to as i64 - at as i64 - 5) as i32;
            Block::new(at, &[&[0xe8], &distance.to_le_bytes()[..]].concat(), &[5]).unwrap()
        };
        let ret = |at: u64| Block::new(at, &[0xc3], &[1]).unwrap();
        let nop = Block::new(0x1005, &[0x90], &[1]).unwrap();
        for (id, (block, function)) in
            [(call(0x1000, 0x2000), 0), (call(0x2000, 0x3000), 1), (ret(0x3000), 2), (ret(0x2005), 1), (nop, 0)]
                .into_iter()
                .enumerate()
        {
            windowed.block(id as u32, &block, function);
        }
        let access = |address, store| Word::access(address, 0, 3, store);
        windowed.words(&[Word::block(0), access(0x7fe8, true), Word::block(1), access(0x7fe0, true)]);
        windowed.words(&[Word::block(2), access(0x7fe0, false), Word::block(3), access(0x7fe8, false), Word::block(4)]);
        kept.0.into_iter().filter(|word| word.is_block()).collect()
    }

    #[test]
    fn a_function_is_kept_with_what_it_calls() {
        let blocks = |ids: &[u32]| ids.iter().map(|&id| Word::block(id)).collect::<Vec<_>>();
        assert_eq!(kept("f"), blocks(&[1, 2, 3]));
        assert_eq!(kept("g"), blocks(&[2]));
        assert_eq!(kept("1:2"), blocks(&[1, 2]));
        assert_eq!(kept("g..main"), blocks(&[2, 3]));
        assert_eq!(kept("none"), blocks(&[]));
    }

    #[test]
    fn a_task_is_of_its_thread_and_ends_with_the_outermost_one() {
        let mut kept = Kept::default();
        let mut windowed = Windowed::new(Window::Tasks, &mut kept);
        windowed.function(&Function { name: "main".into(), module: "app".into() });
        for id in 0..5 {
            windowed.block(id, &Block::new(0x1000, &[0x90], &[1]).unwrap(), 0);
        }
        let mark = |mark| Word::mark(Mark::Note(mark));
        let (begin, end) = (mark(marks::TASK_BEGIN), mark(marks::TASK_END));
        let thread = |number| Word::mark(Mark::Thread(number));
        windowed.words(&[thread(0), Word::block(0), begin, Word::block(1), begin, Word::block(2), end, Word::block(3)]);
        windowed.words(&[thread(1), Word::block(4), thread(0), Word::block(2), end, Word::block(4)]);
        let blocks: Vec<Word> = kept.0.into_iter().filter(|word| word.is_block()).collect();
        assert_eq!(blocks, [1, 2, 3, 2].map(Word::block));
    }

    #[test]
    fn a_window_that_begins_within_a_block_has_all_its_instructions() {
        let mut kept = Kept::default();
        let mut windowed = Windowed::new(Window::parse("1:4").unwrap(), &mut kept);
        windowed.function(&Function { name: "main".into(), module: "app".into() });
        windowed.block(0, &Block::new(0x1000, &[0x90; 3], &[1; 3]).unwrap(), 0);
        windowed.words(&[Word::block(0); 2]);
        assert!(!windowed.is_enough());
        windowed.words(&[Word::block(0); 2]);
        assert!(windowed.is_enough());
        assert_eq!(kept.0, [Word::mark(Mark::Gap), Word::block(0), Word::block(0)]);
    }
}
