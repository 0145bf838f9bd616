//! The user side of the socket hooks: reads what they count of each socket and writes what has changed into the trace,
//! and lets the kernel side look over the open files of processes where no event tells of a socket.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use bytemuck::{Pod, Zeroable, pod_read_unaligned};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::SocketRecord;
use libbpf_rs::{Iter, MapCore, MapFlags, MapHandle, Object};

use crate::error::{Error, Result};

/// Time between two readings while few sockets are in use …
const READ_NS: u64 = 50_000_000;
/// … and that so many of them make longer by as much again.
const FEW: u64 = 128;
/// Time between two looks at who has the other ends.
const LOOK_NS: u64 = 500_000_000;
/// Entries read by one call.
const BATCH: u32 = 1024;
const AF_UNIX: u16 = 1;

/// `struct socket_entry` of sockets.bpf.h.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    record: SocketRecord,
    connection: u64,
    answer: u64,
    sk: u64,
    tcp_ns: u64,
    last_tid: u32,
    reserved: u32,
}

/// Reads the map of sockets now and then.
pub struct Sockets {
    sockets: MapHandle,
    connections: MapHandle,
    /// When each socket was last used, as far as it is written.
    written: HashMap<u64, u64>,
    /// Sockets whose other end was looked for.
    looked_for: HashSet<u64>,
    next_read_ns: u64,
    next_look_ns: u64,
    /// Sockets were used whose other end has not been looked for yet.
    new: bool,
}

impl Sockets {
    /// A reader of the maps of `object`, the loaded hooks.
    pub fn new(object: &Object) -> Result<Self> {
        let map = |name: &str| {
            let failed = |source| Error::Bpf { what: format!("opening map {name}"), source };
            let map = object.maps().find(|map| map.name() == name);
            MapHandle::try_from(&map.ok_or_else(|| Error::Unsupported { reason: format!("no map {name}") })?)
                .map_err(failed)
        };
        Ok(Self {
            sockets: map("sockets")?,
            connections: map("connections")?,
            written: HashMap::new(),
            looked_for: HashSet::new(),
            next_read_ns: 0,
            next_look_ns: 0,
            new: false,
        })
    }

    /// Writes what has changed when it is time, at the end in any case.
    pub fn round(&mut self, object: &Object, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) -> Result<()> {
        if now_ns < self.next_read_ns && !at_end {
            return Ok(());
        }
        let changed = self.read(trace, now_ns)?;
        self.next_read_ns = now_ns + READ_NS * (1 + changed / FEW);
        if self.new && (now_ns >= self.next_look_ns || at_end) {
            self.new = false;
            self.next_look_ns = now_ns + LOOK_NS;
            run(object, "find_peers")?;
        }
        Ok(())
    }

    /// Returns how many sockets had changed.
    fn read(&mut self, trace: &mut RecordBuffer, now_ns: u64) -> Result<u64> {
        let failed = |source| Error::Bpf { what: "reading the sockets".into(), source };
        let mut changed = 0;
        let mut closed = Vec::new();
        for (_, value) in self.sockets.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).map_err(failed)? {
            let Some(bytes) = value.get(..size_of::<Entry>()) else { continue };
            let entry: Entry = pod_read_unaligned(bytes);
            let mut record = entry.record;
            if self.written.insert(record.cookie, record.h.time_ns) != Some(record.h.time_ns) {
                changed += 1;
                record.h.time_ns = now_ns;
                trace.fixed(&record);
            }
            let connected = record.remote_port != 0 || record.family == AF_UNIX;
            self.new |= connected && record.closed_ns == 0 && self.looked_for.insert(record.cookie);
            if record.closed_ns != 0 {
                closed.push((record.cookie, entry.connection));
            }
        }
        for (cookie, connection) in closed {
            // They may be gone by now.
            let _ = self.sockets.delete(&cookie.to_ne_bytes());
            let _ = self.connections.delete(&connection.to_ne_bytes());
            self.written.remove(&cookie);
            self.looked_for.remove(&cookie);
        }
        Ok(changed)
    }
}

/// Runs a walk over the open files of all processes.
pub fn run(object: &Object, name: &str) -> Result<()> {
    let failed = |source| Error::Bpf { what: "walking the open files".into(), source };
    let Some(program) = object.progs_mut().find(|program| program.name() == name) else { return Ok(()) };
    let link = program.attach().map_err(failed)?;
    let mut walk = Iter::new(&link).map_err(failed)?;
    let mut nothing = Vec::new();
    let read = walk.read_to_end(&mut nothing);
    read.map(drop).map_err(|source| Error::System { what: "walking the open files", source })
}
