//! The tables that `dwell source` lists functions from: machine code, lines, and source text. They are large and few
//! reports need them, so that they are read on their own.

use dwell_files::Folder;
use dwell_model::{CodeId, InlineId, SourceId};

use crate::error::{Error, Result};
use crate::folder::ResultFolder;
use crate::manifest::State;
use crate::table::{self, Table, TableReader};
use crate::tables::{Code, Inlines, Lines, Sources};

/// Machine code, lines and source text of the functions that threads were in.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the tables are documented where they are declared")]
pub struct CodeTables {
    pub code: Code,
    pub inlines: Inlines,
    pub lines: Lines,
    pub sources: Sources,
}

impl CodeTables {
    /// Reads them from a finalized result. Fails when the result is not finalized, or a table is damaged or names rows that are
    /// not there.
    pub fn read(folder: &ResultFolder) -> Result<Self> {
        if folder.manifest()?.state != State::Finalized {
            return Err(Error::NotFinalized { path: folder.path().to_owned() });
        }
        let tables = TableReader::new(folder.tables()?);
        let read =
            Self { code: tables.read()?, inlines: tables.read()?, lines: tables.read()?, sources: tables.read()? };
        read.check().map_err(|reason| Error::table(tables.folder().path(), reason))?;
        Ok(read)
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<()> {
        table::write(folder, &self.code)?;
        table::write(folder, &self.inlines)?;
        table::write(folder, &self.lines)?;
        table::write(folder, &self.sources)
    }

    /// Whether every id names a row that is there and every order that readers rely on holds.
    fn check(&self) -> std::result::Result<(), String> {
        let (code, inlines, sources) = (self.code.len(), self.inlines.len(), self.sources.len());
        let all = |name: &str, holds: bool| holds.then_some(()).ok_or_else(|| format!("column {name} is damaged"));
        let is_source = |id: &SourceId| id.get().is_none_or(|row| row < sources);
        let is_code = |id: &CodeId| id.get().is_some_and(|row| row < code);
        let order = |row: usize| (self.code.module[row], self.code.address[row]);
        all("code.address", (0..code).is_sorted_by_key(order))?;
        all("inlines.code", self.inlines.code.iter().all(is_code))?;
        let below = |(row, parent): (usize, &InlineId)| parent.get().is_none_or(|parent| parent < row);
        all("inlines.parent", self.inlines.parent.iter().enumerate().all(below))?;
        all("inlines.call_file", self.inlines.call_file.iter().all(is_source))?;
        all("lines.code", self.lines.code.iter().all(is_code))?;
        all("lines.inline", self.lines.inline.iter().all(|id| id.get().is_none_or(|row| row < inlines)))?;
        all("lines.file", self.lines.file.iter().all(is_source))?;
        let order = |row: usize| (self.lines.code[row], self.lines.offset[row]);
        all("lines.offset", (0..self.lines.len()).is_sorted_by_key(order))
    }
}
