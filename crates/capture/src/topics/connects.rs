//! The user side of `connects.bpf.c`: reads how many connections each process has opened to each address, and writes what is new.

use std::collections::HashMap;

use bytemuck::{Zeroable as _, pod_read_unaligned};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{RecordHeader, kind};
use dwell_wire::{ConnectCounts, ConnectKey, ConnectsRecord};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};

use crate::error::Result;
use crate::kernel::maps::map_of;

/// Time between two readings.
const READ_NS: u64 = 500_000_000;
/// A process that has not connected to an address for so long makes room for others.
const IDLE_NS: u64 = 2_000_000_000;

/// Reads the counts now and then.
pub struct Connects {
    counts: MapHandle,
    /// What was written, by the bytes of a [`ConnectKey`].
    written: HashMap<Vec<u8>, ConnectCounts>,
    next_ns: u64,
}

impl Connects {
    /// A reader of the map of `object`, the loaded hooks.
    pub fn new(object: &Object) -> Result<Self> {
        Ok(Self { counts: map_of(object, "connect_counts")?, written: HashMap::new(), next_ns: 0 })
    }

    /// Writes what is new when it is time, at the end in any case.
    pub fn round(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        if now_ns < self.next_ns && !at_end {
            return;
        }
        self.next_ns = now_ns + READ_NS;
        let keys: Vec<Vec<u8>> = self.counts.keys().collect();
        for key in keys {
            let Ok(Some(value)) = self.counts.lookup(&key, MapFlags::ANY) else { continue };
            if key.len() == size_of::<ConnectKey>() && value.len() == size_of::<ConnectCounts>() {
                self.take(key, pod_read_unaligned(&value), trace, now_ns);
            }
        }
    }

    fn take(&mut self, key: Vec<u8>, counts: ConnectCounts, trace: &mut RecordBuffer, now_ns: u64) {
        let before = self.written.get(&key).copied().unwrap_or_else(ConnectCounts::zeroed);
        let record = since(&pod_read_unaligned(&key), &counts, &before);
        if record.connects > 0 || record.brief > 0 {
            trace.fixed(&record);
            self.written.insert(key, counts);
        } else if now_ns.saturating_sub(counts.last_ns) > IDLE_NS {
            let _ = self.counts.delete(&key); // what begins at this moment is counted anew
            self.written.remove(&key);
        }
    }
}

/// What was counted since `before`.
fn since(to: &ConnectKey, counts: &ConnectCounts, before: &ConnectCounts) -> ConnectsRecord {
    let more = |now: u64, before: u64| u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX);
    ConnectsRecord {
        h: RecordHeader {
            kind: kind::CONNECTS,
            size: size_of::<ConnectsRecord>() as u16,
            tid: counts.tid,
            time_ns: counts.last_ns,
        },
        remote_address: to.remote_address,
        user_stack: counts.user_stack,
        connect_ns: counts.connect_ns.saturating_sub(before.connect_ns),
        life_ns: counts.life_ns.saturating_sub(before.life_ns),
        connects: more(counts.connects, before.connects),
        brief: more(counts.brief, before.brief),
        remote_port: to.remote_port,
        reserved: [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_what_came_since_the_one_before() {
        let to = ConnectKey { tgid: 7, remote_port: 5432, ..ConnectKey::zeroed() };
        let counts = |connects, brief, connect_ns, life_ns| {
            let (last_ns, tid) = (connects * 10, 8);
            ConnectCounts { connects, brief, connect_ns, life_ns, last_ns, tid, ..ConnectCounts::zeroed() }
        };
        let record = since(&to, &counts(30, 28, 500, 900), &counts(10, 9, 200, 300));
        assert_eq!((record.h.tid, record.h.time_ns, record.remote_port), (8, 300, 5432));
        assert_eq!((record.connects, record.brief, record.connect_ns, record.life_ns), (20, 19, 300, 600));
        let anew = since(&to, &counts(1, 0, 0, 0), &counts(10, 9, 200, 300));
        assert_eq!((anew.connects, anew.brief), (0, 0));
    }
}
