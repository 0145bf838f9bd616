//! The Java locks that threads of one JVM wait for: each gets a key, a class and, in each wait, an owner.
//!
//! The kernel side reads at each switch which lock it is and what the lock says of its owner (`java.bpf.h`). What that means is
//! found here, while the record is drained: a JVM calls an owner by its JavaThread, by an address on the owner's stack, or by its number
//! as Java has it. The garbage collector moves locks of `java.util.concurrent`: one for which a thread is parked meanwhile stays the same
//! lock, and so does one of which enough is left where it was to tell where it went; another one becomes a new one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::hash::BuildHasher;

use bytemuck::Zeroable;
use dwell_hotspot::{EXPORTS, Error as JvmError, JavaThread as FoundThread, LockLayout, LockReader};
use dwell_store::raw::wire::{
    JavaProcess, JavaThread, ObjectRecord, RecordHeader, SwitchRecord, TEXT_BYTES, kind, object_kind, switch_flag,
};
use foldhash::fast::FixedState;

use super::maps::JavaMaps;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::kernel::namespace::ids_of;
use crate::programs::memory::ProcessMemory;

/// Threads are looked at not sooner than this after the time before …
const SOONEST_NS: u64 = 10_000_000;
/// … and so rarely that it takes at most one part in so many of one CPU's time.
const PART_OF_TIME: u64 = 100;
/// A JVM that has not begun is looked at again after this: finding its structures takes 5 ms.
const OPENING_NS: u64 = 100_000_000;
/// Locks of a process that are told, and classes that are kept.
const MOST_LOCKS: usize = 1 << 16;
/// Bits of a record's `detail` that are the operation of futex …
const FUTEX_BITS: u64 = 0xffff;
/// … and the one that is set for a monitor.
const IS_MONITOR: u64 = 1 << 16;

/// What the trace says of a wait.
pub struct JavaWait {
    /// The switch that begins it.
    pub switch: SwitchRecord,
    /// Its lock, where that is told for the first time.
    pub new_lock: Option<ObjectRecord>,
}

impl JavaWait {
    /// The wait where nothing is known of the lock but that it is one.
    pub fn unknown(switch: &SwitchRecord) -> Self {
        let flags = switch.flags & !switch_flag::JAVA_LOCK;
        Self {
            switch: SwitchRecord {
                flags,
                object: 0,
                detail: switch.detail & FUTEX_BITS,
                owner_tid: 0,
                owner_inner_tid: 0,
                ..*switch
            },
            new_lock: None,
        }
    }
}

/// A thread that is parked for a lock.
#[derive(Clone, Copy)]
struct Parked {
    lock: u64,
    class: u32,
}

/// See the module.
#[derive(Default)]
pub struct JvmLocks {
    /// None until the JVM has begun.
    reader: Option<LockReader>,
    due_ns: u64,
    /// Threads as they were seen last: by id, by JavaThread, by the begin of their stack, by their number.
    threads: HashMap<u32, FoundThread>,
    of_address: HashMap<u64, u32>,
    of_stack: BTreeMap<u64, (u64, u32)>,
    of_number: HashMap<u64, u32>,
    classes: HashMap<u32, String>,
    described: HashSet<u64>,
    parked: HashMap<u32, Parked>,
    /// Where a lock was when it was told first, by where it is now, or was, and its class.
    places: HashMap<(u64, u32), u64>,
    collections: Option<u32>,
}

impl JvmLocks {
    /// Whether its threads should be looked at.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Whether it is known where they are told.
    pub fn is_known(&self) -> bool {
        self.reader.is_some()
    }

    /// Does not look at them again.
    pub fn give_up(&mut self) {
        self.due_ns = u64::MAX;
    }

    /// Whether the thread is one of this JVM.
    pub fn has(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// The thread runs again.
    pub fn goes_on(&mut self, tid: u32) {
        self.parked.remove(&tid);
    }

    /// Tells every lock again.
    pub fn describe_again(&mut self) {
        self.described.clear();
    }

    /// Looks at the threads of process `pid` as they are now.
    pub fn look(
        &mut self,
        memory: &mut ProcessMemory,
        exports: &[u64; EXPORTS.len()],
        pid: u32,
        maps: &JavaMaps,
    ) -> Result<(), JvmError> {
        if self.reader.is_none() {
            self.due_ns = monotonic_ns().saturating_add(OPENING_NS);
            let reader = LockReader::open(memory, exports)?;
            maps.begin(pid, &process_of(&reader.layout()));
            self.reader = Some(reader);
        }
        let (now_ns, began_ns) = (monotonic_ns(), thread_cpu_ns());
        self.look_at_threads(memory, pid, maps);
        let cost_ns = thread_cpu_ns().saturating_sub(began_ns);
        self.due_ns = now_ns.saturating_add(SOONEST_NS.max(cost_ns.saturating_mul(PART_OF_TIME)));
        Ok(())
    }

    fn look_at_threads(&mut self, memory: &mut ProcessMemory, pid: u32, maps: &JavaMaps) {
        let Some(reader) = &self.reader else { return };
        let Some(found) = reader.threads(memory) else { return };
        let collections = reader.collections(memory);
        self.take_threads(found, pid, maps);
        if std::mem::replace(&mut self.collections, collections) != collections {
            self.follow_moved(memory);
        }
    }

    fn take_threads(&mut self, found: Vec<FoundThread>, pid: u32, maps: &JavaMaps) {
        let known = |it: &FoundThread| self.of_address.get(&it.address).and_then(|tid| self.threads.get(tid));
        if found.len() == self.threads.len() && found.iter().all(|it| known(it) == Some(it)) {
            return;
        }
        let outer = outer_ids(pid);
        let found = found.into_iter().filter_map(|it| {
            let tid = outer.as_ref().map_or(Some(it.tid), |outer| outer.get(&it.tid).copied())?;
            Some((tid, it))
        });
        self.threads = found.collect();
        self.of_address = self.threads.iter().map(|(&tid, it)| (it.address, tid)).collect();
        self.of_stack = self.threads.iter().map(|(&tid, it)| (it.stack.0, (it.stack.1, tid))).collect();
        self.of_number =
            self.threads.iter().filter(|(_, it)| it.number != 0).map(|(&tid, it)| (it.number, tid)).collect();
        for (&tid, it) in &self.threads {
            maps.add(tid, &JavaThread { address: it.address, tgid: pid, reserved: 0 });
        }
    }

    /// The garbage collector was there: locks may lie elsewhere.
    fn follow_moved(&mut self, memory: &mut ProcessMemory) {
        let Some(layout) = self.reader.as_ref().map(LockReader::layout) else { return };
        let old: Vec<(u64, u32)> = self.places.keys().copied().collect();
        let new = layout.moved_to(memory, &old);
        let mut moved: Vec<_> = old.into_iter().zip(new).filter_map(|(old, new)| Some((old, new?))).collect();
        for (tid, parked) in &mut self.parked {
            let Some(thread) = self.threads.get(tid) else { continue };
            let Some((lock, class)) = layout.blocker(memory, thread.address) else { continue };
            if class == parked.class && lock != parked.lock {
                moved.push(((parked.lock, class), lock));
                parked.lock = lock;
            }
        }
        let first = |(place, new): ((u64, u32), u64)| Some((new, place.1, self.places.get(&place).copied()?));
        let moved: Vec<(u64, u32, u64)> = moved.into_iter().filter_map(first).collect();
        self.places.extend(moved.into_iter().map(|(new, class, first)| ((new, class), first)));
    }

    /// What the trace says of `switch`, after which a thread of process `pid` waits for a lock.
    pub fn wait(&mut self, memory: &mut ProcessMemory, pid: u32, switch: &SwitchRecord) -> JavaWait {
        let is_monitor = switch.detail & IS_MONITOR != 0;
        let class = (switch.detail >> 32) as u32;
        let mut lock = switch.object;
        if !is_monitor {
            self.parked.insert(switch.h.tid, Parked { lock, class });
            lock = self.first_place(lock, class);
        }
        let key = FixedState::default().hash_one((pid, lock, class, is_monitor)).max(1);
        let is_new = !self.described.contains(&key);
        if is_new && self.described.len() >= MOST_LOCKS {
            return JavaWait::unknown(switch);
        }
        let owner = u64::from(switch.owner_tid) | u64::from(switch.owner_inner_tid) << 32;
        let owner_tid = self.owner(owner).filter(|owner| *owner != switch.h.tid).unwrap_or(0);
        let switch =
            SwitchRecord { object: key, detail: switch.detail & FUTEX_BITS, owner_tid, owner_inner_tid: 0, ..*switch };
        let new_lock = is_new.then(|| self.lock_record(memory, pid, &switch, (lock, class, is_monitor)));
        self.described.insert(key);
        JavaWait { switch, new_lock }
    }

    /// Where the lock was when it was told first. A program that makes up locks makes them forgotten, no more.
    fn first_place(&mut self, lock: u64, class: u32) -> u64 {
        if self.places.len() > MOST_LOCKS {
            self.places.clear();
        }
        *self.places.entry((lock, class)).or_insert(lock)
    }

    /// The thread that a lock calls its owner so.
    fn owner(&self, word: u64) -> Option<u32> {
        let on_stack = || {
            let (_, &(end, tid)) = self.of_stack.range(..=word).next_back()?;
            (word < end).then_some(tid)
        };
        self.of_address.get(&word).or_else(|| self.of_number.get(&word)).copied().or_else(on_stack)
    }

    fn lock_record(
        &mut self,
        memory: &mut ProcessMemory,
        pid: u32,
        switch: &SwitchRecord,
        (address, class, is_monitor): (u64, u32, bool),
    ) -> ObjectRecord {
        let name = self.class_name(memory, class);
        let mut record = ObjectRecord {
            h: RecordHeader { kind: kind::OBJECT, size: size_of::<ObjectRecord>() as u16, ..switch.h },
            key: switch.object,
            inode: address,
            tgid: pid,
            fd: -1,
            kind: if is_monitor { object_kind::JAVA_MONITOR } else { object_kind::JAVA_LOCK },
            ..ObjectRecord::zeroed()
        };
        let bytes = name.len().min(TEXT_BYTES - 1);
        record.text[..bytes].copy_from_slice(&name.as_bytes()[..bytes]);
        record.text_bytes = bytes as u16;
        record
    }

    /// The name of a class; empty where it cannot be read.
    fn class_name(&mut self, memory: &mut ProcessMemory, class: u32) -> String {
        if let Some(known) = self.classes.get(&class) {
            return known.clone();
        }
        let name = self.reader.as_ref().and_then(|reader| reader.class_name(memory, class)).unwrap_or_default();
        if self.classes.len() < MOST_LOCKS {
            self.classes.insert(class, name.clone());
        }
        name
    }
}

fn process_of(layout: &LockLayout) -> JavaProcess {
    JavaProcess {
        oop_base: layout.oop_base,
        class_base: layout.class_base,
        owned_class: layout.owned_class,
        oop_shift: layout.oop_shift,
        class_shift: layout.class_shift,
        oop_bytes: layout.oop_bytes,
        stack_base: layout.stack_base,
        stack_size: layout.stack_size,
        pending_monitor: layout.pending_monitor,
        thread_object: layout.thread_object,
        monitor_owner: layout.monitor_owner,
        monitor_object: layout.monitor_object,
        object_class: layout.object_class,
        class_ancestor: layout.class_ancestor,
        park_blocker: layout.park_blocker,
        exclusive_owner: layout.exclusive_owner,
        native_thread: layout.native_thread,
    }
}

/// The ids of the threads of process `pid` by those in its own pid namespace; `None` where they are the same.
fn outer_ids(pid: u32) -> Option<HashMap<u32, u32>> {
    let innermost = |status: &str| ids_of(status)?.last().copied();
    if innermost(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)? == pid {
        return None;
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let ids = threads.filter_map(|thread| {
        let tid = thread.ok()?.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        Some((innermost(&status)?, tid))
    });
    Some(ids.collect())
}
