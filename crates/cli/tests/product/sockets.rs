//! `--analyze sockets`: the causes of waits on sockets, each made by a sample on purpose, and the bytes of every way to
//! send and receive.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use dwell_model::{SocketCause, SocketDirection, SocketProtocol, TcpEventKind};
use dwell_store::{ResultFolder, Table, Trace};

use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, sample, text, wait_for};

/// `ROUNDS` of samples/sockets.c, and what its requests and answers weigh.
const ROUNDS: u64 = 20;
const REQUEST: u64 = 32;
const ANSWER: u64 = 8;
const BULK: u64 = 4 << 20;
/// Sleep or work of the server on a request.
const WORK_NS: u64 = 5_000_000;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("sockets::delayed_ack_and_nagle", delayed_ack_and_nagle),
        Case::new("sockets::no_nagle_without_small_pieces", no_nagle_without_small_pieces),
        Case::new("sockets::cork", cork),
        Case::new("sockets::the_other_end_works_or_waits", other_end),
        Case::new("sockets::what_ends_a_poll_is_the_sockets", polls),
        Case::new("sockets::full_window_and_full_buffer", full),
        Case::new("sockets::nobody_connects", nobody_connects),
        Case::new("sockets::every_way_to_send_is_counted", every_way),
        Case::new("sockets::abstract_names_end_where_they_end", abstract_names),
        Case::new("sockets::passed_and_used_again", passed),
        Case::new("sockets::passed_to_a_process_with_io_uring", passed_to_io_uring),
        Case::new("sockets::open_before_the_collection", open_before),
        Case::new("sockets::a_long_way", long_way),
        Case::new("sockets::lost_segments", lost_segments),
        Case::new("sockets::what_was_not_lost_is_no_retransmission", not_lost),
        Case::new("sockets::the_congestion_window", congestion_window),
        Case::new("sockets::io_uring", io_uring),
        Case::new("sockets::splice_takes_bytes_unseen", splice),
        Case::new("sockets::used_by_sendfile_and_splice_alone", file_only),
        Case::new("sockets::more_than_there_is_room_for_one_after_the_other", one_after_the_other),
    ]
}

/// Behind an abstract name lies other memory of the kernel's. The names have different lengths, so that a longer one's end would show.
fn abstract_names() -> Result<()> {
    const PROGRAM: &str = "
import os, socket, threading, time
for i in range(2000): open(f'/tmp/dwell-{os.getpid()}-a-long-name-in-the-kernels-heap-{i}', 'w').close()
for i in range(2000): os.unlink(f'/tmp/dwell-{os.getpid()}-a-long-name-in-the-kernels-heap-{i}')
def serve(listening):
    end, _ = listening.accept()
    while end.recv(9): time.sleep(.01); end.send(b'r')
def ask(name):
    end = socket.socket(socket.AF_UNIX); end.connect(name)
    for _ in range(9): end.send(b'q'); end.recv(9)
    end.close()
names = [f'\\0dwell-{os.getpid()}-{\"x\" * i}' for i in range(20)]
ends = []
for name in names:
    end = socket.socket(socket.AF_UNIX); end.bind(name); end.listen(1); ends.append(end)
work = [threading.Thread(target=serve, args=(end,)) for end in ends] + [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in work: thread.start()
for thread in work: thread.join()
";
    let python = needs_program("/usr/bin/python3")?;
    for source in ["bpf", "perf"] {
        let recording = Recording::of(&["--source", source, "--analyze", "threading"], &[&python, "-c", PROGRAM])?;
        let names: Vec<String> = recording.rows(&["waits"])?.iter().map(|row| text(row, "object").to_owned()).collect();
        let names: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("Unix @")).collect();
        let is_whole = |name: &&str| {
            let name = name.split(" #").next().unwrap_or_default();
            name.strip_prefix("dwell-").and_then(|rest| rest.split_once('-')).is_some_and(|(pid, letters)| {
                pid.bytes().all(|byte| byte.is_ascii_digit()) && letters.bytes().all(|byte| byte == b'x')
            })
        };
        ensure!(names.len() >= 15 && names.iter().all(is_whole), "{source}: {names:?}");
    }
    Ok(())
}

/// A recorded result's tables.
pub struct Recorded {
    pub trace: Trace,
    pub recording: Recording,
}

impl Recorded {
    pub fn of(program: &[&str]) -> Result<Self> {
        Self::read(Recording::of(&["--analyze", "sockets"], program)?)
    }

    pub fn sample(situation: &str) -> Result<Self> {
        Self::of(&[&sample("sockets")?, situation])
    }

    pub fn read(recording: Recording) -> Result<Self> {
        let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
        let unknown = trace.notices.text.iter().find(|text| text.contains("Why waits on sockets"));
        ensure!(unknown.is_none(), "{unknown:?}");
        ensure!(!trace.sockets.sockets.is_empty(), "no sockets");
        Ok(Self { trace, recording })
    }

    /// Row of the one connection that asks.
    pub fn asking(&self) -> Result<usize> {
        let sockets = &self.trace.sockets.sockets;
        let known = |row: usize| SocketProtocol::from_code(sockets.protocol[row]) != SocketProtocol::Unknown;
        let asks = |&row: &usize| sockets.asks[row] && sockets.sends[row] > 0 && known(row);
        (0..sockets.len()).find(asks).context("no socket asks")
    }

    /// Time by cause of a socket's waits.
    pub fn causes(&self, socket: usize) -> BTreeMap<SocketCause, u64> {
        let tables = &self.trace.sockets;
        let mut sums = BTreeMap::new();
        for row in 0..tables.causes.len() {
            let wait = tables.causes.wait[row].get().filter(|&wait| tables.waits.socket[wait].get() == Some(socket));
            if wait.is_some() {
                *sums.entry(SocketCause::from_code(tables.causes.cause[row])).or_insert(0) +=
                    tables.causes.cause_ns[row];
            }
        }
        sums
    }

    /// A cause's part of a socket's wait time, without that in which a busy machine had no CPU for the other end, and without
    /// connecting, for which a busy machine may have had none either.
    pub fn share(&self, socket: usize, cause: SocketCause) -> f64 {
        let mut causes = self.causes(socket);
        causes.remove(&SocketCause::PeerRunnable);
        causes.remove(&SocketCause::Connect);
        let all: u64 = causes.values().sum();
        causes.get(&cause).copied().unwrap_or(0) as f64 / all.max(1) as f64
    }

    /// How many waits on a socket had this direction.
    pub fn waits(&self, socket: usize, direction: SocketDirection) -> usize {
        let waits = &self.trace.sockets.waits;
        let of_socket = |&row: &usize| waits.socket[row].get() == Some(socket);
        (0..waits.len()).filter(of_socket).filter(|&row| waits.direction[row] == direction.code()).count()
    }

    /// The two sockets, each with a peer of its own, that sent and received so many bytes.
    fn two_that_moved(&self, sent: u64, received: u64) -> Result<[usize; 2]> {
        let sockets = &self.trace.sockets.sockets;
        let all: Vec<usize> = (0..sockets.len()).filter(|&row| self.moved(row) == (sent, received)).collect();
        let moved: Vec<_> = (0..sockets.len()).map(|row| self.moved(row)).collect();
        let &[first, second] = all.as_slice() else { bail!("{} sockets moved that; all: {moved:?}", all.len()) };
        let peers = [first, second].map(|row| sockets.peer[row]);
        ensure!(peers[0].is_some() && peers[1].is_some() && peers[0] != peers[1], "their peers are {peers:?}");
        Ok([first, second])
    }

    fn moved(&self, socket: usize) -> (u64, u64) {
        let sockets = &self.trace.sockets.sockets;
        (sockets.bytes_sent[socket], sockets.bytes_received[socket])
    }
}

fn delayed_ack_and_nagle() -> Result<()> {
    let recorded = Recorded::sample("nagle")?;
    let client = recorded.asking()?;
    let share = recorded.share(client, SocketCause::DelayedAck);
    ensure!(share > 0.8, "delayed ACKs are {share:.2} of the wait: {:?}", recorded.causes(client));
    let tables = &recorded.trace.sockets;
    let server = tables.sockets.peer[client].get().context("the client has no peer")?;
    ensure!(tables.sockets.peer[server].get() == Some(client), "the server's peer is another");
    ensure!(tables.sockets.peer_process[client] == "sockets", "{}", tables.sockets.peer_process[client]);
    holds_are_counted(&recorded)?;
    let trace = &recorded.trace;
    let in_call_site = |&stack: &dwell_model::StackId| {
        let chain = std::iter::successors(stack.get(), |&stack| trace.stacks.parent[stack].get());
        let mut functions = chain.filter_map(|stack| Some(&trace.frames.function[trace.stacks.frame[stack].get()?]));
        functions.any(|function| function == "ask_in_two_pieces")
    };
    ensure!(tables.holds.stack.iter().all(in_call_site), "a hold's stack is not the call site's");
    let waits = &tables.waits;
    let two = (0..waits.len()).filter(|&row| waits.sends_before[row] == 2 && waits.first_send_bytes[row] == 8);
    ensure!(two.count() as u64 >= ROUNDS - 3, "waits do not follow two sends");
    Ok(())
}

/// Of the sample `nagle`.
pub fn holds_are_counted(recorded: &Recorded) -> Result<()> {
    let tables = &recorded.trace.sockets;
    ensure!(tables.holds.len() as u64 >= ROUNDS - 3, "{} holds", tables.holds.len());
    // The timer that runs out without an ACK is no delayed ACK.
    let acks = tables.events.kind.iter().filter(|&&kind| kind == TcpEventKind::DelayedAck.code()).count() as u64;
    ensure!((ROUNDS - 3..=ROUNDS + 3).contains(&acks), "{acks} delayed ACKs");
    Ok(())
}

fn no_nagle_without_small_pieces() -> Result<()> {
    for situation in ["at-once", "nodelay"] {
        let recorded = Recorded::sample(situation)?;
        let client = recorded.asking()?;
        ensure!(recorded.trace.sockets.holds.is_empty(), "{situation}: {:?}", recorded.trace.sockets.holds);
        let causes = recorded.causes(client);
        let held = [SocketCause::DelayedAck, SocketCause::Nagle, SocketCause::Cork];
        ensure!(held.iter().all(|cause| !causes.contains_key(cause)), "{situation}: {causes:?}");
        ensure!(recorded.moved(client) == (ROUNDS * REQUEST, ROUNDS * ANSWER), "{situation}: bytes");
        let nodelay = recorded.trace.sockets.sockets.nodelay[client];
        ensure!(nodelay == (situation == "nodelay"), "{situation}: nodelay is {nodelay}");
    }
    Ok(())
}

fn cork() -> Result<()> {
    let recorded = Recorded::sample("cork")?;
    let server = recorded.trace.sockets.sockets.peer[recorded.asking()?].get().context("no peer")?;
    let share = recorded.share(server, SocketCause::Cork);
    ensure!(share > 0.7, "cork is {share:.2} of the server's wait: {:?}", recorded.causes(server));
    Ok(())
}

fn other_end() -> Result<()> {
    let busy = Recorded::sample("busy-peer")?;
    let causes = busy.causes(busy.asking()?);
    let running = causes.get(&SocketCause::PeerRunning).copied().unwrap_or(0);
    ensure!(running > ROUNDS * WORK_NS * 8 / 10, "{causes:?}");
    for situation in ["waiting-peer", "unix", "udp", "ipv6"] {
        let recorded = Recorded::sample(situation)?;
        let client = recorded.asking()?;
        let causes = recorded.causes(client);
        let waiting = causes.get(&SocketCause::PeerWaiting).copied().unwrap_or(0);
        ensure!(waiting > ROUNDS * WORK_NS * 8 / 10, "{situation}: {causes:?}");
        ensure!(recorded.moved(client) == (ROUNDS * REQUEST, ROUNDS * ANSWER), "{situation}: bytes");
        let table = &recorded.trace.sockets.causes;
        let sleeps = (0..table.len()).filter(|&row| table.cause[row] == SocketCause::PeerWaiting.code());
        let on = |row: usize| Some(recorded.trace.objects.name[table.object[row].get()?].as_str());
        ensure!(sleeps.filter_map(on).any(|name| name.starts_with("Sleep")), "{situation}: on what it waits");
    }
    Ok(())
}

fn polls() -> Result<()> {
    for situation in ["epoll", "poll"] {
        let recorded = Recorded::sample(situation)?;
        polls_are_told(&recorded)?;
        let causes = recorded.causes(recorded.asking()?);
        let waiting = causes.get(&SocketCause::PeerWaiting).copied().unwrap_or(0);
        ensure!(waiting > ROUNDS * WORK_NS * 7 / 10, "{situation}: {causes:?}");
    }
    Ok(())
}

/// Of the samples that ask in 20 rounds, with a wait on a set of sockets in each.
pub fn polls_are_told(recorded: &Recorded) -> Result<()> {
    let client = recorded.asking()?;
    let polls = recorded.waits(client, SocketDirection::Poll) as u64;
    ensure!((ROUNDS - 3..=ROUNDS + 3).contains(&polls), "{polls} polls that the socket ended");
    ensure!(recorded.moved(client) == (ROUNDS * REQUEST, ROUNDS * ANSWER), "{:?}", recorded.moved(client));
    Ok(())
}

fn full() -> Result<()> {
    let recorded = Recorded::sample("full-window")?;
    let sockets = &recorded.trace.sockets.sockets;
    let sender = (0..sockets.len()).find(|&row| sockets.bytes_sent[row] == BULK).context("no sender")?;
    let causes = recorded.causes(sender);
    // What the receiver's small buffer drops is sent again.
    let (window, again) = (SocketCause::ReceiveWindow, SocketCause::Retransmission);
    let known: u64 = [window, again].iter().filter_map(|cause| causes.get(cause)).sum();
    ensure!(known * 10 > causes.values().sum::<u64>() * 9 && causes.contains_key(&window), "{causes:?}");
    let recorded = Recorded::sample("unix-pour")?;
    let sockets = &recorded.trace.sockets.sockets;
    let sender = (0..sockets.len()).find(|&row| sockets.bytes_sent[row] == BULK).context("no sender")?;
    ensure!(sockets.protocol[sender] == SocketProtocol::UnixStream.code(), "protocol");
    let share = recorded.share(sender, SocketCause::SendBuffer);
    ensure!(share > 0.9 && recorded.waits(sender, SocketDirection::Send) > 0, "{:?}", recorded.causes(sender));
    Ok(())
}

fn nobody_connects() -> Result<()> {
    let recorded = Recorded::sample("accept")?;
    let sockets = &recorded.trace.sockets.sockets;
    let listener = (0..sockets.len()).find(|&row| sockets.listening[row]).context("no listener")?;
    let waited = recorded.causes(listener).get(&SocketCause::Accept).copied().unwrap_or(0);
    ensure!(waited > 100_000_000, "waited {waited} ns for a connection");
    Ok(())
}

fn every_way() -> Result<()> {
    all_is_counted(&Recorded::sample("every-way")?)
}

/// Of the sample `every-way`.
pub fn all_is_counted(recorded: &Recorded) -> Result<()> {
    let client = recorded.asking()?;
    ensure!(recorded.moved(client) == (4 * BULK, 0), "sent {:?}", recorded.moved(client));
    let server = recorded.trace.sockets.sockets.peer[client].get().context("no peer")?;
    ensure!(recorded.moved(server) == (0, 4 * BULK), "received {:?}", recorded.moved(server));
    let sizes = &recorded.trace.sockets.sizes;
    let calls: u64 =
        (0..sizes.len()).filter(|&row| sizes.socket[row].get() == Some(client)).map(|row| sizes.calls[row]).sum();
    ensure!(calls == recorded.trace.sockets.sockets.sends[client], "{calls} calls by size");
    let counters = &recorded.trace.annotations.counters;
    ensure!(counters.domain.iter().any(|domain| domain == "Sockets"), "no counters: {:?}", counters.domain);
    Ok(())
}

fn passed() -> Result<()> {
    for situation in ["pass", "pass-many"] {
        let recorded = Recorded::sample(situation)?;
        let servers = recorded.two_that_moved(ROUNDS * ANSWER, ROUNDS * REQUEST)?;
        let sockets = &recorded.trace.sockets.sockets;
        let processes = servers.map(|row| sockets.process[row]);
        ensure!(processes[0] != processes[1], "{situation}: both of one process");
    }
    Ok(())
}

fn passed_to_io_uring() -> Result<()> {
    let recorded = Recorded::of(&[&needs_io_uring()?, "passed"])?;
    recorded.two_that_moved(ROUNDS * REQUEST, ROUNDS * ANSWER)?;
    Ok(())
}

fn open_before() -> Result<()> {
    // The process that Dwell attaches to has its connection already: it answers itself, for as long as it lives. The listener's
    // port is outside of the range that the kernel chooses from for who connects: that tells which end asks.
    let python = needs_program("python3")?;
    let script = "
import socket, sys, threading, time
def listen():
    for port in range(20000, 30000):
        try:
            return socket.create_server(('127.0.0.1', port))
        except OSError:
            pass
listener = listen()
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
def serve():
    while data := far.recv(64):
        time.sleep(0.005)
        far.send(data)
threading.Thread(target=serve, daemon=True).start()
open(sys.argv[1], 'w').close()
end = time.time() + 60
while time.time() < end:
    near.send(b'x' * 32)
    near.recv(64)
";
    let folder = tempfile::TempDir::new()?;
    let connected = folder.path().join("connected");
    let mut program = std::process::Command::new(python);
    let running = crate::recording::Running::start(program.args(["-c", script]).arg(&connected))?;
    wait_for("its connection", || connected.exists().then_some(()))?;
    let pid = running.pid().to_string();
    let options = ["--analyze", "sockets", "--duration", "2", "--target-pid", &pid];
    let recorded = Recorded::read(Recording::of(&options, &[])?)?;
    let sockets = &recorded.trace.sockets.sockets;
    let client = recorded.asking()?;
    ensure!(sockets.opened_ns[client] == 0, "opened at {}", sockets.opened_ns[client]);
    ensure!(sockets.peer[client].is_some(), "no peer");
    let share = recorded.share(client, SocketCause::PeerWaiting);
    ensure!(share > 0.6, "{:?}", recorded.causes(client));
    Ok(())
}

/// What samples/wire.c needs.
pub fn needs_wire() -> Result<()> {
    needs_program("ip")?;
    if !std::path::Path::new("/dev/net/tun").exists() {
        return Err(Skip("this machine has no TUN devices".into()).into());
    }
    Ok(())
}

/// Both ends under Dwell, with a wire between them that delays by so many ms, and drops packets of the near end.
fn over_wire(delay_ms: &str, drop: &str, ask: &str) -> Result<Recorded> {
    needs_wire()?;
    let sockets = sample("sockets")?;
    let serve = format!("exec {sockets} serve 10.77.0.2");
    Recorded::of(&[&sample("wire")?, delay_ms, drop, &serve, "--", &sockets, ask, "10.77.0.2"])
}

fn long_way() -> Result<()> {
    let recorded = over_wire("10", "0", "ask")?;
    let client = recorded.asking()?;
    let share = recorded.share(client, SocketCause::RoundTrip);
    ensure!(share > 0.7, "{:?}", recorded.causes(client));
    let connected = recorded.causes(client).get(&SocketCause::Connect).copied().unwrap_or(0);
    ensure!(connected > 18_000_000, "connected in {connected} ns");
    let min_rtt_ns = recorded.trace.sockets.sockets.min_rtt_ns[client];
    ensure!((19_000_000..100_000_000).contains(&min_rtt_ns), "a round trip of {min_rtt_ns} ns");
    let recorded = over_wire("10", "0", "ask-in-pieces")?;
    let client = recorded.asking()?;
    let share = recorded.share(client, SocketCause::DelayedAck);
    ensure!(share > 0.5, "{:?}", recorded.causes(client));
    Ok(())
}

fn lost_segments() -> Result<()> {
    let recorded = over_wire("1", "4", "ask")?;
    let client = recorded.asking()?;
    let share = recorded.share(client, SocketCause::Retransmission);
    ensure!(share > 0.6, "{:?}", recorded.causes(client));
    ensure!(recorded.trace.sockets.sockets.retransmits[client] > 1, "retransmits");
    // The first packet asks for the connection.
    let recorded = over_wire("1", "-1", "ask")?;
    let client = recorded.asking()?;
    let lost = recorded.causes(client).get(&SocketCause::Retransmission).copied().unwrap_or(0);
    ensure!(lost > 800_000_000, "{:?}", recorded.causes(client));
    Ok(())
}

/// A slow answer makes TCP send the question again, to find out whether it was lost: it was not.
fn not_lost() -> Result<()> {
    let recorded = Recorded::of(&[&sample("socket_queues")?, "line"])?;
    let kinds = recorded.trace.sockets.events.kind.iter().map(|&kind| TcpEventKind::from_code(kind));
    let again = kinds.clone().filter(|kind| *kind == TcpEventKind::Spurious).count();
    ensure!(again > 0, "nothing was sent again: {:?}", kinds.collect::<Vec<_>>());
    let causes = &recorded.trace.sockets.causes.cause;
    ensure!(!causes.contains(&SocketCause::Retransmission.code()), "waits are put down to losses");
    Ok(())
}

fn congestion_window() -> Result<()> {
    needs_wire()?;
    let sockets = sample("sockets")?;
    let drain = format!("exec {sockets} drain 10.77.0.2");
    // It begins with ten segments, where the receiver's window is several times as large, and doubles with each round trip.
    let recorded = Recorded::of(&[&sample("wire")?, "20", "0", &drain, "--", &sockets, "pour", "10.77.0.2"])?;
    let table = &recorded.trace.sockets.sockets;
    let sender = (0..table.len()).find(|&row| table.bytes_sent[row] == BULK).context("no sender")?;
    let share = recorded.share(sender, SocketCause::CongestionWindow);
    ensure!(share > 0.5, "{:?}", recorded.causes(sender));
    Ok(())
}

/// samples/uring.c, where the kernel has io_uring.
fn needs_io_uring() -> Result<String> {
    let program = sample("uring")?;
    if std::process::Command::new(&program).status()?.code() == Some(77) {
        return Err(Skip("this kernel has no io_uring".into()).into());
    }
    Ok(program)
}

fn io_uring() -> Result<()> {
    let recorded = Recorded::of(&[&needs_io_uring()?])?;
    polls_are_told(&recorded)?;
    let client = recorded.asking()?;
    let share = recorded.share(client, SocketCause::PeerWaiting);
    ensure!(share > 0.5, "{:?}", recorded.causes(client));
    Ok(())
}

fn splice() -> Result<()> {
    let recorded = Recorded::sample("splice-away")?;
    let sockets = &recorded.trace.sockets.sockets;
    let sender = (0..sockets.len()).find(|&row| sockets.bytes_sent[row] == BULK).context("no sender")?;
    let receiver = sockets.peer[sender].get().context("no receiver")?;
    let (seen, unseen) = (sockets.bytes_received[receiver], sockets.bytes_unseen[receiver]);
    // The end of the stream is one in TCP's account.
    ensure!(seen == REQUEST && unseen.abs_diff(BULK - REQUEST) <= 1, "{seen} bytes seen, {unseen} not");
    let all = recorded.recording.report(&["sockets"])?.to_string();
    ensure!(all.contains("were taken from TCP by splice"), "{all}");
    Ok(())
}

/// No call tells of a socket that is received from by splice alone: it is looked for when a thread has waited on it.
fn file_only() -> Result<()> {
    let recorded = Recorded::sample("file-only")?;
    let sockets = &recorded.trace.sockets.sockets;
    let sender = (0..sockets.len()).find(|&row| sockets.bytes_sent[row] == BULK).context("no sender")?;
    let receiver = sockets.peer[sender].get().context("no receiver")?;
    let (seen, unseen) = (sockets.bytes_received[receiver], sockets.bytes_unseen[receiver]);
    ensure!(seen == 0 && unseen.abs_diff(BULK) <= 1, "{seen} bytes seen, {unseen} not");
    ensure!(recorded.waits(receiver, SocketDirection::Receive) > 0, "no wait to receive");
    let waited: u64 = recorded.causes(receiver).values().sum();
    ensure!(waited > 500_000_000, "it waited {waited} ns");
    Ok(())
}

/// Nothing tells of the end of a socket of UDP: those that are gone give their room back.
fn one_after_the_other() -> Result<()> {
    let python = needs_program("python3")?;
    let script = "
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.1', 0))
for number in range(20000):
    if number % 4000 == 3999: time.sleep(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b'x', server.getsockname())
        server.recv(1)
";
    let recorded = Recorded::of(&[&python, "-c", script])?;
    let sockets = &recorded.trace.sockets.sockets;
    let sent: u64 = sockets.sends.iter().sum();
    ensure!(sent == 20_000, "{sent} of 20000 calls are counted; losses: {:?}", recorded.trace.losses);
    Ok(())
}
