//! Looks at the records of a collection as they come for an interval that is longer than a trigger allows. What ITT tasks, task
//! probes, requests and switches begin is remembered until it ends; all of it is bounded. What is open is forgotten, and counted,
//! when there is too much of a sort, which only a program can bring about that announces begins without ends.

use std::collections::{HashMap, HashSet};

use dwell_itt_wire::{Event, Id, Name, events, names};
use dwell_store::raw::prefix;
use dwell_store::raw::wire::{
    IttHeader, RecordHeader, RequestRecord, STATE_DEAD, SwitchRecord, TaskProbeRecord, kind, task_edge,
};

use crate::options::{Subject, Trigger};
use crate::ticks::Line;

/// Tasks that a thread has open at once; those within are not watched.
const MOST_NESTED: usize = 64;
/// Threads, tasks open by their ids, and names that are remembered.
const MOST_OPEN: usize = 1 << 16;

/// An interval that was longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// Whose.
    pub tid: u32,
    /// When it began, ns.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Outlier {
    /// How long it was.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// A task that a thread nests others in.
#[derive(Clone, Copy)]
struct Open {
    domain: u16,
    /// When it began; none: it is not of interest.
    begin_ns: Option<u64>,
}

/// The tasks that a thread nests in one another.
#[derive(Default)]
struct Nested {
    open: Vec<Open>,
    /// Those within that are not watched: they end first.
    beyond: u32,
}

/// What began and has not ended, and the longest interval that was longer than the trigger allows.
pub struct IntervalWatch {
    trigger: Trigger,
    /// By file of ITT and thread.
    nested: HashMap<(u32, u32), Nested>,
    overlapped: HashMap<(u32, u16, [u64; 2]), u64>,
    frames: HashMap<(u32, u16, [u64; 2]), u64>,
    /// Names of tasks by file, those that are the trigger's.
    names: HashSet<(u32, u32)>,
    /// Whether the intervals of each probe are those of the trigger, by its number.
    wanted_probes: Vec<bool>,
    /// Since when a thread is in what a probe makes.
    probes: HashMap<(u32, u16), u64>,
    /// Since when threads wait.
    waiting: HashMap<u32, u64>,
    found: Option<Outlier>,
    /// Intervals that were not watched: there were too many at once.
    pub forgotten: u64,
}

impl IntervalWatch {
    /// Watches for `trigger`; `probes` are what task probes and `--interval` make, by the number that their records carry.
    pub fn new<'p>(trigger: Trigger, probes: impl Iterator<Item = &'p str>) -> Self {
        let is_wanted = |name: &str| match &trigger.subject {
            Subject::Intervals => true,
            Subject::Named(wanted) => name == wanted,
            Subject::WakeUps | Subject::Waits => false,
        };
        Self {
            wanted_probes: probes.map(is_wanted).collect(),
            trigger,
            nested: HashMap::new(),
            overlapped: HashMap::new(),
            frames: HashMap::new(),
            names: HashSet::new(),
            probes: HashMap::new(),
            waiting: HashMap::new(),
            found: None,
            forgotten: 0,
        }
    }

    /// The longest of those that were found since the last time.
    pub fn take(&mut self) -> Option<Outlier> {
        self.found.take()
    }

    fn is_about_tasks(&self) -> bool {
        matches!(self.trigger.subject, Subject::Intervals | Subject::Named(_))
    }

    fn ended(&mut self, tid: u32, begin_ns: u64, end_ns: u64) {
        let length_ns = end_ns.saturating_sub(begin_ns);
        let longest = self.found.as_ref().map_or(self.trigger.longer_than_ns, Outlier::length_ns);
        if length_ns > longest {
            self.found = Some(Outlier { tid, begin_ns, end_ns });
        }
    }

    /// Looks at a record of the kernel's side.
    pub fn record(&mut self, header: &RecordHeader, bytes: &[u8]) {
        match (header.kind, &self.trigger.subject) {
            (kind::SWITCH, Subject::WakeUps | Subject::Waits) => {
                if let Some(switch) = prefix::<SwitchRecord>(bytes) {
                    self.switch(&switch);
                }
            }
            (kind::REQUEST, Subject::Intervals) => {
                if let Some(request) = prefix::<RequestRecord>(bytes) {
                    self.ended(header.tid, request.begin_ns, header.time_ns);
                }
            }
            (kind::TASK_PROBE, Subject::Intervals | Subject::Named(_)) => {
                if let Some(probe) = prefix::<TaskProbeRecord>(bytes) {
                    self.probe(header, &probe);
                }
            }
            _ => {}
        }
    }

    fn switch(&mut self, switch: &SwitchRecord) {
        let now = switch.h.time_ns;
        if switch.state & STATE_DEAD != 0 {
            self.waiting.remove(&switch.h.tid);
        } else if switch.h.tid != 0 && switch.state != 0 {
            self.forgotten += remember(&mut self.waiting, switch.h.tid, now).1;
        }
        if switch.next_tid == 0 {
            return;
        }
        let since = self.waiting.remove(&switch.next_tid);
        if switch.wake_time_ns == 0 {
            return;
        }
        match self.trigger.subject {
            Subject::WakeUps => self.ended(switch.next_tid, switch.wake_time_ns, now),
            _ => self.ended(switch.next_tid, since.unwrap_or(switch.wake_time_ns), switch.wake_time_ns),
        }
    }

    fn probe(&mut self, header: &RecordHeader, probe: &TaskProbeRecord) {
        if self.wanted_probes.get(usize::from(probe.probe)) != Some(&true) {
            return;
        }
        let key = (header.tid, probe.probe);
        let before = if probe.end == task_edge::END {
            self.probes.remove(&key)
        } else {
            let (before, forgotten) = remember(&mut self.probes, key, header.time_ns);
            self.forgotten += forgotten;
            before
        };
        if let Some(begin_ns) = before.filter(|_| probe.end != task_edge::BEGIN) {
            self.ended(header.tid, begin_ns, header.time_ns);
        }
    }

    /// Looks at what a program announced: an ITT_NAMES or ITT_EVENTS record.
    pub fn itt(&mut self, header: &IttHeader, bytes: &[u8]) {
        match header.h.kind {
            kind::ITT_NAMES => self.itt_names(header.source, bytes),
            kind::ITT_EVENTS if self.is_about_tasks() => {
                let line = Line::of(header);
                for stamped in events(bytes) {
                    let (tid, time_ns) = (header.h.tid, line.ns(stamped.ticks));
                    self.event(header.source, tid, time_ns, &stamped.event);
                    if self.trigger.subject == Subject::Intervals {
                        self.frame(header.source, tid, (&line, time_ns), &stamped.event);
                    }
                }
            }
            _ => {}
        }
    }

    fn itt_names(&mut self, source: u32, bytes: &[u8]) {
        let Subject::Named(wanted) = &self.trigger.subject else { return };
        for named in names(bytes) {
            if let Name::String { id, text } = named.name {
                // One for each file; there are no more files than processes.
                let is_wanted = text == wanted.as_bytes();
                if is_wanted && self.names.len() < MOST_OPEN {
                    self.names.insert((source, id));
                } else {
                    self.forgotten += u64::from(is_wanted);
                    self.names.remove(&(source, id));
                }
            }
        }
    }

    fn is_wanted(&self, source: u32, name: u32) -> bool {
        self.trigger.subject == Subject::Intervals || self.names.contains(&(source, name))
    }

    fn event(&mut self, source: u32, tid: u32, time_ns: u64, event: &Event<'_>) {
        match *event {
            Event::TaskBegin { domain, name, .. } => {
                let begin_ns = self.is_wanted(source, name).then_some(time_ns);
                self.begin((source, tid), Open { domain, begin_ns });
            }
            Event::TaskBeginFn { domain, .. } => {
                let begin_ns = (self.trigger.subject == Subject::Intervals).then_some(time_ns);
                self.begin((source, tid), Open { domain, begin_ns });
            }
            Event::TaskEnd { domain } => {
                let ended = self.end((source, tid), domain);
                if let Some(begin_ns) = ended.and_then(|open| open.begin_ns) {
                    self.ended(tid, begin_ns, time_ns);
                }
            }
            Event::OverlappedBegin { domain, name, id, .. } | Event::RegionBegin { domain, name, id, .. }
                if self.is_wanted(source, name) =>
            {
                self.forgotten += remember(&mut self.overlapped, (source, domain, words(id)), time_ns).1;
            }
            Event::OverlappedEnd { domain, id } | Event::RegionEnd { domain, id } => {
                if let Some(begin_ns) = self.overlapped.remove(&(source, domain, words(id))) {
                    self.ended(tid, begin_ns, time_ns);
                }
            }
            _ => {}
        }
    }

    fn frame(&mut self, source: u32, tid: u32, (line, time_ns): (&Line, u64), event: &Event<'_>) {
        match *event {
            Event::FrameBegin { domain, id } => {
                self.forgotten += remember(&mut self.frames, (source, domain, words(id)), time_ns).1;
            }
            Event::FrameEnd { domain, id } => {
                if let Some(begin_ns) = self.frames.remove(&(source, domain, words(id))) {
                    self.ended(tid, begin_ns, time_ns);
                }
            }
            // The program chooses the times: one that is still to come is not believed.
            Event::FrameSubmit { begin, end, .. } if line.ns(end) <= time_ns => {
                self.ended(tid, line.ns(begin), line.ns(end));
            }
            _ => {}
        }
    }

    fn begin(&mut self, thread: (u32, u32), open: Open) {
        if self.nested.len() >= MOST_OPEN && !self.nested.contains_key(&thread) {
            self.forgotten += self.nested.len() as u64;
            self.nested.clear();
        }
        let nested = self.nested.entry(thread).or_default();
        if nested.open.len() < MOST_NESTED {
            nested.open.push(open);
        } else {
            nested.beyond = nested.beyond.saturating_add(1);
            self.forgotten += 1;
        }
    }

    /// The innermost task of the domain, which ends.
    fn end(&mut self, thread: (u32, u32), domain: u16) -> Option<Open> {
        let nested = self.nested.get_mut(&thread)?;
        if nested.beyond > 0 {
            nested.beyond -= 1;
            return None;
        }
        let at = nested.open.iter().rposition(|it| it.domain == domain)?;
        let ended = nested.open.remove(at);
        if nested.open.is_empty() {
            self.nested.remove(&thread);
        }
        Some(ended)
    }
}

/// Forgets everything rather than to grow beyond its bound: what programs announce is theirs to choose. Returns what was
/// remembered under the key before, and how much was forgotten.
fn remember<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, value: V) -> (Option<V>, u64) {
    let mut forgotten = 0;
    if map.len() >= MOST_OPEN && !map.contains_key(&key) {
        forgotten = map.len() as u64;
        map.clear();
    }
    (map.insert(key, value), forgotten)
}

fn words(id: Id) -> [u64; 2] {
    [id.d1, id.d2]
}

#[cfg(test)]
mod tests {
    use bytemuck::{Zeroable, bytes_of};
    use dwell_itt_wire::EventsBuffer;

    use super::*;

    fn watch(subject: Subject) -> IntervalWatch {
        IntervalWatch::new(Trigger { subject, longer_than_ns: 50 }, ["visit", "period"].into_iter())
    }

    fn announce(watch: &mut IntervalWatch, told: &[(u64, Event<'_>)]) {
        let mut buffer = EventsBuffer::default();
        told.iter().for_each(|(ticks, event)| buffer.push(*ticks, event));
        let h = RecordHeader { kind: kind::ITT_EVENTS, size: 0, tid: 7, time_ns: 0 };
        let header = IttHeader { h, ns_per_tick: 1 << 32, ..IttHeader::zeroed() };
        watch.itt(&header, &buffer.bytes);
    }

    const fn id(d1: u64) -> Id {
        Id { d1, d2: 0 }
    }

    fn begin(name: u32) -> Event<'static> {
        Event::TaskBegin { domain: 1, name, id: id(0), parent: id(0) }
    }

    #[test]
    fn nested_and_overlapped_tasks() {
        let mut watch = watch(Subject::Intervals);
        let overlapped = Event::OverlappedBegin { domain: 1, name: 2, id: id(9), parent: id(0) };
        announce(
            &mut watch,
            &[(100, begin(1)), (110, overlapped), (120, begin(1)), (170, Event::TaskEnd { domain: 1 })],
        );
        assert_eq!(watch.take(), None, "50 ns are not more than 50 ns");
        announce(&mut watch, &[(200, Event::TaskEnd { domain: 1 })]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 100, end_ns: 200 }));
        announce(
            &mut watch,
            &[(300, Event::OverlappedEnd { domain: 1, id: id(9) }), (900, Event::TaskEnd { domain: 1 })],
        );
        assert_eq!(
            watch.take(),
            Some(Outlier { tid: 7, begin_ns: 110, end_ns: 300 }),
            "and the end without a begin is none"
        );
        assert_eq!(watch.take(), None);
    }

    #[test]
    fn tasks_too_deep_to_be_watched_end_first() {
        let mut watch = watch(Subject::Intervals);
        let end = Event::TaskEnd { domain: 1 };
        let deep = MOST_NESTED as u64 + 3;
        let begins: Vec<_> = (0..deep).map(|at| (at, begin(1))).collect();
        announce(&mut watch, &begins);
        announce(&mut watch, &[(1000, end), (1001, end), (1002, end)]);
        assert_eq!(watch.take(), None, "the three within");
        announce(&mut watch, &[(1003, end)]);
        assert_eq!(watch.take().map(|it| it.begin_ns), Some(MOST_NESTED as u64 - 1));
    }

    #[test]
    fn only_tasks_of_the_name() {
        let mut watch = watch(Subject::Named("slow".into()));
        watch.names.insert((0, 1));
        announce(
            &mut watch,
            &[(0, begin(2)), (10, begin(1)), (90, Event::TaskEnd { domain: 1 }), (900, Event::TaskEnd { domain: 1 })],
        );
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 10, end_ns: 90 }));
    }

    fn switch(time_ns: u64, tid: u32, next_tid: u32, wake_time_ns: u64) -> SwitchRecord {
        let h = RecordHeader { kind: kind::SWITCH, size: 0, tid, time_ns };
        SwitchRecord { h, next_tid, wake_time_ns, state: 1, ..SwitchRecord::zeroed() }
    }

    #[test]
    fn wake_ups_waits_and_requests() {
        let told = [switch(100, 7, 0, 0), switch(400, 0, 7, 300)];
        for (subject, begin_ns, end_ns) in [(Subject::WakeUps, 300, 400), (Subject::Waits, 100, 300)] {
            let mut watch = watch(subject.clone());
            told.iter().for_each(|record| watch.record(&record.h, bytes_of(record)));
            assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns, end_ns }), "{subject:?}");
        }
        let h = RecordHeader { kind: kind::REQUEST, size: 0, tid: 7, time_ns: 500 };
        let request = RequestRecord { h, begin_ns: 100, ..RequestRecord::zeroed() };
        let mut watch = watch(Subject::Intervals);
        watch.record(&h, bytes_of(&request));
        assert_eq!(watch.take().map(|it| it.length_ns()), Some(400));
        watch.record(&h, &[0; 3]);
        assert_eq!(watch.take(), None, "a short record is none");
    }

    fn passes(watch: &mut IntervalWatch, told: &[(u64, u16, u8)]) {
        for &(time_ns, probe, end) in told {
            let h = RecordHeader { kind: kind::TASK_PROBE, size: 0, tid: 7, time_ns };
            let record = TaskProbeRecord { h, probe, end, ..TaskProbeRecord::zeroed() };
            watch.record(&h, bytes_of(&record));
        }
    }

    #[test]
    fn visits_and_periods_of_probes() {
        use task_edge::{BEGIN, END, NEXT};
        let mut watch = watch(Subject::Intervals);
        passes(&mut watch, &[(100, 0, BEGIN), (110, 1, NEXT), (170, 0, END), (200, 0, END)]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 100, end_ns: 170 }));
        passes(&mut watch, &[(210, 1, NEXT)]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 110, end_ns: 210 }), "a period ends with the next");
        passes(&mut watch, &[(300, 1, NEXT), (340, 1, NEXT)]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 210, end_ns: 300 }), "which begins then");
        passes(&mut watch, &[(400, 9, NEXT), (900, 9, NEXT)]);
        assert_eq!(watch.take(), None, "no such probe");
    }

    #[test]
    fn only_probes_of_the_name() {
        let mut watch = watch(Subject::Named("period".into()));
        passes(&mut watch, &[(0, 0, 0), (10, 1, 2), (400, 0, 1), (500, 1, 2)]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 10, end_ns: 500 }));
    }

    #[test]
    fn frames_begun_and_submitted() {
        let (domain, id) = (1, id(0));
        let mut watch = watch(Subject::Intervals);
        announce(&mut watch, &[(100, Event::FrameBegin { domain, id }), (300, Event::FrameEnd { domain, id })]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 100, end_ns: 300 }));
        announce(&mut watch, &[(900, Event::FrameSubmit { domain, id, begin: 500, end: 800 })]);
        assert_eq!(watch.take(), Some(Outlier { tid: 7, begin_ns: 500, end_ns: 800 }));
        announce(&mut watch, &[(950, Event::FrameSubmit { domain, id, begin: 900, end: u64::MAX })]);
        assert_eq!(watch.take(), None, "what has not been is no outlier");
    }

    #[test]
    fn hostile_programs_cannot_make_it_grow() {
        let mut watch = watch(Subject::Intervals);
        for number in 0..(2 * MOST_OPEN as u64) {
            let overlapped = Event::OverlappedBegin { domain: 1, name: 2, id: id(number), parent: id(0) };
            announce(&mut watch, &[(1, begin(1)), (1, overlapped)]);
        }
        assert!(
            watch.overlapped.len() <= MOST_OPEN && watch.nested.values().all(|nested| nested.open.len() <= MOST_NESTED)
        );
    }
}
