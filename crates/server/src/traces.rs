//! Instruction traces on machines: replayed when somebody asks, kept while there is room.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dwell_anatomy::annotate::{Anatomy, Annotator, Call, Chart, Detail, Phases};
use dwell_anatomy::trace::{self, Head, Progress, TraceError, Watched};
use dwell_machine::{DEFAULT_MACHINE, MACHINES, Machine};

use crate::params::Params;
use crate::problem::{Fault, Problem};
use crate::state::App;

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

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A replay that is under way as long as this lives.
struct Underway {
    app: Arc<App>,
    key: String,
    progress: Arc<Progress>,
}

impl Underway {
    fn new(app: &Arc<App>, key: String) -> Self {
        let progress = Arc::<Progress>::default();
        app.replays.running().insert(key.clone(), progress.clone());
        Self { app: app.clone(), key, progress }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut running = self.app.replays.running();
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
    /// What the words of a question name: one of Dwell's machines, no file.
    pub fn of(id: &str, params: &Params, word: &'static str) -> Result<Self, Problem> {
        let wanted = params.text(word).unwrap_or(DEFAULT_MACHINE);
        let known = MACHINES.iter().find(|machine| machine.0 == wanted);
        let machine = known.ok_or_else(|| {
            let names: Vec<_> = MACHINES.iter().map(|machine| machine.0).collect();
            Problem::new(Fault::UnknownName, "there is no such machine")
                .hint(format!("the machines are {}", names.join(", ")))
        })?;
        Ok(Self { id: id.to_owned(), machine: machine.0 })
    }

    /// Its name among the replays.
    pub fn key(&self) -> String {
        format!("{} {}", self.machine, self.id)
    }
}

impl App {
    /// A trace on a machine: replayed once, shared by all who ask. When nobody waits for it any more, the replay ends.
    pub async fn replayed(self: &Arc<Self>, asked: &Asked) -> Result<Arc<Replayed>, Problem> {
        let make = || {
            let (app, asked) = (self.clone(), asked.clone());
            self.compute(move || {
                let underway = Underway::new(&app, asked.key());
                let (head, anatomy) = replay(&app, &asked, None, &underway.progress)?;
                let chart = Chart::new(&anatomy);
                Ok(Arc::new(Replayed { head, anatomy, chart }))
            })
        };
        self.replayed.get(asked.key(), make).await
    }

    /// The same once more, with instructions; as far as these need.
    pub fn detailed(self: &Arc<Self>, asked: &Asked, detail: Detail) -> Result<Anatomy, Problem> {
        let underway = Underway::new(self, format!("{} instructions", asked.key()));
        Ok(replay(self, asked, Some(detail), &underway.progress)?.1)
    }
}

fn replay(app: &App, asked: &Asked, detail: Option<Detail>, progress: &Progress) -> Result<(Head, Anatomy), Problem> {
    let file = open(&app.library.trace(&asked.id)?)?;
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
