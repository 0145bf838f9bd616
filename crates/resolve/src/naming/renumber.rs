//! Rows of the named tables instead of the replay's numbers.

use dwell_model::{ObjectId, StackId, TaskTypeId};
use dwell_store::Annotations;
use dwell_store::tables::{OffCpu, Samples};
use rayon::prelude::*;

use super::named::Named;
use crate::replay::annotations::Unnamed;

/// Replaces the raw numbers of the intervals by rows of the named tables.
pub fn renumber(off_cpu: &mut OffCpu, samples: &mut Samples, named: &Named) {
    let stack = |id: &mut StackId| *id = named.stack(*id);
    let object = |id: &mut ObjectId| {
        *id = id.get().and_then(|number| named.objects.of_waits.get(number)).copied().unwrap_or(ObjectId::NONE);
    };
    off_cpu.stack.par_iter_mut().for_each(stack);
    off_cpu.waker_stack.par_iter_mut().for_each(stack);
    off_cpu.object.par_iter_mut().for_each(object);
    samples.stack.par_iter_mut().for_each(stack);
}

/// What programs said of themselves, with the rows of the named tables instead of the raw numbers.
pub fn annotations(mut told: Unnamed, named: &mut Named) -> Annotations {
    let task_type = |id: &mut TaskTypeId| {
        *id = id.get().and_then(|number| named.task_type_ids.get(number)).copied().unwrap_or(TaskTypeId::NONE);
    };
    told.tasks.task_type.par_iter_mut().for_each(task_type);
    told.markers.task_type.par_iter_mut().for_each(task_type);
    told.sync_waits.object.par_iter_mut().for_each(|id| {
        *id = id.get().and_then(|number| named.objects.of_told.get(number)).copied().unwrap_or(ObjectId::NONE);
    });
    Annotations {
        task_types: std::mem::take(&mut named.task_types),
        tasks: told.tasks,
        task_metadata: told.metadata,
        markers: told.markers,
        counters: told.counters,
        counter_values: told.counter_values,
        sync_waits: told.sync_waits,
    }
}
