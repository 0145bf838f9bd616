//! Keeps recent answers, up to a number of bytes; concurrent requests for one answer compute it once.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::problem::Problem;

/// Values by key, the least recently used ones dropped first.
pub struct Cache<V> {
    limit: usize,
    weigh: fn(&V) -> usize,
    /// The most recently used last.
    entries: Mutex<Vec<(String, Arc<OnceCell<V>>)>>,
}

impl<V: Clone> Cache<V> {
    /// Keeps values up to `limit` bytes by `weigh`, but always the newest.
    pub fn new(limit: usize, weigh: fn(&V) -> usize) -> Self {
        Self { limit, weigh, entries: Mutex::new(Vec::new()) }
    }

    /// The value of `key`, made by `make` unless it is there or on its way.
    pub async fn get<F: Future<Output = Result<V, Problem>>>(
        &self,
        key: String,
        make: impl FnOnce() -> F,
    ) -> Result<V, Problem> {
        let cell = self.cell(key);
        let value = cell.get_or_try_init(make).await.cloned();
        self.trim();
        value
    }

    /// Tells every value that is kept.
    pub fn for_each(&self, tell: impl FnMut(&V)) {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().filter_map(|(_, cell)| cell.get()).for_each(tell);
    }

    /// Forgets every value.
    pub fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn cell(&self, key: String) -> Arc<OnceCell<V>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().position(|(of, _)| *of == key);
        let entry = known.map_or_else(|| (key, Arc::default()), |index| entries.remove(index));
        let cell = entry.1.clone();
        entries.push(entry);
        cell
    }

    /// Drops the oldest values beyond the limit, and places of those that never came.
    fn trim(&self) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = 0;
        let mut kept: Vec<_> = Vec::with_capacity(entries.len());
        for entry in entries.drain(..).rev() {
            let weight = entry.1.get().map(self.weigh);
            let pending = weight.is_none() && Arc::strong_count(&entry.1) > 1;
            sum += weight.unwrap_or(0);
            if pending || (weight.is_some() && (sum <= self.limit || kept.is_empty())) {
                kept.push(entry);
            }
        }
        kept.reverse();
        *entries = kept;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_value_is_made_once_and_the_least_used_goes_first() {
        let cache = Cache::new(10, String::len);
        let made = AtomicUsize::new(0);
        let get = async |key: &str| {
            let make = async || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok("1234".to_owned())
            };
            cache.get(key.to_owned(), make).await.unwrap();
            made.load(Ordering::Relaxed)
        };
        assert_eq!((get("a").await, get("b").await, get("a").await), (1, 2, 2));
        assert_eq!((get("c").await, get("a").await, get("b").await), (3, 3, 4), "b was used before a");
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let cache = Cache::new(10, String::len);
        let fail = || async { Err(Problem::internal()) };
        assert!(cache.get("a".into(), fail).await.is_err());
        assert_eq!(cache.get("a".into(), || async { Ok("x".to_owned()) }).await.unwrap(), "x");
    }
}
