//! What the tables of sockets are made of.

use dwell_model::{CallKind, ObjectId, StackId};
use dwell_store::tables::OffCpu;

use crate::input::sockets::RawSockets;
use crate::replay::state::Replay;

/// What the tables are made of.
pub struct Input<'a> {
    /// The records.
    pub raw: &'a RawSockets,
    /// Who lived.
    pub replay: &'a Replay,
    /// The intervals, with the objects' rows.
    pub off_cpu: &'a OffCpu,
    /// What was told before the naming.
    pub unnumbered: &'a Unnumbered,
    /// End of the collection, ns since its start.
    pub end_ns: u64,
}

/// Parts of the trace that are read before its waits and stacks get their final numbers.
pub struct Unnumbered {
    /// The key of what each row of `off_cpu` waited on, 0 for what has none.
    pub object_keys: Vec<u64>,
    /// Stacks of the holds.
    pub hold_stacks: Vec<StackId>,
}

impl Unnumbered {
    /// Of the intervals, whose objects are still numbers of waits.
    pub fn take(raw: &RawSockets, replay: &mut Replay, off_cpu: &OffCpu) -> Self {
        let key = |id: &ObjectId| {
            let wait = id.get().and_then(|number| replay.waits.keys().get(number));
            wait.filter(|wait| wait.kind() != CallKind::Futex).map_or(0, |wait| wait.object)
        };
        let object_keys = if raw.is_empty() { Vec::new() } else { off_cpu.object.iter().map(key).collect() };
        let hold_stacks = raw.holds.iter().map(|hold| replay.user_stack(hold.user_stack)).collect();
        Self { object_keys, hold_stacks }
    }

    /// Puts a row of the table of stacks in the place of each number.
    pub fn name_stacks(&mut self, row: impl Fn(StackId) -> StackId) {
        self.hold_stacks.iter_mut().for_each(|stack| *stack = row(*stack));
    }
}
