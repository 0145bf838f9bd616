//! What was seen of a collection's threads, as the page reads it.

use std::time::Duration;

use dwell_live::{ActivitySums, Interval, LiveBand, LivePicture, SeenColumn, WaitKind, waited_for};
use dwell_server::{CollectionPicture, LiveAccount, LiveObject, PictureBand};

use crate::top::Threads;

/// Things that were waited for that are listed.
const MOST_OBJECTS: usize = 8;
/// A part is a digit of this base: its last one is all.
const LAST_DIGIT: u32 = 35;

/// What was seen until now.
#[derive(Default)]
pub struct Seen {
    /// What the threads did.
    pub picture: LivePicture,
    /// The last account.
    pub account: Option<LiveAccount>,
    /// From one look to the next.
    pub period: Duration,
    /// Part of a CPU that looks take.
    pub cost: f64,
    /// What is not seen, or why nothing is.
    pub note: String,
}

/// The document; the collection began at `start_ns`, CLOCK_MONOTONIC.
pub fn document(seen: &Seen, start_ns: u64) -> CollectionPicture {
    let picture = &seen.picture;
    CollectionPicture {
        begin_ns: i64::try_from(picture.begin_ns).unwrap_or(0) - i64::try_from(start_ns).unwrap_or(0),
        column_ns: picture.column_ns,
        columns: picture.columns.iter().map(column).collect(),
        concurrency: (0..picture.columns.len()).map(|at| picture.concurrency(at).map(rounded)).collect(),
        by_process: picture.is_by_process(),
        bands: picture.bands().map(|band| self::band(band, picture)).collect(),
        account: seen.account.clone(),
        looks_per_second: rounded(1.0 / seen.period.as_secs_f64()),
        cost: seen.cost,
        note: seen.note.clone(),
    }
}

/// To a hundredth: more are letters without use.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn column(column: &SeenColumn) -> char {
    match column {
        SeenColumn { looked_ns: 0, paused_ns: 0 } => '.',
        SeenColumn { looked_ns, paused_ns } if paused_ns > looked_ns => 'p',
        SeenColumn { .. } => 'l',
    }
}

fn band(band: &LiveBand, picture: &LivePicture) -> PictureBand {
    let none = ActivitySums::default();
    let cells = (0..picture.columns.len()).flat_map(|at| cell(band.cells.get(at).unwrap_or(&none))).collect();
    PictureBand { pid: band.pid, tid: band.tid, name: band.name.clone(), threads: band.threads, cells }
}

/// The three letters.
fn cell(sums: &ActivitySums) -> [char; 3] {
    let lived_ns = sums.lived_ns();
    if lived_ns == 0 {
        return ['.'; 3];
    }
    let digit = |ns: u64| {
        let part = u128::from(ns) * u128::from(LAST_DIGIT) * 2 / u128::from(lived_ns);
        char::from_digit(u32::try_from(part).unwrap_or(0).div_ceil(2).min(LAST_DIGIT), LAST_DIGIT + 1).unwrap_or('0')
    };
    let kind = sums.longest_wait().map_or('-', |kind| char::from(b'a' + kind as u8));
    [digit(sums.running_ns), digit(sums.runnable_ns), kind]
}

/// What all threads did in an interval, and what they waited for, as it is now.
pub fn account(interval: &Interval) -> LiveAccount {
    let mut sums = ActivitySums::default();
    interval.threads.iter().for_each(|thread| sums.add(&thread.sums));
    let threads = Threads::of(interval);
    let object = |row: &dwell_live::Row<'_>| {
        let explained = threads.explain(row);
        LiveObject {
            name: explained.object,
            kind: row.top.map_or("", |top| top.waited_for.kind.id()),
            process: threads.process_name(row.first()),
            threads: row.threads.len() as u64,
            wait_ns: row.sums.waiting_ns,
            holder: explained.holder,
            explanation: explained.text,
        }
    };
    LiveAccount {
        length_ns: interval.length_ns,
        threads: interval.threads.len() as u64,
        running_ns: sums.running_ns,
        runnable_ns: sums.runnable_ns,
        waits: WaitKind::ALL.iter().map(|kind| (kind.id(), sums.waits_ns[*kind as usize])).collect(),
        objects: waited_for(interval).iter().take(MOST_OBJECTS).map(object).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_digits_and_kinds_letters() {
        assert_eq!(cell(&ActivitySums::default()), ['.', '.', '.']);
        let mut sums = ActivitySums { running_ns: 50, waiting_ns: 50, ..ActivitySums::default() };
        sums.waits_ns[WaitKind::Condition as usize] = 50;
        assert_eq!(cell(&sums), ['i', '0', 'b']);
        assert_eq!(cell(&ActivitySums { runnable_ns: 7, ..ActivitySums::default() }), ['0', 'z', '-']);
        assert_eq!(column(&SeenColumn { looked_ns: 1, paused_ns: 2 }), 'p');
    }
}
