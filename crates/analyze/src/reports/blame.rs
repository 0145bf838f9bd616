//! Blame: who waited on an object, what its holders did meanwhile, and from where the waiters were woken.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_model::{ObjectId, WakerKind};

use super::grouped::{detail, plain, stack_value};
use super::notes::{duration, notes, percent};
use crate::blame::{Blame, Doing, REPORT_BUDGET, Share, blame as blame_of};
use crate::fold::{Fold, Site};
use crate::grouping::thread_label;
use crate::query::{QueryError, glob};
use crate::thread_index::ThreadIndex;
use crate::view::{Column, Row, Value, View};

/// The objects that the query names.
fn subjects(fold: &Fold<'_>) -> Result<Vec<ObjectId>, QueryError> {
    let Some(subject) = &fold.query.subject else { return Err(QueryError::SubjectMissing { what: "an object" }) };
    let names = &fold.trace.objects.name;
    let found = names.iter().enumerate().filter(|(_, name)| *name == subject || glob(subject, name));
    let found: Vec<ObjectId> = found.map(|(row, _)| ObjectId::new(row)).collect();
    if found.is_empty() {
        return Err(QueryError::unknown("object", subject, names.iter().map(String::as_str)));
    }
    Ok(found)
}

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
            let (name, seen) = (fold.object_name(*object), percent(blame.seen_ns, blame.waits.ns));
            notes.push(format!("Holders of {name} were followed through its longest waits: {seen} of the wait time."));
        }
    }
    if rows.is_empty() {
        notes.push("Nobody waited on it.".into());
    }
    notes.push("The holder during a wait is taken to be the thread that ended it.".into());
    Ok(View { columns: columns(), rows, notes, ..View::default() })
}

fn columns() -> Vec<Column> {
    vec![
        plain("name", "Name", "The object; below it the waiters, holders and wakers, by place."),
        plain("role", "Role", "object, waiter, holder-running, holder-waiting, holder-runnable, outside, waker."),
        plain("wait_ns", "Wait Time", "Time of the waits, or the part of it in which the holder did this."),
        plain("share", "Share", "Part of the object's wait time."),
        plain("wait_count", "Waits", "Number of waits."),
        detail("stack", "Stack", "Where, leaf first."),
    ]
}

fn object_rows(fold: &Fold<'_>, object: ObjectId, blame: &Blame) -> Vec<Row> {
    let whole = blame.waits.ns;
    let cell = |depth, (name, role): (String, &str), share: Share, stack: Value| {
        let part = share.ns as f64 / whole.max(1) as f64;
        let values = vec![
            Value::Text(name),
            Value::Text(role.into()),
            Value::Ns(share.ns),
            Value::Fraction(part),
            Value::Count(share.waits),
            stack,
        ];
        Row { depth, values }
    };
    let title = format!("{} ({})", fold.object_name(object), fold.object_type(object).id());
    let mut rows = vec![cell(0, (title, "object"), blame.waits, Value::None)];
    let limit = fold.query.limit.unwrap_or(usize::MAX);
    for ((name, stack), share) in places(fold, object, waiter).into_iter().take(limit) {
        rows.push(cell(1, (name, "waiter"), share, stack_value(fold, stack)));
    }
    let mut holders: Vec<(Doing, Share)> = blame.holders.iter().map(|(doing, share)| (*doing, *share)).collect();
    holders.sort_by_key(|(doing, share)| (Reverse(share.ns), *doing));
    for (doing, share) in holders.into_iter().take(limit) {
        let (name, role, stack) = match doing {
            Doing::Running(stack) => (place(fold, stack), "holder-running", stack_value(fold, stack)),
            Doing::Waiting(on, stack) => {
                let name = format!("{} in {}", fold.object_name(on), place(fold, stack));
                (name, "holder-waiting", stack_value(fold, stack))
            }
            Doing::Runnable => ("[run queue]".into(), "holder-runnable", Value::None),
        };
        rows.push(cell(1, (name, role), share, stack));
    }
    if blame.outside_ns > 0 {
        let share = Share { ns: blame.outside_ns, waits: 0 };
        let name = format!("[no thread of the program] {}", duration(blame.outside_ns));
        rows.push(cell(1, (name, "outside"), share, Value::None));
    }
    for ((name, stack), share) in places(fold, object, waker).into_iter().take(limit) {
        rows.push(cell(1, (name, "waker"), share, stack_value(fold, stack)));
    }
    rows
}

type Place = (String, dwell_model::StackId);

/// Wait time of the object by place, the longest first.
fn places(fold: &Fold<'_>, object: ObjectId, place_of: impl Fn(&Fold<'_>, &Site) -> Place) -> Vec<(Place, Share)> {
    let mut shares: BTreeMap<Place, Share> = BTreeMap::new();
    for (_, site, weights) in fold.selected().filter(|(_, site, _)| site.is_wait() && site.key.object == object) {
        let share = shares.entry(place_of(fold, site)).or_default();
        share.ns = share.ns.saturating_add(weights.wait_ns());
        share.waits += weights.wait_count;
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by_key(|(_, share)| Reverse((share.ns, share.waits)));
    shares
}

fn waiter(fold: &Fold<'_>, site: &Site) -> Place {
    let stack = fold.stacks.shown(site.key.stack);
    (place(fold, stack), stack)
}

fn waker(fold: &Fold<'_>, site: &Site) -> Place {
    let stack = fold.stacks.shown(site.key.waker_stack);
    let who = match WakerKind::from_code(site.key.waker_kind) {
        WakerKind::Thread => thread_label(fold, site.key.waker),
        kind => format!("[{}]", kind.id()),
    };
    if stack.is_some() { (format!("{who} in {}", place(fold, stack)), stack) } else { (who, stack) }
}

fn place(fold: &Fold<'_>, stack: dwell_model::StackId) -> String {
    fold.stacks.place(stack).unwrap_or_else(|| "[unknown]".into())
}
