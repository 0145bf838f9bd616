//! `--analyze sockets`: what findings say of programs that wait on sockets, and that they are silent where nothing is wrong.

use anyhow::{Context, Result, ensure};
use dwell_model::SocketCause;
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, number, sample, text};
use crate::sockets::Recorded;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("sockets::queues_are_diagnosed", queues),
        Case::new("sockets::redis_has_no_nagle", redis),
        Case::new("sockets::small_commands_are_diagnosed", small_commands),
    ]
}

/// Each queue has its finding, and the program without it has not.
fn queues() -> Result<()> {
    let program = sample("socket_queues")?;
    for (queue, id, place) in [
        ("accept", "accept-bottleneck", ""),
        ("line", "head-of-line-blocking", "receive_all"),
        ("pieces", "small-reads", "receive_all"),
    ] {
        let findings = |words: &[&str]| Recorded::of(words)?.recording.findings();
        let found = findings(&[&program, queue])?.into_iter().find(|row| text(row, "id") == id);
        let found = found.with_context(|| format!("{queue}: no {id}"))?;
        ensure!(found["stack"].to_string().contains(place), "{queue}: its stack is {}", found["stack"]);
        let fixed = findings(&[&program, queue, "--fixed"])?.into_iter().find(|row| text(row, "id") == id);
        ensure!(fixed.is_none(), "{queue}: the fixed one is diagnosed: {fixed:?}");
    }
    Ok(())
}

fn redis() -> Result<()> {
    let (server, benchmark) = (needs_program("redis-server")?, needs_program("redis-benchmark")?);
    for pipeline in ["1", "16"] {
        let script = format!(
            "{server} --port 7793 --save '' >/dev/null & s=$!; sleep 0.5; \
             {benchmark} -p 7793 -n 5000 -c 4 -q -t get -P {pipeline} >/dev/null; kill $s; wait $s"
        );
        let recorded = Recorded::of(&["sh", "-c", &script])?;
        let held: Vec<SocketCause> = recorded
            .trace
            .sockets
            .causes
            .cause
            .iter()
            .map(|&cause| SocketCause::from_code(cause))
            .filter(|cause| matches!(cause, SocketCause::DelayedAck | SocketCause::Nagle | SocketCause::Cork))
            .collect();
        ensure!(held.is_empty(), "pipeline {pipeline}: {held:?}");
        ensure!(nagle(&recorded.recording)?.is_none(), "pipeline {pipeline}: a finding");
    }
    Ok(())
}

/// The finding of small writes that wait for a delayed ACK.
fn nagle(recording: &Recording) -> Result<Option<Value>> {
    Ok(recording.findings()?.into_iter().find(|row| text(row, "id") == "nagle-delayed-ack"))
}

/// The recipe of docs/recipes/tcp-synchronization.md: cause, part of the wait, call site, and what is gained.
fn small_commands() -> Result<()> {
    let program = sample("tcp_commands")?;
    let slow = Recorded::of(&[&program])?;
    let fixed = Recorded::of(&[&program, "--fixed"])?;
    ensure!(nagle(&fixed.recording)?.is_none(), "the fixed one is diagnosed: {:?}", nagle(&fixed.recording)?);
    let client = slow.asking()?;
    let share = slow.share(client, SocketCause::DelayedAck);
    ensure!(share >= 0.9, "delayed ACKs are {share:.2} of the wait: {:?}", slow.causes(client));
    let findings = slow.recording.findings()?;
    ensure!(text(&findings[0], "id") == "nagle-delayed-ack", "the first finding is {}", findings[0]);
    ensure!(findings[0]["stack"].to_string().contains("\"send_all\""), "its stack is {}", findings[0]["stack"]);
    for caller in ["called by run_command", "called by serve"] {
        ensure!(text(&findings[0], "evidence").contains(caller), "no {caller}: {}", findings[0]);
    }
    let (gain, real) = (number(&findings[0], "cost_ns")?, least_ns(&[&program])? - least_ns(&[&program, "--fixed"])?);
    ensure!((gain / real - 1.0).abs() <= 0.2, "it promises {gain} ns, the fix gains {real} ns");
    shown(&slow)
}

/// What the reports of sockets show of that.
fn shown(slow: &Recorded) -> Result<()> {
    let rows = slow.recording.rows(&["sockets"])?;
    let client = slow.asking()?;
    let local = &slow.trace.sockets.sockets.local[client];
    let row = rows.iter().find(|row| text(row, "local") == local).context("the client is not among the sockets")?;
    ensure!(text(row, "peer_process") == "tcp_commands" && text(row, "protocol") == "tcp", "{row}");
    let by_cause = row["wait_by_cause"].as_object().context("no causes")?;
    let sum: u64 = by_cause.values().filter_map(Value::as_u64).sum();
    ensure!(sum as f64 == number(row, "wait_ns")?, "the causes are {sum} ns of {row}");
    let modes = row["modes"].as_array().context("no modes")?;
    let slow_one = modes.iter().find(|mode| (38e6..60e6).contains(&mode["centre_ns"].as_f64().unwrap_or(0.0)));
    ensure!(modes.len() >= 2 && slow_one.is_some(), "{modes:?}");
    let waits = slow.recording.rows(&["socket-waits", "--filter", "wait-length=30ms-"])?;
    let held = waits.iter().filter(|wait| text(wait, "cause") == "delayed-ack").count();
    ensure!(held >= 60 && held * 10 >= waits.len() * 9, "{held} of {} long waits", waits.len());
    ensure!(waits.iter().any(|wait| wait["bytes_before"] == 16 && wait["bytes_after"] == 8), "bytes of the waits");
    Ok(())
}

/// How long the sample takes without Dwell, by its own word, when others leave it the CPUs: the least of three.
fn least_ns(command: &[&str]) -> Result<f64> {
    let seconds = |_| -> Result<f64> {
        let mut program = std::process::Command::new(command[0]);
        let stdout = crate::recording::Running::start(program.args(&command[1..]))?.finish()?.stdout;
        let words = stdout.split_whitespace().skip_while(|word| *word != "in").nth(1);
        Ok(words.context("the sample does not say how long it took")?.parse()?)
    };
    let all = (0..3).map(seconds).collect::<Result<Vec<f64>>>()?;
    Ok(all.into_iter().fold(f64::INFINITY, f64::min) * 1e9)
}
