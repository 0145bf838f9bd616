//! A small made-up JVM in memory, for tests and as a good input for the fuzzer: one heap with the interpreter and one method.

use crate::layout::EXPORTS;
use crate::memory::RemoteMemory;

/// Where the memory begins.
const BASE: u64 = 0x10000;
const HEAP: u64 = BASE + 0x2400;
const SEGMENT_MAP: u64 = BASE + 0x2380;
/// Behind the last block of the heap.
const END: u64 = BLOB + BLOB_BYTES;
const SEGMENT_SHIFT: u64 = 7;
/// The compiled method, and where it has its code and its tables.
const BLOB: u64 = HEAP + 0x100 + 16;
const BLOB_BYTES: u64 = 400;
const CODE: u64 = 96;
const METADATA: u64 = 256;
const PCS: u64 = 288;
/// Their descriptions come after the scopes, since JDK 23 before them.
const OLD_SCOPES: u64 = 264;
const NEW_SCOPES: u64 = 336;
/// What the compiled method is called.
pub const METHOD: &str = "com.example.Pool.take";

/// The addresses of [`EXPORTS`] in it.
pub fn exports() -> [u64; EXPORTS.len()] {
    std::array::from_fn(|index| BASE + 8 * index as u64)
}

/// What the JVM is like.
#[derive(Clone, Copy, Debug)]
pub struct ExampleJvm {
    /// Of the method's frame.
    pub frame_words: u32,
    /// Whether the method's block is in use.
    pub is_used: bool,
    /// Whether the structures are those since JDK 23.
    pub is_new: bool,
    /// How often it has its heap.
    pub heaps: u32,
    /// How large that is, bytes.
    pub heap_bytes: u64,
}

impl Default for ExampleJvm {
    fn default() -> Self {
        Self { frame_words: 6, is_used: true, is_new: false, heaps: 1, heap_bytes: 0x1000 }
    }
}

impl ExampleJvm {
    /// Its memory.
    pub fn memory(&self) -> ExampleMemory {
        ExampleMemory::new(self.bytes())
    }

    /// Address of the method [`METHOD`].
    pub fn method(&self) -> u64 {
        let (bytes, of_method) = (self.bytes(), BLOB + 32 - BASE);
        bytes.get(of_method as usize..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Address of its code.
    pub fn code(&self) -> u64 {
        BLOB + CODE
    }

    /// Address of its bytecode.
    pub fn bytecode(&self) -> u64 {
        let (bytes, method) = (self.bytes(), self.method() - BASE);
        bytes.get(method as usize..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word)) + 24
    }

    /// The bytes of its memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut image = Image { bytes: vec![0; (END - BASE) as usize], next: BASE + 8 * EXPORTS.len() as u64 };
        self.describe(&mut image);
        let heap = image.words(&[HEAP, HEAP + self.heap_bytes, SEGMENT_MAP, SEGMENT_SHIFT]);
        let data = image.words(&vec![heap; self.heaps as usize]);
        let array = image.words(&[u64::from(self.heaps), data]);
        let heaps = image.words(&[array]);
        let place = image.place_of_heaps();
        image.put(place, heaps);
        let marks = [0, 1, 0, 1, 2, 3].into_iter().chain(std::iter::repeat(0xff));
        for (segment, mark) in (0..(self.heap_bytes >> SEGMENT_SHIFT).min(HEAP - SEGMENT_MAP)).zip(marks) {
            image.put_byte(SEGMENT_MAP + segment, mark);
        }
        let interpreter = image.text("Interpreter");
        self.block(&mut image, HEAP, [interpreter, 200, 0, 0], true);
        let (kind, method) = (image.text("nmethod"), self.method_at(&mut image));
        self.block(&mut image, HEAP + 0x100, [kind, BLOB_BYTES, u64::from(self.frame_words), method], self.is_used);
        self.calls(&mut image, method);
        image.bytes
    }

    /// `com/example/Pool` and `take` in `Pool.java`: at the bytecodes 0 and 5 lines 7 and 9.
    fn method_at(&self, image: &mut Image) -> u64 {
        let (class_name, name) = (image.symbol("com/example/Pool"), image.symbol("take"));
        let (holder, file) = (image.words(&[class_name]), image.symbol("Pool.java"));
        let pool = image.words(&[holder, 2, 0, 0, name, file]);
        let (index, has_lines, code_bytes, words) = (1, 1, 8, 5);
        let lines = u64::from_le_bytes([7, 5 << 3 | 2, 0, 0, 0, 0, 0, 0]);
        let constant = image.words(&[pool, index | has_lines << 16 | code_bytes << 32, words, 0, lines]);
        image.words(&[constant])
    }

    /// At the code's byte 20 the method is at its bytecode 5, at 40 it has that inlined twice.
    fn calls(&self, image: &mut Image, method: u64) {
        let scopes = [9, 0, 1, 6, 1, 1, 1].map(|number: u8| number + u8::from(self.is_new));
        let scopes_at = if self.is_new { NEW_SCOPES } else { OLD_SCOPES };
        image.put(BLOB + METADATA, method);
        for (at, byte) in scopes.into_iter().enumerate() {
            image.put_byte(BLOB + scopes_at + at as u64, byte);
        }
        for (at, (offset, scope)) in [(u64::from(u32::MAX), 0), (20, 1), (40, 4)].into_iter().enumerate() {
            image.put(BLOB + PCS + 16 * at as u64, offset | scope << 32);
        }
        let tables = match self.is_new {
            true => [BLOB, BLOB_BYTES | PCS << 32, scopes_at, BLOB + METADATA - 8, 8],
            false => [BLOB + scopes_at, PCS | NEW_SCOPES << 32, METADATA, 0, 0],
        };
        for (at, word) in tables.into_iter().enumerate() {
            image.put(BLOB + 40 + 8 * at as u64, word);
        }
    }

    /// Kind, size, words of the frame, method.
    fn block(&self, image: &mut Image, block: u64, [kind, size, frame_words, method]: [u64; 4], is_used: bool) {
        image.put_byte(block + if self.is_new { 4 } else { 8 }, u8::from(is_used));
        let blob = block + 16;
        image.put(blob, kind);
        image.put(blob + 8, size | frame_words << 32);
        image.put(blob + 16, 12);
        image.put(blob + 24, if self.is_new { CODE } else { blob + CODE });
        image.put(blob + 32, method);
    }

    fn describe(&self, image: &mut Image) {
        let (used, complete_type) = if self.is_new { (4, "int16_t") } else { (8, "int") };
        let code = if self.is_new { "_code_offset" } else { "_code_begin" };
        let method_of = if self.is_new { "nmethod" } else { "CompiledMethod" };
        let fields = [
            ("CodeCache", "_heaps", "", 0),
            ("GrowableArrayBase", "_len", "int", 0),
            ("GrowableArray<int>", "_data", "int*", 8),
            ("CodeHeap", "_memory", "VirtualSpace", 0),
            ("CodeHeap", "_segmap", "VirtualSpace", 16),
            ("CodeHeap", "_log2_segment_size", "int", 24),
            ("VirtualSpace", "_low", "char*", 0),
            ("VirtualSpace", "_high", "char*", 8),
            ("HeapBlock", "_header", "HeapBlock::Header", 0),
            ("HeapBlock::Header", "_used", "bool", used),
            ("CodeBlob", "_name", "const char*", 0),
            ("CodeBlob", "_size", "int", 8),
            ("CodeBlob", "_frame_size", "int", 12),
            ("CodeBlob", "_frame_complete_offset", complete_type, 16),
            ("CodeBlob", code, "address", 24),
            ("Abstract_VM_Version", "_vm_major_version", "int", 0),
            ("ConstMethod", "_flags", "u2", 10),
            ("ConstMethod", "_code_size", "u2", 12),
            ("ConstMethod", "_constMethod_size", "int", 16),
            ("ConstantPool", "_source_file_name_index", "u2", 8),
            ("PcDesc", "_pc_offset", "int", 0),
            ("PcDesc", "_scope_decode_offset", "int", 4),
            (method_of, "_method", "Method*", 32),
            ("Method", "_constMethod", "ConstMethod*", 0),
            ("ConstMethod", "_constants", "ConstantPool*", 0),
            ("ConstMethod", "_name_index", "u2", 8),
            ("ConstantPool", "_pool_holder", "InstanceKlass*", 0),
            ("Klass", "_name", "Symbol*", 0),
            ("Symbol", "_length", "u2", 4),
            ("Symbol", "_body", "", 6),
        ];
        let of_calls = fields_of_calls(self.is_new);
        let version = image.words(&[if self.is_new { 25 } else { 17 }]);
        let mut entries = Vec::new();
        for &(of, name, type_name, place) in fields.iter().chain(of_calls) {
            let texts = [of, name, type_name].map(|text| image.text(text));
            let (is_static, address) = match of {
                "CodeCache" => (1, 0), // it comes later
                "Abstract_VM_Version" => (1, version),
                _ => (0, 0),
            };
            entries.extend(texts.into_iter().chain([is_static, place, address]));
        }
        entries.extend([0; 6]);
        let of_fields = image.words(&entries);
        let sizes = [("HeapBlock", 16), ("ConstantPool", 24), ("ConstMethod", 24), ("nmethod", 80), ("PcDesc", 16)]
            .map(|(name, size)| [image.text(name), size]);
        let of_types = image.words(&[sizes.concat(), vec![0, 0]].concat());
        let exported = [of_fields, 48, 0, 8, 16, 24, 32, 40, of_types, 16, 0, 8];
        for (place, value) in exports().into_iter().zip(exported) {
            image.put(place, value);
        }
    }
}

/// The fields that lead to what is inlined where: structure, name, type, offset.
fn fields_of_calls(is_new: bool) -> &'static [(&'static str, &'static str, &'static str, u64)] {
    if is_new {
        return &[
            ("nmethod", "_immutable_data", "address", 40),
            ("nmethod", "_immutable_data_size", "int", 48),
            ("nmethod", "_scopes_pcs_offset", "int", 52),
            ("nmethod", "_scopes_data_offset", "int", 56),
            ("CodeBlob", "_mutable_data", "address", 64),
            ("CodeBlob", "_relocation_size", "int", 72),
        ];
    }
    &[
        ("CompiledMethod", "_scopes_data_begin", "address", 40),
        ("nmethod", "_scopes_pcs_offset", "int", 48),
        ("nmethod", "_dependencies_offset", "int", 52),
        ("nmethod", "_metadata_offset", "int", 56),
    ]
}

/// Memory that is filled from its beginning on.
struct Image {
    bytes: Vec<u8>,
    next: u64,
}

impl Image {
    fn put_byte(&mut self, address: u64, value: u8) {
        self.bytes[(address - BASE) as usize] = value;
    }

    fn put(&mut self, address: u64, value: u64) {
        self.bytes[(address - BASE) as usize..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn add(&mut self, bytes: &[u8]) -> u64 {
        let address = self.next;
        self.bytes[(address - BASE) as usize..][..bytes.len()].copy_from_slice(bytes);
        self.next = (address + bytes.len() as u64 + 8) & !7;
        address
    }

    fn words(&mut self, words: &[u64]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.add(&bytes)
    }

    fn text(&mut self, text: &str) -> u64 {
        self.add(text.as_bytes())
    }

    fn symbol(&mut self, text: &str) -> u64 {
        let length = (text.len() as u16).to_le_bytes();
        self.add(&[&[0; 4], &length[..], text.as_bytes()].concat())
    }

    /// Where the first field, `CodeCache::_heaps`, has its address: behind five words of its entry.
    fn place_of_heaps(&self) -> u64 {
        let table = self.bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        table + 40
    }
}

/// Memory of which only some is there, twice: from its beginning on, and at the end of all memory, where sums overflow.
#[derive(Clone, Debug)]
pub struct ExampleMemory {
    bytes: Vec<u8>,
    asked_bytes: usize,
}

impl ExampleMemory {
    /// `bytes` where [`exports`] says that the JVM's variables lie.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, asked_bytes: 0 }
    }

    /// How many bytes were read so far, whether they are there or not.
    pub fn asked_bytes(&self) -> usize {
        self.asked_bytes
    }

    fn piece(&self, address: u64, length: usize) -> Option<&[u8]> {
        let from_end = usize::try_from(u64::MAX - address).ok().and_then(|distance| distance.checked_add(1));
        let at = match from_end.and_then(|distance| self.bytes.len().checked_sub(distance)) {
            Some(at) => at,
            None => usize::try_from(address.checked_sub(BASE)?).ok()?,
        };
        self.bytes.get(at..at.checked_add(length)?)
    }
}

impl RemoteMemory for ExampleMemory {
    fn read_pieces(&mut self, pieces: &[(u64, usize)]) -> Vec<u8> {
        self.asked_bytes += pieces.iter().map(|(_, length)| length).sum::<usize>();
        let read = |&(address, length): &(u64, usize)| match self.piece(address, length) {
            Some(bytes) => bytes.to_vec(),
            None => vec![0; length],
        };
        pieces.iter().flat_map(read).collect()
    }
}
