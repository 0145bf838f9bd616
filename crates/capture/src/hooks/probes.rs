//! The probes that a user names: those of tasks and intervals, and those with values.

use crate::error::{Error, Result};
use crate::hooks::families::LoadedHooks;
use crate::kernel::loading;
use crate::kernel::maps::map_of;
use crate::topics::task_probes::{self, ProbePlaces};
use crate::topics::value_probes::{self, FoundValueProbe};

impl LoadedHooks {
    /// Sets the probes of tasks; `pids` = in these processes only.
    pub fn set_task_probes(&mut self, places: &ProbePlaces, pids: Option<&[u32]>) -> Result<()> {
        if !places.found.is_empty() {
            let object = self.load_family("task_probe")?;
            self.links.extend(task_probes::set(&places.found, &object, pids)?);
            self.optional.push(object);
        }
        if !places.calls.is_empty() {
            let object = self.load_family("call_probe")?;
            task_probes::set_calls(&places.calls, &object)?;
            self.links.extend(loading::attach(&object)?);
            self.optional.push(object);
        }
        Ok(())
    }

    /// Sets the probes with values; `pids` = in these processes only.
    pub fn set_value_probes(&mut self, found: &[FoundValueProbe], pids: Option<&[u32]>) -> Result<()> {
        let (in_files, at_tracepoints) = value_probes::kinds(found);
        if at_tracepoints {
            if self.own_only {
                return Err(Error::TracepointsNeedRoot);
            }
            let object = self.load_family("tracepoint_probe")?;
            self.links.extend(value_probes::set_tracepoints(found, &object)?);
            self.rejections.push(map_of(&object, "probe_rejections")?);
            self.optional.push(object);
        }
        if in_files {
            let object = self.load_family("value_probe")?;
            self.links.extend(value_probes::set(found, &object, pids)?);
            self.rejections.push(map_of(&object, "probe_rejections")?);
            self.optional.push(object);
        }
        Ok(())
    }

    /// Hits of each of the first `count` probes that did not meet its condition.
    pub fn rejections(&self, count: usize) -> Vec<u64> {
        let mut sums = vec![0u64; count];
        for map in &self.rejections {
            let of_family = value_probes::rejections(map, count);
            sums.iter_mut().zip(of_family).for_each(|(sum, number)| *sum = sum.saturating_add(number));
        }
        sums
    }
}
