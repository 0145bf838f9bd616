//! Functions that sleep until they have a lock, known by their names.

use dwell_model::StackId;
use dwell_query::stacks::frames::{frame_rows, functions, module_path};
use dwell_query::stacks::name_words::{has_word, without_template_arguments};
use dwell_query::stacks::stack_questions::{StackQuestion, answer};
use dwell_store::Trace;

/// Words of functions that sleep until they have a lock: SQLite's busy handler, locks in Redis and in files.
const LOCK_WORDS: &[&str] = &["lock", "mutex", "busy"];

/// Frames at the leaf in which the function is that sleeps.
const DEPTH: usize = 12;

/// Whether a wait is a look whether a lock is free, by its stack: a function that takes one is near its leaf. SQLite's library sleeps for its locks only.
pub fn is_look_for_lock(trace: &Trace, stack: StackId) -> bool {
    let is_sqlite =
        |frame: usize| module_path(trace, frame).rsplit('/').next().is_some_and(|it| it.starts_with(SQLITE));
    functions(trace, stack).take(DEPTH).any(takes_lock) || frame_rows(trace, stack).take(DEPTH).any(is_sqlite)
}

/// How the file of SQLite's library begins; its functions may have no names.
const SQLITE: &str = "libsqlite3";

/// Whether a function's name says that it takes a lock: `Lock.acquire`, `sqlite3InvokeBusyHandler`.
pub fn takes_lock(name: &str) -> bool {
    let end = name.find('(').unwrap_or(name.len());
    has_word(&without_template_arguments(&name[..end]), LOCK_WORDS)
}

/// Whether a wait is for a lock that a library makes of other things, by its stack: the function is called so near its leaf, as
/// `ReaderWriterLock._acquire_read_lock` is.
pub fn waits_for_lock(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::WaitsForLock, || functions(trace, stack).take(DEPTH).any(is_lock_method))
}

/// In names of functions by which CPython parks threads and processes, whatever they wait for (Python/thread_pthread.h, multiprocessing's
/// semaphore.c).
const CPYTHON_PARKS: &[&str] = &["PyThread", "SemLock"];

fn is_lock_method(name: &str) -> bool {
    let name = without_template_arguments(&name[..name.find('(').unwrap_or(name.len())]);
    let method = name.rsplit(['.', ':']).next().unwrap_or_default();
    let parks = CPYTHON_PARKS.iter().any(|part| method.contains(part));
    has_word(method, &["lock"]) && !has_word(method, &["wait", "unlock"]) && !parks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_take_a_lock_are_called_so() {
        for name in ["ReaderWriterLock._acquire_read_lock", "ReentrantLock.lock", "folly::SharedMutex::lock_shared()"] {
            assert!(is_lock_method(name), "{name}");
        }
        for name in [
            "LockSupport.park",
            "lock_PyThread_acquire_lock",
            "_multiprocessing_SemLock_acquire",
            "BlockingQueue.take",
            "Lock.wait_for_lock",
            "std::condition_variable::wait(lock&)",
            "unlock",
        ] {
            assert!(!is_lock_method(name), "{name}");
        }
    }

    #[test]
    fn names_of_functions_that_take_locks_have_the_word() {
        for name in [
            "Lock.acquire",
            "FileLock._acquire",
            "sqlite3InvokeBusyHandler",
            "redlock::acquire_lock(int)",
            "BusyTimeout",
        ] {
            assert!(takes_lock(name), "{name}");
        }
        for name in [
            "clock_nanosleep",
            "__clock_nanosleep",
            "BlockingQueue.take",
            "unlock",
            "RateLimiter.acquire",
            "base_sink<std::mutex>::log",
            "",
        ] {
            assert!(!takes_lock(name), "{name}");
        }
    }
}
