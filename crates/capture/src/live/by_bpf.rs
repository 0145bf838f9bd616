//! Snapshots by a BPF program that walks over the kernel's tasks.

use std::collections::HashMap;

use bytemuck::pod_read_unaligned;
use dwell_rights as rights;
use dwell_store::raw::wire::{RegistersRecord, TaskSnapshot};
use libbpf_rs::{Link, Object};

use crate::error::{Error, Result};
use crate::kernel::{loading, namespace, requirements, walk};

/// The loaded program.
pub struct ByBpf {
    link: Link,
    /// Holds the program.
    _object: Object,
    bytes: Vec<u8>,
}

impl ByBpf {
    /// Loads it.
    pub fn open() -> Result<Self> {
        requirements::check()?;
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        let scope = namespace::scope(false)?;
        let object = loading::load("snapshot", &HashMap::new(), &scope)?.object;
        let attached = object.progs_mut().find(|program| program.name() == "snapshot").map(|program| program.attach());
        let failed = |source| Error::Bpf { what: "attaching snapshot".into(), source };
        let link = attached.transpose().map_err(failed)?.ok_or(Error::ForeignProc)?;
        Ok(Self { link, _object: object, bytes: Vec::new() })
    }

    /// The registers of the user code of every thread that is off its CPU.
    pub fn registers() -> Result<Vec<RegistersRecord>> {
        requirements::check()?;
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        let object = loading::load("snapshot", &HashMap::new(), &namespace::scope(false)?)?.object;
        let bytes = walk::written(&object, "registers")?;
        Ok(bytes.chunks_exact(size_of::<RegistersRecord>()).map(pod_read_unaligned).collect())
    }

    /// Adds all threads to `tasks`.
    pub fn take(&mut self, tasks: &mut Vec<TaskSnapshot>) -> Result<()> {
        self.bytes.clear();
        walk::read(&self.link, &mut self.bytes)?;
        tasks.extend(self.bytes.chunks_exact(size_of::<TaskSnapshot>()).map(pod_read_unaligned::<TaskSnapshot>));
        Ok(())
    }
}
