//! Verdicts on programs that nobody here wrote, or on small ones that use such runtimes: the planted cause is among the first
//! findings, with a number that was measured without Dwell, and what is healthy is not accused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::real_programs::free_port;
use crate::recording::{Recording, Running, collect, is_type, needs_program, needs_recording, number, text, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("verdicts::postgres_row_locks", postgres),
        Case::new("verdicts::mpi_allreduce", mpi),
        Case::new("verdicts::openmp_critical", openmp),
        Case::new("verdicts::python_executor", python),
        Case::new("verdicts::vfork", vfork),
        Case::new("verdicts::xargs", xargs),
    ]
}

/// Findings that count as told.
const FIRST: usize = 3;

/// The finding among the first that has this id and these words.
fn first(recording: &Recording, id: &str, words: &str) -> Result<Value> {
    let found = recording.rows(&["findings"])?;
    let matches = |row: &&Value| text(row, "id") == id && row.to_string().contains(words);
    let names: Vec<&str> = found.iter().map(|row| text(row, "id")).collect();
    let of_program = found.iter().filter(|row| !["cpus-taken", "oversubscription"].contains(&text(row, "id")));
    let first: Vec<&Value> = of_program.take(FIRST).collect();
    first.into_iter().find(matches).cloned().with_context(|| format!("no {id} about {words}; found were {names:?}"))
}

fn lacks(recording: &Recording, id: &str) -> Result<()> {
    let found = recording.rows(&["findings"])?;
    let wrong = found.iter().find(|row| text(row, "id") == id);
    ensure!(wrong.is_none(), "a false finding: {wrong:?}");
    Ok(())
}

/// The sum of `field` over the rows of `waits` that `chosen` chooses.
fn total(recording: &Recording, field: &str, chosen: impl Fn(&Value) -> bool) -> Result<f64> {
    recording.rows(&["waits", "--include-idle"])?.iter().filter(|row| chosen(row)).map(|row| number(row, field)).sum()
}

/// A C program of these lines, built in `folder`.
fn built(folder: &Path, compiler: &str, source: &str, flags: &[&str]) -> Result<String> {
    let compiler = needs_program(compiler)?;
    let (file, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&file, source)?;
    let status = Command::new(compiler).args(["-O2", "-g", "-o"]).args([&program, &file]).args(flags).status()?;
    ensure!(status.success(), "it does not compile");
    Ok(program.display().to_string())
}

/// A server of the newest PostgreSQL that is installed, as user nobody, in `folder`.
struct Postgres {
    programs: PathBuf,
    port: String,
    server: Running,
}

const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

impl Postgres {
    fn start(folder: &Path) -> Result<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let newest = versions.map(|version| version.path().join("bin")).max();
        let programs = newest.ok_or_else(|| Skip("postgresql is not installed".into()))?;
        std::os::unix::fs::chown(folder, Some(65534), Some(65534))?;
        let (port, data) = (free_port()?.to_string(), folder.join("data").display().to_string());
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(AS_NOBODY[0]);
            command.args(&AS_NOBODY[1..]).arg(programs.join(program)).args(arguments).current_dir(folder);
            command
        };
        let made = Running::start(&mut run("initdb", &["-D", &data, "-A", "trust", "-U", "nobody", "-N"]))?.finish()?;
        ensure!(made.status.success(), "initdb: {}", made.stderr);
        let sockets = folder.display().to_string();
        let server =
            Running::start(&mut run("postgres", &["-D", &data, "-p", &port, "-k", &sockets, "-h", "127.0.0.1"]))?;
        let postgres = Self { programs, port, server };
        wait_for("PostgreSQL to answer", || postgres.ask("select 1").ok())?;
        Ok(postgres)
    }

    fn client(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(["-h", "127.0.0.1", "-p", &self.port, "-U", "nobody"]).args(arguments);
        command
    }

    fn ask(&self, query: &str) -> Result<String> {
        let output = Running::start(&mut self.client("psql", &["-d", "postgres", "-Atc", query]))?.finish()?;
        ensure!(output.status.success(), "{}", output.stderr);
        Ok(output.stdout.trim().to_owned())
    }
}

/// Six clients update one row, each keeps it for 5 ms. How many wait for it, `pg_stat_activity` says.
fn postgres() -> Result<()> {
    needs_recording()?;
    let (data, folder) = (TempDir::new()?, TempDir::new()?);
    let postgres = Postgres::start(data.path())?;
    postgres.ask("create table stock(id int primary key, left_over int); insert into stock values (1, 0)")?;
    let script = data.path().join("order.sql");
    fs::write(
        &script,
        "begin;\nupdate stock set left_over = left_over + 1 where id = 1;\nselect pg_sleep(0.005);\ncommit;\n",
    )?;
    let script = script.display().to_string();
    let load =
        Running::start(&mut postgres.client("pgbench", &["-n", "-f", &script, "-c", "6", "-T", "7", "postgres"]))?;
    wait_for("the clients to work", || (postgres.ask(WAITING).ok()? != "0").then_some(()))?;
    // The postmaster alone: its processes that run already belong to it.
    let pid = postgres.server.pid().to_string();
    let dwell = Running::start(&mut collect(folder.path(), &["--target-pid", &pid, "--duration", "3"], &[]))?;
    let mut waiting = Vec::new();
    for _ in 0..12 {
        sleep(Duration::from_millis(200));
        waiting.push(postgres.ask(WAITING)?.parse::<f64>()?);
    }
    let recording = Recording::in_folder(folder, dwell.finish()?)?;
    drop(load);
    first(&recording, "lock-convoy", "PostgreSQL lock in")?;
    let told = waiting.iter().sum::<f64>() / waiting.len() as f64;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    let waited = total(&recording, "wait_ns", |row| text(row, "object").starts_with("PostgreSQL lock in"))? / elapsed;
    ensure!((0.75..1.25).contains(&(waited / told)), "{waited} waited on average, PostgreSQL says {told}: {waiting:?}");
    Ok(())
}

const WAITING: &str = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";

/// Rank 0 has six times the work of the others, which poll for it. How much CPU time that takes them, they measure.
fn mpi() -> Result<()> {
    needs_recording()?;
    let (folder, run) = (TempDir::new()?, needs_program("mpirun")?);
    let source = r#"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void work(double s) { double end = cpu() + s; volatile long x = 0; while (cpu() < end) for (int i = 0; i < 1000; i++) x++; }
int main(int argc, char **argv)
{
	int rank; double in = 1, out, spent = 0;
	MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 40; i++) {
		work(rank ? 0.005 : 0.03);
		double begun = cpu();
		MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		spent += cpu() - begun;
	}
	printf("truth spent_%d_ns %.0f\n", rank, spent * 1e9); fflush(stdout);
	MPI_Finalize();
}
"#;
    let program = built(folder.path(), "mpicc", source, &[])?;
    let command = [&run, "--allow-run-as-root", "--oversubscribe", "-np", "2", &program];
    let recording = Recording::of(&[], &command)?;
    first(&recording, "spinning", "MPI_Allreduce")?;
    let spent = |rank| recording.output.truth(&format!("spent_{rank}_ns")).context("the program says nothing");
    let (spent, spun) = (spent(0)? + spent(1)?, number(&recording.report(&["summary"])?, "spin_ns")?);
    ensure!((0.8..1.2).contains(&(spun / spent)), "{spun} ns of spinning, MPI_Allreduce used {spent}");
    Ok(())
}

/// Threads take turns in a critical section of a libgomp without symbols, and sleep in it.
fn openmp() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let source = "#include <unistd.h>\nint main() {\n#pragma omp parallel num_threads(4)\nfor (int i = 0; i < 40; i++) {\n\
                  #pragma omp critical(tally)\nusleep(1000); }\n}\n";
    let program = built(folder.path(), "gcc", source, &["-fopenmp"])?;
    let recording = Recording::of(&[], &[&program])?;
    let section = |row: &Value| text(row, "object").contains("tally");
    ensure!(total(&recording, "wait_count", |row| section(row) && is_type(row, "mutex"))? > 20.0, "no waits for it");
    ensure!(total(&recording, "wait_count", |row| section(row) && !is_type(row, "mutex"))? == 0.0, "it is no barrier");
    first(&recording, "lock-held-across-wait", "tally")?;
    Ok(())
}

/// Four threads of an executor compute in Python; what they wait for is the GIL, and work that is not there.
fn python() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = folder.path().join("tasks.py");
    let source = "from concurrent.futures import ThreadPoolExecutor\nimport time\ndef task():\n    \
                  end = time.perf_counter() + 0.0005\n    while time.perf_counter() < end: pass\n\
                  with ThreadPoolExecutor(4) as pool:\n    for done in [pool.submit(task) for _ in range(1500)]: done.result()\n";
    fs::write(&program, source)?;
    let recording = Recording::of(&[], &["/usr/bin/python3", &program.display().to_string()])?;
    first(&recording, "gil-contention", "task")?;
    lacks(&recording, "thundering-herd")?;
    lacks(&recording, "lock-held-across-wait")
}

/// A parent waits in vfork until its child runs a program: for a child, not for a lock of the kernel.
fn vfork() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let source = "#include <spawn.h>\n#include <sys/wait.h>\nextern char **environ;\nint main() { char *a[] = {\"true\", 0};\n\
                  for (int i = 0; i < 30; i++) { pid_t p; posix_spawn(&p, \"/bin/true\", 0, 0, a, environ); waitpid(p, 0, 0); } }\n";
    let program = built(folder.path(), "gcc", source, &[])?;
    let recording = Recording::of(&[], &[&program])?;
    let locks =
        total(&recording, "wait_count", |row| is_type(row, "kernel-lock") && text(row, "object").contains("wait_for"))?;
    ensure!(locks == 0.0, "{locks} waits for locks of the kernel");
    ensure!(total(&recording, "wait_count", |row| is_type(row, "child-process"))? >= 30.0, "no waits for the children");
    lacks(&recording, "single-threaded-phase")
}

/// A process for each file: churn of processes, and nothing for a pool of threads.
fn xargs() -> Result<()> {
    needs_recording()?;
    let recording = Recording::of(&[], &["sh", "-c", "seq 300 | xargs -n 1 /bin/true"])?;
    first(&recording, "process-churn", "processes named true")?;
    lacks(&recording, "thread-churn")
}
