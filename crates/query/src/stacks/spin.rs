//! Spin and Overhead: CPU time in functions of threading runtimes, by one table of patterns per runtime.
//!
//! A stack is looked at from its leaf to the program's own innermost function, that included: what a runtime or the
//! kernel does on behalf of `pthread_create` is overhead of creation. The first pattern that matches decides.

use dwell_model::StackId;
use dwell_store::WordMap;
use dwell_view::glob;

use crate::measure::cpu_kind::{CpuKind, OverheadKind, SpinKind};
use crate::stacks::call_stacks::CallStacks;

/// One runtime's functions; `*` stands for any characters.
struct Pattern {
    /// What the time is.
    kind: CpuKind,
    /// Names, demangled.
    functions: &'static [&'static str],
}

const fn spin(kind: SpinKind, functions: &'static [&'static str]) -> Pattern {
    Pattern { kind: CpuKind::Spin(kind), functions }
}

const fn overhead(kind: OverheadKind, functions: &'static [&'static str]) -> Pattern {
    Pattern { kind: CpuKind::Overhead(kind), functions }
}

/// The table, runtime by runtime.
const PATTERNS: &[Pattern] = &[
    // pthreads and the C library.
    spin(SpinKind::Lock, &["pthread_spin_lock", "__pthread_spin_lock", "pthread_spin_trylock"]),
    spin(SpinKind::Other, &["sched_yield", "__sched_yield", "pthread_yield", "__x64_sys_sched_yield"]),
    overhead(
        OverheadKind::Creation,
        &["pthread_create*", "__pthread_create*", "clone3", "__clone3*", "__clone*", "create_thread"],
    ),
    overhead(
        OverheadKind::Atomics,
        &[
            "pthread_mutex_*lock",
            "__pthread_mutex_*lock*",
            "___pthread_mutex_*lock*",
            "pthread_rwlock_*lock",
            "__pthread_rwlock_*lock*",
            "___pthread_rwlock_*lock*",
            "__lll_lock_wake*",
        ],
    ),
    overhead(
        OverheadKind::Scheduling,
        &[
            "__lll_lock_wait*",
            "pthread_cond_*",
            "__pthread_cond_*",
            "___pthread_cond_*",
            "pthread_barrier_wait",
            "__pthread_barrier_wait",
            "sem_wait",
            "sem_post",
            "__new_sem_wait*",
            "__new_sem_post",
            "__futex_abstimed_wait*",
            "__GI___futex_abstimed_wait*",
            "futex_wake",
        ],
    ),
    // oneTBB.
    spin(
        SpinKind::Imbalance,
        &[
            "tbb::detail::r1::*receive_or_steal_task*",
            "tbb::detail::r1::*waiter*::pause*",
            "tbb::detail::r1::*stealing_loop_backoff*",
        ],
    ),
    spin(
        SpinKind::Lock,
        &[
            "tbb::*spin_mutex*::lock*",
            "tbb::*spin_rw_mutex*::lock*",
            "tbb::detail::d0::atomic_backoff::pause*",
            "tbb::detail::d0::machine_pause*",
            "tbb::*queuing_mutex*::acquire*",
        ],
    ),
    overhead(
        OverheadKind::Creation,
        &["tbb::detail::r1::spawn*", "tbb::detail::r1::allocate*", "tbb::detail::r1::create_coroutine*"],
    ),
    overhead(OverheadKind::Reduction, &["tbb::*fold_tree*", "tbb::*reduction_tree_node*"]),
    overhead(OverheadKind::Scheduling, &["tbb::detail::r1::*"]),
    // Redis: its I/O threads, and the main thread that waits for them.
    spin(
        SpinKind::Other,
        &["IOThreadMain", "handleClientsWithPendingWritesUsingThreads", "handleClientsWithPendingReadsUsingThreads"],
    ),
    // GCC's OpenMP.
    spin(
        SpinKind::Imbalance,
        &[
            "gomp_team_barrier_wait*",
            "gomp_barrier_wait*",
            "do_spin",
            "do_wait",
            "gomp_simple_barrier_wait*",
            "gomp_thread_start",
            "gomp_team_end",
            // Distributions and Python's wheels leave out the names of its own functions. It does no work but to wait.
            "[libgomp*]func@*",
        ],
    ),
    spin(
        SpinKind::Lock,
        &["gomp_mutex_lock_slow", "GOMP_critical_start", "GOMP_critical_name_start", "omp_set_lock", "gomp_set_lock*"],
    ),
    overhead(OverheadKind::Creation, &["gomp_team_start", "gomp_new_team", "GOMP_task"]),
    overhead(OverheadKind::Atomics, &["GOMP_atomic_*"]),
    overhead(OverheadKind::Scheduling, &["GOMP_*", "gomp_*"]),
    // LLVM's and Intel's OpenMP.
    spin(
        SpinKind::Imbalance,
        &[
            "__kmp_*barrier*",
            "__kmp_wait_*",
            "__kmp_hyper_barrier*",
            "__kmp_flag_*wait*",
            "__kmp_join_barrier*",
            "__kmp_fork_barrier*",
            "__kmp_execute_tasks_*",
        ],
    ),
    spin(SpinKind::Lock, &["__kmp_acquire_*lock*", "__kmpc_critical*", "__kmpc_set_lock*", "__kmp_lock_*"]),
    overhead(
        OverheadKind::Creation,
        &["__kmp_fork_call", "__kmp_create_worker*", "__kmp_allocate_team*", "__kmp_task_alloc*", "__kmpc_omp_task*"],
    ),
    overhead(OverheadKind::Reduction, &["__kmpc_reduce*", "__kmpc_end_reduce*"]),
    overhead(OverheadKind::Atomics, &["__kmpc_atomic_*"]),
    overhead(OverheadKind::Scheduling, &["__kmp_*", "__kmpc_*"]),
    // MPI: who waits for another rank polls the network (Open MPI, MPICH, UCX, PSM).
    spin(
        SpinKind::Imbalance,
        &[
            "opal_progress*",
            "ompi_request_*wait*",
            "ompi_sync_wait*",
            "MPIDI*_Progress*",
            "MPIDI_*_progress*",
            "MPID_Progress*",
            "MPIR_Wait*",
            "ucp_worker_progress*",
            "uct_iface_progress*",
            "psm2_mq_ipeek*",
            "fi_cq_read*",
        ],
    ),
    // Rust.
    spin(
        SpinKind::Other,
        &[
            "core::hint::spin_loop",
            "std::hint::spin_loop",
            "core::sync::atomic::spin_loop_hint",
            "*crossbeam_utils::backoff::Backoff::s*",
            "std::thread::yield_now",
        ],
    ),
    spin(
        SpinKind::Lock,
        &[
            "spin::*::lock*",
            "std::sys::*futex::Mutex::spin",
            "std::sys::*futex::RwLock::spin_*",
            "parking_lot_core::spinwait::SpinWait::spin*",
        ],
    ),
    spin(SpinKind::Imbalance, &["rayon_core::*wait_until_cold*", "rayon_core::*find_work*"]),
    overhead(OverheadKind::Creation, &["std::thread::Builder::spawn*", "std::thread::spawn*", "tokio::task::spawn*"]),
    overhead(
        OverheadKind::Scheduling,
        &["rayon_core::sleep::*", "parking_lot_core::parking_lot::*", "std::sys::*futex::Mutex::lock_contended"],
    ),
    // Go.
    spin(SpinKind::Imbalance, &["runtime.findRunnable", "runtime.findrunnable", "runtime.stealWork"]),
    spin(SpinKind::Lock, &["runtime.procyield*", "runtime.osyield*", "runtime.lock2", "sync.runtime_doSpin"]),
    overhead(OverheadKind::Atomics, &["sync.(*Mutex).*", "sync.(*RWMutex).*", "internal/sync.(*Mutex).*"]),
    overhead(OverheadKind::Creation, &["runtime.newproc*", "runtime.malg", "runtime.newm*"]),
    overhead(
        OverheadKind::Scheduling,
        &[
            "runtime.schedule",
            "runtime.gopark",
            "runtime.goready*",
            "runtime.futex*",
            "runtime.startm",
            "runtime.wakep",
            "runtime.park_m",
            "runtime.mcall",
        ],
    ),
    // The JVM.
    spin(SpinKind::Lock, &["ObjectMonitor::TrySpin*", "ObjectMonitor::try_spin*", "SpinPause", "Monitor::TrySpin"]),
    spin(SpinKind::Imbalance, &["TaskTerminator::*", "ParallelTaskTerminator::*"]),
    overhead(OverheadKind::Scheduling, &["ObjectMonitor::*", "ObjectSynchronizer::*", "Parker::*"]),
    overhead(OverheadKind::Other, &["SafepointSynchronize::*", "SafepointMechanism::*", "ThreadSafepointState::*"]),
    // Locks that programs write themselves. Last: by name only.
    spin(
        SpinKind::Lock,
        &[
            "*spin_lock",
            "*spinlock*::lock*",
            "*SpinLock*::lock*",
            "*SpinLock*::Lock*",
            "*Spinlock*::lock*",
            "*spin_mutex*::lock*",
            "spinlock_acquire",
            "s_lock",
        ],
    ),
    spin(SpinKind::Other, &["cpu_relax", "*spin_wait*", "*SpinWait*", "*busy_wait*", "_mm_pause"]),
];

/// Frames looked at, at most: a runtime's own depth.
const DEPTH: usize = 24;

/// What the function `name` of a runtime does.
fn matching(name: &str) -> Option<CpuKind> {
    let matches = |pattern: &&Pattern| pattern.functions.iter().any(|function| glob(function, name));
    PATTERNS.iter().find(matches).map(|pattern| pattern.kind)
}

/// The kinds of CPU time, looked up once per stack.
#[derive(Default)]
pub struct CpuKinds {
    memo: WordMap<StackId, CpuKind>,
    functions: WordMap<u32, Option<CpuKind>>,
}

impl CpuKinds {
    /// What CPU time at `stack` is.
    pub fn of(&mut self, stacks: &CallStacks<'_>, stack: StackId) -> CpuKind {
        if let Some(kind) = self.memo.get(&stack) {
            return *kind;
        }
        let kind = self.judge(stacks, stack);
        self.memo.insert(stack, kind);
        kind
    }

    fn judge(&mut self, stacks: &CallStacks<'_>, stack: StackId) -> CpuKind {
        for place in stacks.whole_chain(stack).take(DEPTH) {
            let is_system = stacks.is_system(place);
            // The kernel spins and schedules for its own reasons: only what the program called counts.
            if !stacks.is_kernel(place) {
                let function = stacks.function(place);
                let lookup = || matching(stacks.function_name(function));
                if let Some(kind) = self.functions.entry(function).or_insert_with(lookup) {
                    return *kind;
                }
            }
            if !is_system {
                break;
            }
        }
        CpuKind::Effective
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_apart() {
        assert_eq!(matching("pthread_spin_lock"), Some(CpuKind::Spin(SpinKind::Lock)));
        assert_eq!(matching("gomp_team_barrier_wait_end"), Some(CpuKind::Spin(SpinKind::Imbalance)));
        assert_eq!(matching("[libgomp.so.1.0.0]func@0x1e2d0"), Some(CpuKind::Spin(SpinKind::Imbalance)));
        assert_eq!(matching("[libgomp-a34b3233.so.1]func@0x1e2d0"), Some(CpuKind::Spin(SpinKind::Imbalance)));
        assert_eq!(matching("[libfoo.so.1]func@0x1e2d0"), None);
        assert_eq!(matching("GOMP_parallel"), Some(CpuKind::Overhead(OverheadKind::Scheduling)));
        assert_eq!(matching("__kmpc_reduce_nowait"), Some(CpuKind::Overhead(OverheadKind::Reduction)));
        assert_eq!(matching("__pthread_create_2_1"), Some(CpuKind::Overhead(OverheadKind::Creation)));
        assert_eq!(matching("ns::SpinLock::lock()"), Some(CpuKind::Spin(SpinKind::Lock)));
    }

    #[test]
    fn work_is_no_spinning() {
        for name in ["main", "compute", "lock_free_push", "unlock", "spinning_wheel", "render_spin"] {
            assert_eq!(matching(name), None, "{name}");
        }
    }
}
