//! Pools of connections and the like: a thread that takes from one which is used up waits until another thread gives back what it
//! has. Nothing holds such a pool, and each library makes it of another queue or condition; its functions tell.

/// Frames from the leaf in which a pool's function is: an interpreter has several for each of a script's.
const DEPTH: usize = 48;

/// What is in the name of a pool's type …
const POOL: &str = "pool";
/// … unless it has threads, or memory.
const OTHER_POOLS: &[&str] = &[
    "thread", "worker", "executor", "forkjoin", "process", "task", "job", "fiber", "memory", "buffer", "constant",
    "string",
];
/// What it is that pools of connections and the like give out, besides those that are called `Pool` only: from others with the same
/// functions threads take work.
const GIVEN_OUT: &[&str] =
    &["conn", "queuepool", "object", "resource", "session", "client", "socket", "channel", "db", "database"];
/// What functions are called that take something from these …
const TAKE: &[&str] = &["get", "do_get", "get_timeout", "getresource", "getpoolentryblocking", "connect", "take"];
/// … or how they begin from any.
const TAKE_BEGIN: &[&str] = &["borrow", "checkout", "check_out", "acquire", "lease", "getconn", "get_conn"];

/// The outermost function by which a thread with these `functions`, leaf first, takes something from a pool.
pub fn taken_from<'a>(functions: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    functions.take(DEPTH).filter(|function| takes_from_pool(function)).last()
}

fn takes_from_pool(function: &str) -> bool {
    let name = without_generics(function);
    let mut parts = name.rsplit(['.', ':', '#']).filter(|part| !part.is_empty() && !part.starts_with('{'));
    let (Some(method), Some(class)) = (parts.next(), parts.next()) else { return false };
    let (method, lower) = (method.trim_start_matches('_').to_lowercase(), class.to_lowercase());
    is_called_pool(class)
        && !OTHER_POOLS.iter().any(|other| lower.contains(other))
        && ((TAKE.contains(&method.as_str()) && gives_out(&lower))
            || TAKE_BEGIN.iter().any(|begin| method.starts_with(begin)))
}

/// Whether the word is in the name: `HikariPool`, `conn_pool`, `Pool`, but not `PrintSpool`.
fn is_called_pool(class: &str) -> bool {
    class.contains("Pool") || class.split('_').any(|word| word == POOL)
}

fn gives_out(class: &str) -> bool {
    class == POOL || GIVEN_OUT.iter().any(|what| class.contains(what))
}

/// `r2d2::Pool::get` of `r2d2::Pool<M>::get(…)`.
fn without_generics(function: &str) -> String {
    let mut depth = 0;
    let mut kept = String::with_capacity(function.len());
    for letter in function.split('(').next().unwrap_or_default().chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_known_by_what_takes_from_it() {
        for (stack, name) in [
            ("Condition.wait Queue.get QueuePool._do_get Pool.connect Engine.connect", Some("Pool.connect")),
            (
                "parking_lot::condvar::Condvar::wait_until r2d2::Pool<M>::get_timeout r2d2::Pool<M>::get r2::page",
                Some("r2d2::Pool<M>::get"),
            ),
            (
                "com.zaxxer.hikari.util.ConcurrentBag.borrow com.zaxxer.hikari.pool.HikariPool.getConnection Hk.show",
                Some("com.zaxxer.hikari.pool.HikariPool.getConnection"),
            ),
            (
                "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject Db.export",
                Some("org.apache.commons.pool2.impl.GenericObjectPool.borrowObject"),
            ),
            ("shop::ConnectionPool::acquire(int) main", Some("shop::ConnectionPool::acquire(int)")),
            ("java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.ThreadPoolExecutor.getTask", None),
            ("scheduled_thread_pool::Worker::get_job scheduled_thread_pool::Worker::run", None),
            ("Queue.get Pool._handle_tasks", None),
            ("java.util.concurrent.ForkJoinPool.awaitWork java.util.concurrent.ForkJoinPool.runWorker", None),
            ("Condition.wait CarPool.get assemble", None),
            ("Condition.wait PrintSpool.take printer", None),
            ("get main", None),
            ("", None),
        ] {
            assert_eq!(taken_from(stack.split(' ')), name, "{stack}");
        }
    }
}
