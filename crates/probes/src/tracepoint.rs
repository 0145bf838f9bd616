//! The fields of the kernel's tracepoints, as the file `format` of each tells them, and how a probe reads them.

use crate::probe_value::{ProbeValue, ValueSource, ValueType};
use crate::usdt_arguments::ArgumentPlace;
use crate::value_error::{Parsed, ValueProbeError, nearest};
use crate::value_filter::FilterTerm;
use crate::value_read::ValueRead;
use crate::value_spec::ValueProbe;

/// Before this there is what every event has, and what the hook does not see.
const FIRST_OFFSET: u64 = 8;
/// Fields of an event that are looked at.
const MOST_FIELDS: usize = 128;
/// Where a field can lie at most: the hook takes 16 bits.
const MOST_OFFSET: u64 = 0xffff;

/// A field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field<'t> {
    name: &'t str,
    /// As in C, without the name and the brackets of an array behind it.
    ty: &'t str,
    is_array: bool,
    offset: u64,
    bytes: u64,
    is_signed: bool,
}

/// `field:int irq; offset:8; size:4; signed:1;`, with tabs.
fn field(line: &str) -> Option<Field<'_>> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    let mut number = |name: &str| parts.next()?.strip_prefix(name)?.strip_prefix(':')?.parse().ok();
    let (offset, bytes, sign): (u64, u64, u64) = (number("offset")?, number("size")?, number("signed")?);
    let (declared, is_array) =
        declared.strip_suffix(']').map_or((declared, false), |it| (it.rsplit_once('[').map_or(it, |(it, _)| it), true));
    let (_, name) = declared.rsplit_once([' ', '*'])?;
    let ty = &declared[..declared.len() - name.len()];
    let fits = (FIRST_OFFSET..=MOST_OFFSET).contains(&offset);
    fits.then_some(Field { name, ty: ty.trim(), is_array, offset, bytes, is_signed: sign != 0 })
}

impl Field<'_> {
    /// How it is read; `None` when it is neither a number nor a text.
    fn read(&self) -> Option<ValueRead> {
        let (bytes, is_signed) = (u8::try_from(self.bytes).ok(), self.is_signed);
        let is_letters = self.ty.ends_with("char") || self.ty.ends_with("u8");
        if self.ty.starts_with("__data_loc") {
            let place = ArgumentPlace::EventOffset { offset: self.offset };
            return self.ty.contains("char[]").then(|| ValueRead::of(place, ValueType::Text));
        }
        if self.is_array {
            let mut read = ValueRead::of(ArgumentPlace::EventAddress { offset: self.offset }, ValueType::Text);
            read.text_bytes = u8::try_from(self.bytes).unwrap_or(u8::MAX);
            return (is_letters && !self.ty.contains('*')).then_some(read);
        }
        let bytes = bytes.filter(|bytes| [1, 2, 4, 8].contains(bytes))?;
        let place = ArgumentPlace::Event { offset: self.offset, bytes, is_signed };
        let ty = match self.ty {
            ty if ty.ends_with('*') && ty.contains("char") => ValueType::Text,
            ty if ty.ends_with('*') => ValueType::Hex { bytes },
            // Arguments of system calls have 8 bytes each, of which the call takes those of its type.
            "int" => ValueType::Signed { bytes: bytes.min(4) },
            "unsigned int" | "u32" => ValueType::Unsigned { bytes: bytes.min(4) },
            _ if is_signed => ValueType::Signed { bytes },
            _ => ValueType::Unsigned { bytes },
        };
        Some(ValueRead::of(place, ty))
    }
}

/// How each value of the probe is read from an event whose file `format` has this text, and the condition.
///
/// # Errors
///
/// There is no such field, or it cannot be read; it points at it in the probe's words.
pub fn event_values(probe: &ValueProbe, format: &str) -> Result<(Vec<ValueRead>, Vec<FilterTerm>), ValueProbeError> {
    let fields: Vec<Field<'_>> = format.lines().filter_map(field).take(MOST_FIELDS).collect();
    let reads: Vec<ValueRead> =
        probe.values.iter().map(|value| of_value(probe, &fields, value)).collect::<Parsed<_>>()?;
    let filter = probe.checked(&reads)?;
    Ok((reads, filter))
}

fn of_value(probe: &ValueProbe, fields: &[Field<'_>], value: &ProbeValue) -> Parsed<ValueRead> {
    let wrong = |sentence: String, hint: String| Err(probe.words().wrong_at(value.at, sentence, hint));
    let ValueSource::Path(name) = &value.source else { return wrong("this is no field".into(), "name a field".into()) };
    let Some(field) = fields.iter().find(|field| field.name == name) else {
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let hint = if names.is_empty() {
            "the event has no fields: leave the values out".into()
        } else {
            nearest(name, &names)
        };
        return wrong(format!("the event has no field `{name}`"), hint);
    };
    let Some(read) = field.read() else {
        let hint = "a probe reads numbers of at most 8 bytes and texts: leave this value out";
        return wrong(format!("`{name}` cannot be read: its type is {}", field.ty), hint.into());
    };
    match value.ty {
        None => Ok(read),
        Some(ty) if (ty == ValueType::Text) == (read.ty == ValueType::Text) => {
            Ok(ValueRead { text_bytes: read.text_bytes, ..ValueRead::of(read.place, ty) })
        }
        Some(ValueType::Text) => wrong(format!("`{name}` is no text"), "leave `:str` out".into()),
        Some(_) => wrong(format!("`{name}` is a text"), "leave its type out".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: x\nID: 225\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\
        \tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n\
        \tfield:int flags;\toffset:40;\tsize:8;\tsigned:0;\n\
        \tfield:void *task;\toffset:48;\tsize:8;\tsigned:0;\n\
        \tfield:u64 words[4];\toffset:56;\tsize:32;\tsigned:0;\n\
        print fmt: \"irq=%d\", REC->irq\n";

    #[test]
    fn fields_are_numbers_and_texts() {
        let probe = ValueProbe::parse(
            "x=tracepoint:irq:enter(irq, name, comm, filename, f=flags, task) if irq > -3 && name == \"ahci\"",
        );
        let (reads, filter) = event_values(&probe.expect("good"), FORMAT).expect("fields");
        let types: Vec<ValueType> = reads.iter().map(|read| read.ty).collect();
        let signed = ValueType::Signed { bytes: 4 };
        assert_eq!(
            types,
            [signed, ValueType::Text, ValueType::Text, ValueType::Text, signed, ValueType::Hex { bytes: 8 }]
        );
        assert_eq!(reads[1].place, ArgumentPlace::EventOffset { offset: 12 });
        assert_eq!((reads[2].place, reads[2].text_bytes), (ArgumentPlace::EventAddress { offset: 16 }, 16));
        assert_eq!((reads[4].bytes, reads[4].left, reads[4].is_signed), (8, 32, true));
        assert_eq!(filter.len(), 2);
    }

    #[test]
    fn what_is_no_field_is_pointed_at() {
        for (values, sentence, hint) in [
            ("irk", "the event has no field `irk`", "the nearest is irq;"),
            ("common_type", "the event has no field `common_type`", "irq"),
            ("words", "`words` cannot be read: its type is u64", "leave this value out"),
            ("irq:str", "`irq` is no text", ":str"),
            ("comm:u8", "`comm` is a text", "type"),
        ] {
            let probe = ValueProbe::parse(&format!("x=tracepoint:irq:enter({values})")).expect("good");
            let error = event_values(&probe, FORMAT).expect_err(values);
            assert!(error.to_string() == sentence && error.hint.contains(hint), "{error}: {}", error.hint);
            assert!(error.pointing().ends_with('^'));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_format_causes_a_panic(format in "(field:\\PC{0,12}(\\[\\PC{0,3}\\])?;\toffset:[0-9]{0,6};\tsize:[0-9]{0,3};\tsigned:[01];\n){0,4}\\PC{0,9}") {
            let probe = ValueProbe::parse("x=tracepoint:a:b(a)").expect("good");
            let _ = event_values(&probe, &format);
        }
    }
}
