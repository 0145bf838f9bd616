//! The guard over what hooks cost: no hook, and no function that hooks call, has more than 1 % more BPF instructions than
//! `crates/capture/hook-instructions.txt` says, unless that file is renewed in the same commit, where a reviewer sees it.
//!
//! Counts what clang made, so that it runs on any machine; `make bench-hooks` measures time.

use std::collections::BTreeMap;
use std::process::Command;

use super::loading::FAMILIES;

const FILE: &str = "crates/capture/hook-instructions.txt";
const HINT: &str = "hint: `UPDATE=1 cargo test -p dwell-capture --lib hook_instructions` or `make generate` renews \
    crates/capture/hook-instructions.txt; `make bench-hooks` measures what a hook takes, for the commit's text";
const BYTES_PER_INSTRUCTION: u64 = 8;
/// A count that moved by less than this share needs no new file.
const TOLERATED_PERCENT: u64 = 1;

/// Stands for the families where they all have the same of a function.
const SEVERAL: &str = "several";

/// Instructions by function, each as `FAMILY NAME`.
type Counts = BTreeMap<String, u64>;

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program} does not run: {error}\nhint: make deps"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The release of clang that made the objects, such as `19`: another one makes other instructions of the same source.
fn compiler() -> String {
    let version = output(&dwell_embed::clang(), &["-dumpversion"]);
    version.split('.').next().unwrap_or_default().to_owned()
}

/// Of what `llvm-nm` prints of a family's object: lines of name, type, address and size, both hexadecimal.
fn counts_of(family: &str, symbols: &str) -> Counts {
    let function = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, kind, size) = (words.next()?, words.next()?, words.nth(1)?);
        let bytes = u64::from_str_radix(size, 16).ok()?;
        kind.eq_ignore_ascii_case("t").then(|| (format!("{family} {name}"), bytes / BYTES_PER_INSTRUCTION))
    };
    symbols.lines().filter_map(function).collect()
}

fn counts() -> Counts {
    let symbol_lister = output(&dwell_embed::clang(), &["-print-prog-name=llvm-nm"]);
    let of_family = |(family, _): &(&str, &[u8])| {
        let object = format!("{}/{family}.bpf.o", env!("OUT_DIR"));
        let symbols = output(&symbol_lister, &["--defined-only", "--print-size", "--format=posix", &object]);
        counts_of(family, &symbols)
    };
    FAMILIES.iter().flat_map(of_family).collect()
}

/// One row in place of several for a function that is the same in every family that has it.
fn merged(counts: &Counts) -> Counts {
    let mut of_function: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (name, count) in counts {
        let (family, function) = name.split_once(' ').unwrap_or_default();
        of_function.entry(function).or_default().push((family, *count));
    }
    let rows = of_function.into_iter().flat_map(|(function, counts)| {
        let is_same = counts.len() > 1 && counts.iter().all(|(_, count)| *count == counts[0].1);
        let rows = if is_same { vec![(SEVERAL, counts[0].1)] } else { counts };
        rows.into_iter().map(move |(family, count)| (format!("{family} {function}"), count))
    });
    rows.collect()
}

fn text_of(compiler: &str, counts: &Counts) -> String {
    let rows: String = counts.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
    format!(
        "# BPF instructions of each hook and of each function that hooks call, by family, `several` where they all have the same.\n\
         # `make generate` writes this file, and `make check` fails when a count is off by more than {TOLERATED_PERCENT} %.\n# clang {compiler}\n{rows}"
    )
}

/// The compiler and the counts of a text that `text_of` made.
fn read(text: &str) -> (String, Counts) {
    let compiler = text.lines().find_map(|line| line.strip_prefix("# clang ")).unwrap_or_default();
    let row = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).filter_map(row);
    (compiler.to_owned(), rows.collect())
}

/// A sentence for each count of `now` that is not as `known`.
fn differences(known: &Counts, now: &Counts) -> Vec<String> {
    let changed = now.iter().filter_map(|(name, now)| {
        let Some(known) = known.get(name) else { return Some(format!("{name} is new, with {now} instructions")) };
        let verb = if now > known { "grew" } else { "shrank" };
        let percent = (*now as f64 / *known as f64 - 1.0) * 100.0;
        (now.abs_diff(*known) * 100 > known * TOLERATED_PERCENT)
            .then(|| format!("{name} {verb} from {known} to {now} instructions ({percent:+.1} %)"))
    });
    let gone = known.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name} is gone"));
    changed.chain(gone).collect()
}

#[test]
fn no_hook_grows_unseen() {
    let (compiler, now) = (compiler(), merged(&counts()));
    let (made_by, known) = read(&dwell_generated::known(FILE, &text_of(&compiler, &now)));
    assert!(!known.is_empty(), "\n{FILE} is missing or names no hook\n{HINT}\n");
    if made_by != compiler {
        eprintln!("not compared: {FILE} counts what clang {made_by} makes, and this is clang {compiler}");
        return;
    }
    let differences = differences(&known, &now);
    assert!(differences.is_empty(), "\n{}\n{HINT}\n", differences.join("\n"));
}

#[test]
fn every_family_but_that_of_the_maps_is_counted() {
    let counts = counts();
    let is_counted = |family: &str| counts.keys().any(|name| name.starts_with(&format!("{family} ")));
    let uncounted: Vec<&str> = FAMILIES.iter().map(|(family, _)| *family).filter(|it| !is_counted(it)).collect();
    assert_eq!(uncounted, ["maps"]);
    assert!(counts["switch on_switch"] > 500, "{}", counts["switch on_switch"]);
}

#[test]
fn a_hook_that_grew_is_named_with_both_counts() {
    let now = counts();
    let mut known = now.clone();
    let on_switch = now["switch on_switch"];
    known.insert("switch on_switch".into(), on_switch * 97 / 100);
    let told = differences(&known, &now);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(&format!("switch on_switch grew from {} to {on_switch} ", on_switch * 97 / 100)));
    assert!(differences(&now, &now).is_empty());
}

#[test]
fn a_percent_is_tolerated_and_no_more() {
    let of = |count| Counts::from([("switch on_switch".to_owned(), count)]);
    assert!(differences(&of(1000), &of(1010)).is_empty());
    assert_eq!(differences(&of(1000), &of(1011)), ["switch on_switch grew from 1000 to 1011 instructions (+1.1 %)"]);
    assert_eq!(differences(&of(1000), &of(980)), ["switch on_switch shrank from 1000 to 980 instructions (-2.0 %)"]);
    assert_eq!(differences(&Counts::new(), &of(5)), ["switch on_switch is new, with 5 instructions"]);
    assert_eq!(differences(&of(5), &Counts::new()), ["switch on_switch is gone"]);
}

#[test]
fn what_families_have_in_common_is_one_row() {
    let of = |rows: &[(&str, u64)]| rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Counts>();
    let counts =
        of(&[("sample step", 9), ("switch on_switch", 7), ("switch step", 9), ("switch walk", 3), ("waking walk", 4)]);
    let expected = of(&[("several step", 9), ("switch on_switch", 7), ("switch walk", 3), ("waking walk", 4)]);
    assert_eq!(merged(&counts), expected);
}

#[test]
fn the_text_is_read_as_it_is_written() {
    let symbols = "LICENSE D 0 d\non_switch T 0 6d68\nfirst_use t b720 10\nscope R 0 18\n";
    let counts = counts_of("switch", symbols);
    let expected = [("switch first_use".to_owned(), 2), ("switch on_switch".to_owned(), 3501)];
    assert_eq!(counts, Counts::from(expected));
    assert_eq!(read(&text_of("19", &counts)), ("19".to_owned(), counts));
}
