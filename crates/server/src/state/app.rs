//! The application: the results, the caches, and the pool that computes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_analyze::{Analysis, Query};
use dwell_anatomy::annotate::{Anatomy, Detail};
use dwell_store::Index;
use dwell_work::stop::{Stop, stoppable};
use tokio::sync::Semaphore;

use super::cache::Cache;
use super::fold::SharedFold;
use super::library::Library;
use super::replays::{Asked, Replayed, Replays};
use crate::collector::Collector;
use crate::problem::Problem;

/// Results that stay open: two are compared, and one was looked at before.
const ANALYSES: usize = 3;
/// Sums by selection that are kept, bytes: undoing a filter is at once.
const FOLDS: usize = 256 << 20;
/// Traces on machines that are kept, bytes: two are compared.
const REPLAYED: usize = 640 << 20;
/// Finished documents that are kept, bytes.
const DOCUMENTS: usize = 64 << 20;
/// Bytes of mapped indexes that may be resident: those that are not in use come back from the page cache.
const MAPPED: usize = 256 << 20;
/// Computations at once: a machine that profiles has other work too.
pub const COMPUTATIONS: usize = 4;

/// The application.
pub struct App {
    /// Which results there are.
    pub library: Library,
    /// The process that makes collections, if there is one.
    pub collector: Option<Collector>,
    /// Finished documents, by result, route and question.
    pub documents: Cache<Arc<Vec<u8>>>,
    analyses: Cache<Arc<Analysis>>,
    folds: Cache<Arc<SharedFold>>,
    replayed: Cache<Arc<Replayed>>,
    /// Replays that are under way.
    pub replays: Replays,
    permits: Arc<Semaphore>,
    /// How often an index turned out to be damaged.
    damages: AtomicU64,
}

impl App {
    /// The application over `library`.
    pub fn new(library: Library) -> Self {
        let documents = Cache::new(DOCUMENTS, |document: &Arc<Vec<u8>>| document.len());
        let analyses = Cache::new(ANALYSES, |_| 1);
        let folds = Cache::new(FOLDS, |fold: &Arc<SharedFold>| fold.bytes());
        let replayed = Cache::new(REPLAYED, |replayed: &Arc<Replayed>| replayed.bytes());
        let (replays, permits) = (Replays::default(), Arc::new(Semaphore::new(COMPUTATIONS)));
        let damages = AtomicU64::new(0);
        Self { library, collector: None, documents, analyses, folds, replayed, replays, permits, damages }
    }

    /// The same, with the process that makes collections.
    pub fn with_collector(self, collector: Option<Collector>) -> Self {
        Self { collector, ..self }
    }

    /// A result ready for questions: read once, shared by all who ask.
    pub async fn analysis(self: &Arc<Self>, id: &str) -> Result<Arc<Analysis>, Problem> {
        let (app, wanted) = (self.clone(), id.to_owned());
        let read = || {
            // What it makes is for all who come later: it is not stopped when who asked first has gone.
            self.finish(move || Ok(Arc::new(Analysis::new(dwell_analyze::open(&app.library.find(&wanted)?)?))))
        };
        self.analyses.get(id.to_owned(), read).await
    }

    /// How often the index of an open result was found damaged so far: what was answered meanwhile may be wrong. Such an
    /// index is deleted, and all that was computed is forgotten.
    pub fn damages(&self) -> u64 {
        let mut damaged = Vec::new();
        self.analyses.for_each(|analysis| {
            damaged.extend(analysis.trace().shared_index().filter(|index| index.is_damaged()));
        });
        if !damaged.is_empty() {
            // Where it cannot be deleted it is damaged the next time too, and the request is refused in the end.
            damaged.iter().for_each(|index| drop(index.discard()));
            self.damages.fetch_add(1, Ordering::Relaxed);
            self.documents.clear();
            self.folds.clear();
            self.analyses.clear();
        }
        self.damages.load(Ordering::Relaxed)
    }

    /// The fold of a result for the selection of `query`: made once, shared by every view of it.
    pub async fn fold(self: &Arc<Self>, id: &str, query: &Query) -> Result<Arc<SharedFold>, Problem> {
        let analysis = self.analysis(id).await?;
        let selection = query.selection();
        let key = format!("{id} {selection:?}");
        let make = || self.compute(move || Ok(Arc::new(SharedFold::of(analysis, selection)?)));
        self.folds.get(key, make).await
    }

    /// A trace on a machine: replayed once, shared by all who ask. When nobody waits for it any more, the replay ends.
    pub async fn replayed(self: &Arc<Self>, asked: &Asked) -> Result<Arc<Replayed>, Problem> {
        let make = || {
            let (app, asked) = (self.clone(), asked.clone());
            self.compute(move || Ok(Arc::new(app.replays.replayed(&app.library, &asked)?)))
        };
        self.replayed.get(asked.key(), make).await
    }

    /// Replays a trace once more, with instructions, as far as these need.
    pub fn detailed(&self, asked: &Asked, detail: Detail) -> Result<Anatomy, Problem> {
        self.replays.detailed(&self.library, asked, detail)
    }

    /// Does `work` on the pool for computations. A request whose client has gone before its turn is never begun, and
    /// one whose client goes meanwhile leaves its place within milliseconds.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let awaited = Awaited::default();
        let stop = awaited.0.clone();
        // Who stops it has dropped this future, and sees no answer.
        self.finish(move || stoppable(&stop, work).ok_or_else(Problem::internal)?).await
    }

    /// Does `work` on the pool, and finishes it when its client has gone.
    async fn finish<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        if mapped_bytes() > MAPPED {
            self.analyses.for_each(|analysis| analysis.trace().index().into_iter().for_each(Index::release));
        }
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| Problem::internal())?;
        let task = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        task.await.map_err(|_| Problem::internal())?
    }
}

/// Opens the one result that is served, and sums it, while the browser starts. What is wrong with it is said to who asks.
pub async fn open_ahead(app: Arc<App>) {
    if !app.library.is_single() {
        return;
    }
    for result in app.library.results() {
        let _ = app.fold(&result.id, &Query::default()).await;
    }
}

/// Stops a computation when nobody waits for it any more.
#[derive(Default)]
struct Awaited(Stop);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Resident memory that is mapped files, bytes; 0 where the kernel does not tell.
fn mapped_bytes() -> usize {
    let pages = || std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(2)?.parse::<usize>().ok();
    pages().unwrap_or(0).saturating_mul(rustix::param::page_size())
}
