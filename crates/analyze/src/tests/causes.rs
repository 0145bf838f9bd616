//! What the explanation says of the well-known ways in which threads hold one another up.

use dwell_model::Outcome;

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
fn alike_objects_are_one_row_of_what_is_most_waited_for() {
    let first_columns = |report: Report, names: &[(&str, &str)], query: &Query| {
        let mut trace = trace("a: #mmmmmmmmmmmm#llllllllllll######\nb: ######1######1#1#~#############\nc: #ttt#");
        for (letter, name) in names {
            let row = trace.objects.name.iter().position(|known| known == letter).unwrap();
            trace.objects.name[row] = (*name).to_owned();
        }
        trace.tables_changed();
        let view = of(report, &trace, query);
        let rows = match view.field("top_objects") {
            Some(Value::Rows(rows)) => rows.rows.clone(),
            _ => view.rows.clone(),
        };
        let text = |value: &Value| if let Value::Text(text) = value { text.clone() } else { String::new() };
        let told: Vec<String> =
            rows.iter().map(|row| format!("{} {}", text(&row.values[0]), text(&row.values[1]))).collect();
        told
    };
    let alike = [("m", "Mutex 0x1a2b3c4d"), ("l", "Mutex 0x1a2b3c4d #2")];
    // What is waited for less than the causes that are told is left out beside it.
    assert_eq!(first_columns(Report::Summary, &alike, &Query::default()), ["2 × Mutex 0x1a2b3c4d "]);
    let mut single = first_columns(Report::Summary, &[], &Query::default());
    single.sort();
    assert_eq!(single, ["l w1", "m w0"]);
    let asked = Query { group_by: vec![dwell_query::question::level::Level::AlikeObjects], ..Query::default() };
    assert_eq!(first_columns(Report::Waits, &alike, &asked), ["2 × Mutex 0x1a2b3c4d ", "t w2"]);
    assert_eq!(first_columns(Report::Waits, &alike, &Query::default()).len(), 3, "the report stays exact");
}

#[test]
fn many_alike_rows_have_a_note_of_the_question_that_sums_them() {
    let noted = |objects: &str| {
        let lines: Vec<String> = objects.chars().map(|letter| format!("{letter}1: #{letter}{letter}#")).collect();
        let mut trace = trace(&lines.join("\n"));
        for (row, name) in trace.objects.name.iter_mut().enumerate() {
            *name = format!("TCP 10.0.0.1:* -> 10.0.0.2:80 #{row}");
        }
        trace.tables_changed();
        text(&of(Report::Waits, &trace, &Query::default())).contains("--group-by alike-objects")
    };
    assert!(noted("tuvwxy") && !noted("tu"));
}

#[test]
fn sleeps_that_are_repeated_are_counted() {
    let told = |picture: &str| text(&of(Report::Explain, &trace(picture), &Query::default()));
    let often = told("a: ##sss#sss#sss#sss#sss#sss##");
    assert!(often.contains("That is 6 sleeps of 3.00 ms each, on average."), "{often}");
    let once = told("a: ##ssssssssssssssssssssssss##");
    assert!(once.contains("slept") && !once.contains("That is"), "{once}");
}

/// What the summary of a program that was there before says where there is neither a cause nor a finding.
fn said_without_causes(picture: &str) -> String {
    let mut trace = trace(picture);
    trace.manifest.command.clear();
    said_of(trace)
}

fn said_of(mut trace: Trace) -> String {
    trace.manifest.exit_status = None;
    let view = of(Report::Summary, &trace, &Query::default());
    let Some(Value::Rows(rows)) = view.field("explanation") else { panic!("no explanation") };
    assert!(rows.rows.is_empty(), "{:#?}", rows.rows);
    rows.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn threads_that_mostly_sleep_are_told_though_nobody_waits_for_them() {
    let slept = said_without_causes(&format!("main: {}", "#sssssssss".repeat(4)));
    assert!(
        slept.contains("slept most of the time: main in use_s (app.c:") && slept.contains("4 times for 9.00 ms each"),
        "{slept}"
    );
    let joined = said_without_causes(&format!("main: {}\npoller: {}", "j".repeat(40), "#sssssssss".repeat(4)));
    assert!(joined.contains("poller in use_s"), "{joined}");
    let sometimes = said_without_causes(&format!("main: {}", "######ssss".repeat(4)));
    assert!(!sometimes.contains("slept most"), "{sometimes}");
    let mut timed = trace(&format!("main: {}\npoller: {}", "j".repeat(40), "#eeeeeeeee".repeat(4)));
    timed.off_cpu.outcome[1..].fill(Outcome::TimedOut.code());
    timed.off_cpu.outcome[0] = Outcome::Unfinished.code();
    timed.tables_changed();
    let in_loop = said_of(timed.clone());
    assert!(in_loop.contains("poller in its event loop") && in_loop.contains("4 times for 9.00 ms each"), "{in_loop}");
    timed.manifest.command.clear();
    assert!(!said_of(timed).contains("slept most"), "who is attached to may be a server at rest");
    let waits = said_without_causes(&format!("main: #{}\npoller: {}", "c".repeat(39), "#sssssssss".repeat(4)));
    assert!(!waits.contains("slept most"), "main may hang: {waits}");
}
