//! Whether collections that ran side by side stayed what they were.

use std::time::Duration;

use super::notes::Note;

/// A collection settles for so long, or for a third of the time …
const SETTLING: Duration = Duration::from_secs(600);
/// … and its memory is judged when it ran for so long after that.
const LONG_ENOUGH: Duration = Duration::from_secs(900);
/// Anonymous memory may grow by so many bytes an hour.
const MOST_PER_HOUR: f64 = 1e6;
/// Share by which the maps may differ, as the kernel fills them.
const MAPS_DIFFER: f64 = 0.01;

/// Times that what a bounded recording keeps may be of what it kept at first: its descriptions are written anew when they have
/// doubled.
const MOST_KEPT: f64 = 1.5;

/// How one collection went, once it had settled.
pub struct Course<'n> {
    pub notes: Vec<&'n Note>,
}

impl<'n> Course<'n> {
    /// Of the notes of `collection`.
    pub fn of(all: &'n [Note], collection: &str) -> Self {
        let notes: Vec<&Note> = all.iter().filter(|note| note.collection == collection).collect();
        let last_s = notes.last().map_or(0, |note| note.at_s);
        let settled_s = SETTLING.as_secs().min(last_s / 3);
        Self { notes: notes.into_iter().filter(|note| note.at_s >= settled_s).collect() }
    }

    /// Growth of the anonymous memory, bytes an hour: the median of the slopes between all pairs of notes (Theil and Sen), to
    /// which single steps and peaks do nothing.
    pub fn growth_per_hour(&self) -> f64 {
        let slope = |a: &Note, b: &Note| {
            (b.anonymous_bytes as f64 - a.anonymous_bytes as f64) / (b.at_s.saturating_sub(a.at_s).max(1)) as f64
        };
        let pairs = self.notes.iter().enumerate();
        let slopes = pairs.flat_map(|(at, a)| self.notes[at + 1..].iter().map(move |b| slope(a, b) * 3600.0));
        median(slopes.collect())
    }

    /// The medians of the first and the last quarter of the notes.
    pub fn ends(&self, number: impl Fn(&Note) -> u64) -> (f64, f64) {
        let quarter = self.notes.len().div_ceil(4);
        let of = |notes: &[&Note]| median(notes.iter().map(|note| number(note) as f64).collect());
        (of(&self.notes[..quarter]), of(&self.notes[self.notes.len() - quarter..]))
    }

    fn is_long_enough(&self) -> bool {
        let ends = self.notes.first().zip(self.notes.last());
        ends.is_some_and(|(first, last)| last.at_s - first.at_s >= LONG_ENOUGH.as_secs())
    }

    /// A sentence for each thing that grew.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let growth = self.growth_per_hour();
        if self.is_long_enough() && growth > MOST_PER_HOUR {
            faults.push(format!("anonymous memory grew by {:.2} MB/h", growth / 1e6));
        }
        let (first, last) = self.ends(|note| note.descriptors);
        if last > first {
            faults.push(format!("{first} descriptors became {last}"));
        }
        let (first, last) = self.ends(|note| note.map_bytes);
        if last > first * (1.0 + MAPS_DIFFER) {
            faults.push(format!("{first} bytes of BPF maps became {last}"));
        }
        faults
    }

    /// The same of the disk use of a recording that keeps the last seconds only.
    pub fn disk_fault(&self) -> Option<String> {
        let (first, last) = self.ends(|note| note.disk_bytes);
        let has_grown = self.is_long_enough() && last > first * MOST_KEPT;
        has_grown.then(|| format!("{first} bytes on the disk became {last}"))
    }
}

/// Of an even number the lower one of the two in the middle; 0 of none.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// The judgement itself, on made-up courses.
pub fn check_itself() -> anyhow::Result<()> {
    let course = |note: &dyn Fn(u64) -> Note| -> Vec<Note> {
        (1..=120).map(|minute| Note { collection: "made up".into(), at_s: 60 * minute, ..note(minute) }).collect()
    };
    let faults = |notes: &[Note]| Course::of(notes, "made up").faults();
    let steady = |minute: u64| Note {
        // Falls in the beginning, and has a peak every quarter of an hour.
        anonymous_bytes: 5_000_000
            + if minute < 10 { 900_000 } else { 0 }
            + 400_000 * u64::from(minute.is_multiple_of(15)),
        descriptors: 160 + minute % 2,
        map_bytes: 46_000_000 + 8_192 * (minute % 3),
        disk_bytes: 1_000_000 * minute,
        ..Note::default()
    };
    anyhow::ensure!(faults(&course(&steady)).is_empty(), "{:?}", faults(&course(&steady)));
    let grown: [(&str, &dyn Fn(u64) -> Note); 3] = [
        ("memory", &|minute| Note { anonymous_bytes: 5_000_000 + 20_000 * minute, ..steady(minute) }),
        ("descriptors", &|minute| Note { descriptors: 160 + minute / 30, ..steady(minute) }),
        ("maps", &|minute| Note { map_bytes: 46_000_000 + 8_192 * minute, ..steady(minute) }),
    ];
    for (what, note) in grown {
        let faults = faults(&course(note));
        anyhow::ensure!(faults.len() == 1 && faults[0].contains(what), "{what}: {faults:?}");
    }
    anyhow::ensure!(Course::of(&course(&steady), "made up").disk_fault().is_some(), "a growing result was not seen");
    Ok(())
}
