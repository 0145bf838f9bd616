//! What the checks say of machines whose `/proc` and `/sys` are written down in `machines/`: `PATH: TEXT`, or lines that are
//! indented by four blanks. The snapshots beside have each check's verdict, state and command.
#![allow(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::Path;

use dwell_doctor::{CHECKS, Change, Check, Machine, Topic, Verdict, apply, undo};
use tempfile::TempDir;

/// The files of a machine, laid out.
fn laid_out(name: &str) -> TempDir {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name).with_extension("txt");
    let folder = TempDir::new().expect("folder");
    let mut path = folder.path().to_owned();
    for line in fs::read_to_string(source).expect("a machine").lines() {
        let (start, text) = match line.strip_prefix("    ") {
            Some(text) => (fs::read_to_string(&path).expect("a file"), text),
            None => {
                let (name, text) = line.split_once(':').expect("a path");
                path = folder.path().join(name.trim_start_matches('/'));
                (String::new(), text.trim_start())
            }
        };
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(&path, format!("{start}{text}\n")).expect("a file");
    }
    folder
}

fn said_of(name: &str) -> String {
    let folder = laid_out(name);
    let machine = Machine::at(folder.path());
    let line = |check: &Check| {
        let found = (check.look)(&machine);
        let command = found.change.map(|change| format!("\n    {}: {}", change.kind(), change.command()));
        format!("{} {}: {}{}\n", found.verdict.id(), check.name, found.state, command.unwrap_or_default())
    };
    CHECKS.iter().map(line).collect()
}

#[test]
fn a_server_as_delivered() {
    insta::assert_snapshot!(said_of("xeon-as-delivered"));
}

#[test]
fn a_server_tuned_for_latency() {
    insta::assert_snapshot!(said_of("xeon-tuned"));
}

#[test]
fn a_container_in_a_virtual_machine() {
    insta::assert_snapshot!(said_of("cloud-vm-container"));
}

#[test]
fn an_old_kernel_with_control_groups_of_version_1() {
    insta::assert_snapshot!(said_of("laptop-old-groups"));
}

/// Neither `/proc` nor `/sys` can be read: every check says so, and none takes that for the state that it hopes for.
#[test]
fn what_cannot_be_read_is_not_known() {
    let folder = TempDir::new().expect("folder");
    let machine = Machine::at(folder.path());
    for check in CHECKS {
        let found = (check.look)(&machine);
        assert_eq!(found.verdict, Verdict::Unknown, "{}: {}", check.name, found.state);
        assert!(!found.state.is_empty() && !found.effect.is_empty() && found.change.is_none(), "{}", check.name);
    }
}

#[test]
fn this_machine_is_told_of() {
    for check in CHECKS {
        let found = (check.look)(&Machine::here());
        assert!(!found.state.is_empty(), "{}", check.name);
    }
}

#[test]
fn names_are_those_of_one_check() {
    for (nth, check) in CHECKS.iter().enumerate() {
        assert!(CHECKS[..nth].iter().all(|other| other.name != check.name), "{}", check.name);
    }
    assert!(CHECKS.iter().any(|check| check.topic == Topic::Latency));
}

/// Every change that writes is made, read back, found to be good, and undone by what `undo` says.
#[test]
fn changes_are_made_and_can_be_undone() {
    let folder = laid_out("xeon-as-delivered");
    let machine = Machine::at(folder.path());
    let mut made = 0;
    for check in CHECKS {
        let found = (check.look)(&machine);
        let Some(change @ Change::Write { .. }) = &found.change else { continue };
        let applied = apply(&machine, check.name, change);
        assert!(applied.iter().all(|done| done.error.is_none()), "{applied:?}");
        made += applied.len();
        for command in undo(&applied) {
            let (value, files) =
                command.strip_prefix("echo ").and_then(|it| it.split_once(" | sudo tee ")).expect("a command");
            for file in files.split(' ') {
                fs::write(folder.path().join(&file[1..]), format!("{}\n", value.trim_matches('\''))).expect("a file");
            }
        }
        assert_eq!((check.look)(&machine), found, "{}", check.name);
        apply(&machine, check.name, change);
    }
    assert!(made > 8, "{made}");
    let good = |name: &str| {
        let check = CHECKS.iter().find(|check| check.name == name).expect("a check");
        (check.look)(&machine).verdict == Verdict::Good
    };
    for name in [
        "governor",
        "turbo",
        "clocksource",
        "numa-balancing",
        "rt-throttling",
        "watchdog",
        "thp",
        "perf_event_paranoid",
    ] {
        assert!(good(name), "{name}");
    }
}

#[test]
fn a_refused_write_is_told() {
    let folder = TempDir::new().expect("folder");
    let change = Change::Write { pattern: "/x/y".into(), files: vec!["/x/y".into()], value: "1".into() };
    let applied = apply(&Machine::at(folder.path()), "x", &change);
    assert!(applied[0].error.is_some());
    assert!(undo(&applied).is_empty(), "nothing was changed");
}
