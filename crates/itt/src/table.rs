//! What was named so far: texts to ids and to the structures that programs hold.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::arena;
use crate::lock::Entered;

/// What kinds of names there are. Each has its own ids, from 1 on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Domain,
    String,
    Event,
    /// With the type of its values.
    Counter(i32),
}

/// By what a name is known: a counter by its domain and name, the others by their text alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    pub kind: Kind,
    pub domain: &'a [u8],
    pub text: &'a [u8],
}

/// A name.
pub struct Entry {
    pub key: Key<'static>,
    pub id: u32,
    /// The structure that programs hold, null before the first request.
    pub structure: AtomicPtr<u8>,
    hash: u64,
    next: *mut Entry,
}

const BUCKETS: usize = 1 << 14;

static TABLE: [AtomicPtr<Entry>; BUCKETS] = [const { AtomicPtr::new(null_mut()) }; BUCKETS];
static LAST_IDS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// The entry of `key`, and whether it is new; `None` when there is no memory or no id left.
pub fn entry(entered: &Entered, key: Key<'_>) -> Option<(&'static Entry, bool)> {
    let hash = hash(key);
    let bucket = TABLE.get(hash as usize & (BUCKETS.wrapping_sub(1)))?;
    let first = bucket.load(Relaxed);
    let mut at = first;
    // SAFETY: entries are never given back, and the lock is held.
    while let Some(entry) = unsafe { at.as_ref() } {
        if entry.hash == hash && entry.key == key {
            return Some((entry, false));
        }
        at = entry.next;
    }
    let last = LAST_IDS.get(index(key.kind))?;
    let id = last.load(Relaxed).checked_add(1)?;
    let most = if key.kind == Kind::Domain { usize::from(u16::MAX) } else { i32::MAX as usize };
    if id > most {
        return None;
    }
    let kept = Key {
        kind: key.kind,
        domain: arena::keep_text(entered, key.domain)?,
        text: arena::keep_text(entered, key.text)?,
    };
    let structure = AtomicPtr::new(null_mut());
    let new = arena::keep(entered, Entry { key: kept, id: id as u32, structure, hash, next: first })?;
    last.store(id, Relaxed);
    bucket.store(new, Relaxed);
    // SAFETY: made just now, for ever.
    unsafe { new.as_ref() }.map(|entry| (entry, true))
}

fn index(kind: Kind) -> usize {
    match kind {
        Kind::Domain => 0,
        Kind::String => 1,
        Kind::Event => 2,
        Kind::Counter(_) => 3,
    }
}

/// FNV-1a.
fn hash(key: Key<'_>) -> u64 {
    let kind = if let Kind::Counter(kind) = key.kind { kind as u64 ^ 0xff00 } else { index(key.kind) as u64 };
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = key.domain.iter().fold(0xcbf2_9ce4_8422_2325 ^ kind, step);
    key.text.iter().fold(step(hash, &0x1f), step)
}
