//! CPU time that does no work: spinning, and making threads that hardly live.

use std::collections::BTreeMap;

use dwell_model::MessageDef;
use dwell_model::{FindingDef, Reason, StackId, ThreadId};
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::question::query::Query;
use dwell_view::{Sentence, Word};

use crate::findings::claim::Claim;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::{def, say};
use crate::study::explain::runs_scripts;

/// CPU time burnt while waiting.
pub const SPINNING: FindingDef = FindingDef {
    id: "spinning",
    title: "Spinning",
    help: "Threads burn CPU time while they logically wait. Concluded from samples in functions that spin, by the table \
           of patterns per runtime.",
    advice: "Block after a short spin (an adaptive mutex instead of a spin lock), hold the spin lock for less, or give \
             idle workers a way to sleep (OMP_WAIT_POLICY=passive). For MPI: give the ranks equal work; ranks that wait \
             leave the CPU to others with --mca mpi_yield_when_idle 1.",
    japanese_title: "スピン",
    japanese_advice: "短いスピンの後にブロックする (スピンロックの代わりにアダプティブ・ミューテックス)、\
                      スピンロックの保持を短くする、仕事のないワーカーを眠らせる (OMP_WAIT_POLICY=passive)。MPI ではランクの仕事を均等にします。待つランクは \
                      --mca mpi_yield_when_idle 1 で CPU を譲ります。",
};

/// Part of the CPU time from which it matters …
const SPIN_SHARE: f64 = 0.1;
/// … and of the elapsed time: runtimes spin for a moment before each sleep.
const SPIN_ELAPSED: f64 = 0.02;
/// Part of the CPU time in which more threads are ready than CPUs, if those that spin keep others from them.
const CROWDED_SHARE: f64 = 0.3;

pub fn spinning(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let spin_ns = evidence.whole.spin_ns();
    let is_much = spin_ns as f64 >= SPIN_SHARE * evidence.whole.cpu_ns() as f64
        && spin_ns as f64 >= SPIN_ELAPSED * evidence.elapsed_ns as f64;
    if spin_ns == 0 || !is_much {
        return Vec::new();
    }
    let shown = Claim::is("summary", evidence.fold.query, "spin_ns", spin_ns);
    let mut finding = without_work(evidence, (spin_ns, shown), &def::SPINNING, Weights::spin_ns);
    // Where more threads are ready than CPUs, each that spins keeps one from a CPU meanwhile.
    let crowded = evidence.fold.sums.levels.oversubscribed_ns as f64 / evidence.whole.cpu_ns().max(1) as f64;
    if crowded >= CROWDED_SHARE {
        finding.cost_ns = finding.cost_ns.saturating_add((spin_ns as f64 * crowded.min(1.0)) as u64);
    }
    vec![finding]
}

/// CPU time that goes into taking locks.
pub const LOCK_TRAFFIC: FindingDef = FindingDef {
    id: "lock-traffic",
    title: "Lock traffic",
    help: "Threads take and release locks so often that this alone takes much of their CPU time. Each time, the lock's cache line \
           moves from CPU to CPU, though hardly anybody waits for it. Concluded from samples in functions that take or release locks.",
    advice: "Take the lock less often: do more each time (a batch), give each thread its own part and add up at the end, or read \
             what seldom changes through a copy of the thread or an atomic pointer. A read-write lock helps nothing here: its \
             readers write to it, too.",
    japanese_title: "ロックの過剰な取得",
    japanese_advice: "ロックを取る回数を減らしてください。1 回にまとめて処理する、スレッドごとに持って最後に合計する、\
                      めったに変わらないデータはスレッドごとのコピーやアトミックなポインターで読む、など。リーダー・ライター・ロックの読み手もロックに書き込むため、ここでは役に立ちません。",
};

/// Part of the CPU time from which it matters …
const LOCK_TRAFFIC_SHARE: f64 = 0.25;
/// … and of the elapsed time.
const LOCK_TRAFFIC_ELAPSED: f64 = 0.1;

pub fn lock_traffic(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let locking_ns = evidence.whole.locking_ns();
    let is_much = locking_ns as f64 >= LOCK_TRAFFIC_SHARE * evidence.whole.cpu_ns() as f64
        && locking_ns as f64 >= LOCK_TRAFFIC_ELAPSED * evidence.elapsed_ns as f64;
    if locking_ns == 0 || !is_much {
        return Vec::new();
    }
    let at_least = Claim::at_least("summary", evidence.fold.query, "overhead_ns", locking_ns);
    vec![without_work(evidence, (locking_ns, at_least), &def::LOCK_TRAFFIC, Weights::locking_ns)]
}

/// The finding that so many ns of CPU time did no work, and where they are shown; `ns_of` has those of a site.
fn without_work(
    evidence: &Evidence<'_, '_>,
    (ns, shown): (u64, Claim),
    sentence: &'static MessageDef,
    ns_of: impl Fn(&Weights) -> u64,
) -> Finding {
    let fold = evidence.fold;
    let cpu_ns = evidence.whole.cpu_ns();
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        *places.entry(fold.sums.stacks.shown(site.key.stack)).or_default() += ns_of(&weights);
    }
    let stack = heaviest(&places);
    let function = fold.sums.stacks.function_name(fold.sums.stacks.function(stack));
    let values = vec![
        ("spent", Word::Ns(ns)),
        ("share", Word::part(ns, cpu_ns)),
        ("part", Word::part(places.get(&stack).copied().unwrap_or(0), ns)),
        ("function", function.into()),
        ("place", fold.sums.stacks.place(stack).into()),
    ];
    let claims = vec![shown, Claim::is("summary", fold.query, "cpu_ns", cpu_ns)];
    Finding {
        subject: function.into(),
        evidence: Sentence::new(sentence, values).into(),
        stack,
        cost_ns: ns,
        claims,
        ..Finding::default()
    }
}

/// Many threads that hardly live.
pub const THREAD_CHURN: FindingDef = FindingDef {
    id: "thread-churn",
    title: "Thread churn",
    help: "The program makes many threads that end soon. Each costs its creation, its first wait for a CPU, its stack's \
           page faults and its end.",
    advice: "Keep a pool of threads and give them the work.",
    japanese_title: "スレッドの頻繁な作成",
    japanese_advice: "スレッドのプールを保持し、それに仕事を渡してください。",
};

/// Many processes that hardly live.
pub const PROCESS_CHURN: FindingDef = FindingDef {
    id: "process-churn",
    title: "Process churn",
    help: "The program makes many processes that end soon. Each costs a fork, the copy of the parent's page tables, an exec with \
           the loading of its libraries, and its end.",
    advice: "Do the work in the process that asks for it, give one process many items (xargs -n 1000, a batch mode, a server \
             that stays), or use what the shell has built in instead of a program for each line.",
    japanese_title: "プロセスの頻繁な作成",
    japanese_advice: "必要とするプロセス自身で処理する、1 つのプロセスに多くの項目を渡す (バッチモード、常駐サーバー)、\
                      行ごとにプログラムを起動せずシェルの組み込み機能を使う、のいずれかにしてください。",
};

/// Short-lived threads from which it is churn.
const CHURN_COUNT: usize = 100;
/// Threads per second of elapsed time.
const CHURN_PER_SECOND: f64 = 50.0;
/// Longest life of a short-lived thread.
const SHORT_LIFE_NS: u64 = 20_000_000;
/// What a thread's creation and end cost at least: clone, stack, scheduler, exit and join on today's machines.
const LIFE_COST_NS: u64 = 20_000;
/// The same of a process that runs a program with some libraries, …
const PROCESS_COST_NS: u64 = 500_000;
/// … and of one that starts an interpreter, which lives longer if it does nothing.
const INTERPRETER_COST_NS: u64 = 20_000_000;
const INTERPRETER_LIFE_NS: u64 = 100_000_000;
/// Programs that are named, at most.
const NAMED: usize = 3;

/// Threads that end soon after another one of the program made them.
struct Churn {
    rows: Vec<usize>,
    per_second: f64,
    lives_ns: u64,
    /// Their time in run queues before they first ran, ns, and all of it.
    queued_ns: u64,
    all_queued_ns: u64,
    /// Where most were made.
    stack: StackId,
}

impl Churn {
    /// The first threads of processes, or all others; none where they are few.
    fn of(evidence: &Evidence<'_, '_>, processes: bool) -> Option<Self> {
        let fold = evidence.fold;
        let (threads, pids) = (&fold.trace.threads, &fold.trace.processes.pid);
        let is_first = |thread: usize| {
            threads.process[thread].get().is_some_and(|process| pids.get(process) == Some(&threads.tid[thread]))
        };
        let inside =
            |thread: &usize| fold.sums.windows.contains(threads.start_ns[*thread]) && is_first(*thread) == processes;
        let life = |thread: &usize| threads.end_ns[*thread].saturating_sub(threads.start_ns[*thread]);
        let is_short = |thread: &usize| {
            let longest_ns = if processes { longest_life_ns(&threads.name[*thread]) } else { SHORT_LIFE_NS };
            threads.exited[*thread] && life(thread) <= longest_ns && threads.parent[*thread].is_some()
        };
        let rows: Vec<usize> = (0..threads.tid.len()).filter(inside).filter(is_short).collect();
        let per_second = rows.len() as f64 * 1e9 / evidence.elapsed_ns.max(1) as f64;
        if rows.len() < CHURN_COUNT || per_second < CHURN_PER_SECOND {
            return None;
        }
        let lives_ns = rows.iter().map(life).sum();
        let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
        let mut queued_ns = 0u64;
        let of_these = |thread: ThreadId| thread.get().is_some_and(|thread| is_first(thread) == processes);
        let starts = |site: &Site| site.key.reason == Some(Reason::Starting) && of_these(site.key.thread);
        for (_, site, weights) in fold.selected_if(starts) {
            queued_ns = queued_ns.saturating_add(total(&weights.runnable));
            // Who starts a thread wakes it for the first time.
            *places.entry(site.key.waker_stack).or_default() += weights.switches;
        }
        let of_rows = |site: &Site| site.key.thread.get().is_some_and(|thread| rows.binary_search(&thread).is_ok());
        let all_queued_ns = fold.selected_if(of_rows).map(|(.., weights)| total(&weights.runnable)).sum();
        Some(Self { rows, per_second, lives_ns, queued_ns, all_queued_ns, stack: heaviest(&places) })
    }

    /// Average, ns.
    fn life_ns(&self) -> u64 {
        self.lives_ns / self.rows.len().max(1) as u64
    }

    /// Their names, those of most first, each with how many have it.
    fn names<'t>(&self, evidence: &Evidence<'_, 't>) -> Vec<(&'t str, usize)> {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &self.rows {
            *names.entry(&evidence.fold.trace.threads.name[*row]).or_default() += 1;
        }
        let mut names: Vec<(&str, usize)> = names.into_iter().collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        names
    }

    /// The name that most of them have.
    fn name<'t>(&self, evidence: &Evidence<'_, 't>) -> &'t str {
        self.names(evidence).first().map_or("", |(name, _)| name)
    }

    /// What each of them costs beside its work, ns, by what a process with its name does.
    fn process_costs_ns(&self, evidence: &Evidence<'_, '_>) -> u64 {
        let threads = &evidence.fold.trace.threads;
        let cost = |row: &usize| {
            let life_ns = threads.end_ns[*row].saturating_sub(threads.start_ns[*row]);
            let starts = runs_scripts(&threads.name[*row]);
            life_ns.min(if starts { INTERPRETER_COST_NS } else { PROCESS_COST_NS })
        };
        self.rows.iter().map(cost).sum()
    }

    /// With what all of them cost beside their work.
    fn finding(&self, query: &Query, costs_ns: u64, subject: String, text: Sentence) -> Vec<Finding> {
        let claims = vec![
            Claim::at_least("summary", query, "threads", self.rows.len() as u64),
            Claim::at_least("summary", query, "preemption_ns", self.queued_ns),
        ];
        let cost_ns = self.all_queued_ns.saturating_add(costs_ns);
        vec![Finding { subject, evidence: text.into(), stack: self.stack, cost_ns, claims, ..Finding::default() }]
    }
}

pub fn thread_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let Some(churn) = Churn::of(evidence, false) else { return Vec::new() };
    let text = say!(
        THREAD_CHURN,
        threads = churn.rows.len(),
        rate = Word::Real(churn.per_second, 0),
        life = Word::Ns(churn.life_ns()),
        queued = Word::Ns(churn.queued_ns),
    );
    let costs_ns = LIFE_COST_NS * churn.rows.len() as u64;
    churn.finding(evidence.fold.query, costs_ns, format!("threads named {}", churn.name(evidence)), text)
}

pub fn process_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let Some(churn) = Churn::of(evidence, true) else { return Vec::new() };
    let names = churn.names(evidence);
    let more = if names.len() > NAMED { ", …" } else { "" };
    let named: Vec<String> = names.iter().take(NAMED).map(|(name, count)| format!("{count} {name}")).collect();
    let text = say!(
        PROCESS_CHURN,
        processes = churn.rows.len(),
        names = format!("{}{more}", named.join(", ")),
        rate = Word::Real(churn.per_second, 0),
        life = Word::Ns(churn.life_ns()),
        queued = Word::Ns(churn.queued_ns),
    );
    churn.finding(
        evidence.fold.query,
        churn.process_costs_ns(evidence),
        format!("processes named {}", churn.name(evidence)),
        text,
    )
}

/// How long a process with a name lives at most, if starting it was most of that, ns.
fn longest_life_ns(name: &str) -> u64 {
    if runs_scripts(name) { INTERPRETER_LIFE_NS } else { SHORT_LIFE_NS }
}
