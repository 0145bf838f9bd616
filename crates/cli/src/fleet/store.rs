//! The store that a command asks: opened by DuckDB in this process, which from then on only reads.

use std::cell::RefCell;
use std::path::{self, Path, PathBuf};

use dwell_fleet::{DUCKDB, FileNeed, StoreContents, StoreFiles, StoreLocation, utc};

use crate::args::{FleetEngine, StoreArgs};
use crate::error::{Hinted, Result, quoted};
use crate::reading::Reading;
use crate::sql::DuckDatabase;

/// An hour.
const HOUR_NS: i64 = 3_600_000_000_000;
/// How often a question is asked again whose files were compacted meanwhile.
const MOST_TRIES: usize = 20;

/// A store that answers.
pub struct OpenedStore {
    database: DuckDatabase,
    path: PathBuf,
    need: FileNeed,
    /// The files that answer; `None`: all rows.
    files: RefCell<Option<StoreFiles>>,
    /// Files in it.
    pub contents: StoreContents,
}

impl OpenedStore {
    /// Opens the store of the command line for a question that needs this; `None` where nobody is to answer.
    pub fn open(args: &StoreArgs, need: FileNeed) -> Result<Option<Self>> {
        if args.engine == FleetEngine::Print {
            return Ok(None);
        }
        if let Some(bucket) = bucket_of(&args.store)? {
            let error = Hinted::new(format!("a question has no network, and cannot read {bucket}"));
            return Err(error
                .hint("--engine print | duckdb lets the program duckdb read it, with the keys of AWS_ACCESS_KEY_ID"));
        }
        Reading::of([&*args.store])?.without_index().confine()?;
        let contents = contents(&args.store)?;
        let database = DuckDatabase::load().map_err(|why| {
            Hinted::new(format!("DuckDB's library cannot be loaded: {why}")).hint(
                "--engine print | duckdb does the same with the program duckdb (pip install duckdb-cli); \
                 DWELL_DUCKDB=FILE names the library",
            )
        })?;
        let files = RefCell::new(chosen(&args.store, &need)?);
        let opened = Self { database, path: args.store.clone(), need, files, contents };
        opened.retried(|| opened.make_views()).map_err(|why| cannot_be_read(&why))?;
        Ok(Some(opened))
    }

    /// The rows of a `select` of ours, texts.
    pub fn answer(&self, select: &str) -> Result<Vec<Vec<Option<String>>>> {
        let statement = format!("select columns(*)::varchar from (\n{select}\n) as asked");
        self.ask(|database| database.rows(&statement)).map_err(|why| cannot_be_read(&why))
    }

    /// What a question gives; fails with the reason.
    pub fn ask<T>(
        &self,
        question: impl Fn(&DuckDatabase) -> std::result::Result<T, String>,
    ) -> std::result::Result<T, String> {
        self.retried(|| question(&self.database))
    }

    /// Does it again, with new views, where it fails and the files that answer are others by now.
    fn retried<T>(&self, act: impl Fn() -> std::result::Result<T, String>) -> std::result::Result<T, String> {
        let mut done = act();
        for _ in 0..MOST_TRIES {
            let Err(why) = done else { return done };
            let files = chosen(&self.path, &self.need).map_err(|error| error.to_string())?;
            if files == *self.files.borrow() {
                return Err(why);
            }
            self.files.replace(files);
            done = self.make_views().and_then(|()| act());
        }
        done
    }

    fn make_views(&self) -> std::result::Result<(), String> {
        let has_causes = self.contents.causes > 0;
        let views =
            views_of(&self.path, self.files.borrow().as_ref(), has_causes).map_err(|error| error.to_string())?;
        self.database.rows(&views).map(drop)
    }

    /// Hours that are not in the answer, because only their sums are kept.
    pub fn left_out_note(&self) -> Option<String> {
        let files = self.files.borrow();
        let left_out = &files.as_ref()?.left_out;
        let (first, last) = (left_out.first()?, left_out.last()?);
        let (hours, is) =
            if left_out.len() == 1 { ("1 hour", "is") } else { (&*format!("{} hours", left_out.len()), "are") };
        Some(format!(
            "{hours} from {} to {} UTC {is} left out: the question needs their rows, and only their sums are kept",
            utc(*first),
            utc(last.saturating_add(HOUR_NS))
        ))
    }
}

fn cannot_be_read(why: &str) -> Hinted {
    Hinted::new(format!("the store cannot be read: {}", crate::sql::reason(why)))
        .hint("move a file that is no whole table out of the store; every *.parquet in it is read")
}

/// The bucket that `--store` names; `None` for a folder.
pub fn bucket_of(store: &Path) -> Result<Option<StoreLocation>> {
    let location = StoreLocation::of(store).map_err(|why| {
        Hinted::new(format!("the store {} {why}", store.display()))
            .hint("--store names the folder or the bucket that dwell agent writes to")
    })?;
    Ok(matches!(location, StoreLocation::Bucket { .. }).then_some(location))
}

/// The statements that make the views of a store, for a question that needs this. Nobody looks into a bucket: it has to have windows
/// where they are asked for.
pub fn views(store: &Path, need: &FileNeed, asks_causes: bool) -> Result<String> {
    if let Some(bucket) = bucket_of(store)? {
        let access = DUCKDB.bucket_access(|name| std::env::var(name).ok());
        return Ok(access + &DUCKDB.views(&bucket.to_string(), None, asks_causes));
    }
    let files = if store.is_dir() { chosen(store, need)? } else { None };
    let has_causes = StoreContents::of(store).is_ok_and(|contents| contents.causes > 0);
    views_of(store, files.as_ref(), has_causes)
}

fn views_of(store: &Path, files: Option<&StoreFiles>, has_causes: bool) -> Result<String> {
    let absolute = path::absolute(store).map_err(Hinted::new)?;
    let Some(absolute) = absolute.to_str() else {
        let error = Hinted::new("the path of the store is no text, and SQL is");
        return Err(error.hint("rename the folder, or give it a link with another name"));
    };
    Ok(DUCKDB.views(absolute, files.map(|files| &*files.paths), has_causes))
}

/// The files that answer such a question; `None`: all rows.
fn chosen(store: &Path, need: &FileNeed) -> Result<Option<StoreFiles>> {
    StoreFiles::choose(store, need).map_err(|error| {
        Hinted::new(format!("the store {} cannot be read: {error}", store.display()))
            .hint("without its folder `levels` all rows that are kept answer; dwell fleet compact makes it again")
    })
}

/// What lies in the store; fails where there is nothing to ask.
fn contents(store: &Path) -> Result<StoreContents> {
    let contents = StoreContents::of(store).map_err(|error| {
        Hinted::new(format!("the store {} cannot be read: {error}", store.display()))
            .hint("--store names the folder that dwell agent writes to")
    })?;
    if contents.whole + contents.summed > 0 {
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
