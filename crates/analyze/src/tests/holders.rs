//! Who held a lock while others waited for it.

use super::*;

#[test]
fn the_holder_of_a_lock_before_the_last_one_is_blamed_too() {
    // c waits while a holds the lock in f1, then b, who waited for it, in f2.
    let trace = trace(
        "
        a: 1111sss#
        b: mmmm22##
        c: mmmmmm##
    ",
    );
    let view = of(Report::Blame, &trace, &Query { subject: Some("m".into()), ..Query::default() });
    let names = column(&view, "name");
    let time = |function: &str| {
        let row = names.iter().position(|name| matches!(name, Value::Text(name) if name.starts_with(function)));
        number(&column(&view, "wait_ns")[row.unwrap()]) / CELL
    };
    assert_eq!((time("f1"), time("f2")), (8, 2));
}

/// What the blame report says of `m`: role, name and cells.
pub fn blamed(trace: &Trace) -> Vec<(String, String, u64)> {
    let view = of(Report::Blame, trace, &Query { subject: Some("m".into()), ..Query::default() });
    let plain = |cell: Value| if let Value::Text(text) = cell { text } else { String::new() };
    let text = |id: &str| column(&view, id).into_iter().map(plain).collect::<Vec<_>>();
    let times = column(&view, "wait_ns").iter().map(|ns| number(ns) / CELL).collect::<Vec<_>>();
    let rows = text("role").into_iter().zip(text("name")).zip(times).map(|((role, name), ns)| (role, name, ns));
    rows.filter(|(role, ..)| role.starts_with("holder-") || role == "unknown" || role == "outside").collect()
}

/// Cells by role, and of running by function.
fn held(trace: &Trace) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (role, name, cells) in blamed(trace) {
        *sums.entry(if role == "holder-running" { name } else { role }).or_default() += cells;
    }
    sums
}

fn cells_of(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, cells)| ((*name).to_owned(), *cells)).collect()
}

#[test]
fn who_slept_before_it_took_the_lock_did_not_hold_it_asleep() {
    // x wakes v, but y is faster; v waits again. y ends w's wait: it slept while x had the lock.
    let trace = trace(
        "
        x: 11111
        y: sssss22222#
        v: #smmm#mmmm#
        w: #mmmmmmmm##
    ",
    );
    assert_eq!(held(&trace), cells_of(&[("f1", 7), ("f2", 8)]));
}

#[test]
fn who_sleeps_with_the_lock_is_blamed_for_it() {
    let trace = trace(
        "
        b: #mmmmm22##
        a: 1sss11####
        c: ##mmmmmm##
    ",
    );
    assert_eq!(held(&trace), cells_of(&[("f1", 4), ("f2", 2), ("holder-waiting", 5)]));
}

#[test]
fn a_lock_of_unknown_kind_needs_an_owner_to_accuse_the_sleeper() {
    let picture = "
        a: sss11#
        b: #fmmf#
    ";
    assert_eq!(held(&trace(&picture.replace('f', "m"))), cells_of(&[("f1", 2), ("holder-waiting", 2)]));
    let mut trace = trace(&picture.replace('m', "f"));
    let name = trace.objects.name.iter().position(|name| name == "f").expect("an object");
    trace.objects.name[name] = "m".into();
    assert_eq!(held(&trace), cells_of(&[("f1", 2), ("unknown", 2)]));
    let waits = trace.off_cpu.object.iter().map(|object| object.get() == Some(name));
    let waits: Vec<bool> = waits.collect();
    for (holder, _) in trace.off_cpu.holder.iter_mut().zip(waits).filter(|(_, waits)| *waits) {
        *holder = ThreadId::new(0);
    }
    trace.tables_changed();
    assert_eq!(held(&trace), cells_of(&[("f1", 2), ("holder-waiting", 2)]));
}

/// A lock's holder computes, and has no CPU in between.
#[test]
fn what_a_holder_does_comes_before_its_waits_for_a_cpu() {
    let first = |holder: &str| {
        let view = of(Report::Explain, &trace(&format!("a: #mmmmmmmm#\nb: {holder}")), &Query::default());
        match column(&view, "cause").first() {
            Some(Value::Prose(cause)) => cause.to_string(),
            _ => String::new(),
        }
    };
    assert!(first("#222----2#").starts_with("b ran f2"), "{}", first("#222----2#"));
    assert!(first("#-------2#").starts_with("b was in the run queue"), "it hardly ran: {}", first("#-------2#"));
}
