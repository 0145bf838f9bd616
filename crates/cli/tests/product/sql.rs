//! `dwell export sql` and `dwell sql`: what DuckDB answers about the views is what the reports say, and docs/recipes/sql.md runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{
    Output, Recording, Running, collect, dwell, needs_program, needs_recording, number, root, run_dwell, sample, text,
};

/// Every view of the script.
const VIEWS: [&str; 22] = [
    "stacks",
    "processes",
    "threads",
    "objects",
    "losses",
    "notices",
    "switches",
    "waits",
    "samples",
    "delays",
    "tasks",
    "marker_values",
    "markers",
    "counters",
    "vain_tries",
    "connects",
    "sockets",
    "socket_waits",
    "open_requests",
    "accept_queues",
    "sampled_sends",
    "send_queues",
];

/// Runs a script, then queries; prints the rows of each.
const ASK: &str = "
import duckdb, json, sys
connection = duckdb.connect()
connection.execute(open(sys.argv[1]).read())
answers = [connection.execute(query).fetchall() for query in sys.argv[2:]]
json.dump(answers, sys.stdout, default=str)
";

/// Runs the blocks of a page of Markdown in the order in which they stand. Prints of each its language, the columns that the
/// output below it shows and those that came, what it printed, and of a query all rows without its limit.
const RUN_PAGE: &str = r"
import contextlib, io, json, re, sys
blocks = re.findall(r'```(sql|python)\n(.*?)```(?:\n\n```text\n(.*?)```)?', open(sys.argv[1]).read(), re.S)
scope, answers = {}, []
for language, body, shown in blocks:
    answer = {'language': language, 'body': body, 'shown': shown.split('\n')[0].split()}
    if language == 'sql':
        views = scope['views'].cursor()
        views.execute(body)
        answer['columns'] = [column[0] for column in views.description]
        answer['first'] = len(views.fetchall())
        answer['rows'] = views.execute(re.sub(r' limit \d+;', ';', body)).fetchall()
    else:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(body, scope)
        answer['printed'] = printed.getvalue()
    answers.append(answer)
json.dump(answers, sys.stdout, default=str)
";

/// What the page records.
const MARKED: &str = r#""$0" control "$1" mark warm; "$2"; "$0" control "$1" mark measured; "$2""#;

/// How long the packages may take to come.
const INSTALLING: Duration = Duration::from_secs(300);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("sql::views_add_up", views_add_up),
        Case::new("sql::pauses_are_left_out", pauses_are_left_out),
        Case::new("sql::sockets_add_up", sockets_add_up),
        Case::new("sql::a_missing_table_is_told", a_missing_table_is_told),
        Case::new("sql::a_script_takes_no_question", a_script_takes_no_question),
        Case::new("sql::the_page_runs", the_page_runs),
        Case::new("sql::without_the_library_a_command_is_said", without_the_library_a_command_is_said),
        Case::new("sql::a_query_is_answered", a_query_is_answered),
    ]
}

/// A Python that has DuckDB and Polars, in an environment below the target folder.
fn python() -> Result<PathBuf> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sql-python");
    let python = environment.join("bin/python");
    let has_packages = || {
        Command::new(&python).args(["-c", "import duckdb, polars"]).output().is_ok_and(|output| output.status.success())
    };
    if has_packages() {
        return Ok(python);
    }
    let made =
        Running::start(Command::new(needs_program("python3")?).args(["-m", "venv"]).arg(&environment))?.finish()?;
    if made.status.success() {
        let words = ["-m", "pip", "install", "--quiet", "--timeout", "20", "--retries", "1", "duckdb", "polars"];
        Running::start(Command::new(&python).args(words))?.finish_within(INSTALLING)?;
    }
    if has_packages() { Ok(python) } else { Err(Skip("pip cannot install duckdb and polars".into()).into()) }
}

/// The script of a recording, in a file of `folder`.
fn script(recording: &Recording, folder: &Path) -> Result<PathBuf> {
    let file = folder.join("views.sql");
    let (result, name) = (recording.path().display().to_string(), file.display().to_string());
    let output = run_dwell(&["export", "sql", &result, "-o", &name])?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(file)
}

/// What DuckDB answers to each query.
fn ask(script: &Path, queries: &[&str]) -> Result<Vec<Vec<Value>>> {
    let mut command = Command::new(python()?);
    command.args(["-c", ASK]).arg(script).args(queries);
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    serde_json::from_str(&output.stdout).context("no JSON")
}

/// Sums by the text in a row's first column.
fn sums(rows: &[Value]) -> BTreeMap<String, Vec<f64>> {
    let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter_map(Value::as_array) {
        let name = row.first().and_then(Value::as_str).unwrap_or("null").to_owned();
        let values: Vec<f64> = row.iter().skip(1).filter_map(Value::as_f64).collect();
        let sum = sums.entry(name).or_insert_with(|| vec![0.0; values.len()]);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// The same of the rows of a report.
fn reported(rows: &[Value], name: impl Fn(&Value) -> String, columns: &[&str]) -> Result<BTreeMap<String, Vec<f64>>> {
    let row = |row: &Value| -> Result<Value> {
        let values: Vec<Value> =
            columns.iter().map(|column| Ok(Value::from(number(row, column)?))).collect::<Result<_>>()?;
        Ok(Value::Array([vec![Value::from(name(row))], values].concat()))
    };
    Ok(sums(&rows.iter().map(row).collect::<Result<Vec<_>>>()?))
}

fn name_of(column: &'static str) -> impl Fn(&Value) -> String {
    move |row| text(row, column).to_owned()
}

/// A recording of a sample in a folder whose name a script has to quote.
fn recording(folder: &TempDir, options: &[&str], program: &[&str]) -> Result<Recording> {
    needs_recording()?;
    let parent = folder.path().join("it's [1]*");
    fs::create_dir(&parent)?;
    let output = Running::start(&mut collect(&parent, options, program))?.finish()?;
    Recording::kept(parent.join("result"), output)
}

const WAITS_BY_OBJECT: &str = "select object, sum(wait_ns), count(*) from waits group by 1";
const THREADS: &str = "select thread || ' ' || tid, running_ns, runnable_ns, waiting_ns from threads";

fn views_add_up() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = recording(&folder, &[], &[&sample("convoy")?])?;
    let script = script(&recording, folder.path())?;
    let answers = ask(
        &script,
        &[
            WAITS_BY_OBJECT,
            THREADS,
            "select object_type, sum(wait_ns) from waits group by 1",
            "select object || ' in ' || first_function, 1 from objects join (select distinct object_id from waits) using (object_id)",
            "select function, sum(wait_ns) from waits where object = 'queue_lock' group by 1",
            "select place, count(*) from waits where object = 'queue_lock' group by 1",
            "select coalesce(waker, waker_kind), count(*) from waits where object = 'queue_lock' group by 1",
            "select 'cpu', sum(cpu_ns) from samples",
            "select 'runnable', sum(runnable_ns) from switches",
            "select syscall, count(*) from waits where object = 'queue_lock' group by 1",
        ],
    )?;
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let by_object = reported(&waits, name_of("object"), &["wait_ns", "wait_count"])?;
    ensure!(sums(&answers[0]) == by_object && by_object.contains_key("queue_lock"), "{answers:?}\n{by_object:?}");
    let threads = recording.rows(&["threads"])?;
    let name = |row: &Value| format!("{} {}", text(row, "name"), row["tid"]);
    let threads = reported(&threads, name, &["running_ns", "runnable_ns", "waiting_ns"])?;
    ensure!(sums(&answers[1]) == threads && threads.len() == 5, "{answers:?}\n{threads:?}");
    let by_type = reported(&waits, name_of("type"), &["wait_ns"])?;
    ensure!(sums(&answers[2]) == by_type, "{answers:?}\n{by_type:?}");
    for row in waits.iter().filter(|row| !text(row, "first_wait_at").is_empty()) {
        let function = text(row, "first_wait_at").split(" (").next().unwrap_or_default();
        let told = format!("{} in {function}", text(row, "object"));
        ensure!(sums(&answers[3]).contains_key(&told), "{told} is not in {:?}", answers[3]);
    }
    let of_lock = &by_object["queue_lock"];
    // A stack that is cut short has no function of the program's own.
    let functions = sums(&answers[4]);
    ensure!(functions.values().map(|sums| sums[0]).sum::<f64>() == of_lock[0], "{functions:?} of {of_lock:?}");
    ensure!(functions.keys().filter(|name| *name != "[unknown]").eq(["push_item"]), "{functions:?}");
    let places = sums(&answers[5]);
    ensure!(places.keys().any(|place| place.ends_with("convoy.c:20")), "{places:?}");
    let wakers = sums(&answers[6]);
    ensure!(wakers.keys().any(|waker| waker.starts_with("worker-")), "{wakers:?}");
    let summary = recording.report(&["summary"])?;
    ensure!(sums(&answers[7])["cpu"] == [number(&summary, "cpu_ns")?], "{:?} of {}", answers[7], summary["cpu_ns"]);
    let runnable: f64 = threads.values().map(|times| times[1]).sum();
    ensure!(sums(&answers[8])["runnable"] == [runnable], "{:?} of {runnable}", answers[8]);
    ensure!(sums(&answers[9]).keys().eq(["futex"]), "{:?}", answers[9]);
    Ok(())
}

fn pauses_are_left_out() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = recording(&folder, &[], &[&sample("announce")?, "pauses", "100"])?;
    let script = script(&recording, folder.path())?;
    let tasks = "select task, count(*), sum(duration_ns) from tasks group by 1";
    let values = "select counter, count(*) from counters group by 1";
    let answers = ask(&script, &[WAITS_BY_OBJECT, THREADS, tasks, values])?;
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let by_object = reported(&waits, name_of("object"), &["wait_ns", "wait_count"])?;
    ensure!(sums(&answers[0]) == by_object, "{answers:?}\n{by_object:?}");
    let name = |row: &Value| format!("{} {}", text(row, "name"), row["tid"]);
    let threads = reported(&recording.rows(&["threads"])?, name, &["running_ns", "runnable_ns", "waiting_ns"])?;
    ensure!(sums(&answers[1]) == threads, "{answers:?}\n{threads:?}");
    ensure!(sums(&answers[2]).values().any(|sums| sums[0] > 0.0) && !answers[3].is_empty(), "{answers:?}");
    Ok(())
}

fn sockets_add_up() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = recording(&folder, &["--analyze", "threading,sockets"], &[&sample("tcp_commands")?])?;
    let script = script(&recording, folder.path())?;
    let answers = ask(
        &script,
        &[
            "select local, sum(wait_ns), count(*) from socket_waits group by 1",
            "select local, sum(part.ns) from (select local, unnest(causes) as part from socket_waits) group by 1",
            "select local || ' ' || protocol, sends, receives, bytes_sent, bytes_received from sockets",
        ],
    )?;
    let sockets = recording.rows(&["sockets"])?;
    let waited: Vec<Value> = sockets.iter().filter(|row| row["wait_count"].as_u64() > Some(0)).cloned().collect();
    let waits = reported(&waited, name_of("local"), &["wait_ns", "wait_count"])?;
    ensure!(sums(&answers[0]) == waits && waits.len() == 2, "{:?}\n{waits:?}", answers[0]);
    let causes = reported(&waited, name_of("local"), &["wait_ns"])?;
    ensure!(sums(&answers[1]) == causes, "{:?}\n{causes:?}", answers[1]);
    let name = |row: &Value| format!("{} {}", text(row, "local"), text(row, "protocol"));
    let used = reported(&sockets, name, &["sends", "receives", "bytes_sent", "bytes_received"])?;
    ensure!(sums(&answers[2]) == used, "{:?}\n{used:?}", answers[2]);
    Ok(())
}

fn a_missing_table_is_told() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = recording(&folder, &[], &[&sample("convoy")?])?;
    fs::remove_file(recording.path().join("tables/sockets.parquet"))?;
    let output = run_dwell(&["export", "sql", &recording.path().display().to_string()])?;
    ensure!(output.code() == 1 && output.stdout.is_empty(), "{} {}", output.code(), output.stderr);
    ensure!(output.stderr.contains("sockets.parquet") && output.stderr.contains("hint: "), "{}", output.stderr);
    Ok(())
}

fn a_script_takes_no_question() -> Result<()> {
    for words in
        [&["--filter", "object=queue_lock"][..], &["--time-range", "0s-1s"], &["--include-idle"], &["--weight", "cpu"]]
    {
        let output = run_dwell(&[&["export", "sql"], words].concat())?;
        ensure!(output.code() == 2 && output.stdout.is_empty(), "{words:?}: {} {}", output.code(), output.stderr);
    }
    Ok(())
}

/// Each block of the page gives the columns that it shows, and what the page adds up is what the reports say.
fn the_page_runs() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let made = folder.path().join("result").display().to_string();
    let program = ["sh", "-c", MARKED, env!("CARGO_BIN_EXE_dwell"), &made, &sample("convoy")?];
    let output = Running::start(&mut collect(folder.path(), &[], &program))?.finish()?;
    let path = folder.path().join("r000th");
    fs::rename(&made, &path)?;
    let recording = Recording::kept(path, output)?;
    script(&recording, folder.path())?;
    let page = root().join("docs/recipes/sql.md").canonicalize()?;
    let mut command = Command::new(python()?);
    command.args(["-c", RUN_PAGE]).arg(page).current_dir(folder.path());
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let answers: Vec<Value> = serde_json::from_str(&output.stdout)?;
    let (queries, programs): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| text(answer, "language") == "sql");
    ensure!(queries.len() == 10 && programs.len() == 7, "{} queries, {} programs", queries.len(), programs.len());
    for answer in &queries {
        ensure!(answer["columns"] == answer["shown"], "{answer}");
        ensure!(answer["first"].as_u64() > Some(0), "no rows: {answer}");
    }
    for answer in &programs {
        let has_output = answer["shown"].as_array().is_some_and(|words| !words.is_empty());
        ensure!(text(answer, "printed").is_empty() != has_output, "{answer}");
    }
    page_adds_up(&recording, &queries)
}

fn page_adds_up(recording: &Recording, queries: &[&Value]) -> Result<()> {
    let column_sum = |query: usize, name: &str| -> Result<f64> {
        let columns = queries[query]["columns"].as_array().context("no columns")?;
        let column = columns.iter().position(|column| column == name).context("no such column")?;
        let rows = queries[query]["rows"].as_array().context("no rows")?;
        Ok(rows.iter().filter_map(|row| row[column].as_f64()).sum())
    };
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let wait_ns = |kind: &str| -> Result<f64> {
        let of_kind = waits.iter().filter(|row| kind.is_empty() || text(row, "type") == kind);
        of_kind.map(|row| number(row, "wait_ns")).sum()
    };
    let threads = recording.rows(&["threads"])?;
    let of_convoy = threads.iter().filter(|row| text(row, "process") == "convoy");
    let convoy_ns: f64 = of_convoy.map(|row| number(row, "running_ns")).sum::<Result<f64>>()?;
    let cpu_ns = number(&recording.report(&["summary"])?, "cpu_ns")?;
    for (query, column, reported) in [
        (0, "wait_ns", wait_ns("")?),
        (1, "wait_ns", wait_ns("mutex")?),
        (4, "cpu_ns", convoy_ns),
        (7, "cpu_ns", cpu_ns),
        (8, "running_ns", cpu_ns),
    ] {
        let sum = column_sum(query, column)?;
        ensure!(sum == reported && sum > 0.0, "question {}: {sum} of {reported}", query + 1);
    }
    Ok(())
}

/// DuckDB's library: the one that DWELL_DUCKDB names, else the one in a package of npm, below the target folder.
pub fn library() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("DWELL_DUCKDB") {
        return Ok(named.into());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sql-library");
    let library = folder.join("package/libduckdb.so");
    if !library.is_file() {
        fs::create_dir_all(&folder)?;
        let mut pack = Command::new(needs_program("npm")?);
        pack.args(["pack", "--silent", "@duckdb/node-bindings-linux-x64"]).current_dir(&folder);
        Running::start(&mut pack)?.finish_within(INSTALLING)?;
        let unpack = ["-c", "tar -xzf duckdb-node-bindings-*.tgz && rm duckdb-node-bindings-*.tgz"];
        Running::start(Command::new("sh").args(unpack).current_dir(&folder))?.finish_within(INSTALLING)?;
    }
    if library.is_file() { Ok(library) } else { Err(Skip("npm has no library of DuckDB".into()).into()) }
}

/// `dwell sql` of a recording, with this library.
fn query(recording: &Recording, library: &Path, words: &[&str]) -> Result<Output> {
    let path = recording.path().display().to_string();
    let mut command = dwell(&[&["sql", words[0], &path], &words[1..]].concat());
    Running::start(command.env("DWELL_DUCKDB", library))?.finish()
}

fn without_the_library_a_command_is_said() -> Result<()> {
    let folder = TempDir::new()?;
    let recording = recording(&folder, &[], &[&sample("sleep")?])?;
    let output = query(&recording, Path::new("/nonexistent/libduckdb.so"), &["select 1"])?;
    ensure!(output.code() == 1 && output.stdout.is_empty(), "{} {}", output.code(), output.stdout);
    ensure!(output.stderr.starts_with("error: DuckDB's library cannot be loaded: "), "{}", output.stderr);
    ensure!(
        output.stderr.contains("hint: dwell export sql ") && output.stderr.lines().count() == 2,
        "{}",
        output.stderr
    );
    Ok(())
}

fn a_query_is_answered() -> Result<()> {
    let library = library()?;
    let folder = TempDir::new()?;
    let recording = recording(&folder, &[], &[&sample("convoy")?])?;
    let output = query(&recording, &library, &[WAITS_BY_OBJECT, "--format", "json"])?;
    ensure!(output.code() == 0, "{}", output.stderr);
    let answer: Value = serde_json::from_str(&output.stdout)?;
    let rows = answer["rows"].as_array().context("no rows")?;
    let told = reported(rows, name_of("object"), &["sum(wait_ns)", "count_star()"])?;
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let by_object = reported(&waits, name_of("object"), &["wait_ns", "wait_count"])?;
    ensure!(told == by_object, "{told:?}\n{by_object:?}");
    let longest = "select object, wait_ns from waits where object = 'queue_lock' order by wait_ns desc;";
    let csv = query(&recording, &library, &[longest, "--format", "csv"])?.stdout;
    let of_line = |line: &str| line.split_once(',')?.1.parse::<u64>().ok();
    let lengths: Vec<u64> = csv.lines().skip(1).filter_map(of_line).collect();
    ensure!(lengths.len() as f64 == by_object["queue_lock"][1] && lengths.is_sorted_by(|a, b| a >= b), "{csv}");
    let views = query(&recording, &library, &["show tables"])?.stdout;
    let listed: BTreeMap<&str, ()> = views.lines().skip(1).map(|view| (view, ())).collect();
    ensure!(VIEWS.iter().all(|view| listed.contains_key(view)) && listed.len() == VIEWS.len(), "{views}");
    let output = query(&recording, &library, &["selec 1"])?;
    ensure!(output.code() == 1 && output.stderr.contains("the query fails"), "{}", output.stderr);
    // What a query writes, it would write with the rights of who only wants to read a result.
    let written = folder.path().join("written.csv");
    let words = format!("select 1) as asked; copy (select 1) to '{}'; select * from (select 1", written.display());
    let output = query(&recording, &library, &[&words])?;
    ensure!(output.code() == 1 && !written.exists(), "{} {}", output.stdout, output.stderr);
    Ok(())
}
