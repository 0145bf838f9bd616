//! Connections that wait to be accepted, at each socket that listens: nobody who is recorded waits for them, and their requests are in no
//! connection that anybody has. Found by the looks at connections.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{AcceptQueueRecord, LISTENER_NAME_BYTES, ListenerState, RecordHeader, kind};

/// Pairs of a process and an address that are told apart; further ones are left out.
const MOST_LISTENERS: usize = 1024;

/// Where a process listens: its port, or the name of its Unix socket.
type Address = (u16, [u8; LISTENER_NAME_BYTES], u16);

/// Connections that wait at one address of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waiting {
    waiting: u32,
    limit: u32,
    /// When the first of them came; 0 where that is not known.
    oldest_ns: u64,
}

/// Looks at sockets that listen.
#[derive(Default)]
pub struct AcceptQueueLooks {
    /// The owner of each socket, by its inode.
    owners: HashMap<u64, u32>,
    /// What was told of which process, and with which owner.
    known: BTreeSet<(Address, u32, u32)>,
    /// Queues of which any connection was told to wait at the last look.
    waiting: BTreeSet<(Address, u32)>,
}

impl AcceptQueueLooks {
    /// Writes where connections wait, where none does any more, and which processes have a socket that listens and were not told yet.
    pub fn write(&mut self, listeners: Vec<ListenerState>, trace: &mut RecordBuffer, time_ns: u64) {
        let listeners = self.with_owners(listeners);
        let mut queues: BTreeMap<(Address, u32), Waiting> = BTreeMap::new();
        for (_, owner, listener) in listeners.iter().filter(|(tgid, owner, _)| tgid == owner) {
            queues.entry((address(listener), *owner)).or_default().add(listener);
        }
        let mut waiting = BTreeSet::new();
        let mut write = |tgid: u32, owner: u32, address: Address, of: Waiting| {
            trace.fixed(&record((tgid, time_ns), owner, address, of));
        };
        for (tgid, owner, listener) in &listeners {
            let at = address(listener);
            let of = queues.get(&(at, *owner)).copied().unwrap_or_default();
            let is_waiting = tgid == owner && of.waiting > 0 && waiting.insert((at, *owner));
            let is_new = self.known.len() < MOST_LISTENERS && self.known.insert((at, *tgid, *owner));
            if is_new || is_waiting {
                write(*tgid, *owner, at, of);
            }
        }
        for (at, owner) in self.waiting.iter().filter(|queue| !waiting.contains(*queue)) {
            let of = queues.get(&(*at, *owner)).copied().unwrap_or_default();
            write(*owner, *owner, *at, of);
        }
        self.waiting = waiting;
    }

    /// Each socket of each process with its owner: whoever was that before and still has it, or the process with the smallest number, which
    /// forked the others.
    fn with_owners(&mut self, mut listeners: Vec<ListenerState>) -> Vec<(u32, u32, ListenerState)> {
        listeners.sort_by_key(|it| (it.inode, self.owners.get(&it.inode) != Some(&it.tgid), it.tgid));
        // One process may have it twice.
        listeners.dedup_by_key(|it| (it.inode, it.tgid));
        let mut owners: HashMap<u64, u32> = HashMap::new();
        for it in listeners.iter().rev() {
            owners.insert(it.inode, it.tgid);
        }
        let with_owners = listeners.into_iter().filter_map(|it| Some((it.tgid, *owners.get(&it.inode)?, it))).collect();
        self.owners = owners;
        with_owners
    }
}

impl Waiting {
    /// Adds a socket: several may listen at one port.
    fn add(&mut self, listener: &ListenerState) {
        self.waiting = self.waiting.saturating_add(listener.waiting);
        self.limit = self.limit.saturating_add(listener.limit);
        let known = [self.oldest_ns, listener.oldest_ns].into_iter().filter(|ns| *ns > 0);
        self.oldest_ns = known.min().unwrap_or(0);
    }
}

fn address(listener: &ListenerState) -> Address {
    (listener.port, listener.name, listener.name_bytes)
}

fn record((tid, time_ns): (u32, u64), owner: u32, address: Address, of: Waiting) -> AcceptQueueRecord {
    let (port, name, name_bytes) = address;
    let Waiting { waiting, limit, oldest_ns } = of;
    let h = RecordHeader { kind: kind::ACCEPT_QUEUE, size: 0, tid, time_ns };
    AcceptQueueRecord { h, oldest_ns, owner, waiting, limit, port, name_bytes, name }
}

#[cfg(test)]
mod tests {
    use bytemuck::{Zeroable, pod_read_unaligned};

    use super::*;

    fn listener(tgid: u32, inode: u64, waiting: u32) -> ListenerState {
        ListenerState {
            tgid,
            inode,
            waiting,
            limit: 8,
            port: 80,
            oldest_ns: u64::from(waiting) * 10,
            ..ListenerState::zeroed()
        }
    }

    /// What a look writes: process, owner, how many wait, limit, the oldest.
    fn written(looks: &mut AcceptQueueLooks, listeners: &[ListenerState]) -> Vec<(u32, u32, u32, u32, u64)> {
        let mut trace = RecordBuffer::default();
        looks.write(listeners.to_vec(), &mut trace, 99);
        let records = trace.bytes.chunks_exact(size_of::<AcceptQueueRecord>());
        let records = records.map(pod_read_unaligned::<AcceptQueueRecord>);
        records.map(|it| (it.h.tid, it.owner, it.waiting, it.limit, it.oldest_ns)).collect()
    }

    #[test]
    fn a_queue_is_counted_once_and_each_process_that_has_it_is_told_once() {
        let mut looks = AcceptQueueLooks::default();
        let of = |waiting| [listener(9, 1, waiting), listener(7, 1, waiting), listener(9, 1, waiting)];
        assert_eq!(written(&mut looks, &of(0)), [(7, 7, 0, 8, 0), (9, 7, 0, 8, 0)]);
        assert_eq!(written(&mut looks, &of(0)), [], "nothing new");
        assert_eq!(written(&mut looks, &of(3)), [(7, 7, 3, 8, 30)]);
        assert_eq!(written(&mut looks, &of(3)), [(7, 7, 3, 8, 30)], "it goes on");
        assert_eq!(written(&mut looks, &of(0)), [(7, 7, 0, 8, 0)], "its end is told");
        assert_eq!(written(&mut looks, &of(0)), []);
        assert_eq!(written(&mut looks, &[listener(9, 1, 2)]), [(9, 9, 2, 8, 20)], "the owner has gone");
        assert_eq!(written(&mut looks, &[listener(9, 1, 2), listener(5, 1, 2)])[0], (9, 9, 2, 8, 20), "and stays");
        assert_eq!(written(&mut looks, &[]), [(9, 9, 0, 0, 0)], "nobody listens");
    }

    #[test]
    fn sockets_of_one_port_are_one_queue() {
        let mut looks = AcceptQueueLooks::default();
        let all = [listener(7, 1, 2), listener(7, 2, 3), listener(8, 3, 1)];
        assert_eq!(written(&mut looks, &all), [(7, 7, 5, 16, 20), (8, 8, 1, 8, 10)]);
    }
}
