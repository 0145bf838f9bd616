//! The registry on this process: what it writes leads from a runtime address to the right row.

#![allow(clippy::unwrap_used)] // in tests

use std::path::{Path, PathBuf};

use dwell_unwind::{Mapping, Registry, Row, Rule, Step, Update, parse_maps};

const CAPACITY: u32 = 1 << 24;

/// The BPF maps, as `unwind_tables.h` reads them.
#[derive(Default)]
struct Maps {
    words: Vec<u64>,
    process: Vec<u8>,
    python: Vec<u8>,
}

impl Maps {
    fn apply(&mut self, updates: Vec<Update>) -> usize {
        let mut tables = 0;
        for update in updates {
            match update {
                Update::Words { first, words } => {
                    self.words.resize(self.words.len().max(first as usize + words.len()), 0);
                    self.words[first as usize..][..words.len()].copy_from_slice(&words);
                    tables += 1;
                }
                Update::Process { value, .. } => self.process = value,
                Update::Interpreter { value, .. } => self.python = value,
                Update::Forget { .. } => {
                    self.process.clear();
                    self.python.clear();
                }
            }
        }
        tables
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.process[at..at + 4].try_into().unwrap())
    }

    /// start, pages, offset, table, blocks
    fn mappings(&self) -> Vec<(u64, u32, u32, u32, u32)> {
        let count = self.number(0) as usize;
        let at = |i: usize| 8 + 24 * i;
        let start = |i| u64::from_le_bytes(self.process[at(i)..at(i) + 8].try_into().unwrap());
        let rest = |i, n: usize| self.number(at(i) + 8 + 4 * n);
        (0..count).map(|i| (start(i), rest(i, 0), rest(i, 1), rest(i, 2), rest(i, 3))).collect()
    }

    fn lookup(&self, pc: u64) -> Rule {
        let mappings = self.mappings();
        let Some((start, _, offset, table, blocks)) =
            mappings.into_iter().find(|(start, pages, ..)| (*start..start + u64::from(*pages) * 4096).contains(&pc))
        else {
            return Rule::NoTable;
        };
        let address = u32::try_from(pc - start).unwrap() + offset;
        assert!(address >> 8 < blocks);
        let entry = self.words[(table + (address >> 8)) as usize];
        let first = (table + entry as u32) as usize;
        let rows = &self.words[first..first + (entry >> 32) as usize];
        let row = rows.iter().rev().map(|word| Row::from_word(*word)).find(|row| row.pc <= address);
        row.map_or(Rule::NoTable, |row| row.step.rule)
    }
}

fn mapping(path: &str, start: u64, length: u64, file_offset: u64) -> Mapping {
    Mapping { tgid: 1, start, length, file_offset, path: PathBuf::from(path), build_id: Vec::new() }
}

/// The first executable mapping of this process's dynamic linker or C library.
fn library() -> Mapping {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let found =
        parse_maps(1, &maps).into_iter().find(|mapping| mapping.path.to_string_lossy().contains(".so")).unwrap();
    Mapping { build_id: Vec::new(), ..found }
}

#[test]
fn own_code_and_vdso_have_rows() {
    let mut registry = Registry::new(CAPACITY);
    let mut maps = Maps::default();
    let tgid = std::process::id();
    assert!(maps.apply(registry.seed(tgid).unwrap()) >= 3);
    let here = own_code_and_vdso_have_rows as *const () as u64;
    assert!(matches!(maps.lookup(here), Rule::Rsp | Rule::Rbp));
    assert_eq!(maps.lookup(0x10), Rule::NoTable);
    let text = std::fs::read("/proc/self/maps").unwrap();
    let vdso = parse_maps(tgid, &text).into_iter().find(|mapping| mapping.path == Path::new("[vdso]")).unwrap();
    assert!((0..vdso.length).any(|offset| maps.lookup(vdso.start + offset) == Rule::Rsp));
    assert_eq!(maps.apply(registry.seed(tgid).unwrap()), 0, "tables are made once");
}

#[test]
fn processes_share_tables_and_come_and_go() {
    let library = library();
    let mut registry = Registry::new(CAPACITY);
    let mut maps = Maps::default();
    assert_eq!(maps.apply(registry.map(&library)), 1);
    let first = maps.mappings();
    assert_eq!(maps.apply(registry.map(&Mapping { tgid: 2, ..library })), 0);
    assert_eq!(maps.mappings(), first);
    assert_eq!(maps.apply(registry.fork(1, 3)), 0);
    assert_eq!(maps.mappings(), first);
    assert_eq!(registry.exec(1), [Update::Forget { tgid: 1 }]);
    assert!(registry.fork(1, 4).is_empty());
    assert_eq!(registry.exit(3), [Update::Forget { tgid: 3 }]);
}

#[test]
fn later_mappings_cut_earlier_ones() {
    let library = library();
    let (start, path) = (0x10_0000, library.path.to_str().unwrap());
    let mut registry = Registry::new(CAPACITY);
    let mut maps = Maps::default();
    maps.apply(registry.map(&mapping(path, start, 0x8000, library.file_offset)));
    maps.apply(registry.map(&mapping("//anon", start + 0x2000, 0x1000, 0)));
    let cut = maps.mappings();
    assert_eq!(cut.len(), 2);
    assert_eq!((cut[0].0, cut[0].1), (start, 2));
    assert_eq!((cut[1].0, cut[1].1), (start + 0x3000, 5));
    assert_eq!(cut[1].2, cut[0].2 + 0x3000);
    maps.apply(registry.map(&mapping(path, start - 0x1000, 0x20_000, library.file_offset)));
    assert_eq!(maps.mappings().len(), 1);
}

#[test]
fn what_has_no_table_is_counted() {
    let library = library();
    let mut registry = Registry::new(CAPACITY);
    registry.map(&mapping("/no/such/file", 0x1000, 0x1000, 0));
    registry.map(&mapping("/etc/passwd", 0x4000, 0x1000, 0));
    registry.map(&Mapping { build_id: vec![1, 2, 3], ..library.clone() });
    let losses = registry.losses();
    assert_eq!((losses.unreadable_files, losses.files_without_table, losses.replaced_files), (1, 1, 1));
    assert_eq!(registry.take_notices().len(), 3);
    let mut small = Registry::new(10);
    small.map(&library);
    assert_eq!(small.losses().table_space, 1);
    let mut many = Registry::new(CAPACITY);
    let path = library.path.to_str().unwrap();
    let all: Vec<_> = (1..=400).map(|n| mapping(path, n * 0x10_0000, 0x1000, library.file_offset)).collect();
    let mut maps = Maps::default();
    maps.apply(many.map_all(1, &all));
    assert_eq!(maps.mappings().len(), 336);
    assert_eq!(many.losses().mappings, 64);
}

#[test]
fn memory_that_becomes_code_at_run_time_is_told_late() {
    const START: u64 = 0x7f00_0000_0000;
    let (mut registry, mut maps) = (Registry::new(CAPACITY), Maps::default());
    let rows = [Row { pc: 0x100, step: Step::of(Rule::Interpreted) }, Row { pc: 0x900, step: Step::of(Rule::NoTable) }];
    maps.apply(registry.set_run_time_code(7, START, START + 0x1_0000, &rows));
    let mut map = |start: u64, path: &str| {
        let mapping =
            Mapping { tgid: 7, start, length: 0x2000, file_offset: 0, path: PathBuf::from(path), build_id: Vec::new() };
        maps.apply(registry.map(&mapping));
        maps.lookup(START + 0x200)
    };
    assert_eq!(map(START, "//anon"), Rule::Interpreted, "the memory itself");
    assert_eq!(map(START, ""), Rule::Interpreted);
    assert_eq!(map(START + 0x8000, "//anon"), Rule::Interpreted);
    assert_eq!(map(START, "/dev/zero"), Rule::NoTable, "another mapping takes its place");
}
