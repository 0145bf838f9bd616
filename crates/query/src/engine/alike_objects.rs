//! Objects that are alike: names under which they are summed, since nobody reads a row for each of a thousand connections.
//!
//! Of one kind and name without its number; of connections their one known end counts, of pipes the place where they were first
//! waited on, and page faults are alike in all files.

use dwell_model::{ObjectId, ObjectType};
use dwell_view::Word;

use crate::engine::fold::Fold;

/// Begins the name of several alike objects that have no plural.
const TIMES: &str = "× ";

/// What several alike objects are called, after their number: `connections to TCP 10.0.0.1:80`, `× Mutex 0x1a2b3c4d`.
pub fn alike_name(fold: &Fold<'_>, object: ObjectId) -> String {
    let place = || {
        let first = object.get().and_then(|row| fold.trace.objects.first_stack.get(row)).copied();
        first.and_then(|stack| fold.sums.stacks.place(stack))
    };
    plural(fold.object_type(object), without_count(fold.object_name(object)), place)
}

/// The name with how many they are: `47 connections to TCP 10.0.0.1:80`, `3 × Mutex 0x1a2b3c4d`.
pub fn counted(objects: usize, alike: &str) -> String {
    format!("{} {alike}", Word::from(objects))
}

/// The name without how many they are.
pub fn uncounted(alike: &str) -> &str {
    alike.strip_prefix(TIMES).unwrap_or(alike)
}

/// How several alike objects are called where `name`, without its number, is one of them.
fn plural(kind: ObjectType, name: &str, place: impl FnOnce() -> Option<String>) -> String {
    let of_process = |name: &str| !["in ", "0x", "join"].iter().any(|start| name.starts_with(start));
    match kind {
        ObjectType::PageFault => return "files with page faults".into(),
        ObjectType::Stream if name == "pipe" || name.starts_with("pipe ") => {
            return place().map_or_else(|| "pipes".into(), |place| format!("pipes in {place}"));
        }
        ObjectType::ThreadJoin => {
            if let Some(thread) = name.strip_prefix("Thread ").filter(|name| of_process(name)) {
                return format!("threads {thread}");
            }
        }
        ObjectType::ChildProcess => {
            if let Some(child) = name.strip_prefix("Child process ").filter(|name| of_process(name)) {
                return format!("child processes {child}");
            }
        }
        _ => {}
    }
    connections(name).unwrap_or_else(|| format!("{TIMES}{name}"))
}

/// Of a connection of which one end had any port: the other end.
fn connections(name: &str) -> Option<String> {
    let (protocol, ends) = name.split_once(' ').filter(|(protocol, _)| matches!(*protocol, "TCP" | "UDP" | "Unix"))?;
    let (from, to) = ends.split_once(" -> ")?;
    match (from.ends_with(":*"), to.ends_with(":*")) {
        (true, false) => Some(format!("connections to {protocol} {to}")),
        (false, true) => Some(format!("connections at {protocol} {from}")),
        _ => None,
    }
}

/// The name of an object without the number that tells it from others of its name.
pub fn without_count(name: &str) -> &str {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    name.rsplit_once(" #").filter(|(_, number)| is_number(number)).map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_objects_are_called_by_what_they_have_in_common() {
        let called = |kind, name| plural(kind, without_count(name), || Some("run (a.sh:3)".into()));
        assert_eq!(called(ObjectType::Socket, "TCP 127.0.0.1:* -> 127.0.0.1:80 #7"), "connections to TCP 127.0.0.1:80");
        assert_eq!(called(ObjectType::Socket, "TCP 127.0.0.1:80 -> 10.0.0.1:*"), "connections at TCP 127.0.0.1:80");
        assert_eq!(called(ObjectType::Socket, "TCP 127.0.0.1:80 -> 10.0.0.1:9"), "× TCP 127.0.0.1:80 -> 10.0.0.1:9");
        assert_eq!(called(ObjectType::Stream, "pipe 0x14775b5f #90"), "pipes in run (a.sh:3)");
        assert_eq!(called(ObjectType::ThreadJoin, "Thread conv #12257"), "threads conv");
        assert_eq!(called(ObjectType::ThreadJoin, "Thread join 0x0dde7580"), "× Thread join 0x0dde7580");
        assert_eq!(called(ObjectType::ChildProcess, "Child process cc1 #2"), "child processes cc1");
        assert_eq!(called(ObjectType::ChildProcess, "Child processes of make"), "× Child processes of make");
        assert_eq!(called(ObjectType::PageFault, "/usr/lib/libc.so.6 #2"), "files with page faults");
        assert_eq!(called(ObjectType::Mutex, "Mutex 0x1a2b3c4d #3"), "× Mutex 0x1a2b3c4d");
        assert_eq!(called(ObjectType::Mutex, "queue #x"), "× queue #x");
    }
}
