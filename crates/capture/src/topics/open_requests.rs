//! Requests over TCP that wait for their answer: how many each process was asked, and asked others, as looked at now and then. What a loop
//! of events waits for is not seen otherwise: it has many things to wait for at once.

use std::collections::{BTreeMap, HashMap};

use bytemuck::{Zeroable, pod_read_unaligned};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{
    ConnectionState, ListenerState, MOST_SENDS, OpenRequestsRecord, RecordHeader, connection_flag, kind,
};
use libbpf_rs::{Link, Object};

use crate::clock::{monotonic_ns, thread_cpu_ns, uneven};
use crate::error::{Error, Result};
use crate::kernel::walk;
use crate::topics::accept_queues::AcceptQueueLooks;

/// Time between two looks, ns, at least on average …
const INTERVAL_NS: u64 = 40_000_000;
/// … and so many times the CPU time that a look takes: it walks over all open files of the machine.
const COST_SHARE: u64 = 200;
/// Connections that are told apart by process and address; further addresses are left out of a look.
const MOST_GROUPS: usize = 64;

/// Connections of a process at one port, or to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    tgid: u32,
    is_incoming: bool,
    port: u16,
    remote_address: [u8; 16],
}

/// How many of them there are, and with a request that waits for its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    connections: u32,
    open: u32,
    requests: u32,
    answers: u32,
    /// Those with data that waits to be sent: for the other end to read, or for an acknowledgement.
    unread: u16,
    held: u16,
    sent_ns: [u64; MOST_SENDS],
}

impl Counts {
    /// Adds what was sent over a connection since the segments were as before.
    fn add(&mut self, connection: &ConnectionState, (asked, answered): (u32, u32)) {
        let requests = connection.segments.wrapping_sub(asked);
        let answers = connection.answers.wrapping_sub(answered);
        self.requests = self.requests.saturating_add(requests);
        self.answers = self.answers.saturating_add(answers);
        let is_accepted = connection.flags & connection_flag::ACCEPTED != 0;
        let sent = if is_accepted { answers } else { requests };
        if let Some(place) = self.sent_ns.iter_mut().find(|sent_ns| **sent_ns == 0).filter(|_| sent > 0) {
            *place = connection.sent_ns;
        }
    }

    /// Counts what stands still on a connection.
    fn add_state(&mut self, connection: &ConnectionState) {
        let has = |flag| connection.flags & flag != 0;
        self.connections += 1;
        self.open += u32::from(has(connection_flag::IS_ASKED));
        self.unread = self.unread.saturating_add(u16::from(has(connection_flag::IS_UNREAD)));
        self.held = self.held.saturating_add(u16::from(has(connection_flag::IS_HELD)));
    }

    /// Whether anything waits, or came or went since the look before.
    fn is_worth_telling(&self) -> bool {
        self.open > 0 || self.requests > 0 || self.answers > 0 || self.unread > 0 || self.held > 0
    }
}

/// Connections whose segments are remembered until the next look.
const MOST_CONNECTIONS: usize = 1 << 16;

/// What tells a connection from the others: process, ports, address.
type ConnectionKey = (u32, u16, u16, [u8; 16]);

/// A connection at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenConnection {
    group: Group,
    /// Segments of requests and of answers.
    requests: u32,
    answers: u32,
    /// Looks in a row at which the same request waited.
    looks_open: u32,
}

impl SeenConnection {
    /// What `connection` is now, where it `before` was what it was.
    fn new(connection: &ConnectionState, before: Option<&Self>) -> Self {
        let is_open = connection.flags & connection_flag::IS_ASKED != 0;
        let same = before.filter(|before| before.requests == connection.segments && is_open);
        Self {
            group: group(connection),
            requests: connection.segments,
            answers: connection.answers,
            looks_open: u32::from(is_open) + same.map_or(0, |before| before.looks_open),
        }
    }

    /// Whether its request was answered if it is gone: it waited at several looks. One that was seen once may be one of many that no look saw.
    fn was_answered(&self) -> bool {
        self.looks_open > 1
    }
}

/// Looks at the connections of profiled processes now and then.
pub struct ConnectionLooks {
    link: Link,
    /// Holds the program.
    _object: Object,
    bytes: Vec<u8>,
    next_ns: u64,
    looks: u64,
    /// Those of which anything was told at the last look.
    known: BTreeMap<Group, Counts>,
    /// The connections at the last look.
    seen: HashMap<ConnectionKey, SeenConnection>,
    /// The sockets that listen.
    accept_queues: AcceptQueueLooks,
}

/// Whether looks are made.
pub enum ConnectionLookState {
    /// Their program is not attached yet.
    Unattached,
    /// They are made.
    Active(Box<ConnectionLooks>),
    /// This kernel does not let them be made.
    Unsupported,
}

impl ConnectionLooks {
    /// A reader by the loaded program.
    pub fn new(object: Object) -> Result<Self> {
        let attached = object.progs_mut().next().map(|program| program.attach());
        let failed = |source| Error::Bpf { what: "attaching open_requests".into(), source };
        let link = attached.transpose().map_err(failed)?.ok_or(Error::ForeignProc)?;
        Ok(Self {
            link,
            _object: object,
            bytes: Vec::new(),
            next_ns: 0,
            looks: 0,
            known: BTreeMap::new(),
            seen: HashMap::new(),
            accept_queues: AcceptQueueLooks::default(),
        })
    }

    /// Looks when it is time, and writes what is open, and what is no more.
    pub fn round(&mut self, trace: &mut RecordBuffer, now_ns: u64) -> Result<()> {
        if now_ns < self.next_ns {
            return Ok(());
        }
        let (began_ns, began_cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        self.bytes.clear();
        walk::read(&self.link, &mut self.bytes)?;
        let (connections, listeners) = states(&self.bytes);
        self.accept_queues.write(listeners, trace, began_ns);
        let connections = without_copies(connections, &self.seen);
        let mut groups = grouped(&connections, (self.looks > 0).then_some(&self.seen));
        let seen = connections.iter().take(MOST_CONNECTIONS);
        let seen = seen.map(|it| (key(it), SeenConnection::new(it, self.seen.get(&key(it))))).collect();
        add_closed(&mut groups, &self.seen, &seen);
        self.seen = seen;
        self.write(groups, trace, began_ns);
        self.looks += 1;
        let interval_ns = INTERVAL_NS.max(COST_SHARE * thread_cpu_ns().saturating_sub(began_cpu_ns));
        self.next_ns = began_ns + uneven(interval_ns, (self.looks, began_ns));
        Ok(())
    }

    fn write(&mut self, groups: BTreeMap<Group, Counts>, trace: &mut RecordBuffer, time_ns: u64) {
        let gone =
            self.known.keys().filter(|group| !groups.contains_key(group)).map(|group| (*group, Counts::default()));
        let written =
            groups.iter().filter(|(group, counts)| counts.is_worth_telling() || self.known.contains_key(group));
        for (group, counts) in written.map(|(group, counts)| (*group, *counts)).chain(gone) {
            trace.fixed(&record(&group, counts, time_ns));
        }
        self.known = groups;
        self.known.retain(|_, counts| counts.is_worth_telling());
    }
}

/// What a look wrote: the states of connections, and of sockets that listen.
fn states(mut bytes: &[u8]) -> (Vec<ConnectionState>, Vec<ListenerState>) {
    let (mut connections, mut listeners) = (Vec::new(), Vec::new());
    while let Some((state, rest)) = bytes.split_at_checked(size_of::<ConnectionState>()) {
        let connection: ConnectionState = pod_read_unaligned(state);
        if connection.flags & connection_flag::LISTENS == 0 {
            connections.push(connection);
            bytes = rest;
        } else {
            let Some((state, rest)) = bytes.split_at_checked(size_of::<ListenerState>()) else { break };
            listeners.push(pod_read_unaligned(state));
            bytes = rest;
        }
    }
    (connections, listeners)
}

fn key(connection: &ConnectionState) -> ConnectionKey {
    (connection.tgid, connection.local_port, connection.remote_port, connection.remote_address)
}

fn group(connection: &ConnectionState) -> Group {
    let is_incoming = connection.flags & connection_flag::ACCEPTED != 0;
    let (port, remote_address) = match is_incoming {
        true => (connection.local_port, [0; 16]),
        false => (connection.remote_port, connection.remote_address),
    };
    Group { tgid: connection.tgid, is_incoming, port, remote_address }
}

/// Adds the answers of connections that are closed: whoever asks over a new connection each time sees its answer come with the end.
fn add_closed(
    groups: &mut BTreeMap<Group, Counts>,
    before: &HashMap<ConnectionKey, SeenConnection>,
    now: &HashMap<ConnectionKey, SeenConnection>,
) {
    let closed = before.iter().filter(|(key, it)| it.was_answered() && !now.contains_key(key));
    for (_, it) in closed {
        if groups.len() < MOST_GROUPS || groups.contains_key(&it.group) {
            groups.entry(it.group).or_default().answers += 1;
        }
    }
}

/// Each connection once: a child has its parent's open files until it executes a program. It is of whoever had it at the look before, or of the
/// older process.
fn without_copies(
    mut connections: Vec<ConnectionState>,
    before: &HashMap<ConnectionKey, SeenConnection>,
) -> Vec<ConnectionState> {
    let end = |it: &ConnectionState| (it.local_port, it.remote_port, it.remote_address);
    connections.sort_by_key(|it| (end(it), !before.contains_key(&key(it)), it.tgid));
    connections.dedup_by_key(|it| end(it));
    connections
}

/// Connections by what they have in common; `before` tells what was asked over each until the last look, if there was one.
fn grouped(
    connections: &[ConnectionState],
    before: Option<&HashMap<ConnectionKey, SeenConnection>>,
) -> BTreeMap<Group, Counts> {
    let mut groups: BTreeMap<Group, Counts> = BTreeMap::new();
    for connection in connections {
        let group = group(connection);
        if groups.len() < MOST_GROUPS || groups.contains_key(&group) {
            let counts = groups.entry(group).or_default();
            counts.add_state(connection);
            if let Some(before) = before {
                let before = before.get(&key(connection)).map_or((0, 0), |it| (it.requests, it.answers));
                counts.add(connection, before);
            }
        }
    }
    groups
}

fn record(group: &Group, counts: Counts, time_ns: u64) -> OpenRequestsRecord {
    let Group { tgid, is_incoming, port, remote_address } = *group;
    let h = RecordHeader { kind: kind::OPEN_REQUESTS, size: 0, tid: tgid, time_ns };
    let Counts { connections, open, requests, answers, unread, held, sent_ns } = counts;
    OpenRequestsRecord {
        h,
        remote_address,
        connections,
        open,
        requests,
        answers,
        sent_ns,
        port,
        is_incoming: u8::from(is_incoming),
        unread,
        held,
        ..OpenRequestsRecord::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_ends_with_its_connection_is_answered() {
        let open =
            ConnectionState { tgid: 7, flags: connection_flag::IS_ASKED, segments: 1, ..ConnectionState::zeroed() };
        let first = SeenConnection::new(&open, None);
        let second = SeenConnection::new(&open, Some(&first));
        let answers = |before: SeenConnection| {
            let mut groups = BTreeMap::new();
            add_closed(&mut groups, &HashMap::from([(key(&open), before)]), &HashMap::new());
            groups.get(&group(&open)).map(|counts: &Counts| counts.answers)
        };
        assert_eq!((answers(first), answers(second)), (None, Some(1)));
        let next = SeenConnection::new(&ConnectionState { segments: 2, ..open }, Some(&second));
        assert_eq!(answers(next), None, "another request");
    }

    #[test]
    fn a_childs_copies_do_not_count() {
        let of = |tgid, remote_port| ConnectionState { tgid, remote_port, local_port: 80, ..ConnectionState::zeroed() };
        let owners = |before: &[ConnectionState]| {
            let before = before.iter().map(|it| (key(it), SeenConnection::new(it, None))).collect();
            let left = without_copies(vec![of(9, 1), of(7, 1), of(9, 2)], &before);
            left.iter().map(|it| (it.tgid, it.remote_port)).collect::<Vec<_>>()
        };
        assert_eq!(owners(&[]), [(7, 1), (9, 2)]);
        assert_eq!(owners(&[of(9, 1)]), [(9, 1), (9, 2)], "ids begin again at 1");
    }

    #[test]
    fn connections_are_counted_by_process_port_and_address() {
        let accepted = |remote_port, asked: bool| ConnectionState {
            tgid: 7,
            flags: connection_flag::ACCEPTED | if asked { connection_flag::IS_ASKED } else { 0 },
            local_port: 80,
            remote_port,
            segments: 5,
            answers: 3,
            sent_ns: 9,
            remote_address: [127; 16],
            ..ConnectionState::zeroed()
        };
        let made = ConnectionState { flags: connection_flag::IS_ASKED, local_port: 40_000, ..accepted(5432, false) };
        let all = [accepted(1, true), accepted(2, false), made];
        let counted = |before| {
            let groups = grouped(&all, before);
            groups.iter().map(|(of, counts)| (of.is_incoming, of.port, *counts)).collect::<Vec<_>>()
        };
        let counts = |connections, open, requests| Counts { connections, open, requests, ..Counts::default() };
        assert_eq!(counted(None), [(false, 5432, counts(1, 1, 0)), (true, 80, counts(2, 1, 0))]);
        // One connection was there and asked twice more, one is new; both were answered.
        let seen = |it: &ConnectionState, requests, answers| {
            (key(it), SeenConnection { group: group(it), requests, answers, looks_open: 0 })
        };
        let before = HashMap::from([seen(&all[0], 3, 2), seen(&all[2], 5, 3)]);
        let accepted = Counts { answers: 1 + 3, sent_ns: [9, 9, 0, 0], ..counts(2, 1, 7) };
        assert_eq!(counted(Some(&before)), [(false, 5432, counts(1, 1, 0)), (true, 80, accepted)]);
    }
}
