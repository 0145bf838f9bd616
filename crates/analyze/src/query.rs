//! What a report is asked for: range, filters, grouping, metrics. Words from the command line become values here; one
//! that does not exist is an error that carries the nearest name.

use std::ops::Range;

use dwell_model::MetricDef;

use crate::counter_filter::{self, Condition};
use crate::metrics::METRICS;
use crate::reports::duration;

/// A question that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A name that is in no table.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What it should name: `grouping level`, `object`, …
        what: &'static str,
        /// The name given.
        name: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// A filter without `=`.
    #[error("`{text}` is no filter: it has the form KEY=VALUE, such as thread=worker*")]
    FilterForm {
        /// The filter as given.
        text: String,
    },
    /// A filter by length without a range.
    #[error("`{text}` is no range of lengths: it has the form FROM-TO, such as 100us-5ms, 1ms- or -10us")]
    LengthForm {
        /// The range as given.
        text: String,
    },
    /// A filter by a counter's value without a condition.
    #[error("`{text}` is no condition of a counter: it has the form NAME<=NUMBER, with one of <= >= < > =")]
    CounterForm {
        /// The condition as given.
        text: String,
    },
    /// A filter by number without one.
    #[error("`{text}` is no number: the filter has a form such as {key}=3")]
    NumberForm {
        /// The filter's key.
        key: &'static str,
        /// The value as given.
        text: String,
    },
    /// Limits of frame rates that are none.
    #[error("`{text}` is no pair of frame rates: it has the form SLOW,FAST in frames a second, such as 40,100")]
    FrameRates {
        /// The limits as given.
        text: String,
    },
    /// The report needs an object or a function.
    #[error("this report needs the name of {what}")]
    SubjectMissing {
        /// `an object` or `a function`.
        what: &'static str,
    },
    /// A name that several have.
    #[error("`{name}` is not one but {}", several(choices, *more))]
    Ambiguous {
        /// The name given.
        name: String,
        /// What it could be: modules, or names.
        choices: Vec<String>,
        /// How many more it could be.
        more: usize,
        /// Whether the module tells them apart.
        by_module: bool,
    },
    /// A function of which there is nothing to list.
    #[error("there is no listing of `{function}`: {reason}")]
    NoListing {
        /// The function.
        function: String,
        /// Why, a clause.
        reason: String,
    },
    /// A range without time in it, or all of it excluded.
    #[error("the time range is empty: it must end after it starts, within the collection's {}", duration(*elapsed_ns))]
    EmptyRange {
        /// Length of the collection.
        elapsed_ns: u64,
    },
}

impl QueryError {
    /// An unknown `name` with the most similar of `known`.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Unknown { what, name: name.to_owned(), nearest: nearest(name, known) }
    }

    /// What to do about it, one sentence; `None` when the error says it all.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => Some(format!("did you mean `{nearest}`?")),
            Self::Unknown { what: "grouping level", .. } => {
                Some(format!("levels: {}", Level::ALL.iter().map(|level| level.id()).collect::<Vec<_>>().join(", ")))
            }
            Self::Unknown { what: "filter key", .. } | Self::FilterForm { .. } => {
                Some(format!("keys: {}", FilterKey::ALL.iter().map(|key| key.id()).collect::<Vec<_>>().join(", ")))
            }
            Self::Ambiguous { choices, by_module, .. } => {
                let first = choices.first().map_or("", String::as_str);
                Some(if *by_module {
                    format!("--module {first}")
                } else {
                    format!("name one of them, such as `{first}`")
                })
            }
            // What else such a filter takes.
            Self::Unknown { what, .. } if FilterKey::parse(what).is_ok_and(|key| !key.words().is_empty()) => {
                FilterKey::parse(what).ok().map(|key| format!("{what} is one of: {}", key.words().join(", ")))
            }
            Self::Unknown { what: "metric", .. } => {
                Some(format!("metrics: {}", METRICS.iter().map(|metric| metric.id).collect::<Vec<_>>().join(", ")))
            }
            _ => None,
        }
    }
}

/// `2: a, b`.
fn several(choices: &[String], more: usize) -> String {
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", choices.len() + more, choices.join(", "))
}

/// The name of `known` that is most similar to `name`, when one is similar at all.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let lower = name.to_lowercase();
    let score = |candidate: &str| strsim::jaro_winkler(&lower, &candidate.to_lowercase());
    let scored = known.into_iter().map(|candidate| (score(candidate), candidate));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.7).then(|| best.1.to_owned())
}

/// Declares an enum of words: variant, id, title, help.
macro_rules! words {
    ($what:literal; $(#[$doc:meta])* $name:ident { $($variant:ident = $id:literal, $title:literal, $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $(#[doc = $help] $variant,)* }

        impl $name {
            /// Every one, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word on the command line and in JSON.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The words on the screen.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// One line of help.
            pub fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }

            /// The one of this id; the error carries the nearest id.
            pub fn parse(id: &str) -> Result<Self, $crate::query::QueryError> {
                let found = Self::ALL.iter().find(|word| word.id() == id).copied();
                found.ok_or_else(|| $crate::query::QueryError::unknown($what, id, Self::ALL.iter().map(|word| word.id())))
            }
        }
    };
}
pub(crate) use words;

words! { "grouping level";
    /// What rows are grouped by.
    Level {
        Function = "function", "Function", "Function that the time is attributed to, by the call-stack mode.";
        CallStack = "call-stack", "Call Stack", "Whole stack, by the call-stack mode.";
        SourceFunction = "source-function", "Source Function", "Function with the functions inlined into it.";
        Module = "module", "Module", "File that the function is in.";
        SourceFile = "source-file", "Source File", "Source file of the function.";
        SourceLine = "source-line", "Source Line", "Source file and line.";
        Thread = "thread", "Thread", "Thread, by name and id.";
        ThreadName = "thread-name", "Thread Name", "All threads of one name.";
        Process = "process", "Process", "Process, by name and id.";
        Object = "object", "Sync Object", "What was waited on.";
        ObjectType = "object-type", "Object Type", "Type of what was waited on.";
        WaitKind = "wait-kind", "Wait Kind", "Why the thread was off the CPU, and how the wait ended.";
        Waker = "waker", "Waker", "Who ended the wait: a thread, a timer, the network.";
        Cpu = "cpu", "CPU", "CPU that the thread ran on, after the wait for waits.";
        TaskType = "task-type", "Task Type", "Innermost task that the thread was in, by its own word.";
    }
}

words! { "filter key";
    /// What a filter looks at.
    FilterKey {
        Thread = "thread", "Thread", "Name of the thread.";
        Tid = "tid", "Thread Id", "Id of the thread.";
        Process = "process", "Process", "Name of the process.";
        Pid = "pid", "Process Id", "Id of the process.";
        Function = "function", "Function", "A function anywhere on the stack.";
        Module = "module", "Module", "File, by path or base name, of the function that the time is attributed to.";
        SourceFile = "source-file", "Source File", "Source file, by path or base name, of that function.";
        Object = "object", "Sync Object", "Name of what was waited on.";
        ObjectType = "object-type", "Object Type", "Type of what was waited on: mutex, socket, …";
        Utilization = "utilization", "CPU Utilization", "Class of the utilization meanwhile: idle, poor, ok, ideal, over.";
        Reason = "reason", "Reason", "Why it left the CPU: waiting, preempted, yielded, starting, unknown.";
        Outcome = "outcome", "Outcome", "How the wait ended: woken, timed-out, interrupted, unfinished, unknown.";
        Waker = "waker", "Waker", "Name of the thread that ended the wait, or timer, network, interrupt, other-thread.";
        Cpu = "cpu", "CPU", "Number of the CPU.";
        WaitLength = "wait-length", "Wait Length", "Length of the wait: FROM-TO, TO excluded, such as 100us-5ms, 1ms- or -10us.";
        Idle = "idle", "Idle Waits", "yes: only waits of idle workers; no: all but those.";
        Task = "task", "Task", "A task around it, with all that is nested in it: name, or domain::name; [none] outside of tasks.";
        Counter = "counter", "Counter", "Time in which a counter had such a value: NAME<=NUMBER, with one of <= >= < > =.";
    }
}

impl FilterKey {
    /// The words that a value must be one of; empty where it may be anything.
    fn words(self) -> Vec<&'static str> {
        match self {
            Self::Utilization => crate::sweep::CLASSES.to_vec(),
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

/// Whether `text` matches `pattern`, in which `*` stands for any characters, none included.
pub fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is as good as any later one: what follows is free to begin anywhere behind it.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

words! { "call-stack mode";
    /// How much of a stack is shown.
    CallStackMode {
        All = "all", "All functions", "Every frame.";
        User = "user", "Only user functions", "Time in system functions counts for the user function that called them.";
        UserPlusOne = "user+1", "User functions + 1", "User functions and the one system function that they called.";
    }
}

/// Limits of the utilization classes as fractions of the target concurrency T: idle is no running thread; up to `poor`
/// of T is poor, and so on; above `ideal` is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Upper limit of Poor.
    pub poor: f64,
    /// Upper limit of Ok.
    pub ok: f64,
    /// Upper limit of Ideal.
    pub ideal: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { poor: 0.5, ok: 0.85, ideal: 1.15 }
    }
}

/// Limits of slow and fast frames, frames a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRates {
    /// Slower frames are slow.
    pub slow: f64,
    /// Faster frames are fast.
    pub fast: f64,
}

impl FrameRates {
    /// 0 for slow, 1 for good, 2 for fast.
    pub fn class(self, rate: f64) -> usize {
        usize::from(rate >= self.slow) + usize::from(rate >= self.slow && rate > self.fast)
    }

    /// The limits `SLOW,FAST`. Fails when they are not two numbers in order.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let form = || QueryError::FrameRates { text: text.to_owned() };
        let (slow, fast) = text.split_once(',').ok_or_else(form)?;
        let rates = (slow.trim().parse::<f64>(), fast.trim().parse::<f64>());
        let (Ok(slow), Ok(fast)) = rates else { return Err(form()) };
        (slow.is_finite() && fast.is_finite() && 0.0 <= slow && slow <= fast)
            .then_some(Self { slow, fast })
            .ok_or_else(form)
    }
}

impl Default for FrameRates {
    fn default() -> Self {
        Self { slow: 40.0, fast: 100.0 }
    }
}

/// What is asked. The default is the whole collection, in each report's own grouping and columns.
#[derive(Clone, Debug)]
pub struct Query {
    /// Only this part of the collection: `from .. to`, ns since its start.
    pub range: Option<(u64, u64)>,
    /// Parts of the collection that are left out.
    pub excluded_ranges: Vec<(u64, u64)>,
    /// Only what these let through. n(t) and c(t) count all threads in any case.
    pub filters: Vec<Filter>,
    /// Nothing that any of these matches.
    pub exclude: Vec<Filter>,
    /// Grouping, outermost first; empty: the report's own.
    pub group_by: Vec<Level>,
    /// Whether of threads, objects and stacks nothing is told, only of CPUs: then few sums are needed.
    pub only_cpus: bool,
    /// Columns; empty: the report's own.
    pub metrics: Vec<&'static MetricDef>,
    /// Order of the rows, largest first; none: the report's own.
    pub sort: Option<&'static MetricDef>,
    /// At most so many rows on each level.
    pub limit: Option<usize>,
    /// T of the utilization classes; none: as collected, or the CPUs that the program may use.
    pub target_concurrency: Option<u32>,
    /// Limits of the utilization classes.
    pub thresholds: Thresholds,
    /// Whether waits of idle workers rank like any other; else they come last.
    pub include_idle: bool,
    /// How much of a stack is shown.
    pub call_stack_mode: CallStackMode,
    /// Whether inlined functions are shown as functions.
    pub inlines: bool,
    /// The object of `blame`, the function of `caller-callee`; exact, or with `*`.
    pub subject: Option<String>,
    /// Intervals longer than this are outliers, ns; none: those far from the median of their type.
    pub outlier_ns: Option<u64>,
    /// Bins of the time line.
    pub bins: usize,
    /// Which frames are slow, and which are fast.
    pub frame_rates: FrameRates,
}

impl Query {
    /// What of the query decides the sums; questions that agree in it share a fold.
    #[must_use]
    pub fn selection(&self) -> Self {
        let by_cpu = self.group_by.contains(&Level::Cpu);
        Self {
            range: self.range,
            filters: self.filters.clone(),
            exclude: self.exclude.clone(),
            excluded_ranges: self.excluded_ranges.clone(),
            group_by: if by_cpu { vec![Level::Cpu] } else { Vec::new() },
            only_cpus: self.only_cpus,
            target_concurrency: self.target_concurrency,
            thresholds: self.thresholds,
            call_stack_mode: self.call_stack_mode,
            inlines: self.inlines,
            ..Self::default()
        }
    }

    /// Whether it looks at a part of what there is, in the same time.
    pub fn is_filtered(&self) -> bool {
        !self.all_filters().all(counter_filter::is_of_time)
    }

    /// Keeps as many of `rows` as the limit lets; how many it left out.
    pub fn limit_rows<T>(&self, rows: &mut Vec<T>) -> usize {
        let all = rows.len();
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        all - rows.len()
    }

    /// Whether it looks at a part of the time.
    pub fn is_cut(&self) -> bool {
        let by_time = || self.all_filters().any(counter_filter::is_of_time);
        self.range.is_some() || !self.excluded_ranges.is_empty() || by_time()
    }

    fn all_filters(&self) -> impl Iterator<Item = &Filter> {
        self.filters.iter().chain(&self.exclude)
    }
}

impl Default for Query {
    fn default() -> Self {
        Self {
            range: None,
            excluded_ranges: Vec::new(),
            filters: Vec::new(),
            exclude: Vec::new(),
            group_by: Vec::new(),
            only_cpus: false,
            metrics: Vec::new(),
            sort: None,
            limit: None,
            target_concurrency: None,
            thresholds: Thresholds::default(),
            include_idle: false,
            call_stack_mode: CallStackMode::UserPlusOne,
            inlines: true,
            subject: None,
            outlier_ns: None,
            bins: 60,
            frame_rates: FrameRates::default(),
        }
    }
}

/// The range of lengths `FROM-TO`, ns: each end is a number with ns (or nothing), us, µs, ms or s behind it; either may be
/// left out. `None` when it is none or empty.
pub fn parse_lengths(text: &str) -> Option<Range<u64>> {
    let (from, to) = text.split_once('-')?;
    let end = |text: &str, open: u64| if text.is_empty() { Some(open) } else { parse_length(text) };
    let range = end(from.trim(), 0)?..end(to.trim(), u64::MAX)?;
    (!range.is_empty()).then_some(range)
}

fn parse_length(text: &str) -> Option<u64> {
    let digits = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "" | "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((text[..digits].parse::<f64>().ok()? * unit).round() as u64)
}

/// The levels of `a,b,c`.
pub fn parse_levels(text: &str) -> Result<Vec<Level>, QueryError> {
    text.split(',').map(|level| Level::parse(level.trim())).collect()
}

/// The metric of this id.
pub fn parse_metric(id: &str) -> Result<&'static MetricDef, QueryError> {
    let found = METRICS.iter().find(|metric| metric.id == id);
    found.ok_or_else(|| QueryError::unknown("metric", id, METRICS.iter().map(|metric| metric.id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_carries_the_nearest_one() {
        let error = Level::parse("functoin").unwrap_err();
        assert_eq!(error.to_string(), "there is no grouping level `functoin`");
        assert_eq!(error.hint().unwrap(), "did you mean `function`?");
        assert!(Level::parse("zzz").unwrap_err().hint().unwrap().starts_with("levels: function"));
        assert!(parse_metric("wait_n").unwrap_err().hint().unwrap().contains("wait_ns"));
        assert_eq!(parse_levels("object, thread"), Ok(vec![Level::Object, Level::Thread]));
    }

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

    #[test]
    fn lengths_are_ranges_with_units() {
        assert_eq!(parse_lengths("100us-5ms"), Some(100_000..5_000_000));
        assert_eq!(parse_lengths("1.5ms-"), Some(1_500_000..u64::MAX));
        assert_eq!(parse_lengths("-10"), Some(0..10));
        for text in ["", "5", "5ms-1ms", "a-b", "1h-2h", "1..2-3", "-0", "--"] {
            assert_eq!(parse_lengths(text), None, "{text}");
        }
        assert!(matches!(Filter::parse("wait-length=long"), Err(QueryError::LengthForm { .. })));
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("worker", "worker", true),
            ("worker", "worker-1", false),
            ("worker*", "worker", true),
            ("*er-*", "worker-1", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*Pool*worker*", "ns::ThreadPool::worker()", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
