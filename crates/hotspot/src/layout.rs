//! Where the parts of a JVM's structures lie that lead to its code, as this build of it says.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::memory::RemoteMemory;
use crate::tables::{Field, fields, sizes};

/// What libjvm.so exports and a reader must find: first the table of fields, then that of types.
pub const EXPORTS: [&str; 12] = [
    "gHotSpotVMStructs",
    "gHotSpotVMStructEntryArrayStride",
    "gHotSpotVMStructEntryTypeNameOffset",
    "gHotSpotVMStructEntryFieldNameOffset",
    "gHotSpotVMStructEntryTypeStringOffset",
    "gHotSpotVMStructEntryIsStaticOffset",
    "gHotSpotVMStructEntryOffsetOffset",
    "gHotSpotVMStructEntryAddressOffset",
    "gHotSpotVMTypes",
    "gHotSpotVMTypeEntryArrayStride",
    "gHotSpotVMTypeEntryTypeNameOffset",
    "gHotSpotVMTypeEntrySizeOffset",
];
/// How many of them are of the table of fields.
const OF_FIELDS: usize = 8;
/// No offset in a structure that is read is larger.
const MOST_OFFSET: u64 = 4096;

/// Where a blob's code begins.
#[derive(Clone, Copy, Debug)]
pub enum CodeBegin {
    /// Offset of a field that has the address (to JDK 22).
    Address(u64),
    /// Offset of a field that has the distance from the blob (since JDK 23).
    Distance(u64),
}

/// A block of a heap: a header, then the blob.
#[derive(Clone, Copy, Debug)]
pub struct BlobLayout {
    /// Bytes of the block's header.
    pub block_bytes: u64,
    /// Of the mark in that header that the block is used.
    pub used: u64,
    /// Of the pointer to the blob's kind, a C string.
    pub name: u64,
    pub size: u64,
    pub frame_words: u64,
    pub frame_complete: u64,
    /// Whether that is a number of 16 bits (since JDK 23).
    pub frame_complete_is_short: bool,
    pub code_begin: CodeBegin,
    /// Of the method in a blob that is a compiled one.
    pub method: u64,
}

/// Offsets in bytes, but for `heaps`.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Address of the pointer to the array of heaps.
    pub heaps: u64,
    pub array_length: u64,
    pub array_data: u64,
    pub heap_memory: u64,
    pub heap_segments: u64,
    pub heap_segment_shift: u64,
    pub space_low: u64,
    pub space_high: u64,
    pub blob: BlobLayout,
    pub method_constant: u64,
    pub constant_pool: u64,
    pub constant_name: u64,
    /// Bytes of a pool's header, behind which its entries lie.
    pub pool_bytes: u64,
    pub pool_holder: u64,
    pub class_name: u64,
    pub symbol_length: u64,
    pub symbol_body: u64,
}

/// What the JVM says of itself.
pub struct Description {
    fields: HashMap<String, Field>,
    sizes: HashMap<String, u64>,
}

impl Description {
    /// Reads it. `exports`: the addresses of [`EXPORTS`], in their order.
    pub fn read(memory: &mut impl RemoteMemory, exports: &[u64; EXPORTS.len()]) -> Result<Self> {
        let (of_fields, of_types) = exports.split_at(OF_FIELDS);
        Ok(Self { fields: fields(memory, of_fields)?, sizes: sizes(memory, of_types)? })
    }

    /// A field; its place is an address if it is a static one.
    pub fn field(&self, name: &'static str) -> Result<&Field> {
        self.fields.get(name).ok_or(Error::Undescribed { name })
    }

    /// Where a field lies in its structure.
    pub fn offset(&self, name: &'static str) -> Result<u64> {
        let offset = self.field(name)?.place;
        if offset > MOST_OFFSET { Err(Error::Implausible { what: name }) } else { Ok(offset) }
    }

    /// Bytes of a structure.
    pub fn size(&self, name: &'static str) -> Result<u64> {
        let size = *self.sizes.get(name).ok_or(Error::Undescribed { name })?;
        if (1..=MOST_OFFSET).contains(&size) { Ok(size) } else { Err(Error::Implausible { what: name }) }
    }

    fn blob(&self) -> Result<BlobLayout> {
        let code_begin = match self.offset("CodeBlob::_code_begin") {
            Ok(offset) => CodeBegin::Address(offset),
            Err(_) => CodeBegin::Distance(self.offset("CodeBlob::_code_offset")?),
        };
        let frame_complete = self.field("CodeBlob::_frame_complete_offset")?;
        Ok(BlobLayout {
            block_bytes: self.size("HeapBlock")?,
            used: self.offset("HeapBlock::_header")? + self.offset("HeapBlock::Header::_used")?,
            name: self.offset("CodeBlob::_name")?,
            size: self.offset("CodeBlob::_size")?,
            frame_words: self.offset("CodeBlob::_frame_size")?,
            frame_complete: self.offset("CodeBlob::_frame_complete_offset")?,
            frame_complete_is_short: frame_complete.type_name.contains("16"),
            code_begin,
            method: self.offset("CompiledMethod::_method").or_else(|_| self.offset("nmethod::_method"))?,
        })
    }
}

impl Layout {
    /// As the JVM describes it.
    pub fn of(is: &Description) -> Result<Self> {
        Ok(Self {
            heaps: is.field("CodeCache::_heaps")?.place,
            array_length: is.offset("GrowableArrayBase::_len")?,
            array_data: is.offset("GrowableArray<int>::_data")?,
            heap_memory: is.offset("CodeHeap::_memory")?,
            heap_segments: is.offset("CodeHeap::_segmap")?,
            heap_segment_shift: is.offset("CodeHeap::_log2_segment_size")?,
            space_low: is.offset("VirtualSpace::_low")?,
            space_high: is.offset("VirtualSpace::_high")?,
            blob: is.blob()?,
            method_constant: is.offset("Method::_constMethod")?,
            constant_pool: is.offset("ConstMethod::_constants")?,
            constant_name: is.offset("ConstMethod::_name_index")?,
            pool_bytes: is.size("ConstantPool")?,
            pool_holder: is.offset("ConstantPool::_pool_holder")?,
            class_name: is.offset("Klass::_name")?,
            symbol_length: is.offset("Symbol::_length")?,
            symbol_body: is.offset("Symbol::_body")?,
        })
    }
}
