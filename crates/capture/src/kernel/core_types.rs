//! The types of the kernel (BTF) as far as the hooks of a family name them.
//!
//! To relocate a hook, libbpf compares each type that the hook names with every type of the kernel, and does so anew for each
//! family: 160 of them with 127,000 of Linux 6.18, which took a quarter of all the time until a program's first instruction.
//! Those that hooks name lie among the first 20,000. So libbpf is given the first types only, up to the last one that the family
//! needs. They keep their numbers, by which hooks name the types that they cast pointers to (`bpf_core_cast`).
//!
//! What refers to a type behind the last one refers to `void` instead: only what a pointer points to, which no relocation asks.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::kernel::requirements;

/// The names of the kernel's types that the hooks of each family name (build.rs).
const NAMED: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/core_types.in"));

/// Kinds of types, include/uapi/linux/btf.h.
mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

/// Bytes of the header, and of what begins each type.
const HEADER_BYTES: usize = 24;
const TYPE_BYTES: usize = 12;

/// Types in a file that libbpf reads.
pub struct CoreTypes {
    file: File,
}

impl CoreTypes {
    /// Those of the running kernel that family `name` needs; `None` where they are not understood, so that libbpf reads all.
    pub fn of(name: &str) -> Option<Self> {
        static KERNEL: OnceLock<Option<Types>> = OnceLock::new();
        let (_, named) = NAMED.iter().find(|(family, _)| *family == name)?;
        let kernel = KERNEL.get_or_init(|| Types::parse(requirements::kernel_types().ok()?)).as_ref()?;
        let first = kernel.first(&kernel.needed(named))?;
        let mut file = File::from(memfd_create("kernel-types", MemfdFlags::CLOEXEC).ok()?);
        file.write_all(&first).ok()?;
        Some(Self { file })
    }

    /// Leads to the file as long as this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }
}

/// All types of a kernel.
struct Types {
    bytes: Vec<u8>,
    strings: usize,
    /// Where each type begins, by its number, and where the last one ends. `void`, number 0, has no bytes.
    places: Vec<usize>,
    /// The types of each name that a hook may ask for.
    named: HashMap<&'static str, Vec<u32>>,
}

/// How far a type is looked into.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Depth {
    /// What lies within it, not what pointers point to: the way of an access.
    Members,
    /// The arguments of the function that it points to, not what lies within them: what `bpf_core_type_matches` compares.
    Signature,
}

impl Types {
    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let at_word = |at: usize| word(&bytes, at).map(|word| word as usize);
        if bytes.get(..2)? != 0xeb9fu16.to_le_bytes() || at_word(4)? != HEADER_BYTES {
            return None;
        }
        let (mut at, strings) = (HEADER_BYTES + at_word(8)?, HEADER_BYTES + at_word(16)?);
        let end = at + at_word(12)?;
        let mut places = vec![at];
        while at < end {
            places.push(at);
            at += TYPE_BYTES + bytes_behind(word(&bytes, at + 4)?)?;
        }
        places.push(at);
        let mut types = Self { bytes, strings, places, named: HashMap::new() };
        types.named = types.find_named();
        Some(types)
    }

    fn find_named(&self) -> HashMap<&'static str, Vec<u32>> {
        let wanted: HashSet<&'static str> = NAMED.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut named: HashMap<&'static str, Vec<u32>> = HashMap::new();
        for number in 1..=self.last() {
            if let Some(name) = self.name(number).and_then(|name| wanted.get(name)) {
                named.entry(name).or_default().push(number);
            }
        }
        named
    }

    fn last(&self) -> u32 {
        self.places.len().saturating_sub(2) as u32
    }

    fn word(&self, number: u32, at: usize) -> Option<u32> {
        word(&self.bytes, self.places.get(number as usize)? + at)
    }

    fn kind_and_count(&self, number: u32) -> Option<(u32, usize)> {
        self.word(number, 4).map(kind_and_count)
    }

    /// The name of a type that a hook may ask for by its name.
    fn name(&self, number: u32) -> Option<&str> {
        let (kind, _) = self.kind_and_count(number)?;
        let is_asked_for = matches!(
            kind,
            kind::INT
                | kind::STRUCT
                | kind::UNION
                | kind::ENUM
                | kind::FORWARD
                | kind::TYPEDEF
                | kind::FLOAT
                | kind::ENUM64
        );
        let at = self.word(number, 0).filter(|&at| is_asked_for && at != 0)?;
        let name = self.bytes.get(self.strings + at as usize..)?.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(name).ok()
    }

    /// The types that relocations which begin at types of these names look at.
    fn needed(&self, names: &[&str]) -> HashSet<u32> {
        let roots = names.iter().filter_map(|name| self.named.get(name)).flatten();
        let mut waiting: Vec<(u32, Depth)> =
            roots.flat_map(|&root| [(root, Depth::Members), (root, Depth::Signature)]).collect();
        let mut seen: HashSet<(u32, Depth)> = HashSet::new();
        while let Some((number, depth)) = waiting.pop() {
            if number != 0 && seen.insert((number, depth)) {
                let within = self.within(number, depth).unwrap_or_default();
                waiting.extend(within.into_iter().map(|number| (number, depth)));
            }
        }
        seen.into_iter().map(|(number, _)| number).collect()
    }

    fn within(&self, number: u32, depth: Depth) -> Option<Vec<u32>> {
        let (kind, _) = self.kind_and_count(number)?;
        let is_looked_into = match kind {
            kind::STRUCT | kind::UNION => depth == Depth::Members,
            kind::POINTER | kind::PROTOTYPE => depth == Depth::Signature,
            _ => true,
        };
        let place = *self.places.get(number as usize)?;
        let references = if is_looked_into { self.references(number)? } else { Vec::new() };
        references.into_iter().map(|at| word(&self.bytes, place + at)).collect()
    }

    /// Where in the bytes of a type the numbers of other types stand.
    fn references(&self, number: u32) -> Option<Vec<usize>> {
        let (kind, count) = self.kind_and_count(number)?;
        let each = |bytes: usize, at: usize| (0..count).map(move |item| TYPE_BYTES + item * bytes + at);
        Some(match kind {
            kind::ARRAY => vec![TYPE_BYTES, TYPE_BYTES + 4],
            kind::STRUCT | kind::UNION => each(12, 4).collect(),
            kind::PROTOTYPE => [8].into_iter().chain(each(8, 4)).collect(),
            kind::SECTION => each(12, 0).collect(),
            kind::POINTER
            | kind::TYPEDEF..=kind::FUNCTION
            | kind::VARIABLE
            | kind::DECLARATION_TAG
            | kind::TYPE_TAG => vec![8],
            _ => Vec::new(),
        })
    }

    /// Where in the bytes of a type the places of names stand.
    fn names(&self, number: u32) -> Option<Vec<usize>> {
        let (kind, count) = self.kind_and_count(number)?;
        let bytes = match kind {
            kind::STRUCT | kind::UNION | kind::ENUM64 => 12,
            kind::ENUM | kind::PROTOTYPE => 8,
            _ => return Some(vec![0]),
        };
        Some([0].into_iter().chain((0..count).map(|item| TYPE_BYTES + item * bytes)).collect())
    }

    /// The types up to the last one that is `needed`, as a file of their own; the others among them have no name, so that no name
    /// is compared with theirs.
    fn first(&self, needed: &HashSet<u32>) -> Option<Vec<u8>> {
        let last = needed.iter().copied().max().unwrap_or(0);
        let (begin, end) = (*self.places.first()?, *self.places.get(last as usize + 1)?);
        let mut types = self.bytes.get(begin..end)?.to_vec();
        let mut last_name = 0;
        for number in 1..=last {
            let place = self.places.get(number as usize)? - begin;
            for at in self.references(number)? {
                if word(&types, place + at)? > last {
                    types.get_mut(place + at..place + at + 4)?.fill(0);
                }
            }
            if !needed.contains(&number) {
                types.get_mut(place..place + 4)?.fill(0);
            }
            for at in self.names(number)? {
                last_name = last_name.max(word(&types, place + at)?);
            }
            // One without arguments and result is none; nothing asks for functions here.
            if self.kind_and_count(number)?.0 == kind::FUNCTION {
                types.get_mut(place..place + TYPE_BYTES)?.copy_from_slice(&pointer_to_void());
            }
        }
        let strings = self.bytes.get(self.strings..)?;
        let name_bytes = strings.get(last_name as usize..)?.iter().position(|byte| *byte == 0)?;
        let strings = strings.get(..=last_name as usize + name_bytes)?;
        let mut file = self.bytes.get(..8)?.to_vec();
        for number in [0, types.len(), types.len(), strings.len()] {
            file.extend((number as u32).to_le_bytes());
        }
        file.extend(types);
        file.extend(strings);
        Some(file)
    }
}

fn pointer_to_void() -> [u8; TYPE_BYTES] {
    let mut bytes = [0; TYPE_BYTES];
    bytes[4..8].copy_from_slice(&(kind::POINTER << 24).to_le_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn kind_and_count(info: u32) -> (u32, usize) {
    (info >> 24 & 0x1f, (info & 0xffff) as usize)
}

/// Bytes behind what begins each type; `None` of a kind that is not known here.
fn bytes_behind(info: u32) -> Option<usize> {
    let (kind, count) = kind_and_count(info);
    match kind {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => Some(4),
        kind::ARRAY => Some(12),
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => Some(12 * count),
        kind::ENUM | kind::PROTOTYPE => Some(8 * count),
        kind::POINTER | kind::FORWARD | kind::TYPEDEF..=kind::FUNCTION | kind::FLOAT | kind::TYPE_TAG => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use libbpf_rs::btf::Btf;
    use libbpf_rs::btf::types::{Struct, Typedef};

    use super::*;
    use crate::kernel::loading::FAMILIES;

    /// A type without what lies behind its first words.
    fn ty(kind: u32, count: u32, name: u32, size_or_type: u32, behind: &[u32]) -> Vec<u32> {
        [&[name, kind << 24 | count, size_or_type], behind].concat()
    }

    fn types(types: &[Vec<u32>], strings: &str) -> Types {
        let bytes: Vec<u8> = types.concat().into_iter().flat_map(u32::to_le_bytes).collect();
        let mut file = 0x0001_eb9fu32.to_le_bytes().to_vec();
        for number in [HEADER_BYTES, 0, bytes.len(), bytes.len(), strings.len()] {
            file.extend((number as u32).to_le_bytes());
        }
        file.extend(bytes);
        file.extend(strings.as_bytes());
        Types::parse(file).expect("types")
    }

    #[test]
    fn what_lies_within_a_type_is_kept_and_what_a_pointer_points_to_is_not() {
        let all = types(
            &[
                ty(kind::POINTER, 0, 0, 4, &[]),
                ty(kind::STRUCT, 2, 1, 12, &[17, 1, 0, 17, 3, 64]), // task_struct: a pointer and a typedef
                ty(kind::TYPEDEF, 0, 13, 5, &[]),
                ty(kind::FUNCTION, 0, 13, 6, &[]),
                ty(kind::INT, 0, 13, 4, &[32]),
                ty(kind::PROTOTYPE, 0, 0, 0, &[]),
            ],
            "\0task_struct\0int\0member\0unused\0",
        );
        let needed = all.needed(&["task_struct", "no_such_type"]);
        assert_eq!(needed, HashSet::from([1, 2, 3, 5]));
        let first = Types::parse(all.first(&needed).expect("first types")).expect("types");
        assert_eq!(first.last(), 5);
        assert_eq!(first.named["task_struct"], [2]);
        let referred: Vec<Option<u32>> = (1..=5).map(|number| first.word(number, 8)).collect();
        assert_eq!(referred, [Some(4), Some(12), Some(5), Some(0), Some(4)]);
        assert_eq!(first.kind_and_count(4), Some((kind::POINTER, 0)), "a function without its prototype");
        assert!(first.bytes.ends_with(b"member\0"));
    }

    #[test]
    fn the_arguments_of_a_tracepoint_are_kept() {
        let pointer_to = |number| ty(kind::POINTER, 0, 0, number, &[]);
        let all = types(
            &[
                ty(kind::TYPEDEF, 0, 1, 2, &[]),
                pointer_to(3),
                ty(kind::PROTOTYPE, 1, 0, 0, &[0, 4]),
                pointer_to(5),
                ty(kind::STRUCT, 1, 24, 8, &[0, 6, 0]),
                ty(kind::INT, 0, 24, 4, &[32]),
            ],
            "\0btf_trace_sched_switch\0file\0",
        );
        assert_eq!(all.needed(&["btf_trace_sched_switch"]), HashSet::from([1, 2, 3, 4, 5]));
        let of_file = all.needed(&["file"]);
        assert_eq!(of_file, HashSet::from([5, 6]));
        let first = Types::parse(all.first(&of_file).expect("first types")).expect("types");
        assert_eq!((first.name(1), first.name(5), first.name(6)), (None, Some("file"), Some("file")));
    }

    #[test]
    fn what_is_no_btf_or_newer_than_this_is_left_to_libbpf() {
        assert!(Types::parse(Vec::new()).is_none());
        let unknown: Vec<u8> = types(&[ty(kind::INT, 0, 0, 4, &[0])], "\0").bytes;
        let unknown: Vec<u8> = unknown.iter().enumerate().map(|(at, byte)| if at == 31 { 31 } else { *byte }).collect();
        assert!(Types::parse(unknown).is_none());
    }

    /// Hooks name types by their numbers, and libbpf takes the members from here.
    #[test]
    fn each_family_finds_the_kernels_types_under_their_numbers() {
        let Ok(kernel) = Btf::from_vmlinux() else { return };
        for (family, _) in FAMILIES {
            let types = CoreTypes::of(family).expect("types");
            let first = Btf::from_path(types.path()).expect("libbpf reads them");
            assert!(first.len() < kernel.len() / 2, "{family}: {} of {}", first.len(), kernel.len());
            let (_, named) = NAMED.iter().find(|(name, _)| *name == family).expect("a row");
            for name in *named {
                let number = |btf: &Btf<'_>| Some(btf.type_by_name::<Struct<'_>>(name)?.type_id());
                assert_eq!(number(&first), number(&kernel), "{family} {name}");
                let number = |btf: &Btf<'_>| Some(btf.type_by_name::<Typedef<'_>>(name)?.type_id());
                assert_eq!(number(&first), number(&kernel), "{family} {name}");
            }
        }
    }
}
