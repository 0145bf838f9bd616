//! The store that a command asks: opened by DuckDB in this process, which from then on only reads.

use std::path::{self, Path};

use dwell_fleet::{DUCKDB, StoreContents};

use crate::args::{FleetEngine, StoreArgs};
use crate::error::{Hinted, Result, quoted};
use crate::reading::Reading;
use crate::sql::DuckDatabase;

/// A store that answers.
pub struct OpenedStore {
    database: DuckDatabase,
    /// Files in it.
    pub contents: StoreContents,
}

impl OpenedStore {
    /// Opens the store of the command line; `None` where nobody is to answer.
    pub fn open(args: &StoreArgs) -> Result<Option<Self>> {
        if args.engine == FleetEngine::Print {
            return Ok(None);
        }
        Reading::of([&*args.store])?.without_index().confine()?;
        let contents = contents(&args.store)?;
        let database = DuckDatabase::load().map_err(|why| {
            Hinted::new(format!("DuckDB's library cannot be loaded: {why}")).hint(
                "--engine print | duckdb does the same with the program duckdb (pip install duckdb-cli); \
                 DWELL_DUCKDB=FILE names the library",
            )
        })?;
        let opened = Self { database, contents };
        opened.rows(&views(&args.store)?)?;
        Ok(Some(opened))
    }

    /// The rows of a `select` of ours, texts.
    pub fn answer(&self, select: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.rows(&format!("select columns(*)::varchar from (\n{select}\n) as asked"))
    }

    /// The database with the views.
    pub fn database(&self) -> &DuckDatabase {
        &self.database
    }

    fn rows(&self, statements: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.database.rows(statements).map_err(|why| {
            Hinted::new(format!("the store cannot be read: {}", crate::sql::reason(&why)))
                .hint("move a file that is no whole table out of the store; every *.parquet in it is read")
        })
    }
}

/// The statements that make the views of a store.
pub fn views(store: &Path) -> Result<String> {
    let absolute = path::absolute(store).map_err(Hinted::new)?;
    let Some(absolute) = absolute.to_str() else {
        let error = Hinted::new("the path of the store is no text, and SQL is");
        return Err(error.hint("rename the folder, or give it a link with another name"));
    };
    Ok(DUCKDB.views(absolute))
}

/// What lies in the store; fails where there is nothing to ask.
fn contents(store: &Path) -> Result<StoreContents> {
    let contents = StoreContents::of(store).map_err(|error| {
        Hinted::new(format!("the store {} cannot be read: {error}", store.display()))
            .hint("--store names the folder that dwell agent writes to")
    })?;
    if contents.whole > 0 {
        return Ok(contents);
    }
    let partial = match contents.partial {
        0 => String::new(),
        1 => ", only one that is half written".into(),
        count => format!(", only {count} that are half written"),
    };
    let error = Hinted::new(format!("the store {} has no files yet{partial}", store.display()));
    Err(error.hint(format!("sudo dwell agent --store {} --row 1s --duration 10s writes some", quoted(store))))
}
