//! What a thread or fiber that waits at a channel or queue does there.

use dwell_model::StackId;
use dwell_store::Trace;

use crate::stacks::frames::functions;
use crate::stacks::stack_questions::{StackQuestion, answer};

/// Frames at the leaf in which the runtime's function is.
const DEPTH: usize = 8;

/// Frames at the leaf in which a queue's function is.
const QUEUE_DEPTH: usize = 16;
/// What functions of queues are called that hand something over …
#[rustfmt::skip]
const GIVES: &[&str] = &[
    "put", "send", "push", "push_back", "offer", "enqueue", "emplace", "blocking_send", "blockingWrite",
];
/// … and that take it.
#[rustfmt::skip]
const TAKES: &[&str] = &[
    "get", "recv", "receive", "pop", "pop_front", "poll", "take", "dequeue", "blocking_recv", "blockingRead", "next", "accept", "run",
];

/// The function by which a thread of D sends to a mailbox that is full (std/concurrency.d), mangled.
const D_MAILBOX_PUT: &str = "_D3std11concurrency10MessageBox3put";

/// Whether a stack is one of a thread that hands something over to a queue, by the innermost function that says either.
pub fn hands_to_queue(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::HandsToQueue, || {
        let is_mailbox = |function: &str| function.starts_with(D_MAILBOX_PUT);
        if functions(trace, stack).take(QUEUE_DEPTH).any(is_mailbox) {
            return true;
        }
        let verbs = functions(trace, stack).take(QUEUE_DEPTH).map(method);
        verbs.filter(|verb| GIVES.contains(verb) || TAKES.contains(verb)).map(|verb| GIVES.contains(&verb)).next()
            == Some(true)
            && !awaits_result(trace, stack)
    })
}

/// Whether a stack is one of a thread that takes what others hand over to a queue. A pool that keeps its connections in a queue
/// is none: SQLAlchemy's does.
pub fn receives_from_queue(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::ReceivesFromQueue, || {
        let calls = || functions(trace, stack).take(QUEUE_DEPTH);
        let of_queue =
            |function: &str| function.to_ascii_lowercase().contains("queue") && TAKES.contains(&method(function));
        calls().any(of_queue) && !calls().any(|function| function.to_ascii_lowercase().contains("pool"))
    })
}

/// What functions of clients are called that wait for the next message of a broker, within a time or for ever.
#[rustfmt::skip]
const CONSUMES: &[&str] = &[
    "blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzpopmin", "bzpopmax", "xread", "xreadgroup", "get_message",
    "dequeue", "reserve", "receive_message", "basic_consume", "start_consuming",
];
/// Frames at the leaf in which such a function is.
const CLIENT_DEPTH: usize = 48;

/// How functions begin that wait for a result, though it comes as a message: Celery's.
const AWAITS: &str = "AsyncResult.";

/// Whether a stack is one of a thread that waits for a broker's next message.
pub fn consumes_messages(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::ConsumesMessages, || {
        let calls = || functions(trace, stack).take(CLIENT_DEPTH);
        calls().any(|function| CONSUMES.contains(&method(function)))
            && !calls().any(|function| function.starts_with(AWAITS))
    })
}

/// What functions are called that take the next message of a mailbox.
const TAKES_MESSAGE: &[&str] = &["recv", "receive", "pop", "pop_front", "take", "dequeue", "next_message"];

/// Whether a stack is one of a thread that takes a message. Queues of Java do not count: pools are made of them, too.
pub fn takes_message(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::TakesMessage, || {
        functions(trace, stack)
            .take(QUEUE_DEPTH)
            .any(|function| TAKES_MESSAGE.contains(&method(function)) && !function.starts_with("java."))
    })
}

/// Functions that wait for the result of what their caller had others do: futures, promises, latches that these count down.
#[rustfmt::skip]
const AWAITS_RESULT: &[&str] = &[
    "std::__basic_future<", "std::future<", "std::shared_future<", "std::__future_base::_State_base", "folly::Future<", "boost::future<",
    "java.util.concurrent.FutureTask.get", "java.util.concurrent.FutureTask.awaitDone", "java.util.concurrent.CountDownLatch.await",
    "java.util.concurrent.CompletableFuture.get", "java.util.concurrent.CompletableFuture.join", "java.util.concurrent.CompletableFuture.waitingGet",
    "java.util.concurrent.CompletableFuture.timedGet", "java.util.concurrent.ForkJoinTask.get",
    "java.util.concurrent.ForkJoinTask.join", "java.util.concurrent.ForkJoinTask.invoke", "java.util.concurrent.AbstractExecutorService.invokeAll",
    "com.google.common.util.concurrent.AbstractFuture.get", "io.netty.util.concurrent.DefaultPromise.await",
    "Future.result", 
    "ApplyResult.get", "ApplyResult.wait",
    "once_cell::imp::wait", "once_cell::imp::initialize_or_wait", "std::sys::sync::once::", "<std::sys::sync::once::",
    // A call of an Ada task's entry (GNAT's s-taenca.adb).
    "system__tasking__entry_calls__wait_for_completion",
    "tokio::sync::oneshot::Receiver<", "oneshot::Receiver<", "reqwest::blocking::wait::timeout",
];

/// Whether a stack is one of a thread that waits for a result.
pub fn awaits_result(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::AwaitsResult, || functions(trace, stack).take(QUEUE_DEPTH).any(is_for_result))
}

/// Functions of pools that run a task.
#[rustfmt::skip]
const RUNS_POOL_TASK: &[&str] = &[
    "java.util.concurrent.ThreadPoolExecutor.runWorker", "java.util.concurrent.ForkJoinWorkerThread.run",
    "java.util.concurrent.ForkJoinPool.runWorker", "_WorkItem.run",
];

/// Whether a stack is one of a thread that runs a task of a pool.
pub fn runs_pool_task(trace: &Trace, stack: StackId) -> bool {
    functions(trace, stack).any(|function| RUNS_POOL_TASK.iter().any(|name| function.starts_with(name)))
}

fn is_for_result(function: &str) -> bool {
    AWAITS_RESULT.iter().any(|name| function.starts_with(name)) || is_synchronous(function)
}

/// Whether a stack is one of a call of GLib's that waits for its answer, in a loop of its own: `g_dbus_connection_call_sync`.
pub fn calls_synchronously(trace: &Trace, stack: StackId) -> bool {
    answer(trace, stack, StackQuestion::CallsSynchronously, || {
        functions(trace, stack).take(QUEUE_DEPTH).any(is_synchronous)
    })
}

fn is_synchronous(function: &str) -> bool {
    function.starts_with("g_") && function.ends_with("_sync")
}

/// The last part of a function's name: `put` of `Queue.put`, `send` of `std::sync::mpsc::SyncSender<T>::send`.
fn method(function: &str) -> &str {
    let end = function.find('(').unwrap_or(function.len());
    let name = function[..end].rsplit(['.', ':']).next().unwrap_or_default();
    name.split('<').next().unwrap_or_default()
}

/// Whether a stack is one of a fiber that sends to one channel: whoever has something to hand over is held up.
pub fn sends(trace: &Trace, stack: StackId) -> bool {
    is_in(trace, stack, "runtime.chansend")
}

/// Whether a stack is one of a fiber that receives from one channel.
pub fn receives(trace: &Trace, stack: StackId) -> bool {
    is_in(trace, stack, "runtime.chanrecv")
}

fn is_in(trace: &Trace, stack: StackId, prefix: &str) -> bool {
    functions(trace, stack).take(DEPTH).any(|function| function.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futures_and_latches_are_waited_for() {
        for function in [
            "std::future<int>::get()",
            "java.util.concurrent.FutureTask.get",
            "Future.result",
            "reqwest::blocking::wait::timeout",
            "once_cell::imp::wait",
            "<std::sys::sync::once::futex::Once>::call",
        ] {
            assert!(is_for_result(function), "{function}");
        }
        for function in ["java.util.concurrent.FutureTask.run", "Future.set_result", "std::promise<int>::set_value"] {
            assert!(!is_for_result(function), "{function}");
        }
    }

    #[test]
    fn methods_are_the_last_parts_of_names() {
        for (function, name) in [
            ("Queue.put", "put"),
            ("java.util.concurrent.ArrayBlockingQueue.put", "put"),
            ("std::sync::mpsc::SyncSender<T>::send", "send"),
            ("<crossbeam_channel::channel::Sender<T>>::send", "send"),
            ("jobs::Queue<jobs::Job>::push(jobs::Job const&)", "push"),
            ("push", "push"),
            ("", ""),
        ] {
            assert_eq!(method(function), name, "{function}");
        }
    }
}
