//! What people type in other tools, what it is called in Dwell, and what differs: the tables of docs/coming-from.md, which a test
//! writes, and the place where suggestions look a word up by its meaning.

use std::ffi::OsString;

use super::nearest::NearestCommand;

/// The habits of one tool.
#[derive(Debug)]
pub struct PeerTool {
    /// As the head of its column calls it.
    pub name: &'static str,
    /// One row for each.
    pub habits: &'static [PeerHabit],
}

/// A row: Markdown, commands in backticks.
#[derive(Debug)]
pub struct PeerHabit {
    /// What is typed there.
    pub typed: &'static str,
    /// What is typed in Dwell.
    pub dwell: &'static str,
    /// What differs; may be empty.
    pub differs: &'static str,
}

const fn habit(typed: &'static str, dwell: &'static str, differs: &'static str) -> PeerHabit {
    PeerHabit { typed, dwell, differs }
}

/// Every tool, in the order of the page.
pub const PEER_TOOLS: &[PeerTool] = &[
    PeerTool {
        name: "VTune",
        habits: &[
            habit(
                "`vtune -collect threading -- ./app`",
                "`dwell collect threading -- ./app`",
                "Always from the kernel's context switches (as VTune's hardware mode), and yet with objects by name. Nothing is loaded into the program for it",
            ),
            habit(
                "`vtune -collect hotspots -- ./app`",
                "the same; then `dwell report hotspots`",
                "CPU samples are always recorded",
            ),
            habit(
                "`-target-pid 4242 -duration 10`",
                "`dwell collect threading --target-pid 4242 --duration 10s`",
                "Times have units",
            ),
            habit(
                "`-target-process nginx`",
                "`dwell collect threading --target-process nginx --duration 10s`",
                "All processes of this name",
            ),
            habit(
                "`-resume-after 5`",
                "`dwell collect threading --resume-after 5s -- ./app`",
                "`__itt_pause` and `__itt_resume` work, too",
            ),
            habit(
                "`-strategy ld-linux.so.2:nt:nt`",
                "`dwell collect threading --strategy sh:notrace:trace -- sh -c ./app`",
                "The words are written out",
            ),
            habit("`-no-follow-child`", "`dwell collect threading --no-follow-child -- ./app`", ""),
            habit(
                "`vtune -command pause`, `resume`, `stop`, `mark`, `detach`",
                "`dwell control pause`, `resume`, `stop`, `mark TEXT`, `cancel`",
                "Also `status` and `snapshot`: a result of what was recorded so far ([live](live.md))",
            ),
            habit(
                "`-ring-buffer 30`",
                "`dwell collect threading --ring-buffer 30s --target-pid 4242 --duration 60s`",
                "",
            ),
            habit("`-knob sampling-interval=0.25`", "`dwell collect threading --sampling-interval 250us -- ./app`", ""),
            habit(
                "`-data-limit 500`",
                "`dwell collect threading --data-limit 500 -- ./app`",
                "No limit is the default",
            ),
            habit("`-app-working-dir /tmp`", "`dwell collect threading --app-working-dir /tmp -- ./app`", ""),
            habit(
                "`-finalization-mode=deferred`, `vtune -finalize`",
                "`dwell collect threading --finalization-mode deferred -- ./app`, `dwell finalize r003th`",
                "",
            ),
            habit("`-search-dir`", "`dwell collect threading --search-dir ./build -- ./app`", ""),
            habit(
                "`-target-system=ssh:user@host`",
                "`dwell collect threading --target ssh:user@host -- ./app`",
                "Nothing has to be installed there ([remote](remote.md))",
            ),
            habit(
                "`vtune -report summary -r r000tr`",
                "`dwell report summary r000th`",
                "Also printed after each collection",
            ),
            habit(
                "`-report hotspots -group-by module`",
                "`dwell report hotspots --group-by module`",
                "Up to three levels: `--group-by object,function`",
            ),
            habit("`-report top-down`, `-report callstacks`", "`dwell report top-down`, `dwell report bottom-up`", ""),
            habit("`-report gprof-cc`", "`dwell report caller-callee push_item`", ""),
            habit(
                "`-report hotspots -source-object function=push_item`",
                "`dwell source push_item`",
                "Source and assembly are kept in the result",
            ),
            habit(
                "`-filter module=app`, `-filter-out`",
                "`dwell report hotspots --filter module=app`, `--exclude`",
                "Also `thread=worker*`, `object=`, `wait-length=10ms-`, `waker=`, …",
            ),
            habit("`-time-filter 0:0.1`", "`dwell report hotspots --time-range 0-100ms`", ""),
            habit("`-call-stack-mode user-plus-one`", "`dwell report top-down --call-stack-mode user+1`", ""),
            habit(
                "`-format csv -report-output x.csv`",
                "`dwell report hotspots --format csv -o x.csv`",
                "Exact numbers; `--format json` is one, too",
            ),
            habit(
                "`vtune -report hotspots -r r000 -r r001`",
                "`dwell compare r000th r001th`",
                "`--fail-if 'elapsed>+10%'` makes it a gate",
            ),
            habit(
                "`-knob target-concurrency=8`",
                "`dwell collect threading --target-concurrency 8 -- ./app`",
                "Can be changed afterwards, in each report",
            ),
            habit(
                "`vtune-gui r000tr`, `vtune-backend`",
                "`dwell view r000th`",
                "In the browser, on 127.0.0.1; one binary",
            ),
            habit(
                "`INTEL_LIBITTNOTIFY64=…`",
                "nothing",
                "Programs that Dwell starts find it by themselves; for others `dwell env` prints it ([itt](itt.md))",
            ),
            habit(
                "Task and counter analysis",
                "`dwell report tasks`, `counters`, `correlation`",
                "Without ITT: `--task-probe push=uprobe:push_item`",
            ),
        ],
    },
    PeerTool {
        name: "perf",
        habits: &[
            habit(
                "`perf record -g ./app`, `perf report`",
                "`dwell collect threading -- ./app`, `dwell report hotspots`",
                "Samples by CPU time; `--events cache-misses` counts events ([events](events.md)). Stacks need no frame pointers and no `--call-graph dwarf` copies",
            ),
            habit(
                "`perf report --no-children`, `--children`",
                "`dwell report hotspots`, `dwell report top-down`",
                "Self, and self with total",
            ),
            habit("`perf report --sort comm,dso`", "`dwell report hotspots --group-by thread-name,module`", ""),
            habit(
                "`perf annotate push_item`",
                "`dwell source push_item`",
                "Source lines with CPU time and waits beside each other; `--show assembly`",
            ),
            habit(
                "`perf record -p 4242 -- sleep 10`",
                "`dwell collect threading --target-pid 4242 --duration 10s`",
                "",
            ),
            habit(
                "`perf record --off-cpu`",
                "the same recording; `dwell report waits`",
                "Objects by name, and who ended the wait. `--off-cpu` has stacks only",
            ),
            habit(
                "`perf sched record`, `perf sched timehist -w`",
                "`dwell report transitions`, `dwell report threads`",
                "Your program's threads, or with `--all` the machine's; wakers with their stacks",
            ),
            habit(
                "`perf sched latency`",
                "`dwell report threads` (Runnable), `dwell report latency` (`wake-up to running`)",
                "Percentiles of single wake-ups need `dwell collect latency`",
            ),
            habit("`perf lock contention`", "`dwell report waits --group-by object,function`", "User-space locks, too"),
            habit(
                "`perf trace -s ./app`",
                "`dwell report waits --group-by object-type`",
                "Only calls that wait. All calls: `--analyze threading,system`, as rates",
            ),
            habit("`perf diff old.data new.data`", "`dwell compare r000th r001th`", "By function, object or thread"),
            habit(
                "`perf script`",
                "`dwell export folded`, `dwell report timeline --format csv`",
                "All events are in the result's Parquet tables ([trace format](trace-format.md))",
            ),
            habit(
                "`perf stat -e cycles,page-faults ./app`",
                "`dwell collect threading --events cycles,page-faults -- ./app`, `dwell report events`",
                "For each thread",
            ),
            habit(
                "`perf record -e intel_pt//u`",
                "`dwell pt perf.data`",
                "Dwell reads what perf recorded ([latency](latency.md#instruction-traces-dwell-pt))",
            ),
        ],
    },
    PeerTool {
        name: "strace",
        habits: &[
            habit(
                "`strace -f -c ./app`",
                "`dwell collect threading -- ./app`, `dwell report waits`",
                "Only calls that made a thread wait, with the time that it really waited. The program is not stopped at each call: on a futex ping-pong strace takes 28.8 times as long, Dwell 1.45 times ([benchmarks](benchmarks.md))",
            ),
            habit(
                "`strace -f -T -e futex ./app`",
                "`dwell report waits --filter object-type=mutex`",
                "The lock by name, not by address; and `dwell report blame queue_lock`",
            ),
            habit("`strace -f -p 4242`", "`dwell collect threading --target-pid 4242 --duration 10s`", ""),
            habit("`strace -k`", "`dwell report waits --group-by object,call-stack`", ""),
            habit(
                "`strace -e network`",
                "`dwell collect threading --analyze threading,sockets -- ./app`, `dwell report sockets`, `dwell report socket-waits`",
                "Bytes, causes and the other end; no arguments",
            ),
            habit(
                "`strace -e trace=openat`",
                "–",
                "Dwell shows no arguments of calls and no failed ones: keep strace for those",
            ),
        ],
    },
    PeerTool {
        name: "async-profiler",
        habits: &[
            habit(
                "`asprof -e wall -d 30 -f out.html PID`",
                "`dwell collect threading --target-pid PID --duration 30s`, `dwell report --html out.html`",
                "Waits are counted, not sampled. All threads, native ones too; no agent in the JVM",
            ),
            habit("`asprof -e cpu`", "`dwell report hotspots`", ""),
            habit(
                "`asprof -e lock`",
                "`dwell report waits --filter object-type=jvm-monitor`",
                "Monitors and locks of `java.util.concurrent` by class, with their owners ([symbols](symbols.md#java-locks))",
            ),
            habit("`asprof -t`", "`dwell report hotspots --group-by thread-name,function`, `dwell report threads`", ""),
            habit("`asprof -e alloc`", "–", "Dwell does not look at allocations"),
        ],
    },
    PeerTool {
        name: "Perfetto",
        habits: &[
            habit(
                "`perfetto -o t.pftrace sched/sched_switch sched/sched_waking`",
                "`dwell collect threading --target-process app --duration 10s`",
                "Your program's threads, or with `--all` the machine's, with stacks and objects",
            ),
            habit(
                "ui.perfetto.dev",
                "`dwell view r000th`",
                "Served by this machine, to this machine; nothing is uploaded",
            ),
            habit(
                "Slices: `TRACE_EVENT`, atrace",
                "ITT tasks, or `--task-probe push=uprobe:push_item`, then `dwell report tasks`",
                "",
            ),
            habit("Thread states table", "`dwell report timeline --format csv -o timeline.csv`", ""),
            habit(
                "`trace_processor -q query.sql`",
                "DuckDB, Polars or pandas on `r000th/tables/*.parquet`",
                "One table a file ([trace format](trace-format.md))",
            ),
            habit(
                "Ring buffer, triggers",
                "`dwell collect latency --trigger 'wait>100ms' --target-process app`",
                "Keeps what was recorded before a long interval ([latency](latency.md#flight-recorder---trigger))",
            ),
        ],
    },
    PeerTool {
        name: "top, htop",
        habits: &[
            habit(
                "`htop`",
                "`dwell top`",
                "Threads that wait are in it: for what, and who has that. Running and run queue are the kernel's own accounts, of each thread",
            ),
            habit("`H` (threads)", "Enter on a process, or `g`", ""),
            habit(
                "`htop -p 4242`, `F4`",
                "`dwell top -p 4242`, `/`",
                "Also `--container web`, `--unit nginx`, `--cgroup …`",
            ),
            habit(
                "`S`, `D` in the state column",
                "LOCK, COND, NET, DISK, PIPE, POLL, SLEEP",
                "Per cent of a thread's time, not the state at one instant",
            ),
            habit("`s` (strace of a process)", "`e`", "An exact collection of two seconds, and its causes"),
            habit("`top -b -n 1`", "`dwell top --once`", "`--format json`, `csv`"),
            habit("`systemd-cgtop`", "`dwell top --group-by cgroup`", ""),
        ],
    },
    PeerTool {
        name: "bcc, FlameGraph",
        habits: &[
            habit(
                "`offcputime-bpfcc -df -p PID 10 > out.stacks`, `flamegraph.pl --color=io`",
                "`dwell collect threading --target-pid PID --duration 10s`, `dwell report --html out.html`",
                "The flame graph is in the page, and in `dwell view`; running and waiting in one",
            ),
            habit(
                "the widest towers",
                "`dwell report top-down --metric wait_ns,wait_count`",
                "Idle workers are told apart and ranked last, so that they do not hide the rest",
            ),
            habit(
                "`wakeuptime`, `offwaketime`",
                "`dwell report transitions`, `dwell report blame queue_lock`",
                "Not only the waker's stack: what the holder did during the whole wait, and whether it waited itself",
            ),
            habit("`cpudist -O`, `runqlat`", "`dwell report threads`, `dwell report latency`", ""),
            habit(
                "frame pointers everywhere",
                "nothing",
                "Stacks are unwound by the program's unwind tables, in the kernel ([stacks](benchmarks-stacks.md))",
            ),
        ],
    },
];

/// What a word of another tool is here, such as an option or a report's name: the row of the tables that has it.
pub fn meaning_of(word: &str) -> Option<String> {
    let is_word = word.len() > 3 && word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
    let place = |habit: &PeerHabit| spans(habit.typed).position(|span| tokens(span).any(|token| token == word));
    let mut all = PEER_TOOLS.iter().flat_map(|tool| tool.habits);
    let command = all.find_map(|habit| own_command(habit, place(habit).filter(|_| is_word)?))?;
    Some(format!("{command} is the same here"))
}

/// The error that names what is here in the place of another tool's command, such as `perf script`; none where no row begins
/// with these words.
pub fn of_command(words: &[OsString]) -> Option<NearestCommand> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let begins = |span: &'static str| {
        let known = tokens(span).skip(1).take_while(|token| !token.starts_with(['-', '.']));
        known.zip(&words).take_while(|(one, other)| one == *other).count()
    };
    let perf = PEER_TOOLS.iter().filter(|tool| tool.name == "perf").flat_map(|tool| tool.habits);
    let spans = perf.flat_map(|habit| spans(habit.typed).enumerate().map(move |(at, span)| (begins(span), at, habit)));
    let best = spans.filter(|(same, ..)| *same > 0);
    let (same, at, row) = best.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    let name = words.get(..same).unwrap_or_default().join(" ");
    // Without the link at its end.
    let differs = row.differs.split(" ([").next().unwrap_or_default();
    let message = format!("`{name}` of perf is another command in Dwell");
    own_command(row, at)
        .map(|command| NearestCommand { details: differs.into(), ..NearestCommand::new(message, command) })
}

/// The command of Dwell in a row that stands at the same place as what is typed, else the row's first.
fn own_command(habit: &PeerHabit, place: usize) -> Option<&'static str> {
    let is_command = |span: &&str| span.starts_with("dwell ");
    spans(habit.dwell).nth(place).filter(is_command).or_else(|| spans(habit.dwell).find(is_command))
}

/// What stands in backticks.
fn spans(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// The words of a command, `-name=value` as `-name`.
fn tokens(command: &'static str) -> impl Iterator<Item = &'static str> {
    command.split_whitespace().map(|word| match word.strip_prefix('-') {
        Some(_) => word.split('=').next().unwrap_or(word),
        None => word,
    })
}
