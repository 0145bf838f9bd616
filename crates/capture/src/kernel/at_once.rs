//! Loads many families at the same time: the kernel verifies a program on the CPU of the thread that loads it, for up to 100 ms.
//!
//! Each family is an object of its own, which one thread opens and loads; libbpf allows that for objects that share nothing
//! but maps. The threads have the rights that are in force in the one that makes them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dwell_wire::Scope;
use libbpf_rs::MapHandle;

use super::loading::{self, LoadedFamily};
use crate::error::Result;

/// What became of families, by their names.
pub type Outcomes = HashMap<&'static str, Result<LoadedFamily>>;

/// Loads `families`, in this order as CPUs come free, and does `meanwhile` what rather waits than computes.
pub fn load<M>(
    families: &[&'static str],
    shared: &HashMap<String, MapHandle>,
    scope: &Scope,
    meanwhile: impl FnOnce() -> M,
) -> (Outcomes, M) {
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Outcomes::new()));
    let load_next = || {
        while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
            let loaded = loading::load(family, shared, scope);
            outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(*family, loaded);
        }
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let done = thread::scope(|threads| {
        // Where no thread can be made, those of this one are enough.
        let made = (0..cpus.min(families.len())).map(|_| thread::Builder::new().spawn_scoped(threads, load_next));
        let made = made.filter(|thread| thread.is_ok()).count();
        let done = meanwhile();
        if made == 0 {
            load_next();
        }
        done
    });
    (outcomes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()), done)
}
