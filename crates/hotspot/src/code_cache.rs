//! The code cache as it changes: each scan reads the headers of all blobs and names those that are new.

use std::collections::{BTreeMap, HashMap};

use crate::blobs::{BlobHeader, CodeBlob};
use crate::bytecodes::{BytecodePlace, LineLayout, MethodLine};
use crate::compiled_calls::{CallLayout, CompiledCalls};
use crate::error::Result;
use crate::heaps::{CodeRegion, Heap, MOST_BLOCKS, heaps};
use crate::layout::{Description, EXPORTS, Layout};
use crate::memory::{RemoteMemory, c_text, records};
use crate::names::method_names;

/// Headers that are read at once.
const HEADERS_AT_ONCE: usize = 4096;
/// New blobs that a scan names at most, so that none takes long: the rest comes with the next one.
const MOST_NEW: usize = 4096;
/// Bytes of all names that are kept; blobs beyond have the name of their kind.
const MOST_NAME_BYTES: usize = 64 << 20;
/// Kinds of blobs, by pointer; a stub has a name of its own.
const MOST_KINDS: usize = 4096;
/// Of a kind's name, bytes.
const KIND_BYTES: usize = 64;

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The memory of the heaps, as far as it is in use.
    pub regions: Vec<CodeRegion>,
    /// Blobs that came since the scan before, ascending by heap and address.
    pub appeared: Vec<CodeBlob>,
    /// How many are gone, or were replaced.
    pub gone: usize,
    /// There are new blobs that this scan did not read.
    pub has_more: bool,
}

/// A JVM's code; see the module.
#[derive(Clone, Debug)]
pub struct CodeCache {
    layout: Layout,
    /// None where the JVM does not describe its lines.
    lines: Option<LineLayout>,
    /// None where it does not describe what is inlined where.
    calls: Option<CallLayout>,
    /// By the address of their blocks.
    blobs: BTreeMap<u64, (BlobHeader, CodeBlob)>,
    kinds: HashMap<u64, String>,
}

impl CodeCache {
    /// The code cache of the JVM in `memory`, nothing of it read yet. `exports`: the addresses of [`EXPORTS`], in their order.
    ///
    /// # Errors
    ///
    /// The JVM does not describe what leads to its code.
    pub fn open(memory: &mut impl RemoteMemory, exports: &[u64; EXPORTS.len()]) -> Result<Self> {
        let is = Description::read(memory, exports)?;
        Ok(Self {
            layout: Layout::of(&is)?,
            lines: LineLayout::of(memory, &is).ok(),
            calls: CallLayout::of(&is).ok(),
            blobs: BTreeMap::new(),
            kinds: HashMap::new(),
        })
    }

    /// Takes the blobs as they are now.
    ///
    /// # Errors
    ///
    /// The heaps cannot be read: the JVM ends, or has not made them yet.
    pub fn scan(&mut self, memory: &mut impl RemoteMemory) -> Result<Scan> {
        let heaps = heaps(memory, &self.layout)?;
        let mut scan = Scan { regions: heaps.iter().map(|heap| heap.region).collect(), ..Scan::default() };
        let mut found = BTreeMap::new();
        let mut blocks_left = MOST_BLOCKS;
        for heap in &heaps {
            blocks_left -= self.read_headers(memory, heap, blocks_left, &mut found);
        }
        let before = self.blobs.len();
        self.blobs.retain(|block, (header, _)| found.get(block) == Some(header));
        scan.gone = before - self.blobs.len();
        found.retain(|block, _| !self.blobs.contains_key(block));
        scan.has_more = found.len() > MOST_NEW;
        let new: Vec<(u64, BlobHeader)> = found.into_iter().take(MOST_NEW).collect();
        scan.appeared = self.name(memory, &new);
        let named = new.iter().zip(&scan.appeared);
        self.blobs.extend(named.map(|(&(block, header), blob)| (block, (header, blob.clone()))));
        Ok(scan)
    }

    /// The function, file and line of each of `places`, whether their methods are compiled or not. None where no method can be read there.
    pub fn lines(&self, memory: &mut impl RemoteMemory, places: &[BytecodePlace]) -> Vec<Option<MethodLine>> {
        if let Some(lines) = &self.lines {
            return lines.lines(memory, &self.layout, places);
        }
        let methods: Vec<u64> = places.iter().map(|place| place.method).collect();
        let names = method_names(memory, &self.layout, &methods).into_iter();
        names.map(|name| name.map(|name| MethodLine { name, ..MethodLine::default() })).collect()
    }

    /// Whether a blob lies at an address, as far as the last scan saw.
    pub fn has_code_at(&self, address: u64) -> bool {
        self.blob_at(address).is_some()
    }

    /// What compiled methods do at each of `addresses`, ascending ones; none where that is not known, or no compiled method is there.
    pub fn compiled_calls(&self, memory: &mut impl RemoteMemory, addresses: &[u64]) -> Vec<Option<CompiledCalls>> {
        let (Some(calls), Some(lines)) = (&self.calls, &self.lines) else { return vec![None; addresses.len()] };
        let of_one_blob = |a: &u64, b: &u64| self.blob_at(*a).map(|it| it.0) == self.blob_at(*b).map(|it| it.0);
        let mut found = Vec::new();
        for addresses in addresses.chunk_by(of_one_blob) {
            let blob = addresses.first().and_then(|first| self.blob_at(*first));
            found.extend(match blob.filter(|(_, header)| header.method != 0 && is_compiled(self.kind(header))) {
                Some((start, header)) => calls.calls(memory, (start, header), addresses, lines.packing),
                None => vec![None; addresses.len()],
            });
        }
        found
    }

    /// The blob at an address: where it begins, and its header.
    fn blob_at(&self, address: u64) -> Option<(u64, &BlobHeader)> {
        let (_, (header, blob)) = self.blobs.range(..=address).next_back()?;
        (blob.start..blob.end).contains(&address).then_some((blob.start, header))
    }

    fn kind(&self, header: &BlobHeader) -> &str {
        self.kinds.get(&header.kind).map_or("", String::as_str)
    }

    /// All blobs, ascending by address.
    pub fn blobs(&self) -> impl Iterator<Item = &CodeBlob> {
        self.blobs.values().map(|(_, blob)| blob)
    }

    /// Finds the blobs of a heap in its first blocks, of which it reads `most`. Returns how many blocks it read.
    fn read_headers(
        &self,
        memory: &mut impl RemoteMemory,
        heap: &Heap,
        most: usize,
        found: &mut BTreeMap<u64, BlobHeader>,
    ) -> usize {
        let mut bytes = Vec::new();
        let starts = heap.block_starts(memory, most);
        for blocks in starts.chunks(HEADERS_AT_ONCE) {
            let records = records(memory, blocks, self.layout.blob.bytes(), &mut bytes);
            let header =
                |(&block, record): (&u64, &[u8])| Some((block, self.layout.blob.header(record, block, heap.region)?));
            found.extend(blocks.iter().zip(records).filter_map(header));
        }
        starts.len()
    }

    fn name(&mut self, memory: &mut impl RemoteMemory, new: &[(u64, BlobHeader)]) -> Vec<CodeBlob> {
        self.read_kinds(memory, new);
        let kind = |header: &BlobHeader| self.kind(header);
        let kept_bytes: usize = self.blobs().map(|blob| blob.name.len()).sum();
        let is_named = |header: &BlobHeader| kept_bytes < MOST_NAME_BYTES && is_compiled(kind(header));
        let method = |header: &BlobHeader| if is_named(header) { header.method } else { 0 };
        let methods: Vec<u64> = new.iter().map(|(_, header)| method(header)).filter(|method| *method != 0).collect();
        let mut names = method_names(memory, &self.layout, &methods).into_iter();
        let mut named = |&(block, header): &(u64, BlobHeader)| {
            let name = if method(&header) == 0 { None } else { names.next().flatten() };
            self.layout.blob.blob(block, header, name.unwrap_or_else(|| kind(&header).to_owned()))
        };
        new.iter().map(&mut named).collect()
    }

    fn read_kinds(&mut self, memory: &mut impl RemoteMemory, new: &[(u64, BlobHeader)]) {
        let mut kinds: Vec<u64> = new.iter().map(|(_, header)| header.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| !self.kinds.contains_key(kind));
        kinds.truncate(MOST_KINDS.saturating_sub(self.kinds.len()));
        let mut bytes = Vec::new();
        let texts: Vec<String> = records(memory, &kinds, KIND_BYTES, &mut bytes).map(c_text).collect();
        self.kinds.extend(kinds.into_iter().zip(texts));
    }
}

/// Whether a blob of this kind is a compiled method: `nmethod`, `native nmethod`.
fn is_compiled(kind: &str) -> bool {
    kind.ends_with("nmethod")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytecodes::Bytecode;
    use crate::error::Error;
    use crate::example::{ExampleJvm, ExampleMemory, METHOD, exports};

    fn scanned(jvm: &ExampleJvm) -> (CodeCache, Scan) {
        let mut memory = jvm.memory();
        let mut cache = CodeCache::open(&mut memory, &exports()).expect("a description");
        let scan = cache.scan(&mut memory).expect("heaps");
        (cache, scan)
    }

    #[test]
    fn methods_and_stubs_are_named() {
        let (_, scan) = scanned(&ExampleJvm::default());
        let found: Vec<_> = scan.appeared.iter().map(|blob| (blob.name.as_str(), blob.frame_words)).collect();
        assert_eq!(found, [("Interpreter", 0), (METHOD, 6)]);
        let method = &scan.appeared[1];
        assert!(
            method.start < method.code_start && method.code_start < method.frame_from && method.frame_from < method.end
        );
        assert_eq!(scan.regions.len(), 1);
    }

    #[test]
    fn only_what_is_new_is_told() {
        let jvm = ExampleJvm::default();
        let (mut cache, _) = scanned(&jvm);
        let again = cache.scan(&mut jvm.memory()).expect("heaps");
        assert_eq!((again.appeared.len(), again.gone), (0, 0));
        let replaced = cache.scan(&mut ExampleJvm { frame_words: 9, ..jvm }.memory()).expect("heaps");
        assert_eq!((replaced.appeared.len(), replaced.gone), (1, 1));
        assert_eq!(cache.blobs().map(|blob| blob.frame_words).collect::<Vec<_>>(), [0, 9]);
    }

    #[test]
    fn methods_that_are_not_compiled_have_names_too() {
        let jvm = ExampleJvm { is_used: false, ..ExampleJvm::default() };
        let (cache, _) = scanned(&jvm);
        let wrong = [0, 8, jvm.method() + 8, exports()[0], u64::MAX - 7];
        let place = |method| BytecodePlace { method, at: Bytecode::Unknown };
        let places: Vec<_> = [jvm.method()].into_iter().chain(wrong).map(place).collect();
        let names = cache.lines(&mut jvm.memory(), &places).into_iter().map(|line| line.map(|line| line.name));
        assert_eq!(names.collect::<Vec<_>>(), [&[Some(METHOD.to_owned())][..], &wrong.map(|_| None)].concat());
    }

    #[test]
    fn bytecodes_have_lines() {
        for is_new in [false, true] {
            let jvm = ExampleJvm { is_new, ..ExampleJvm::default() };
            let (cache, _) = scanned(&jvm);
            let bits = (jvm.bytecode() as u32 + 6) & 0x7fff;
            let all = [Bytecode::Index(4), Bytecode::Index(5), Bytecode::AddressBits { bits, mask: 0x7fff }];
            let places = all.map(|at| BytecodePlace { method: jvm.method(), at });
            let line = |line| Some(MethodLine { name: METHOD.into(), file: "com/example/Pool.java".into(), line });
            assert_eq!(cache.lines(&mut jvm.memory(), &places), [7, 9, 9].map(line), "{is_new}");
        }
    }

    #[test]
    fn compiled_code_tells_what_is_inlined_where() {
        for is_new in [false, true] {
            let jvm = ExampleJvm { is_new, ..ExampleJvm::default() };
            let (cache, _) = scanned(&jvm);
            let addresses = [0, 19, 20, 39, 40].map(|at| jvm.code() + at);
            let found = cache.compiled_calls(&mut jvm.memory(), &addresses);
            let at = |index| BytecodePlace { method: jvm.method(), at: Bytecode::Index(index) };
            let calls = |from: u64, to: u64, calls: &[u32]| {
                let calls = calls.iter().map(|index| at(*index)).collect();
                Some(CompiledCalls { start: jvm.code() + from, end: jvm.code() + to, calls })
            };
            let (first, second) = (calls(0, 20, &[5]), calls(20, 40, &[5, 0]));
            assert_eq!(found, [first.clone(), first, second.clone(), second, None], "{is_new}");
            let mut gone = ExampleMemory::new(Vec::new());
            assert_eq!(cache.compiled_calls(&mut gone, &addresses), [const { None }; 5], "{is_new}");
        }
    }

    #[test]
    fn free_blocks_are_none() {
        let (_, scan) = scanned(&ExampleJvm { is_used: false, ..ExampleJvm::default() });
        assert_eq!(scan.appeared.iter().map(|blob| blob.name.as_str()).collect::<Vec<_>>(), ["Interpreter"]);
    }

    #[test]
    fn newer_layouts_are_read() {
        let (_, old) = scanned(&ExampleJvm::default());
        let (_, new) = scanned(&ExampleJvm { is_new: true, ..ExampleJvm::default() });
        assert_eq!(old.appeared, new.appeared);
    }

    #[test]
    fn names_are_kept_up_to_a_bound() {
        let jvm = ExampleJvm::default();
        let (mut cache, _) = scanned(&jvm);
        let (_, interpreter) = cache.blobs.values_mut().next().expect("the interpreter");
        interpreter.name = "x".repeat(MOST_NAME_BYTES);
        let replaced = cache.scan(&mut ExampleJvm { frame_words: 9, ..jvm }.memory()).expect("heaps");
        assert_eq!(replaced.appeared.iter().map(|blob| blob.name.as_str()).collect::<Vec<_>>(), ["nmethod"]);
    }

    #[test]
    fn all_heaps_together_are_bounded() {
        let many = ExampleJvm { heaps: 16, heap_bytes: 1 << 27, ..ExampleJvm::default() };
        let mut memory = many.memory();
        let mut cache = CodeCache::open(&mut memory, &exports()).expect("a description");
        cache.scan(&mut memory).expect("heaps");
        // A byte for each segment of 128 bytes, and a header of 56 bytes for each block.
        assert!(memory.asked_bytes() < (16 << 20) + 60 * MOST_BLOCKS, "{} bytes read", memory.asked_bytes());
        let mut memory = ExampleJvm { heap_bytes: 1 << 28, ..many }.memory();
        let mut cache = CodeCache::open(&mut memory, &exports()).expect("a description");
        let scanned = cache.scan(&mut memory).map(|scan| scan.appeared);
        assert_eq!(scanned, Err(Error::Implausible { what: "the size of the code heaps" }));
    }

    #[test]
    fn nothing_comes_of_a_jvm_that_has_not_begun() {
        let mut memory = ExampleMemory::new(Vec::new());
        let opened = CodeCache::open(&mut memory, &exports());
        assert_eq!(opened.err(), Some(Error::Unreadable { what: "the JVM's description of itself" }));
    }

    proptest! {
        #[test]
        fn damaged_memory_is_no_danger(changes in proptest::collection::vec((0usize..1 << 14, any::<u8>()), 0..40)) {
            let mut bytes = ExampleJvm::default().bytes();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            let mut memory = ExampleMemory::new(bytes);
            if let Ok(mut cache) = CodeCache::open(&mut memory, &exports())
                && let Ok(scan) = cache.scan(&mut memory)
            {
                let places: Vec<u64> = scan.appeared.iter().flat_map(|blob| blob.code_start..blob.end.min(blob.code_start + 50)).collect();
                for calls in cache.compiled_calls(&mut memory, &places).into_iter().flatten() {
                    prop_assert!(calls.start < calls.end);
                    cache.lines(&mut memory, &calls.calls);
                }
                for blob in scan.appeared {
                    prop_assert!(blob.start <= blob.code_start && blob.code_start < blob.end);
                }
            }
        }
    }
}
