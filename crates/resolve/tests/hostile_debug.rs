//! Small files whose debug information is made to end its reader, or to cost it GBs: they lose their lines, and nothing else.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dwell_resolve::Options;
use dwell_store::{Table, Trace};
use tempfile::TempDir;
use trace::{START_NS, finalize_bytes, manifest, streams};

/// Where the one function of each file is, and its length.
const TEXT: u64 = 0x100;
/// Finalization of such a file, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
const COMPRESSED: u64 = 0x800; // SHF_COMPRESSED

/// A section: name, type, flags, address, link, length of an entry, contents.
type Section<'a> = (&'a str, u32, u64, u64, u32, u64, Vec<u8>);

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(halves: &[u32]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// A section of debug information.
fn debug(name: &str, contents: Vec<u8>) -> Section<'_> {
    (name, 1, 0, 0, 0, 0, contents)
}

/// An ELF file with the function `leaf` and these sections.
fn elf(debug: Vec<Section<'_>>) -> Vec<u8> {
    let symbol = [halves(&[1, 0x1_0012]), words(&[TEXT, TEXT])].concat(); // a function that all see, in section 1
    let mut sections: Vec<Section<'_>> = vec![
        ("", 0, 0, 0, 0, 0, Vec::new()),
        (".text", 1, 6, TEXT, 0, 0, vec![0x90; TEXT as usize]),
        (".symtab", 2, 0, 0, 3, 24, [vec![0; 24], symbol].concat()),
        (".strtab", 3, 0, 0, 0, 0, b"\0leaf\0".to_vec()),
    ];
    sections.extend(debug);
    let mut names = Vec::new();
    let name_at: Vec<u32> = sections
        .iter()
        .map(|(name, ..)| {
            names.extend([name.as_bytes(), b"\0"].concat());
            (names.len() - name.len() - 1) as u32
        })
        .collect();
    let (mut out, mut headers) = (vec![0; TEXT as usize], Vec::new());
    for ((_, kind, flags, address, link, entry, contents), name) in sections.iter().zip(&name_at) {
        headers.extend(halves(&[*name, *kind]));
        headers.extend(words(&[*flags, *address, out.len() as u64, contents.len() as u64]));
        headers.extend(halves(&[*link, u32::from(*kind == 2)]));
        headers.extend(words(&[8, *entry]));
        out.extend(contents);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    headers.extend(halves(&[0, 3]));
    headers.extend(words(&[0, 0, out.len() as u64, names.len() as u64, 0, 1, 0]));
    out.extend(names);
    out.resize(out.len().next_multiple_of(8), 0);
    let (at, count) = (out.len() as u64, sections.len() as u64 + 1);
    let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    head.extend(words(&[TEXT, 64, at, 64 << 32 | 56 << 48, 1 | 64 << 16 | count << 32 | (count - 1) << 48]));
    head.extend(halves(&[1, 5])); // all of it is loaded, and run
    head.extend(words(&[0, 0, 0, at, at, 0x1000]));
    out[..head.len()].copy_from_slice(&head);
    out.extend(headers);
    out
}

/// Abbreviations: a unit, a function with what is in it, a function inlined into another.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 1, 0x12, 7, 0x13, 5, 0x10, 0x17, 0, 0, // low_pc, high_pc, language, lines
    2, 0x2e, 1, 0x11, 1, 0x12, 7, 3, 8, 0, 0, // low_pc, high_pc, name
    3, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0, // abstract_origin, low_pc, high_pc
    0,
];
/// Where the function's entry is in its unit.
const FUNCTION_AT: u32 = 11 + 23;

/// A line for all of the function.
fn lines() -> Vec<u8> {
    let header = b"\x01\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01/src\0\0leaf.c\0\x01\0\0\0";
    let address = [vec![0, 9, 2], words(&[TEXT])].concat();
    let program = [&address, b"\x01\x02\x80\x02\0\x01\x01".as_slice()].concat();
    let rest = [&halves(&[header.len() as u32]), header.as_slice(), &program].concat();
    [halves(&[rest.len() as u32 + 2]), vec![4, 0], rest].concat()
}

/// A unit with the function and `depth` more inlined into it, each into the one before.
fn unit(depth: usize) -> Vec<u8> {
    let mut unit = [4, 0, 0, 0, 0, 0, 8, 1].to_vec();
    unit.extend(words(&[TEXT, TEXT]));
    unit.extend([4, 0, 0, 0, 0, 0, 2]); // C++, the first lines
    unit.extend(words(&[TEXT, TEXT]));
    unit.extend(b"leaf\0");
    for _ in 0..depth {
        unit.push(3);
        unit.extend(halves(&[FUNCTION_AT]));
        unit.extend(words(&[TEXT, TEXT]));
    }
    unit.resize(unit.len() + depth + 2, 0);
    [halves(&[unit.len() as u32]), unit].concat()
}

fn with_units(units: Vec<u8>) -> Vec<u8> {
    elf(vec![
        debug(".debug_info", units),
        debug(".debug_abbrev", ABBREVIATIONS.to_vec()),
        debug(".debug_line", lines()),
    ])
}

/// Twelve sections of 250 MB of zeros each.
fn bomb() -> Vec<u8> {
    const BYTES: usize = 250 << 20;
    let zeros = vec![0; BYTES];
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &zeros).expect("compressed");
    let contents = [halves(&[1, 0]), words(&[BYTES as u64, 1]), encoder.finish().expect("compressed")].concat();
    let names = ["info", "abbrev", "line", "str", "ranges", "rnglists", "addr", "aranges", "line_str", "str_offsets"];
    let names = names.map(|name| format!(".debug_{name}"));
    elf(names.iter().map(|name| (name.as_str(), 1, COMPRESSED, 0, 0, 0, contents.clone())).collect())
}

/// A recording of a thread that waits in each of these files, and an honest one.
fn recorded(files: &[Vec<u8>]) -> (TempDir, Vec<PathBuf>, Trace) {
    let folder = tempfile::tempdir().expect("folder");
    let (mut text, mut frames, mut paths) = ("0 new tid=10 tgid=10 name=app\n".to_owned(), Vec::new(), Vec::new());
    for (number, bytes) in files.iter().chain([&with_units(unit(1))]).enumerate() {
        let path = folder.path().join(format!("{number}.so"));
        fs::write(&path, bytes).expect("file");
        let start = (number as u64 + 1) << 32;
        text += &format!("0 map tgid=10 start={start} length=4096 offset=0 path={}\n", path.display());
        frames.push(format!("{:x}", start + TEXT + 0x10));
        paths.push(path);
    }
    text += &format!("1 stack key=5 tgid=10 frames={}\n1 switch out=10 state=1 call=202 stack=5", frames.join(","));
    let (meta, events) = streams(&text);
    let begun = Instant::now();
    let trace = finalize_bytes(&meta, &events, &manifest(START_NS + 5_000_000), &Options::default());
    assert!(begun.elapsed() < LIMIT, "it took {:?}", begun.elapsed());
    (folder, paths, trace)
}

/// Each file's function has its name; the honest one's also what is inlined there. Returns the remark on the first file.
fn remark(files: &[Vec<u8>]) -> Option<String> {
    let (_folder, paths, trace) = recorded(files);
    let outer = |row: &usize| trace.frames.function[*row] == "leaf" && !trace.frames.inlined[*row];
    assert_eq!(
        (0..trace.frames.len()).filter(outer).count(),
        paths.len(),
        "{:?}, {:?}",
        trace.frames.function,
        trace.notices.text
    );
    assert!(trace.frames.inlined.contains(&true), "the honest file lost what is inlined: {:?}", trace.notices.text);
    let path = paths[0].display().to_string();
    trace.notices.text.iter().find(|text| text.contains(&path)).cloned()
}

#[test]
fn functions_nested_without_end_cost_the_lines() {
    let remark = remark(&[with_units(unit(200_000))]).expect("a remark");
    assert!(remark.contains("its reader crashed") && remark.contains("without source lines"), "{remark}");
}

#[test]
fn compressed_zeros_are_not_expanded() {
    let remark = remark(&[bomb(), bomb()]).expect("a remark");
    assert!(remark.contains("hundredfold") && remark.contains("without source lines"), "{remark}");
}

#[test]
fn many_units_over_all_code_end() {
    let remark = remark(&[with_units(unit(0).repeat(200_000))]);
    assert!(remark.is_none_or(|remark| remark.contains("without source lines")));
}
