//! Laws that hold on any trace: parts add up to the whole, and every report says the same.

use super::holders::blamed;
use super::*;

/// A cell of a thread's life.
fn cells() -> impl Strategy<Value = Vec<char>> {
    let cell = prop_oneof![5 => Just('#'), 2 => Just('1'), 2 => Just('-'), 3 => Just('m'), 1 => Just('c'), 1 => Just('s'), 1 => Just('e')];
    (0..10usize, prop::collection::vec((cell, 1..4usize), 1..15)).prop_map(|(before, runs)| {
        let life = runs.into_iter().flat_map(|(cell, count)| std::iter::repeat_n(cell, count));
        std::iter::repeat_n(' ', before).chain(life).collect()
    })
}

pub fn lines() -> impl Strategy<Value = Vec<Vec<char>>> {
    prop::collection::vec(cells(), 1..5)
}

/// Thread, start and length in milliseconds, and kind of a task.
pub fn tasks() -> impl Strategy<Value = (usize, u64, u64, char)> {
    (0..5usize, 0..30u64, 1..20u64, prop::sample::select(vec!['P', 'T', 'R']))
}

/// Adds tasks to a trace, of threads that are there.
pub fn add_tasks(trace: &mut Trace, tasks: &[(usize, u64, u64, char)]) {
    let names: Vec<String> = trace.threads.name.clone();
    for (thread, start, length, letter) in tasks {
        let Some(name) = names.get(*thread) else { continue };
        let task = (0..*length).map(|at| if at == 0 { *letter } else { '=' });
        let cells: Vec<char> = (0..*start).map(|_| ' ').chain(task).collect();
        dwell_trace_dsl::annotations::line(trace, &format!("{name} tasks"), &cells);
    }
    dwell_trace_dsl::annotations::in_order(trace);
    trace.tables_changed();
}

/// Running, runnable and waiting time of each innermost task, cell by cell.
fn times_by_task(trace: &Trace, lines: &[Vec<char>], tasks: &[(usize, u64, u64, char)]) -> BTreeMap<String, [u64; 3]> {
    let mut times: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (thread, cells) in lines.iter().enumerate() {
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != ' ') {
            let at = at as u64;
            let open =
                tasks.iter().filter(|(of, start, length, _)| *of == thread && *start <= at && at < start + length);
            // Of those that begin at once, the shortest one is inside; of equal ones, the later.
            let innermost = open.max_by_key(|(_, start, length, _)| (*start, std::cmp::Reverse(*length)));
            let name = match innermost.map(|(.., letter)| letter) {
                Some('P') => "parse",
                Some('T') => "tokenize",
                Some(_) => "render",
                None => dwell_query::stacks::tasks::NONE,
            };
            let what = if *cell == '-' { 1 } else { usize::from(cell.is_ascii_lowercase()) * 2 };
            times.entry(name.to_owned()).or_default()[what] += CELL;
        }
    }
    assert!(trace.threads.tid.len() == lines.len());
    times
}

fn named(lines: &[Vec<char>]) -> Vec<(&'static str, Vec<char>)> {
    ["a", "b", "c", "d", "e"].into_iter().zip(lines.iter().cloned()).collect()
}

/// The times among the totals.
fn times(totals: [u64; 6]) -> [u64; 3] {
    [totals[0], totals[1], totals[3]]
}

/// Waits, and preemptions, that began before and go on after that time.
fn across(trace: &Trace, cut: u64) -> (u64, u64) {
    let rows = &trace.off_cpu;
    let (mut waits, mut preemptions) = (0, 0);
    for row in 0..rows.start_ns.len() {
        let (start, wait) = (rows.start_ns[row], rows.wait_ns[row]);
        let of = |length: u64| u64::from(start < cut && cut < start + length);
        match Reason::from_code(rows.reason[row]) {
            Reason::Waiting => waits += of(wait),
            Reason::Preempted => preemptions += of(wait + rows.runnable_ns[row]),
            _ => {}
        }
    }
    (waits, preemptions)
}

/// Time by class of the waits, cell by cell.
fn waits_by_class(lines: &[Vec<char>], cpus: u32) -> [u64; 5] {
    let mut classes = [0; 5];
    let length = lines.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..length {
        let cells = || lines.iter().filter_map(|cells| cells.get(at)).filter(|cell| **cell != ' ');
        let ran = cells().filter(|cell| matches!(cell, '#' | '1')).count();
        let class = dwell_query::measure::utilization::class_of(ran, cpus, &crate::Thresholds::default());
        classes[class] += cells().filter(|cell| cell.is_ascii_lowercase()).count() as u64 * CELL;
    }
    classes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whoever held the lock, the parts are the waits.
    #[test]
    fn the_holders_of_a_lock_share_its_waits(lines in lines(), owners in prop::collection::vec(prop::option::of(0..5usize), 60)) {
        let mut trace = build(&named(&lines), 2);
        prop_assume!(trace.objects.name.iter().any(|name| name == "m"));
        let threads = trace.threads.tid.len();
        for (holder, owner) in trace.off_cpu.holder.iter_mut().zip(owners) {
            *holder = owner.filter(|owner| *owner < threads).map_or(ThreadId::NONE, ThreadId::new);
        }
        trace.tables_changed();
        let view = of(Report::Blame, &trace, &Query { subject: Some("m".into()), ..Query::default() });
        let (whole, parts) = (number(&column(&view, "wait_ns")[0]), blamed(&trace));
        prop_assert_eq!(parts.iter().map(|(.., cells)| cells).sum::<u64>() * CELL, whole);
    }

    #[test]
    fn parts_add_up_to_the_whole(lines in lines(), cpus in 1..4u32, estimated: bool) {
        let mut trace = build(&named(&lines), cpus);
        trace.samples.estimated.fill(estimated);
        prop_assert_eq!(check_conservation(&trace), Vec::<String>::new());
        let query = Query::default();
        let [cpu, wait, waits, queued, ..] = totals(&trace, &query);
        let view = of(Report::Waits, &trace, &query);
        prop_assert_eq!(sum(&view, "wait_ns"), wait);
        prop_assert_eq!(sum(&view, "wait_count"), waits);
        let mut classes = [0; 5];
        for value in column(&view, "wait_by_class") {
            let Value::ByClass(of_row) = value else { panic!() };
            classes.iter_mut().zip(of_row).for_each(|(sum, ns)| *sum += ns);
        }
        prop_assert_eq!(classes, waits_by_class(&lines, cpus));
        prop_assert_eq!(sum(&of(Report::Hotspots, &trace, &query), "cpu_ns"), cpu);
        prop_assert_eq!(sum(&of(Report::BottomUp, &trace, &query), "cpu_ns"), cpu);
        prop_assert_eq!(sum(&of(Report::TopDown, &trace, &query), "wait_ns"), wait);
        prop_assert_eq!(sum(&of(Report::Transitions, &trace, &query), "wait_ns"), wait);
        let threads = of(Report::Threads, &trace, &query);
        for ((life, ran), (ready, waited)) in column(&threads, "lifetime_ns").iter().zip(column(&threads, "running_ns"))
            .zip(column(&threads, "runnable_ns").iter().zip(column(&threads, "waiting_ns"))) {
            prop_assert_eq!(number(life), number(&ran) + number(ready) + number(&waited));
        }
        let timeline = of(Report::Timeline, &trace, &Query { bins: 7, ..Query::default() });
        prop_assert_eq!(sum(&timeline, "running_ns"), cpu);
        prop_assert_eq!(sum(&timeline, "runnable_ns"), queued);
        prop_assert_eq!(sum(&timeline, "waiting_ns"), wait);
    }

    #[test]
    fn histograms_cover_the_time_and_agree_with_cpu_time(lines in lines(), pause in (0..30u64, 0..10u64)) {
        let mut trace = build(&named(&lines), 2);
        let (start_ns, end_ns) = (pause.0 * CELL, (pause.0 + pause.1) * CELL);
        trace.pauses.push(dwell_store::tables::PauseRow { start_ns, end_ns });
        let summary = of(Report::Summary, &trace, &Query::default());
        let active = number(&column(&summary, "elapsed_ns")[0]) - number(&column(&summary, "paused_ns")[0]);
        for id in ["histogram_cpu", "histogram_concurrency"] {
            let Value::Histogram(times) = &column(&summary, id)[0] else { panic!() };
            prop_assert_eq!(times.iter().sum::<u64>(), active);
        }
        let Value::Real(average) = column(&summary, "avg_running")[0] else { panic!() };
        let cpu = number(&column(&summary, "cpu_ns")[0]);
        prop_assert!((average * active as f64 - cpu as f64).abs() < 1.0);
    }

    #[test]
    fn filters_add_up(lines in lines()) {
        let trace = build(&named(&lines), 2);
        let whole = totals(&trace, &Query::default());
        let a = totals(&trace, &filters(&["thread=a"]));
        let b = totals(&trace, &filters(&["thread=b"]));
        prop_assert_eq!(plus(a, b), totals(&trace, &filters(&["thread=a", "thread=b"])));
        let classes = dwell_view::CLASSES.map(|class| totals(&trace, &filters(&[&format!("utilization={class}")])));
        prop_assert_eq!(classes.into_iter().fold([0; 6], plus), whole);
        let idle = totals(&trace, &filters(&["idle=yes"]))[1] + totals(&trace, &filters(&["idle=no"]))[1];
        prop_assert_eq!(idle, whole[1]);
    }

    #[test]
    fn tasks_add_up(lines in lines(), tasks in prop::collection::vec(tasks(), 0..5), cut in 1..20_000_000u64) {
        let mut trace = build(&named(&lines), 2);
        let plain = totals(&trace, &Query::default());
        add_tasks(&mut trace, &tasks);
        prop_assert_eq!(totals(&trace, &Query::default()), plain);
        let by_task = Query { group_by: vec![Level::TaskType, Level::Object], ..Query::default() };
        let view = of(Report::Threads, &trace, &by_task);
        for (id, whole) in ["cpu_ns", "wait_ns"].into_iter().zip(plain) {
            prop_assert_eq!(sum(&view, id), whole);
        }
        // Millisecond by millisecond, the innermost task of each thread.
        for (name, times) in times_by_task(&trace, &lines, &tasks) {
            let row = view.rows.iter().find(|row| row.depth == 0 && row.values[0] == Value::Text(name.clone()));
            let of_row = row.map_or([0; 3], |row| std::array::from_fn(|at| number(&row.values[4 + at])));
            prop_assert_eq!(of_row, times, "{}", name);
        }
        let elapsed = trace.elapsed_ns();
        if cut < elapsed {
            let part = |from, to| totals(&trace, &Query { range: Some((from, to)), ..filters(&["task=parse"]) });
            let (parts, whole) = (plus(part(0, cut), part(cut, elapsed)), totals(&trace, &filters(&["task=parse"])));
            prop_assert_eq!((times(parts), parts[5]), (times(whole), whole[5]));
            prop_assert!((2..5).step_by(2).all(|count| parts[count] >= whole[count]));
        }
    }

    #[test]
    fn ranges_add_up(lines in lines(), cut in 1..30_000_000u64) {
        let trace = build(&named(&lines), 2);
        let elapsed = trace.elapsed_ns();
        prop_assume!(cut < elapsed);
        let part = |from, to| totals(&trace, &Query { range: Some((from, to)), ..Query::default() });
        let (parts, whole) = (plus(part(0, cut), part(cut, elapsed)), totals(&trace, &Query::default()));
        prop_assert_eq!((times(parts), parts[5]), (times(whole), whole[5]));
        // What goes on across the cut is counted on both sides.
        let (waits, preemptions) = across(&trace, cut);
        prop_assert_eq!((parts[2], parts[4]), (whole[2] + waits, whole[4] + preemptions));
    }

    /// The same number wherever it is shown, whatever part of the time is looked at.
    #[test]
    fn one_number_everywhere(lines in lines(), range in (0..30_000_000u64, 1..30_000_000u64), hidden in prop::option::of((0..20u64, 1..10u64))) {
        let mut trace = build(&named(&lines), 2);
        if let Some((from, cells)) = hidden {
            let (start_ns, end_ns) = (from * CELL, (from + cells) * CELL);
            trace.pauses.push(dwell_store::tables::PauseRow { start_ns, end_ns });
        }
        let range = (range.0, (range.0 + range.1).min(trace.elapsed_ns()));
        prop_assume!(range.0 < range.1);
        let query = Query { range: Some(range), include_idle: true, ..Query::default() };
        let [_, wait, waits, ..] = totals(&trace, &query);
        let view = of(Report::Waits, &trace, &query);
        prop_assert_eq!((sum(&view, "wait_ns"), sum(&view, "wait_count")), (wait, waits));
        let fold = Fold::new(&trace, &query).unwrap();
        let lengths = durations(&fold, None, DurationKind::Wait);
        prop_assert_eq!(lengths.bins.iter().map(|bin| bin.count).sum::<u64>(), waits);
        let of_row = |id: &str| column(&view, id).into_iter().map(|value| if value == Value::None { 0 } else { number(&value) });
        let counts = of_row("wait_count").zip(of_row("wait_ns")).zip(of_row("max_wait_ns").zip(of_row("threads")));
        for ((count, ns), (longest, threads)) in counts {
            let is_one = ns == 0 || (threads <= count && ns <= longest * count);
            prop_assert!((count > 0) == (ns > 0) && is_one, "{count} waits of {threads} threads, {ns} ns, {longest} ns");
        }
        for (name, whole) in column(&view, "object").into_iter().zip(of_row("wait_ns")).filter(|(_, ns)| *ns > 0) {
            let Value::Text(name) = name else { panic!() };
            let blame = of(Report::Blame, &trace, &Query { subject: Some(name), ..query.clone() });
            prop_assert_eq!(number(&column(&blame, "wait_ns")[0]), whole);
        }
    }

    #[test]
    fn the_critical_path_lasts_as_long_as_the_run(lines in lines(), range in prop::option::of((0..10u64, 11..20u64))) {
        let trace = build(&named(&lines), 2);
        let elapsed = trace.elapsed_ns();
        let range = range.map(|(from, to)| (from * CELL, (to * CELL).min(elapsed))).filter(|(from, to)| from < to);
        let view = of(Report::CriticalPath, &trace, &Query { range, ..Query::default() });
        prop_assert_eq!(sum(&view, "path_ns"), range.map_or(elapsed, |(from, to)| to - from));
        for gain in column(&view, "gain_ns") {
            prop_assert!(gain == Value::None || number(&gain) <= elapsed);
        }
    }

    #[test]
    fn looking_nearby_finds_what_a_search_finds(lines in lines(), steps in prop::collection::vec(1..3 * CELL, 1..40)) {
        let trace = build(&named(&lines), 2);
        let index = crate::study::thread_index::ThreadIndex::new(&trace);
        for thread in 0..trace.threads.tid.len() {
            let (mut time, mut reached) = (trace.elapsed_ns() + 1, crate::study::thread_index::Reached::default());
            for step in &steps {
                let piece = index.before_from(thread, time, &mut reached);
                prop_assert_eq!(piece, index.before(thread, time));
                if let Some(piece) = piece {
                    let (mut near, mut found) = (Vec::new(), Vec::new());
                    index.split_running_from(thread, piece, &mut reached, &mut |piece| near.push(piece));
                    index.split_running(thread, piece, &mut |piece| found.push(piece));
                    prop_assert_eq!(near, found);
                }
                time = if step % 3 == 0 { time.saturating_add(*step) } else { time.saturating_sub(*step) };
            }
        }
    }

    #[test]
    fn damaged_traces_have_every_report(lines in lines(), noise in prop::collection::vec((any::<u64>(), any::<u64>(), 0..5u32), 0..10)) {
        let mut trace = build(&named(&lines), 2);
        for (index, (wait, queued, thread)) in noise.into_iter().enumerate() {
            let rows = &mut trace.off_cpu;
            let threads = trace.threads.tid.len() as u32;
            if let Some(row) = rows.thread.len().checked_sub(1 + index) {
                rows.wait_ns[row] = wait;
                rows.runnable_ns[row] = queued;
                rows.thread[row] = dwell_model::ThreadId::from_raw(thread % threads);
                rows.waker[row] = dwell_model::ThreadId::from_raw((thread + 1) % threads);
            }
            let row = thread as usize % trace.threads.tid.len();
            (trace.threads.start_ns[row], trace.threads.end_ns[row]) = (wait, queued);
        }
        for kind in Report::ALL {
            let _ = report(*kind, &trace, &Query { subject: subject(*kind), ..Query::default() });
        }
        check_conservation(&trace);
    }
}
