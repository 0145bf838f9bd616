use std::ffi::OsString;
use std::fs;
use std::path::Path;

use clap::{CommandFactory, Parser};

use super::peers::{PEER_TOOLS, PeerTool};
use super::*;
use crate::args::Cli;

const PAGE: &str = "docs/coming-from.md";

fn understood(line: &str) -> MeantCommand {
    meant(line.split_whitespace().map(OsString::from).collect(), &Cli::command())
}

/// The command that runs and what is said of it, or the error's sentence.
fn told(line: &str) -> (String, Vec<String>) {
    match understood(line) {
        MeantCommand::Own(words) => (shown(&words), Vec::new()),
        MeantCommand::Same { words, remarks } => (shown(&words), remarks),
        MeantCommand::Other(error) => (format!("error: {}", error.message), vec![error.command]),
    }
}

fn parses(line: &str) -> bool {
    let places = line.replace("PID", "4242");
    let words: Vec<&str> = places.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    Cli::try_parse_from(words).is_ok()
}

#[test]
fn the_same_command_runs() {
    for (typed, meant) in [
        ("dwell record -g -F 99 -p 4242", "dwell collect threading --target-pid 4242"),
        ("dwell record -ag -o out -- sleep 10", "dwell collect threading --all --result-dir out --duration 10s"),
        ("dwell record --call-graph dwarf -e cycles ./app -x --y", "dwell collect threading -- ./app -x --y"),
        ("dwell record -p4242 -- sleep 0.5", "dwell collect threading --target-pid 4242 --duration 0.5s"),
        ("dwell sched record -- ./app", "dwell collect threading -- ./app"),
        ("dwell annotate push_item --stdio", "dwell source push_item"),
        ("dwell diff r000th r001th", "dwell compare r000th r001th"),
        ("dwell report --sort comm,dso", "dwell report hotspots --group-by thread-name,module"),
        ("dwell report --stdio -i r000th", "dwell report hotspots r000th"),
        ("dwell report --children", "dwell report top-down"),
        ("dwell report summary -r r5", "dwell report summary r5"),
        ("dwell report blame queue_lock --result-dir=r5", "dwell report blame queue_lock r5"),
        ("dwell sql -r r5 SELECT", "dwell sql SELECT r5"),
        ("dwell top -b -n 1", "dwell top --once"),
        ("dwell -collect threading -result-dir r5 -- ./app", "dwell collect threading --result-dir r5 -- ./app"),
        (
            "dwell --collect=hotspots -knob sampling-interval=2 ./app",
            "dwell collect threading --sampling-interval 2ms -- ./app",
        ),
        ("dwell -report callstacks -r r5 -group-by module", "dwell report bottom-up r5 --group-by module"),
        (
            "dwell -report hotspots -time-filter 0:0.1 -format=csv",
            "dwell report hotspots --time-range 0-0.1 --format csv",
        ),
        ("dwell -report hotspots -r r000 -r r001", "dwell compare r000 r001"),
        ("dwell -report hotspots -source-object function=f -r r5", "dwell source f r5"),
        ("dwell -command stop -r r5", "dwell control r5 stop"),
        ("dwell -finalize -r r5", "dwell finalize r5"),
        ("dwell -p 4242", "dwell collect threading --target-pid 4242"),
        ("dwell -f -c ./app -v", "dwell collect threading -- ./app -v"),
        ("dwell sh -c true", "dwell collect threading -- sh -c true"),
        ("dwell collect hotspots -- ./app", "dwell collect threading -- ./app"),
        ("dwell collect -g -F 99 -- ./app", "dwell collect threading -- ./app"),
        (
            "dwell collect threading -knob target-concurrency=8 -- ./app",
            "dwell collect threading --target-concurrency 8 -- ./app",
        ),
        ("dwell collect sh -x", "dwell collect threading -- sh -x"),
        ("dwell collect threading --duration 10s sh -v", "dwell collect threading --duration 10s -- sh -v"),
        ("dwell collect -result-dir=foo -- ./app", "dwell collect threading --result-dir foo -- ./app"),
    ] {
        let (runs, remarks) = told(typed);
        assert_eq!(runs, meant, "{typed}");
        assert!(parses(&runs), "{runs}");
        assert!(remarks.first().is_some_and(|remark| remark.contains(meant)), "{typed}: {remarks:?}");
    }
}

#[test]
fn options_without_a_meaning_are_said_once() {
    let (_, remarks) = told("dwell record -g --call-graph dwarf -F 99 ./app");
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(remarks[1].starts_with("`-g`, `--call-graph dwarf` changes nothing"), "{remarks:?}");
}

#[test]
fn what_is_not_the_same_is_only_named() {
    for (typed, sentence, hint) in [
        ("dwell record -e cache-misses ./app", "`cache-misses`", "dwell collect threading -- ./app"),
        ("dwell stat ./app", "`perf stat`", "dwell collect threading -- ./app"),
        ("dwell stat -e cycles ./app", "`stat`", "dwell collect threading --events"),
        ("dwell collect -reslt-dir=foo -- ls", "-reslt-dir=foo", "did you mean `--result-dir`?"),
        ("dwell script", "`script`", "dwell export folded"),
        ("dwell sched latency", "`sched latency`", "dwell report threads"),
        ("dwell lock contention", "`lock contention`", "dwell report waits --group-by object,function"),
        ("dwell -collect uarch-exploration ./app", "uarch-exploration", "dwell collect threading"),
        ("dwell -e trace=openat ./app", "no arguments", "dwell collect threading -- ./app"),
    ] {
        let (error, hints) = told(typed);
        assert!(error.starts_with("error: ") && error.contains(sentence), "{typed}: {error}");
        assert!(hints.first().is_some_and(|it| it.starts_with(hint)), "{typed}: {hints:?}");
    }
}

#[test]
fn own_command_lines_pass_as_they_are() {
    for line in [
        "dwell collect -r out -- ls -result-dir x",
        "dwell report waits -l 3",
        "dwell --help",
        "dwell report",
        "dwell vieww",
    ] {
        let MeantCommand::Own(_) = understood(line) else { panic!("{line}") };
    }
}

#[test]
fn analyses_are_known_by_meaning_then_by_spelling() {
    assert_eq!(nearest_analysis("lokcs"), Some("threading"));
    assert_eq!(nearest_analysis("latencey"), Some("latency"));
    assert_eq!(nearest_analysis("quux"), None);
    assert!(no_analysis_error("lokcs").message.contains("no analysis"));
    assert!(meaning_of("gprof-cc").is_some_and(|meaning| meaning.contains("dwell report caller-callee")));
    assert!(meaning_of("callstacks").is_some_and(|meaning| meaning.contains("dwell report bottom-up")));
    assert_eq!(meaning_of("4242"), None);
}

/// Each command of Dwell that a table has is one, with `PID` in the place of a number.
#[test]
fn every_command_of_the_tables_parses() {
    let mut count = 0;
    for habit in PEER_TOOLS.iter().flat_map(|tool| tool.habits) {
        for command in habit.dwell.split('`').skip(1).step_by(2).filter(|span| span.starts_with("dwell ")) {
            assert!(parses(command), "{command}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// Each command of perf and VTune that a table has is understood, and what runs or is named parses.
#[test]
fn every_command_of_perf_and_vtune_is_understood() {
    let typed =
        PEER_TOOLS.iter().flat_map(|tool| tool.habits).flat_map(|habit| habit.typed.split('`').skip(1).step_by(2));
    let known = ["perf ", "vtune ", "strace "];
    for typed in typed.filter(|typed| known.iter().any(|tool| typed.starts_with(tool))) {
        let line = typed.split_once(' ').map_or_else(String::new, |(_, rest)| format!("dwell {rest}"));
        let (meant, remarks) = told(&line);
        let command = if meant.starts_with("error: ") { remarks.first().cloned().unwrap_or_default() } else { meant };
        assert!(command.starts_with("dwell "), "{line}: {command}");
        // A program is missing in the table's words where it is missing in the hint.
        assert!(parses(&command) || parses(&format!("{command} -- ./app")), "{line}: {command}");
    }
}

/// Each option of VTune that a table has alone is known, after `-collect` or `-report`.
#[test]
fn every_option_of_vtune_is_known() {
    let vtune = PEER_TOOLS.iter().filter(|tool| tool.name == "VTune").flat_map(|tool| tool.habits);
    let mut count = 0;
    for habit in vtune {
        let action = if habit.dwell.contains("dwell collect") { "-collect threading" } else { "-report hotspots" };
        for option in habit.typed.split('`').skip(1).step_by(2).filter(|span| span.starts_with('-')) {
            let line = if option.starts_with("-report ") { option.to_owned() } else { format!("{action} {option}") };
            let (meant, _) = told(&format!("dwell {line}"));
            assert!(!meant.contains("no equivalent"), "{line}: {meant}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_page_has_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let page = PEER_TOOLS.iter().fold(page, |page, tool| with_table(&page, tool));
    dwell_generated::is_current(PAGE, &page);
}

/// `page` with the rows of `tool` below the head of its table.
fn with_table(page: &str, tool: &PeerTool) -> String {
    let head = format!("| {} | Dwell | what differs |\n|---|---|---|\n", tool.name);
    let (before, after) = page.split_once(&head).unwrap_or_else(|| panic!("{PAGE} has no table of {}", tool.name));
    let rest = after.split_once("\n\n").map_or("", |(_, rest)| rest);
    let row = |habit: &super::peers::PeerHabit| {
        format!("| {} | {} | {} |\n", habit.typed, habit.dwell, habit.differs).replace("|  |", "| |")
    };
    let rows: String = tool.habits.iter().map(row).collect();
    let end = if rest.is_empty() { String::new() } else { format!("\n{rest}") };
    format!("{before}{head}{rows}{end}")
}

#[test]
fn a_results_folder_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("r007th");
    fs::create_dir(&result).unwrap();
    let line = format!("dwell {}", result.display());
    assert_eq!(told(&line).1, Vec::<String>::new(), "it is none");
    fs::write(result.join("manifest.json"), "{}").unwrap();
    assert_eq!(told(&line).0, format!("dwell report summary {}", result.display()));
}
