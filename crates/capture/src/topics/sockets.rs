//! The user side of the socket hooks: reads what they count of each socket and writes what has changed into the trace,
//! and lets the kernel side look over the open files of processes where no event tells of a socket.

use bytemuck::{Pod, Zeroable};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{RecordHeader, SocketRecord};
use dwell_wire::{AF_UNIX, SOCKETS_AT_ONCE, TCP_LISTEN};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};

use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::kernel::mapped::MappedArray;
use crate::kernel::maps::map_of;
use crate::kernel::walk::{run, walk};

/// Time between two readings while few sockets are in use …
const READ_NS: u64 = 50_000_000;
/// … and that so many of them make longer by as much again.
const FEW: u64 = 128;
/// Time between two looks at who has the other ends.
const LOOK_NS: u64 = 500_000_000;
/// Looking at the queues, and for sockets that no call has told of, takes no more than this part of the time: one of so many.
const LOOK_SHARE: u64 = 200;

/// `struct socket_entry` of socket_entry.bpf.h.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    record: SocketRecord,
    connection: u64,
    answer: u64,
    sk: u64,
    seen_ns: u64,
    queue_ns: u64,
    peer_cookie: u64,
    peer_place: u32,
    tcp_ticks: u32,
    last_tid: u32,
    reserved: [u32; 17],
}

/// What a place of the array holds, as far as it is written: which socket, counted since when.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct SocketSlot {
    cookie: u64,
    first_ns: u64,
    /// Changes with everything that is counted.
    counted: u64,
    /// Its other end was looked for.
    looked_for: bool,
    /// It was given back.
    is_free: bool,
}

/// Reads the array of sockets now and then.
pub struct Sockets {
    entries: MappedArray<Entry>,
    places: MapHandle,
    free_places: MapHandle,
    connections: MapHandle,
    unknown_sockets: MapHandle,
    next_search_ns: u64,
    known: Vec<SocketSlot>,
    /// Places that are not free, and how many of them there were after it was last looked for sockets that are gone.
    taken: usize,
    /// Sockets that the last reading met for the first time.
    opened: usize,
    taken_for_good: usize,
    /// A socket listens.
    listens: bool,
    next_queue_ns: u64,
    next_read_ns: u64,
    next_look_ns: u64,
    /// Sockets were used whose other end has not been looked for yet.
    new: bool,
}

impl Sockets {
    /// A reader of the maps of `object`, the loaded hooks.
    pub fn new(object: &Object) -> Result<Self> {
        Ok(Self {
            entries: MappedArray::of(&map_of(object, "sockets")?)?,
            places: map_of(object, "places")?,
            free_places: map_of(object, "free_places")?,
            connections: map_of(object, "connections")?,
            unknown_sockets: map_of(object, "unknown_sockets")?,
            next_search_ns: 0,
            known: Vec::new(),
            taken: 0,
            opened: 0,
            listens: false,
            next_queue_ns: 0,
            taken_for_good: 0,
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
        self.search(object, at_end)?;
        let walked_ns = self.look(object, at_end)?;
        let changed = self.read(trace, now_ns, walked_ns);
        if walked_ns.is_some() {
            self.taken_for_good = self.taken;
        }
        // Where many come and go, their room has to be given back in time.
        let many_come = self.opened > self.entries.len() / 16;
        self.next_read_ns = now_ns + if many_come { READ_NS } else { READ_NS * (1 + changed / FEW) };
        if self.new && (now_ns >= self.next_look_ns || at_end) {
            self.new = false;
            self.next_look_ns = now_ns + LOOK_NS;
            walk(object, "find_peers")?;
        }
        Ok(())
    }

    /// Looks for sockets that threads waited on and that no call has told of.
    fn search(&mut self, object: &Object, at_end: bool) -> Result<()> {
        let began_ns = monotonic_ns();
        if began_ns < self.next_search_ns && !at_end {
            return Ok(());
        }
        let unknown: Vec<Vec<u8>> = self.unknown_sockets.keys().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        walk(object, "find_sockets")?;
        self.next_search_ns = began_ns + LOOK_NS.max(LOOK_SHARE * (monotonic_ns() - began_ns));
        for address in &unknown {
            let _ = self.unknown_sockets.delete(address); // it may have made room for others
        }
        Ok(())
    }

    /// Looks at all sockets when places get scarce, since of UDP and Unix nothing tells of the end, and while there are
    /// listeners, at whose queues; and at the end. Returns when, in the first case.
    fn look(&mut self, object: &Object, at_end: bool) -> Result<Option<u64>> {
        self.taken_for_good = self.taken_for_good.min(self.taken);
        let free = self.entries.len() - self.taken_for_good;
        let scarce = self.taken >= self.entries.len() / 2 && self.taken - self.taken_for_good >= free / 2;
        let began_ns = monotonic_ns();
        if scarce || at_end || (self.listens && began_ns >= self.next_queue_ns) {
            for first in (0..=self.places_used()).step_by(SOCKETS_AT_ONCE) {
                run(object, "look_at_sockets", &mut (first as u32).to_ne_bytes())?;
            }
            self.next_queue_ns = began_ns + LOOK_SHARE * (monotonic_ns() - began_ns);
        }
        Ok(scarce.then_some(began_ns))
    }

    /// How many places of the array were ever taken; they are taken in order.
    fn places_used(&self) -> usize {
        let is_new = |&place: &usize| self.entries.at(place).is_some_and(|entry| self.is_taken(place, &entry));
        self.known.len() + (self.known.len()..).take_while(is_new).count()
    }

    /// Returns how many sockets had changed. Those that the walk at `walked_ns` did not meet are gone.
    fn read(&mut self, trace: &mut RecordBuffer, now_ns: u64, walked_ns: Option<u64>) -> u64 {
        let mut changed = 0;
        self.opened = 0;
        for place in 0.. {
            // Places are taken in order: behind the first that never was none is.
            let Some(mut entry) = self.entries.at(place).filter(|entry| self.is_taken(place, entry)) else { break };
            if place == self.known.len() {
                self.known.push(SocketSlot { is_free: true, ..SocketSlot::default() });
            }
            let seen_ns = entry.seen_ns.max(entry.record.first_ns);
            if entry.record.closed_ns == 0 && walked_ns.is_some_and(|walked_ns| seen_ns < walked_ns) {
                entry.record.closed_ns = now_ns;
            }
            changed += u64::from(self.take(place, &entry, trace, now_ns));
        }
        changed
    }

    fn is_taken(&self, place: usize, entry: &Entry) -> bool {
        place < self.known.len() || entry.record.cookie != 0
    }

    /// Writes the socket of a place if it has changed, and gives the place back when it is closed.
    fn take(&mut self, place: usize, entry: &Entry, trace: &mut RecordBuffer, now_ns: u64) -> bool {
        let (record, known) = (&entry.record, &mut self.known[place]);
        let is_same = (known.cookie, known.first_ns) == (record.cookie, record.first_ns);
        if record.cookie == 0 || (is_same && known.is_free) {
            return false;
        }
        let counted = counted(record);
        let changed = !is_same || known.counted != counted;
        if changed {
            trace.fixed(&SocketRecord { h: RecordHeader { time_ns: now_ns, ..record.h }, ..*record });
        }
        let looked_for = is_same && known.looked_for;
        let connected = record.remote_port != 0 || record.family == AF_UNIX;
        let is_new = connected && record.closed_ns == 0 && !looked_for;
        let is_free = record.closed_ns != 0;
        let (cookie, first_ns) = (record.cookie, record.first_ns);
        *known = SocketSlot { cookie, first_ns, counted, looked_for: looked_for || is_new, is_free };
        self.new |= is_new;
        self.listens |= record.tcp.state == TCP_LISTEN;
        self.taken += usize::from(!is_same);
        self.opened += usize::from(!is_same);
        if is_free {
            self.taken -= 1;
            // They may be gone by now.
            let _ = self.places.delete(&cookie.to_ne_bytes());
            let _ = self.connections.delete(&entry.connection.to_ne_bytes());
            let _ = self.free_places.update(&[], &(place as u32).to_ne_bytes(), MapFlags::ANY);
        }
        changed
    }
}

/// A number that changes with what is counted of a socket.
fn counted(record: &SocketRecord) -> u64 {
    let calls = [record.sends, record.receives, record.sends_refused, record.receives_empty, record.arrivals];
    let (acks, drops) = (u64::from(record.delayed_acks), u64::from(record.drops));
    let others = [record.closed_ns, record.peer, acks, drops, record.queued_ns, record.taken_total];
    let place = u64::from(record.local_port) << 32 | u64::from(record.remote_port) << 16 | u64::from(record.tcp.state);
    calls.into_iter().chain(others).fold(place, |sum, number| sum.rotate_left(7).wrapping_add(number))
}
