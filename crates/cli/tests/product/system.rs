//! `--analyze system`: the whole machine's counters, against what a program alone in a network namespace knows that it did.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use dwell_model::ProcessId;
use dwell_store::{ResultFolder, Trace};
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, number, text};

/// Sends on loopback for a second; says how many bytes in how many calls.
const SENDER: &str = "
import socket, threading, time
listener = socket.create_server(('127.0.0.1', 0))
def drain():
    peer, _ = listener.accept()
    while peer.recv(1 << 20): pass
threading.Thread(target=drain, daemon=True).start()
out = socket.create_connection(listener.getsockname())
sent = calls = 0
end = time.time() + 1
while time.time() < end:
    sent += out.send(b'x' * 8192)
    calls += 1
time.sleep(0.2) # the namespace goes with the program: what comes after the last reading would not be counted
print('truth bytes', sent)
print('truth calls', calls)
";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("system::traffic_of_the_programs_own_network", own_network),
        Case::new("system::processor_time_is_all_there_is", processor_time),
        Case::new("system::an_interface_that_goes_is_a_loss", interface_goes),
        Case::new("system::nothing_unless_asked_for", nothing_unasked),
    ]
}

/// Runs `script` in a network namespace of its own, with loopback up.
fn in_own_network(script: &str, options: &[&str]) -> Result<Recording> {
    let (unshare, _) = (needs_program("unshare")?, needs_program("ip")?);
    let script = format!("ip link set lo up && {script}");
    let options: Vec<&str> = ["--analyze", "system"].iter().chain(options).copied().collect();
    Recording::of(&options, &[&unshare, "--net", "sh", "-c", &script])
}

/// The counters of the summary by name.
fn counters(recording: &Recording) -> Result<BTreeMap<String, Value>> {
    let summary = recording.report(&["summary"])?;
    let rows = summary["system"].as_array().context("the summary has no `system`")?;
    Ok(rows.iter().map(|row| (text(row, "counter").to_owned(), row.clone())).collect())
}

fn total(counters: &BTreeMap<String, Value>, matching: impl Fn(&str) -> bool) -> Result<f64> {
    let (_, row) = counters.iter().find(|(name, _)| matching(name)).context("no such counter")?;
    number(row, "total")
}

fn own_network() -> Result<()> {
    let python = needs_program("python3")?;
    let recording = in_own_network(&format!("exec {python} -c \"{SENDER}\""), &["--system-interval", "20ms"])?;
    let truth = |key: &str| recording.output.truth(key).with_context(|| format!("no truth {key}"));
    let (sent, calls) = (truth("bytes")?, truth("calls")?);
    let counters = counters(&recording)?;
    for name in ["Bytes Sent", "Bytes Received"] {
        let counted = total(&counters, |it| it.starts_with("Network lo (net:") && it.ends_with(name))?;
        ensure!(counted >= sent && counted < sent * 1.1, "{name}: {counted} of {sent} bytes of payload");
    }
    let made = total(&counters, |it| it == "System Calls")?;
    ensure!(made > calls, "{made} system calls, the program made {calls} sends");
    let received = total(&counters, |it| it == "Soft Interrupts: NET_RX")?;
    ensure!(received > 0.0, "no soft interrupt received the packets");
    let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
    ensure!(trace.manifest.topics == ["threading", "system"], "manifest: {:?}", trace.manifest.topics);
    let annotations = &trace.annotations;
    let calls = annotations.counters.name.iter().position(|name| name == "System Calls").context("no counter")?;
    let readings = annotations.counter_values.counter.iter().filter(|counter| counter.get() == Some(calls)).count();
    let expected = trace.elapsed_ns() / 20_000_000;
    ensure!((expected / 2..=expected + 3).contains(&(readings as u64)), "{readings} readings, {expected} were due");
    ensure!(annotations.counters.process.iter().all(|process| *process == ProcessId::NONE), "a process's counter");
    Ok(())
}

/// All kinds of time together are all the time of all CPUs, to the ticks in which the kernel counts it.
fn processor_time() -> Result<()> {
    adds_up(&Recording::of(&["--analyze", "system"], &["sleep", "1"])?)
}

pub fn adds_up(recording: &Recording) -> Result<()> {
    let counters = counters(recording)?;
    let kinds = ["User", "Nice", "System", "Idle", "I/O Wait", "Interrupt", "Soft Interrupt", "Steal"];
    let share = |kind: &&str| number(counters.get(&format!("{kind} Time")).context("no such time")?, "average");
    let sum: f64 = kinds.iter().map(share).sum::<Result<f64>>()?;
    ensure!((0.9..1.1).contains(&sum), "all kinds of processor time are {sum} of it");
    Ok(())
}

fn interface_goes() -> Result<()> {
    let script = "sleep 0.2; ip link add here type veth peer name there || exit 9; ip link set here up; \
        sleep 0.3; ip link del here; sleep 0.2";
    let recording = in_own_network(script, &["--system-interval", "20ms"])?;
    if recording.output.code() == 9 {
        return Err(crate::harness::Skip("this kernel has no veth".into()).into());
    }
    let losses = recording.rows(&["losses"])?;
    let gone = losses.iter().find(|row| text(row, "loss") == "interfaces_gone").context("no loss")?;
    ensure!(number(gone, "count")? == 2.0, "{gone}");
    Ok(())
}

fn nothing_unasked() -> Result<()> {
    needs_recording()?;
    let recording = Recording::of(&[], &["true"])?;
    ensure!(recording.report(&["summary"])?.get("system").is_none(), "counters of the machine were recorded");
    Ok(())
}
