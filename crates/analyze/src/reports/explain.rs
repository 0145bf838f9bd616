//! Where the time went: the root causes of waits, the largest first, each with its chains and what to do about it.

use dwell_view::{Prose, Row, Sentence, Value, View, Word, duration};

use crate::engine::fold::Fold;
use crate::findings::{self, Finding, QueueReason};
use crate::question::error::QueryError;
use crate::reports::advice::advice;
use crate::sentences::say;
use crate::study::explain::{Cause, CauseKind, Explanation, Link, NOTHING, RootCause, explain as explanation_of};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "who", "Who", "The role of threads whose time it was: process and thread name without numbers, or the start function.",
        "スレッドの役割", "原因となった時間を過ごしたスレッドの役割。プロセス名とスレッド名 (番号を除く)、または開始関数。";
    plain "kind", "Kind", "What they did: running, garbage-collection, run-queue, slept, timed-out, unfinished, outside (a program or kernel thread that is not recorded), network, timer, device, interrupt, unknown, unborn, ended, circle. Of waits for a CPU: cpu-quota, cpus-taken, oversubscription.",
        "種類", "していたこと: 実行、ガベージ・コレクション、実行キュー、スリープ、タイムアウト、未完了、記録外のプログラム、ネットワーク、タイマー、デバイス、割り込み、不明、未生成、終了済み、循環。CPU への待機では CPU クォータ、他のプログラム、スレッドの過多。";
    plain "place", "Place", "Where in the program.",
        "場所", "プログラムの中の場所。";
    plain "wait_ns", "Explained Waits", "Wait time of all threads that is because of it; the causes add up to the waits on others. Of waits for a CPU: time in run queues.",
        "説明される待機", "これが原因の、すべてのスレッドの待機時間。原因の合計は他への待機の合計です。CPU への待機では実行キューの時間。";
    plain "wall_ns", "Wall Time", "Time in which anybody was delayed by it.",
        "影響時間", "これによって誰かが遅れていた時間。";
    plain "share", "Share", "Part of the elapsed time in which anybody was delayed by it.",
        "割合", "経過時間のうち、これによって誰かが遅れていた割合。";
    plain "path_ns", "Time on Path", "Its part of the elapsed time, by the chain that ends with the program; none where the program did not end by itself.",
        "パス時間", "プログラムの終了に至る連鎖で、これが占める時間。プログラムが自ら終了していない場合はありません。";
    detail "cause", "Cause", "What it is, in words.",
        "原因", "原因を言葉で示したもの。";
    detail "waited_for", "Waited for", "What they waited for themselves, where they waited.",
        "待機の対象", "原因のスレッド自身が待っていた対象。";
    detail "behind", "Behind", "Who had the CPU that they were ready for.",
        "先行", "待っていた CPU を使っていたスレッドの役割。";
    detail "chain", "Chain", "Who waited for what, the largest chain first link first: each because of the next, the last one because of this.",
        "連鎖", "誰が何を待ったか。最大の連鎖を最初の待機から示します。それぞれ次の待機が原因で、最後はこの原因です。";
    detail "chains", "Chains", "All that is known of the chains, each as one line with its time.",
        "すべての連鎖", "分かっている連鎖を、時間とともに 1 行ずつ示します。";
    detail "advice", "Advice", "What to do about it.",
        "対策", "どうすればよいか。";
    detail "text", "Text", "The whole of it as a paragraph.",
        "テキスト", "全体を 1 段落で示したもの。";
    detail "stack", "Stack", "Where, leaf first.",
        "スタック", "場所。末端の関数から順に示します。";
}

/// Part of the elapsed time from which a cause is told in the summary …
const TOLD_SHARE: f64 = 0.01;
/// … and time, ns: nobody looks for a few milliseconds, and loading a program takes as long.
const TOLD_NS: u64 = 10_000_000;
/// … or this part of the elapsed time, in a program that is too short for that.
const SHORT_SHARE: f64 = 0.1;
/// A sleep or a device that only the program's end waited for is told from this part of its time on.
const END_SHARE: f64 = 0.1;
/// Stays in run queues must have delayed somebody for so many times longer than other causes.
const RUN_QUEUE_FACTOR: u64 = 5;
/// Part of the elapsed time from which the run queue's account is told.
const QUEUE_SHARE: f64 = 0.02;
/// Intervals that are explained in the summary, at most: it is to be there at once.
const ROWS_IN_SUMMARY: usize = 1_000_000;
/// Causes in the summary.
const IN_SUMMARY: usize = 3;
/// Part of a cause's time from which one more place that calls is named.
const CALLER_SHARE: f64 = 0.1;
/// Links of a chain in a line.
const LINKS: usize = 4;
/// Parts of the path that are named.
const ON_PATH: usize = 3;

/// The report. Fails when it is asked for somebody who is not there.
pub fn explain(fold: &Fold<'_>) -> Result<View, QueryError> {
    let explanation = explanation_of(fold);
    if explanation.no_waiter_matches {
        let name = fold.query.waiters.as_deref().unwrap_or_default();
        let objects = fold.trace.objects.name.iter().map(String::as_str);
        return Err(QueryError::unknown("role, thread or object", name, explanation.names.roles().chain(objects)));
    }
    let told = cause_rows(fold, &explanation, 0);
    let mut view = View { columns: columns_of(COLUMNS), ..View::default() };
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    view.rows = told.iter().take(limit).map(|told| told.row(fold, &explanation)).collect();
    view.notes = notes(fold);
    view.notes.extend(accounts(&explanation));
    view.notes.extend(cut_note(told.len().saturating_sub(limit)));
    Ok(view)
}

/// What a row tells.
enum CauseRow<'e> {
    /// Why threads waited.
    Wait(&'e RootCause),
    /// Why they were ready and had no CPU: by the account of the run queue, its time, ns.
    Queue(QueueReason, Finding, u64),
}

/// The causes, the largest first: those by which anybody was delayed for `least` ns or more, or the program's end. Stays in
/// run queues delay everybody a little, on any machine.
fn cause_rows<'e>(fold: &Fold<'_>, explanation: &'e Explanation<'_, '_>, least: u64) -> Vec<CauseRow<'e>> {
    let is_told = |root: &&RootCause| {
        let least = if root.cause.kind == CauseKind::RunQueue { RUN_QUEUE_FACTOR * least } else { least };
        let of_end = on_path_alone(root) as f64 >= END_SHARE * explanation.path_ns as f64;
        (root.wall_ns >= least.max(1) || (of_end && on_path_alone(root) >= least.max(1))) && !root.cause.no_work
    };
    let mut told: Vec<CauseRow<'e>> = explanation.causes.iter().filter(is_told).map(CauseRow::Wait).collect();
    told.extend(queued(fold, explanation));
    told.sort_by_key(|told| std::cmp::Reverse(told.ns()));
    told
}

/// Its part of the program's time, where it is what a program would not do if it had anything to do: a sleep, or a device.
fn on_path_alone(root: &RootCause) -> u64 {
    use CauseKind::{Device, IoQuota, MemoryLimit, Slept};
    if matches!(root.cause.kind, Slept | Device | IoQuota | MemoryLimit) { root.path_ns } else { 0 }
}

/// Who had the CPUs, where that is much: each with its part of the run queue's time.
fn queued(fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> Vec<CauseRow<'static>> {
    let (queue, running_ns) = (&explanation.run_queue, explanation.whole().running_ns);
    let least_ns = (findings::OWN_QUEUE_SHARE * running_ns as f64) as u64;
    let part = |(reason, finding): (QueueReason, Finding)| {
        let ns = match reason {
            QueueReason::Quota => queue.quota_ns,
            QueueReason::OtherPrograms => queue.others_ns,
            QueueReason::OwnThreads if queue.own_ns < least_ns => 0,
            QueueReason::OwnThreads => queue.own_ns,
        };
        (ns > 0).then_some(CauseRow::Queue(reason, finding, ns))
    };
    findings::of_run_queue(fold).into_iter().filter_map(part).collect()
}

impl CauseRow<'_> {
    /// Waits that it explains, or time in run queues, ns.
    fn ns(&self) -> u64 {
        match self {
            CauseRow::Wait(root) => root.wait_ns.max(on_path_alone(root)),
            CauseRow::Queue(.., ns) => *ns,
        }
    }

    fn row(&self, fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> Row {
        match self {
            CauseRow::Wait(root) => row(fold, explanation, root),
            CauseRow::Queue(reason, finding, ns) => queue_row(fold, explanation, (*reason, finding, *ns)),
        }
    }
}

/// The row of a wait for CPUs.
fn queue_row(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    (reason, finding, ns): (QueueReason, &Finding, u64),
) -> Row {
    let queue = &explanation.run_queue;
    let place = fold.stacks.place(finding.stack);
    let (wait, wall) = (Word::Ns(ns), Word::Ns(queue.wall_ns));
    let sentence = match reason {
        QueueReason::Quota => say!(CAUSE_QUOTA, group = finding.subject.as_str(), wait = wait, wall = wall),
        QueueReason::OtherPrograms => say!(CAUSE_CPUS_TAKEN, name = finding.subject.as_str(), wait = wait, wall = wall),
        QueueReason::OwnThreads => say!(CAUSE_OVERSUBSCRIBED, place = place.clone(), wait = wait, wall = wall),
    };
    let cause = Prose::from(sentence).then(finding.evidence.clone());
    Row {
        depth: 0,
        values: vec![
            Value::Text(explanation.busiest_queue().to_owned()),
            Value::Text(reason.finding().id.into()),
            place.map_or(Value::None, Value::Text),
            Value::Ns(ns),
            Value::Ns(queue.wall_ns),
            Value::Fraction(queue.wall_ns as f64 / explanation.elapsed_ns.max(1) as f64),
            Value::None,
            Value::Prose(cause.clone()),
            Value::None,
            Value::None,
            Value::None,
            Value::None,
            Value::Text(reason.finding().advice.into()),
            Value::Prose(cause),
            stack_value(fold, finding.stack),
        ],
    }
}

/// Why the summary leaves the explanation to this report; none where it has it.
pub fn left_out(fold: &Fold<'_>) -> Option<Prose> {
    let rows = fold.trace.events().off_cpu.count();
    (rows > ROWS_IN_SUMMARY).then(|| say!(EXPLAINED_APART, rows = rows).into())
}

/// What the summary says: the largest causes, and the account as its notes.
pub fn in_summary(fold: &Fold<'_>) -> View {
    let explanation = explanation_of(fold);
    let part = |share: f64| (explanation.elapsed_ns as f64 * share) as u64;
    let least = part(TOLD_SHARE).max(TOLD_NS.min(part(SHORT_SHARE)));
    let told = cause_rows(fold, &explanation, least);
    let mut view = View { columns: columns_of(COLUMNS), ..View::default() };
    view.rows = told.iter().take(IN_SUMMARY).map(|told| told.row(fold, &explanation)).collect();
    view.notes = accounts(&explanation);
    if told.is_empty() {
        let sentence = say!(
            NOT_HELD_UP,
            demand = Word::Ns(explanation.demand_ns),
            least = Word::Ns(least),
            queue = Word::Ns(explanation.run_queue.all_ns),
        );
        view.notes.push(sentence.into());
    } else if told.len() > IN_SUMMARY {
        let rest = told[IN_SUMMARY..].iter().map(CauseRow::ns).sum();
        view.notes.push(say!(CAUSES_CUT, causes = told.len() - IN_SUMMARY, wait = Word::Ns(rest)).into());
    }
    view
}

fn row(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Row {
    let names = &explanation.names;
    let chains = ordered(explanation, root);
    let advice = advice(explanation, root, &chains);
    let link = |link: &Link| link_text(explanation, link);
    let lines: Vec<String> =
        chains.iter().map(|(chain, ns)| format!("{}: {}", duration(*ns), chain_text(explanation, chain))).collect();
    let text = |text: &str| if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) };
    Row {
        depth: 0,
        values: vec![
            Value::Text(names.role(root.cause.role).to_owned()),
            Value::Text(root.cause.kind.id().into()),
            text(&root.at),
            Value::Ns(root.wait_ns),
            Value::Ns(root.wall_ns),
            Value::Fraction(root.wall_ns as f64 / explanation.elapsed_ns.max(1) as f64),
            if explanation.path_ns > 0 { Value::Ns(root.path_ns) } else { Value::None },
            Value::Prose(cause(explanation, root)),
            text(names.label(root.cause.label)),
            if root.cause.behind == NOTHING { Value::None } else { text(names.role(root.cause.behind)) },
            chains.first().map_or(Value::None, |(chain, _)| Value::Stack(chain.iter().map(link).collect())),
            if lines.is_empty() { Value::None } else { Value::Stack(lines) },
            Value::Prose(advice),
            Value::Prose(paragraph(explanation, root, &chains)),
            stack_value(fold, root.stack),
        ],
    }
}

/// The chains, those that begin with a lock first: their waiters lose time, where who waits for an answer wanted the work.
fn ordered<'e>(explanation: &Explanation<'_, '_>, root: &'e RootCause) -> Vec<&'e (Vec<Link>, u64)> {
    let mut chains: Vec<&(Vec<Link>, u64)> = root.chains.iter().collect();
    let is_contended = |(chain, ns): &(Vec<Link>, u64)| {
        chain.first().is_some_and(|link| explanation.names.is_lock(link.label)) && 10 * ns >= root.wait_ns
    };
    chains.sort_by_key(|chain| !is_contended(chain));
    chains
}

fn link_text(explanation: &Explanation<'_, '_>, link: &Link) -> String {
    let names = &explanation.names;
    let place = names.place(link.place).map_or("an unknown place", |place| place.at.as_str());
    format!("{} waited for {} at {place}", names.role(link.role), names.label(link.label))
}

fn chain_text(explanation: &Explanation<'_, '_>, chain: &[Link]) -> String {
    let links: Vec<String> = chain.iter().take(LINKS).map(|link| link_text(explanation, link)).collect();
    let more = if chain.len() > LINKS { " <- …" } else { "" };
    format!("{}{more}", links.join(" <- "))
}

/// What the cause is, with its numbers.
fn cause(explanation: &Explanation<'_, '_>, root: &RootCause) -> Prose {
    if root.wait_ns == 0 {
        return cause_of_the_end(explanation, root);
    }
    let (names, Cause { kind, role, label, behind, .. }) = (&explanation.names, root.cause);
    let (who, label) = (names.role(role), names.label(label));
    let place = root.place();
    let (wait, wall) = (Word::Ns(root.wait_ns), Word::Ns(root.wall_ns));
    let ended_by = match kind {
        CauseKind::Outside => "a program or kernel thread that is not recorded",
        CauseKind::Network => "the network",
        CauseKind::Timer => "a timer of the kernel",
        CauseKind::Device => "the device",
        CauseKind::Interrupt => "an interrupt",
        _ => "nobody who was seen",
    };
    let sentence = match kind {
        CauseKind::Slept => say!(CAUSE_SLEPT, who = who, place = place, wait = wait, wall = wall),
        CauseKind::Ran => say!(CAUSE_RAN, who = who, place = place, wait = wait, wall = wall),
        CauseKind::Collected => say!(CAUSE_COLLECTED, who = who, wait = wait, wall = wall),
        CauseKind::RunQueue if behind == NOTHING => say!(CAUSE_QUEUED, who = who, wait = wait, wall = wall),
        CauseKind::RunQueue => {
            say!(CAUSE_QUEUED_BEHIND, who = who, behind = names.role(behind), wait = wait, wall = wall)
        }
        CauseKind::TimedOut => {
            say!(CAUSE_TIMED_OUT, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::Unfinished => {
            say!(CAUSE_UNFINISHED, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::IoQuota => {
            say!(CAUSE_IO_QUOTA, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::MemoryLimit => {
            say!(CAUSE_MEMORY_LIMIT, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::Unborn => say!(CAUSE_UNBORN, who = who, wait = wait, wall = wall),
        CauseKind::Ended => say!(CAUSE_ENDED, who = who, wait = wait, wall = wall),
        CauseKind::Circle => say!(CAUSE_CIRCLE, who = who, wait = wait, wall = wall),
        CauseKind::Outside
        | CauseKind::Network
        | CauseKind::Timer
        | CauseKind::Device
        | CauseKind::Interrupt
        | CauseKind::Unknown => {
            say!(CAUSE_ENDED_BY, who = who, label = label, place = place, by = ended_by, wait = wait, wall = wall)
        }
    };
    Prose::from(sentence).and(called_by(root))
}

/// What the program's end waited for, and nobody else did.
fn cause_of_the_end(explanation: &Explanation<'_, '_>, root: &RootCause) -> Prose {
    let (who, place) = (explanation.names.role(root.cause.role), root.place());
    let (part, elapsed) = (Word::Ns(root.path_ns), Word::Ns(explanation.path_ns));
    let sentence = match root.cause.kind {
        CauseKind::Slept => say!(END_SLEPT, who = who, place = place, part = part, elapsed = elapsed),
        kind => {
            let label = explanation.names.label(root.cause.label);
            match kind {
                CauseKind::IoQuota => {
                    say!(END_IO_QUOTA, who = who, label = label, place = place, part = part, elapsed = elapsed)
                }
                CauseKind::MemoryLimit => {
                    say!(END_MEMORY_LIMIT, who = who, label = label, place = place, part = part, elapsed = elapsed)
                }
                _ => say!(END_DEVICE, who = who, label = label, place = place, part = part, elapsed = elapsed),
            }
        }
    };
    Prose::from(sentence).and(called_by(root))
}

/// The functions that call the place, those with a part of it.
fn called_by(root: &RootCause) -> Option<Sentence> {
    let whole_ns = root.wait_ns.max(root.path_ns) as f64;
    let is_much = |(_, ns): &&(String, u64)| *ns as f64 >= CALLER_SHARE * whole_ns;
    let callers: Vec<&str> = root.callers.iter().filter(is_much).take(2).map(|(caller, _)| caller.as_str()).collect();
    (!callers.is_empty()).then(|| say!(CAUSE_CALLED_BY, callers = callers.join(", ")))
}

/// All of it.
fn paragraph(explanation: &Explanation<'_, '_>, root: &RootCause, chains: &[&(Vec<Link>, u64)]) -> Prose {
    let chain = |(chain, ns): &&(Vec<Link>, u64)| {
        say!(CAUSE_CHAIN, time = Word::Ns(*ns), chain = chain_text(explanation, chain))
    };
    cause(explanation, root).and(chains.iter().take(2).map(chain).collect::<Vec<_>>())
}

/// The account of the threads' time, of the run queue's, and of the elapsed time.
fn accounts(explanation: &Explanation<'_, '_>) -> Vec<Prose> {
    let whole = explanation.whole();
    let account = say!(
        TIME_ACCOUNT,
        threads = whole.threads,
        life = Word::Ns(whole.life_ns),
        running = Word::Ns(whole.running_ns),
        queue = Word::Ns(whole.run_queue_ns),
        demand = Word::Ns(whole.demand_ns),
        structure = Word::Ns(whole.structure_ns),
        own = Word::Ns(whole.own_ns),
        idle = Word::Ns(whole.idle_ns),
    );
    let mut notes = vec![Prose::from(account)];
    let queue = &explanation.run_queue;
    if queue.all_ns as f64 >= QUEUE_SHARE * explanation.elapsed_ns as f64 {
        let names: Vec<String> =
            queue.rivals.iter().take(2).map(|(name, ns)| format!("{name} {}", duration(*ns))).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let sentence = say!(
            QUEUE_ACCOUNT,
            queue = Word::Ns(queue.all_ns),
            own = Word::Ns(queue.own_ns),
            waking = Word::Ns(queue.waking_ns),
            others = Word::Ns(queue.others_ns),
            names = names,
            quota = Word::Ns(queue.quota_ns),
            unknown = Word::Ns(queue.unknown_ns),
        );
        notes.push(sentence.into());
    }
    let on_path = on_path(explanation);
    if !on_path.is_empty() {
        let part = |(cause, ns): &(String, u64)| format!("{cause} {}", duration(*ns));
        let causes: Vec<String> = on_path.iter().take(ON_PATH).map(part).collect();
        notes.push(say!(PATH_CAUSES, elapsed = Word::Ns(explanation.path_ns), causes = causes.join("; ")).into());
    }
    notes
}

/// What determined the elapsed time, each cause in a few words with its part, the largest first.
fn on_path(explanation: &Explanation<'_, '_>) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    for root in explanation.causes.iter().filter(|root| root.path_ns > 0) {
        let cause = brief(explanation, root);
        match parts.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, ns)) => *ns += root.path_ns,
            None => parts.push((cause, root.path_ns)),
        }
    }
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    parts
}

/// A cause in a few words.
fn brief(explanation: &Explanation<'_, '_>, root: &RootCause) -> String {
    let (names, Cause { kind, role, label, .. }) = (&explanation.names, root.cause);
    let who = names.role(role);
    let place = root.place().unwrap_or_else(|| "an unknown place".to_owned());
    match kind {
        CauseKind::Slept => format!("{who} slept in {place}"),
        CauseKind::Ran => format!("{who} ran {place}"),
        CauseKind::Collected => format!("{who} collected garbage"),
        CauseKind::RunQueue => format!("{who} was in the run queue"),
        CauseKind::Unborn | CauseKind::Ended | CauseKind::Circle => {
            format!("{who} ({})", kind.id())
        }
        _ => format!("{who} waited for {} in {place}", names.label(label)),
    }
}
