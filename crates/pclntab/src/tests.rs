use super::*;

const TEXT: u64 = 0x40_1000;

/// A table of two functions of 64 bytes: `main.first` in `a.go`, whose second half is line 12, and `main.second`.
fn table() -> Vec<u8> {
    let mut bytes = MAGIC_1_20.to_le_bytes().to_vec();
    bytes.extend([0, 0, 1, 8]);
    let (names, units, files, values) = (72_u64, 100_u64, 104_u64, 112_u64);
    let functions = 128_u64;
    for word in [2, 1, TEXT, names, units, files, values, functions] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(b"main.first\0main.second\0");
    bytes.resize(100, 0);
    bytes.extend(0_u32.to_le_bytes()); // the unit's only file
    bytes.extend(b"a.go\0");
    bytes.resize(112, 0);
    bytes.extend([0, 2, 64, 0, 22, 32, 4, 32, 0]); // at 1: file 0; at 4: line 10, then 12
    bytes.resize(128, 0);
    let place = |number: u32| 20 + 44 * number;
    for (start, number) in [(0_u32, 0), (64, 1)] {
        bytes.extend(start.to_le_bytes());
        bytes.extend(place(number).to_le_bytes());
    }
    bytes.extend(128_u32.to_le_bytes());
    for (start, name) in [(0_u32, 0_u32), (64, 11)] {
        for field in [start, name, 0, 0, 0, 1, 4, 0, 0, 0, 0] {
            bytes.extend(field.to_le_bytes());
        }
    }
    bytes
}

/// Name, file and line at an address.
fn found(bytes: &[u8], address: u64) -> Option<(String, String, i32)> {
    let table = FunctionTable::parse(bytes, || None)?;
    let function = table.function_at(address)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let file = table.file_at(function, address, 100).map(text).unwrap_or_default();
    Some((text(table.name(function, 100)?), file, table.value_at(function, CodeValue::Line, address).unwrap_or(0)))
}

#[test]
fn functions_have_names_files_and_lines() {
    let bytes = table();
    let first = |line| Some(("main.first".to_owned(), "a.go".to_owned(), line));
    assert_eq!((found(&bytes, TEXT), found(&bytes, TEXT + 40)), (first(10), first(12)));
    assert_eq!(found(&bytes, TEXT + 64).unwrap().0, "main.second");
    assert_eq!((found(&bytes, TEXT + 128), found(&bytes, TEXT - 1)), (None, None));
}

#[test]
fn damaged_tables_cost_no_more_than_their_names() {
    let look = |bytes: &[u8]| (0..200).for_each(|offset| _ = found(bytes, TEXT + offset));
    for at in 0..table().len() {
        for value in [0, 0xff] {
            let mut bytes = table();
            bytes[at] = value;
            look(&bytes);
        }
    }
    (0..table().len()).for_each(|end| look(&table()[..end]));
}

#[test]
fn flags_are_where_the_version_has_them() {
    let flags_of = |magic: u32, at: usize| {
        let mut bytes = table();
        bytes[..4].copy_from_slice(&magic.to_le_bytes());
        bytes[128 + 20 + at] = 7;
        let table = FunctionTable::parse(&bytes, || None).unwrap();
        table.flags(table.function(0).unwrap()).unwrap()
    };
    assert_eq!((flags_of(MAGIC_1_18, 37), flags_of(MAGIC_1_20, 41)), (7, 7));
    assert_eq!((flags_of(MAGIC_1_18, 41), flags_of(MAGIC_1_20, 37)), (0, 0));
}

#[test]
fn numbers_have_seven_bits_a_byte() {
    let mut at = 0;
    assert_eq!(varint(&[0x85, 0x02, 7], &mut at), Some(0x105));
    assert_eq!((varint(&[0x85, 0x02, 7], &mut at), at), (Some(7), 3));
    assert_eq!(varint(&[0xff; 8], &mut 0), None);
    assert_eq!(varint(&[0x80], &mut 0), None);
}
