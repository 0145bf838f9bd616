//! Connections within the machine: who sends ends the other end's wait, not "the network".

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("loopback::ipv4", || answered("AF_INET", "127.0.0.1", "SOCK_STREAM")),
        Case::new("loopback::ipv6", || answered("AF_INET6", "::1", "SOCK_STREAM")),
        Case::new("loopback::ipv4_mapped", || answered("AF_INET6", "::ffff:127.0.0.1", "SOCK_STREAM")),
        Case::new("loopback::udp", || answered("AF_INET", "127.0.0.1", "SOCK_DGRAM")),
        Case::new("loopback::corked", corked),
    ]
}

/// One end asks, and the other one sleeps before it answers.
const PROGRAM: &str = "
import socket, threading, time
def ends():
    if KIND == socket.SOCK_DGRAM:
        own, other = socket.socket(FAMILY, KIND), socket.socket(FAMILY, KIND)
        own.bind((ADDRESS, 0)), other.bind((ADDRESS, 0))
        own.connect(other.getsockname()), other.connect(own.getsockname())
        return own, other
    listener = socket.socket(FAMILY, KIND)
    listener.bind((ADDRESS, 0)), listener.listen()
    own = socket.socket(FAMILY, KIND)
    own.connect(listener.getsockname())
    return own, listener.accept()[0]
own, other = ends()
def answer():
    for _ in range(40):
        other.recv(1)
        time.sleep(0.01)
        other.send(b'y')
threading.Thread(target=answer).start()
for _ in range(40):
    own.send(b'x')
    own.recv(1)
";

fn answered(family: &str, address: &str, kind: &str) -> Result<()> {
    let values = format!("FAMILY, KIND, ADDRESS = socket.{family}, socket.{kind}, '{address}'");
    judge(&PROGRAM.replacen("threading, time\n", &format!("threading, time\n{values}\n"), 1))
}

/// Servers that cork a connection send with the call that takes the cork away, as Puma does.
fn corked() -> Result<()> {
    let values = "FAMILY, KIND, ADDRESS = socket.AF_INET, socket.SOCK_STREAM, '127.0.0.1'";
    let script = PROGRAM.replacen("threading, time\n", &format!("threading, time\n{values}\n"), 1);
    let cork = |on: u8| format!("other.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, {on})");
    judge(&script.replacen("other.send(b'y')", &format!("{}; other.send(b'y'); {}", cork(1), cork(0)), 1))
}

fn judge(script: &str) -> Result<()> {
    let python = needs_program("python3")?;
    let recording = Recording::of(&[], &[&python, "-c", script])?;
    let causes = recording.rows(&["explain"])?;
    // On a busy machine the run queue may come first.
    let first = causes.iter().find(|row| row["chain"].is_array()).unwrap_or(&Value::Null);
    let texts: Vec<&str> = causes.iter().take(3).map(|row| text(row, "text")).collect();
    ensure!(text(first, "kind") == "slept", "it was the sleep before the answer: {texts:?}");
    ensure!(first["chain"].to_string().contains("recvfrom"), "somebody waited to receive: {first}");
    let by_network = causes.iter().any(|row| text(row, "kind") == "network");
    ensure!(!by_network, "nothing came from elsewhere: {texts:?}");
    Ok(())
}
