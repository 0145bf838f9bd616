//! `dwell source`: time at the lines that a sample marks, and whose files are copied into a result.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, number, run_dwell, sample, text};

/// A user who owns nothing here.
const NOBODY: u32 = 65534;

pub fn cases() -> Vec<Case> {
    vec![Case::new("source::lines", lines), Case::new("source::files_of_others", files_of_others)]
}

fn source(recording: &Recording, arguments: &[&str]) -> Result<Value> {
    let path = recording.path().display().to_string();
    let arguments: Vec<&str> = ["source", &path, "--format", "json"].iter().chain(arguments).copied().collect();
    let output = run_dwell(&arguments)?;
    ensure!(output.status.success(), "dwell {}: {}", arguments.join(" "), output.stderr);
    Ok(serde_json::from_str(&output.stdout)?)
}

/// The row of the line that says `mark`.
fn marked<'a>(document: &'a Value, mark: &str) -> Result<&'a Value> {
    let lines = document["lines"].as_array().context("no lines")?;
    let mark = format!("/* {mark} */");
    lines.iter().find(|line| text(line, "text").contains(&mark)).with_context(|| format!("no line {mark}"))
}

fn sum(rows: &Value, field: &str) -> Result<f64> {
    rows.as_array().context("no rows")?.iter().map(|row| number(row, field)).sum()
}

/// At least `share` of `whole` is `part`.
fn most(what: &str, part: f64, whole: f64, share: f64) -> Result<()> {
    ensure!(part >= share * whole && whole > 0.0, "{what}: {part} of {whole}");
    Ok(())
}

fn lines() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("source_lines")?])?;
    let hot = source(&recording, &["hot_function"])?;
    most("the hot line", number(marked(&hot, "HOT")?, "cpu_ns")?, number(&hot, "cpu_ns")?, 0.9)?;
    let instructions = sum(&hot["instructions"], "cpu_ns")?;
    most("instructions", instructions, number(&hot, "cpu_ns")?, 0.999)?;

    let inlined = source(&recording, &["caller_of_inlined"])?;
    let whole = number(&inlined, "cpu_total_ns")?;
    let line = marked(&inlined, "INLINED")?;
    ensure!(text(line, "inlined_from") == "mix", "{line}");
    most("the inlined line", number(line, "cpu_ns")?, whole, 0.9)?;
    let call = marked(&inlined, "CALL-INLINED")?;
    most("the call's total", number(call, "cpu_total_ns")?, whole, 0.9)?;
    ensure!(number(call, "cpu_ns")? <= 0.1 * whole, "the call has time of its own: {call}");
    let chains = inlined["instructions"].as_array().context("no instructions")?;
    let in_mix = |row: &&Value| row["inlined"][0]["function"] == "mix";
    let in_mix: f64 = chains.iter().filter(in_mix).filter_map(|row| row["cpu_ns"].as_f64()).sum();
    most("instructions of the inlined function", in_mix, whole, 0.9)?;
    let mix = source(&recording, &["mix"])?;
    most("the inlined function by itself", number(marked(&mix, "INLINED")?, "cpu_ns")?, whole, 0.9)?;

    let sleeper = source(&recording, &["sleeper"])?;
    let line = marked(&sleeper, "SLEEP")?;
    let sleeps = recording.output.truth("sleeps").context("the sample printed no truth")?;
    ensure!((number(line, "waits")? - sleeps).abs() <= 2.0, "{line}");
    most("the sleeping line", number(line, "wait_ns")?, number(&sleeper, "wait_ns")?, 0.999)?;
    let calls = sleeper["instructions"].as_array().context("no instructions")?;
    let call = calls.iter().find(|row| row["waits"].as_f64() > Some(0.0)).context("no instruction waits")?;
    ensure!(text(call, "text").starts_with("call") && text(call, "target").contains("sleep"), "{call}");

    let main = source(&recording, &["main", "--module", "source_lines"])?;
    ensure!(number(marked(&main, "CALL-HOT")?, "cpu_total_ns")? > 0.0, "{main}");
    same_by_line(&recording, &hot)?;
    other_forms(&recording)
}

/// `--group-by source-line` says the same of the hot line.
fn same_by_line(recording: &Recording, hot: &Value) -> Result<()> {
    let line = marked(hot, "HOT")?;
    let place = format!("{}:{}", text(line, "file"), line["line"]);
    let rows = recording.rows(&["hotspots", "--group-by", "source-line"])?;
    let row = rows.iter().find(|row| text(row, "source-line") == place).with_context(|| format!("no row {place}"))?;
    ensure!(row["cpu_ns"] == line["cpu_ns"], "{row} is not {line}");
    Ok(())
}

fn other_forms(recording: &Recording) -> Result<()> {
    let path = recording.path().display().to_string();
    let run = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["source", &path].iter().chain(arguments).copied().collect();
        run_dwell(&arguments)
    };
    let csv = run(&["hot_function", "--format", "csv", "--show", "assembly"])?;
    ensure!(csv.stdout.starts_with("address,bytes,text,file,line,"), "{}", csv.stdout);
    let att = run(&["hot_function", "--syntax", "att"])?;
    ensure!(att.stdout.contains("%r") && att.stdout.contains("HOT"), "{}", att.stdout);
    let file = run(&["--file", "source_lines.c", "--show", "source"])?;
    ensure!(file.stdout.contains("/* SLEEP */") && file.stdout.contains("/* INLINED"), "{}", file.stdout);
    for (name, expected) in [("hot_functoin", "did you mean `hot_function`"), ("*", "is not one but")] {
        let output = run(&[name])?;
        ensure!(output.code() == 2 && output.stderr.contains(expected), "{}", output.stderr);
        ensure!(output.stderr.contains("hint: "), "{}", output.stderr);
    }
    Ok(())
}

/// Debug information can name any file, and finalization runs as root: what its namer could not read is not copied.
fn files_of_others() -> Result<()> {
    needs_recording()?;
    let gcc = needs_program("gcc")?;
    let folder = TempDir::new()?;
    let private = folder.path().join("private.c");
    fs::write(&private, "SECRET-OF-A-SOURCE\n".repeat(40))?;
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600))?;
    let no_source = folder.path().join("private");
    fs::write(&no_source, "SECRET-OF-NO-SOURCE\n".repeat(40))?;
    fs::set_permissions(&no_source, fs::Permissions::from_mode(0o600))?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;

    let own = spinner(&gcc, folder.path(), "own", &private)?;
    ensure!(listed(&own)?.contains("SECRET-OF-A-SOURCE"), "root's own source of root's own program is missing");
    let named = spinner(&gcc, folder.path(), "not_a_source", &no_source)?;
    let text = listed(&named)?;
    ensure!(!text.contains("SECRET") && text.contains("was not copied"), "{text}");
    let foreign = spinner(&gcc, folder.path(), "foreign", &private)?;
    chown(&foreign, Some(NOBODY), Some(NOBODY))?;
    let text = listed(&foreign)?;
    ensure!(!text.contains("SECRET") && text.contains("was not copied"), "{text}");
    let shadow = spinner(&gcc, folder.path(), "shadow", Path::new("/etc/shadow"))?;
    let text = listed(&shadow)?;
    ensure!(!text.contains("root:") && text.contains("was not copied"), "{text}");
    Ok(())
}

/// A program whose debug information says that its code comes from `named`.
fn spinner(gcc: &str, folder: &Path, name: &str, named: &Path) -> Result<String> {
    let code = format!(
        "#line 3 \"{}\"\nvolatile unsigned sum;\nint main(void)\n{{\n\tfor (unsigned i = 0; i < 300000000; i++)\n\t\tsum += i;\n\treturn 0;\n}}\n",
        named.display()
    );
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, code)?;
    let output = std::process::Command::new(gcc).args(["-g", "-O1", "-o"]).arg(&program).arg(&source).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program.display().to_string())
}

/// What `dwell source` prints of the program's `main`, and everything that its result holds as text.
fn listed(program: &str) -> Result<String> {
    let recording = Recording::of(&["--user", "root"], &[program])?;
    let path = recording.path().display().to_string();
    let output = run_dwell(&["source", &path, "main", "--module", program, "--context", "1000"])?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(output.stdout)
}
