//! Whom the hooks see, as they are told: the ids of one pid namespace and, for users who have Dwell's rights from its file,
//! their own programs only.

use bytemuck::{Pod, Zeroable};

/// `scope` of ids.bpf.h.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Scope {
    pub pid_level: u32,
    pub pid_namespace: u32,
    pub own_only: u32,
    pub uid: u32,
    pub gid: u32,
    pub user_namespace: u32,
}
