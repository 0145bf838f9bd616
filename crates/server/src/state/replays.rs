//! Instruction traces on machines: replayed when somebody asks, kept while there is room.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dwell_anatomy::annotate::{Anatomy, Annotator, Call, Chart, Detail, Phases};
use dwell_anatomy::trace::{self, Head, Progress, TraceError, Watched};
use dwell_machine::Machine;

use super::library::Library;
use crate::problem::Problem;

/// A trace on a machine.
pub struct Replayed {
    /// What was recorded.
    pub head: Head,
    /// What it was.
    pub anatomy: Anatomy,
    /// Its calls over the clock.
    pub chart: Chart,
}

impl Replayed {
    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        let anatomy = &self.anatomy;
        let functions = anatomy.functions.iter().map(|function| function.name.len() + function.module.len() + 48);
        self.chart.bytes()
            + anatomy.calls.capacity() * size_of::<Call>()
            + anatomy.rows.capacity() * size_of_val(&anatomy.rows[..1.min(anatomy.rows.len())])
            + functions.sum::<usize>()
    }
}

/// The replays that are under way.
#[derive(Default)]
pub struct Replays {
    running: Mutex<HashMap<String, Arc<Progress>>>,
}

impl Replays {
    /// How far one is; none when it is not under way.
    pub fn progress(&self, key: &str) -> Option<(u64, u64)> {
        self.running().get(key).map(|progress| progress.bytes())
    }

    /// Replays a trace on a machine.
    pub fn replayed(&self, library: &Library, asked: &Asked) -> Result<Replayed, Problem> {
        let underway = Underway::new(self, asked.key());
        let (head, anatomy) = replay(library, asked, None, &underway.progress)?;
        let chart = Chart::new(&anatomy);
        Ok(Replayed { head, anatomy, chart })
    }

    /// Replays a trace once more, with instructions, as far as these need.
    pub fn detailed(&self, library: &Library, asked: &Asked, detail: Detail) -> Result<Anatomy, Problem> {
        let underway = Underway::new(self, format!("{} instructions", asked.key()));
        Ok(replay(library, asked, Some(detail), &underway.progress)?.1)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A replay that is under way as long as this lives.
struct Underway<'r> {
    replays: &'r Replays,
    key: String,
    progress: Arc<Progress>,
}

impl<'r> Underway<'r> {
    fn new(replays: &'r Replays, key: String) -> Self {
        let progress = Arc::<Progress>::default();
        replays.running().insert(key.clone(), progress.clone());
        Self { replays, key, progress }
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut running = self.replays.running();
        // Another one may have begun under the same key before this one saw that it is stopped.
        if running.get(&self.key).is_some_and(|it| Arc::ptr_eq(it, &self.progress)) {
            running.remove(&self.key);
        }
    }
}

/// Which trace, on which machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The trace's id.
    pub id: String,
    /// The machine's name.
    pub machine: &'static str,
}

impl Asked {
    /// Its name among the replays.
    pub fn key(&self) -> String {
        format!("{} {}", self.machine, self.id)
    }
}

fn replay(
    library: &Library,
    asked: &Asked,
    detail: Option<Detail>,
    progress: &Progress,
) -> Result<(Head, Anatomy), Problem> {
    let file = open(&library.trace(&asked.id)?)?;
    let phases = Phases::with(None).map_err(|_| Problem::internal())?;
    let annotator = Annotator::new(&Machine::named(asked.machine)?, phases)?;
    let annotator = match detail {
        Some(detail) => annotator.with(detail),
        None => annotator,
    };
    let watched = Watched::new(file, progress).map_err(TraceError::from)?;
    Ok(trace::replay(watched, annotator)?)
}

fn open(path: &Path) -> Result<File, Problem> {
    trace::open(path).map_err(|error| TraceError::from(error).into())
}
