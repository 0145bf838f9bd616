//! Machines' files: the embedded ones, and nonsense.

use proptest::prelude::*;

use crate::{Depth, MACHINES, Machine, Replay};

#[test]
fn embedded_machines_are_sound() {
    for (name, _) in MACHINES {
        let machine = Machine::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        Replay::new(&machine, Depth::Full).unwrap();
    }
}

/// What a change of the default machine is answered with: the sentence and the hint.
fn refused(change: &str) -> (String, String) {
    let error = Machine::parse(&format!("base = \"skylake-sp\"\n{change}")).expect_err(change);
    assert!(!error.hint().is_empty() && !error.to_string().contains('\n'), "{error}");
    (error.to_string(), error.hint().to_owned())
}

#[test]
fn each_nonsense_is_one_clear_sentence() {
    let cases = [
        ("l1d = { ways = 0 }", "l1d.ways cannot be 0"),
        ("l1d = { size-kib = 33 }", "l1d: 33 KiB in 1 slice(s) of 8 ways and lines of 64 bytes make 66.00 sets"),
        ("l1d = { ways = 7 }", "no power of two"),
        ("l2 = { line = 48 }", "l2.line cannot be 48"),
        ("l2 = { line = 32 }", "l2.line cannot be 32"),
        ("llc = { size-kib = 0 }", "llc.size-kib cannot be 0"),
        ("llc = { size-kib = 99999999999 }", "llc.size-kib cannot be 99999999999"),
        ("llc = { slices = 0 }", "llc.slices cannot be 0"),
        ("l2 = false", "a victim cache needs an l2"),
        ("l2 = { write = \"through\" }", "only l1d can write through"),
        ("l1i = { prefetch = [\"stride\"] }", "l1i.prefetch cannot be Stride"),
        ("l1d = { replacement = \"mru\" }", "unknown variant `mru`"),
        ("l1d = { sise-kib = 3 }", "unknown field `sise-kib`"),
        ("l1d = { ways = -1 }", "invalid value"),
        ("l1d = { reserve = [{ ways = 1, thread = 1 }] }", "l1d cannot reserve ways"),
        ("llc = { reserve = [{ ways = 11, thread = 1 }] }", "llc: reservations of 11 of 11 ways"),
        ("llc = { reserve = [{ ways = 0, thread = 1 }] }", "llc: reservations of 0"),
        ("llc = { reserve = [{ ways = 1, addresses = \"5-4\" }] }", "no range of addresses: \"5-4\""),
        ("memory = { bytes-per-cycle = nan }", "memory.bytes-per-cycle cannot be NaN"),
        ("memory = { latency = 0 }", "memory.latency cannot be 0"),
        ("clock-ghz = -1.0", "clock-ghz cannot be -1"),
        ("tlb = { data = { entries = 60, ways = 4 } }", "tlb.data.entries cannot be 60 with 4 ways"),
        ("tlb = { walkers = 0 }", "tlb.walkers cannot be 0"),
        ("branch = { table-bits = 60 }", "branch.table-bits cannot be 60"),
        ("branch = { predictor = \"oracle\" }", "unknown variant `oracle`"),
        ("frontend = { uop-cache = { window = 48 } }", "frontend.uop-cache.window cannot be 48"),
        ("l1i = false\nfrontend = { uop-cache = false }", "neither l1i nor frontend.uop-cache"),
        ("core = { width = 0 }", "core.width cannot be 0"),
        ("core = { width = 11 }", "core.width cannot be 11"),
        ("core = { window = 100000 }", "core.window cannot be 100000"),
        ("core = { ports = { load = 0 } }", "core.ports.load cannot be 0"),
        (
            "core = { classes = { divide-wide = { latency = 99999 } } }",
            "core.classes.divide-wide.latency cannot be 99999",
        ),
    ];
    for (change, expected) in cases {
        let (sentence, _) = refused(change);
        assert!(sentence.contains(expected), "{change}: {sentence}");
    }
}

#[test]
fn a_file_needs_a_machine() {
    for (text, expected) in [
        ("", "missing field"),
        ("base = 3", "base is no name"),
        ("base = \"i386\"", "there is no machine \"i386\""),
        ("title", "the machine's file"),
    ] {
        let error = Machine::parse(text).unwrap_err();
        assert!(error.to_string().contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn levels_can_be_taken_away() {
    let machine = Machine::parse("base = \"skylake-sp\"\nl2 = false\nllc = { inclusion = \"non-inclusive\" }").unwrap();
    assert!(machine.l2.is_none() && machine.llc.is_some());
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "[a-z0-9=\\[\\]{}\", .\n-]{0,200}") {
        _ = Machine::parse(&text);
        _ = Machine::parse(&format!("base = \"zen4\"\n{text}"));
    }

    /// Whatever passes the check runs.
    #[test]
    fn any_number_is_refused_or_works(place in 0usize..200, number in prop::sample::select(vec![0u64, 1, 2, 3, 5, 16, 64, 1000, 1 << 40])) {
        let text = MACHINES[1].1;
        let numbers: Vec<_> = text.match_indices("= ").filter(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_digit())).collect();
        let (at, _) = numbers[place % numbers.len()];
        let rest = text[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let changed = format!("{}= {number}{}", &text[..at], rest.strip_prefix('.').unwrap_or(rest));
        if let Ok(machine) = Machine::parse(&changed) {
            super::properties::smoke(&machine);
        }
    }
}
