//! The places in compiled code that stacks showed: each is told once which methods and lines it is of, while the process lives.

use std::collections::{BTreeMap, BTreeSet};

use dwell_hotspot::{BytecodePlace, CodeBlob, CodeCache, CodeRegion, CompiledCalls, RemoteMemory};

use crate::topics::code_log::InlinedCalls;

/// Places that are read at once: the others come in the next round.
const MOST_AT_ONCE: usize = 4096;
/// Places that wait; more are not told.
const MOST_WAITING: usize = 1 << 16;
/// Code whose places are remembered; beyond it all are forgotten and told again.
const MOST_KNOWN: usize = 1 << 18;
/// So often a place without code is looked at again: the code may be newer than the last scan.
const MOST_TRIES: u8 = 3;

/// See the module.
#[derive(Default)]
pub struct CompiledPlaces {
    /// Memory that compiled code lies in.
    regions: Vec<CodeRegion>,
    /// Addresses, with how often they were looked at.
    waiting: BTreeMap<u64, u8>,
    /// Code that was told: its begin and end.
    known: BTreeMap<u64, u64>,
    /// Addresses that tell nothing.
    silent: BTreeSet<u64>,
    /// How many were too many, or could not be read.
    untold: u64,
}

impl CompiledPlaces {
    /// A stack: an instruction pointer, then return addresses.
    pub fn saw(&mut self, frames: &[u64]) {
        for (depth, frame) in frames.iter().enumerate() {
            // A call is before the address that it returns to.
            let address = if depth == 0 { *frame } else { frame.saturating_sub(1) };
            if !self.regions.iter().any(|region| (region.start..region.end).contains(&address)) || self.is_told(address)
            {
                continue;
            }
            if self.waiting.contains_key(&address) {
                continue;
            }
            if self.waiting.len() < MOST_WAITING {
                self.waiting.insert(address, 0);
            } else {
                self.untold += 1;
            }
        }
    }

    fn is_told(&self, address: u64) -> bool {
        self.silent.contains(&address)
            || self.known.range(..=address).next_back().is_some_and(|(_, end)| address < *end)
    }

    /// A scan of the code cache found these regions, and this new code.
    pub fn scanned(&mut self, regions: &[CodeRegion], appeared: &[CodeBlob]) {
        self.regions = regions.to_vec();
        for blob in appeared {
            // What was told of the code that lay there before does not hold for this one.
            let replaced: Vec<u64> = self.known.range(blob.start..blob.end).map(|(start, _)| *start).collect();
            replaced.iter().for_each(|start| {
                self.known.remove(start);
            });
            let silent: Vec<u64> = self.silent.range(blob.start..blob.end).copied().collect();
            silent.iter().for_each(|address| {
                self.silent.remove(address);
            });
        }
    }

    /// What places that wait are, in a code cache that is in `memory`.
    pub fn new_calls(&mut self, cache: &CodeCache, memory: &mut impl RemoteMemory) -> Vec<InlinedCalls> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let now: Vec<(u64, u8)> = std::iter::from_fn(|| self.waiting.pop_first()).take(MOST_AT_ONCE).collect();
        let (there, absent): (Vec<_>, Vec<_>) = now.into_iter().partition(|(address, _)| cache.has_code_at(*address));
        self.waiting
            .extend(absent.into_iter().filter(|(_, tries)| *tries < MOST_TRIES).map(|(at, tries)| (at, tries + 1)));
        let addresses: Vec<u64> = there.into_iter().map(|(address, _)| address).collect();
        let calls = cache.compiled_calls(memory, &addresses);
        if self.known.len() + self.silent.len() >= MOST_KNOWN {
            self.known.clear();
            self.silent.clear();
        }
        let mut new = Vec::new();
        for (address, calls) in addresses.into_iter().zip(calls) {
            match calls {
                Some(calls) if self.known.insert(calls.start, calls.end).is_none() => new.push(calls),
                Some(_) => {}
                None => drop(self.silent.insert(address)),
            }
        }
        let found = new.len();
        let with_lines = with_lines(cache, memory, new);
        self.untold += (found - with_lines.len()) as u64;
        with_lines
    }

    /// How many places were not told: too many, of methods that could not be read, or still waiting.
    pub fn untold(&self) -> u64 {
        self.untold + self.waiting.len() as u64
    }
}

/// The same with the lines of all places; without code of which a method cannot be read.
fn with_lines(cache: &CodeCache, memory: &mut impl RemoteMemory, calls: Vec<CompiledCalls>) -> Vec<InlinedCalls> {
    let places: Vec<BytecodePlace> = calls.iter().flat_map(|it| it.calls.iter().copied()).collect();
    let mut lines = cache.lines(memory, &places).into_iter();
    let inlined = |CompiledCalls { start, end, calls }: CompiledCalls| {
        let lines: Vec<_> = lines.by_ref().take(calls.len()).collect();
        Some(InlinedCalls { start, end, lines: lines.into_iter().collect::<Option<_>>()? })
    };
    calls.into_iter().filter_map(inlined).collect()
}

#[cfg(test)]
mod tests {
    use dwell_hotspot::example::{ExampleJvm, ExampleMemory, METHOD, exports};

    use super::*;

    fn begun(jvm: &ExampleJvm) -> (CodeCache, ExampleMemory, CompiledPlaces) {
        let mut memory = jvm.memory();
        let mut cache = CodeCache::open(&mut memory, &exports()).expect("a description");
        let scan = cache.scan(&mut memory).expect("heaps");
        let mut places = CompiledPlaces::default();
        places.scanned(&scan.regions, &scan.appeared);
        (cache, memory, places)
    }

    #[test]
    fn a_place_is_told_once_with_what_is_inlined_there() {
        let jvm = ExampleJvm::default();
        let (cache, mut memory, mut places) = begun(&jvm);
        // It stopped within the code of the second description, and was called from that of the first.
        places.saw(&[jvm.code() + 30, jvm.code() + 20, 0x7fff_0000]);
        let calls = places.new_calls(&cache, &mut memory);
        let lines: Vec<(&str, u32)> =
            calls.iter().flat_map(|it| it.lines.iter().map(|line| (line.name.as_str(), line.line))).collect();
        assert_eq!(lines, [(METHOD, 9), (METHOD, 9), (METHOD, 7)]);
        places.saw(&[jvm.code() + 25]);
        assert!(places.new_calls(&cache, &mut memory).is_empty(), "the code around it was told");
        let blobs: Vec<CodeBlob> = cache.blobs().cloned().collect();
        places.scanned(&places.regions.clone(), &blobs);
        places.saw(&[jvm.code() + 25]);
        assert_eq!(places.new_calls(&cache, &mut memory).len(), 1, "there is other code now");
    }

    #[test]
    fn places_without_code_are_given_up() {
        let jvm = ExampleJvm { is_used: false, ..ExampleJvm::default() };
        let (cache, mut memory, mut places) = begun(&jvm);
        places.saw(&[jvm.code()]);
        for _ in 0..=MOST_TRIES {
            assert_eq!(places.waiting.len(), 1);
            assert!(places.new_calls(&cache, &mut memory).is_empty());
        }
        assert!(places.waiting.is_empty());
    }
}
