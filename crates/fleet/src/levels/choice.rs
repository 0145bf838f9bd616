//! Which files answer a question: the coarsest level that has exactly what is asked, and rows for the rest.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use dwell_files::Folder;

use super::manifest::{LevelManifest, SummedSpan};
use super::{LEVELS, SumLevel, TABLE, folder_if_any, names, start_of};
use crate::path_name;

/// How often a service and day is looked at that somebody compacts meanwhile.
const MOST_LOOKS: usize = 1_000;

/// What a question needs.
#[derive(Clone, Debug, Default)]
pub struct FileNeed {
    /// The coarsest level that answers it; `None`: rows of time.
    pub coarsest: Option<SumLevel>,
    /// Whether hourly sums stand for rows of time that are deleted. Without it, their hours are left out.
    pub takes_sums_for_deleted: bool,
    /// Times that are asked for: from when, and until when, Unix time in ns.
    pub ranges: Vec<(Option<i64>, Option<i64>)>,
    /// Only these services, as folders call them; all where there are none.
    pub services: Vec<String>,
}

/// Files that answer a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreFiles {
    /// Their paths in the store.
    pub paths: Vec<String>,
    /// How many of them are sums.
    pub summed: u64,
    /// Begins of hours of which only sums are kept, and which are not answered because the question needs a part of them. Unix time in ns.
    pub left_out: BTreeSet<i64>,
}

impl FileNeed {
    /// That of a question about these ranges of time, each from when and until when.
    pub fn of(coarsest: Option<SumLevel>, ranges: &[(Option<i64>, Option<i64>)]) -> Self {
        Self { coarsest, ranges: ranges.to_vec(), ..Self::default() }
    }

    /// The same, and of this service only.
    #[must_use]
    pub fn of_service(mut self, service: &str) -> Self {
        // What is lost is told with every answer.
        self.services = vec![path_name(service), path_name("lost")];
        self
    }

    /// The same, with sums where rows are deleted.
    #[must_use]
    pub const fn or_sums(mut self) -> Self {
        self.takes_sums_for_deleted = true;
        self
    }

    /// Whether some range begins or ends within this time, so that its sums answer nothing.
    fn cuts(&self, begin_ns: i64, end_ns: i64) -> bool {
        let bounds = self.ranges.iter().flat_map(|(since, until)| [*since, *until]).flatten();
        bounds.into_iter().any(|bound| begin_ns < bound && bound < end_ns)
    }

    /// Whether anything that begins in this time is asked for.
    fn has(&self, begin_ns: i64, end_ns: i64) -> bool {
        let is_in = |(since, until): &(Option<i64>, Option<i64>)| {
            since.is_none_or(|since| since < end_ns) && until.is_none_or(|until| begin_ns < until)
        };
        self.ranges.is_empty() || self.ranges.iter().any(is_in)
    }

    fn has_service(&self, folder: &str) -> bool {
        let name = folder.strip_prefix("service=").unwrap_or(folder);
        self.services.is_empty() || self.services.iter().any(|service| service == name)
    }
}

impl StoreFiles {
    /// Those of the store at this path; `None` where it has no levels, so that all its files of rows answer.
    ///
    /// # Errors
    ///
    /// Where a folder cannot be listed, or a manifest is damaged.
    pub fn choose(path: &Path, need: &FileNeed) -> io::Result<Option<Self>> {
        let store = Folder::open(path)?;
        let Some(levels) = folder_if_any(&store, LEVELS)? else { return Ok(None) };
        let mut files = Self::default();
        let mut days = names(&store, "day=", "")?;
        days.extend(names(&levels, "day=", "")?);
        for day in &days {
            let (rows, sums) = (folder_if_any(&store, day)?, folder_if_any(&levels, day)?);
            let mut services = BTreeSet::new();
            for folder in rows.iter().chain(&sums) {
                services.extend(names(folder, "service=", "")?);
            }
            for service in services.iter().filter(|service| need.has_service(service)) {
                let open = |folder: &Option<Folder>| match folder {
                    Some(folder) => folder_if_any(folder, service),
                    None => Ok(None),
                };
                let seen = ServiceFiles::look(open(&rows)?.as_ref(), open(&sums)?.as_ref())?;
                files.add(need, &seen, &format!("{day}/{service}"));
            }
        }
        Ok(Some(files))
    }

    /// Adds those of a service and day, which lie in this folder of the store and of its levels.
    fn add(&mut self, need: &FileNeed, seen: &ServiceFiles, folder: &str) {
        let mut answered = BTreeSet::new();
        for level in [SumLevel::Daily, SumLevel::Hourly] {
            for span in seen.manifest.of_level(level) {
                let is_asked = need.has(span.begin_ns, span.end_ns());
                let fits = need.coarsest >= Some(level) && !need.cuts(span.begin_ns, span.end_ns());
                let is_deleted = level == SumLevel::Hourly && !span.of.is_subset(&seen.rows);
                let is_new = span.of.is_disjoint(&answered);
                if !is_asked || !is_new {
                    continue;
                }
                if fits || (is_deleted && need.takes_sums_for_deleted) {
                    self.take(span, folder);
                } else if is_deleted {
                    self.left_out.insert(span.begin_ns);
                } else {
                    continue;
                }
                answered.extend(span.of.iter().cloned());
            }
        }
        for name in seen.rows.iter().filter(|name| !answered.contains(*name)) {
            if start_of(name).is_none_or(|start| need.has(start, start.saturating_add(1))) {
                self.paths.push(format!("{folder}/{name}"));
            }
        }
    }

    fn take(&mut self, span: &SummedSpan, folder: &str) {
        self.paths.push(format!("{LEVELS}/{folder}/{}", span.file()));
        self.summed += 1;
    }
}

/// What a service has on a day.
struct ServiceFiles {
    /// Names of files of rows.
    rows: BTreeSet<String>,
    manifest: LevelManifest,
}

impl ServiceFiles {
    /// Lists it while its manifest stays the same: a file of rows that is missing in the list is one that the manifest has.
    fn look(rows: Option<&Folder>, levels: Option<&Folder>) -> io::Result<Self> {
        let manifest = || levels.map_or_else(|| Ok(LevelManifest::default()), LevelManifest::read);
        let mut before = manifest()?;
        for _ in 0..MOST_LOOKS {
            let rows = rows.map_or_else(|| Ok(BTreeSet::new()), |rows| names(rows, "", TABLE))?;
            let after = manifest()?;
            if after == before {
                return Ok(Self { rows, manifest: after });
            }
            before = after;
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "somebody compacts it again and again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn need(coarsest: Option<SumLevel>, since_ns: Option<i64>, until_ns: Option<i64>) -> FileNeed {
        FileNeed::of(coarsest, &[(since_ns, until_ns)])
    }

    /// Three hours of which the first two are summed, and the day too where asked.
    fn seen(has_day: bool, deleted: &[&str]) -> ServiceFiles {
        let name = |hour: i64| format!("h-{}.parquet", hour * HOUR + 5);
        let span = |level, begin_ns, of: &[i64]| SummedSpan {
            level,
            begin_ns,
            generation: 1,
            of: of.iter().map(|hour| name(*hour)).collect(),
        };
        let mut spans = vec![span(SumLevel::Hourly, 0, &[0]), span(SumLevel::Hourly, HOUR, &[1])];
        spans.extend(has_day.then(|| span(SumLevel::Daily, 0, &[0, 1])));
        let rows = (0..3).map(name).filter(|name| !deleted.contains(&name.as_str())).collect();
        ServiceFiles { rows, manifest: LevelManifest { spans } }
    }

    fn chosen(need: &FileNeed, seen: &ServiceFiles) -> (Vec<String>, usize) {
        let mut files = StoreFiles::default();
        files.add(need, seen, "d");
        (files.paths, files.left_out.len())
    }

    #[test]
    fn the_coarsest_level_that_fits_answers() {
        let daily = Some(SumLevel::Daily);
        let (first, second, third) = ("d/h-5.parquet", "d/h-3600000000005.parquet", "d/h-7200000000005.parquet");
        let hour = |begin: i64| format!("levels/d/hourly-{begin}-1.parquet");
        let all = chosen(&need(daily, None, None), &seen(true, &[]));
        assert_eq!(all, (vec!["levels/d/daily-0-1.parquet".into(), third.into()], 0));
        let hourly = chosen(&need(Some(SumLevel::Hourly), None, None), &seen(true, &[]));
        assert_eq!(hourly, (vec![hour(0), hour(HOUR), third.into()], 0));
        let cut = chosen(&need(daily, Some(3), None), &seen(true, &[]));
        assert_eq!(cut, (vec![hour(HOUR), first.into(), third.into()], 0));
        let until = chosen(&need(daily, None, Some(HOUR)), &seen(true, &[]));
        assert_eq!(until, (vec![hour(0)], 0));
        let rows = chosen(&need(None, Some(6), None), &seen(true, &[]));
        assert_eq!(rows, (vec![second.into(), third.into()], 0));
    }

    #[test]
    fn an_hour_whose_rows_are_deleted_is_whole_or_left_out() {
        let gone = seen(false, &["h-5.parquet"]);
        assert_eq!(chosen(&need(Some(SumLevel::Hourly), Some(0), None), &gone).1, 0);
        let (paths, left_out) = chosen(&need(Some(SumLevel::Hourly), Some(3), None), &gone);
        assert_eq!((paths.len(), left_out), (2, 1));
        let (paths, left_out) = chosen(&need(None, None, None), &gone);
        assert_eq!((paths.len(), left_out), (2, 1));
        let (paths, left_out) = chosen(&need(None, None, None).or_sums(), &gone);
        assert_eq!((paths.len(), left_out, paths[0].starts_with("levels/")), (3, 0, true));
    }
}
