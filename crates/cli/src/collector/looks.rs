//! Looks at the threads of a collection, in a thread that is there only while somebody watches.
//!
//! Who watches asks again and again; some seconds after the last question the thread ends, and what it saw is kept for who watches next.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dwell_live::Interval;
use dwell_server::CollectionPicture;
use rustix::time::{ClockId, clock_gettime};

use super::picture::{Seen, account, document};
use crate::error::Result;
use crate::top::{BUDGET, Sampler, thread_time};

/// Who has not asked for so long does not watch any more.
const PATIENCE: Duration = Duration::from_secs(3);
/// From one look to the next.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// What looks may take of the budget, and what the accounts may; the rest is for the answers to the page.
const LOOKS_SHARE: f64 = 0.4;
const ACCOUNTS_SHARE: f64 = 0.3;
/// How long an account is.
const SHORTEST_ACCOUNT: Duration = Duration::from_secs(1);
const LONGEST_ACCOUNT: Duration = Duration::from_secs(20);

/// Collections that are looked at now: they share what looks may cost.
static WATCHED: AtomicU32 = AtomicU32::new(0);

/// What is seen of one collection.
pub struct CollectionLooks {
    result: PathBuf,
    watch: Arc<Mutex<Watch>>,
}

/// What the page and the thread share.
struct Watch {
    seen: Seen,
    /// When it was asked for last.
    asked: Instant,
    paused: bool,
    /// There is a thread that looks.
    is_looked_at: bool,
}

impl CollectionLooks {
    /// Of the collection that records into `result`; nobody looks yet.
    pub fn of(result: PathBuf) -> Self {
        let seen = Seen { period: SHORTEST, ..Seen::default() };
        let watch = Watch { seen, asked: Instant::now(), paused: false, is_looked_at: false };
        Self { result, watch: Arc::new(Mutex::new(watch)) }
    }

    /// What was seen until now, of a collection that began `elapsed_ns` ago; looks go on for those who ask.
    pub fn picture(&self, elapsed_ns: u64, paused: bool) -> CollectionPicture {
        let mut watch = lock(&self.watch);
        (watch.asked, watch.paused) = (Instant::now(), paused);
        if !watch.is_looked_at {
            let (shared, result) = (self.watch.clone(), self.result.clone());
            let started = thread::Builder::new().name("live-looks".into()).spawn(move || look(&shared, result));
            watch.is_looked_at = started.is_ok();
        }
        document(&watch.seen, monotonic_ns().saturating_sub(elapsed_ns))
    }
}

/// Its collection has ended.
impl Drop for CollectionLooks {
    fn drop(&mut self) {
        let mut watch = lock(&self.watch);
        watch.asked = watch.asked.checked_sub(PATIENCE).unwrap_or(watch.asked);
    }
}

/// Looks until nobody watches.
fn look(shared: &Mutex<Watch>, result: PathBuf) {
    WATCHED.fetch_add(1, Ordering::Relaxed);
    if let Err(error) = Looking::new(result).go_on(shared) {
        error.message().clone_into(&mut lock(shared).seen.note);
    }
    let mut watch = lock(shared);
    // The next one who watches is not shown what was going on long before.
    (watch.is_looked_at, watch.seen.account) = (false, None);
    WATCHED.fetch_sub(1, Ordering::Relaxed);
}

/// The work of the thread.
struct Looking {
    sampler: Sampler,
    /// Of the account that is not complete yet.
    lately: Interval,
    /// Until when the picture goes; none: no look yet, or none since a pause.
    end_ns: Option<u64>,
    /// What a look costs, CPU time: the mean of the last ones, all that belongs to it included.
    cost: Option<Duration>,
    /// The same of an account, for which the things that are waited for are looked up.
    account_cost: Duration,
    result: PathBuf,
}

impl Looking {
    fn new(result: PathBuf) -> Self {
        let sampler = Sampler::of_collection(result.clone());
        Self { sampler, lately: Interval::default(), end_ns: None, cost: None, account_cost: Duration::ZERO, result }
    }

    fn go_on(&mut self, shared: &Mutex<Watch>) -> Result<()> {
        while let Some(paused) = wanted(shared) {
            let before = thread_time();
            if paused {
                self.pass_over(shared);
            } else {
                self.look(shared)?;
            }
            let cost = thread_time().saturating_sub(before);
            let cost = self.cost.map_or(cost, |mean| (mean * 15 + cost) / 16);
            self.cost = Some(cost);
            let period = paced(cost, LOOKS_SHARE).clamp(SHORTEST, LONGEST);
            let account_length = paced(self.account_cost, ACCOUNTS_SHARE).clamp(SHORTEST_ACCOUNT, LONGEST_ACCOUNT);
            if u128::from(self.lately.length_ns) >= account_length.as_nanos() {
                self.tell_account(shared);
            }
            {
                let seen = &mut lock(shared).seen;
                seen.period = period;
                seen.cost = cost.div_duration_f64(period) + self.account_cost.div_duration_f64(account_length);
            }
            thread::sleep(period);
        }
        Ok(())
    }

    fn look(&mut self, shared: &Mutex<Watch>) -> Result<()> {
        self.sampler.sample()?;
        let interval = self.sampler.end_interval()?;
        let now_ns = monotonic_ns();
        let seen = &mut lock(shared).seen;
        if interval.length_ns > 0 {
            seen.picture.take(&interval, now_ns);
            self.lately.append(interval);
        }
        self.sampler.source_note().unwrap_or_default().clone_into(&mut seen.note);
        self.end_ns = Some(now_ns);
        Ok(())
    }

    fn tell_account(&mut self, shared: &Mutex<Watch>) {
        let before = thread_time();
        let account = account(&std::mem::take(&mut self.lately));
        self.account_cost = thread_time().saturating_sub(before);
        lock(shared).seen.account = Some(account);
    }

    /// The recording is paused: nobody looks, and the next look is a first one.
    fn pass_over(&mut self, shared: &Mutex<Watch>) {
        let now_ns = monotonic_ns();
        {
            let seen = &mut lock(shared).seen;
            if let Some(end_ns) = self.end_ns.replace(now_ns) {
                seen.picture.pause(end_ns, now_ns);
            }
            seen.account = None;
        }
        if self.lately.length_ns > 0 || self.sampler.has_begun() {
            self.lately = Interval::default();
            self.sampler = Sampler::of_collection(self.result.clone());
        }
    }
}

/// How long from one to the next, where each costs so much CPU time, for this part of the budget.
fn paced(cost: Duration, share: f64) -> Duration {
    let watched = WATCHED.load(Ordering::Relaxed).max(1);
    (cost * watched).div_f64(BUDGET * share)
}

/// Whether the collection is paused; none: nobody watches it.
fn wanted(shared: &Mutex<Watch>) -> Option<bool> {
    let watch = lock(shared);
    (watch.asked.elapsed() < PATIENCE).then_some(watch.paused)
}

fn lock(shared: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
