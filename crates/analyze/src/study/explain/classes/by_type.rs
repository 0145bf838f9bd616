//! What waits are for by the type of their object, and by what the functions that wait are called.

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::channels::{awaits_result, runs_pool_task, sends};
use dwell_query::stacks::java_locks::takes_java_lock;
use dwell_query::stacks::object::object_type;
use dwell_store::EventKey;

use super::Classes;
use super::watchers::only_watches;
use crate::study::explain::bare_stacks::is_bare;
use crate::study::explain::go_requests::is_select_of_package;
use crate::study::explain::idle_mates::is_broken_off;
use crate::study::explain::terms::{
    WaitClass, is_connection_pool, is_full_pipe, is_needed, is_new_connection, is_safepoint, parks_threads,
};
use crate::study::explain::wait_ends::waited_for;
use crate::study::explain::waiting_calls::{SIGNALS, calls_one_of};

/// How descriptors are called from which signals are read: whoever reads one is told of them, and is not stopped.
const SIGNAL_DESCRIPTOR: &str = "signalfd";

/// How the kernel calls the threads that it keeps for io_uring (`io_uring/io-wq.c`, `io_uring/sqpoll.c`).
const IO_URING_THREADS: &[&str] = &["iou-wrk-", "iou-sqp-"];

impl Classes<'_, '_> {
    fn is_of_io_uring(&self, key: &EventKey) -> bool {
        let name = key.thread().get().and_then(|thread| self.trace.threads.name.get(thread));
        name.is_some_and(|name| IO_URING_THREADS.iter().any(|prefix| name.starts_with(prefix)))
    }

    /// The class of waits of a key, as far as what they are for tells.
    pub(super) fn by_type(&self, key: &EventKey, is_idle: bool) -> Option<WaitClass> {
        use WaitClass::{Demand, Idle, Own, Structure};
        let (kind, name) = (object_type(self.trace, key.object()), waited_for(self.trace, key));
        let outcome = Outcome::from_code(key.outcome());
        let is_unfinished = outcome == Outcome::Unfinished;
        let is_broken_off = is_broken_off(self.trace, outcome);
        let has_idle_mate = || is_broken_off && self.idle_mates.has_one(key.thread().get().unwrap_or(usize::MAX), key);
        Some(match kind {
            // Threads that the kernel keeps for io_uring wait for what the program submits.
            ObjectType::Unknown | ObjectType::IoUring if self.is_of_io_uring(key) => Idle,
            ObjectType::Sleep | ObjectType::Timer => {
                if is_idle {
                    Idle
                } else {
                    Own
                }
            }
            ObjectType::ThreadJoin | ObjectType::ChildProcess => Structure,
            ObjectType::Signal => {
                if calls_one_of(key, SIGNALS) || name.starts_with(SIGNAL_DESCRIPTOR) {
                    Idle
                } else {
                    Demand
                }
            }
            ObjectType::Channel if sends(self.trace, key.stack()) => Demand,
            ObjectType::Channel if self.answers_requests(key) && is_select_of_package(self.trace, key) => Demand,
            ObjectType::Stream if is_full_pipe(name) => Demand,
            ObjectType::Semaphore if is_connection_pool(name) || is_new_connection(name) => Demand,
            ObjectType::JvmMonitor if takes_java_lock(self.trace, key.stack()) => Demand,
            ObjectType::WaitGroup | ObjectType::Mutex if only_watches(self.trace, key) => Idle,
            // At its end a JVM stops its threads, and lets none of them go on.
            _ if is_unfinished && is_safepoint(name) && self.trace.manifest.exit_status.is_some() => Structure,
            // OpenMP's threads wait at a barrier for the next region, of which a program that ended had none.
            ObjectType::OpenMpBarrier if is_broken_off && self.trace.manifest.exit_status == Some(0) => Idle,
            // A pool whose threads take work by turns: one of them waits for it, and has the lock.
            ObjectType::Mutex if is_idle || has_idle_mate() => Idle,
            // The main thread may wait for ever for what a thread returns at the program's end, or for all goroutines; a pool's task has a
            // result to give.
            _ if is_unfinished && awaits_result(self.trace, key.stack()) => {
                if runs_pool_task(self.trace, key.stack()) {
                    Demand
                } else {
                    Idle
                }
            }
            // The same where the process's end, as by System.exit, breaks it off.
            _ if outcome == Outcome::Interrupted
                && awaits_result(self.trace, key.stack())
                && runs_pool_task(self.trace, key.stack()) =>
            {
                Demand
            }
            ObjectType::WaitGroup if is_unfinished && self.was_there(key) => Idle,
            kind if is_needed(kind) => Demand,
            // Whoever lacks all callers may wait for anything.
            kind if parks_threads(kind) && is_bare(self.trace, key.stack()) => Idle,
            _ => return None,
        })
    }
}
