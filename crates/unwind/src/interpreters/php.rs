//! Finds PHP in mapped files: the command, php-fpm, and the library of Apache's module.

use dwell_wire::{PhpProcess, interpreter_style};
use object::ReadRef;

use crate::elf::Elf;

/// What precedes the version in every PHP that answers HTTP: a header of its answers.
const BEFORE_VERSION: &[u8] = b"X-Powered-By: PHP/";

/// The layout of PHP `version` (10 * major + minor), where the executor's state lies at `globals`. Zend/zend_globals.h and
/// Zend/zend_compile.h of each version: `current_execute_data`, `filename` and `line_start`.
pub(super) fn layout(version: u32, globals: u64) -> Option<PhpProcess> {
    let (current, function_file) = match version {
        74 => (488, 136),
        80 | 81 | 83 => (488, 144),
        82 => (488, 152),
        84 => (488, 168),
        85 => (512, 168),
        _ => return None,
    };
    Some(PhpProcess {
        current: globals.wrapping_add(current),
        reserved: 0,
        version,
        style: interpreter_style::PHP,
        function_file,
        function_line: function_file + 8,
    })
}

/// 10 * major + minor.
pub(super) fn version<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<u32> {
    version_in(&elf.section_bytes(".rodata")?)
}

fn version_in(bytes: &[u8]) -> Option<u32> {
    let mut starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == BEFORE_VERSION[0]).map(|(at, _)| at);
    let start = starts.find(|&at| bytes[at..].starts_with(BEFORE_VERSION))?;
    let mut numbers = bytes[start + BEFORE_VERSION.len()..].split(|byte| !byte.is_ascii_digit());
    let mut number = || std::str::from_utf8(numbers.next()?).ok()?.parse::<u32>().ok();
    let (major, minor) = (number()?, number()?);
    (major < 100 && minor < 10).then_some(10 * major + minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_a_header() {
        assert_eq!(version_in(b"X: \0X-Powered-By: PHP/8.2.36\0"), Some(82));
        assert_eq!(version_in(b"X-Powered-By: PHP/7.4.0RC1"), Some(74));
        for nonsense in [&b"X-Powered-By: PHP/"[..], b"X-Powered-By: PHP/8", b"X-Powered-By: PHP/99999999999.1", b""] {
            assert_eq!(version_in(nonsense), None);
        }
    }

    #[test]
    fn every_layout_fits_what_is_read() {
        for version in [74, 80, 81, 82, 83, 84, 85] {
            let layout = layout(version, 0x1000).expect("a layout");
            assert!(layout.function_line + 8 <= dwell_wire::SCRIPT_FUNCTION_BYTES && layout.current >= 0x1000 + 488);
        }
        assert_eq!(layout(73, 0), None);
    }
}
