//! Scopes of functions, from the tree of the debug information: what a function that has no symbol of its own, because it
//! is inlined, is nested in.
//!
//! Compilers give functions that only their file sees, and what they inline, bare names: `run`, `operator()`. Namespaces,
//! classes and enclosing functions are their parents in the tree. Only units of languages with scopes are read, and of
//! these only those that the addresses lie in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use dwell_files::BoundedFile;
use gimli::{AttributeValue, DwTag, EndianSlice, LittleEndian, SectionId, UnitOffset};
use object::{Object, ObjectSection};

use crate::code::files::MOST_ELF_BYTES;

type Reader<'d> = EndianSlice<'d, LittleEndian>;
type Dwarf<'d> = gimli::Dwarf<Reader<'d>>;
type Unit<'d> = gimli::Unit<Reader<'d>>;
type Entry<'d> = gimli::DebuggingInformationEntry<Reader<'d>>;

/// Debug information beyond this is not read a second time for scopes.
const MOST_BYTES: u64 = 512 << 20;
/// Most scopes and functions of a unit that are looked at.
const MOST_NODES: usize = 4_000_000;
/// Longest name that is taken whole, with its scope or without.
const MOST_NAME_BYTES: usize = 4096;
/// Most ranges of addresses that are looked at, and addresses found in them, in one file.
const MOST_RANGES: usize = 20_000_000;
/// Most text of names that is told of one file.
const MOST_TEXT_BYTES: usize = 256 << 20;
/// Deepest nesting of scopes that is followed; a damaged tree may lead in circles.
const MOST_DEPTH: usize = 32;
const SECTIONS: &[SectionId] = &[
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine, // a unit is not read without its header there
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];
/// Languages without scopes.
const PLAIN_LANGUAGES: &[gimli::DwLang] = &[
    gimli::DW_LANG_C,
    gimli::DW_LANG_C89,
    gimli::DW_LANG_C99,
    gimli::DW_LANG_C11,
    gimli::DW_LANG_C17,
    gimli::DW_LANG_Mips_Assembler,
];

/// A function with its bare name and the one with its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedName {
    /// As the debug information spells it.
    pub name: String,
    /// With namespaces, classes and enclosing functions.
    pub qualified: String,
}

/// For each address the function that it lies in, then what is inlined there, outermost first; empty when the file does
/// not tell.
pub fn chains(path: &Path, addresses: &[u64]) -> Vec<Vec<ScopedName>> {
    let mut found = vec![Vec::new(); addresses.len()];
    // What was found before the damage is good.
    let _ = read(path, addresses, &mut found);
    found
}

fn read(path: &Path, addresses: &[u64], found: &mut [Vec<ScopedName>]) -> Option<()> {
    let bytes = BoundedFile::open(path, MOST_BYTES + MOST_ELF_BYTES).ok()?;
    let elf = object::File::parse(&bytes).ok()?;
    let size = |id: &SectionId| elf.section_by_name(id.name()).map_or(0, |section| bytes_of(&section));
    if SECTIONS.iter().map(size).fold(0, u64::saturating_add) > MOST_BYTES {
        return None;
    }
    let load = |id: SectionId| -> Result<Cow<'_, [u8]>, object::Error> {
        let section = elf.section_by_name(id.name()).filter(|_| SECTIONS.contains(&id));
        section.map_or(Ok(Cow::Borrowed(&[])), |section| section.uncompressed_data())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut budget = ScopeBudget { ranges: MOST_RANGES, text: MOST_TEXT_BYTES };
    let places = Places::new(addresses);
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let within = wanted(&dwarf, &unit, &places, &mut budget);
        if !within.is_empty() {
            let tree = Tree::read((&dwarf, &unit), &places, &within, &mut budget);
            tree.add_scopes(found, &mut budget);
        }
    }
    Some(())
}

/// What may still be done for a file: overlapping ranges and long names make small files large.
struct ScopeBudget {
    ranges: usize,
    text: usize,
}

/// The addresses to look up.
struct Places<'a> {
    addresses: &'a [u64],
    /// Their numbers, by address.
    order: Vec<usize>,
}

impl<'a> Places<'a> {
    fn new(addresses: &'a [u64]) -> Self {
        let mut order: Vec<usize> = (0..addresses.len()).collect();
        order.sort_by_key(|&number| addresses[number]);
        Self { addresses, order }
    }

    /// Those of `numbers`, which are by address, whose address lies in the ranges: each once, by address.
    fn covered(
        &self,
        ranges: impl Iterator<Item = gimli::Range>,
        numbers: &[usize],
        budget: &mut ScopeBudget,
    ) -> Vec<usize> {
        let mut seen: Vec<bool> = Vec::new();
        let mut count = 0;
        for range in ranges {
            let below = |address: u64| numbers.partition_point(|&number| self.addresses[number] < address);
            let (first, behind) = (below(range.begin), below(range.end));
            let work = 1 + behind.saturating_sub(first);
            if count == numbers.len() || budget.ranges < work {
                break;
            }
            budget.ranges -= work;
            if first < behind && seen.is_empty() {
                seen.resize(numbers.len(), false);
            }
            for seen in seen.get_mut(first..behind).unwrap_or_default() {
                count += usize::from(!*seen);
                *seen = true;
            }
        }
        numbers.iter().zip(seen).filter(|(_, seen)| *seen).map(|(number, _)| *number).collect()
    }
}

/// The ranges up to the first damaged one.
fn whole(mut ranges: gimli::RangeIter<Reader<'_>>) -> impl Iterator<Item = gimli::Range> {
    std::iter::from_fn(move || ranges.next().ok().flatten())
}

/// The size of a section when it is expanded.
fn bytes_of<'d>(section: &impl ObjectSection<'d>) -> u64 {
    section.compressed_file_range().map_or(u64::MAX, |range| range.uncompressed_size)
}

/// The numbers of the addresses in a unit of a language with scopes.
fn wanted(dwarf: &Dwarf<'_>, unit: &Unit<'_>, places: &Places<'_>, budget: &mut ScopeBudget) -> Vec<usize> {
    let mut entries = unit.entries();
    let Ok(Some(root)) = entries.next_dfs() else { return Vec::new() };
    if let Some(AttributeValue::Language(language)) = root.attr_value(gimli::DW_AT_language)
        && PLAIN_LANGUAGES.contains(&language)
    {
        return Vec::new();
    }
    let Some(ranges) = ranges_of(dwarf, unit, root) else { return Vec::new() };
    places.covered(whole(ranges), &places.order, budget)
}

/// The ranges of an entry; `None` where a length leads beyond the end of memory, since gimli adds it unchecked. A damaged entry
/// has the attributes several times: any length must fit behind any begin.
fn ranges_of<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>, entry: &Entry<'d>) -> Option<gimli::RangeIter<Reader<'d>>> {
    let (mut begin, mut length) = (0u64, 0u64);
    for attribute in entry.attrs() {
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_low_pc, value) => begin = begin.max(dwarf.attr_address(unit, value).ok()??),
            (gimli::DW_AT_high_pc, AttributeValue::Udata(value)) => length = length.max(value),
            _ => {}
        }
    }
    begin.checked_add(length)?;
    dwarf.die_ranges(unit, entry).ok()
}

/// A scope, or a function.
#[derive(Clone)]
struct Node<'d> {
    parent: Option<UnitOffset>,
    origin: Option<UnitOffset>,
    name: &'d [u8],
    tag: DwTag,
    /// Where it is declared; 0 = not told.
    line: u64,
}

/// The scopes of a unit, and the functions over each address.
#[derive(Default)]
struct Tree<'d> {
    nodes: HashMap<UnitOffset, Node<'d>>,
    /// Number of the address, and the function: callers before what is inlined into them.
    over: Vec<(usize, UnitOffset)>,
}

impl<'d> Tree<'d> {
    fn read(
        (dwarf, unit): (&Dwarf<'d>, &Unit<'d>),
        places: &Places<'_>,
        wanted: &[usize],
        budget: &mut ScopeBudget,
    ) -> Self {
        let mut tree = Self::default();
        let mut path: Vec<(isize, UnitOffset)> = Vec::new();
        // The function over some of the addresses that the walk is in: its depth, and their numbers.
        let mut inside: Option<(isize, Vec<usize>)> = None;
        let mut entries = unit.entries();
        while tree.nodes.len() < MOST_NODES
            && let Ok(Some(entry)) = entries.next_dfs()
        {
            let (tag, depth) = (entry.tag(), entry.depth());
            if !is_scope(tag) {
                continue;
            }
            while path.last().is_some_and(|&(above, _)| above >= depth) {
                path.pop();
            }
            if inside.as_ref().is_some_and(|&(above, _)| above >= depth) {
                inside = None;
            }
            let parent = path.last().map(|&(_, offset)| offset);
            path.push((depth, entry.offset()));
            let among = match (tag, &inside) {
                (gimli::DW_TAG_subprogram, None) => Some(wanted),
                (gimli::DW_TAG_inlined_subroutine, Some((_, numbers))) => Some(numbers.as_slice()),
                _ => None,
            };
            let ranges = among.and_then(|among| Some((among, ranges_of(dwarf, unit, entry)?)));
            let over = ranges.map(|(among, ranges)| places.covered(whole(ranges), among, budget)).unwrap_or_default();
            tree.over.extend(over.iter().map(|&number| (number, entry.offset())));
            if tag == gimli::DW_TAG_subprogram && !over.is_empty() {
                inside = Some((depth, over));
            }
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|value| dwarf.attr_string(unit, value).ok());
            let name = name.map(|name| cut(name.slice())).unwrap_or_default();
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
            let origin = origin.iter().find_map(|&attribute| offset_in(unit, entry.attr_value(attribute)?));
            let line =
                entry.attr_value(gimli::DW_AT_decl_line).and_then(|value| value.udata_value()).unwrap_or_default();
            tree.nodes.insert(entry.offset(), Node { parent, origin, name, tag, line });
        }
        tree
    }

    fn add_scopes(&self, found: &mut [Vec<ScopedName>], budget: &mut ScopeBudget) {
        for &(number, offset) in &self.over {
            let name = self.declaration(offset).map(|node| text(node.name).into_owned()).unwrap_or_default();
            let qualified = self.qualified(offset, b"", 0).unwrap_or_default();
            let Some(left) = budget.text.checked_sub(name.len() + qualified.len() + size_of::<ScopedName>()) else {
                return;
            };
            budget.text = left;
            found[number].push(ScopedName { name, qualified });
        }
    }

    /// Where a function is declared: there are its name and its scope.
    fn declaration(&self, mut offset: UnitOffset) -> Option<&Node<'d>> {
        for _ in 0..MOST_DEPTH {
            let node = self.nodes.get(&offset)?;
            match node.origin {
                Some(origin) => offset = origin,
                None => return Some(node),
            }
        }
        None
    }

    /// The name with its scope of what `inner` lies in.
    fn qualified(&self, offset: UnitOffset, inner: &[u8], depth: usize) -> Option<String> {
        if depth > MOST_DEPTH {
            return None;
        }
        let node = self.declaration(offset)?;
        let scope = node.parent.and_then(|parent| self.qualified(parent, node.name, depth + 1));
        let name = match (node.tag, node.name) {
            // Units and blocks are no scopes by themselves.
            (tag, _) if !has_name(tag) => return scope,
            (gimli::DW_TAG_namespace, b"") => "(anonymous namespace)".into(),
            // A lambda is a class; symbols say `{lambda(int)#1}`, the tree has neither the type nor the number, but the line.
            (_, b"") if inner == b"operator()" && node.line != 0 => format!("{{lambda:{}}}", node.line).into(),
            (_, b"") if inner == b"operator()" => "{lambda}".into(),
            (_, b"") => "(unnamed)".into(),
            (_, name) => text(name),
        };
        match scope {
            Some(scope) if scope.len() + name.len() > MOST_NAME_BYTES => None,
            Some(scope) => Some(format!("{scope}::{name}")),
            None => Some(name.into_owned()),
        }
    }
}

fn cut(name: &[u8]) -> &[u8] {
    name.get(..MOST_NAME_BYTES).unwrap_or(name)
}

fn text(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(name)
}

fn is_scope(tag: DwTag) -> bool {
    has_name(tag)
        || matches!(
            tag,
            gimli::DW_TAG_compile_unit
                | gimli::DW_TAG_partial_unit
                | gimli::DW_TAG_lexical_block
                | gimli::DW_TAG_inlined_subroutine
        )
}

fn has_name(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_module
            | gimli::DW_TAG_subprogram
    )
}

/// An offset within this unit.
fn offset_in(unit: &Unit<'_>, value: AttributeValue<Reader<'_>>) -> Option<UnitOffset> {
    match value {
        AttributeValue::UnitRef(offset) => Some(offset),
        AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_has_no_scopes() {
        assert_eq!(chains(Path::new("/etc/passwd"), &[1]), [Vec::new()]);
        assert_eq!(chains(Path::new("/none"), &[1]), [Vec::new()]);
    }

    #[test]
    fn overlapping_ranges_count_once() {
        let places = Places::new(&[30, 10, 20, 90]);
        let ranges = |count: usize| (0..count).map(|number| gimli::Range { begin: 10 + number as u64 % 2, end: 31 });
        let mut budget = ScopeBudget { ranges: 1000, text: 0 };
        assert_eq!(places.covered(ranges(100), &places.order, &mut budget), [1, 2, 0]);
        let before = budget.ranges;
        assert_eq!(places.covered(ranges(usize::MAX), &[2, 0], &mut budget), [2, 0]);
        assert_eq!(before - budget.ranges, 3, "it ends when all are in");
        assert_eq!(places.covered(ranges(usize::MAX), &places.order, &mut budget), [1, 2, 0], "or when it is too much");
        assert!(budget.ranges < 4);
        let backwards = [gimli::Range { begin: 40, end: 5 }];
        assert!(places.covered(backwards.into_iter(), &places.order, &mut budget).is_empty());
    }

    #[test]
    fn names_without_bound_are_not_told() {
        let node =
            Node { parent: None, origin: None, name: cut(&[b'x'; 9999]), tag: gimli::DW_TAG_subprogram, line: 0 };
        let inner = Node { parent: Some(UnitOffset(1)), ..node.clone() };
        let over = vec![(0, UnitOffset(1)), (0, UnitOffset(2)), (0, UnitOffset(2))];
        let tree = Tree { nodes: HashMap::from([(UnitOffset(1), node), (UnitOffset(2), inner)]), over };
        let mut found = vec![Vec::new()];
        tree.add_scopes(&mut found, &mut ScopeBudget { ranges: 0, text: 3 * MOST_NAME_BYTES + 200 });
        let lengths: Vec<_> = found[0].iter().map(|scoped| (scoped.name.len(), scoped.qualified.len())).collect();
        assert_eq!(lengths, [(MOST_NAME_BYTES, MOST_NAME_BYTES), (MOST_NAME_BYTES, 0)]);
    }

    #[test]
    fn circles_end() {
        let node = |parent: usize| Node {
            parent: Some(UnitOffset(parent)),
            origin: None,
            name: b"f".as_slice(),
            tag: gimli::DW_TAG_subprogram,
            line: 0,
        };
        let tree =
            Tree { nodes: HashMap::from([(UnitOffset(1), node(2)), (UnitOffset(2), node(1))]), over: Vec::new() };
        assert!(tree.qualified(UnitOffset(1), b"", 0).is_some_and(|name| name.len() < 200));
        let circle = Node { origin: Some(UnitOffset(3)), ..node(3) };
        let tree = Tree { nodes: HashMap::from([(UnitOffset(3), circle)]), over: Vec::new() };
        assert_eq!(tree.qualified(UnitOffset(3), b"", 0), None);
    }
}
