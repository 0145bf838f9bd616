//! What each event of a file stands for in Dwell's terms, and so what a result of the file can tell.

use crate::attribute::{Attribute, part};
use crate::description::Description;
use crate::formats::{Field, Format};

/// Fields of sched_switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchFields {
    /// Id of the thread that leaves.
    pub out_tid: Field,
    /// Its state.
    pub state: Field,
    /// Id of the thread that comes.
    pub in_tid: Field,
}

/// Fields of sched_waking and sched_wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeFields {
    /// Id of the thread that is woken.
    pub tid: Field,
    /// In what context it is, as all tracepoints tell.
    pub context: Field,
    /// Whether the waker runs it: sched_wakeup often runs on the CPU of the woken thread.
    pub by_waker: bool,
}

/// What samples of an event mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A thread runs.
    Runs,
    /// A CPU changes from one thread to another.
    Switches(SwitchFields),
    /// A thread is woken.
    Wakes(WakeFields),
    /// Nothing that a result has.
    Other,
}

/// What the events of a file mean.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    meanings: Vec<Meaning>,
    /// It has sched_switch.
    pub traces_switches: bool,
    /// It has some of the switches only, which tell nothing (`-F` samples tracepoints, too).
    pub samples_switches: bool,
    /// It has records of switches (`--switch-events`).
    pub records_switches: bool,
    /// It tells when threads are woken.
    pub tells_wakes: bool,
    /// Its stacks are copies of memory (`--call-graph dwarf`).
    pub copies_stacks: bool,
    /// It samples running threads.
    pub samples: bool,
    /// The events that are not used, as perf calls them.
    pub unused: Vec<String>,
}

impl Plan {
    /// What the events of `description` mean.
    pub fn new(description: &Description) -> Self {
        let events = &description.events;
        let clock = events.iter().find(|event| event.is_clock());
        let clock = clock.or_else(|| events.iter().find(|event| event.is_of_processor()));
        let meanings: Vec<Meaning> = events.iter().map(|event| meaning(event, clock, description)).collect();
        let has = |is: fn(&Meaning) -> bool| meanings.iter().any(is);
        let unused = |(number, meaning): (usize, &Meaning)| {
            let is_told = events[number].is_idle() || is_switch(&events[number], description);
            (*meaning == Meaning::Other && !is_told).then(|| description.event_name(number))
        };
        let mut plan = Self {
            traces_switches: has(|meaning| matches!(meaning, Meaning::Switches(_))),
            samples_switches: events.iter().any(|event| is_switch(event, description) && event.takes_some_only()),
            records_switches: events.iter().any(Attribute::records_switches),
            tells_wakes: has(|meaning| matches!(meaning, Meaning::Wakes(_))),
            copies_stacks: events.iter().any(|event| event.has(part::STACK_USER)),
            samples: has(|meaning| *meaning == Meaning::Runs),
            unused: meanings.iter().enumerate().filter_map(unused).collect(),
            meanings,
        };
        plan.prefer_wakers();
        plan
    }

    /// Where wakers tell of wake-ups, the woken CPUs need not.
    fn prefer_wakers(&mut self) {
        let by_waker = |meaning: &Meaning| matches!(meaning, Meaning::Wakes(WakeFields { by_waker: true, .. }));
        if self.meanings.iter().any(by_waker) {
            let others = self.meanings.iter_mut();
            others.filter(|meaning| matches!(meaning, Meaning::Wakes(fields) if !fields.by_waker)).for_each(
                |meaning| {
                    *meaning = Meaning::Other;
                },
            );
        }
    }

    /// What samples of the event of this number mean.
    pub fn meaning(&self, number: usize) -> Meaning {
        self.meanings.get(number).copied().unwrap_or(Meaning::Other)
    }

    /// Whether the file tells when threads leave CPUs.
    pub fn has_switches(&self) -> bool {
        self.traces_switches || self.records_switches
    }
}

fn is_switch(event: &Attribute, description: &Description) -> bool {
    event.is_tracepoint() && description.formats.of(event.config).is_some_and(|format| format.name == "sched_switch")
}

fn meaning(event: &Attribute, clock: Option<&Attribute>, description: &Description) -> Meaning {
    if event.is_tracepoint() {
        let format = description.formats.of(event.config).filter(|_| !event.takes_some_only());
        return format.and_then(of_tracepoint).unwrap_or(Meaning::Other);
    }
    let is_clock = clock.is_some_and(|clock| clock.counts_as(event)) && (event.is_clock() || event.is_of_processor());
    if is_clock { Meaning::Runs } else { Meaning::Other }
}

fn of_tracepoint(format: &Format) -> Option<Meaning> {
    match format.name.as_str() {
        "sched_switch" => Some(Meaning::Switches(SwitchFields {
            out_tid: format.field("prev_pid")?,
            state: format.field("prev_state")?,
            in_tid: format.field("next_pid")?,
        })),
        name @ ("sched_waking" | "sched_wakeup") => Some(Meaning::Wakes(WakeFields {
            tid: format.field("pid")?,
            context: format.field("common_flags")?,
            by_waker: name == "sched_waking",
        })),
        _ => None,
    }
}
