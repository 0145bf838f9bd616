//! A heap of a few functions, for tests: laid out as that of Node 20, at addresses of its own.

use std::collections::BTreeMap;

use crate::layout::Layout;
use crate::memory::HeapMemory;

/// As Node 20 exports it (V8 11.3).
pub const NODE_20: Layout = Layout {
    map: 0,
    instance_type: 12,
    shared: 24,
    name_or_scope_info: 16,
    shared_type: 262,
    scope_info_type: 261,
    script_type: 167,
    script_name: 16,
    script_source: 8,
    length: 12,
    characters: 16,
    cons_first: 16,
    cons_second: 24,
    thin_actual: 16,
    first_non_string: 128,
    representation_mask: 7,
    sequential: 0,
    cons: 1,
    thin: 5,
    external: 2,
    encoding_mask: 8,
    one_byte: 8,
};

/// Where the heap begins.
const BASE: u64 = 0x10_0000;
const ONE_BYTE_STRING: u32 = 40;
const TWO_BYTE_STRING: u32 = 32;
const CONS_STRING: u32 = 41;

/// Memory that is made piece by piece.
#[derive(Clone, Debug, Default)]
pub struct ExampleHeap {
    bytes: Vec<u8>,
    maps: BTreeMap<u32, u64>,
}

impl ExampleHeap {
    /// Adds an object of a type, with these words behind its map. Returns the value that refers to it.
    pub fn object(&mut self, kind: u32, fields: &[u64]) -> u64 {
        let map = self.map(kind);
        self.add(&[&[map], fields].concat()) + 1
    }

    /// Adds a string of characters of one byte, or of two where they need it.
    pub fn string(&mut self, text: &str) -> u64 {
        let units: Vec<u16> = text.encode_utf16().collect();
        let is_wide = units.iter().any(|unit| *unit > 255);
        let map = self.map(if is_wide { TWO_BYTE_STRING } else { ONE_BYTE_STRING });
        let at = self.add(&[map, (units.len() as u64) << 32]);
        let narrow = |unit: &u16| vec![*unit as u8];
        let bytes = units.iter().flat_map(|unit| if is_wide { unit.to_le_bytes().to_vec() } else { narrow(unit) });
        self.bytes.extend(bytes.collect::<Vec<u8>>());
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        at + 1
    }

    /// Adds a string of two parts.
    pub fn concatenated(&mut self, first: u64, second: u64) -> u64 {
        self.object(CONS_STRING, &[0, first, second])
    }

    /// Adds a script.
    pub fn script(&mut self, name: &str, source: &str) -> u64 {
        let (name, source) = (self.string(name), self.string(source));
        self.object(NODE_20.script_type, &[source, name])
    }

    /// Adds a function of a script that begins at a character, with variables. Returns the address of its description.
    pub fn function(&mut self, name: &str, script: u64, begins: u32, variables: &[&str]) -> u64 {
        let names: Vec<u64> = variables.iter().map(|variable| self.string(variable)).collect();
        let name = self.string(name);
        let about = vec![small(3); variables.len()];
        let head = [small(1234), small(2), small(variables.len() as u32)];
        let tail = [name, small(0), small(begins), small(begins + 10)];
        let scope = self.object(NODE_20.scope_info_type, &[&head[..], &names, &about, &tail].concat());
        self.object(NODE_20.shared_type, &[0, scope, 0, script]) - 1
    }

    fn map(&mut self, kind: u32) -> u64 {
        if let Some(map) = self.maps.get(&kind) {
            return *map;
        }
        let map = self.add(&[0, u64::from(kind) << 32]) + 1;
        self.maps.insert(kind, map);
        map
    }

    fn add(&mut self, words: &[u64]) -> u64 {
        let at = BASE + self.bytes.len() as u64;
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        at
    }
}

impl HeapMemory for ExampleHeap {
    fn bytes_at(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?).map(<[u8]>::to_vec)
    }
}

/// A small integer as a value.
pub fn small(number: u32) -> u64 {
    u64::from(number) << 32
}
