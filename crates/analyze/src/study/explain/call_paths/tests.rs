//! Groups of places, written as paths of calls.

use super::*;

fn place(path: &str) -> CodePlace {
    let path: Vec<(String, String)> =
        path.split('>').map(|at| (at.split(':').next().unwrap().to_owned(), at.to_owned())).collect();
    CodePlace { at: path.last().unwrap().1.clone(), path, ..CodePlace::default() }
}

/// `(path, ns)` to `(at, ns)`, the largest first.
fn groups_of(runs: &[(&str, u64)]) -> Vec<(String, u64)> {
    let places: Vec<CodePlace> = runs.iter().map(|(path, _)| place(path)).collect();
    let numbered = (0..).zip(places.iter().zip(runs));
    let causes: Vec<CauseAt<'_>> =
        numbered.map(|(cause, (place, (_, ns)))| CauseAt { place, ns: *ns, cause }).collect();
    let mut groups: Vec<(String, u64)> =
        by_function(&causes).into_iter().map(|group| (group.at, sum(&group.causes))).collect();
    groups.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    groups
}

#[test]
fn lines_of_one_function_and_what_it_calls_are_one() {
    let groups = groups_of(&[("main:9>burn:83", 50), ("main:9>burn:82", 10), ("main:9>burn:84>clock:53", 40)]);
    assert_eq!(groups, [("burn:83".to_owned(), 100)]);
}

#[test]
fn a_function_that_hands_on_is_not_named() {
    let groups = groups_of(&[("loop:1>parse:5", 40), ("loop:2>store:7", 55), ("loop:3", 3), ("loop:4>log:8", 2)]);
    assert_eq!(groups, [("store:7".into(), 55), ("parse:5".into(), 40), ("loop:3".into(), 5)]);
}

#[test]
fn most_of_the_time_has_its_own_name_though_the_caller_works_too() {
    let groups = groups_of(&[("module:2", 26), ("module:10>run:8>step:4", 74)]);
    assert_eq!(groups, [("step:4".into(), 74), ("module:2".into(), 26)]);
    let nested = [
        ("parse:1", 25),
        ("parse:2>object:1", 25),
        ("parse:2>object:2>text:1", 25),
        ("parse:2>object:2>text:2>byte:1", 25),
    ];
    assert_eq!(groups_of(&nested), [("object:2".into(), 75), ("parse:1".into(), 25)]);
}

#[test]
fn what_packages_do_is_told_as_far_down_as_it_stays_together() {
    let mut places = [place("main:9>load:3"), place("main:9>load:3"), place("main:9>load:4")];
    let inside = |path: &str| place(path).path;
    places[0].inside = inside("Client.get:1>Context.new:2>read_certificates:3");
    places[1].inside = inside("Client.get:1>Context.new:2>seed:4");
    let times = [50, 30, 20];
    let causes: Vec<CauseAt<'_>> =
        (0..).zip(places.iter().zip(times)).map(|(cause, (place, ns))| CauseAt { place, ns, cause }).collect();
    let groups = by_function(&causes);
    assert_eq!(groups[0].at, "load:3");
    assert_eq!(groups[0].inside, Some(("Context.new:2".to_owned(), 0.8)));
    assert_eq!(by_function(&causes[2..])[0].inside, None);
}

#[test]
fn a_system_call_with_much_of_the_time_is_told() {
    let called = |call: &str| CodePlace { in_kernel: call.into(), ..place("main:1>scan:2") };
    let places = [called("newfstatat"), called("openat"), called("")];
    let cause = |at: usize, ns| CauseAt { place: &places[at], ns, cause: at as CauseId };
    assert_eq!(by_function(&[cause(0, 50), cause(1, 10), cause(2, 40)])[0].in_kernel, Some(("newfstatat".into(), 0.5)));
    assert_eq!(by_function(&[cause(0, 20), cause(1, 10), cause(2, 70)])[0].in_kernel, None);
}

#[test]
fn a_function_that_is_reached_in_two_ways_is_one() {
    let groups = groups_of(&[("loop:1>left:5>spin:7", 40), ("loop:2>right:6>spin:7", 55), ("loop:3>log:8", 30)]);
    assert_eq!(groups, [("spin:7".into(), 95), ("log:8".into(), 30)]);
}

#[test]
fn functions_without_a_name_are_their_files() {
    let runs = [("[sh]func@0x10", 40), ("[sh]func@0x20", 30), ("read:3", 20)];
    assert_eq!(groups_of(&runs), [("[sh]".to_owned(), 70), ("read:3".into(), 20)]);
    assert_eq!(groups_of(&[("[sh]func@0x10", 40), ("read:3", 20)])[0], ("[sh]func@0x10".to_owned(), 40));
}

#[test]
fn many_ways_to_one_function_are_called_by_that() {
    let paths: Vec<String> = (0..20).map(|number| format!("main:1>join:{number}>half{number}:1>spin:2")).collect();
    let runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 5)).collect();
    assert_eq!(groups_of(&runs), [("spin:2".to_owned(), 100)]);
}

#[test]
fn a_stack_that_was_not_seen_is_at_the_only_place_that_is_known() {
    let places = ["nap:3", "[unknown]", "doze:4"].map(place);
    let groups = |places: &[CodePlace]| {
        let causes = places.iter().map(|place| CauseAt { place, ns: 5, cause: 0 }).collect();
        by_place(causes).into_iter().map(|group| (group.at, group.causes.len())).collect::<Vec<_>>()
    };
    assert_eq!(groups(&places[..2]), [("nap:3".to_owned(), 2)]);
    assert_eq!(groups(&places).len(), 3);
}

#[test]
fn pieces_are_what_the_innermost_function_does_that_has_most() {
    let pieces = ["scan:1>fetch:1", "scan:1>copy:1", "sort:1>compare:1", "sort:1>swap:1", "write:1"];
    let paths: Vec<String> = pieces.iter().map(|piece| format!("main:1>serve:1>execute:1>{piece}")).collect();
    let mut runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 15)).collect();
    runs.push(("main:1>serve:1>parse:1", 25));
    assert_eq!(groups_of(&runs), [("execute:1".to_owned(), 75), ("parse:1".to_owned(), 25)]);
    let outermost: Vec<String> = pieces.iter().map(|piece| format!("main:1>{piece}")).collect();
    let runs: Vec<(&str, u64)> = outermost.iter().map(|path| (path.as_str(), 15)).collect();
    assert_eq!(groups_of(&runs).len(), 5, "main says nothing");
}

#[test]
fn pieces_of_much_the_same_size_are_told_with_who_calls_them() {
    let runs = ["grep:1", "seq:1", "print:1"].map(|piece| format!("main:1>run:1>loop:1>{piece}"));
    let places: Vec<CodePlace> = runs.iter().map(|path| place(path)).collect();
    let cause = |(place, ns)| CauseAt { place, ns, cause: 0 };
    let groups = |ns: [u64; 3]| by_function(&places.iter().zip(ns).map(cause).collect::<Vec<_>>());
    let all = groups([35, 45, 20]);
    let pieces = [("seq:1", 0.45), ("grep:1", 0.35), ("print:1", 0.2)].map(|(at, share)| (at.to_owned(), share));
    assert_eq!((all.len(), all[0].at.as_str(), all[0].pieces.as_slice()), (1, "loop:1", pieces.as_slice()));
    assert_eq!(groups([20, 60, 20]).len(), 3, "one of them is told");
}

#[test]
fn functions_without_a_name_are_told_by_the_one_that_calls_them() {
    let paths = ["main>run>eval>[lib.so]func@0x10", "main>run>eval>[lib.so]func@0x20>[lib.so]func@0x30"];
    let groups = groups_of(&[(paths[0], 40), (paths[1], 30)]);
    assert_eq!(groups, [("eval".to_owned(), 70)]);
    for path in ["main>[app]func@0x10", "start>run>toplev_main>[app]func@0x10"] {
        assert_eq!(groups_of(&[(path, 40)])[0].0, "[app]func@0x10", "main says nothing");
    }
}

#[test]
fn a_scripts_body_is_told_by_its_lines() {
    let body = |line: u32| {
        let at = format!("<module> (two.py:{line})");
        CodePlace { path: vec![("<module> (two.py)".into(), at.clone())], at, ..CodePlace::default() }
    };
    let places = [3, 5, 9].map(body);
    let groups = |times: [u64; 3]| {
        let cause = |(place, ns)| CauseAt { place, ns, cause: 0 };
        let groups = by_function(&places.iter().zip(times).map(cause).collect::<Vec<_>>());
        groups.into_iter().map(|group| (group.at, group.pieces)).collect::<Vec<_>>()
    };
    let lines = vec![("two.py:5".to_owned(), 0.55), ("two.py:3".to_owned(), 0.4)];
    assert_eq!(groups([40, 55, 5]), [("<module> (two.py:5)".to_owned(), lines)]);
    assert_eq!(groups([5, 90, 5]), [("<module> (two.py:5)".to_owned(), Vec::new())]);
}

#[test]
fn many_small_parts_stay_together() {
    let paths: Vec<String> = (0..20).map(|number| format!("main:1>step:{number}>f{number}:1")).collect();
    let runs: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 5)).collect();
    assert_eq!(groups_of(&runs).len(), 1);
}
