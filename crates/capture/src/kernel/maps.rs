//! The user side of the BPF maps: the layouts that `record.bpf.h` declares.

use bytemuck::{Pod, Zeroable};
use libbpf_rs::{MapCore, MapHandle, Object};

use crate::error::{Error, Result};

/// The map of this name of loaded hooks.
pub fn map_of(object: &Object, name: &str) -> Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == name);
    let map = map.ok_or_else(|| Error::unsupported(format!("no map {name}")))?;
    MapHandle::try_from(&map).map_err(|source| Error::Bpf { what: format!("opening map {name}"), source })
}

/// `struct control` of record.bpf.h.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Control {
    pub paused: u32,
    pub follow_children: u32,
    pub rule_count: u32,
    pub kernel_stacks_for_all: u32,
    pub period_ns: u32,
    pub preempt_count_offset: i32,
    pub has_preempt_count: u32,
    pub generation: u32,
    pub since_ns: u64,
}

/// `enum thread_mode` of record.bpf.h.
pub mod mode {
    pub const RECORD: u8 = 1;
    pub const FOLLOW: u8 = 2;
    pub const LAUNCHING: u8 = 4;
    pub const MEASURE: u8 = 8;
}

/// Bytes of a thread's name in the kernel.
pub const COMM_BYTES: usize = 16;
