//! Blame: who waited on an object, what its holders did meanwhile, and from where the waiters were woken.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_model::{ObjectId, StackId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_query::measure::site::Site;
use dwell_query::question::error::QueryError;
use dwell_query::question::handles::{HandleMeaning, object_handle, object_named, thread_handle, unknown_object};
use dwell_view::{Row, Value, View, Word, glob};

use crate::sentences::say;
use crate::study::blame::{Blame, HolderActivity, REPORT_BUDGET, Share, blame as blame_of};
use crate::study::thread_index::ThreadIndex;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::stack_value;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "name", "Name", "The object; below it the waiters, holders and wakers, by place.",
        "名前", "オブジェクト。その下に待つ側、保持側、起床元を場所ごとに示します。";
    plain "handle", "#", "Short name of the object or thread, which filters and `blame` take.",
        "#", "オブジェクトまたはスレッドの短い名前。フィルターとレポートで名前の代わりに使えます。";
    plain "role", "Role", "object, waiter, holder, holder-running, holder-waiting, holder-runnable, outside, unknown, waker.",
        "役割", "待つスレッド、保持するスレッドがしていたこと、起床元。";
    plain "wait_ns", "Wait Time", "Time of the waits, or the part of it in which the holder did this.",
        "待機時間", "待機の時間、またはそのうち保持側がこれをしていた時間。";
    plain "share", "Share", "Part of the object's wait time.",
        "割合", "オブジェクトの待機時間に対する割合。";
    plain "wait_count", "Waits", "Number of waits.",
        "待機カウント", "待機の数。";
    detail "stack", "Stack", "Where, leaf first.",
        "スタック", "場所。末端の関数から順に示します。";
}

/// The objects that the query names.
fn subjects(fold: &Fold<'_>) -> Result<Vec<ObjectId>, QueryError> {
    let Some(subject) = &fold.query.subject else { return Err(QueryError::SubjectMissing { what: "an object" }) };
    match object_named(fold.trace, subject) {
        HandleMeaning::Row(row) => return Ok(vec![ObjectId::new(row)]),
        HandleMeaning::Nothing => return Err(unknown_object(subject)),
        HandleMeaning::Name => {}
    }
    let names = &fold.trace.objects.name;
    let found = names.iter().enumerate().filter(|(_, name)| *name == subject || glob(subject, name));
    let found: Vec<ObjectId> = found.map(|(row, _)| ObjectId::new(row)).collect();
    if found.is_empty() {
        return Err(QueryError::unknown("object", subject, names.iter().map(String::as_str)));
    }
    Ok(found)
}

/// Whether threads hold the object, one at a time.
fn is_lock(fold: &Fold<'_>, object: ObjectId, blame: &Blame) -> bool {
    fold.object_type(object).has_holder() || blame.told
}

/// Threads of holders that are shown without a limit.
const HOLDERS: usize = 10;

/// Part of an object's waits below which rows are one, unless a limit is given.
const LEAST_SHARE: f64 = 0.01;
/// Roles in the order of the rows.
const ROLES: [&str; 8] =
    ["holder", "holder-running", "holder-waiting", "holder-runnable", "outside", "unknown", "waiter", "waker"];

/// One tree per object that the query names.
pub fn blame(fold: &Fold<'_>) -> Result<View, QueryError> {
    let objects = subjects(fold)?;
    let blames = blame_of(fold, &ThreadIndex::new(fold.trace), &objects, REPORT_BUDGET);
    let mut rows = Vec::new();
    let mut notes = notes(fold);
    for object in &objects {
        let Some(blame) = blames.get(object).filter(|blame| blame.waits.waits > 0) else { continue };
        rows.extend(object_rows(fold, *object, blame));
        if blame.seen_ns < blame.waits.ns {
            let (name, seen) = (fold.object_name(*object), Word::part(blame.seen_ns, blame.waits.ns));
            let followed = match fold.rows().share < 1.0 {
                true => say!(BLAME_SLICES, name = name, seen = seen),
                false => say!(BLAME_LONGEST, name = name, seen = seen),
            };
            notes.push(followed.into());
        }
    }
    if rows.is_empty() {
        notes.push(say!(NOBODY_WAITED).into());
    }
    let of_lock = |object: &ObjectId| blames.get(object).is_some_and(|blame| is_lock(fold, *object, blame));
    if !objects.iter().all(of_lock) {
        notes.push(say!(HOLDER_TAKEN).into());
    }
    Ok(View { columns: columns_of(COLUMNS), rows, notes, ..View::default() })
}

/// A row below an object's: its name, its role, its part, a stack of it.
type BlamePart = (PartName, &'static str, Share, Value);

/// What a row is called.
#[derive(Clone)]
struct PartName {
    name: String,
    /// Of an object or a thread.
    handle: Option<String>,
}

impl From<String> for PartName {
    fn from(name: String) -> Self {
        Self { name, handle: None }
    }
}

fn object_rows(fold: &Fold<'_>, object: ObjectId, blame: &Blame) -> Vec<Row> {
    let whole = blame.waits.ns;
    let cell = |depth, (name, role, share, stack): BlamePart| {
        let part = share.ns as f64 / whole.max(1) as f64;
        let values = vec![
            Value::Text(name.name),
            name.handle.map_or(Value::None, Value::Text),
            Value::Text(role.into()),
            Value::Ns(share.ns),
            Value::Fraction(part),
            Value::Count(share.waits),
            stack,
        ];
        Row { depth, values }
    };
    let title = PartName {
        name: format!("{} ({})", fold.object_name(object), fold.object_type(object).id()),
        handle: object_handle(fold.trace, object),
    };
    let mut rows = vec![cell(0, (title, "object", blame.waits, Value::None))];
    let mut parts = parts(fold, object, blame);
    let least = if fold.query.limit.is_none() { (LEAST_SHARE * whole as f64) as u64 } else { 0 };
    parts = without_small(&parts, least);
    rows.extend(parts.into_iter().map(|part| cell(1, part)));
    rows
}

/// Who held it and what these did, then who waited where, then who woke these.
fn parts(fold: &Fold<'_>, object: ObjectId, blame: &Blame) -> Vec<BlamePart> {
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if is_lock(fold, object, blame) {
        let threads = holding_threads(fold, blame, fold.query.limit.unwrap_or(HOLDERS));
        parts.extend(threads.into_iter().map(|(name, share)| (name, "holder", share, Value::None)));
    }
    for ((role, name, stack), share) in holders(fold, blame).into_iter().take(limit) {
        parts.push((name.into(), role, share, stack_value(fold, stack)));
    }
    let unseen = [
        ("outside", "no thread of the program", blame.outside_ns),
        ("unknown", "not known who held it", blame.unknown_ns),
    ];
    for (role, words, ns) in unseen.into_iter().filter(|(.., ns)| *ns > 0) {
        parts.push((format!("[{words}]").into(), role, Share { ns, waits: 0 }, Value::None));
    }
    for ((name, stack), share) in places(fold, object, waiter).into_iter().take(limit) {
        parts.push((name.into(), "waiter", share, stack_value(fold, stack)));
    }
    for ((name, stack), share) in places(fold, object, waker).into_iter().take(limit) {
        parts.push((name.into(), "waker", share, stack_value(fold, stack)));
    }
    parts
}

/// The parts of `least` ns or more by role; the smaller ones of a role are one, so that its parts still add up.
fn without_small(parts: &[BlamePart], least: u64) -> Vec<BlamePart> {
    let mut kept: Vec<BlamePart> = Vec::new();
    for role in ROLES {
        let of_role = parts.iter().filter(|part| part.1 == role);
        let (large, small): (Vec<&BlamePart>, Vec<&BlamePart>) = of_role.partition(|part| part.2.ns >= least);
        kept.extend(large.into_iter().cloned());
        if let [only] = small.as_slice() {
            kept.push((*only).clone());
        } else if !small.is_empty() {
            let sum = |of: fn(&Share) -> u64| small.iter().map(|part| of(&part.2)).fold(0, u64::saturating_add);
            let share = Share { ns: sum(|share| share.ns), waits: sum(|share| share.waits) };
            kept.push((format!("[{} smaller]", small.len()).into(), role, share, Value::None));
        }
    }
    kept
}

/// The threads that held a lock, the longest first; the rest in one row.
fn holding_threads(fold: &Fold<'_>, blame: &Blame, limit: usize) -> Vec<(PartName, Share)> {
    let mut threads: Vec<_> = blame.threads.iter().map(|(thread, ns)| (*ns, *thread)).collect();
    threads.sort_unstable_by_key(|(ns, thread)| (Reverse(*ns), *thread));
    let share = |ns| Share { ns, waits: 0 };
    let name = |thread| PartName { name: thread_label(fold, thread), handle: thread_handle(fold.trace, thread) };
    let named = threads.iter().take(limit).map(|(ns, thread)| (name(ThreadId::new(*thread)), share(*ns)));
    let rest = threads.get(limit..).filter(|rest| !rest.is_empty());
    let rest =
        rest.map(|rest| (format!("[{} more threads]", rest.len()).into(), share(rest.iter().map(|(ns, _)| ns).sum())));
    named.chain(rest).collect()
}

/// What the holders did, by role and function, each with its heaviest stack; the longest first.
fn holders(fold: &Fold<'_>, blame: &Blame) -> Vec<((&'static str, String, StackId), Share)> {
    let mut heaviest: BTreeMap<(&str, String), (Share, u64, StackId)> = BTreeMap::new();
    for (doing, share) in &blame.holders {
        let (role, name, stack) = match *doing {
            HolderActivity::Running(stack) => ("holder-running", function(fold, stack), stack),
            HolderActivity::Waiting(on, stack) => {
                let name = format!("{}, at {}", fold.object_name(on), function(fold, stack));
                ("holder-waiting", name, stack)
            }
            HolderActivity::Runnable => ("holder-runnable", "[run queue]".into(), StackId::NONE),
        };
        let (sum, most, at) = heaviest.entry((role, name)).or_insert((Share::default(), 0, stack));
        sum.ns = sum.ns.saturating_add(share.ns);
        sum.waits += share.waits;
        if (share.ns, stack) > (*most, *at) {
            (*most, *at) = (share.ns, stack);
        }
    }
    let mut holders: Vec<_> =
        heaviest.into_iter().map(|((role, name), (share, _, stack))| ((role, name, stack), share)).collect();
    holders.sort_by_key(|(_, share)| Reverse(share.ns));
    holders
}

type BlamePlace = (String, StackId);

/// Wait time of the object by place, each with its heaviest stack, the longest first.
fn places(
    fold: &Fold<'_>,
    object: ObjectId,
    place_of: impl Fn(&Fold<'_>, &Site) -> BlamePlace,
) -> Vec<(BlamePlace, Share)> {
    let mut shares: BTreeMap<String, (Share, u64, StackId)> = BTreeMap::new();
    for (_, site, weights) in fold.selected_if(|site| site.is_wait() && site.key.object == object) {
        let (name, stack) = place_of(fold, site);
        let (share, most, at) = shares.entry(name).or_insert((Share::default(), 0, stack));
        share.ns = share.ns.saturating_add(weights.wait_ns());
        share.waits += weights.wait_count;
        if weights.wait_ns() > *most {
            (*most, *at) = (weights.wait_ns(), stack);
        }
    }
    let mut shares: Vec<_> = shares.into_iter().map(|(name, (share, _, stack))| ((name, stack), share)).collect();
    shares.sort_by_key(|(_, share)| Reverse((share.ns, share.waits)));
    shares
}

fn waiter(fold: &Fold<'_>, site: &Site) -> BlamePlace {
    let stack = fold.sums.stacks.shown(site.key.stack);
    (fold.sums.stacks.place(stack).unwrap_or_else(|| "[unknown]".into()), stack)
}

fn waker(fold: &Fold<'_>, site: &Site) -> BlamePlace {
    let stack = fold.sums.stacks.shown(site.key.waker_stack);
    let who = match WakerKind::from_code(site.key.waker_kind) {
        WakerKind::Thread => thread_label(fold, site.key.waker),
        kind => format!("[{}]", kind.id()),
    };
    if stack.is_some() { (format!("{who} in {}", function(fold, stack)), stack) } else { (who, stack) }
}

/// The program's own function on `stack`.
fn function(fold: &Fold<'_>, stack: StackId) -> String {
    fold.sums.stacks.function_name(fold.sums.stacks.function(fold.sums.stacks.own(stack))).to_owned()
}
