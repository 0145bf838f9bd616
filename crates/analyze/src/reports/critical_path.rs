//! The critical path by function and object, and what freeing an object could gain at most.

use dwell_model::{ObjectId, ObjectType};
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::elapsed_ns;
use dwell_store::WordMap;
use dwell_view::{Prose, Row, Value, View, Word};

use crate::sentences::say;
use crate::study::critical_path::{Detour, Follower, Segment, critical_path as path_of};
use crate::study::intervals::Activity;
use crate::study::thread_index::ThreadIndex;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::losses::warning;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "name", "Name", "The function that ran, or the object that was waited on.",
        "名前", "実行された関数、または待機の対象。";
    plain "kind", "Kind", "running, waiting, run-queue, outside (no thread of the program), paused.",
        "種類", "実行、待機、実行キュー、プログラム外、一時停止。";
    plain "type", "Object Type", "Type of what was waited on.",
        "オブジェクト・タイプ", "待機の対象の種類。";
    plain "path_ns", "Time on Path", "Its time on the critical path; adds up to the elapsed time.",
        "パス時間", "クリティカル・パス上の時間。合計は経過時間です。";
    plain "share", "Share", "Part of the elapsed time.",
        "割合", "経過時間に対する割合。";
    plain "segments", "Segments", "How often it is on the path.",
        "区間数", "クリティカル・パスに現れる回数。";
    plain "gain_ns", "Possible Gain", "Upper bound of what it would gain if nobody ever had to wait for the object.",
        "短縮の上限", "このオブジェクトの待機がなくなったときに短縮できる時間の上限。";
    plain "gain_share", "Gain Share", "The same as part of the elapsed time.",
        "短縮の割合", "短縮の上限の、経過時間に対する割合。";
}

/// What a stretch of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Running(u32),
    RunQueue,
    Waiting(ObjectId),
    Outside,
    Paused,
}

impl Kind {
    fn id(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::RunQueue => "run-queue",
            Self::Waiting(_) => "waiting",
            Self::Outside => "outside",
            Self::Paused => "paused",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct PathSums {
    path_ns: u64,
    segments: u64,
    gain_ns: u64,
}

/// Shares of the path, the largest first. Filters do not apply: the path is the whole program's.
pub fn critical_path(fold: &Fold<'_>) -> View {
    let index = ThreadIndex::new(fold.trace);
    let (from, to) = span(fold);
    let threads = fold.trace.threads.tid.len();
    let new = || Summed { fold, sums: WordMap::default(), segments: 0, threads: vec![false; threads] };
    let mut path = new();
    path_of(fold.trace, &index, (from, to), new).into_iter().for_each(|part| path.add(part));
    let paused = (to - from).saturating_sub(fold.sums.windows.length_ns());
    if paused > 0 {
        path.sums.insert(Kind::Paused, PathSums { path_ns: paused, ..PathSums::default() });
    }
    let mut sums: Vec<(Kind, PathSums)> = path.sums.into_iter().collect();
    sums.sort_by_key(|(kind, sums)| (std::cmp::Reverse((sums.path_ns.max(sums.gain_ns), sums.path_ns)), *kind));
    let cut = fold.query.limit_rows(&mut sums);
    let rows = sums.iter().map(|(kind, sums)| row(fold, *kind, sums, to - from)).collect();
    let threads = path.threads.iter().filter(|is_on_it| **is_on_it).count();
    let mut notes: Vec<Prose> = warning(fold.trace).into_iter().map(Prose::from).collect();
    let length = Word::Ns(to - from);
    notes.push(say!(PATH, segments = path.segments, threads = threads, length = length).into());
    notes.push(say!(PATH_UNFILTERED).into());
    notes.push(say!(PATH_GAIN).into());
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

fn span(fold: &Fold<'_>) -> (u64, u64) {
    let elapsed = elapsed_ns(fold.trace);
    let (from, to) = fold.query.range.unwrap_or((0, elapsed));
    (from.min(elapsed), to.min(elapsed).max(from.min(elapsed)))
}

/// The path's sums.
struct Summed<'f, 't> {
    fold: &'f Fold<'t>,
    sums: WordMap<Kind, PathSums>,
    segments: usize,
    /// Whether each is on it.
    threads: Vec<bool>,
}

impl Summed<'_, '_> {
    /// Adds those of another part.
    fn add(&mut self, part: Self) {
        for (kind, theirs) in part.sums {
            let ours = self.sums.entry(kind).or_default();
            ours.path_ns += theirs.path_ns;
            ours.segments += theirs.segments;
            ours.gain_ns += theirs.gain_ns;
        }
        self.segments += part.segments;
        self.threads.iter_mut().zip(part.threads).for_each(|(ours, theirs)| *ours |= theirs);
    }
}

impl Follower for Summed<'_, '_> {
    fn segment(&mut self, segment: Segment) {
        let (fold, piece) = (self.fold, segment.piece);
        let kind = match (segment.thread, piece.activity) {
            (None, _) => Kind::Outside,
            (_, Activity::Running) => Kind::Running(fold.sums.stacks.function(fold.sums.stacks.shown(piece.stack))),
            (_, Activity::Runnable) => Kind::RunQueue,
            (_, Activity::Waiting) => Kind::Waiting(object_of(fold, piece.row)),
        };
        let ns = fold.sums.windows.overlap_ns(piece.from, piece.to);
        let sum = self.sums.entry(kind).or_default();
        sum.path_ns += ns;
        sum.segments += 1;
        if matches!(kind, Kind::Waiting(_)) {
            sum.gain_ns += ns;
        }
        self.segments += 1;
        if let Some(is_on_it) = segment.thread.and_then(|thread| self.threads.get_mut(thread)) {
            *is_on_it = true;
        }
    }

    fn detour(&mut self, detour: Detour) {
        // A join waits for the work itself: there is nothing to free.
        let is_work = matches!(self.fold.object_type(detour.object), ObjectType::ThreadJoin | ObjectType::ChildProcess);
        if !detour.nested && !is_work {
            let ns = self.fold.sums.windows.overlap_ns(detour.from, detour.to);
            self.sums.entry(Kind::Waiting(detour.object)).or_default().gain_ns += ns;
        }
    }
}

fn object_of(fold: &Fold<'_>, row: Option<usize>) -> ObjectId {
    row.map_or(ObjectId::NONE, |row| fold.object_of(row))
}

fn row(fold: &Fold<'_>, kind: Kind, sums: &PathSums, length: u64) -> Row {
    let (name, kind_of_object) = match kind {
        Kind::Running(function) => (fold.sums.stacks.function_name(function).to_owned(), None),
        Kind::Waiting(object) => (fold.object_name(object).to_owned(), Some(fold.object_type(object))),
        Kind::RunQueue => ("[run queue]".into(), None),
        Kind::Outside => ("[no thread of the program]".into(), None),
        Kind::Paused => ("[paused]".into(), None),
    };
    let share = |ns: u64| Value::Fraction(ns as f64 / length.max(1) as f64);
    let is_wait = matches!(kind, Kind::Waiting(_));
    let gain = |value: Value| if is_wait { value } else { Value::None };
    Row {
        depth: 0,
        values: vec![
            Value::Text(name),
            Value::Text(kind.id().into()),
            kind_of_object.map_or(Value::None, |kind| Value::Text(kind.id().into())),
            Value::Ns(sums.path_ns),
            share(sums.path_ns),
            Value::Count(sums.segments),
            gain(Value::Ns(sums.gain_ns)),
            gain(share(sums.gain_ns)),
        ],
    }
}
