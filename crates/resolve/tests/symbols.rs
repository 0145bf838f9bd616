//! Names of code and data, from a real file: this test program itself.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_model::StackId;
use dwell_resolve::{Mode, Options};
use dwell_store::Trace;
use trace::{START_NS, finalize_bytes, loss, manifest, streams};

static DWELL_TEST_LOCK: AtomicU64 = AtomicU64::new(7);

#[inline(never)]
fn a_function_of_the_test() -> u64 {
    DWELL_TEST_LOCK.fetch_add(1, Ordering::Relaxed)
}

/// Where this program is mapped: path, start, length and file offset of its code.
fn own_code() -> (String, u64, u64, u64) {
    let path = std::env::current_exe().expect("path");
    let inode = path.metadata().expect("metadata").ino();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let line = maps.lines().find(|line| line.contains("r-xp") && line.contains(&format!(" {inode} "))).expect("code");
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (start, end) = fields[0].split_once('-').expect("range");
    let number = |text: &str| u64::from_str_radix(text, 16).expect("number");
    (path.to_string_lossy().into_owned(), number(start), number(end) - number(start), number(fields[2]))
}

/// A thread waits on the static above, called by the function above.
fn recorded(build: &str, options: &Options) -> Trace {
    a_function_of_the_test();
    let (path, start, length, offset) = own_code();
    let function = a_function_of_the_test as *const () as u64;
    let lock = std::ptr::from_ref(&DWELL_TEST_LOCK) as u64;
    let text = format!(
        "0 new tid=10 tgid=10 name=app
         0 exec tid=10 name=app path={path}
         0 map tgid=10 start={start} length={length} offset={offset} path={path} {build}
         1 stack key=5 tgid=10 frames={function:x},{:x},1234
         1 switch out=10 state=1 call=202 object={lock} detail=0x80 stack=5",
        function + 4
    );
    let (meta, events) = streams(&text);
    finalize_bytes(&meta, &events, &manifest(START_NS + 5_000_000), options)
}

/// Function, file and module of the frames, root first.
fn frames(trace: &Trace) -> Vec<(String, String, bool)> {
    let stack = trace.off_cpu.stack.iter().rev().find(|stack| stack.is_some()).expect("a stack");
    let mut rows = Vec::new();
    let mut at = *stack;
    while let Some(row) = StackId::get(at) {
        let frame = trace.stacks.frame[row].get().expect("frame");
        let file = trace.frames.file[frame].rsplit('/').next().unwrap_or_default().to_owned();
        rows.push((trace.frames.function[frame].clone(), file, trace.frames.inlined[frame]));
        at = trace.stacks.parent[row];
    }
    rows.reverse();
    rows
}

#[test]
fn code_and_data_have_names_and_lines() {
    let trace = recorded("", &Options::default());
    let frames = frames(&trace);
    assert_eq!(frames[0].0, "[unknown]");
    let named = |name: &str, file: &str| frames.iter().any(|frame| frame.0.contains(name) && frame.1 == file);
    assert!(named("a_function_of_the_test", "symbols.rs"), "{frames:?}");
    assert_eq!(trace.objects.name, ["symbols::DWELL_TEST_LOCK"]);
    assert_eq!(trace.objects.address, [std::ptr::from_ref(&DWELL_TEST_LOCK) as u64]);
}

#[test]
fn fast_finalization_names_functions_only() {
    let trace = recorded("", &Options { mode: Mode::Fast, ..Options::default() });
    let frames = frames(&trace);
    assert_eq!(frames.len(), 3, "no inlined functions: {frames:?}");
    assert!(frames[1].0.contains("a_function_of_the_test"), "{frames:?}");
    assert!(frames.iter().all(|frame| frame.1.is_empty() && !frame.2));
}

#[test]
fn a_file_of_another_build_gives_no_names() {
    let trace = recorded("build=171", &Options::default());
    assert!(frames(&trace).iter().all(|frame| frame.0.starts_with('[')), "{:?}", frames(&trace));
    assert_eq!(loss(&trace, "build_id_mismatch"), 1);
    let path = std::env::current_exe().expect("path");
    assert!(trace.notices.text.iter().any(|text| text.contains(&*path.to_string_lossy())), "{:?}", trace.notices);
    assert!(trace.objects.name[0].starts_with("Futex 0x"));
}
