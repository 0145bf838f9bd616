//! What `explain` tells first of programs to which Dwell attached while others, which are not recorded, asked them or answered.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use dwell_store::{ResultFolder, Trace};
use tempfile::TempDir;

use crate::first_causes::{attached, expect_first};
use crate::harness::Case;
use crate::python::some_interpreter;
use crate::recording::{Recording, needs_program, needs_recording, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("attached::loop_awaits_answers", loop_awaits_answers),
        Case::new("attached::loop_with_a_limit", loop_with_a_limit),
        Case::new("attached::loop_with_a_timer", loop_with_a_timer),
        Case::new("attached::long_polls", long_polls),
        Case::new("attached::last_words", last_words),
        Case::new("attached::subscriber", subscriber),
        Case::new("attached::futures", futures),
        Case::new("attached::script", script),
        Case::new("attached::blocked_loop", blocked_loop),
        Case::new("attached::file_system", file_system),
    ]
}

/// What is recorded of the script `server.py`, beside which the other ones run: each is given the folder, where ports are in files.
pub fn beside(scripts: &[(&str, &str)], others: &[&str]) -> Result<Recording> {
    needs_recording()?;
    let (folder, python) = (TempDir::new()?, some_interpreter()?);
    for (file, script) in scripts {
        fs::write(folder.path().join(file), format!("{PORTS}{script}"))?;
    }
    let (python, folder) = (python.display(), folder.path().display());
    // In a shell of their own, so that they are no children of the server.
    let start =
        |other: &&str| format!("(timeout 20 {python} {folder}/{other} {folder} >{folder}/{other}.out 2>&1 &); ");
    let others: String = others.iter().map(start).collect();
    attached(Command::new("sh").args(["-c", &format!("{others}exec {python} {folder}/server.py {folder}")]))
}

const PORTS: &str = "
import ctypes, os, signal, socket, sys, time, threading
def put(name, port):
    open(f'{sys.argv[1]}/{name}.new', 'w').write(str(port)); os.rename(f'{sys.argv[1]}/{name}.new', f'{sys.argv[1]}/{name}')
def get(name):
    while not os.path.exists(f'{sys.argv[1]}/{name}'): time.sleep(0.02)
    return int(open(f'{sys.argv[1]}/{name}').read())
";

/// Answers each byte after 20 ms.
const UPSTREAM: &str = "
listener = socket.create_server(('127.0.0.1', 0))
put('upstream', listener.getsockname()[1])
def answer(connection):
    while connection.recv(1):
        time.sleep(0.02); connection.send(b'u')
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
";

/// Six clients, each of which asks again as soon as it is answered.
const CLIENTS: &str = "
port = get('server')
def ask():
    connection = socket.create_connection(('127.0.0.1', port))
    while True:
        connection.send(b'c'); connection.recv(1)
for _ in range(6): threading.Thread(target=ask, daemon=True).start()
time.sleep(20)
";

const ONE_QUESTION_AT_A_TIME: &str = "
import asyncio
async def main():
    reader, writer = await asyncio.open_connection('127.0.0.1', get('upstream'))
    lock = asyncio.Lock()
    async def serve(requests, answers):
        while await requests.read(1):
            async with lock:
                writer.write(b'q'); await reader.readexactly(1)
            answers.write(b'a')
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    await server.serve_forever()
asyncio.run(main())
";

/// Requests wait for a lock of coroutines, which no thread shows: the loop has nothing to do but to wait for the one answer.
fn loop_awaits_answers() -> Result<()> {
    let scripts = [("upstream.py", UPSTREAM), ("clients.py", CLIENTS), ("server.py", ONE_QUESTION_AT_A_TIME)];
    let recording = beside(&scripts, &["upstream.py", "clients.py"])?;
    expect_first(&recording, "open-requests", 1.2, &["epoll", "all over one connection", "let more in"])?;
    // Six clients wait for answers of 20 ms each, one after the other.
    let requests = open_requests(&recording, true)?;
    ensure!(requests.iter().all(|open| *open <= 6.0), "{requests:?}");
    let mean = requests.iter().sum::<f64>() / requests.len() as f64;
    ensure!(mean > 5.0, "six clients wait nearly always: {requests:?}");
    let asked = open_requests(&recording, false)?;
    ensure!(asked.iter().all(|open| *open <= 1.0), "one at a time is asked: {asked:?}");
    Ok(())
}

/// How many requests waited at each look: those to the server, or its own.
fn open_requests(recording: &Recording, is_incoming: bool) -> Result<Vec<f64>> {
    let Trace { open_requests: table, .. } = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let rows = (0..table.time_ns.len()).filter(|row| table.is_incoming[*row] == is_incoming);
    Ok(rows.map(|row| f64::from(table.open[row])).collect())
}

const TWO_AT_A_TIME: &str = "
import asyncio
async def main():
    free = asyncio.Queue()
    for _ in range(2): free.put_nowait(await asyncio.open_connection('127.0.0.1', get('upstream')))
    async def serve(requests, answers):
        while await requests.read(1):
            reader, writer = await free.get()
            writer.write(b'q'); await reader.readexactly(1)
            free.put_nowait((reader, writer))
            answers.write(b'a')
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    await server.serve_forever()
asyncio.run(main())
";

/// Requests wait for a pool of two connections within a loop.
fn loop_with_a_limit() -> Result<()> {
    let scripts = [("upstream.py", UPSTREAM), ("clients.py", CLIENTS), ("server.py", TWO_AT_A_TIME)];
    let recording = beside(&scripts, &["upstream.py", "clients.py"])?;
    expect_first(&recording, "open-requests", 1.2, &["over no more than 2 connections", "no more than 2 in"])
}

const RATE_LIMIT: &str = "
import asyncio
async def main():
    limit = asyncio.Semaphore(1)
    async def serve(requests, answers):
        while await requests.read(1):
            async with limit: await asyncio.sleep(0.02)
            answers.write(b'a')
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    await server.serve_forever()
asyncio.run(main())
";

/// Requests wait for timers of the loop.
fn loop_with_a_timer() -> Result<()> {
    let scripts = [("clients.py", CLIENTS), ("server.py", RATE_LIMIT)];
    let recording = beside(&scripts, &["clients.py"])?;
    expect_first(&recording, "open-requests", 1.2, &["mostly for timers of its own", "a limit of the rate"])
}

const LONG_POLL: &str = "
import asyncio
async def main():
    async def serve(requests, answers):
        while await requests.read(1):
            await asyncio.sleep(60)
    async def beat():
        while True: await asyncio.sleep(0.05)
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    beats = asyncio.create_task(beat())
    await server.serve_forever()
asyncio.run(main())
";

const PINGS: &str = "
import asyncio
async def main():
    async def serve(requests, answers):
        while True:
            answers.write(b'p'); await asyncio.sleep(1.8)
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    async with server: await asyncio.Event().wait()
asyncio.run(main())
";

const CHAT: &str = "
import asyncio
members = set()
async def main():
    async def serve(said, answers):
        members.add(answers)
        while await said.read(1):
            for other in members:
                if other is not answers: other.write(b'm')
    async def beat():
        while True: await asyncio.sleep(0.05)
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    beats = asyncio.create_task(beat())
    async with server: await asyncio.Event().wait()
asyncio.run(main())
";

const SPEAKERS: &str = "
port = get('server')
def speak():
    connection = socket.create_connection(('127.0.0.1', port))
    threading.Thread(target=lambda: [None for _ in iter(lambda: connection.recv(99), b'')], daemon=True).start()
    while True:
        connection.send(b'c'); time.sleep(0.5)
for _ in range(6): threading.Thread(target=speak, daemon=True).start()
time.sleep(20)
";

/// The last word of a client is no request where the server speaks by itself, or others do.
fn last_words() -> Result<()> {
    for (server, clients) in [(PINGS, CLIENTS), (CHAT, SPEAKERS)] {
        let recording = beside(&[("clients.py", clients), ("server.py", server)], &["clients.py"])?;
        ensure!(!open_requests(&recording, true)?.is_empty(), "no look at connections");
        let rows = recording.rows(&["explain"])?;
        let told = rows.iter().find(|row| text(row, "kind") == "open-requests");
        ensure!(told.is_none(), "told of a server that nobody waits for: {told:?}");
    }
    Ok(())
}

/// Who asks for what is still to happen is not held up.
fn long_polls() -> Result<()> {
    let recording = beside(&[("clients.py", CLIENTS), ("server.py", LONG_POLL)], &["clients.py"])?;
    let open = open_requests(&recording, true)?;
    ensure!(!open.is_empty() && open.iter().all(|open| *open == 6.0), "{open:?}");
    let rows = recording.rows(&["explain"])?;
    let told = rows.iter().find(|row| text(row, "kind") == "open-requests");
    ensure!(told.is_none(), "a server that waits for an event is told: {told:?}");
    Ok(())
}

const PUBLISHER: &str = "
listener = socket.create_server(('127.0.0.1', 0))
put('publisher', listener.getsockname()[1])
connection = listener.accept()[0]
connection.recv(1)
while True:
    time.sleep(0.05); connection.send(b'm')
";

const SUBSCRIBER: &str = "
connection = socket.create_connection(('127.0.0.1', get('publisher')))
connection.send(b's')
while connection.recv(1): pass
";

/// Whoever asked once, and is sent one message after the other, waits for whatever comes.
fn subscriber() -> Result<()> {
    let recording = beside(&[("publisher.py", PUBLISHER), ("server.py", SUBSCRIBER)], &["publisher.py"])?;
    let rows = recording.rows(&["explain"])?;
    let told = rows.iter().find(|row| text(row, "kind") == "outside" && row["wall_ns"].as_f64() > Some(3e8));
    ensure!(told.is_none(), "an idle subscriber is told: {told:?}");
    Ok(())
}

const FUTURES: &str = "
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
def render_page(): time.sleep(0.02)
def handle_request():
    while True: pool.submit(render_page).result()
for _ in range(6): threading.Thread(target=handle_request, daemon=True).start()
time.sleep(20)
";

/// Threads that were there wait for results of a worker that was never without work, so that nobody is seen to ask it.
fn futures() -> Result<()> {
    let recording = beside(&[("server.py", FUTURES)], &[])?;
    expect_first(&recording, "slept", 5.0, &["render_page", "handle_request"])
}

/// A script waits for its children, and nobody outside is said to wait for it.
fn script() -> Result<()> {
    needs_recording()?;
    let recording = attached(Command::new("sh").args(["-c", "while :; do sleep 0.3; done"]))?;
    expect_first(&recording, "slept", 1.0, &["sh waited for it"])?;
    let told = recording.report(&["explain"])?.to_string();
    ensure!(!told.contains("outside of the recording"), "nobody asks it: {told}");
    Ok(())
}

const BLOCKED: &str = "
import asyncio
def sum_up():
    end = time.process_time() + 0.03
    while time.process_time() < end: pass
async def main():
    async def serve(requests, answers):
        while await requests.read(1):
            answers.write(b'a')
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    put('server', server.sockets[0].getsockname()[1])
    while True:
        sum_up(); await asyncio.sleep(0.02)
asyncio.run(main())
";

/// A loop that has pauses, and that one function keeps for 30 of each 50 ms.
fn blocked_loop() -> Result<()> {
    let slow_clients = CLIENTS.replace("connection.recv(1)", "connection.recv(1); time.sleep(0.01)");
    let recording = beside(&[("clients.py", &slow_clients), ("server.py", BLOCKED)], &["clients.py"])?;
    expect_first(&recording, "running", 0.6, &["sum_up", "outside of the recording"])
}

/// A file system in user space with one file, from which each read takes 100 ms (include/uapi/linux/fuse.h).
const FILE_SYSTEM: &str = "
import ctypes, struct
folder = sys.argv[1] + '/mounted'; os.mkdir(folder)
device = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={device},rootmode=40000,user_id=0,group_id=0'.encode()
if ctypes.CDLL(None).mount(b'slow', folder.encode(), b'fuse', 0, options): sys.exit('it cannot be mounted')
put('file', 1)
LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 3, 14, 15, 18, 25, 26
def attributes(node):
    mode = 0o40755 if node == 1 else 0o100444
    return struct.pack('6Q10I', node, 0 if node == 1 else 400, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 512, 0)
while True:
    question = os.read(device, 1 << 20)
    _, operation, number, node = struct.unpack_from('IIQQ', question)
    answer, error = b'', 0
    if operation == INIT: answer = struct.pack('4I2H2I36x', 7, 31, 65536, 0, 1, 1, 65536, 1)
    elif operation == LOOKUP: answer = struct.pack('4Q2I', 2, 0, 60, 60, 0, 0) + attributes(2)
    elif operation == GETATTR: answer = struct.pack('Q2I', 60, 0, 0) + attributes(node)
    elif operation == OPEN: answer = struct.pack('Q2I', 1, 1, 0) # FOPEN_DIRECT_IO
    elif operation == READ:
        time.sleep(0.1)
        answer = b'x' * max(0, min(100, 400 - struct.unpack_from('Q', question, 48)[0]))
    elif operation in (2, 36, 42): continue # which have no answer
    elif operation not in (RELEASE, FLUSH): error = -38
    os.write(device, struct.pack('IiQ', 16 + len(answer), error, number) + answer)
";

const READER: &str = "
get('file')
while True: open(sys.argv[1] + '/mounted/page').read()
";

/// Whoever reads there waits for a program, and for no device.
fn file_system() -> Result<()> {
    needs_recording()?;
    let (folder, python, unshare) = (TempDir::new()?, some_interpreter()?, needs_program("unshare")?);
    for (file, script) in [("file_system.py", FILE_SYSTEM), ("reader.py", READER)] {
        fs::write(folder.path().join(file), format!("{PORTS}{script}"))?;
    }
    let (python, folder) = (python.display(), folder.path().display());
    let others = format!("(timeout 20 {python} {folder}/file_system.py {folder} &)");
    let both = format!("{others}; exec {python} {folder}/reader.py {folder}");
    // What is mounted goes with its processes.
    let recording = attached(Command::new(unshare).args(["--mount", "sh", "-c", &both]))?;
    expect_first(&recording, "outside", 1.5, &["/mounted/page", "a program that is not recorded", "reader.py"])
}
