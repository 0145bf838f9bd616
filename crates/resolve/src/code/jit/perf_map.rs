//! `perf-PID.map`: a line per piece of run-time code, `START SIZE NAME`, numbers in hexadecimal
//! (linux/tools/perf/Documentation/jit-interface.txt). It tells no times: what a later line covers, the earlier ones do
//! not cover any more.

use std::sync::Arc;

use super::names::readable;
use super::piece::{CodePiece, end_of};

/// The pieces of code in the text of a map, in its order. Other lines are left out.
pub fn parse(bytes: &[u8]) -> impl Iterator<Item = CodePiece> + '_ {
    bytes.split(|&byte| byte == b'\n').filter_map(line)
}

fn line(line: &[u8]) -> Option<CodePiece> {
    let mut fields = line.trim_ascii().splitn(3, |&byte| byte == b' ');
    let start = hexadecimal(fields.next()?)?;
    let size = hexadecimal(fields.next()?)?;
    let name = String::from_utf8_lossy(fields.next()?.trim_ascii());
    let end = end_of(start, size).filter(|_| !name.is_empty())?;
    let function = Arc::new(readable(&name));
    Some(CodePiece { start, end, from_ns: 0, until_ns: u64::MAX, function, lines: Arc::default(), calls: Vec::new() })
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_and_rubbish_is_left_out() {
        let text =
            b"1000 20 f\n0x2000 0x10 a b c\r\n3000 0 empty\nzz 10 bad\nffffffffffffffff 10 beyond\n4000 10\n\n5000 8 g";
        let found: Vec<_> = parse(text).map(|code| (code.start, code.end, code.function.name.clone())).collect();
        let expected = [(0x1000, 0x1020, "f"), (0x2000, 0x2010, "a b c"), (0x5000, 0x5008, "g")];
        assert_eq!(found, expected.map(|(start, end, name)| (start, end, name.to_owned())));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(rows in proptest::collection::vec((0u64..1 << 47, 1u64..1 << 20, "[a-z]{1,8}"), 0..40)) {
            let text: String = rows.iter().map(|(start, size, name)| format!("{start:x} {size:x} {name}\n")).collect();
            let found: Vec<_> = parse(text.as_bytes()).map(|code| (code.start, code.end - code.start, code.function.name.clone())).collect();
            prop_assert_eq!(found, rows);
        }

        #[test]
        fn any_bytes_are_taken(bytes: Vec<u8>) {
            for code in parse(&bytes) {
                prop_assert!(code.start < code.end);
            }
        }
    }
}
