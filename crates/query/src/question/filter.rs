//! Filters: a key, and the value that it must have.

use dwell_view::{CLASSES, glob};

use crate::question::condition::Condition;
use crate::question::error::QueryError;
use crate::question::lengths::parse_lengths;
use crate::question::words::words;

words! { "filter key";
    /// What a filter looks at.
    FilterKey {
        Thread = "thread", "Thread", "Name of the thread.";
        Tid = "tid", "Thread Id", "Id of the thread.";
        Process = "process", "Process", "Name of the process.";
        Pid = "pid", "Process Id", "Id of the process.";
        Cgroup = "cgroup", "Control Group", "Control group of the process.";
        Unit = "unit", "Unit", "Unit of systemd that the process belongs to.";
        Container = "container", "Container", "Container that the process is in.";
        Pod = "pod", "Pod", "Kubernetes pod of the container.";
        Function = "function", "Function", "A function anywhere on the stack.";
        Module = "module", "Module", "File, by path or base name, of the function that the time is attributed to.";
        SourceFile = "source-file", "Source File", "Source file, by path or base name, of that function.";
        Object = "object", "Sync Object", "Name of what was waited on.";
        ObjectType = "object-type", "Object Type", "Type of what was waited on: mutex, socket, …";
        Utilization = "utilization", "CPU Utilization", "Class of the utilization meanwhile: idle, poor, ok, ideal, over.";
        Reason = "reason", "Reason", "Why it left the CPU: waiting, preempted, yielded, starting, unknown.";
        Outcome = "outcome", "Outcome", "How the wait ended: woken, timed-out, interrupted, unfinished, unknown.";
        Waker = "waker", "Waker", "Name of the thread that ended the wait, or timer, network, interrupt, other-thread, answer, publisher, kernel-thread.";
        Cpu = "cpu", "CPU", "Number of the CPU.";
        WaitLength = "wait-length", "Wait Length", "Length of the wait: FROM-TO, TO excluded, such as 100us-5ms, 1ms- or -10us.";
        Idle = "idle", "Idle Waits", "yes: only waits of idle workers; no: all but those.";
        Task = "task", "Task", "A task around it, with all that is nested in it: name, or domain::name; [none] outside of tasks.";
        Counter = "counter", "Counter", "Time in which a counter had such a value: NAME<=NUMBER, with one of <= >= < > =.";
    }
}

impl FilterKey {
    /// The words that a value must be one of; empty where it may be anything.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Utilization => CLASSES.to_vec(),
            Self::Idle => vec!["yes", "no"],
            Self::Outcome => dwell_model::Outcome::ALL.iter().map(|outcome| outcome.id()).collect(),
            Self::Reason => dwell_model::Reason::ALL.iter().map(|reason| reason.id()).collect(),
            Self::ObjectType => dwell_model::ObjectType::ALL.iter().map(|kind| kind.id()).collect(),
            _ => Vec::new(),
        }
    }
}

/// One filter. Filters of one key are alternatives; those of different keys must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What it looks at.
    pub key: FilterKey,
    /// The value: exact, or with `*` for any characters.
    pub value: String,
}

impl Filter {
    /// The filter written `key=value`.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let (key, value) = text.split_once('=').ok_or_else(|| QueryError::FilterForm { text: text.to_owned() })?;
        let key = FilterKey::parse(key.trim())?;
        // Rows of CPUs are called cpu3.
        let value = if key == FilterKey::Cpu { value.strip_prefix("cpu").unwrap_or(value) } else { value };
        let filter = Self { key, value: value.to_owned() };
        filter.check()?;
        Ok(filter)
    }

    /// Values of keys with few words must be one of these, or a glob.
    fn check(&self) -> Result<(), QueryError> {
        let known = match self.key {
            FilterKey::WaitLength => {
                let form = || QueryError::LengthForm { text: self.value.clone() };
                return parse_lengths(&self.value).map(drop).ok_or_else(form);
            }
            FilterKey::Counter => {
                let form = || QueryError::CounterForm { text: self.value.clone() };
                return Condition::parse(&self.value).map(drop).ok_or_else(form);
            }
            // Numbers, or globs of numbers.
            FilterKey::Cpu | FilterKey::Tid | FilterKey::Pid => {
                let is_number = |letter: char| letter == '*' || letter.is_ascii_digit();
                let numeric = self.value == "[unknown]" || self.value.chars().all(is_number);
                let form = || QueryError::NumberForm { key: self.key.id(), text: self.value.clone() };
                return (numeric && !self.value.is_empty()).then_some(()).ok_or_else(form);
            }
            key => key.words(),
        };
        let holds = known.is_empty() || known.iter().any(|word| self.matches(word));
        holds.then_some(()).ok_or_else(|| QueryError::unknown(self.key.id(), &self.value, known))
    }

    /// Whether `text` is what the filter asks for.
    pub fn matches(&self, text: &str) -> bool {
        glob(&self.value, text)
    }
}

/// Whether a filter is one by time rather than by what happened.
pub fn is_of_time(filter: &Filter) -> bool {
    filter.key == FilterKey::Counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_key_and_value() {
        assert_eq!(Filter::parse("thread=a=b"), Ok(Filter { key: FilterKey::Thread, value: "a=b".into() }));
        assert!(matches!(Filter::parse("thread"), Err(QueryError::FilterForm { .. })));
        assert!(Filter::parse("tread=a").unwrap_err().hint().unwrap().contains("thread"));
        assert!(matches!(Filter::parse("cpu=abc"), Err(QueryError::NumberForm { .. })));
        assert_eq!(Filter::parse("cpu=cpu1"), Filter::parse("cpu=1"));
        assert!(Filter::parse("cpu=1").is_ok() && Filter::parse("tid=12*").is_ok());
        assert!(Filter::parse("utilization=pour").unwrap_err().hint().unwrap().contains("poor"));
    }
}
