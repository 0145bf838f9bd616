//! Damaged files: never a panic, never more memory than in proportion to the file.

#![allow(clippy::unwrap_used)] // in tests

use std::sync::LazyLock;

use dwell_unwind::UnwindTable;
use proptest::prelude::*;

/// A small real file: the vDSO-sized dynamic linker would do, but a test's own executable is always there.
static ORIGINAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let candidates = ["/lib64/ld-linux-x86-64.so.2", "/proc/self/exe"];
    candidates.iter().find_map(|path| std::fs::read(path).ok()).unwrap()
});

fn check(bytes: &[u8]) {
    if let Ok(table) = UnwindTable::of_bytes(bytes) {
        // an index word for 256 bytes of at most 4 * file + 64 MiB, and two rows for each byte of instructions
        assert!(table.words().len() <= bytes.len() * 3 + (64 << 20) / 256 + 1024);
        for pc in [0, 1, 0x1000, 0x1_2345, u32::MAX] {
            table.lookup(pc);
        }
        table.layout().address_of_mapping(u64::MAX);
        table.layout().address_of_mapping(0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&bytes);
        let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec();
        elf.extend(&bytes);
        check(&elf);
    }

    #[test]
    fn truncated(length in any::<prop::sample::Index>()) {
        check(&ORIGINAL[..length.index(ORIGINAL.len())]);
    }

    #[test]
    fn damaged_anywhere(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..50)) {
        let mut bytes = ORIGINAL.clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check(&bytes);
    }

    #[test]
    fn damaged_headers(damage in prop::collection::vec((0_usize..0x400, any::<u8>()), 1..8)) {
        let mut bytes = ORIGINAL.clone();
        for (at, value) in damage {
            bytes[at] = value;
        }
        check(&bytes);
    }

    #[test]
    fn damaged_frames(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200)) {
        use object::{Object as _, ObjectSection as _};
        let mut bytes = ORIGINAL.clone();
        let (start, size) = object::File::parse(&**ORIGINAL).unwrap().section_by_name(".eh_frame").unwrap().file_range().unwrap();
        for (at, value) in damage {
            bytes[start as usize + at.index(size as usize)] = value;
        }
        check(&bytes);
    }
}
