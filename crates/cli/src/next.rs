//! What to type after a collection: the commands that lead on from what its summary says.

use dwell_model::{ObjectType, Topic};
use dwell_view::{Row, Value, View};

use crate::error::shell_word;

/// Commands that are proposed, at most.
const MOST: usize = 5;
/// Part of the elapsed time in CPU time from which it is worth while to look where threads ran.
const MUCH_RUNNING: f64 = 0.25;
/// Letters of a command line that is repeated whole.
const SHORT_COMMAND: usize = 60;
/// What threads wait for because others hold or serve it: `blame` tells who did.
const HELD_OR_SERVED: &[ObjectType] = &[
    ObjectType::Mutex,
    ObjectType::ConditionVariable,
    ObjectType::RwLock,
    ObjectType::Semaphore,
    ObjectType::Barrier,
    ObjectType::SpinLock,
    ObjectType::Once,
    ObjectType::Futex,
    ObjectType::Socket,
    ObjectType::Stream,
    ObjectType::KernelLock,
    ObjectType::Gil,
    ObjectType::JvmMonitor,
    ObjectType::GoRuntime,
    ObjectType::User,
    ObjectType::FileLock,
];

/// What was collected, and how.
pub struct Collected<'a> {
    /// What was recorded beside what threads do.
    pub topics: &'a [Topic],
    /// The program and its arguments; none where Dwell attached to it.
    pub command: &'a [String],
    /// The result as a word of a shell.
    pub result: &'a str,
}

/// The commands, the most useful first.
pub fn commands(summary: &View, collected: &Collected<'_>) -> Vec<String> {
    let summary = Summary(summary);
    let causes = summary.0.field_view("explanation").map_or(&[][..], |view| &view.rows);
    let objects = summary.waited_for();
    let mut reports = vec!["explain".to_owned()];
    let first = causes.iter().find_map(|cause| objects.iter().find(|object| summary.is_waited_for(cause, object.name)));
    reports.extend(first.map(|object| format!("blame {}", shell_word(object.name))));
    let of_topics = [(Topic::Latency, "latency"), (Topic::Sockets, "sockets")];
    reports
        .extend(of_topics.iter().filter(|(topic, _)| collected.topics.contains(topic)).map(|(_, id)| (*id).to_owned()));
    if causes.iter().any(|cause| summary.ended_by_itself(cause)) {
        reports.push("critical-path".to_owned());
    }
    if summary.0.field_ns("cpu_ns") as f64 >= MUCH_RUNNING * summary.0.field_ns("elapsed_ns") as f64 {
        reports.push("hotspots".to_owned());
    }
    let mut commands: Vec<String> =
        reports.iter().map(|report| format!("dwell report {report} {}", collected.result)).collect();
    let of_sockets = objects
        .iter()
        .any(|object| object.is_socket && causes.iter().any(|cause| summary.is_waited_for(cause, object.name)));
    let of_network = causes.iter().any(|cause| summary.text(cause, "kind") == "network");
    if (of_sockets || of_network) && !collected.topics.contains(&Topic::Sockets) {
        commands.truncate(MOST - 1);
        commands.push(with_sockets(collected));
    }
    commands.truncate(MOST);
    commands
}

/// The collection once more, with sockets.
fn with_sockets(collected: &Collected<'_>) -> String {
    let command: Vec<String> = collected.command.iter().map(|word| shell_word(word)).collect();
    let command = command.join(" ");
    let whole = !command.is_empty() && command.chars().count() <= SHORT_COMMAND;
    let topics: Vec<&str> = collected.topics.iter().chain([&Topic::Sockets]).map(|topic| topic.id()).collect();
    format!("dwell collect threading --analyze {} -- {}", topics.join(","), if whole { &command } else { "PROGRAM" })
}

/// An object that threads waited for.
struct Object<'v> {
    name: &'v str,
    is_socket: bool,
}

/// The record of the summary.
struct Summary<'v>(&'v View);

impl<'v> Summary<'v> {
    /// Of what is most waited for, what others hold or serve.
    fn waited_for(&self) -> Vec<Object<'v>> {
        let Some(view) = self.0.field_view("top_objects") else { return Vec::new() };
        let object = |row: &'v Row| {
            let (Some(Value::Text(name)), Some(Value::Text(kind))) =
                (view.value(row, "object"), view.value(row, "type"))
            else {
                return None;
            };
            let is_socket = *kind == ObjectType::Socket.id();
            let is_held = HELD_OR_SERVED.iter().any(|held| *kind == held.id());
            is_held.then_some(Object { name, is_socket })
        };
        view.rows.iter().filter_map(object).collect()
    }

    fn text(&self, cause: &'v Row, id: &str) -> &'v str {
        match self.0.field_view("explanation").and_then(|view| view.value(cause, id)) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    fn ended_by_itself(&self, cause: &Row) -> bool {
        self.0.field_view("explanation").is_some_and(|view| matches!(view.value(cause, "path_ns"), Some(Value::Ns(_))))
    }

    /// Whether a link of the cause's chain, or who is the cause, waits for the object.
    fn is_waited_for(&self, cause: &Row, object: &str) -> bool {
        let Some(view) = self.0.field_view("explanation") else { return false };
        let links = match view.value(cause, "chain") {
            Some(Value::Stack(links)) => links.as_slice(),
            _ => &[],
        };
        let labels = links.iter().filter_map(|link| link.split_once(" waited for ")).map(|(_, label)| label);
        let labels = labels.map(|label| label.rsplit_once(" at ").map_or(label, |(label, _)| label));
        let own = match view.value(cause, "waited_for") {
            Some(Value::Text(label)) => Some(label.as_str()),
            _ => None,
        };
        labels.chain(own).any(|label| is_of(label, object))
    }
}

/// Whether the label, as `mutex m` or `recv(127.0.0.1:80)`, is of the object.
fn is_of(label: &str, object: &str) -> bool {
    let before = label.strip_suffix(')').unwrap_or(label).strip_suffix(object).or(label.strip_suffix(object));
    before.is_some_and(|before| before.is_empty() || before.ends_with([' ', '(']))
}

#[cfg(test)]
mod tests {
    use dwell_view::Column;

    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    fn view(ids: &[&'static str], rows: Vec<Vec<Value>>) -> View {
        let columns = ids.iter().map(|id| Column { id, title: id, help: "", detail: false });
        let rows = rows.into_iter().map(|values| Row { depth: 0, values });
        View { columns: columns.collect(), rows: rows.collect(), ..View::default() }
    }

    /// Of a program that ran for `cpu_ns` of a second and ended by itself if `ended`, with waits for objects (name, type) and
    /// causes (kind, what was waited for).
    fn proposed(
        cpu_ns: u64,
        ended: bool,
        objects: &[(&str, &str)],
        causes: &[(&str, &str)],
        topics: &[Topic],
    ) -> Vec<String> {
        let objects = objects.iter().map(|(name, kind)| vec![text(name), text(kind)]).collect();
        let path = if ended { Value::Ns(5) } else { Value::None };
        let chain = |label: &str| Value::Stack(vec![format!("worker-N waited for {label} at push (a.c:1)")]);
        let cause = |(kind, label): &(&str, &str)| vec![text(kind), chain(label), path.clone(), Value::None];
        let causes = causes.iter().map(cause).collect();
        let objects = view(&["object", "type"], objects);
        let causes = view(&["kind", "chain", "path_ns", "waited_for"], causes);
        let values = vec![
            Value::Ns(1_000_000_000),
            Value::Ns(cpu_ns),
            Value::Rows(Box::new(objects)),
            Value::Rows(Box::new(causes)),
        ];
        let summary = view(&["elapsed_ns", "cpu_ns", "top_objects", "explanation"], vec![values]);
        let command = ["./app".to_owned(), "a b".to_owned()];
        commands(&summary, &Collected { topics, command: &command, result: "r000th" })
    }

    #[test]
    fn the_object_is_the_first_causes_and_no_sleep() {
        let objects =
            [("Child processes of sh", "child-process"), ("Sleep in f", "sleep"), ("m", "mutex"), ("jobs", "mutex")];
        let causes = [("slept", "Sleep in f"), ("running", "mutex jobs"), ("running", "mutex m")];
        let next = proposed(900_000_000, true, &objects, &causes, &[Topic::Threading]);
        let expected = ["explain", "blame jobs", "critical-path", "hotspots"];
        assert_eq!(next, expected.map(|report| format!("dwell report {report} r000th")));
    }

    #[test]
    fn a_program_that_was_stopped_and_hardly_ran_has_no_path_and_no_hotspots() {
        let next = proposed(20_000_000, false, &[("pool", "condition-variable")], &[("slept", "Sleep in f")], &[]);
        assert_eq!(next, ["dwell report explain r000th"]);
    }

    #[test]
    fn sockets_among_the_causes_are_recorded_next() {
        let objects = [("127.0.0.1:80", "socket")];
        let causes = [("network", "recv(127.0.0.1:80)")];
        let next = proposed(900_000_000, true, &objects, &causes, &[Topic::Threading, Topic::Latency]);
        assert_eq!(next.len(), MOST);
        assert_eq!(next[1..3], ["dwell report blame 127.0.0.1:80 r000th", "dwell report latency r000th"]);
        assert_eq!(next[4], "dwell collect threading --analyze threading,latency,sockets -- ./app 'a b'");
        let next = proposed(0, true, &objects, &causes, &[Topic::Threading, Topic::Sockets]);
        assert!(next.iter().all(|command| !command.contains("collect")), "{next:?}");
        assert_eq!(next[2], "dwell report sockets r000th");
    }

    #[test]
    fn a_label_names_its_object_whole() {
        assert!(
            is_of("mutex m", "m") && is_of("recv(1.2.3.4:80)", "1.2.3.4:80") && is_of("Thread a (b)", "Thread a (b)")
        );
        assert!(!is_of("mutex farm", "m") && !is_of("mutex m", ""));
    }
}
