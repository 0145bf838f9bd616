//! The options of a question, one row each: the command line's options, the words of requests to the server and the page's types are
//! all made of these rows.
//!
//! A row says what an option is called, what it takes and what it does to a [`Query`]. The command line and the server each turn their
//! own texts into the values that a [`Form`] names: `1.5s-3s` there, nanoseconds here.

use crate::question::error::QueryError;
use crate::question::filter::Filter;
use crate::question::level::{CallStackMode, Level};
use crate::question::metric::parse_metric;
use crate::question::query::Query;
use crate::question::rates::FrameRates;

/// Takes a text; fails when it makes no sense.
type SetText = fn(&mut Query, &str) -> Result<(), QueryError>;

/// A command that asks questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCommand {
    /// `dwell report`, which takes every option.
    Report,
    /// `dwell compare`.
    Compare,
    /// `dwell source`.
    Source,
    /// `dwell export`.
    Export,
}

/// Where the help lists an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// What of the result is shown.
    Show,
    /// How it is counted.
    Count,
}

/// What an option takes, and what that does.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Nothing: it is there or not.
    Flag(fn(&mut Query)),
    /// `on` or `off`; on without it.
    Switch(fn(&mut Query, bool)),
    /// One text.
    Text(SetText),
    /// Texts; the option can be given several times.
    Texts(SetText),
    /// Words with commas between them.
    List(SetText),
    /// A call-stack mode.
    Mode(fn(&mut Query, CallStackMode)),
    /// A whole number, from the first to the second.
    Number(u64, u64, fn(&mut Query, u64)),
    /// A fraction.
    Share(fn(&mut Query, f64)),
    /// A duration.
    Time(fn(&mut Query, u64)),
    /// A part of the time, ns since the start of the collection. A request has a word for each end.
    Range(fn(&mut Query, (u64, u64))),
    /// Parts of the time; the option can be given several times.
    Ranges(fn(&mut Query, (u64, u64))),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionDef {
    /// Its name on the command line, without dashes; empty where only requests have it.
    pub option: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Its word in a request, or its two words; empty where only the command line has it.
    pub words: &'static [&'static str],
    /// What the help calls its value.
    pub value: &'static str,
    /// What the command line takes without it, where the help says so.
    pub default: Option<&'static str>,
    /// Where the help lists it.
    pub topic: Topic,
    /// The help.
    pub help: &'static str,
    /// Who takes it beside `dwell report`, with a help of its own or an empty text.
    pub elsewhere: &'static [(QueryCommand, &'static str)],
    /// What it takes, and what that does.
    pub form: Form,
}

impl OptionDef {
    /// The help for `asker`; `None` when it does not take the option.
    pub fn help_for(&self, asker: QueryCommand) -> Option<&'static str> {
        if self.option.is_empty() {
            return None;
        }
        if asker == QueryCommand::Report {
            return Some(self.help);
        }
        let (_, own) = self.elsewhere.iter().find(|(known, _)| *known == asker)?;
        Some(if own.is_empty() { self.help } else { own })
    }
}

/// What most rows leave out.
const OPTION: OptionDef = OptionDef {
    option: "",
    short: None,
    words: &[],
    value: "",
    default: None,
    topic: Topic::Show,
    help: "",
    elsewhere: &[],
    form: Form::Flag(|_| {}),
};

/// Declares the options, and a constant for each.
macro_rules! options {
    ($($name:ident = $def:expr;)*) => {
        $(#[doc = concat!("The row of ", stringify!($name), ".")] pub const $name: OptionDef = $def;)*

        /// Every option, in the order of the help.
        pub const OPTIONS: &[OptionDef] = &[$($name),*];
    };
}

options! {
    GROUP_BY = OptionDef {
        option: "group-by", short: Some('g'), words: &["group-by"], value: "LEVELS",
        help: "Group rows by up to three levels, such as object,function.",
        form: Form::List(|query, level| { query.group_by.push(Level::parse(level)?); Ok(()) }),
        ..OPTION
    };
    FILTER = OptionDef {
        option: "filter", short: Some('f'), words: &["filter"], value: "KEY=VALUE",
        help: "Show only what matches, such as thread=worker; can be given several times.",
        elsewhere: &[
            (QueryCommand::Compare, ""),
            (QueryCommand::Source, "Count only what matches, such as thread=worker; can be given several times."),
            (QueryCommand::Export, "Export only what matches, such as thread=worker; can be given several times."),
        ],
        form: Form::Texts(|query, filter| { query.filters.push(Filter::parse(filter)?); Ok(()) }),
        ..OPTION
    };
    EXCLUDE = OptionDef {
        option: "exclude", short: Some('x'), words: &["exclude"], value: "KEY=VALUE",
        help: "Leave out what matches; can be given several times.",
        elsewhere: &[(QueryCommand::Compare, ""), (QueryCommand::Export, "")],
        form: Form::Texts(|query, filter| { query.exclude.push(Filter::parse(filter)?); Ok(()) }),
        ..OPTION
    };
    TIME_RANGE = OptionDef {
        option: "time-range", words: &["from", "to"], value: "FROM-TO",
        help: "Show only this part of the time, such as 1.5s-3s.",
        elsewhere: &[(QueryCommand::Source, "Count only this part of the time, such as 1.5s-3s."), (QueryCommand::Export, "Export only this part of the time, such as 1.5s-3s.")],
        form: Form::Range(|query, range| query.range = Some(range)),
        ..OPTION
    };
    EXCLUDED_RANGE = OptionDef {
        option: "excluded-range", words: &["excluded-range"], value: "FROM-TO",
        help: "Leave out this part of the time; can be given several times.",
        elsewhere: &[(QueryCommand::Export, "")],
        form: Form::Ranges(|query, range| query.excluded_ranges.push(range)),
        ..OPTION
    };
    METRIC = OptionDef {
        option: "metric", short: Some('m'), words: &["metrics"], value: "METRICS",
        help: "Show these metrics, such as wait_ns,wait_count.",
        elsewhere: &[(QueryCommand::Compare, "Compare these metrics, such as wait_ns,wait_count.")],
        form: Form::List(|query, metric| { query.metrics.push(parse_metric(metric)?); Ok(()) }),
        ..OPTION
    };
    SORT = OptionDef {
        option: "sort", short: Some('s'), words: &["sort"], value: "COLUMN",
        help: "Sort by this column, largest first.",
        elsewhere: &[(QueryCommand::Compare, "Sort by the difference of this metric, the largest first.")],
        form: Form::Text(|query, metric| { query.sort = Some(parse_metric(metric)?); Ok(()) }),
        ..OPTION
    };
    LIMIT = OptionDef {
        option: "limit", short: Some('l'), words: &["limit"], value: "N",
        help: "Show at most so many rows.",
        elsewhere: &[(QueryCommand::Compare, "")],
        form: Form::Number(0, u64::MAX, |query, rows| query.limit = Some(usize::try_from(rows).unwrap_or(usize::MAX))),
        ..OPTION
    };
    BINS = OptionDef {
        option: "bins", words: &["bins"], value: "N", default: Some("60"),
        help: "Bins of the timeline.",
        // Beyond these a timeline is no view any more.
        form: Form::Number(1, 10_000, |query, bins| query.bins = bins as usize),
        ..OPTION
    };
    SUBJECT = OptionDef {
        words: &["subject"],
        help: "The object of blame, the function of caller-callee, the interval of latency.",
        form: Form::Text(|query, subject| { query.subject = Some(subject.to_owned()); Ok(()) }),
        ..OPTION
    };
    WAITERS = OptionDef {
        option: "for", words: &["for"], value: "NAME",
        help: "For `explain`: only the waits of this role or thread, or for this object, such as 'worker*' or queue_lock.",
        form: Form::Text(|query, name| { query.waiters = Some(name.to_owned()); Ok(()) }),
        ..OPTION
    };
    EXACT = OptionDef {
        option: "exact", words: &["exact"], topic: Topic::Count,
        help: "For `explain`: look at every wait, which takes a second for each million of them, or several; without it, of more than a \
               million it estimates from slices of the time, and says so.",
        form: Form::Flag(|query| query.exact = true),
        ..OPTION
    };
    OUTLIER = OptionDef {
        option: "outlier", value: "TIME", topic: Topic::Count,
        help: "For `latency`: intervals longer than this are outliers, such as 50us [default: those above the median and 5 times \
               the median of the distances from it].",
        form: Form::Time(|query, ns| query.outlier_ns = Some(ns)),
        ..OPTION
    };
    FRAME_RATES = OptionDef {
        option: "frame-rates", words: &["frame-rates"], value: "SLOW,FAST", topic: Topic::Count,
        help: "Frames a second below which frames are slow, and above which they are fast [default: 40,100].",
        form: Form::Text(|query, rates| { query.frame_rates = FrameRates::parse(rates)?; Ok(()) }),
        ..OPTION
    };
    FIBERS = OptionDef {
        option: "fibers", words: &["fibers"], topic: Topic::Count,
        help: "Goroutines stand for the threads that carried them; so they do in summary, explain, blame and critical-path anyway.",
        form: Form::Flag(|query| query.fibers = Some(true)),
        ..OPTION
    };
    THREADS = OptionDef {
        option: "threads", words: &["threads"], topic: Topic::Count,
        help: "Threads are told of, never the goroutines that they carried.",
        form: Form::Flag(|query| query.fibers = Some(false)),
        ..OPTION
    };
    INCLUDE_IDLE = OptionDef {
        option: "include-idle", words: &["include-idle"], topic: Topic::Count,
        help: "Count the waits of idle workers too: a pool's thread without work, an event loop.",
        elsewhere: &[(QueryCommand::Export, "Sums have the waits of idle workers too: a pool's thread without work, an event loop.")],
        form: Form::Flag(|query| query.include_idle = true),
        ..OPTION
    };
    TARGET_CONCURRENCY = OptionDef {
        option: "target-concurrency", words: &["target-concurrency"], value: "N", topic: Topic::Count,
        help: "CPUs that the program is meant to use [default: as collected].",
        form: Form::Number(1, u32::MAX as u64, |query, cpus| query.target_concurrency = u32::try_from(cpus).ok()),
        ..OPTION
    };
    POOR = OptionDef {
        words: &["poor"],
        help: "Utilization that is poor up to this part of the target concurrency.",
        form: Form::Share(|query, limit| query.thresholds.poor = limit),
        ..OPTION
    };
    OK = OptionDef {
        words: &["ok"],
        help: "Utilization that is ok up to this part of the target concurrency.",
        form: Form::Share(|query, limit| query.thresholds.ok = limit),
        ..OPTION
    };
    IDEAL = OptionDef {
        words: &["ideal"],
        help: "Utilization that is ideal up to this part of the target concurrency.",
        form: Form::Share(|query, limit| query.thresholds.ideal = limit),
        ..OPTION
    };
    CALL_STACK_MODE = OptionDef {
        option: "call-stack-mode", words: &["call-stack-mode"], value: "MODE", default: Some("user+1"), topic: Topic::Count,
        help: "Which functions stacks show.",
        elsewhere: &[(QueryCommand::Compare, ""), (QueryCommand::Source, "Which functions have time of their own."), (QueryCommand::Export, "")],
        form: Form::Mode(|query, mode| query.call_stack_mode = mode),
        ..OPTION
    };
    INLINE_MODE = OptionDef {
        option: "inline-mode", words: &["inlines"], value: "INLINE_MODE", topic: Topic::Count,
        help: "Whether functions that the compiler inlined count as functions.",
        elsewhere: &[(QueryCommand::Compare, ""), (QueryCommand::Source, ""), (QueryCommand::Export, "")],
        form: Form::Switch(|query, inlines| query.inlines = inlines),
        ..OPTION
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_option_has_a_name_of_its_own_and_a_help() {
        let names: Vec<&str> = OPTIONS.iter().map(|row| row.option).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let words: Vec<&&str> = OPTIONS.iter().flat_map(|row| row.words).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        for row in OPTIONS {
            assert!(row.help.ends_with('.'), "{}", row.help);
            assert!(!row.option.is_empty() || !row.words.is_empty(), "{}", row.help);
            let ends = if matches!(row.form, Form::Range(_)) { 2 } else { row.words.len().min(1) };
            assert_eq!(row.words.len(), ends, "{}", row.help);
        }
    }

    #[test]
    fn other_commands_take_what_their_rows_say() {
        let of = |asker| OPTIONS.iter().filter(move |row| row.help_for(asker).is_some()).map(|row| row.option);
        let source = ["filter", "time-range", "call-stack-mode", "inline-mode"];
        let compare = ["filter", "exclude", "metric", "sort", "limit", "call-stack-mode", "inline-mode"];
        let export =
            ["filter", "exclude", "time-range", "excluded-range", "include-idle", "call-stack-mode", "inline-mode"];
        assert_eq!(of(QueryCommand::Export).collect::<Vec<_>>(), export);
        assert_eq!(of(QueryCommand::Source).collect::<Vec<_>>(), source);
        assert_eq!(of(QueryCommand::Compare).collect::<Vec<_>>(), compare);
        assert_eq!(FILTER.help_for(QueryCommand::Compare), Some(FILTER.help));
        assert!(SUBJECT.help_for(QueryCommand::Report).is_none());
    }
}
