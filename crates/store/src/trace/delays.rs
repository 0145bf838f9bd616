//! What delayed threads while they ran or could run.

use dwell_files::Folder;

use crate::error::Result;
use crate::table::{self, Table, TableReader};
use crate::tables::{DelaySources, Delays};

/// The tables of delays. Empty in results of collections without them.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct DelayTables {
    pub delays: Delays,
    pub sources: DelaySources,
}

impl DelayTables {
    pub(crate) fn read(tables: &TableReader) -> Result<Self> {
        Ok(Self { delays: tables.read()?, sources: tables.read()? })
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<()> {
        table::write(folder, &self.delays)?;
        table::write(folder, &self.sources)
    }

    /// Whether every id names a row that is there, and times are in order.
    pub(crate) fn check(&self, threads: usize) -> std::result::Result<(), String> {
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let delays = &self.delays;
        all("delays.thread", delays.thread.iter().all(|id| id.get().is_some_and(|row| row < threads)))?;
        all("delays.source", delays.source.iter().all(|id| id.get().is_none_or(|row| row < self.sources.len())))?;
        all("delays.start_ns", delays.start_ns.is_sorted())?;
        let spans = || delays.start_ns.iter().zip(&delays.end_ns).zip(&delays.delay_ns);
        all("delays.end_ns", spans().all(|((start, end), _)| start <= end))?;
        all("delays.delay_ns", spans().all(|((start, end), delay)| *delay <= end - start))
    }
}
