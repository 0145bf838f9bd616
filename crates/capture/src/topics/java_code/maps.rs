//! The BPF maps that say where JVMs keep what their threads wait for.

use std::collections::HashMap;

use bytemuck::bytes_of;
use dwell_store::raw::wire::{JavaProcess, JavaThread};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::error::{Error, Result};

/// Their writing ends.
pub struct JavaMaps {
    processes: MapHandle,
    threads: MapHandle,
}

impl JavaMaps {
    /// Those of the maps that all families of BPF programs share.
    pub fn of(shared: &HashMap<String, MapHandle>) -> Result<Self> {
        let map = |name: &str| {
            let map = shared.get(name).ok_or_else(|| Error::unsupported(format!("no map {name}")))?;
            MapHandle::try_from(map).map_err(|source| Error::Bpf { what: format!("opening map {name}"), source })
        };
        Ok(Self { processes: map("java_processes")?, threads: map("java_threads")? })
    }

    /// Waits of process `tgid` are looked at from now on. A full map means that its locks are not told, no more.
    pub fn begin(&self, tgid: u32, process: &JavaProcess) {
        let _ = self.processes.update(&tgid.to_ne_bytes(), bytes_of(process), MapFlags::ANY);
    }

    /// So are those of its thread `tid`.
    pub fn add(&self, tid: u32, thread: &JavaThread) {
        let _ = self.threads.update(&tid.to_ne_bytes(), bytes_of(thread), MapFlags::ANY);
    }

    /// Process `tgid` runs another program, or none.
    pub fn forget(&self, tgid: u32) {
        let _ = self.processes.delete(&tgid.to_ne_bytes());
    }
}
