//! Where locks are created: probes on the functions of the C library that initialise them.
//!
//! They cost nothing while locks are used, and the program about a microsecond where it makes one. A program that makes them
//! without end is left alone: the kernel side tells when there are too many, and the probes are taken away.

use std::path::PathBuf;

use dwell_model::{Notice, notice};
use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle, Object};

use crate::error::Result;
use crate::kernel::maps::map_of;
use crate::topics::task_probes::{self, FoundProbes, PinnedFile};

/// What initialises an object that threads wait on; its first argument is the object's address. C11's `mtx_init` and
/// `cnd_init` call these.
const INITIALISERS: &[&str] =
    &["pthread_mutex_init", "pthread_cond_init", "pthread_rwlock_init", "pthread_barrier_init", "sem_init"];

/// The probes while they are set.
pub struct Creations {
    links: Vec<Link>,
    too_many: MapHandle,
}

impl Creations {
    /// Sets the probes of `object` in the C libraries `files`; `pids` = in these processes only.
    pub fn set(object: &Object, files: &[PathBuf], pids: Option<&[u32]>) -> Result<Self> {
        let mut links = Vec::new();
        for file in files {
            let pinned = PinnedFile::open(file, false)?;
            let sites = dwell_probes::exported(&pinned.path, INITIALISERS)?;
            let found = FoundProbes { probe: 0, name: "creation of locks".into(), file: pinned.path.clone(), sites };
            links.extend(task_probes::set(&[found], object, pids)?);
        }
        Ok(Self { links, too_many: map_of(object, "too_many_creations")? })
    }

    /// Takes the probes away: the kernel waits for passes of other CPUs to end, which takes tens of milliseconds.
    fn clear(&mut self) {
        let links = std::mem::take(&mut self.links);
        if !links.is_empty() {
            std::thread::spawn(move || drop(links));
        }
    }

    /// Takes the probes away once there were too many calls, and says so.
    pub fn limit(&mut self) -> Option<Notice> {
        let value_of = |map: &MapHandle| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        let too_many = !self.links.is_empty() && value_of(&self.too_many)?.iter().any(|byte| *byte != 0);
        too_many.then(|| {
            self.clear();
            notice!(CREATIONS_TOO_MANY)
        })
    }
}

impl Drop for Creations {
    fn drop(&mut self) {
        self.clear();
    }
}
