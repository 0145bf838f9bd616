//! Who had a GIL when: it is taken where a wait for it ends. A waiter asks its holder for it each 5 ms and waits on, so that nobody
//! ended its last wait, and where it began to wait between two turns, nobody had it yet.

use dwell_model::{ObjectId, ObjectType, Outcome};
use dwell_query::stacks::object::object_type;
use dwell_store::{Trace, WordMap};

use crate::study::explain::terms::GOES_ON_NS;

/// When which thread took each GIL: ns and thread, in order of time.
#[derive(Default)]
pub struct GilTurns {
    of_object: WordMap<ObjectId, Vec<(u64, u32)>>,
}

impl GilTurns {
    /// Those of a trace: empty where no program has a GIL.
    pub fn new(trace: &Trace) -> Self {
        let mut turns = Self::default();
        let is_gil = |object: &ObjectId| object_type(trace, *object) == ObjectType::Gil;
        let objects = (0..trace.objects.name.len()).map(ObjectId::new);
        turns.of_object.extend(objects.filter(is_gil).map(|object| (object, Vec::new())));
        if turns.of_object.is_empty() {
            return turns;
        }
        (0..trace.threads.tid.len()).for_each(|thread| turns.add(trace, thread));
        turns.of_object.values_mut().for_each(|taken| taken.sort_unstable());
        turns
    }

    /// The thread other than `waiter` that took it last before `time`.
    pub fn holder(&self, object: ObjectId, waiter: usize, time: u64) -> Option<usize> {
        let taken = self.of_object.get(&object)?;
        let before = &taken[..taken.partition_point(|(at, _)| *at < time)];
        before.iter().rev().map(|(_, thread)| *thread as usize).find(|thread| *thread != waiter)
    }

    fn add(&mut self, trace: &Trace, thread: usize) {
        let (events, rows) = (trace.events(), &trace.events().off_cpu);
        let all = rows.of(thread);
        for row in all.clone() {
            let key = events.off_cpu_key(row);
            let Some(taken) = self.of_object.get_mut(&key.object()) else { continue };
            let next = (row + 1 < all.end).then_some(row + 1);
            let waits_on = next.is_some_and(|next| {
                let soon = rows.start_ns(next).saturating_sub(rows.end_ns(row)) < GOES_ON_NS;
                soon && events.off_cpu_key(next).object() == key.object()
            });
            if Outcome::from_code(key.outcome()) == Outcome::Woken || !waits_on {
                taken.push((rows.end_ns(row), thread as u32));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    #[test]
    fn who_took_it_last_has_it() {
        let trace = trace(
            "a: ##ggg##g
             b: gg###ggg",
        );
        let turns = GilTurns::new(&trace);
        let gil =
            (0..trace.objects.name.len()).map(ObjectId::new).find(|it| object_type(&trace, *it) == ObjectType::Gil);
        let holder = |waiter, cell: u64| turns.holder(gil.unwrap(), waiter, cell * CELL);
        assert_eq!((holder(0, 4), holder(1, 6), holder(1, 4)), (Some(1), Some(0), None));
    }
}
