//! What the tables of sockets are made of.

use dwell_model::{CallKind, StackId};
use dwell_store::tables::OffCpu;

use crate::input::sockets::RawSockets;
use crate::replay::numbers::{StackNumber, WaitNumber};
use crate::replay::rows::RawOffCpu;
use crate::replay::state::Replay;

/// What the tables are made of.
pub struct Input<'a> {
    /// The records.
    pub raw: &'a RawSockets,
    /// Who lived.
    pub replay: &'a Replay,
    /// The intervals.
    pub off_cpu: &'a OffCpu,
    /// The key of what each row of `off_cpu` waited on, 0 for what has none.
    pub object_keys: &'a [u64],
    /// Stacks of the holds.
    pub hold_stacks: &'a [StackId],
    /// End of the collection, ns since its start.
    pub end_ns: u64,
}

/// Parts of the trace that are read before its waits and stacks get their rows.
pub struct SocketKeys {
    /// The key of what each row of `off_cpu` waited on, 0 for what has none.
    pub object_keys: Vec<u64>,
    /// Stacks of the holds.
    pub hold_stacks: Vec<StackNumber>,
}

impl SocketKeys {
    /// Of the intervals.
    pub fn take(raw: &RawSockets, replay: &mut Replay, off_cpu: &RawOffCpu) -> Self {
        let key = |number: &WaitNumber| {
            let wait = replay.wait_of(*number);
            wait.filter(|wait| wait.kind() != CallKind::Futex).map_or(0, |wait| wait.object)
        };
        let object_keys = if raw.is_empty() { Vec::new() } else { off_cpu.wait.iter().map(key).collect() };
        let hold_stacks = raw.holds.iter().map(|hold| replay.user_stack(hold.user_stack)).collect();
        Self { object_keys, hold_stacks }
    }
}
