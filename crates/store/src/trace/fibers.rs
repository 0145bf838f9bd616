//! Fibers: lines of execution that a runtime puts on threads.

use dwell_files::Folder;
use dwell_model::{FiberId, StackId};

use super::sockets::ReferredRows;
use crate::error::Result;
use crate::table::{self, Table, TableReader};
use crate::tables::{FiberOffCpu, FiberSamples, Fibers};

/// The tables of fibers. Empty in results of programs without fibers.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct FiberTables {
    pub fibers: Fibers,
    pub off_cpu: FiberOffCpu,
    pub samples: FiberSamples,
}

impl FiberTables {
    pub(crate) fn read(tables: &TableReader) -> Result<Self> {
        Ok(Self { fibers: tables.read()?, off_cpu: tables.read()?, samples: tables.read()? })
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<()> {
        table::write(folder, &self.fibers)?;
        table::write(folder, &self.off_cpu)?;
        table::write(folder, &self.samples)
    }

    /// Whether every id names a row that is there, and times are in order.
    pub(crate) fn check(&self, rows: &ReferredRows) -> std::result::Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let count = self.fibers.len();
        let is_fiber = |id: &FiberId| id.get().is_some_and(|row| row < count);
        let is_fiber_or_none = |id: &FiberId| id.get().is_none_or(|row| row < count);
        let (fibers, off_cpu, samples) = (&self.fibers, &self.off_cpu, &self.samples);
        let stacks = |ids: &[StackId]| ids.iter().all(|id| id.get().is_none_or(|row| row < rows.stacks));
        all("fibers.process", fibers.process.iter().all(|id| id.get().is_some_and(|row| row < rows.processes)))?;
        all("fibers.parent", fibers.parent.iter().all(is_fiber_or_none))?;
        all("fibers.created_stack", stacks(&fibers.created_stack))?;
        all("fibers.end_ns", fibers.start_ns.iter().zip(&fibers.end_ns).all(|(start, end)| start <= end))?;
        all("fiber_off_cpu.fiber", off_cpu.fiber.iter().all(is_fiber))?;
        all("fiber_off_cpu.waker", off_cpu.waker.iter().all(is_fiber_or_none))?;
        all("fiber_off_cpu.holder", off_cpu.holder.iter().all(is_fiber_or_none))?;
        all("fiber_off_cpu.stack", stacks(&off_cpu.stack) && stacks(&off_cpu.waker_stack))?;
        all("fiber_off_cpu.object", off_cpu.object.iter().all(|id| id.get().is_none_or(|row| row < rows.objects)))?;
        all("fiber_off_cpu.start_ns", off_cpu.start_ns.is_sorted())?;
        all("fiber_samples.fiber", samples.fiber.iter().all(is_fiber))?;
        all("fiber_samples.stack", stacks(&samples.stack))?;
        all("fiber_samples.time_ns", samples.time_ns.is_sorted())
    }
}
