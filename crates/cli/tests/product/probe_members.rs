//! `--probe` with parameters by their names: members, bit fields, enumerations, texts in place and debug information in a separate
//! file, against what the program prints of itself; what a probe cannot read is refused with the place.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, number, text};
use crate::value_probes::refuses;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("probe_members::as_the_program_says", as_the_program_says),
        Case::new("probe_members::separate_debug_file", separate_debug_file),
        Case::new("probe_members::bad_input", bad_input),
    ]
}

/// Passes a structure 100 times, and prints the sums of its members as it goes.
const PROGRAM: &str = r#"
#include <stdio.h>

enum state { IDLE, BUSY = 5, BROKEN = -2 };
typedef unsigned int count_t;

struct queue {
	long padding;
	count_t len;
	struct queue *next;
};

struct request {
	char kind[8];
	const char *name;
	struct queue queue;
	struct queue *other;
	enum state state;
	unsigned flags : 3, level : 5;
	signed int delta : 4;
	union {
		short small;
		double large;
	};
};

struct pair {
	int a, b;
};

static volatile long total;

__attribute__((noinline)) struct request *process_request(struct request *req, unsigned char id, struct pair both, double ratio, enum state state)
{
	total += req->queue.len + id + both.a + (long)ratio + state;
	return req;
}

int main(void)
{
	static struct request request, other;
	static struct queue second = {.len = 70000}, third = {.len = 9};
	static const char *names[] = {"alice", "bob"};

	long len = 0, flags = 0, level = 0, delta = 0, small = 0, next = 0, other_len = 0, busy = 0;

	for (int turn = 0; turn < 100; turn++) {
		struct request *now = turn % 2 ? &request : &other;
		struct pair both = {turn, 2};

		now->name = names[turn % 2];
		now->queue.len = turn;
		now->queue.next = &second;
		second.next = &third;
		now->other = turn % 10 ? &second : (struct queue *)8;
		now->state = turn % 4 == 0 ? BROKEN : BUSY;
		now->flags = turn % 8;
		now->level = turn % 32;
		now->delta = turn % 16 - 8;
		now->small = -turn;
		__builtin_memcpy(now->kind, "kind-678", 8);
		len += now->queue.len;
		flags += now->flags;
		level += now->level;
		delta += now->delta;
		small += now->small;
		next += now->queue.next->next->len;
		other_len += turn % 10 ? now->other->len : 0;
		busy += now->state == BUSY;
		process_request(now, 200, both, 2.5, turn % 3 ? BUSY : IDLE);
	}
	printf("len %ld\nflags %ld\nlevel %ld\ndelta %ld\nsmall %ld\nnext %ld\nother %ld\nbusy %ld\n", len, flags, level, delta, small,
	       next, other_len, busy);
	return 0;
}
"#;

const VALUES: &str = "len=req->queue.len, flags=req->flags, level=req->level, delta=req->delta, small=req->small, \
                      next=req->queue.next->next->len, other=req->other->len, id";

fn program(folder: &Path, options: &[&str]) -> Result<String> {
    needs_recording()?;
    let gcc = needs_program("gcc")?;
    let (source, program) = (folder.join("members.c"), folder.join("members"));
    fs::write(&source, PROGRAM)?;
    let output = Command::new(gcc).args(options).arg("-o").arg(&program).arg(&source).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program.display().to_string())
}

/// What the program says that `name` is.
fn truth(said: &str, name: &str) -> Result<f64> {
    let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(line.with_context(|| format!("the program says nothing of {name}: {said}"))?.parse()?)
}

fn row<'r>(rows: &'r [Value], probe: &str, value: &str) -> Result<&'r Value> {
    let found = rows.iter().find(|row| text(row, "probe") == probe && text(row, "value") == value);
    found.with_context(|| format!("no row {probe} {value}: {rows:?}"))
}

fn check(program: &str) -> Result<()> {
    let said = Command::new(program).output()?.stdout;
    let said = String::from_utf8_lossy(&said);
    let (first, texts) = (
        format!("r=uprobe:process_request({VALUES})"),
        "t=uprobe:process_request(req->name, req->kind, req->state, how=state) if req->state == BUSY && req->name != \"bobby\"",
    );
    let options = ["--probe", &first, "--probe", texts, "--probe", "back=uretprobe:process_request(ret->queue.len)"];
    let recording = Recording::of(&options, &[program])?;
    let rows = recording.rows(&["probes"])?;
    for value in ["len", "flags", "level", "delta", "small", "next", "other"] {
        let row = row(&rows, "r", value)?;
        // Every tenth `other` is an address at which nothing lies.
        let faulted = if value == "other" { 10.0 } else { 0.0 };
        ensure!(number(row, "hits")? == 100.0 && number(row, "faulted")? == faulted, "{value}: {row}");
        ensure!(number(row, "sum")? == truth(&said, value)?, "{value}: {row}, the program says {said}");
    }
    ensure!(number(row(&rows, "r", "id")?, "max")? == 200.0, "{rows:?}");
    let busy = truth(&said, "busy")?;
    for (value, frequent) in [
        ("req->name", format!("\"bob\" 50, \"alice\" {}", busy - 50.0)),
        ("req->kind", format!("\"kind-678\" {busy}")),
        ("req->state", format!("\"BUSY\" {busy}")),
    ] {
        let row = row(&rows, "t", value)?;
        ensure!(number(row, "hits")? == 100.0 && number(row, "passed")? == busy, "{value}: {row}");
        ensure!(text(row, "frequent") == frequent, "{value}: {row}");
    }
    ensure!(text(row(&rows, "t", "how")?, "frequent").contains("IDLE"), "{rows:?}");
    let back = row(&rows, "back", "ret->queue.len")?;
    ensure!(number(back, "sum")? == truth(&said, "len")?, "{back}");
    Ok(())
}

fn as_the_program_says() -> Result<()> {
    for options in [["-O0", "-g"], ["-O2", "-g"], ["-O2", "-gdwarf-4"]] {
        let folder = TempDir::new()?;
        check(&program(folder.path(), &options)?).with_context(|| format!("{options:?}"))?;
    }
    Ok(())
}

/// The debug information, and the function's name, are in a file that the program links to.
fn separate_debug_file() -> Result<()> {
    let objcopy = needs_program("objcopy")?;
    let folder = TempDir::new()?;
    let program = program(folder.path(), &["-O2", "-g"])?;
    let debug = format!("{program}.debug");
    let link = format!("--add-gnu-debuglink={debug}");
    for arguments in
        [vec!["--only-keep-debug", &program, &debug], vec!["--strip-all", &program], vec![link.as_str(), &program]]
    {
        let output = Command::new(&objcopy).args(&arguments).output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    check(&program)
}

fn bad_input() -> Result<()> {
    let folder = TempDir::new()?;
    let with = program(folder.path(), &["-O1", "-g"])?;
    for (values, error, pointed, hint) in [
        ("rec->queue", "no parameter `rec`", "rec->queue", "the nearest is req;"),
        ("req->que.len", "request has no member `que`", "que.len", "the nearest is queue;"),
        ("req.queue", "`.` stands behind an address", ".queue", "->queue"),
        ("req->queue->len", "`->` stands behind a structure", "->len", ".len"),
        ("req->queue", "`queue` is a structure", "queue", "len"),
        ("req->large", "`large` is a floating-point number", "large", "large:x64"),
        ("ratio", "`ratio` cannot be read: it is a floating-point number", "ratio", "leave this value out"),
        ("both.a", "`both` cannot be read: it is a structure by value", "both.a", "leave this value out"),
        ("id.x", "what is before `x` has no members", "x", "structures"),
        ("id:str", "`id` is no text", "id:str", "leave `:str` out"),
    ] {
        refuses(&with, &format!("r=uprobe:process_request({values})"), error, pointed, hint)?;
    }
    refuses(
        &with,
        "r=uprobe:process_request(state) if state == BUSSY",
        "called `BUSSY`",
        "BUSSY",
        "the nearest is BUSY;",
    )?;
    refuses(&with, "r=uprobe:process_request(id) if id > 256", "no value can be 256", "256", "from 0 to 255")?;
    let without = program(folder.path(), &["-O1"])?;
    refuses(&without, "r=uprobe:process_request(req)", "has no debug information", "req)", "compile it with -g")
}
