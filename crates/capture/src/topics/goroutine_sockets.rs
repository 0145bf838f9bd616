//! The sockets that goroutines wait for: the runtime knows their descriptors, /proc whose addresses these have.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use bytemuck::Zeroable;
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{
    AF_INET, AF_INET6, IPPROTO_TCP, ObjectRecord, RecordHeader, TCP_LISTEN, kind, object_kind,
};
use foldhash::HashMap;
use foldhash::fast::FixedState;

use crate::clock::thread_cpu_ns;
use crate::programs::descriptors::{TcpSocket, socket_inode, tcp_sockets};

/// What looking sockets up may cost, as a part of one CPU; and at once, ns of CPU time.
const COST_SHARE: u64 = 200;
const MOST_AT_ONCE_NS: u64 = 20_000_000;
/// Sockets that are remembered: of more, those that still matter are written again.
const MOST_SOCKETS: usize = 1 << 16;

/// Those of one process.
pub struct GoroutineSockets {
    /// The keys of their records, by inode; 0 of what is no TCP socket.
    keys: HashMap<u64, u64>,
    /// The kernel's table as it was read last, and in the pass that began when.
    table: std::collections::HashMap<u64, TcpSocket>,
    table_of_ns: u64,
    pass_ns: u64,
    /// CPU time that may be spent until more is earned, ns.
    credit_ns: u64,
    spent_ns: u64,
}

impl GoroutineSockets {
    /// Of none yet.
    pub fn new() -> Self {
        Self {
            keys: HashMap::default(),
            table: std::collections::HashMap::new(),
            table_of_ns: 0,
            pass_ns: 0,
            credit_ns: MOST_AT_ONCE_NS,
            spent_ns: 0,
        }
    }

    /// A pass over the goroutines begins.
    pub fn begin_pass(&mut self, now_ns: u64) {
        let earned_ns = now_ns.saturating_sub(self.pass_ns) / COST_SHARE;
        self.credit_ns = self.credit_ns.saturating_add(earned_ns).min(MOST_AT_ONCE_NS);
        self.pass_ns = now_ns;
    }

    /// The key of the record of a descriptor's socket, which is written when it is new, 0 where it has none; nothing while it may not be looked up.
    pub fn key(&mut self, (pid, descriptor): (u32, u32), records: &mut RecordBuffer) -> Option<u64> {
        if self.credit_ns == 0 {
            return None;
        }
        let began_ns = thread_cpu_ns();
        let key = self.look_up((pid, descriptor), records);
        let cost_ns = thread_cpu_ns().saturating_sub(began_ns);
        self.credit_ns = self.credit_ns.saturating_sub(cost_ns);
        self.spent_ns += cost_ns;
        Some(key)
    }

    fn look_up(&mut self, (pid, descriptor): (u32, u32), records: &mut RecordBuffer) -> u64 {
        let Some(inode) = socket_inode(pid, descriptor) else { return 0 };
        if let Some(key) = self.keys.get(&inode) {
            return *key;
        }
        if !self.table.contains_key(&inode) && self.table_of_ns != self.pass_ns {
            (self.table, self.table_of_ns) = (tcp_sockets(pid), self.pass_ns);
        }
        let key = self.table.get(&inode).map_or(0, |socket| {
            let key = FixedState::default().hash_one((pid, inode)).max(1);
            records.fixed(&record(socket, (key, inode), (pid, descriptor), self.pass_ns));
            key
        });
        if self.keys.len() >= MOST_SOCKETS {
            self.keys.clear();
        }
        self.keys.insert(inode, key);
        key
    }

    /// What was spent since this was asked, ns of CPU time.
    pub fn take_cost_ns(&mut self) -> u64 {
        std::mem::take(&mut self.spent_ns)
    }

    /// Writes every record again when it is asked for next.
    pub fn forget(&mut self) {
        self.keys.clear();
    }
}

fn record(socket: &TcpSocket, (key, inode): (u64, u64), (tgid, descriptor): (u32, u32), time_ns: u64) -> ObjectRecord {
    ObjectRecord {
        h: RecordHeader { kind: kind::OBJECT, size: 0, tid: tgid, time_ns },
        key,
        inode,
        tgid,
        fd: i32::try_from(descriptor).unwrap_or(-1),
        kind: object_kind::SOCKET,
        socket_state: if socket.listens { TCP_LISTEN } else { 0 },
        family: if socket.own.is_ipv4() { AF_INET } else { AF_INET6 },
        protocol: IPPROTO_TCP,
        local_port: socket.own.port(),
        remote_port: socket.other.port(),
        local_address: address(socket.own),
        remote_address: address(socket.other),
        ..ObjectRecord::zeroed()
    }
}

/// An IPv4 address is the first four bytes.
fn address(of: SocketAddr) -> [u8; 16] {
    match of.ip() {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&ip.octets());
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_socket_is_written_once_and_anew_when_it_is_forgotten() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (pid, descriptor) = (std::process::id(), stream.as_raw_fd() as u32);
        let (mut sockets, mut records) = (GoroutineSockets::new(), RecordBuffer::default());
        sockets.begin_pass(1);
        let key = sockets.key((pid, descriptor), &mut records).expect("credit");
        let written = records.bytes.len();
        assert!(key != 0 && written >= size_of::<ObjectRecord>());
        assert_eq!(sockets.key((pid, descriptor), &mut records), Some(key));
        assert_eq!(records.bytes.len(), written);
        sockets.forget();
        assert_eq!(sockets.key((pid, descriptor), &mut records), Some(key));
        assert_eq!(records.bytes.len(), 2 * written);
        assert_eq!(sockets.key((pid, u32::MAX), &mut records), Some(0), "no descriptor");
    }

    #[test]
    fn sockets_of_later_passes_are_found_while_there_is_credit() {
        let (mut sockets, mut records) = (GoroutineSockets::new(), RecordBuffer::default());
        for pass in 1..4 {
            sockets.begin_pass(pass);
            sockets.credit_ns = MOST_AT_ONCE_NS; // a machine with many connections has longer tables
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let key = sockets.key((std::process::id(), listener.as_raw_fd() as u32), &mut records);
            assert!(key.is_some_and(|key| key != 0), "pass {pass}");
        }
        assert!(sockets.take_cost_ns() > 0);
        sockets.credit_ns = 0;
        assert_eq!(sockets.key((std::process::id(), 0), &mut records), None);
        sockets.begin_pass(COST_SHARE * 1000);
        assert!(sockets.key((std::process::id(), 0), &mut records).is_some());
    }
}
