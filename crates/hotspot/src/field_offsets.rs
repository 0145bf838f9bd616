//! Where a field of a Java class lies in its objects, by the class's own table of fields.
//!
//! Up to JDK 20 that is an array of 16-bit numbers, six for each field (`fieldInfo.hpp`); since then a stream of numbers of one to
//! five bytes (`fieldInfo.hpp`, `unsigned5.hpp`).

use crate::error::Result;
use crate::layout::{Description, Layout};
use crate::memory::{RemoteMemory, number_at, short, word_at, words_at};
use crate::names::symbols;
use crate::unsigned5::{Numbers, Packing};

/// Bytes of a table that are read at most; `Thread` has fewer than 512.
const MOST_BYTES: usize = 1 << 14;
/// Of a field in the array.
const ENTRY_BYTES: usize = 12;
/// Mark of fields that the JVM added itself, whose names are numbers of another table (JVM_ACC_FIELD_INTERNAL).
const IS_INJECTED: u16 = 0x400;
/// The lowest bits of an offset in the array are marks.
const MARK_BITS: u32 = 2;

/// Flags of a field in the stream.
const HAS_INITIAL_VALUE: u32 = 1;
const IS_INJECTED_IN_STREAM: u32 = 1 << 1;
const HAS_GENERIC_TYPE: u32 = 1 << 2;
const HAS_GROUP: u32 = 1 << 4;

/// Which form the table has, and where a class has it.
#[derive(Clone, Copy, Debug)]
enum TableForm {
    Array(u64),
    Stream(u64),
}

/// Where classes have their tables of fields.
#[derive(Clone, Copy, Debug)]
pub struct FieldTable {
    form: TableForm,
    constants: u64,
    /// Of the first element in an array of bytes, and of 16-bit numbers.
    first: u64,
}

impl FieldTable {
    /// As the JVM describes it.
    pub fn of(is: &Description) -> Result<Self> {
        let stream = is.offset("InstanceKlass::_fieldinfo_stream").map(TableForm::Stream);
        let form = stream.or_else(|_| is.offset("InstanceKlass::_fields").map(TableForm::Array))?;
        let first = is.offset("Array<u2>::_data").or_else(|_| is.offset("Array<u1>::_data"))?;
        Ok(Self { form, constants: is.offset("InstanceKlass::_constants")?, first })
    }

    /// The offset of the field called `name` in objects of `class`; `None` where it has none, or its table cannot be read.
    pub fn offset(&self, memory: &mut impl RemoteMemory, layout: &Layout, class: u64, name: &str) -> Option<u32> {
        let pool = word_at(memory, class.wrapping_add(self.constants));
        let fields = match self.form {
            TableForm::Array(at) => array_fields(&self.bytes(memory, class.wrapping_add(at), 2)),
            TableForm::Stream(at) => stream_fields(&self.bytes(memory, class.wrapping_add(at), 1)),
        };
        let entry = |(index, _): &(u32, u32)| pool.wrapping_add(layout.pool_bytes).wrapping_add(u64::from(*index) * 8);
        let entries: Vec<u64> = fields.iter().map(entry).collect();
        let names = words_at(memory, &entries, 0);
        let names = symbols(memory, layout, &names);
        let (_, &(_, offset)) = names.iter().zip(&fields).find(|(found, _)| *found == name)?;
        Some(offset)
    }

    /// The elements, of `size` bytes each, of the array to which the word at `place` leads.
    fn bytes(&self, memory: &mut impl RemoteMemory, place: u64, size: usize) -> Vec<u8> {
        let array = word_at(memory, place);
        let length = number_at(memory, array) as usize;
        memory.read_pieces(&[(array.wrapping_add(self.first), length.saturating_mul(size).min(MOST_BYTES))])
    }
}

/// Index of the name and offset, of each field of an array.
fn array_fields(bytes: &[u8]) -> Vec<(u32, u32)> {
    let own = bytes.chunks_exact(ENTRY_BYTES).filter(|entry| short(entry, 0) & IS_INJECTED == 0);
    let offset = |entry: &[u8]| (u32::from(short(entry, 10)) << 16 | u32::from(short(entry, 8))) >> MARK_BITS;
    own.map(|entry| (u32::from(short(entry, 2)), offset(entry))).collect()
}

/// The same of a stream.
fn stream_fields(bytes: &[u8]) -> Vec<(u32, u32)> {
    let mut numbers = Numbers::new(bytes, Packing::NoZero);
    let mut fields = Vec::new();
    // How many there are of the class, and of the JVM.
    if numbers.next().and(numbers.next()).is_none() {
        return fields;
    }
    while let Some((name, offset)) = stream_field(&mut numbers) {
        fields.extend((offset != u32::MAX).then_some((name, offset)));
    }
    fields
}

/// A field's name and offset; the maximum where the name is no constant of the class.
fn stream_field(numbers: &mut Numbers<'_>) -> Option<(u32, u32)> {
    let (name, _type_name, offset) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let (_access, flags) = (numbers.next()?, numbers.next()?);
    for flag in [HAS_INITIAL_VALUE, HAS_GENERIC_TYPE, HAS_GROUP] {
        if flags & flag != 0 {
            numbers.next()?;
        }
    }
    Some((name, if flags & IS_INJECTED_IN_STREAM != 0 { u32::MAX } else { offset }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_stream_may_have_more_numbers() {
        // Two fields: name 5, type 6, offset 12, access 2, an initial value; then name 7, type 8, offset 16, access 2, none.
        let bytes = [3, 1, 6, 7, 13, 3, 2, 40, 8, 9, 17, 3, 1, 0];
        assert_eq!(stream_fields(&bytes), [(5, 12), (7, 16)]);
        assert_eq!(stream_fields(&bytes[..10]), [(5, 12)]);
    }

    #[test]
    fn fields_of_the_jvm_itself_are_left_out_of_an_array() {
        let entry =
            |access: u16, name: u16, offset: u16| [access, name, 0, 0, offset << 2 | 1, 0].map(u16::to_le_bytes);
        let bytes = [entry(2, 5, 12), entry(IS_INJECTED, 9, 20)].concat().concat();
        assert_eq!(array_fields(&bytes), [(5, 12)]);
    }
}
