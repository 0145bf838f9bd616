//! Work that goes wrong costs its own answer.
#![allow(unsafe_code, clippy::expect_used, clippy::panic, reason = "tests crash on purpose, and fail by panicking")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{fs, ptr, thread};

use dwell_isolate::{Death, Limits, run};

const LIMITS: Limits = Limits {
    memory_bytes: 256 << 20,
    stack_bytes: 1 << 20,
    answer_bytes: 1 << 20,
    time_per_item: Duration::from_secs(1),
    time_in_all: Duration::from_secs(20),
    processes: 2,
};

fn deep(left: u64) -> u64 {
    let room = black_box([left; 64]);
    if left == 0 { 0 } else { deep(left - 1) + room[7] }
}

fn without_end() -> String {
    let mut all = Vec::new();
    loop {
        all.push(black_box(vec![1u8; 1 << 20]));
    }
}

fn work(what: &&str) -> String {
    match *what {
        // SAFETY: none: it is meant to crash.
        "segfault" => unsafe { ptr::null::<u8>().wrapping_add(8).read_volatile() }.to_string(),
        "overflow" => deep(1 << 40).to_string(),
        "memory" => without_end(),
        "at once" => vec![1u8; 1 << 40].len().to_string(),
        "late" => {
            thread::sleep(Duration::from_secs(100));
            String::new()
        }
        "panic" => panic!("on purpose"),
        "large" => "a".repeat(2 << 20),
        "exit" => std::process::exit(0),
        other => other.to_uppercase(),
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

/// Processes that this one has made and that are there.
fn children() -> String {
    let threads = fs::read_dir("/proc/self/task").expect("threads").flatten();
    threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default()).collect()
}

/// One test, since others would make descriptors and processes.
#[test]
fn each_death_costs_one_answer() {
    let before = descriptors();
    let memory = Err(Death::Memory(LIMITS.memory_bytes));
    let cases = [
        ("a", Ok("A".into())),
        ("segfault", Err(Death::Crash)),
        ("b", Ok("B".into())),
        ("overflow", Err(Death::Crash)),
        ("memory", memory.clone()),
        ("at once", memory.clone()),
        ("late", Err(Death::Deadline(LIMITS.time_per_item))),
        ("c", Ok("C".into())),
        ("panic", Err(Death::Crash)),
        ("large", memory),
        ("exit", Err(Death::Crash)),
        ("d", Ok("D".into())),
    ];
    let items = cases.clone().map(|(item, _)| item);
    let mut told = Vec::new();
    let answers = run(&items, &LIMITS, work, &mut |item| told.push(item));
    for ((item, expected), answer) in cases.iter().zip(&answers) {
        assert_eq!(answer, expected, "{item}");
    }
    told.sort_unstable();
    assert_eq!(told, (0..items.len()).collect::<Vec<_>>());
    assert_eq!(descriptors(), before);
    assert_eq!(children(), "");

    let begun = Instant::now();
    let hurried = Limits { time_in_all: Duration::from_millis(300), ..LIMITS };
    let answers = run(&["late"; 100], &hurried, work, &mut |_| {});
    assert_eq!(answers, vec![Err(Death::NoTime(hurried.time_in_all)); 100]);
    assert!(begun.elapsed() < Duration::from_secs(1));

    let many: Vec<u32> = (0..5000).collect();
    let answers = run(&many, &LIMITS, |number| vec![*number; 100], &mut |_| {});
    assert!(answers.iter().zip(&many).all(|(answer, number)| answer.as_ref() == Ok(&vec![*number; 100])));
    assert_eq!((descriptors(), children()), (before, String::new()));
}
