//! What the program says of itself: its tasks, frames, markers, counters and announced waits.

use dwell_files::Folder;
use dwell_model::{TaskId, ThreadId};

use crate::error::Result;
use crate::table::{self, Table, TableReader};
use crate::tables::{CounterValues, Counters, MarkerValues, Markers, SyncWaits, TaskMetadata, TaskTypes, Tasks};

/// The tables of what a program says of itself, by ITT or through probes.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct Annotations {
    pub task_types: TaskTypes,
    pub tasks: Tasks,
    pub task_metadata: TaskMetadata,
    pub markers: Markers,
    pub marker_values: MarkerValues,
    pub counters: Counters,
    pub counter_values: CounterValues,
    pub sync_waits: SyncWaits,
}

impl Annotations {
    pub(crate) fn read(tables: &TableReader) -> Result<Self> {
        Ok(Self {
            task_types: tables.read()?,
            tasks: tables.read()?,
            task_metadata: tables.read()?,
            markers: tables.read()?,
            marker_values: tables.read()?,
            counters: tables.read()?,
            counter_values: tables.read()?,
            sync_waits: tables.read()?,
        })
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<()> {
        table::write(folder, &self.task_types)?;
        table::write(folder, &self.tasks)?;
        table::write(folder, &self.task_metadata)?;
        table::write(folder, &self.markers)?;
        table::write(folder, &self.marker_values)?;
        table::write(folder, &self.counters)?;
        table::write(folder, &self.counter_values)?;
        table::write(folder, &self.sync_waits)
    }

    /// Whether it says what threads were in: tasks or announced waits.
    pub(super) fn nests(&self) -> bool {
        self.tasks.len() + self.sync_waits.len() > 0
    }

    /// Whether every id names a row that is there and every order that readers rely on holds, in a trace of so many
    /// rows of `processes`, `threads` and `objects`.
    pub(crate) fn check(&self, processes: usize, threads: usize, objects: usize) -> std::result::Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let (types, tasks, counters) = (self.task_types.len(), self.tasks.len(), self.counters.len());
        let is_thread = |id: &ThreadId| id.get().is_some_and(|row| row < threads);
        let may_be_thread = |id: &ThreadId| id.get().is_none_or(|row| row < threads);
        all("tasks.task_type", self.tasks.task_type.iter().all(|id| id.get().is_some_and(|row| row < types)))?;
        all("tasks.thread", self.tasks.thread.iter().all(is_thread))?;
        all("tasks.end_thread", self.tasks.end_thread.iter().all(may_be_thread))?;
        let below = |(row, parent): (usize, &TaskId)| parent.get().is_none_or(|parent| parent < row);
        all("tasks.parent", self.tasks.parent.iter().enumerate().all(below))?;
        all("tasks.start_ns", self.tasks.start_ns.is_sorted())?;
        all("tasks.end_ns", self.tasks.start_ns.iter().zip(&self.tasks.end_ns).all(|(start, end)| start <= end))?;
        let is_task = |id: &TaskId| id.get().is_none_or(|row| row < tasks);
        all("task_metadata.task", self.task_metadata.task.iter().all(is_task))?;
        all("task_metadata.thread", self.task_metadata.thread.iter().all(is_thread))?;
        all("task_metadata.time_ns", self.task_metadata.time_ns.is_sorted())?;
        all("markers.task_type", self.markers.task_type.iter().all(|id| id.get().is_some_and(|row| row < types)))?;
        all("markers.thread", self.markers.thread.iter().all(is_thread))?;
        all("markers.time_ns", self.markers.time_ns.is_sorted())?;
        let values = &self.marker_values;
        all("marker_values.task_type", values.task_type.iter().all(|id| id.get().is_some_and(|row| row < types)))?;
        all("marker_values.thread", values.thread.iter().all(is_thread))?;
        all("marker_values.time_ns", values.time_ns.is_sorted())?;
        let is_process = |row: usize| row < processes;
        all("counters.process", self.counters.process.iter().all(|id| id.get().is_none_or(is_process)))?;
        let is_counter = |row: usize| row < counters;
        all("counter_values.counter", self.counter_values.counter.iter().all(|id| id.get().is_some_and(is_counter)))?;
        all("counter_values.thread", self.counter_values.thread.iter().all(may_be_thread))?;
        all("counter_values.time_ns", self.counter_values.time_ns.is_sorted())?;
        all("sync_waits.thread", self.sync_waits.thread.iter().all(is_thread))?;
        all("sync_waits.object", self.sync_waits.object.iter().all(|id| id.get().is_some_and(|row| row < objects)))?;
        let waits = &self.sync_waits;
        all("sync_waits.start_ns", waits.start_ns.is_sorted())?;
        all("sync_waits.end_ns", waits.start_ns.iter().zip(&waits.end_ns).all(|(start, end)| start <= end))
    }
}
