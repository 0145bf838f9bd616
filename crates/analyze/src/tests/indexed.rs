//! An index answers every question as the tables do.

use std::fs;

use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::Groups;
use dwell_query::engine::index::AnswerPlan;
use dwell_query::engine::index::make::{BuildError, Fineness, answered_as, open_as};
use dwell_query::history::band_kind::BandKind;
use dwell_query::history::states::TimelineState;
use dwell_query::measure::utilization::Thresholds;
use dwell_query::measure::weights::Weights;
use dwell_query::question::filter::Filter;
use dwell_query::question::level::Level;
use dwell_query::question::query::Query;
use dwell_query::question::windows::Windows;
use dwell_store::{CodeTables, ResultFolder, Trace};
use dwell_trace_dsl::{CELL, build, text};
use proptest::prelude::*;

use crate::Analysis;
use crate::report;
use crate::reports::Report;
use crate::timeline::{BandOrder, DurationKind, TileRequest, bands, charts, coarse_band, histogram, tile};

/// Blocks of a few events, so that small traces have levels of them.
const FINE: Fineness = Fineness { least_events: 1, block_events: 3, block_buckets: 1024 };

fn saved(trace: &Trace) -> (tempfile::TempDir, ResultFolder) {
    let parent = tempfile::tempdir().unwrap();
    let folder = ResultFolder::create(&parent.path().join("r000th")).unwrap();
    trace.clone().write(&folder, &CodeTables::default()).unwrap();
    (parent, folder)
}

fn answers(trace: &Trace, query: &Query) -> Vec<String> {
    let of = |kind: &Report| match report(
        *kind,
        trace,
        &Query { subject: crate::tests::subject(*kind), bins: 7, ..query.clone() },
    ) {
        Ok(view) => text(&view),
        Err(error) => error.to_string(),
    };
    Report::ALL.iter().map(of).collect()
}

fn queries(range: Option<(u64, u64)>, without: (u64, u64)) -> Vec<Query> {
    let filter = |text: &str| vec![Filter::parse(text).unwrap()];
    let query = Query { range, ..Query::default() };
    vec![
        query.clone(),
        Query { excluded_ranges: vec![without], ..query.clone() },
        Query { filters: filter("object=m"), ..query.clone() },
        Query { exclude: filter("thread=t1"), ..query.clone() },
        Query { filters: filter("utilization=poor"), ..query.clone() },
        Query { filters: filter("cpu=0"), ..query.clone() },
        Query { filters: filter("wait-length=2ms-5ms"), ..query.clone() },
        Query { exclude: filter("wait-length=-3ms"), ..query.clone() },
        Query { target_concurrency: Some(4), ..query.clone() },
        Query { target_concurrency: Some(1), filters: filter("thread=t0"), ..query.clone() },
        Query { target_concurrency: Some(3), excluded_ranges: vec![without], ..query.clone() },
        Query { target_concurrency: Some(3), filters: filter("utilization=ok"), ..query.clone() },
        Query { thresholds: Thresholds { poor: 0.1, ok: 0.6, ideal: 0.9 }, ..query.clone() },
        Query { group_by: vec![Level::Waker, Level::Thread, Level::Function], ..query.clone() },
        Query { group_by: vec![Level::TaskType, Level::Object], ..query.clone() },
        Query { exclude: filter("task=parse"), ..query },
    ]
}

fn lines() -> impl Strategy<Value = Vec<Vec<char>>> {
    let cell = prop::sample::select(vec!['#', '#', '1', 'm', 'm', 's', 'e', 'c', '-', ' ']);
    prop::collection::vec(prop::collection::vec(cell, 4..60), 1..5)
}

/// Lives have no holes.
fn whole(cells: Vec<char>) -> Vec<char> {
    let last = cells.iter().rposition(|cell| *cell != ' ').unwrap_or(0);
    let first = cells.iter().position(|cell| *cell != ' ').unwrap_or(0);
    let fill = |(at, cell): (usize, char)| if cell == ' ' && at > first && at < last { '#' } else { cell };
    cells.into_iter().enumerate().map(fill).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn an_index_answers_as_the_tables_do(
        lines in lines(),
        range in prop::option::of((0u64..40_000_000, 1u64..50_000_000)),
        without in (0u64..50_000_000, 1u64..9_000_000),
        has_pause in any::<bool>(),
        tasks in prop::collection::vec(crate::tests::laws::tasks(), 0..6),
    ) {
        let named: Vec<String> = (0..lines.len()).map(|line| format!("t{line}")).collect();
        let lines: Vec<(&str, Vec<char>)> = named.iter().map(String::as_str).zip(lines.into_iter().map(whole)).collect();
        let mut trace = build(&lines, 2);
        crate::tests::laws::add_tasks(&mut trace, &tasks);
        if has_pause {
            trace.pauses.start_ns.push(3 * CELL + 7);
            trace.pauses.end_ns.push(5 * CELL);
        }
        let (_parent, folder) = saved(&trace);
        let indexed = open_as(&folder, FINE).unwrap();
        prop_assume!(trace.off_cpu.start_ns.len() + trace.samples.time_ns.len() > 0);
        prop_assert!(indexed.index().is_some() && indexed.off_cpu.start_ns.is_empty());
        let range = range.map(|(from, length)| (from, from + length));
        for query in queries(range, (without.0, without.0 + without.1)) {
            prop_assert_eq!(answers(&indexed, &query), answers(&trace, &query));
        }
    }
}

const LONG: &str = "##m1m#s##m#-#mm#1m#m1ss#mm##m#mm##e#m1#";

fn long() -> Trace {
    of_length(4000)
}

fn of_length(cells: usize) -> Trace {
    let other: Vec<char> = LONG.chars().rev().cycle().take(cells).collect();
    let cells: Vec<char> = LONG.chars().cycle().take(cells).collect();
    build(&[("a", cells), ("b", other)], 2)
}

#[test]
fn classes_of_any_target_come_from_blocks() {
    let trace = long();
    let (_parent, folder) = saved(&trace);
    let indexed = open_as(&folder, FINE).unwrap();
    let range = Some((100 * CELL + 7, 3900 * CELL));
    for target in 1..6 {
        let query = Query { target_concurrency: Some(target), range, ..Query::default() };
        let windows = Windows::of_query(&indexed, &query).unwrap();
        let plan = AnswerPlan::new(&indexed, &query, &windows, None);
        assert!(plan.swept_ns() < 3800 * CELL / 4, "{} ns of {target} are swept", plan.swept_ns());
        assert_eq!(answers(&indexed, &query), answers(&trace, &query));
    }
}

#[test]
fn waits_of_a_length_are_found_row_by_row() {
    // Blocks of a few hundred events, so that they have several slabs.
    let (trace, fineness) = (long(), Fineness { block_events: 400, ..FINE });
    let (_parent, folder) = saved(&trace);
    let indexed = open_as(&folder, fineness).unwrap();
    assert!(dwell_query::engine::index::running::Running::of(&indexed).is_some());
    let filters = |texts: &[&str]| texts.iter().map(|text| Filter::parse(text).unwrap()).collect::<Vec<_>>();
    for range in [None, Some((100 * CELL + 7, 3900 * CELL + 1)), Some((17, 18)), Some((40 * CELL, 41 * CELL))] {
        let query = Query { range, ..Query::default() };
        for query in [
            Query { filters: filters(&["wait-length=2ms-"]), ..query.clone() },
            Query { filters: filters(&["wait-length=1ms-2ms", "object=m"]), ..query.clone() },
            Query { filters: filters(&["wait-length=-2ms", "wait-length=2500us-", "thread=b"]), ..query.clone() },
            Query { exclude: filters(&["wait-length=2ms-"]), target_concurrency: Some(3), ..query.clone() },
            Query { filters: filters(&["wait-length=-2ms", "cpu=0"]), ..query.clone() },
            Query { filters: filters(&["wait-length=-2ms", "utilization=poor"]), ..query.clone() },
            Query { filters: filters(&["wait-length=-2ms"]), excluded_ranges: vec![(900, 70 * CELL)], ..query },
        ] {
            assert_eq!(answers(&indexed, &query), answers(&trace, &query));
        }
    }
}

#[test]
fn a_second_viewer_finds_the_index_of_the_first() {
    let (_parent, folder) = saved(&long());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(open_as(&folder, FINE).unwrap().index().is_some()));
        }
    });
    let file = folder.path().join("index.cache");
    let made = fs::metadata(&file).unwrap().modified().unwrap();
    assert!(open_as(&folder, FINE).unwrap().index().is_some());
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), made);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("partial")), "{names:?}");
}

#[test]
fn a_damaged_index_is_made_again() {
    let trace = long();
    let (_parent, folder) = saved(&trace);
    let expected = answers(&trace, &Query::default());
    assert_eq!(answers(&open_as(&folder, FINE).unwrap(), &Query::default()), expected);
    let file = folder.path().join("index.cache");
    let whole = fs::read(&file).unwrap();
    for length in [0, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::remove_file(&file).unwrap();
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(answers(&open_as(&folder, FINE).unwrap(), &Query::default()), expected, "{length}");
        assert_eq!(fs::metadata(&file).unwrap().len(), whole.len() as u64);
    }
}

/// Whatever an index of a stranger says, nobody panics.
#[test]
fn hostile_bytes_behind_a_sound_header_are_survived() {
    let (_parent, folder) = saved(&of_length(1000));
    drop(open_as(&folder, FINE).unwrap());
    let file = folder.path().join("index.cache");
    let whole = fs::read(&file).unwrap();
    for seed in 0..40usize {
        let mut bytes = whole.clone();
        for step in 0..200 {
            let at = 4096 + (seed * 7919 + step * 104_729) % (bytes.len() - 4096);
            bytes[at] = bytes[at].wrapping_mul(31).wrapping_add(seed as u8 | 1);
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, &bytes).unwrap();
        let analysis = Analysis::new(open_as(&folder, FINE).unwrap());
        answers(analysis.trace(), &Query::default());
        let request =
            TileRequest { from: 0, to: 1000 * CELL, width: 50, by: BandKind::Thread, bands: vec![0, 1, 2, u32::MAX] };
        tile(&analysis, &request);
        tile(&analysis, &TileRequest { by: BandKind::Cpu, ..request });
    }
}

/// Flipped bits, wherever they are, change no number: the index is made anew when one of them is used.
#[test]
fn flipped_bits_change_no_answer() {
    // Every report is made for each seed: the trace is short, and its index still has hundreds of blocks.
    let trace = of_length(1000);
    let (_parent, folder) = saved(&trace);
    drop(open_as(&folder, FINE).unwrap());
    let file = folder.path().join("index.cache");
    let whole = fs::read(&file).unwrap();
    let queries = queries(Some((3 * CELL, 900 * CELL)), (700 * CELL, 710 * CELL));
    let expected: Vec<Vec<String>> = queries.iter().map(|query| answers(&trace, query)).collect();
    // Whether the index was made anew. Of `every` bytes, one has a flipped bit.
    let is_noticed = |seed: usize, every: usize| {
        let mut bytes = whole.clone();
        for part in bytes.chunks_mut(every) {
            let bit = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (part.len() * 8);
            part[bit / 8] ^= 1 << (bit % 8);
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, &bytes).unwrap();
        let asked = seed % queries.len();
        let found = answered_as(&folder, FINE, |trace| Ok::<_, BuildError>(answers(&trace, &queries[asked]))).unwrap();
        assert_eq!(found, expected[asked], "seed {seed}, one of {every} bytes");
        fs::read(&file).unwrap() != bytes
    };
    (0..60).for_each(|seed| {
        is_noticed(seed, whole.len());
    });
    assert!((0..20).all(|seed| is_noticed(seed, 8192)), "a flipped bit was used and not noticed");
}

#[test]
fn coarse_drawings_cover_each_life_and_agree_with_fine_ones() {
    let cells: Vec<char> = "###mmm#-mm".chars().cycle().take(200_000).collect();
    let trace = build(&[("a", cells)], 1);
    let (_parent, folder) = saved(&trace);
    let (indexed, plain) = (Analysis::new(open_as(&folder, FINE).unwrap()), Analysis::new(trace));
    for (from, to) in [(0, 200_000 * CELL), (17, 150_000 * CELL + 3)] {
        let request = TileRequest { from, to, width: 100, by: BandKind::Thread, bands: vec![0] };
        let (coarse, fine) = (tile(&indexed, &request), tile(&plain, &request));
        for tile in [&coarse, &fine] {
            let band = &tile.bands[0];
            let covered: u64 = band.start.iter().zip(&band.end).map(|(start, end)| end - start).sum();
            assert_eq!(covered, to - from);
            assert!(!tile.exact && !band.sample_time.is_empty());
        }
        // Five of ten cells wait, four run, one queues.
        assert!(coarse.bands[0].state.iter().all(|state| *state == fine.bands[0].state[0]));
    }
    let range = (0, 200_000 * CELL);
    let query = Query::default();
    let curves = |analysis: &Analysis| charts(analysis, &query, range, 40).unwrap();
    let (coarse, fine) = (curves(&indexed), curves(&plain));
    for (coarse, fine) in coarse.series.iter().zip(&fine.series) {
        for (coarse, fine) in coarse.mean.iter().zip(&fine.mean) {
            assert!((coarse - fine).abs() <= 0.01 * fine.abs() + 0.01, "{coarse} for {fine}");
        }
        assert_eq!(coarse.peak, fine.peak);
    }
    let lengths = |analysis: &Analysis| histogram(analysis, &query, DurationKind::Wait).unwrap();
    assert_eq!(lengths(&indexed), lengths(&plain));
    let order = BandOrder::parse("wait_ns").unwrap();
    let listed = |analysis: &Analysis| bands(analysis, &query, BandKind::Object, order).unwrap();
    assert_eq!(listed(&indexed), listed(&plain));
}

#[test]
fn coarse_drawings_of_processes_objects_and_cpus_agree_with_fine_ones() {
    let cells: Vec<char> = "###mmm#-mm".chars().cycle().take(200_000).collect();
    // One that begins to wait late, and only once.
    let other: Vec<char> = "#".repeat(150_000).chars().chain("s".repeat(50_000).chars()).collect();
    let trace = build(&[("a", cells), ("b", other)], 1);
    let (_parent, folder) = saved(&trace);
    let analysis = Analysis::new(open_as(&folder, FINE).unwrap());
    let shown = |kind: BandKind, id: u32| {
        let band = coarse_band(&analysis, (kind, id), (0, 200_000 * CELL, 1000)).unwrap();
        let ns = |at: usize| band.end[at] - band.start[at];
        let states = (0..band.start.len()).map(|at| (TimelineState::ALL[usize::from(band.state[at])], ns(at)));
        let mut times = std::collections::BTreeMap::<&str, u64>::new();
        states.for_each(|(state, ns)| *times.entry(state.id()).or_default() += ns);
        times
    };
    let whole = 200_000 * CELL;
    assert_eq!(shown(BandKind::Process, 0), [("running", whole)].into());
    let objects = &analysis.trace().objects.name;
    let object = |name: &str| objects.iter().position(|known| known == name).unwrap() as u32;
    assert_eq!(shown(BandKind::Object, object("m")), [("lock", whole)].into());
    let late = shown(BandKind::Object, object("s"));
    let slept: u64 = late.values().sum();
    assert!(late.len() == 1 && slept.abs_diff(whole / 4) < whole / 1000, "{late:?}");
    assert!(shown(BandKind::Object, 4_000_000).is_empty());
    assert!(shown(BandKind::Cpu, 0)["running"] == whole);
}

#[test]
fn the_list_of_cpus_comes_from_blocks() {
    let mut trace = long();
    trace.off_cpu.cpu.iter_mut().enumerate().for_each(|(row, cpu)| *cpu = (row % 7) as u16);
    trace.samples.cpu.iter_mut().enumerate().for_each(|(row, cpu)| *cpu = (row % 5) as u16);
    let (_parent, folder) = saved(&trace);
    let (indexed, plain) = (Analysis::new(open_as(&folder, FINE).unwrap()), Analysis::new(trace));
    let listed = |analysis: &Analysis, query: &Query| bands(analysis, query, BandKind::Cpu, BandOrder::Name).unwrap();
    let range = Some((100 * CELL + 7, 3900 * CELL));
    for (text, from_blocks) in [
        ("", true),
        ("thread=a", true),
        ("utilization=poor", true),
        ("idle=no", true),
        ("cpu=3", true),
        ("object=m", false),
    ] {
        let filters: Vec<Filter> = Filter::parse(text).into_iter().collect();
        let query = Query { range, filters, ..Query::default() };
        assert_eq!(listed(&indexed, &query), listed(&plain, &query), "{text}");
        let query = Query { group_by: vec![Level::Cpu], only_cpus: true, ..query };
        let fold = Fold::new(indexed.trace(), &query).unwrap();
        assert_eq!(fold.swept_ns() < 3800 * CELL / 8, from_blocks, "{text}: {} ns are swept", fold.swept_ns());
    }
}

#[test]
fn cpus_alone_have_the_same_sums_as_with_everything_told_apart() {
    let trace = long();
    for text in ["thread=a", "object=m", "cpu=0", "idle=no"] {
        let sums = |only_cpus: bool| {
            let filters = vec![Filter::parse(text).unwrap()];
            let query = Query { group_by: vec![Level::Cpu], only_cpus, filters, ..Query::default() };
            let fold = Fold::new(&trace, &query).unwrap();
            let groups = Groups::new(&fold, &[Level::Cpu], |_| true);
            let mut sums: Vec<(u32, Weights)> =
                groups.nodes.iter().map(|node| (node.key, node.weights.clone())).collect();
            sums.sort_by_key(|(cpu, _)| *cpu);
            (sums, fold.sums.sites.len())
        };
        let (few, all) = (sums(true), sums(false));
        assert_eq!(few.0, all.0, "{text}");
        assert!(!few.0.is_empty() && few.1 < all.1, "{text}");
    }
}
