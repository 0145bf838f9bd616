//! What the explanation says of the well-known ways in which threads hold one another up.

use super::*;

/// Kind, place and advice of the largest cause.
fn first_cause(lines: &[(&'static str, &str)], times: usize) -> (String, String, String) {
    let lines: Vec<(&str, Vec<char>)> =
        lines.iter().map(|(name, cells)| (*name, cells.repeat(times).chars().collect())).collect();
    let view = of(Report::Explain, &build(&lines, 2), &Query::default());
    let of_first = |id: &str| match column(&view, id).into_iter().next() {
        Some(Value::Text(text)) => text,
        Some(Value::Prose(prose)) => prose.to_string(),
        other => panic!("{id}: {other:?}"),
    };
    (of_first("kind"), of_first("place"), of_first("advice"))
}

#[test]
fn a_lock_held_while_its_holder_sleeps() {
    let lines = [("a", "1sss1mmmmmmmmmm"), ("b", "mmmmm1sss1mmmmm"), ("c", "mmmmmmmmmm1sss1")];
    let (kind, place, advice) = first_cause(&lines, 8);
    assert_eq!(kind, "slept");
    assert!(place.contains("use_s") && advice.contains("sleep"), "{place}: {advice}");
}

#[test]
fn threads_that_take_turns_at_the_gil() {
    let (kind, place, advice) = first_cause(&[("a", "11gggg"), ("b", "gg11gg"), ("c", "gggg11")], 20);
    assert_eq!(kind, "running");
    assert!(place.contains("f1") && advice.contains("GIL"), "{place}: {advice}");
}

#[test]
fn uneven_work_between_barriers() {
    let (kind, place, advice) = first_cause(&[("a", "1bbbbbbb"), ("b", "22222222")], 10);
    assert_eq!(kind, "running");
    assert!(place.contains("f2") && advice.contains('b'), "{place}: {advice}");
}

#[test]
fn workers_that_wait_for_another_program_one_by_one_are_too_few() {
    let lines = |pools: &[(&'static str, &'static str)]| {
        let clients = ["cli1", "cli2", "cli3", "cli4", "cli5", "cli6"].map(|name| (name, "1xxxxxxxxxx"));
        [&clients[..], pools, &[("slow", "cc1ssssss1c")]].concat()
    };
    let (kind, place, advice) = first_cause(&lines(&[("worker", "v1yyyyyyyy1")]), 8);
    assert_eq!(kind, "slept");
    assert!(place.contains("use_s"), "{place}");
    assert!(advice.contains("of worker") && advice.contains("use_y"), "{advice}");
    // An event loop waits for all of them at once.
    let (.., of_loop) = first_cause(&lines(&[("worker", "v1eeeeeeee1")]), 8);
    assert!(!of_loop.contains("of worker"), "{of_loop}");
}

#[test]
fn what_only_idle_threads_wait_for_is_not_most_waited_for() {
    let top = |picture: &str| {
        let view = of(Report::Summary, &trace(picture), &Query::default());
        let Some(Value::Rows(rows)) = view.field("top_objects") else { panic!("no objects") };
        let name =
            |row: &dwell_view::Row| if let Value::Text(name) = &row.values[0] { name.clone() } else { String::new() };
        rows.rows.iter().map(name).collect::<Vec<_>>()
    };
    let server = "loop: eeeeeeeeeeee#\na   : ##1111###2222\nb   : #mmmmm####mmm1";
    assert_eq!(top(server), ["m"]);
    assert_eq!(top("loop: eeeeeeeeeeee#\na   : #############"), Vec::<String>::new());
}

#[test]
fn sleeps_that_are_repeated_are_counted() {
    let told = |picture: &str| text(&of(Report::Explain, &trace(picture), &Query::default()));
    let often = told("a: ##sss#sss#sss#sss#sss#sss##");
    assert!(often.contains("That is 6 sleeps of 3.00 ms each, on average."), "{often}");
    let once = told("a: ##ssssssssssssssssssssssss##");
    assert!(once.contains("slept") && !once.contains("That is"), "{once}");
}
