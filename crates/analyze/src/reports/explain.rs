//! Where the time went: the root causes of waits, the largest first, each with its chains and what to do about it.

use std::collections::{BTreeSet, HashMap};

use dwell_model::ObjectId;
use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_query::question::handles::{object_handle, unknown_handle};
use dwell_view::{Prose, Row, Sentence, Value, View, Word, duration};

use crate::reports::account::account;
use crate::reports::account_words::accounts;
use crate::reports::advice::advice;
use crate::reports::cause_rows::{
    CauseRow, QueueRow, cause_rows, lock_of, ordered, with_reasons, without_unlocked_work,
};
use crate::reports::cause_words::{brief, cause, chain_text, link_text, paragraph};
use crate::reports::chain_links::chain_links;
use crate::reports::open_requests::{busiest_servers, wait_unexplained};
use crate::reports::queue_causes::QueueReason;
use crate::reports::same_lock::{SummaryCause, by_lock};
use crate::reports::summary_order::CauseWeight;
use crate::reports::told_causes::delay_ns;
use crate::reports::where_threads_hear::where_threads_hear;
use crate::reports::where_threads_sleep::where_threads_sleep;
use crate::reports::where_threads_wait::where_threads_wait;
use crate::sentences::say;
use crate::study::explain::{
    Explanation, Link, NOTHING, RootCause, asked_collections, estimate, explain as explanation_of, wait_place,
};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes_of_explanation;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "who", "Who", "The role of threads whose time it was: process and thread name without numbers, or the start function.",
        "スレッドの役割", "原因となった時間を過ごしたスレッドの役割。プロセス名とスレッド名 (番号を除く)、または開始関数。";
    detail "handle", "#", "Short name of the object that threads waited for in the largest chain, where it is one.",
        "#", "最大の連鎖でスレッドが待ったオブジェクトの短い名前。1 つの場合。";
    plain "kind", "Kind", "What they did: running, garbage-collection, run-queue, slept, timed-out, unfinished, outside (a program that is not recorded), open-requests (for which requests of others waited), accept-queue (connections of others waited to be accepted), kernel-thread, network, timer, device, interrupt, unknown, unborn, ended, circle, stopped. Of waits for a CPU: cpu-quota, cpus-taken, low-priority, oversubscription.",
        "種類", "していたこと: 実行、ガベージ・コレクション、実行キュー、スリープ、タイムアウト、未完了、記録外のプログラム、他からの要求が待った待機、受け付けを待つ接続、カーネルのスレッド、ネットワーク、タイマー、デバイス、割り込み、不明、未生成、終了済み、循環、シグナルによる停止。CPU への待機では CPU クォータ、他のプログラム、低い優先度、スレッドの過多。";
    plain "place", "Place", "Where in the program.",
        "場所", "プログラムの中の場所。";
    plain "wait_ns", "Explained Waits", "Wait time of all threads that is because of it; the causes add up to the waits on others. Of waits for a CPU: time in run queues.",
        "説明される待機", "これが原因の、すべてのスレッドの待機時間。原因の合計は他への待機の合計です。CPU への待機では実行キューの時間。";
    plain "wall_ns", "Wall Time", "Time in which anybody was delayed by it.",
        "影響時間", "これによって誰かが遅れていた時間。";
    plain "share", "Share", "Part of the elapsed time in which anybody was delayed by it.",
        "割合", "経過時間のうち、これによって誰かが遅れていた割合。";
    plain "path_ns", "Time on Path", "Its part of the elapsed time, by the chain that ends with the program; to the recording's end where that came first; none of a program that was there before.",
        "パス時間", "プログラムの終了に至る連鎖で、これが占める時間。プログラムが自ら終了していない場合はありません。";
    detail "served_ns", "Time for Others Outside", "Time of threads that others from outside the recording asked: these waited meanwhile, unseen.",
        "外部のための時間", "記録の外から要求を受けたスレッドがそこで過ごした時間。その間、要求した側は記録されずに待っていました。";
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
    detail "links", "Links", "The same wait by wait: who, for what, where, and how to filter by it.",
        "連鎖の待機", "同じ内容を待機ごとに示します: 誰が、何を、どこで、どのフィルターで見られるか。";
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
/// Part of the elapsed time that a cause of the program's own must explain for nothing to be said of where its threads slept for most of it.
const MUCH_SHARE: f64 = 0.1;
/// Part of a cause's waits below which a chain is one of many, and tells nobody anything.
const TELLING_CHAIN: f64 = 0.05;
/// Causes of waits for one lock that are told with the largest, at most.
const ALSO_OF_LOCK: usize = 3;
/// Causes in the summary that are the program's own.
const IN_SUMMARY: usize = 3;

/// The report. Fails when it is asked for somebody who is not there.
pub fn explain(fold: &Fold<'_>) -> Result<View, QueryError> {
    let explanation = if fold.query.exact { explanation_of(fold) } else { estimate(fold) };
    if explanation.no_waiter_matches {
        let name = fold.query.waiters.as_deref().unwrap_or_default();
        if let Some(error) = unknown_handle(fold.trace, name) {
            return Err(error);
        }
        let objects = fold.trace.objects.name.iter().map(String::as_str);
        return Err(QueryError::unknown("role, thread or object", name, explanation.names.roles().chain(objects)));
    }
    let told = cause_rows(fold, &explanation, 0);
    let mut view = View { columns: columns_of(COLUMNS), ..View::default() };
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    view.rows = told.iter().take(limit).map(|told| row_of(fold, &explanation, told, None)).collect();
    view.notes = notes_of_explanation(fold);
    view.notes.extend(accounts(fold, &explanation, &[]));
    view.notes.extend(busiest_servers(fold, &explanation, &BTreeSet::new()).into_iter().map(Prose::from));
    view.notes.extend(estimated(&explanation));
    view.notes.extend(cut_note(told.len().saturating_sub(limit)));
    Ok(view)
}

/// The row of a wait for CPUs.
fn queue_row(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, row: &QueueRow<'_>) -> Row {
    let (cause, ns) = (&row.cause, row.ns);
    let queue = &explanation.run_queue;
    let place = cause.stack.is_some().then(|| wait_place(fold.trace, &fold.sums.stacks, cause.stack).at);
    let subject = cause.subject.as_str();
    let (wait, wall) = (Word::Ns(ns), Word::beside(ns, queue.wall_ns));
    let sentence = match cause.reason {
        QueueReason::Quota => {
            say!(CAUSE_QUOTA, group = (!subject.is_empty()).then(|| subject.to_owned()), wait = wait, wall = wall)
        }
        QueueReason::OtherPrograms => {
            let name = (!subject.is_empty()).then(|| subject.to_owned());
            say!(CAUSE_CPUS_TAKEN, name = name, wait = wait, wall = wall)
        }
        QueueReason::LowPriority(priority) => {
            let name = (!subject.is_empty()).then(|| subject.to_owned());
            say!(CAUSE_LOW_PRIORITY, priority = priority.to_string(), name = name, wait = wait, wall = wall)
        }
        QueueReason::OwnThreads | QueueReason::OwnRequests | QueueReason::OwnProcesses | QueueReason::OwnFibers => {
            say!(CAUSE_OVERSUBSCRIBED, place = place.clone(), wait = wait, wall = wall)
        }
        QueueReason::Affinity => {
            say!(CAUSE_AFFINITY, cpus = subject, place = place.clone(), wait = wait, wall = wall)
        }
        QueueReason::Collector => say!(CAUSE_COLLECTOR_RAN, wait = wait, wall = wall),
    };
    let text = Prose::from(sentence).then(cause.evidence.clone()).and(waits_for_queued(explanation, &row.waits));
    Row {
        depth: 0,
        values: vec![
            Value::Text(explanation.busiest_queue().to_owned()),
            Value::None,
            Value::Text(cause.reason.id().into()),
            place.map_or(Value::None, Value::Text),
            Value::Ns(ns),
            Value::Ns(queue.wall_ns),
            Value::Fraction(queue.wall_ns as f64 / explanation.elapsed_ns.max(1) as f64),
            Value::None,
            Value::None,
            Value::Prose(text.clone()),
            Value::None,
            Value::None,
            Value::None,
            Value::None,
            Value::None,
            Value::Prose(queue_advice(fold, explanation, cause.reason).into()),
            Value::Prose(text),
            stack_value(fold, cause.stack),
        ],
    }
}

/// What to do about a wait for CPUs: the program may ask itself for the collections that take them.
fn queue_advice(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, reason: QueueReason) -> Sentence {
    let asked = || explanation.causes.iter().find_map(|root| asked_collections(fold, root));
    let place = (reason == QueueReason::Collector).then(asked).flatten();
    place.map_or_else(|| reason.advice(), |place| say!(ADVICE_COLLECTION_ASKED, place = place))
}

/// What waits for threads in run queues add up to, and the largest chain of them.
fn waits_for_queued(explanation: &Explanation<'_, '_>, roots: &[&RootCause]) -> Option<Sentence> {
    let most = roots.iter().max_by_key(|root| root.wait_ns)?;
    let (chain, _) = most.chains.first()?;
    let wait_ns = roots.iter().map(|root| root.wait_ns).sum();
    Some(say!(QUEUED_WAITS, wait = Word::Ns(wait_ns), chain = chain_text(explanation, most.askers(chain))))
}

/// What the summary says: the largest causes, and the account of the threads' time.
pub struct InSummary {
    /// The causes; what else there is to say are its notes.
    pub causes: View,
    /// What orders each of them among the findings.
    pub weights: Vec<CauseWeight>,
    /// Which functions ran that others waited for, and in how much time that delayed anybody, ns.
    pub ran: Vec<(String, u64)>,
    /// The account.
    pub account: View,
    /// Which part of the waits on each object is of threads that had something to do.
    pub busy_shares: HashMap<ObjectId, f64>,
    /// The time from which a cause is told, ns.
    pub least_ns: u64,
    /// What to say where neither a cause nor a finding is told.
    pub not_held_up: Option<Sentence>,
}

/// What the summary says; it is to be there at once, so that of very many rows it looks at slices of the time.
pub fn in_summary(fold: &Fold<'_>) -> InSummary {
    let mut explanation = estimate(fold);
    let part = |share: f64| (explanation.elapsed_ns as f64 * share) as u64;
    let least = part(TOLD_SHARE).max(TOLD_NS.min(part(SHORT_SHARE)));
    let rows = with_reasons(fold, &explanation, cause_rows(fold, &explanation, least));
    let told = by_lock(&explanation, without_unlocked_work(fold, &explanation, rows));
    let mut view = View { columns: columns_of(COLUMNS), ..View::default() };
    let shown = shown_in_summary(&told);
    view.rows = told[..shown].iter().map(|told| row_of(fold, &explanation, &told.row, Some(&told.also))).collect();
    view.notes = accounts(fold, &explanation, &told[..shown]);
    view.notes.extend(estimated(&explanation));
    let much_ns = part(MUCH_SHARE);
    let says_nothing = told.is_empty() && !wait_unexplained(fold, &explanation);
    if told.len() > shown {
        let rest = told[shown..].iter().map(|told| told.row.ns()).sum();
        view.notes.push(say!(CAUSES_CUT, causes = told.len() - shown, wait = Word::Ns(rest)).into());
    }
    let ran = told[..shown].iter().filter_map(|told| told.row.ran()).collect();
    let weights = told[..shown].iter().map(|told| told.row.weight(fold)).collect();
    let account = account(fold, &explanation);
    let has_much = told.iter().any(|told| told.row.is_of_program() && told.row.ns() >= much_ns);
    let not_held_up = says_nothing.then(|| not_held_up(fold, &mut explanation, least));
    // What took most of the time comes before causes of little.
    let slept = (!says_nothing && !has_much).then(|| where_threads_sleep(fold, &mut explanation)).flatten();
    let (slept, asleep) = slept.unzip();
    let servers = busiest_servers(fold, &explanation, &asleep.unwrap_or_default());
    if !says_nothing
        && !has_much
        && let Some(account) = view.notes.first_mut()
    {
        *account = std::mem::take(account).and(slept.or_else(|| where_threads_hear(fold, &mut explanation)));
    }
    view.notes.extend(servers.into_iter().map(Prose::from));
    let busy_shares = std::mem::take(&mut explanation.busy_shares);
    InSummary { causes: view, weights, ran, account, busy_shares, least_ns: least, not_held_up }
}

/// That the times are estimated, where they are.
fn estimated(explanation: &Explanation<'_, '_>) -> Option<Prose> {
    (explanation.share < 1.0).then(|| say!(EXPLAINED_BY_SLICES, share = Word::Share(explanation.share)).into())
}

/// What to say where there is no cause: where threads mostly slept, or wait of a program that hardly ran, else that no wait is long.
fn not_held_up(fold: &Fold<'_>, explanation: &mut Explanation<'_, '_>, least_ns: u64) -> Sentence {
    let sentence = where_threads_sleep(fold, explanation)
        .map(|(sentence, _)| sentence)
        .or_else(|| where_threads_hear(fold, explanation))
        .or_else(|| where_threads_wait(fold, explanation));
    sentence.unwrap_or_else(|| {
        say!(
            NOT_HELD_UP,
            demand = Word::Ns(explanation.demand_ns),
            least = Word::Ns(least_ns),
            queue = Word::Ns(explanation.run_queue.all_ns),
        )
    })
}

/// How many causes the summary tells: up to the third that is the program's own. Who else had the CPUs hides none of them.
fn shown_in_summary(told: &[SummaryCause<'_>]) -> usize {
    let own = told.iter().enumerate().filter(|(_, told)| told.row.is_of_program());
    own.map(|(at, _)| at + 1).nth(IN_SUMMARY - 1).unwrap_or(told.len())
}

/// The row of a cause; in the summary with those that it tells as well, and without chains that tell nothing more.
fn row_of(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, told: &CauseRow<'_>, also: Option<&[&RootCause]>) -> Row {
    match told {
        CauseRow::Wait(root) => row(fold, explanation, root, also),
        CauseRow::Queue(queue) => queue_row(fold, explanation, queue),
    }
}

fn row(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, also: Option<&[&RootCause]>) -> Row {
    let names = &explanation.names;
    let more = more_of_lock(explanation, root, also.unwrap_or_default());
    let chains = ordered(explanation, root);
    let advice = advice(fold, explanation, root, &chains);
    let link = |link: &Link| link_text(explanation, link);
    let lines: Vec<String> = chains
        .iter()
        .filter(|(chain, ns)| {
            let is_large = *ns as f64 >= TELLING_CHAIN * root.wait_ns as f64;
            also.is_none() || (is_large && (chains.len() > 1 || !is_the_cause_alone(explanation, root, chain)))
        })
        .map(|(chain, ns)| format!("{}: {}", duration(*ns), chain_text(explanation, root.askers(chain))))
        .collect();
    let text = |text: &str| if text.is_empty() { Value::None } else { Value::Text(text.to_owned()) };
    Row {
        depth: 0,
        values: vec![
            Value::Text(names.role(root.cause.role).to_owned()),
            awaited_handle(fold, explanation, root, &chains).map_or(Value::None, Value::Text),
            Value::Text(root.cause.kind.id().into()),
            text(&root.at),
            Value::Ns(if root.is_of_the_end() { 0 } else { root.wait_ns }),
            Value::Ns(delay_ns(root)),
            Value::Fraction(delay_ns(root) as f64 / explanation.elapsed_ns.max(1) as f64),
            if explanation.path_ns > 0 { Value::Ns(root.path_ns) } else { Value::None },
            if root.served_ns > 0 { Value::Ns(root.served_ns) } else { Value::None },
            Value::Prose(cause(fold, explanation, root).and(more.clone())),
            text(names.label(root.cause.label)),
            if root.cause.behind == NOTHING { Value::None } else { text(names.role(root.cause.behind)) },
            chains
                .first()
                .map_or(Value::None, |(chain, _)| Value::Stack(root.askers(chain).iter().map(link).collect())),
            if lines.is_empty() { Value::None } else { Value::Stack(lines) },
            Value::Rows(Box::new(chain_links(fold, explanation, root, &chains))),
            Value::Prose(advice),
            Value::Prose(paragraph(fold, explanation, root, &chains).and(more)),
            stack_value(fold, root.stack),
        ],
    }
}

/// What else waits for the lock of a cause are because of.
fn more_of_lock(explanation: &Explanation<'_, '_>, root: &RootCause, also: &[&RootCause]) -> Option<Sentence> {
    let label = explanation.names.label(lock_of(explanation, root)?);
    let part = |root: &&RootCause| format!("{}, {}", brief(explanation, root), duration(root.wait_ns));
    let parts: Vec<String> = also.iter().take(ALSO_OF_LOCK).map(part).collect();
    (!parts.is_empty()).then(|| say!(CAUSE_ALSO_OF_LOCK, label = label, parts = parts.join("; ")))
}

/// Whether a chain is the wait of which the cause tells already, and nothing before it.
fn is_the_cause_alone(explanation: &Explanation<'_, '_>, root: &RootCause, chain: &[Link]) -> bool {
    let at = |link: &Link| explanation.names.place(link.place).is_some_and(|place| place.at == root.at);
    let is_it = |link: &Link| (link.role, link.label) == (root.cause.role, root.cause.label) && at(link);
    matches!(root.askers(chain), [link] if is_it(link))
}

/// The handle of what the first chain begins with.
fn awaited_handle(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Option<String> {
    let (chain, _) = chains.first()?;
    let first = root.askers(chain).first()?;
    object_handle(fold.trace, explanation.names.object(first.label)?)
}
