//! The table of sockets: one row per end of a connection, each with the row of the other end.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use dwell_model::{ObjectId, ProcessId, SocketDirection, SocketId, SocketProtocol, ThreadId};
use dwell_store::raw::wire::{
    AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP, IPPROTO_UDP, SocketRecord, TCP_LISTEN, socket_flag, tcp_state_flag,
};
use dwell_store::raw::{c_string, unix_socket_name};
use dwell_store::tables::{SocketRow, SocketSizeRow, SocketSizes, Sockets};

use crate::hash::FastMap;
use crate::input::sockets::RawSockets;
use crate::replay::state::Replay;

/// Ports from here on are chosen by the kernel.
const EPHEMERAL: u16 = 32768;

/// The sockets and where they are found.
#[derive(Default)]
pub struct SocketEnds {
    /// The table.
    pub sockets: Sockets,
    /// Sizes of calls.
    pub sizes: SocketSizes,
    /// Thread that used each first.
    users: Vec<ThreadId>,
    by_cookie: FastMap<u64, SocketId>,
    by_object: FastMap<u64, Vec<SocketId>>,
}

impl SocketEnds {
    /// The rows of all sockets that the trace tells of.
    pub fn new(raw: &RawSockets, replay: &Replay, end_ns: u64) -> Self {
        let mut ends = Self::default();
        let mut states: Vec<&Vec<SocketRecord>> = raw.sockets.values().collect();
        states.sort_by_key(|states| states.first().map_or((0, 0), |first| (first.first_ns, first.cookie)));
        let mut records = Vec::new();
        for states in states {
            let Some(record) = summed(states) else { continue };
            ends.add(&record, replay, end_ns);
            records.push(record);
        }
        ends.join(&records, raw, replay);
        ends
    }

    /// The socket of a cookie, else the one that an object key stood for at `time_ns`.
    pub fn find(&self, cookie: u64, object: u64, time_ns: u64) -> Option<SocketId> {
        self.by_cookie.get(&cookie).copied().or_else(|| {
            let opened = |id: &SocketId| id.get().is_some_and(|row| self.sockets.opened_ns[row] <= time_ns);
            let ids = self.by_object.get(&object)?;
            ids.iter().rev().copied().find(opened).or_else(|| ids.first().copied())
        })
    }

    /// The thread that used the other end of `socket` first, when it is profiled.
    pub fn thread_at_other_end(&self, socket: SocketId) -> ThreadId {
        let peer = socket.get().and_then(|row| self.sockets.peer[row].get());
        peer.map_or(ThreadId::NONE, |peer| self.users[peer])
    }

    fn add(&mut self, record: &SocketRecord, replay: &Replay, end_ns: u64) {
        let closed = record.closed_ns != 0;
        let was_open = record.flags & socket_flag::WAS_OPEN != 0;
        let tcp = &record.tcp;
        let (local, remote) = addresses(record);
        let id = SocketId::new(self.sockets.push(SocketRow {
            object: ObjectId::NONE,
            protocol: protocol(record).code(),
            listening: tcp.state == TCP_LISTEN,
            asks: asks(record),
            loopback: is_loopback(record),
            local,
            remote,
            process: process_of(record, replay),
            peer: SocketId::NONE,
            peer_process: String::new(),
            peer_pid: 0,
            opened_ns: if was_open { 0 } else { replay.relative(record.first_ns).min(end_ns) },
            closed_ns: if closed { replay.relative(record.closed_ns).min(end_ns) } else { end_ns },
            closed,
            bytes_sent: record.bytes_sent,
            bytes_received: record.bytes_received,
            sends: record.sends,
            receives: record.receives,
            sends_refused: record.sends_refused,
            receives_empty: record.receives_empty,
            largest_pipeline: record.largest_pipeline,
            turns: record.turns,
            nodelay: tcp.flags & tcp_state_flag::NODELAY != 0,
            corked: tcp.flags & tcp_state_flag::CORK != 0,
            send_buffer_bytes: tcp.send_buffer,
            receive_buffer_bytes: tcp.receive_buffer,
            mss_bytes: tcp.mss,
            srtt_ns: u64::from(tcp.srtt_us) * 1000,
            min_rtt_ns: if tcp.min_rtt_us == u32::MAX { 0 } else { u64::from(tcp.min_rtt_us) * 1000 },
            retransmits: u64::from(tcp.retransmits),
            delayed_acks: u64::from(record.delayed_acks),
            receives_short: record.receives_short,
            bytes_unseen: if was_open { 0 } else { unseen(record) },
            backlog_limit: if tcp.state == TCP_LISTEN { tcp.backlog_limit } else { 0 },
            arrivals: record.arrivals,
            queued_ns: record.queued_ns,
            most_queued: record.most_queued,
            drops: if tcp.state == TCP_LISTEN { u64::from(record.drops) } else { 0 },
        }));
        let user = replay.thread_table.find_at(record.h.tid, replay.relative(record.first_ns));
        self.users.push(user.unwrap_or(ThreadId::NONE));
        self.by_cookie.insert(record.cookie, id);
        self.by_object.entry(record.object).or_default().push(id);
        self.add_sizes(id, SocketDirection::Send, &record.sizes_sent);
        self.add_sizes(id, SocketDirection::Receive, &record.sizes_received);
    }

    fn add_sizes(&mut self, socket: SocketId, direction: SocketDirection, classes: &[u32]) {
        for (class, &calls) in classes.iter().enumerate().filter(|(_, calls)| **calls > 0) {
            let from_bytes = class.checked_sub(1).map_or(0, |bits| 1 << bits);
            let direction = direction.code();
            self.sizes.push(SocketSizeRow { socket, direction, from_bytes, calls: u64::from(calls) });
        }
    }

    /// Finds the other ends: by addresses, of Unix sockets by cookie, of other programs by what the collector saw.
    fn join(&mut self, records: &[SocketRecord], raw: &RawSockets, replay: &Replay) {
        let mut by_ends: HashMap<_, Vec<usize>> = HashMap::new();
        for (row, record) in records.iter().enumerate().filter(|(_, record)| record.remote_port != 0) {
            by_ends.entry(near_and_far(record)).or_default().push(row);
        }
        for (row, record) in records.iter().enumerate() {
            let by_address = || {
                let (near, far) = near_and_far(record);
                let rows = by_ends.get(&(far, near)).filter(|_| record.remote_port != 0)?;
                rows.iter().copied().find(|&other| self.overlap(row, other)).map(SocketId::new)
            };
            let peer = self.by_cookie.get(&record.peer).copied().filter(|_| record.peer != 0).or_else(by_address);
            if let Some(peer) = peer {
                self.sockets.peer[row] = peer;
                self.sockets.loopback[row] = true;
            }
        }
        for row in 0..self.sockets.peer.len() {
            if let Some(peer) = self.sockets.peer[row].get() {
                self.sockets.peer[peer] = SocketId::new(row); // of a Unix pair only one end may know the other
                self.sockets.loopback[peer] = true;
            }
        }
        for (row, record) in records.iter().enumerate() {
            self.name_peer(row, record.cookie, raw, replay);
        }
    }

    fn name_peer(&mut self, row: usize, cookie: u64, raw: &RawSockets, replay: &Replay) {
        if let Some(peer) = self.sockets.peer[row].get() {
            let process = self.sockets.process[peer];
            self.sockets.peer_process[row] = replay.thread_table.process_name(process).to_owned();
            self.sockets.peer_pid[row] = replay.thread_table.pid(process);
        } else if let Some(peer) = raw.peers.get(&cookie) {
            self.sockets.peer_process[row] = c_string(&peer.comm);
            self.sockets.peer_pid[row] = peer.pid;
            self.sockets.loopback[row] = true;
        }
    }

    fn overlap(&self, row: usize, other: usize) -> bool {
        let sockets = &self.sockets;
        row != other
            && sockets.opened_ns[row] <= sockets.closed_ns[other]
            && sockets.opened_ns[other] <= sockets.closed_ns[row]
    }
}

/// The process that used it first.
fn process_of(record: &SocketRecord, replay: &Replay) -> ProcessId {
    let image = replay.thread_table.image_at(record.tgid, replay.relative(record.first_ns));
    image
        .and_then(|image| replay.thread_table.images.get(image as usize))
        .map_or(ProcessId::NONE, |image| image.process)
}

/// One record of all the times that counting began.
fn summed(states: &[SocketRecord]) -> Option<SocketRecord> {
    let mut sum = *states.last()?;
    for state in &states[..states.len() - 1] {
        sum.bytes_sent = sum.bytes_sent.saturating_add(state.bytes_sent);
        sum.bytes_received = sum.bytes_received.saturating_add(state.bytes_received);
        sum.sends = sum.sends.saturating_add(state.sends);
        sum.receives = sum.receives.saturating_add(state.receives);
        sum.sends_refused = sum.sends_refused.saturating_add(state.sends_refused);
        sum.receives_empty = sum.receives_empty.saturating_add(state.receives_empty);
        sum.turns = sum.turns.saturating_add(state.turns);
        sum.receives_short = sum.receives_short.saturating_add(state.receives_short);
        sum.arrivals = sum.arrivals.saturating_add(state.arrivals);
        sum.queued_ns = sum.queued_ns.saturating_add(state.queued_ns);
        sum.most_queued = sum.most_queued.max(state.most_queued);
        sum.largest_pipeline = sum.largest_pipeline.max(state.largest_pipeline);
        sum.delayed_acks = sum.delayed_acks.saturating_add(state.delayed_acks);
        let classes = sum.sizes_sent.iter_mut().zip(&state.sizes_sent);
        let classes = classes.chain(sum.sizes_received.iter_mut().zip(&state.sizes_received));
        classes.for_each(|(sum, calls)| *sum = sum.saturating_add(*calls));
        sum.first_ns = sum.first_ns.min(state.first_ns);
        sum.flags |= state.flags;
    }
    Some(sum)
}

fn protocol(record: &SocketRecord) -> SocketProtocol {
    match (record.family, record.ty, record.protocol) {
        (AF_INET | AF_INET6, _, IPPROTO_TCP) => SocketProtocol::Tcp,
        (AF_INET | AF_INET6, _, IPPROTO_UDP) => SocketProtocol::Udp,
        (AF_UNIX, 1, _) => SocketProtocol::UnixStream,
        (AF_UNIX, 2, _) => SocketProtocol::UnixDatagram,
        (AF_UNIX, 5, _) => SocketProtocol::UnixPacket,
        _ => SocketProtocol::Unknown,
    }
}

type End = ([u8; 16], u16);

fn near_and_far(record: &SocketRecord) -> (End, End) {
    ((record.local_address, record.local_port), (record.remote_address, record.remote_port))
}

fn ip(address: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(address).to_canonical()
}

fn is_loopback(record: &SocketRecord) -> bool {
    match record.family {
        AF_UNIX => true,
        AF_INET | AF_INET6 if record.remote_port != 0 => {
            ip(record.remote_address).is_loopback() || record.remote_address == record.local_address
        }
        _ => false,
    }
}

/// Bytes that TCP gave away and no call received. The end of the stream is one of its account.
fn unseen(record: &SocketRecord) -> u64 {
    Some(record.taken_total.saturating_sub(record.bytes_received)).filter(|&bytes| bytes > 1).unwrap_or(0)
}

/// Whether this end asks and the other answers. Of a TCP connection that was there before, the end whose port the kernel
/// chose is the one that connected.
fn asks(record: &SocketRecord) -> bool {
    let sent_first = record.flags & socket_flag::SENT_FIRST != 0;
    let chosen = (record.local_port >= EPHEMERAL, record.remote_port >= EPHEMERAL);
    match (protocol(record), chosen) {
        _ if record.flags & socket_flag::CONNECTED != 0 => true,
        (SocketProtocol::Tcp, _) if record.flags & socket_flag::WAS_OPEN == 0 => false,
        (SocketProtocol::Tcp, (local, remote)) if local != remote => local,
        _ => sent_first,
    }
}

/// The two addresses as people write them.
fn addresses(record: &SocketRecord) -> (String, String) {
    let shown = |address, port| if port == 0 { String::new() } else { SocketAddr::new(ip(address), port).to_string() };
    match record.family {
        AF_INET | AF_INET6 => {
            (shown(record.local_address, record.local_port), shown(record.remote_address, record.remote_port))
        }
        AF_UNIX => (unix_path(record), String::new()),
        _ => (String::new(), String::new()),
    }
}

fn unix_path(record: &SocketRecord) -> String {
    unix_socket_name(&record.path[..(record.path_bytes as usize).min(record.path.len())])
}
