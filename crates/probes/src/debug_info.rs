//! The debug information of a file: finds it, and reads entries of its tree with what they refer to. Whatever is damaged is missing.

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;

use dwell_files::{has_debug_info, section_data};
use gimli::{AttributeValue, DwAt, DwTag, EndianSlice, LittleEndian, SectionId, UnitOffset};
use object::{Object as _, ObjectSection as _};

use crate::debug_files::separate_file;
use crate::elf::{Data, Elf};

pub(crate) type Reader<'d> = EndianSlice<'d, LittleEndian>;
pub(crate) type Entry<'d> = gimli::DebuggingInformationEntry<Reader<'d>>;
type Unit<'d> = gimli::Unit<Reader<'d>>;

/// Debug information beyond this is not read.
const MOST_BYTES: u64 = 1 << 30;
/// Most entries of one file that are looked at for one thing.
const MOST_ENTRIES: usize = 40_000_000;
/// Most children of an entry that are looked at.
const MOST_CHILDREN: usize = 20_000;
/// Longest chain of references; a damaged tree may lead in circles.
const MOST_LINKS: usize = 32;
const SECTIONS: [SectionId; 11] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine, // a unit is not read without its header there
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// The tree of a file.
pub(crate) struct DebugInfo<'d> {
    dwarf: gimli::Dwarf<Reader<'d>>,
    headers: Vec<gimli::UnitHeader<Reader<'d>>>,
}

/// An entry of the tree.
#[derive(Clone)]
pub(crate) struct Node<'d> {
    unit: Rc<Unit<'d>>,
    offset: UnitOffset,
}

/// Does `work` with the debug information of `elf`, which lies at `path`; `None` when there is none.
pub(crate) fn with<T>(path: &Path, elf: &Elf<'_>, work: impl FnOnce(&DebugInfo<'_>) -> T) -> Option<T> {
    if has_debug_info(&elf.file) {
        return read(elf, work);
    }
    let file = separate_file(path, elf)?;
    let data = Data::open(&file).ok()?;
    let elf = Elf::parse(&data, &file).ok().filter(|elf| has_debug_info(&elf.file))?;
    read(&elf, work)
}

fn read<T>(elf: &Elf<'_>, work: impl FnOnce(&DebugInfo<'_>) -> T) -> Option<T> {
    let size = |id: &SectionId| {
        let section = elf.file.section_by_name(id.name());
        let range = section.map(|section| section.compressed_file_range().map(|range| range.uncompressed_size));
        range.map_or(0, |size| size.unwrap_or(u64::MAX))
    };
    if SECTIONS.iter().map(size).fold(0, u64::saturating_add) > MOST_BYTES {
        return None;
    }
    let load = |id: SectionId| -> Result<Cow<'_, [u8]>, ()> {
        let section = elf.file.section_by_name(id.name()).filter(|_| SECTIONS.contains(&id));
        section.map_or(Ok(Cow::Borrowed(&[])), |section| section_data(&section).ok_or(()))
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        headers.push(header);
    }
    Some(work(&DebugInfo { dwarf, headers }))
}

impl<'d> DebugInfo<'d> {
    fn unit(&self, header: &gimli::UnitHeader<Reader<'d>>) -> Option<Rc<Unit<'d>>> {
        self.dwarf.unit(*header).ok().map(Rc::new)
    }

    pub fn entry(&self, node: &Node<'d>) -> Option<Entry<'d>> {
        node.unit.entry(node.offset).ok()
    }

    pub fn tag(&self, node: &Node<'d>) -> Option<DwTag> {
        self.entry(node).map(|entry| entry.tag())
    }

    /// The entry that this attribute of `node` itself leads to.
    fn link(&self, node: &Node<'d>, attribute: DwAt) -> Option<Node<'d>> {
        match self.entry(node)?.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(Node { unit: Rc::clone(&node.unit), offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let header = self.headers.iter().find(|header| offset.to_unit_offset(header).is_some())?;
                Some(Node { unit: self.unit(header)?, offset: offset.to_unit_offset(header)? })
            }
            _ => None,
        }
    }

    /// The node and what it is an instance of.
    fn origins(&self, node: &Node<'d>) -> Vec<Node<'d>> {
        let mut nodes = vec![node.clone()];
        while let Some(last) = nodes.last().filter(|_| nodes.len() < MOST_LINKS) {
            let origin = self.link(last, gimli::DW_AT_abstract_origin);
            let Some(origin) = origin.or_else(|| self.link(last, gimli::DW_AT_specification)) else { break };
            nodes.push(origin);
        }
        nodes
    }

    /// What it is called, there or where it is an instance of.
    pub fn name(&self, node: &Node<'d>) -> Option<String> {
        let own = |node: &Node<'d>| {
            let value = self.entry(node)?.attr_value(gimli::DW_AT_name)?;
            let name = self.dwarf.attr_string(&node.unit, value).ok()?;
            Some(String::from_utf8_lossy(name.slice()).into_owned())
        };
        self.origins(node).iter().find_map(own)
    }

    /// The type that it has, there or where it is an instance of; without qualifiers and other names. `None` = void.
    pub fn type_of(&self, node: &Node<'d>) -> Option<Node<'d>> {
        let mut ty = self.origins(node).iter().find_map(|node| self.link(node, gimli::DW_AT_type))?;
        for _ in 0..MOST_LINKS {
            match self.tag(&ty)? {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => ty = self.link(&ty, gimli::DW_AT_type)?,
                _ => return Some(ty),
            }
        }
        None
    }

    /// A number of the entry itself.
    pub fn number(&self, node: &Node<'d>, attribute: DwAt) -> Option<u64> {
        self.entry(node)?.attr(attribute)?.raw_value().udata_value()
    }

    /// The same with a sign.
    pub fn signed_number(&self, node: &Node<'d>, attribute: DwAt) -> Option<i64> {
        self.entry(node)?.attr(attribute)?.raw_value().sdata_value()
    }

    /// The entries right below it.
    pub fn children(&self, node: &Node<'d>) -> Vec<Node<'d>> {
        let mut found = Vec::new();
        let Ok(mut entries) = node.unit.entries_at_offset(node.offset) else { return found };
        let Ok(Some(own)) = entries.next_dfs() else { return found };
        let depth = own.depth();
        for _ in 0..MOST_ENTRIES {
            let Ok(Some(entry)) = entries.next_dfs() else { break };
            if entry.depth() <= depth || found.len() >= MOST_CHILDREN {
                break;
            }
            if entry.depth() == depth + 1 {
                found.push(Node { unit: Rc::clone(&node.unit), offset: entry.offset() });
            }
        }
        found
    }

    /// The function whose code begins at link-time address `address`.
    pub fn function(&self, address: u64) -> Option<Node<'d>> {
        let mut left = MOST_ENTRIES;
        for header in &self.headers {
            let Some(unit) = self.unit(header) else { continue };
            let is_it = |entry: &Entry<'d>| {
                entry.tag() == gimli::DW_TAG_subprogram && self.begins(&unit, entry) == Some(address)
            };
            if self.covers(&unit, address)
                && let Some(offset) = first(&unit, &mut left, is_it)
            {
                return Some(Node { unit, offset });
            }
        }
        None
    }

    /// The whole definition of a type that `node` only declares.
    pub fn definition(&self, node: &Node<'d>) -> Option<Node<'d>> {
        if self.entry(node)?.attr_value(gimli::DW_AT_declaration).is_none() {
            return Some(node.clone());
        }
        let (tag, name) = (self.tag(node)?, self.name(node)?);
        let mut left = MOST_ENTRIES;
        self.headers.iter().filter_map(|header| self.unit(header)).find_map(|unit| {
            let is_it = |entry: &Entry<'d>| {
                let named = || self.dwarf.attr_string(&unit, entry.attr_value(gimli::DW_AT_name)?).ok();
                entry.tag() == tag
                    && entry.attr_value(gimli::DW_AT_declaration).is_none()
                    && named().is_some_and(|own| own.slice() == name.as_bytes())
            };
            let offset = first(&unit, &mut left, is_it)?;
            Some(Node { unit, offset })
        })
    }

    fn begins(&self, unit: &Unit<'d>, entry: &Entry<'d>) -> Option<u64> {
        if let Some(low) = entry.attr_value(gimli::DW_AT_low_pc) {
            return self.dwarf.attr_address(unit, low).ok().flatten();
        }
        // What is split has its entry in the first range.
        let mut ranges = self.dwarf.attr_ranges(unit, entry.attr_value(gimli::DW_AT_ranges)?).ok()??;
        ranges.next().ok().flatten().map(|range| range.begin)
    }

    /// Whether the unit's code has this address, or it does not tell.
    fn covers(&self, unit: &Unit<'d>, address: u64) -> bool {
        let Ok(root) = unit.entry(unit.header.root_offset()) else { return false };
        let ranges = root.attr_value(gimli::DW_AT_ranges).and_then(|value| self.dwarf.attr_ranges(unit, value).ok());
        if let Some(mut ranges) = ranges.flatten() {
            while let Ok(Some(range)) = ranges.next() {
                if (range.begin..range.end).contains(&address) {
                    return true;
                }
            }
            return false;
        }
        let address_of = |attribute| self.dwarf.attr_address(unit, root.attr_value(attribute)?).ok().flatten();
        let Some(low) = address_of(gimli::DW_AT_low_pc) else { return true };
        let length = root.attr_value(gimli::DW_AT_high_pc).and_then(|value| value.udata_value());
        let high = length.and_then(|length| low.checked_add(length)).or_else(|| address_of(gimli::DW_AT_high_pc));
        high.is_none_or(|high| (low..high).contains(&address))
    }

    /// Where a parameter lies when `address`, the function's first instruction, is to run, as far as that is one operation; and
    /// whether that is told of this instruction: what is told of the whole function can hold only once its frame is set up.
    pub fn location(&self, node: &Node<'d>, address: u64) -> Option<(gimli::Operation<Reader<'d>>, bool)> {
        let value = self.entry(node)?.attr_value(gimli::DW_AT_location)?;
        let is_exact = !matches!(value, AttributeValue::Exprloc(_));
        Some((self.only_operation(node, value, address)?, is_exact))
    }

    /// What offsets of a function's frame count from.
    pub fn frame_base(&self, function: &Node<'d>, address: u64) -> Option<gimli::Operation<Reader<'d>>> {
        let value = self.entry(function)?.attr_value(gimli::DW_AT_frame_base)?;
        self.only_operation(function, value, address)
    }

    fn only_operation(
        &self,
        node: &Node<'d>,
        value: AttributeValue<Reader<'d>>,
        address: u64,
    ) -> Option<gimli::Operation<Reader<'d>>> {
        let expression = match value {
            AttributeValue::Exprloc(expression) => expression,
            value => {
                let mut list = self.dwarf.attr_locations(&node.unit, value).ok()??;
                loop {
                    let entry = list.next().ok()??;
                    if (entry.range.begin..entry.range.end).contains(&address) {
                        break entry.data;
                    }
                }
            }
        };
        let mut operations = expression.operations(node.unit.encoding());
        let only = operations.next().ok()??;
        operations.next().ok()?.is_none().then_some(only)
    }
}

/// The first entry of the unit that `is_it`.
fn first<'d>(unit: &Unit<'d>, left: &mut usize, is_it: impl Fn(&Entry<'d>) -> bool) -> Option<UnitOffset> {
    let mut entries = unit.entries();
    while *left > 0 {
        *left -= 1;
        let entry = entries.next_dfs().ok()??;
        if is_it(entry) {
            return Some(entry.offset());
        }
    }
    None
}
