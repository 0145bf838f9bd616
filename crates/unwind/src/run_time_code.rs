//! Tables of code that was made at run time: they change while the code is run.
//!
//! A region of such code has two areas in the space of words. What is new is written into the one that nobody reads, then the
//! process is told to read that one. Areas that are left are used again.

use std::collections::HashMap;

/// Most words of a region's table: some 400 MB of code.
const MOST_WORDS: usize = 1 << 21;
/// The smallest area, in words.
const LEAST_WORDS: u32 = 4096;

/// A part of the space of words.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its first word.
    pub first_word: u32,
    words: u32,
}

/// The areas of all regions.
#[derive(Debug, Default)]
pub struct Areas {
    /// By process and begin of the region: the area that is read, and the one of before.
    used: HashMap<(u32, u64), [Option<Area>; 2]>,
    free: Vec<Area>,
}

impl Areas {
    /// The area for the next table of `words` words of the region at `start` of process `tgid`. `allot` gives new room. None where
    /// there is none.
    pub fn next(
        &mut self,
        (tgid, start): (u32, u64),
        words: usize,
        allot: impl FnOnce(u32) -> Option<u32>,
    ) -> Option<Area> {
        let needed = u32::try_from(words).ok().filter(|_| words <= MOST_WORDS)?;
        let [read, before] = self.used.get(&(tgid, start)).copied().unwrap_or_default();
        let fits = |area: &Area| area.words >= needed;
        let next = before.filter(fits).or_else(|| {
            self.free.extend(before);
            let found = self.free.iter().position(fits);
            found.map(|at| self.free.swap_remove(at)).or_else(|| {
                let words = needed.saturating_mul(2).max(LEAST_WORDS);
                Some(Area { first_word: allot(words)?, words })
            })
        });
        self.used.insert((tgid, start), [next, read]);
        next
    }

    /// Whether the area at `first_word` is the one that process `tgid` reads of a region.
    pub fn is_read(&self, tgid: u32, first_word: u32) -> bool {
        let is_it = |areas: &[Option<Area>; 2]| areas[0].is_some_and(|area| area.first_word == first_word);
        self.used.iter().any(|(&(of, _), areas)| of == tgid && is_it(areas))
    }

    /// Process `tgid` is gone, or runs another program.
    pub fn forget(&mut self, tgid: u32) {
        let Self { used, free } = self;
        used.retain(|&(of, _), areas| {
            if of == tgid {
                free.extend(areas.iter().flatten());
            }
            of != tgid
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_not_written_over_while_it_is_read() {
        let mut areas = Areas::default();
        let mut room = 0;
        let mut next = |areas: &mut Areas, of, words| {
            let area = areas.next(of, words, |words| {
                room += words;
                Some(room - words)
            });
            area.map(|area| area.first_word)
        };
        let (first, second) = (next(&mut areas, (7, 0x1000), 10), next(&mut areas, (7, 0x1000), 10));
        assert_ne!(first, second);
        assert_eq!(next(&mut areas, (7, 0x1000), 4096), first);
        assert_ne!(next(&mut areas, (8, 0x1000), 10), second);
        assert_eq!(next(&mut areas, (7, 0x1000), MOST_WORDS + 1), None);
        areas.forget(7);
        assert!([first, second].contains(&next(&mut areas, (9, 0x1000), 10)), "room is used again");
    }
}
