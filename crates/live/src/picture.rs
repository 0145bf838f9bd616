//! What threads did until now, as bands over time: each a row of equal columns. Bounded however long it lasts: when there are too many
//! columns, two become one; when there are too many bands, those of threads that ended become one, or bands stand for processes.

use std::collections::{BTreeMap, btree_map};

use crate::activity::{ActivitySums, Interval, ThreadActivity};

/// Columns at most.
const MOST_COLUMNS: usize = 1200;
/// The time of a column in the beginning.
const SHORTEST_COLUMN_NS: u64 = 250_000_000;
/// Bands at most, beside the one of all others.
const MOST_BANDS: usize = 40;
/// After so long without a look the picture begins anew.
const LONGEST_GAP_NS: u64 = 600_000_000_000;

/// What a band stands for: process, thread, when that was born; thread 0 = the whole process.
type BandKey = (u32, u32, u64);
/// The band of all that have none of their own.
const OTHERS: BandKey = (u32::MAX, 0, 0);

/// The picture; begins with the first interval that it takes.
#[derive(Clone, Debug)]
pub struct LivePicture {
    /// Where its first column begins, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// How long each column is.
    pub column_ns: u64,
    /// Which part of each column was seen.
    pub columns: Vec<SeenColumn>,
    /// Until when it goes.
    end_ns: u64,
    by_process: bool,
    bands: BTreeMap<BandKey, LiveBand>,
}

/// How much of a column was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenColumn {
    /// Threads were looked at in it for so long.
    pub looked_ns: u64,
    /// The recording was paused in it for so long.
    pub paused_ns: u64,
}

/// A thread's row, or a process's.
#[derive(Clone, Debug, Default)]
pub struct LiveBand {
    /// Its process, 0 = several.
    pub pid: u32,
    /// The thread, 0 = all of the process.
    pub tid: u32,
    /// Name of the thread or process; empty for others.
    pub name: String,
    /// Threads that it stood for at the last look; of others: threads or processes that it ever stood for.
    pub threads: u64,
    /// What they did, by column; what is behind the end was not there yet.
    pub cells: Vec<ActivitySums>,
    seen_ns: u64,
}

impl Default for LivePicture {
    fn default() -> Self {
        Self {
            begin_ns: 0,
            column_ns: SHORTEST_COLUMN_NS,
            columns: Vec::new(),
            end_ns: 0,
            by_process: false,
            bands: BTreeMap::new(),
        }
    }
}

impl LivePicture {
    /// Adds what threads did in an interval that ended at `to_ns`.
    pub fn take(&mut self, interval: &Interval, to_ns: u64) {
        let from_ns = to_ns.saturating_sub(interval.length_ns);
        self.go_to(from_ns, to_ns);
        self.cover(from_ns, to_ns, |column| &mut column.looked_ns);
        if !self.by_process && interval.threads.len() > MOST_BANDS {
            self.stand_for_processes();
        }
        let mut groups: BTreeMap<BandKey, LiveBand> = BTreeMap::new();
        for thread in &interval.threads {
            let group = groups.entry(self.key_of(thread)).or_default();
            group.threads += 1;
            if group.name.is_empty() || thread.last.tid == thread.last.pid {
                group.name = thread.name();
            }
            group.cells.resize(1, ActivitySums::default());
            group.cells[0].add(&thread.sums);
        }
        for (key, group) in groups {
            let (begin_ns, column_ns) = (self.begin_ns, self.column_ns);
            let band = self.band(key, to_ns);
            if band.pid != 0 {
                (band.name, band.threads) = (group.name, group.threads);
            }
            band.seen_ns = to_ns;
            for (at, part_ns) in parts(from_ns - begin_ns, to_ns - begin_ns, column_ns) {
                if band.cells.len() <= at {
                    band.cells.resize(at + 1, ActivitySums::default());
                }
                band.cells[at].add(&group.cells[0].part(part_ns, to_ns - from_ns));
            }
        }
    }

    /// Nothing was recorded from `from_ns` to `to_ns`, and nobody looked.
    pub fn pause(&mut self, from_ns: u64, to_ns: u64) {
        self.go_to(from_ns, to_ns);
        self.cover(from_ns, to_ns, |column| &mut column.paused_ns);
    }

    /// The bands, by process and thread, the one of all others last.
    pub fn bands(&self) -> impl Iterator<Item = &LiveBand> {
        self.bands.values()
    }

    /// Whether bands stand for processes.
    pub fn is_by_process(&self) -> bool {
        self.by_process
    }

    /// Threads that ran in column `at` on average; none where nobody looked.
    pub fn concurrency(&self, at: usize) -> Option<f64> {
        let looked_ns = self.columns.get(at).map(|column| column.looked_ns).filter(|ns| *ns > 0)?;
        let running: u64 = self.bands().filter_map(|band| band.cells.get(at)).map(|cell| cell.running_ns).sum();
        Some(running as f64 / looked_ns as f64)
    }

    /// Makes room until `to_ns`.
    fn go_to(&mut self, from_ns: u64, to_ns: u64) {
        let is_far = from_ns.saturating_sub(self.end_ns) > LONGEST_GAP_NS || from_ns < self.begin_ns;
        if self.columns.is_empty() || is_far {
            *self = Self { begin_ns: from_ns, ..Self::default() };
        }
        self.end_ns = self.end_ns.max(to_ns);
        while (to_ns - self.begin_ns) / self.column_ns >= MOST_COLUMNS as u64 {
            self.column_ns *= 2;
            self.columns = in_pairs(&self.columns, |sum, other| {
                sum.looked_ns += other.looked_ns;
                sum.paused_ns += other.paused_ns;
            });
            self.bands.values_mut().for_each(|band| band.cells = in_pairs(&band.cells, ActivitySums::add));
        }
    }

    fn cover(&mut self, from_ns: u64, to_ns: u64, field: impl Fn(&mut SeenColumn) -> &mut u64) {
        for (at, part_ns) in parts(from_ns - self.begin_ns, to_ns - self.begin_ns, self.column_ns) {
            if self.columns.len() <= at {
                self.columns.resize(at + 1, SeenColumn::default());
            }
            *field(&mut self.columns[at]) += part_ns;
        }
    }

    fn key_of(&self, thread: &ThreadActivity) -> BandKey {
        let last = &thread.last;
        if self.by_process { (last.pid, 0, 0) } else { (last.pid, last.tid, last.started_ns) }
    }

    /// From now on, and for what was before.
    fn stand_for_processes(&mut self) {
        self.by_process = true;
        for (key, band) in std::mem::take(&mut self.bands) {
            let key = if key == OTHERS { OTHERS } else { (key.0, 0, 0) };
            match self.bands.entry(key) {
                btree_map::Entry::Occupied(entry) => entry.into_mut().absorb(&band),
                btree_map::Entry::Vacant(entry) => drop(entry.insert(LiveBand { tid: 0, ..band })),
            }
        }
    }

    /// The band of `key`, which is seen at `now_ns`. Where there are too many, that of whoever ended first goes to the others; where
    /// nobody ended, this one does.
    fn band(&mut self, key: BandKey, now_ns: u64) -> &mut LiveBand {
        let is_new = !self.bands.contains_key(&key);
        let own = self.bands.len() - usize::from(self.bands.contains_key(&OTHERS));
        if is_new && own >= MOST_BANDS {
            let ended =
                self.bands.iter().filter(|(key, band)| **key != OTHERS && band.seen_ns + 2 * self.column_ns < now_ns);
            let first = ended.min_by_key(|(_, band)| band.seen_ns).map(|(key, _)| *key);
            let gone = first.and_then(|first| self.bands.remove(&first));
            let others = self.bands.entry(OTHERS).or_default();
            others.threads += u64::from(gone.is_some());
            match gone {
                Some(band) => others.absorb(&band),
                None => return self.bands.entry(OTHERS).or_default(),
            }
        }
        let band = self.bands.entry(key).or_default();
        (band.pid, band.tid) = (key.0, key.1);
        band
    }
}

impl LiveBand {
    /// Adds what another one did.
    fn absorb(&mut self, other: &Self) {
        let longest = self.cells.len().max(other.cells.len());
        self.cells.resize(longest, ActivitySums::default());
        self.cells.iter_mut().zip(&other.cells).for_each(|(sum, cell)| sum.add(cell));
    }
}

/// The columns that a time has part in, and how much of it each has.
fn parts(from_ns: u64, to_ns: u64, column_ns: u64) -> impl Iterator<Item = (usize, u64)> {
    let columns = from_ns / column_ns..to_ns.div_ceil(column_ns);
    columns.map(move |at| {
        let part_ns = to_ns.min((at + 1) * column_ns) - from_ns.max(at * column_ns);
        (at as usize, part_ns)
    })
}

fn in_pairs<T: Copy>(all: &[T], add: impl Fn(&mut T, &T)) -> Vec<T> {
    let pair = |pair: &[T]| {
        let mut sum = pair[0];
        pair[1..].iter().for_each(|other| add(&mut sum, other));
        sum
    };
    all.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_wire::TaskSnapshot;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Threads of processes 1 to `pids`, each with threads 1 to `threads`, of which each ran a quarter of the time.
    fn interval(length_ns: u64, pids: u32, threads: u32) -> Interval {
        let all = (1..=pids).flat_map(|pid| (1..=threads).map(move |tid| (pid, pid * 1000 + tid - 1)));
        let of = |(pid, tid)| {
            let sums = ActivitySums {
                running_ns: length_ns / 4,
                waiting_ns: length_ns - length_ns / 4,
                ..ActivitySums::default()
            };
            ThreadActivity { last: TaskSnapshot { pid, tid, ..TaskSnapshot::zeroed() }, sums, waited_for: Vec::new() }
        };
        Interval { length_ns, threads: all.map(of).collect(), ..Interval::default() }
    }

    #[test]
    fn a_time_is_split_over_its_columns() {
        let mut picture = LivePicture::default();
        picture.take(&interval(SECOND, 1, 2), 11 * SECOND);
        assert_eq!((picture.begin_ns, picture.columns.len(), picture.bands().count()), (10 * SECOND, 4, 2));
        let band = picture.bands().next().expect("a band");
        assert!(band.cells.iter().all(|cell| cell.running_ns == SECOND / 16), "{:?}", band.cells);
        assert_eq!(picture.concurrency(0), Some(0.5));
        picture.pause(11 * SECOND, 12 * SECOND);
        assert_eq!(picture.concurrency(5), None);
        assert_eq!(picture.columns[5], SeenColumn { looked_ns: 0, paused_ns: SECOND / 4 });
    }

    #[test]
    fn a_day_has_no_more_columns_than_an_hour_and_loses_no_time() {
        let mut picture = LivePicture::default();
        for second in 1..=86_400 {
            picture.take(&interval(SECOND, 1, 1), (100 + second) * SECOND);
        }
        assert!(picture.columns.len() <= MOST_COLUMNS);
        assert_eq!(picture.columns.iter().map(|column| column.looked_ns).sum::<u64>(), 86_400 * SECOND);
        let ran: u64 = picture.bands().flat_map(|band| &band.cells).map(|cell| cell.running_ns).sum();
        assert_eq!(ran, 21_600 * SECOND);
        picture.take(&interval(SECOND, 1, 1), 90_000 * SECOND);
        assert_eq!(picture.columns.len(), 4, "after a long gap it begins anew");
    }

    #[test]
    fn many_threads_are_shown_by_process_and_those_that_ended_together() {
        let mut picture = LivePicture::default();
        picture.take(&interval(SECOND, 1, 2), 2 * SECOND);
        picture.take(&interval(SECOND, 2, 30), 3 * SECOND);
        assert!(picture.is_by_process());
        let threads: Vec<u64> = picture.bands().map(|band| band.threads).collect();
        assert_eq!(threads, [30, 30]);
        let first = picture.bands().next().expect("a band");
        assert_eq!((first.tid, first.cells[0].running_ns), (0, SECOND / 8), "what its threads did before is in it");

        let mut picture = LivePicture::default();
        for at in 1..=100 {
            let mut one = interval(SECOND, 1, 1);
            one.threads[0].last.tid = at;
            picture.take(&one, u64::from(at + 1) * SECOND);
        }
        assert!(!picture.is_by_process());
        let others = picture.bands().last().expect("others");
        assert_eq!((picture.bands().count(), others.pid, others.threads), (MOST_BANDS + 1, 0, 100 - MOST_BANDS as u64));
        let ran: u64 = picture.bands().flat_map(|band| &band.cells).map(|cell| cell.running_ns).sum();
        assert_eq!(ran, 25 * SECOND);
    }
}
