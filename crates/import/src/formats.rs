//! Where the fields of tracepoints lie: the section of a perf.data that `perf record` copies from tracefs
//! (tools/perf/util/trace-event-info.c).

use std::collections::HashMap;

use crate::cursor::Cursor;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// More systems or events are not taken.
const MOST_FORMATS: u32 = 100_000;

/// Where a field lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    bytes: usize,
}

impl Field {
    /// Its number in a record's raw bytes: 1, 2, 4 or 8 bytes.
    pub fn number(self, raw: &[u8]) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.bytes)?)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }
}

/// A tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// `sched_switch`.
    pub name: String,
    fields: HashMap<String, Field>,
}

impl Format {
    /// Parses the text of tracefs's file `format`; its number and itself.
    fn parse(text: &str) -> Option<(u64, Self)> {
        let (mut number, mut format) = (None, Self::default());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("name: ") {
                name.clone_into(&mut format.name);
            } else if let Some(id) = line.strip_prefix("ID: ") {
                number = id.trim().parse().ok();
            } else if let Some((name, field)) = field(line) {
                format.fields.insert(name, field);
            }
        }
        Some((number?, format))
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

/// `field:char prev_comm[16]; offset:8; size:16; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let name = parts.next()?.rsplit([' ', '*']).next()?.split('[').next()?;
    let (mut offset, mut bytes) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => offset = number.parse().ok(),
            Some(("size", number)) => bytes = number.parse().ok(),
            _ => {}
        }
    }
    Some((name.to_owned(), Field { offset: offset?, bytes: bytes? }))
}

/// The formats of a file, by the number that events carry.
#[derive(Clone, Debug, Default)]
pub struct Formats(HashMap<u64, Format>);

impl Formats {
    /// Parses the section; as many formats as are whole.
    pub fn parse(section: &[u8]) -> Self {
        let mut found = Self::default();
        let _ = found.read(section); // a cut section has the formats before the cut
        found
    }

    fn read(&mut self, section: &[u8]) -> Option<()> {
        let mut cursor = Cursor(section.strip_prefix(MAGIC)?);
        cursor.text()?; // the version
        cursor.bytes(1 + 1 + 4)?; // order of bytes, size of a long, size of a page
        for _ in ["header_page", "header_event"] {
            cursor.text()?;
            let length = cursor.length()?;
            cursor.bytes(length)?;
        }
        self.read_system(&mut cursor)?;
        for _ in 0..cursor.u32()?.min(MOST_FORMATS) {
            cursor.text()?;
            self.read_system(&mut cursor)?;
        }
        Some(())
    }

    fn read_system(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()?.min(MOST_FORMATS) {
            let length = cursor.length()?;
            let text = String::from_utf8_lossy(cursor.bytes(length)?);
            self.0.extend(Format::parse(&text));
        }
        Some(())
    }

    /// The tracepoint of this number.
    pub fn of(&self, number: u64) -> Option<&Format> {
        self.0.get(&number)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What tracefs says of sched_switch, shortened.
    pub const SWITCH: &str = "name: sched_switch\nID: 7\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";

    /// A section with one system, `sched`, of these formats.
    pub fn section(formats: &[&str]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(b"0.6\0\0\x08\0\x10\0\0");
        for name in ["header_page", "header_event"] {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&2u64.to_le_bytes());
            bytes.extend_from_slice(b"..");
        }
        bytes.extend_from_slice(&0u32.to_le_bytes());
        bytes.extend_from_slice(&1u32.to_le_bytes());
        bytes.extend_from_slice(b"sched\0");
        bytes.extend_from_slice(&(formats.len() as u32).to_le_bytes());
        for format in formats {
            bytes.extend_from_slice(&(format.len() as u64).to_le_bytes());
            bytes.extend_from_slice(format.as_bytes());
        }
        bytes
    }

    #[test]
    fn fields_are_read_where_the_format_says() {
        let formats = Formats::parse(&section(&[SWITCH]));
        let format = formats.of(7).expect("a format");
        assert_eq!(format.name, "sched_switch");
        assert_eq!(format.field("prev_comm"), Some(Field { offset: 8, bytes: 16 }));
        let mut raw = vec![0; 60];
        raw[24..28].copy_from_slice(&77u32.to_le_bytes());
        let number = |name| format.field(name).and_then(|field| field.number(&raw));
        assert_eq!((number("prev_pid"), number("next_pid")), (Some(77), Some(0)));
        assert_eq!(format.field("next_pid").and_then(|field| field.number(&raw[..59])), None);
    }

    #[test]
    fn a_cut_section_has_what_is_before_the_cut() {
        let whole = section(&[SWITCH, "name: other\nID: 8\n"]);
        for length in 0..whole.len() {
            let formats = Formats::parse(&whole[..length]);
            assert!(formats.of(8).is_none(), "{length}");
        }
        assert!(Formats::parse(&whole[..whole.len() - 3]).of(7).is_some());
        assert!(Formats::parse(&whole).of(8).is_some());
    }
}
