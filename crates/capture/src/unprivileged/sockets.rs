//! The sockets of a network namespace, as the tables under /proc/PID/net have them: inode, addresses, state; and who is connected
//! with whom.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use dwell_store::raw::wire::{AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP, IPPROTO_UDP, ObjectRecord, TEXT_BYTES};

use super::unix_peers;

const AF_NETLINK: u16 = 16;
const AF_PACKET: u16 = 17;
/// Tables with internet addresses: name, family, protocol.
const INTERNET: &[(&str, u16, u16)] = &[
    ("tcp", AF_INET, IPPROTO_TCP),
    ("tcp6", AF_INET6, IPPROTO_TCP),
    ("udp", AF_INET, IPPROTO_UDP),
    ("udp6", AF_INET6, IPPROTO_UDP),
];
/// Reading them takes this share of the time at most.
const SHARE: u32 = 20;
/// How often they are read for a connected Unix socket whose other end is not told: it may be in another network namespace.
const MOST_LOOKS: u8 = 5;
/// `SS_CONNECTED` of `linux/net.h`.
const CONNECTED: u8 = 3;
/// Sockets of tables that are kept; beyond it the rest has no addresses.
const MOST_SOCKETS: usize = 1 << 20;

/// An end: address as it goes over the net, and port.
type End = ([u8; 16], u16);

/// A socket of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    family: u16,
    protocol: u16,
    state: u8,
    local: End,
    remote: End,
    path: Vec<u8>,
}

impl Socket {
    /// Puts what is known into a record.
    pub fn describe(&self, record: &mut ObjectRecord) {
        record.family = self.family;
        record.protocol = self.protocol;
        record.socket_state = self.state;
        (record.local_address, record.local_port) = self.local;
        (record.remote_address, record.remote_port) = self.remote;
        let kept = self.path.len().min(TEXT_BYTES);
        record.text[..kept].copy_from_slice(&self.path[..kept]);
        record.text_bytes = kept as u16;
    }
}

/// The sockets that were found so far.
#[derive(Default)]
pub struct SocketTable {
    by_inode: HashMap<u64, Socket>,
    by_ends: HashMap<(End, End), u64>,
    unix_peers: HashMap<u64, u64>,
    /// How often a peer was looked for in vain.
    looks: HashMap<u64, u8>,
    /// The kernel does not tell peers.
    no_unix_peers: bool,
    keys: HashMap<u64, u64>,
    next_look: Option<Instant>,
}

impl SocketTable {
    /// The socket with this inode in the network namespace of process `tgid`.
    pub fn find(&mut self, tgid: u32, inode: u64) -> Option<Socket> {
        let now = Instant::now();
        if !self.is_complete(inode) && self.next_look.is_none_or(|next| next <= now) {
            self.read(&|name| fs::read_to_string(format!("/proc/{tgid}/net/{name}")).unwrap_or_default());
            self.read_unix_peers(inode);
            let pause = now.elapsed() * SHARE;
            self.next_look = Some(now + pause.max(Duration::from_millis(1)));
        }
        self.by_inode.get(&inode).cloned()
    }

    /// Whether the socket is known, with its other end.
    fn is_complete(&self, inode: u64) -> bool {
        self.by_inode.get(&inode).is_some_and(|socket| match socket.family {
            AF_UNIX if self.no_unix_peers || socket.state != CONNECTED => true,
            AF_UNIX => self.unix_peers.contains_key(&inode) || self.looks.get(&inode) >= Some(&MOST_LOOKS),
            _ => socket.remote.1 != 0,
        })
    }

    /// Reads all; `inode` is looked for.
    fn read_unix_peers(&mut self, inode: u64) {
        if self.unix_peers.len() >= MOST_SOCKETS || self.looks.len() >= MOST_SOCKETS {
            self.unix_peers.clear();
            self.looks.clear();
        }
        let looks = self.looks.entry(inode).or_default();
        *looks = looks.saturating_add(1); // a socket that listens is looked for as long as somebody waits there
        let told = unix_peers::each(&mut |inode, peer| {
            self.unix_peers.insert(inode, peer);
        });
        self.no_unix_peers = told.is_err();
    }

    /// The object of the socket with this inode.
    pub fn keep(&mut self, inode: u64, key: u64) {
        self.keys.insert(inode, key);
    }

    /// The object of the other end, when a profiled process has used it.
    pub fn peer(&self, inode: u64, socket: &Socket) -> Option<u64> {
        let peer = match socket.family {
            AF_UNIX => self.unix_peers.get(&inode),
            _ => self.by_ends.get(&(socket.remote, socket.local)).filter(|_| socket.remote.1 != 0),
        };
        self.keys.get(peer?).copied()
    }

    /// All that were found, by inode.
    pub fn found(&self) -> impl Iterator<Item = (u64, &Socket)> {
        self.by_inode.iter().map(|(inode, socket)| (*inode, socket))
    }

    /// Takes in the tables, whose texts `read` gives by their names.
    pub fn read(&mut self, read: &dyn Fn(&str) -> String) {
        for &(name, family, protocol) in INTERNET {
            for line in read(name).lines().skip(1) {
                self.add(internet(line, family, protocol));
            }
        }
        read("unix").lines().skip(1).for_each(|line| self.add(unix(line)));
        for (name, family, column) in [("netlink", AF_NETLINK, 9), ("packet", AF_PACKET, 8)] {
            for line in read(name).lines().skip(1) {
                let inode = line.split_whitespace().nth(column).and_then(|field| field.parse().ok());
                self.add(inode.map(|inode| (inode, Socket { family, ..Socket::default() })));
            }
        }
    }

    fn add(&mut self, found: Option<(u64, Socket)>) {
        let Some((inode, socket)) = found.filter(|(inode, _)| *inode != 0) else { return };
        if self.by_inode.len() >= MOST_SOCKETS {
            self.by_inode.clear();
            self.by_ends.clear();
        }
        if socket.remote.1 != 0 {
            self.by_ends.insert((socket.local, socket.remote), inode);
        }
        self.by_inode.insert(inode, socket);
    }
}

/// `sl local remote st tx:rx tr:when retrnsmt uid timeout inode …`
fn internet(line: &str, family: u16, protocol: u16) -> Option<(u64, Socket)> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, remote) = (end(fields.next()?)?, end(fields.next()?)?);
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(5)?.parse().ok()?;
    Some((inode, Socket { family, protocol, state, local, remote, path: Vec::new() }))
}

/// `0100007F:1F90`, the address in words of this machine's byte order.
fn end(field: &str) -> Option<End> {
    let (words, port) = field.split_once(':')?;
    let mut address = [0; 16];
    let words = words.as_bytes().chunks(8).filter_map(|word| std::str::from_utf8(word).ok());
    for (to, word) in address.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&u32::from_str_radix(word, 16).ok()?.to_ne_bytes());
    }
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

/// `num: refs protocol flags type st inode path`; the name of an abstract socket begins with @.
fn unix(line: &str) -> Option<(u64, Socket)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let inode = words.get(6)?.parse().ok()?;
    let state = u8::from_str_radix(words.get(5)?, 16).ok()?;
    // It may have blanks; all before it are numbers.
    let path =
        words.get(7).and_then(|first| line.find(&format!(" {first}"))).map(|at| line.as_bytes()[at + 1..].to_vec());
    let path = path.unwrap_or_default();
    let path = match path.strip_prefix(b"@") {
        Some(name) => [&[0], name].concat(),
        None => path,
    };
    Some((inode, Socket { family: AF_UNIX, state, path, ..Socket::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tables_are_read() {
        let line =
            "   0: 0100007F:1F90 0200007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20";
        let (inode, socket) = internet(line, AF_INET, IPPROTO_TCP).expect("a line");
        assert_eq!((inode, socket.state, socket.local.1, socket.remote.1), (4711, 1, 8080, 49153));
        assert_eq!(socket.local.0[..4], [127, 0, 0, 1]);
        let (inode, socket) = unix("0000000000000000: 00000003 00000000 00000000 0001 03 815 @/tmp/x").expect("a line");
        assert_eq!((inode, socket.path.as_slice()), (815, b"\0/tmp/x".as_slice()));
        assert!(internet("garbage", AF_INET, IPPROTO_TCP).is_none() && unix("").is_none());
    }

    #[test]
    fn who_never_gets_a_peer_can_be_looked_for_without_end() {
        let mut sockets = SocketTable::default();
        (0..300).for_each(|_| sockets.read_unix_peers(7));
        assert_eq!(sockets.looks.get(&7), Some(&u8::MAX));
    }
}
