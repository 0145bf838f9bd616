//! Connections that wait to be accepted: by a server whose workers are kept by idle connections, one that accepts no more than so many, and
//! one that accepts all.

use anyhow::{Context, Result, ensure};
use dwell_store::{ResultFolder, Trace};

use crate::attached_causes::beside;
use crate::first_causes::expect_first;
use crate::harness::Case;
use crate::recording::{Recording, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("accept_queues::kept_alive", kept_alive),
        Case::new("accept_queues::unix_socket", unix_socket),
        Case::new("accept_queues::limited_loop", limited_loop),
        Case::new("accept_queues::enough_workers", enough_workers),
    ]
}

/// So many processes that share a socket, each with one connection at a time, which it keeps until nothing came for 0.7 s.
const WORKERS: &str = "
listener = LISTENER
for _ in range(WORKERS):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with the first one (PR_SET_PDEATHSIG)
        while True:
            connection = listener.accept()[0]
            connection.settimeout(0.7)
            try:
                while connection.recv(9): connection.send(b'a')
            except TimeoutError: pass
            connection.close()
put('server', listener.getsockname()[1] if isinstance(listener.getsockname(), tuple) else 0)
while True: time.sleep(1)
";

/// Six clients that ask once, and connect again when their connection was closed.
const KEEPING_CLIENTS: &str = "
port = get('server')
def ask():
    while True:
        connection = CONNECT
        connection.send(b'q')
        while connection.recv(9): pass
        connection.close()
for _ in range(6): threading.Thread(target=ask, daemon=True).start()
time.sleep(20)
";

const TCP: [&str; 2] =
    ["socket.create_server(('127.0.0.1', 0), backlog=32)", "socket.create_connection(('127.0.0.1', port))"];

const UNIX: [&str; 2] = [
    "socket.socket(socket.AF_UNIX); listener.bind(f'{sys.argv[1]}/requests.sock'); listener.listen(32)",
    "socket.socket(socket.AF_UNIX); connection.connect(f'{sys.argv[1]}/requests.sock')",
];

fn workers([listener, connect]: [&str; 2], count: &str) -> Result<Recording> {
    let server = WORKERS.replace("LISTENER", listener).replace("WORKERS", count);
    let clients = KEEPING_CLIENTS.replace("CONNECT", connect);
    beside(&[("server.py", &server), ("clients.py", &clients)], &["clients.py"])
}

/// The most connections that waited at a look, and how many such looks there are.
fn waiting(recording: &Recording) -> Result<(u32, usize)> {
    let Trace { accept_queues: table, .. } = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let most = table.waiting.iter().max().context("no look at a socket that listens")?;
    Ok((*most, table.waiting.iter().filter(|waiting| **waiting > 0).count()))
}

/// Two workers have two of six connections: four wait, though no thread waits for anybody.
fn kept_alive() -> Result<()> {
    let recording = workers(TCP, "2")?;
    expect_first(
        &recording,
        "accept-queue",
        2.0,
        &["waited at once to be accepted", "2 in number", "KeepAliveTimeout"],
    )?;
    let (most, looks) = waiting(&recording)?;
    ensure!(most == 4 && looks >= 5, "{most} at most, in {looks} looks");
    let rows = recording.rows(&["open-requests"])?;
    let queue = rows.iter().find(|row| text(row, "direction") == "accept").context("no row of the queue")?;
    ensure!((3.0..=4.0).contains(&queue["open"].as_f64().unwrap_or(0.0)), "{queue}");
    ensure!(queue["limit"] == 32, "the limit is what listen was told: {queue}");
    // A worker has its connection for 0.7 s, and two of four that wait are before each.
    let longest_ns = queue["longest_ns"].as_f64().unwrap_or(0.0);
    ensure!((0.6e9..3e9).contains(&longest_ns), "{queue}");
    Ok(())
}

/// The same over a Unix socket.
fn unix_socket() -> Result<()> {
    let recording = workers(UNIX, "2")?;
    expect_first(&recording, "accept-queue", 2.0, &["/requests.sock", "2 in number", "KeepAliveTimeout"])?;
    ensure!(waiting(&recording)?.0 == 4, "{:?}", waiting(&recording)?);
    Ok(())
}

/// Who has a worker for each connection keeps none waiting.
fn enough_workers() -> Result<()> {
    let recording = workers(TCP, "8")?;
    let (_, looks) = waiting(&recording)?;
    ensure!(looks <= 2, "connections waited in {looks} looks");
    let rows = recording.rows(&["explain"])?;
    let told = rows.iter().find(|row| text(row, "kind") == "accept-queue");
    ensure!(told.is_none(), "a server that accepts at once is told: {told:?}");
    Ok(())
}

/// Accepts no more than two connections at once, though it has time, as HAProxy at its maxconn.
const LIMITED: &str = "
import select
listener = socket.create_server(('127.0.0.1', 0), backlog=32)
put('server', listener.getsockname()[1])
poll, connections = select.epoll(), {}
poll.register(listener, select.EPOLLIN)
while True:
    for fd, _ in poll.poll(0.1):
        if fd == listener.fileno():
            connection = listener.accept()[0]
            connections[connection.fileno()] = (connection, time.time())
            poll.register(connection, select.EPOLLIN)
            if len(connections) == 2: poll.unregister(listener)
        elif connections[fd][0].recv(9): connections[fd][0].send(b'a')
    for fd, (connection, since) in list(connections.items()):
        if time.time() - since > 0.7:
            if len(connections) == 2: poll.register(listener, select.EPOLLIN)
            poll.unregister(fd); connection.close(); del connections[fd]
";

fn limited_loop() -> Result<()> {
    let clients = KEEPING_CLIENTS.replace("CONNECT", TCP[1]);
    let recording = beside(&[("server.py", LIMITED), ("clients.py", &clients)], &["clients.py"])?;
    expect_first(&recording, "accept-queue", 2.0, &["waited at once to be accepted", "maxconn"])?;
    let (most, looks) = waiting(&recording)?;
    ensure!(most == 4 && looks >= 5, "{most} at most, in {looks} looks");
    Ok(())
}
