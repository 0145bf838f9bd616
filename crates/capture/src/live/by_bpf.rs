//! Snapshots by a BPF program that walks over the kernel's tasks.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};

use bytemuck::pod_read_unaligned;
use dwell_rights as rights;
use dwell_store::raw::wire::TaskSnapshot;
use libbpf_rs::{Iter, Link, Object};

use crate::error::{Error, Result};
use crate::kernel::{loading, namespace, requirements};

/// What the kernel hands out at once (bpf_seq_read, kernel/bpf/bpf_iter.c).
const READ_BYTES: usize = 64 << 10;

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
        let attached = object.progs_mut().next().map(|program| program.attach());
        let failed = |source| Error::Bpf { what: "attaching snapshot".into(), source };
        let link = attached.transpose().map_err(failed)?.ok_or(Error::ForeignProc)?;
        Ok(Self { link, _object: object, bytes: Vec::new() })
    }

    /// Adds all threads to `tasks`.
    pub fn take(&mut self, tasks: &mut Vec<TaskSnapshot>) -> Result<()> {
        self.bytes.clear();
        let _raised = rights::raise(&[rights::BPF]);
        let mut walk =
            Iter::new(&self.link).map_err(|source| Error::Bpf { what: "the walk snapshot".into(), source })?;
        loop {
            let end = self.bytes.len();
            self.bytes.resize(end + READ_BYTES, 0);
            let read = walk.read(&mut self.bytes[end..]);
            self.bytes.truncate(end + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                // The kernel comes back now and then from a long walk.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(source) => return Err(Error::System { what: "walking what the kernel has", source }),
            }
        }
        tasks.extend(self.bytes.chunks_exact(size_of::<TaskSnapshot>()).map(pod_read_unaligned::<TaskSnapshot>));
        Ok(())
    }
}
