//! The functions that an interpreter ran (HotSpot's, V8's): each is named when a stack shows it, while the process lives.
//!
//! A stack has the address of a function's structure. Another function may get that address later, so a name is read anew with the
//! first stack after a while.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use dwell_hotspot::MethodLine;
use dwell_store::raw::wire::is_interpreted_method;
use foldhash::fast::FixedState;

/// So long a name is believed.
const BELIEVED_NS: u64 = 1_000_000_000;
/// Functions that are named at once: the others come in the next round.
const MOST_AT_ONCE: usize = 4096;
/// Functions that wait for their names.
const MOST_WAITING: usize = 1 << 16;
/// Functions whose names are remembered; beyond it all are forgotten and told again.
const MOST_KNOWN: usize = 1 << 18;

/// A function and what it is called from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFunction {
    /// As stacks have it.
    pub frame: u64,
    /// `com.example.Pool.take`, and where in it.
    pub line: MethodLine,
    /// When a stack showed it (CLOCK_MONOTONIC).
    pub since_ns: u64,
}

/// See the module.
#[derive(Default)]
pub struct InterpretedFunctions {
    /// When a stack showed them first.
    waiting: BTreeMap<u64, u64>,
    /// Hash of the name, 0 where it could not be read, and when that was seen.
    known: HashMap<u64, (u64, u64)>,
    /// Functions that were too many, or could not be read.
    unnamed: u64,
}

impl InterpretedFunctions {
    /// A stack of this process, seen at `time_ns`.
    pub fn saw(&mut self, frames: &[u64], time_ns: u64) {
        for &frame in frames.iter().filter(|frame| is_interpreted_method(**frame)) {
            let is_new = self.known.get(&frame).is_none_or(|(_, at_ns)| at_ns.saturating_add(BELIEVED_NS) <= time_ns);
            if !is_new || self.waiting.contains_key(&frame) {
                continue;
            }
            if self.waiting.len() >= MOST_WAITING {
                self.unnamed += 1;
            } else {
                self.waiting.insert(frame, time_ns);
            }
        }
    }

    /// Whether a function waits for its name.
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Names functions that wait for it, by `names_of` their frames. Returns those that have another name or line than before.
    pub fn name(&mut self, names_of: impl FnOnce(&[u64]) -> Vec<Option<MethodLine>>) -> Vec<NamedFunction> {
        let now: Vec<(u64, u64)> = std::iter::from_fn(|| self.waiting.pop_first()).take(MOST_AT_ONCE).collect();
        let frames: Vec<u64> = now.iter().map(|(frame, _)| *frame).collect();
        let mut named = Vec::new();
        for ((frame, since_ns), line) in now.into_iter().zip(names_of(&frames)) {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            let hash = line.as_ref().map_or(0, |line| FixedState::default().hash_one(line).max(1));
            let before = self.known.insert(frame, (hash, since_ns));
            match line {
                Some(line) if before.is_none_or(|(before, _)| before != hash) => {
                    named.push(NamedFunction { frame, line, since_ns });
                }
                None if before.is_none() => self.unnamed += 1,
                _ => {}
            }
        }
        named
    }

    /// How many functions have no name, those among them that wait for it.
    pub fn unnamed(&self) -> u64 {
        self.unnamed + self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use dwell_hotspot::example::{ExampleJvm, ExampleMemory, METHOD, exports};
    use dwell_hotspot::{Bytecode, BytecodePlace, CodeCache};
    use dwell_store::raw::wire::INTERPRETED_METHOD;

    use super::*;

    fn cache() -> (CodeCache, ExampleMemory, u64) {
        let mut memory = ExampleJvm::default().memory();
        let mut cache = CodeCache::open(&mut memory, &exports()).expect("a description");
        cache.scan(&mut memory).expect("heaps");
        (cache, memory, ExampleJvm::default().method() | INTERPRETED_METHOD)
    }

    fn lines(cache: &CodeCache, memory: &mut ExampleMemory, frames: &[u64]) -> Vec<Option<MethodLine>> {
        let place = |frame: &u64| BytecodePlace { method: frame & !INTERPRETED_METHOD, at: Bytecode::Index(5) };
        cache.lines(memory, &frames.iter().map(place).collect::<Vec<_>>())
    }

    #[test]
    fn a_method_is_named_once() {
        let ((cache, mut memory, frame), mut methods) = (cache(), InterpretedFunctions::default());
        methods.saw(&[0x1000, frame, frame], 5);
        let named = methods.name(|all| lines(&cache, &mut memory, all));
        let line = MethodLine { name: METHOD.to_owned(), file: "com/example/Pool.java".to_owned(), line: 9 };
        assert_eq!(named, [NamedFunction { frame, line, since_ns: 5 }]);
        methods.saw(&[frame], 6);
        assert!(!methods.are_waiting(), "its name is known");
        methods.saw(&[frame], 5 + BELIEVED_NS);
        assert!(methods.are_waiting(), "another method may lie there now");
        assert_eq!(methods.name(|all| lines(&cache, &mut memory, all)), [], "it has the same name");
        assert_eq!(methods.unnamed(), 0);
    }

    #[test]
    fn a_method_gets_the_name_of_the_one_that_follows_it() {
        let ((cache, mut memory, frame), mut methods) = (cache(), InterpretedFunctions::default());
        methods.saw(&[frame], 5);
        assert_eq!(methods.name(|all| lines(&cache, &mut ExampleMemory::new(Vec::new()), all)), [], "it is gone");
        assert_eq!(methods.unnamed(), 1);
        methods.saw(&[frame], 5 + BELIEVED_NS);
        let named = methods.name(|all| lines(&cache, &mut memory, all));
        assert_eq!(named.iter().map(|method| method.since_ns).collect::<Vec<_>>(), [5 + BELIEVED_NS]);
    }

    #[test]
    fn methods_without_bound_are_counted() {
        let (cache, mut memory, _) = cache();
        let mut methods = InterpretedFunctions::default();
        let frames: Vec<u64> =
            (0..MOST_WAITING as u64 + 7).map(|number| INTERPRETED_METHOD | (1 << 40) | (number * 8)).collect();
        methods.saw(&frames, 5);
        assert_eq!(methods.unnamed(), frames.len() as u64);
        while methods.are_waiting() {
            assert_eq!(methods.name(|all| lines(&cache, &mut memory, all)), []);
        }
        assert_eq!(methods.unnamed(), frames.len() as u64);
    }
}
