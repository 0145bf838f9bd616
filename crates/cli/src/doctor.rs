//! `dwell doctor`: what can be recorded on this machine and what delays threads on it, one line each, with the command that
//! changes it. `--apply` makes such changes, and prints how to undo them.

use std::path::Path;
use std::process::ExitCode;

use dwell_capture::{Capability, VerifiedHook};
use dwell_doctor::{Applied, CHECKS, Change, Check, Machine, Topic, Verdict};
use serde_json::{Value, json};

use crate::args::{DoctorArgs, Format};
use crate::collect::explain;
use crate::error::{Hinted, Result, status, under_sudo};
use crate::output;
use crate::terminal;
use crate::text::style::{Ink, Style, printable, width, wrap};
use crate::text::units;

/// Free space below which a collection is likely to end early.
const LITTLE_SPACE: u64 = 1_000_000_000;

/// Lines without which there is no collection by BPF, and the line with which there is one all the same.
const ESSENTIAL: [&str; 3] = ["capabilities", "btf", "hooks"];
const WITHOUT_BPF: &str = "perf-events";

/// One line: a check of the table, or what only trying tells.
struct Row {
    name: &'static str,
    topic: Topic,
    verdict: Verdict,
    state: String,
    effect: String,
    change: Option<Change>,
}

impl Row {
    fn of_check(check: &Check, machine: &Machine) -> Self {
        let found = (check.look)(machine);
        Self {
            name: check.name,
            topic: check.topic,
            verdict: found.verdict,
            state: found.state,
            effect: found.effect,
            change: found.change,
        }
    }

    fn of_capability(capability: Capability) -> Self {
        Self {
            name: capability.name,
            topic: Topic::Recording,
            verdict: if capability.available { Verdict::Good } else { Verdict::Missing },
            state: capability.detail,
            effect: String::new(),
            change: capability.remedy.map(Change::Shell),
        }
    }

    fn is_essential(&self) -> bool {
        ESSENTIAL.contains(&self.name)
    }
}

/// Prints the lines, or makes changes. The exit status tells whether a collection can work, or whether all was changed.
pub fn run(args: &DoctorArgs) -> Result<ExitCode> {
    if args.hooks {
        return verify_hooks(args.format);
    }
    let machine = args.root.as_ref().map_or_else(Machine::here, Machine::at);
    if let Some(root) = args.root.as_ref().filter(|root| !root.join("proc").is_dir()) {
        let message = format!("{} has no folder proc", root.display());
        return Err(Hinted::usage(message).hint("--root takes a folder with copies of /proc and /sys"));
    }
    let mut rows: Vec<Row> = CHECKS.iter().map(|check| Row::of_check(check, &machine)).collect();
    if !args.apply.is_empty() {
        return change(&machine, &rows, args);
    }
    if args.root.is_none() {
        let tried = dwell_capture::probe().into_iter().chain(free_space(Path::new("."))).map(Row::of_capability);
        rows.splice(0..0, tried);
    }
    let text = match args.format {
        Format::Text => text(&rows, &Style::of_stdout()),
        Format::Json => format!("{:#}\n", json!({ "rows": rows.iter().map(json_row).collect::<Vec<_>>() })),
        Format::Csv => csv(&rows),
    };
    output::print(&text)?;
    let is_good = |row: &Row| row.verdict == Verdict::Good;
    let by_bpf = rows.iter().filter(|row| row.is_essential()).all(is_good);
    let works = by_bpf || rows.iter().any(|row| row.name == WITHOUT_BPF && is_good(row));
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(status::UNAVAILABLE) })
}

/// Loads every hook as a collection does, and prints how many steps the kernel's verifier took for each.
fn verify_hooks(format: Format) -> Result<ExitCode> {
    let (hooks, notices) = dwell_capture::verify_hooks().map_err(|error| explain(error, None))?;
    let cells = |hook: &VerifiedHook| [hook.family.to_owned(), hook.name.clone(), hook.steps.to_string()];
    output::print(&match format {
        Format::Json => {
            let row = |hook: &VerifiedHook| json!({ "family": hook.family, "hook": hook.name, "steps": hook.steps });
            let rows: Vec<Value> = hooks.iter().map(row).collect();
            format!("{:#}\n", json!({ "hooks": rows, "notices": notices }))
        }
        Format::Csv => {
            let head = crate::csv::line(&["family", "hook", "steps"].map(String::from));
            head + &hooks.iter().map(|hook| crate::csv::line(&cells(hook))).collect::<String>()
        }
        Format::Text => {
            let line = |hook: &VerifiedHook| format!("{:>8}  {:12}{}\n", hook.steps, hook.family, hook.name);
            let text: String = hooks.iter().map(line).collect();
            format!("   Steps  Family      Hook\n{text}")
                + &notices.iter().map(|it| format!("{it}\n")).collect::<String>()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn free_space(folder: &Path) -> Option<Capability> {
    let status = rustix::fs::statvfs(folder).ok()?;
    let free = status.f_bavail.saturating_mul(status.f_frsize);
    Some(Capability {
        name: "disk-space",
        available: free >= LITTLE_SPACE,
        detail: format!("{} free here", units::bytes(free)),
        remedy: (free < LITTLE_SPACE).then(|| "dwell collect threading --result-dir OTHER-DISK/r000th …".into()),
    })
}

fn text(rows: &[Row], style: &Style) -> String {
    let name_width = rows.iter().map(|row| width(row.name)).max().unwrap_or(0);
    let section = |title: &str, topic: Topic| {
        let rows = rows.iter().filter(|row| row.topic == topic);
        let lines: String = rows.map(|row| text_row(row, name_width, style)).collect();
        format!("{}\n{lines}", style.paint(Ink::Title, title))
    };
    let recording = section("What can be recorded here", Topic::Recording);
    format!("{recording}\n{}", section("What delays threads here", Topic::Latency))
}

fn text_row(row: &Row, name_width: usize, style: &Style) -> String {
    let mark = match (row.verdict, row.is_essential()) {
        (Verdict::Good, _) => style.paint(Ink::Good, "ok"),
        (Verdict::Missing, true) => style.paint(Ink::Bad, "no"),
        (Verdict::Missing | Verdict::Costs, _) => style.paint(Ink::Warning, "--"),
        (Verdict::Unknown, _) => style.paint(Ink::Faint, " ?"),
    };
    let indent = " ".repeat(name_width + 6);
    let said = if row.effect.is_empty() { row.state.clone() } else { format!("{}: {}", row.state, row.effect) };
    let lines = wrap(&printable(&said), style.width.saturating_sub(indent.len()).max(20)).join(&format!("\n{indent}"));
    let pad = " ".repeat(name_width - width(row.name));
    let hint = row.change.as_ref().map(|change| format!("{indent}hint: {}\n", change.command())).unwrap_or_default();
    format!("{mark}  {}{pad}  {lines}\n{hint}", row.name)
}

fn json_row(row: &Row) -> Value {
    json!({
        "name": row.name,
        "topic": row.topic.id(),
        "verdict": row.verdict.id(),
        "state": row.state,
        "effect": row.effect,
        "command": row.change.as_ref().map(Change::command),
        "change": row.change.as_ref().map(Change::kind),
        "essential": row.is_essential(),
    })
}

fn csv(rows: &[Row]) -> String {
    let mut text = crate::csv::line(&["name", "topic", "verdict", "state", "effect", "command"].map(String::from));
    for row in rows {
        let command = row.change.as_ref().map(Change::command).unwrap_or_default();
        let words = [row.name, row.topic.id(), row.verdict.id(), &row.state, &row.effect, &command];
        text.push_str(&crate::csv::line(&words.map(String::from)));
    }
    text
}

/// Makes the changes that the command line names; says what was changed, and how to undo it.
fn change(machine: &Machine, rows: &[Row], args: &DoctorArgs) -> Result<ExitCode> {
    let mut applied = Vec::new();
    for (name, change) in chosen(rows, &args.apply)? {
        applied.extend(dwell_doctor::apply(machine, name, change));
    }
    let undo = dwell_doctor::undo(&applied);
    output::print(&match args.format {
        Format::Json => format!("{:#}\n", json!({ "applied": json_applied(&applied), "undo": undo })),
        Format::Text | Format::Csv => changed_text(&applied, &undo),
    })?;
    let failed = applied.iter().find_map(|done| Some((done, done.error.as_ref()?)));
    match failed {
        None => Ok(ExitCode::SUCCESS),
        Some((done, error)) => Err(Hinted::new(format!("cannot write {}: {error}", done.path)).hint(under_sudo())),
    }
}

/// What guards the machine, and others on it: changed by name only.
const GUARDS: [&str; 3] = ["rt-throttling", "watchdog", "cgroup-quota"];

/// The changes of the lines with these names. Each must be one that can be made while the machine runs.
fn chosen<'r>(rows: &'r [Row], names: &[String]) -> Result<Vec<(&'static str, &'r Change)>> {
    let writes = |row: &&'r Row| matches!(row.change, Some(Change::Write { .. }));
    if names.iter().any(|name| name == "all") {
        let wanted = |row: &&'r Row| row.topic == Topic::Latency && !GUARDS.contains(&row.name);
        let rows = rows.iter().filter(wanted).filter(writes);
        return Ok(rows.filter_map(|row| Some((row.name, row.change.as_ref()?))).collect());
    }
    let mut found = Vec::new();
    for name in names {
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            return Err(Hinted::usage(format!("there is no {name} to change")).hint("dwell doctor lists the names"));
        };
        match &row.change {
            Some(change @ Change::Write { .. }) => found.push((row.name, change)),
            Some(change) => {
                let message = format!("{name} cannot be changed by writing to /proc or /sys");
                return Err(Hinted::new(message).hint(change.command()));
            }
            None => terminal::print_line(format_args!("dwell: {name} is {}: nothing to change", row.state)),
        }
    }
    Ok(found)
}

fn changed_text(applied: &[Applied], undo: &[String]) -> String {
    let line = |done: &Applied| {
        let now = if done.error.is_some() { "not changed" } else { &done.after };
        format!("{}: {}: {} -> {now}\n", done.name, done.path, done.before)
    };
    let mut text: String = applied.iter().map(line).collect();
    if !undo.is_empty() {
        text.push_str(&format!("undo:\n  {}\n", undo.join("\n  ")));
    }
    text
}

fn json_applied(applied: &[Applied]) -> Vec<Value> {
    let entry = |done: &Applied| json!({ "name": done.name, "path": done.path, "before": done.before, "after": done.after, "error": done.error });
    applied.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, verdict: Verdict, change: Option<Change>) -> Row {
        Row { name, topic: Topic::Latency, verdict, state: "on".into(), effect: "slower".into(), change }
    }

    #[test]
    fn what_costs_comes_with_its_command() {
        let rows =
            [row("turbo", Verdict::Costs, Some(Change::Boot("x=1".into()))), row("governor", Verdict::Good, None)];
        let text = text(&rows, &Style::plain(80));
        let expected =
            "--  turbo     on: slower\n              hint: boot the kernel with x=1\nok  governor  on: slower\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(csv(&rows).ends_with(
            "turbo,latency,costs,on,slower,boot the kernel with x=1\r\ngovernor,latency,good,on,slower,\r\n"
        ));
        assert_eq!(json_row(&rows[0])["change"], "boot");
    }

    #[test]
    fn only_what_can_be_written_is_changed() {
        let write = Change::Write { pattern: "/x".into(), files: vec!["/x".into()], value: "1".into() };
        let rows = [row("a", Verdict::Costs, Some(write)), row("b", Verdict::Costs, Some(Change::Boot("x=1".into())))];
        let names =
            |names: &[&str]| chosen(&rows, &names.iter().map(|&it| it.into()).collect::<Vec<_>>()).map(|it| it.len());
        assert_eq!(names(&["all"]).ok(), Some(1));
        assert_eq!(names(&["a"]).ok(), Some(1));
        assert!(names(&["b"]).is_err() && names(&["c"]).is_err());
    }

    #[test]
    fn free_space_is_known_here() {
        assert!(free_space(Path::new(".")).is_some());
        assert!(free_space(Path::new("/no/such/folder")).is_none());
    }
}
