//! Work on all CPUs.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stop;

/// Workers at most: a machine that looks at results has other work too.
const WORKERS: usize = 8;

/// How many work side by side.
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS)
}

/// What `make` makes of each number below `count`, in order.
pub fn map<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let parts = fold(count, Vec::new, |made: &mut Vec<(usize, T)>, number| made.push((number, make(number))));
    let mut made: Vec<(usize, T)> = parts.into_iter().flatten().collect();
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, made)| made).collect()
}

/// Every number below `count` is added to what one of the workers began with `new`; what each has in the end. Who is
/// stopped leaves before the next number.
pub fn fold<T: Send>(count: usize, new: impl Fn() -> T + Sync, add: impl Fn(&mut T, usize) + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return made;
            }
            stop::check();
            add(&mut made, number);
        }
    };
    std::thread::scope(|scope| {
        // Where no thread can be made, those that are there do the work.
        let stop = stop::current();
        let spawn = |_| {
            let stop = stop.clone();
            std::thread::Builder::new().spawn_scoped(scope, move || stop::within(stop, work)).ok()
        };
        let others: Vec<_> = (1..workers().min(count)).filter_map(spawn).collect();
        let ours = work();
        // A worker that panicked has told so; without its part the whole would be wrong.
        let join = |worker: std::thread::ScopedJoinHandle<'_, T>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(ours).chain(others.into_iter().map(join)).collect()
    })
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
