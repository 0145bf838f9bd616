//! What waits to be sent while no thread waits for it: for a reader that does not keep up, and for an acknowledgement.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::attached_causes::beside;
use crate::harness::Case;
use crate::recording::{Recording, number, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("send_queues::slow_reader", slow_reader),
        Case::new("send_queues::readers_that_keep_up", readers_that_keep_up),
        Case::new("send_queues::held_pieces", held_pieces),
        Case::new("send_queues::whole_answers", whole_answers),
    ]
}

/// Sends the same to each of two clients in turn, as a chat does.
const BROADCAST: &str = "
import asyncio
clients = []
async def main():
    async def join(requests, answers):
        await requests.read(1)
        clients.append(answers)
    server = await asyncio.start_server(join, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    while True:
        for client in list(clients):
            client.write(b'm' * 20000)
            await client.drain()
        await asyncio.sleep(0.005)
asyncio.run(main())
";

/// Two clients, the second of which reads so many bytes a second.
const READERS: &str = "
port = get('server')
def read(bytes_a_second):
    connection = socket.create_connection(('127.0.0.1', port))
    connection.send(b'j')
    while True:
        connection.recv(1 << 20 if bytes_a_second > 1e6 else 4000)
        if bytes_a_second < 1e6: time.sleep(4000 / bytes_a_second)
for rate in (1e9, RATE): threading.Thread(target=read, args=(rate,), daemon=True).start()
time.sleep(20)
";

fn broadcast(rate: &str) -> Result<Recording> {
    let readers = READERS.replace("RATE", rate);
    beside(&[("server.py", BROADCAST), ("clients.py", &readers)], &["clients.py"])
}

fn finding(recording: &Recording, id: &str) -> Result<Option<Value>> {
    Ok(recording.findings()?.into_iter().find(|row| text(row, "id") == id))
}

fn slow_reader() -> Result<()> {
    let recording = broadcast("20000")?;
    let found = finding(&recording, "slow-reader")?.context("no finding")?;
    let summary = recording.report(&["summary"])?;
    let elapsed = number(&summary, "elapsed_ns")?;
    // One connection waits from when its buffers are full.
    let part = number(&found, "cost_ns")? / elapsed;
    ensure!((0.4..=1.05).contains(&part), "{part} of the time: {found}");
    ensure!(!summary.to_string().contains("No thread was held up"), "beside the finding it says: {summary}");
    Ok(())
}

fn readers_that_keep_up() -> Result<()> {
    let recording = broadcast("1e9")?;
    ensure!(finding(&recording, "slow-reader")?.is_none(), "{:?}", recording.findings()?);
    Ok(())
}

/// Answers in two pieces, with Nagle's algorithm or without.
const PIECES: &str = "
def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, NO_DELAY)
    while connection.recv(1):
        connection.send(b'head'); connection.send(b'body')
listener = socket.create_server(('127.0.0.1', 0))
put('server', listener.getsockname()[1])
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
";

/// Six clients that read a whole answer before they ask again.
const WHOLE: &str = "
port = get('server')
def ask():
    connection = socket.create_connection(('127.0.0.1', port))
    while True:
        connection.send(b'c'); connection.recv(8, socket.MSG_WAITALL)
        time.sleep(0.001)
for _ in range(6): threading.Thread(target=ask, daemon=True).start()
time.sleep(20)
";

fn answers(no_delay: &str) -> Result<Recording> {
    let server = PIECES.replace("NO_DELAY", no_delay);
    beside(&[("server.py", &server), ("clients.py", WHOLE)], &["clients.py"])
}

fn held_pieces() -> Result<()> {
    let recording = answers("0")?;
    let found = finding(&recording, "nagle-delayed-ack")?.context("no finding")?;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    let held = number(&found, "cost_ns")? / elapsed;
    ensure!((4.0..=6.1).contains(&held), "{held} of six are held: {found}");
    // Each answer takes some 40 ms: the kernel's shortest delay of an acknowledgement.
    let asked = recording.rows(&["open-requests"])?;
    let each = number(asked.first().context("no requests")?, "each_ns")?;
    ensure!((3e7..=8e7).contains(&each), "each takes {each} ns: {asked:?}");
    Ok(())
}

fn whole_answers() -> Result<()> {
    let recording = answers("1")?;
    ensure!(finding(&recording, "nagle-delayed-ack")?.is_none(), "{:?}", recording.findings()?);
    Ok(())
}
