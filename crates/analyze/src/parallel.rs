//! Work on all CPUs.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Workers at most: a machine that looks at results has other work too.
const WORKERS: usize = 8;

/// How many work side by side.
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS)
}

/// What `make` makes of each number below `count`, in order.
pub fn map<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let workers = workers().min(count);
    if workers <= 1 {
        return (0..count).map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return made;
            }
            made.push((number, make(number)));
        }
    };
    let mut made: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        // A worker that panicked has told so; its part would be missing.
        others
            .into_iter()
            .for_each(|worker| made.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        made
    });
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_stays_in_order() {
        assert_eq!(map(1000, |number| number * 2), (0..1000).map(|number| number * 2).collect::<Vec<_>>());
        assert!(map(0, |number| number).is_empty());
    }
}
