//! The sockets that goroutines wait for: the runtime knows their descriptors, /proc whose addresses these have.

use std::fs;
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
use crate::programs::descriptors::{TcpSocket, tcp_sockets};

/// What reading the kernel's table of connections may cost, as a part of one CPU: it has those of all programs.
const COST_SHARE: u64 = 200;
/// Sockets that are remembered.
const MOST_SOCKETS: usize = 1 << 16;

/// Those of one process.
#[derive(Default)]
pub struct GoroutineSockets {
    /// The keys of their records, by inode; 0 of what is no TCP socket.
    keys: HashMap<u64, u64>,
    next_table_ns: u64,
    table_cost_ns: u64,
}

impl GoroutineSockets {
    /// The key of the record of a descriptor's socket, which is written when it is new; 0 where it has none.
    pub fn key(&mut self, (pid, descriptor): (u32, u32), now_ns: u64, records: &mut RecordBuffer) -> u64 {
        let Some(inode) = socket_inode(pid, descriptor) else { return 0 };
        if let Some(key) = self.keys.get(&inode) {
            return *key;
        }
        if now_ns < self.next_table_ns || self.keys.len() >= MOST_SOCKETS {
            return 0;
        }
        let began_ns = thread_cpu_ns();
        let table = tcp_sockets(pid);
        let cost_ns = thread_cpu_ns().saturating_sub(began_ns);
        self.next_table_ns = now_ns + COST_SHARE * cost_ns;
        self.table_cost_ns += cost_ns;
        let key = table.get(&inode).map_or(0, |socket| {
            let key = FixedState::default().hash_one((pid, inode)).max(1);
            records.fixed(&record(socket, (key, inode), (pid, descriptor), now_ns));
            key
        });
        self.keys.insert(inode, key);
        key
    }

    /// What reading tables has cost since this was asked, ns of CPU time.
    pub fn take_table_cost_ns(&mut self) -> u64 {
        std::mem::take(&mut self.table_cost_ns)
    }

    /// Writes every record again when it is asked for next.
    pub fn forget(&mut self) {
        self.keys.clear();
        self.next_table_ns = 0;
    }
}

fn socket_inode(pid: u32, descriptor: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
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
        let (mut sockets, mut records) = (GoroutineSockets::default(), RecordBuffer::default());
        let key = sockets.key((pid, descriptor), 1, &mut records);
        let written = records.bytes.len();
        assert!(key != 0 && written >= size_of::<ObjectRecord>());
        assert_eq!(sockets.key((pid, descriptor), 2, &mut records), key);
        assert_eq!(records.bytes.len(), written);
        sockets.forget();
        assert_eq!(sockets.key((pid, descriptor), 3, &mut records), key);
        assert_eq!(records.bytes.len(), 2 * written);
        assert_eq!(sockets.key((pid, u32::MAX), 1, &mut records), 0);
    }
}
