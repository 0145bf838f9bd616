//! Scopes of functions, from the tree of the debug information: what a function that has no symbol of its own, because it
//! is inlined, is nested in.
//!
//! Compilers give functions that only their file sees, and what they inline, bare names: `run`, `operator()`. Namespaces,
//! classes and enclosing functions are their parents in the tree. Only units of languages with scopes are read, and of
//! these only those that the addresses lie in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use gimli::{AttributeValue, DwTag, EndianSlice, LittleEndian, SectionId, UnitOffset};
use object::read::ReadCache;
use object::{Object, ObjectSection};

type Reader<'d> = EndianSlice<'d, LittleEndian>;
type Dwarf<'d> = gimli::Dwarf<Reader<'d>>;
type Unit<'d> = gimli::Unit<Reader<'d>>;

/// Debug information beyond this is not read a second time for scopes.
const MOST_BYTES: u64 = 512 << 20;
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
pub struct Scoped {
    /// As the debug information spells it.
    pub name: String,
    /// With namespaces, classes and enclosing functions.
    pub qualified: String,
}

/// For each address the function that it lies in, then what is inlined there, outermost first; empty when the file does
/// not tell.
pub fn chains(path: &Path, addresses: &[u64]) -> Vec<Vec<Scoped>> {
    let mut found = vec![Vec::new(); addresses.len()];
    // What was found before the damage is good.
    let _ = read(path, addresses, &mut found);
    found
}

fn read(path: &Path, addresses: &[u64], found: &mut [Vec<Scoped>]) -> Option<()> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = object::File::parse(&cache).ok()?;
    let bytes = |id: &SectionId| elf.section_by_name(id.name()).map_or(0, |section| bytes_of(&section));
    if SECTIONS.iter().map(bytes).fold(0, u64::saturating_add) > MOST_BYTES {
        return None;
    }
    let load = |id: SectionId| -> Result<Cow<'_, [u8]>, object::Error> {
        let section = elf.section_by_name(id.name()).filter(|_| SECTIONS.contains(&id));
        section.map_or(Ok(Cow::Borrowed(&[])), |section| section.uncompressed_data())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let within = wanted(&dwarf, &unit, addresses);
        if !within.is_empty() {
            let tree = Tree::read(&dwarf, &unit, addresses, &within);
            tree.tell(found);
        }
    }
    Some(())
}

/// The size of a section when it is expanded.
fn bytes_of<'d>(section: &impl ObjectSection<'d>) -> u64 {
    section.compressed_file_range().map_or(u64::MAX, |range| range.uncompressed_size)
}

/// The numbers of the addresses in a unit of a language with scopes.
fn wanted(dwarf: &Dwarf<'_>, unit: &Unit<'_>, addresses: &[u64]) -> Vec<usize> {
    let mut entries = unit.entries();
    let Ok(Some(root)) = entries.next_dfs() else { return Vec::new() };
    if let Some(AttributeValue::Language(language)) = root.attr_value(gimli::DW_AT_language)
        && PLAIN_LANGUAGES.contains(&language)
    {
        return Vec::new();
    }
    let Ok(ranges) = dwarf.unit_ranges(unit) else { return Vec::new() };
    let all: Vec<usize> = (0..addresses.len()).collect();
    covered(ranges, addresses, &all)
}

/// Those of `numbers` whose address lies in the ranges.
fn covered(mut ranges: gimli::RangeIter<Reader<'_>>, addresses: &[u64], numbers: &[usize]) -> Vec<usize> {
    let mut inside = Vec::new();
    while let Ok(Some(range)) = ranges.next() {
        inside.extend(numbers.iter().filter(|&&number| (range.begin..range.end).contains(&addresses[number])));
    }
    inside
}

/// A scope, or a function.
#[derive(Clone)]
struct Node {
    parent: Option<UnitOffset>,
    origin: Option<UnitOffset>,
    name: String,
    tag: DwTag,
}

/// The scopes of a unit, and the functions over each address.
#[derive(Default)]
struct Tree {
    nodes: HashMap<UnitOffset, Node>,
    /// Number of the address, and the function: callers before what is inlined into them.
    over: Vec<(usize, UnitOffset)>,
}

impl Tree {
    fn read(dwarf: &Dwarf<'_>, unit: &Unit<'_>, addresses: &[u64], wanted: &[usize]) -> Self {
        let mut tree = Self::default();
        let mut path: Vec<(isize, UnitOffset)> = Vec::new();
        // The function over some of the addresses that the walk is in: its depth, and their numbers.
        let mut inside: Option<(isize, Vec<usize>)> = None;
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
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
            let ranges = among.and_then(|among| Some((among, dwarf.die_ranges(unit, entry).ok()?)));
            let over = ranges.map(|(among, ranges)| covered(ranges, addresses, among)).unwrap_or_default();
            tree.over.extend(over.iter().map(|&number| (number, entry.offset())));
            if tag == gimli::DW_TAG_subprogram && !over.is_empty() {
                inside = Some((depth, over));
            }
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|value| dwarf.attr_string(unit, value).ok());
            let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
            let origin = origin.iter().find_map(|&attribute| offset_in(unit, entry.attr_value(attribute)?));
            tree.nodes.insert(entry.offset(), Node { parent, origin, name, tag });
        }
        tree
    }

    fn tell(&self, found: &mut [Vec<Scoped>]) {
        for &(number, offset) in &self.over {
            let name = self.declaration(offset).map(|node| node.name.clone()).unwrap_or_default();
            let qualified = self.qualified(offset, "", 0).unwrap_or_default();
            found[number].push(Scoped { name, qualified });
        }
    }

    /// Where a function is declared: there are its name and its scope.
    fn declaration(&self, mut offset: UnitOffset) -> Option<&Node> {
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
    fn qualified(&self, offset: UnitOffset, inner: &str, depth: usize) -> Option<String> {
        if depth > MOST_DEPTH {
            return None;
        }
        let node = self.declaration(offset)?;
        let scope = node.parent.and_then(|parent| self.qualified(parent, &node.name, depth + 1));
        let name = match (node.tag, node.name.as_str()) {
            // What is no scope by itself: a unit, a block.
            (tag, _) if !has_name(tag) => return scope,
            (gimli::DW_TAG_namespace, "") => "(anonymous namespace)".into(),
            // A lambda is a class; symbols say `{lambda(int)#1}`, of which the tree tells neither.
            (_, "") if inner == "operator()" => "{lambda}".into(),
            (_, "") => "(unnamed)".into(),
            (_, name) => name.to_owned(),
        };
        Some(scope.map_or(name.clone(), |scope| format!("{scope}::{name}")))
    }
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
    fn circles_end() {
        let node = |parent: usize| Node {
            parent: Some(UnitOffset(parent)),
            origin: None,
            name: "f".into(),
            tag: gimli::DW_TAG_subprogram,
        };
        let tree =
            Tree { nodes: HashMap::from([(UnitOffset(1), node(2)), (UnitOffset(2), node(1))]), over: Vec::new() };
        assert!(tree.qualified(UnitOffset(1), "", 0).is_some_and(|name| name.len() < 200));
        let circle = Node { origin: Some(UnitOffset(3)), ..node(3) };
        let tree = Tree { nodes: HashMap::from([(UnitOffset(3), circle)]), over: Vec::new() };
        assert_eq!(tree.qualified(UnitOffset(3), "", 0), None);
    }
}
