//! When the collector lost something: it looks at its counters now and then, and what a counter has grown by was lost since the
//! look before.

use std::collections::HashMap;

use dwell_store::LossTime;

/// Times that are kept of a kind of loss; beyond it those become one that lie closest.
const MOST_TIMES: usize = 64;

/// What was lost when, as far as is known.
pub struct LossTimeline {
    looked_ns: u64,
    counts: HashMap<String, u64>,
    times: HashMap<String, Vec<LossTime>>,
}

impl LossTimeline {
    /// Nothing is lost before `now_ns`.
    pub fn begin(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, counts: HashMap::new(), times: HashMap::new() }
    }

    /// Takes in what was `counted` until `now_ns`.
    pub fn look(&mut self, now_ns: u64, counted: &[(String, u64)]) {
        for (name, count) in counted {
            let before = self.counts.insert(name.clone(), *count).unwrap_or(0);
            if *count > before {
                self.add(LossTime {
                    name: name.clone(),
                    count: count - before,
                    start_ns: self.looked_ns,
                    end_ns: now_ns,
                });
            }
        }
        self.looked_ns = now_ns;
    }

    /// What follows at once is of the same time.
    fn add(&mut self, lost: LossTime) {
        let times = self.times.entry(lost.name.clone()).or_default();
        match times.last_mut().filter(|last| last.end_ns == lost.start_ns) {
            Some(last) => unite(last, &lost),
            None => times.push(lost),
        }
        if times.len() > MOST_TIMES {
            let gap = |at: &usize| times[at + 1].start_ns - times[*at].end_ns;
            if let Some(at) = (0..times.len() - 1).min_by_key(gap) {
                let next = times.remove(at + 1);
                unite(&mut times[at], &next);
            }
        }
    }

    /// All times, by name and time.
    pub fn times(&self) -> Vec<LossTime> {
        let mut all: Vec<LossTime> = self.times.values().flatten().cloned().collect();
        all.sort_by(|a, b| (&a.name, a.start_ns).cmp(&(&b.name, b.start_ns)));
        all
    }
}

fn unite(time: &mut LossTime, next: &LossTime) {
    time.count += next.count;
    time.end_ns = next.end_ns;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(counts: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let mut losing = LossTimeline::begin(0);
        for &(now_ns, count) in counts {
            losing.look(now_ns, &[("switches_lost".to_owned(), count)]);
        }
        losing.times().iter().map(|time| (time.start_ns, time.end_ns, time.count)).collect()
    }

    #[test]
    fn what_grows_from_look_to_look_is_one_time() {
        assert_eq!(looks(&[(10, 0), (20, 0)]), []);
        assert_eq!(looks(&[(10, 0), (20, 3), (30, 7), (40, 7), (50, 8)]), [(10, 30, 7), (40, 50, 1)]);
    }

    #[test]
    fn many_times_are_united_where_they_lie_closest() {
        let growing = |at: u64| (at * at, at / 2);
        let all: Vec<(u64, u64)> = (0..1000).map(growing).collect();
        let times = looks(&all);
        assert_eq!(times.len(), MOST_TIMES);
        assert_eq!(times.iter().map(|(_, _, count)| count).sum::<u64>(), 499);
        assert!(times.is_sorted() && times[0].1 > times[1].1 - times[1].0, "the first lay closest: {times:?}");
    }
}
