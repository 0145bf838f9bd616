//! Programs with a known cause of their slowness.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::postgres::Postgres;
use super::{Measured, Planted, Program, Recorded, built, total};
use crate::recording::{Recording, Running, collect, is_type, needs_program, number, text, wait_for};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "postgres_row_locks",
        planted: "six clients update one row",
        cause: Some(Planted::Wait("PostgreSQL lock in")),
        may_tell: &[],
        quick: true,
        record: postgres,
    },
    Program {
        name: "mpi_allreduce",
        planted: "a rank has six times the work, the other polls for it",
        cause: Some(Planted::Finding("spinning", "MPI_Allreduce")),
        // The ranks do not share the work evenly; while they connect, PSM sleeps and looks.
        may_tell: &[],
        quick: true,
        record: mpi,
    },
    Program {
        name: "openmp_critical",
        planted: "threads sleep in a critical section, in a libgomp without symbols",
        cause: Some(Planted::Wait("tally")),
        // The lock is not fair: some threads are done before the others.
        may_tell: &[],
        quick: true,
        record: openmp,
    },
    Program {
        name: "python_executor",
        planted: "four threads of an executor compute in Python",
        cause: Some(Planted::Wait("task")),
        // In some runs the workers hand the GIL over five hundred times a second, for tasks of half a millisecond.
        may_tell: &["fine-grained-waits"],
        quick: true,
        record: python,
    },
    Program {
        name: "java_monitor",
        planted: "four Java threads sleep in a synchronized block by turns",
        cause: Some(Planted::Wait("java.lang.Object monitor")),
        may_tell: &[],
        quick: true,
        record: java,
    },
    Program {
        name: "xargs",
        planted: "a process for each item",
        cause: Some(Planted::Finding("process-churn", "processes named true")),
        may_tell: &[],
        quick: true,
        record: xargs,
    },
    Program { name: "vfork", planted: "", cause: None, may_tell: &[], quick: true, record: vfork },
];

/// Six clients update one row, each keeps it for 5 ms. How many wait for it, `pg_stat_activity` says.
fn postgres() -> Result<Recorded> {
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
    let truth = waiting.iter().sum::<f64>() / waiting.len() as f64;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    let dwell = total(&recording, "wait_ns", |row| text(row, "object").starts_with("PostgreSQL lock in"))? / elapsed;
    let measured = Measured { what: "clients that wait for a lock", dwell, truth, within: 0.75..1.25 };
    Ok(Recorded { recording, measured: Some(measured) })
}

const WAITING: &str = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";

/// Rank 0 has six times the work of the others, which poll for it. How much CPU time that takes them, they measure.
fn mpi() -> Result<Recorded> {
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
    let spent = |rank| recording.output.truth(&format!("spent_{rank}_ns")).context("the program says nothing");
    let truth = (spent(0)? + spent(1)?) / 1e9;
    let dwell = number(&recording.report(&["summary"])?, "spin_ns")? / 1e9;
    let measured = Measured { what: "CPU seconds in MPI_Allreduce", dwell, truth, within: 0.8..1.2 };
    Ok(Recorded { recording, measured: Some(measured) })
}

/// Threads take turns in a critical section of a libgomp without symbols, and sleep in it.
fn openmp() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let source = "#include <unistd.h>\nint main() {\n#pragma omp parallel num_threads(4)\nfor (int i = 0; i < 40; i++) {\n\
                  #pragma omp critical(tally)\nusleep(1000); }\n}\n";
    let program = built(folder.path(), "gcc", source, &["-fopenmp"])?;
    let recording = Recording::of(&[], &[&program])?;
    let section = |row: &Value| text(row, "object").contains("tally");
    ensure!(total(&recording, "wait_count", |row| section(row) && is_type(row, "mutex"))? > 20.0, "no waits for it");
    ensure!(total(&recording, "wait_count", |row| section(row) && !is_type(row, "mutex"))? == 0.0, "it is no barrier");
    Ok(recording.into())
}

/// Four threads of an executor compute in Python; what they wait for is the GIL, and work that is not there.
fn python() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = folder.path().join("tasks.py");
    let source = "from concurrent.futures import ThreadPoolExecutor\nimport time\ndef task():\n    \
                  end = time.perf_counter() + 0.0005\n    while time.perf_counter() < end: pass\n\
                  with ThreadPoolExecutor(4) as pool:\n    for done in [pool.submit(task) for _ in range(1500)]: done.result()\n";
    fs::write(&program, source)?;
    Ok(Recording::of(&[], &["/usr/bin/python3", &program.display().to_string()])?.into())
}

/// Four Java threads take turns to sleep in a synchronized block; how long they waited for it, they measure.
fn java() -> Result<Recorded> {
    let (folder, compiler, java) = (TempDir::new()?, needs_program("javac")?, needs_program("java")?);
    let source = r#"
public class Turns {
	static final Object turn = new Object();
	static long waited;

	static void work() {
		for (int i = 0; i < 100; i++) {
			long begun = System.nanoTime();
			synchronized (turn) {
				waited += System.nanoTime() - begun;
				try { Thread.sleep(1); } catch (InterruptedException e) { return; }
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < 4; i++) { threads[i] = new Thread(Turns::work); threads[i].start(); }
		for (Thread thread : threads) thread.join();
		System.out.println("truth waited_ns " + waited);
	}
}
"#;
    let file = folder.path().join("Turns.java");
    fs::write(&file, source)?;
    let place = folder.path().display().to_string();
    ensure!(Command::new(compiler).args(["-d", &place]).arg(&file).status()?.success(), "it does not compile");
    let recording = Recording::of(&[], &[&java, "-cp", &place, "Turns"])?;
    let entered = |row: &Value| text(row, "object") == "java.lang.Object monitor";
    let dwell = total(&recording, "wait_ns", entered)? / 1e9;
    let truth = recording.output.truth("waited_ns").context("the program says nothing")? / 1e9;
    // In the run queue, after the wait, the thread still waits as it sees it.
    let measured = Measured { what: "seconds of waits for the monitor", dwell, truth, within: 0.6..1.1 };
    Ok(Recorded { recording, measured: Some(measured) })
}

/// A process for each item.
fn xargs() -> Result<Recorded> {
    Ok(Recording::of(&[], &["sh", "-c", "seq 300 | xargs -n 1 /bin/true"])?.into())
}

/// A parent waits in vfork until its child runs a program: for a child, not for a lock of the kernel.
fn vfork() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let source = "#include <spawn.h>\n#include <sys/wait.h>\nextern char **environ;\nint main() { char *a[] = {\"true\", 0};\n\
                  for (int i = 0; i < 30; i++) { pid_t p; posix_spawn(&p, \"/bin/true\", 0, 0, a, environ); waitpid(p, 0, 0); } }\n";
    let program = built(folder.path(), "gcc", source, &[])?;
    let recording = Recording::of(&[], &[&program])?;
    let locks =
        total(&recording, "wait_count", |row| is_type(row, "kernel-lock") && text(row, "object").contains("wait_for"))?;
    ensure!(locks == 0.0, "{locks} waits for locks of the kernel");
    ensure!(total(&recording, "wait_count", |row| is_type(row, "child-process"))? >= 30.0, "no waits for the children");
    Ok(recording.into())
}
