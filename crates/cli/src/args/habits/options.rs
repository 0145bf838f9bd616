//! The options of other tools, as people type them after `dwell`: one row each, and what Dwell's options it gives.

/// What an option of another tool gives.
#[derive(Debug)]
pub enum GivenOption {
    /// Options of Dwell's command.
    Options(Vec<String>),
    /// A name: the result that a report is of, or a function.
    Name(String),
    /// Nothing, for this reason: Dwell always does that, or needs no choice.
    Nothing(&'static str),
    /// Something that Dwell cannot do: this sentence.
    Missing(String),
}

/// An option of another tool.
#[derive(Debug)]
pub struct OptionHabit {
    /// Its names without dashes, short and long.
    pub names: &'static [&'static str],
    /// Whether a value follows.
    pub takes_value: bool,
    /// What it gives, by its value.
    pub gives: fn(&str) -> GivenOption,
}

impl OptionHabit {
    const fn flag(names: &'static [&'static str], gives: fn(&str) -> GivenOption) -> Self {
        Self { names, takes_value: false, gives }
    }

    const fn valued(names: &'static [&'static str], gives: fn(&str) -> GivenOption) -> Self {
        Self { names, takes_value: true, gives }
    }
}

const ALL_EXACT: &str = "every run and every wait is timed exactly, and samples are taken each ms of running time";
const ALL_STACKS: &str = "stacks are always recorded, by unwind tables";
const ALL_CHILDREN: &str = "children are always followed";
const ALL_SWITCHES: &str = "every context switch is recorded with its time";
const NO_TUNING: &str = "Dwell chooses that by itself";
const OWN_LAYOUT: &str = "reports have a layout of their own";

/// `perf record`, and what `perf sched record` and others of its kind share with it.
pub const PERF_RECORD: &[OptionHabit] = &[
    OptionHabit::valued(&["p", "pid"], |pid| option("--target-pid", pid)),
    OptionHabit::flag(&["a", "all-cpus"], |_| words(&["--all"])),
    OptionHabit::valued(&["o", "output"], |file| option("--result-dir", file)),
    OptionHabit::valued(&["G", "cgroup"], |name| option("--cgroup", name)),
    OptionHabit::valued(&["D", "delay"], |ms| option("--resume-after", &format!("{ms}ms"))),
    OptionHabit::flag(&["i", "no-inherit"], |_| words(&["--no-follow-child"])),
    OptionHabit::flag(&["q", "quiet"], |_| words(&["--quiet"])),
    OptionHabit::valued(&["F", "freq", "c", "count"], |_| GivenOption::Nothing(ALL_EXACT)),
    OptionHabit::flag(&["g"], |_| GivenOption::Nothing(ALL_STACKS)),
    OptionHabit::valued(&["call-graph"], |_| GivenOption::Nothing(ALL_STACKS)),
    OptionHabit::flag(&["off-cpu", "s", "stat", "d", "data", "T", "timestamp", "sample-cpu"], |_| {
        GivenOption::Nothing(ALL_SWITCHES)
    }),
    OptionHabit::valued(&["m", "mmap-pages", "k", "clockid", "max-size"], |_| GivenOption::Nothing(NO_TUNING)),
    OptionHabit::flag(&["v", "verbose", "N", "no-buildid-cache", "B", "no-buildid", "n", "no-samples"], |_| {
        GivenOption::Nothing(NO_TUNING)
    }),
    OptionHabit::valued(&["e", "event"], perf_event),
    OptionHabit::valued(&["t", "tid", "C", "cpu", "u", "uid"], |_| missing("Dwell records whole processes")),
];

/// `perf report`.
pub const PERF_REPORT: &[OptionHabit] = &[
    OptionHabit::valued(&["i", "input"], |file| GivenOption::Name(file.into())),
    OptionHabit::valued(&["s", "sort"], perf_sort),
    OptionHabit::valued(&["d", "dsos"], |name| option("--filter", &format!("module={name}"))),
    OptionHabit::valued(&["c", "comms"], |name| option("--filter", &format!("thread={name}"))),
    OptionHabit::valued(&["S", "symbols"], |name| option("--filter", &format!("function={name}"))),
    OptionHabit::valued(&["pid", "tid"], |id| option("--filter", &format!("pid={id}"))),
    OptionHabit::valued(&["percent-limit", "F", "fields", "w", "column-widths", "M", "disassembler-style"], |_| {
        GivenOption::Nothing(OWN_LAYOUT)
    }),
    OptionHabit::flag(&["children"], |_| GivenOption::Nothing("`dwell report top-down` counts what functions called")),
    OptionHabit::flag(
        &["stdio", "stdio2", "tui", "gtk", "n", "show-nr-samples", "header", "v", "verbose", "no-children"],
        |_| GivenOption::Nothing(OWN_LAYOUT),
    ),
];

/// `perf top`, `top` and `htop`.
pub const TOP: &[OptionHabit] = &[
    OptionHabit::valued(&["d", "delay"], |seconds| option("--interval", &format!("{seconds}s"))),
    OptionHabit::flag(&["H", "threads"], |_| words(&["--group-by", "thread"])),
    OptionHabit::flag(&["b", "batch", "stdio"], |_| words(&["--once"])),
    OptionHabit::valued(&["n"], |_| GivenOption::Nothing("--once shows one interval")),
    OptionHabit::valued(&["F", "freq"], |_| GivenOption::Nothing("running time is the kernel's own account")),
    OptionHabit::flag(&["a", "all-cpus"], |_| GivenOption::Nothing("`dwell top` shows the whole machine")),
    OptionHabit::valued(&["call-graph"], |_| GivenOption::Nothing("`dwell top` shows threads, no stacks")),
];

/// `strace`, and what bpftrace has of the same names.
pub const STRACE: &[OptionHabit] = &[
    OptionHabit::valued(&["p", "attach"], |pid| option("--target-pid", pid)),
    OptionHabit::valued(&["o", "output"], |file| option("--result-dir", file)),
    OptionHabit::valued(&["u", "user"], |user| option("--user", user)),
    OptionHabit::flag(&["f", "F", "ff", "follow-forks"], |_| GivenOption::Nothing(ALL_CHILDREN)),
    OptionHabit::flag(&["k", "stack-traces"], |_| GivenOption::Nothing(ALL_STACKS)),
    OptionHabit::flag(&["c", "C", "w", "T", "t", "tt", "ttt", "r", "summary"], |_| GivenOption::Nothing(ALL_SWITCHES)),
    OptionHabit::flag(&["q", "qq", "v", "x", "xx", "y", "yy"], |_| GivenOption::Nothing(OWN_LAYOUT)),
    OptionHabit::valued(&["s", "S", "a"], |_| GivenOption::Nothing(OWN_LAYOUT)),
    OptionHabit::valued(&["e", "trace"], traced_calls),
];

/// What VTune's options for collections are called otherwise; the others have the same name in Dwell.
pub const VTUNE_COLLECT: &[OptionHabit] = &[
    OptionHabit::valued(&["knob", "k"], knob),
    OptionHabit::valued(&["target-system"], |target| option("--target", target)),
    OptionHabit::valued(&["source-search-dir"], |folder| option("--search-dir", folder)),
    OptionHabit::valued(&["strategy"], |rules| option("--strategy", &spelt_out(rules))),
    OptionHabit::flag(&["no-auto-finalize"], |_| words(&["--finalization-mode", "deferred"])),
    OptionHabit::flag(&["follow-child"], |_| GivenOption::Nothing(ALL_CHILDREN)),
    OptionHabit::flag(&["verbose", "v", "no-summary", "allow-multiple-runs", "trace-mpi", "no-analyze-system"], |_| {
        GivenOption::Nothing(NO_TUNING)
    }),
    OptionHabit::valued(&["target-duration-type", "mrte-mode", "user-data-dir"], |_| GivenOption::Nothing(NO_TUNING)),
];

/// `-r RESULT`, as `collect` has it, of the commands that read one.
pub const RESULT: &[OptionHabit] =
    &[OptionHabit::valued(&["r", "result-dir"], |folder| GivenOption::Name(folder.into()))];

/// What VTune's options for reports are called otherwise.
pub const VTUNE_REPORT: &[OptionHabit] = &[
    OptionHabit::valued(&["source-object"], |what| GivenOption::Name(what.trim_start_matches("function=").into())),
    OptionHabit::valued(&["time-filter"], |range| option("--time-range", &range.replacen(':', "-", 1))),
    OptionHabit::valued(&["filter-out"], |filter| option("--exclude", filter)),
    OptionHabit::valued(&["report-output"], |file| option("--output", file)),
    OptionHabit::valued(&["sort-desc"], |column| option("--sort", column)),
    OptionHabit::valued(&["call-stack-mode"], |mode| {
        option("--call-stack-mode", &mode.replace("user-plus-one", "user+1").replace("user-only", "user"))
    }),
    OptionHabit::valued(&["csv-delimiter", "column", "report-width", "loop-mode"], |_| {
        GivenOption::Nothing(OWN_LAYOUT)
    }),
    OptionHabit::flag(&["quiet", "q", "verbose", "v"], |_| GivenOption::Nothing(OWN_LAYOUT)),
];

/// VTune's analyses, and what a word for one means, with the topics that Dwell records for it.
pub const ANALYSES: &[(&str, &[&str])] = &[
    ("threading", &["threading"]),
    ("latency", &["latency"]),
    ("hotspots", &["threading"]),
    ("locksandwaits", &["threading"]),
    ("concurrency", &["threading"]),
    ("locks", &["threading"]),
    ("waits", &["threading"]),
    ("runsa", &["threading"]),
    ("system-overview", &["threading", "--analyze", "threading,system"]),
    ("io", &["threading", "--analyze", "threading,sockets"]),
];

/// VTune's reports, and Dwell's.
pub const REPORTS: &[(&str, &str)] = &[
    ("summary", "summary"),
    ("hotspots", "hotspots"),
    ("top-down", "top-down"),
    ("callstacks", "bottom-up"),
    ("gprof-cc", "caller-callee"),
    ("timeline", "timeline"),
];

fn words(words: &[&str]) -> GivenOption {
    GivenOption::Options(words.iter().map(|word| (*word).to_owned()).collect())
}

fn option(name: &str, value: &str) -> GivenOption {
    words(&[name, value])
}

fn missing(sentence: &str) -> GivenOption {
    GivenOption::Missing(sentence.to_owned())
}

/// What is sampled by time or of the scheduler is recorded always; other events are the hardware's.
fn perf_event(events: &str) -> GivenOption {
    const RECORDED: [&str; 6] = ["cpu-clock", "task-clock", "cycles", "cpu-cycles", "sched:", "context-switches"];
    let is_recorded = |event: &str| RECORDED.iter().any(|known| event.starts_with(known)) || event == "cs";
    if events.starts_with("intel_pt") {
        return missing("Dwell records no Intel PT itself; `dwell pt` reads what `perf record -e intel_pt//u` wrote");
    }
    match events.split(',').find(|event| !is_recorded(event)) {
        None => GivenOption::Nothing(ALL_EXACT),
        Some(event) => {
            GivenOption::Missing(format!("Dwell takes no samples at `{event}`; `dwell collect --events` counts events"))
        }
    }
}

/// perf's sort keys are levels; anything else is a column.
fn perf_sort(keys: &str) -> GivenOption {
    const LEVELS: [(&str, &str); 9] = [
        ("comm", "thread-name"),
        ("dso", "module"),
        ("symbol", "function"),
        ("sym", "function"),
        ("pid", "process"),
        ("tid", "thread"),
        ("cpu", "cpu"),
        ("srcline", "source-line"),
        ("srcfile", "source-file"),
    ];
    let level = |key: &str| LEVELS.iter().find(|(perf, _)| *perf == key).map(|(_, level)| *level);
    match keys.split(',').map(level).collect::<Option<Vec<_>>>() {
        Some(levels) => option("--group-by", &levels.join(",")),
        None => option("--sort", keys),
    }
}

/// Which calls are traced: Dwell records all that wait, and sockets when asked.
fn traced_calls(calls: &str) -> GivenOption {
    match calls.trim_start_matches("trace=").trim_start_matches('%') {
        "network" => option("--analyze", "threading,sockets"),
        "futex" | "ipc" | "desc" | "poll" | "epoll_wait" | "nanosleep" => GivenOption::Nothing(ALL_SWITCHES),
        _ => missing("Dwell shows no arguments of calls, and runs no scripts: keep strace and bpftrace for those"),
    }
}

/// `-knob NAME=VALUE`.
fn knob(text: &str) -> GivenOption {
    match text.split_once('=') {
        Some(("sampling-interval", ms)) => option("--sampling-interval", &format!("{ms}ms")),
        Some(("target-concurrency", cpus)) => option("--target-concurrency", cpus),
        _ => GivenOption::Nothing(NO_TUNING),
    }
}

/// `make:nt:t` with the words that Dwell has.
fn spelt_out(rules: &str) -> String {
    let word = |word: &str| match word {
        "nt" => "notrace".to_owned(),
        "t" => "trace".to_owned(),
        other => other.to_owned(),
    };
    let rule = |rule: &str| rule.split(':').map(word).collect::<Vec<_>>().join(":");
    rules.split(',').map(rule).collect::<Vec<_>>().join(",")
}
