//! What delayed threads: the table, and the names of who or what did it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{Delay, DelaySourceId, Syscall, signal_name};
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{DelayRecord, delay_vector};
use dwell_store::tables::{DelayRow, DelaySourceRow, Delays, Pauses};
use dwell_store::{CpuPlace, DelayFacts, DelayTables, Edges, Table};

use crate::code::kernel::{self, KernelFiles};
use crate::hash::FastMap;
use crate::replay::state::Replay;

/// Names of the kernel's soft interrupts (include/linux/interrupt.h), by vector.
const SOFT_INTERRUPTS: &[&str] =
    &["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The tables of `records`, and how many records are of unknown threads. `facts` are of the machine that recorded;
/// `pauses` are cut out; `kernel`: its symbols, if addresses of the kernel still mean what they did.
pub fn resolve(
    records: &[DelayRecord],
    replay: &Replay,
    pauses: &Pauses,
    facts: &DelayFacts,
    kernel: Option<&KernelFiles>,
) -> (DelayTables, u64) {
    let functions = kernel.map(|kernel| functions(records, kernel)).unwrap_or_default();
    let mut sources = Sources { functions, facts, ids: FastMap::default(), tables: DelayTables::default() };
    let mut unknown_threads = 0;
    for record in records {
        let edges = edges(record, facts);
        // The observed time, not the estimated one, which may reach beyond the thread's life.
        let Some(thread) = replay.thread_table.find_at(record.h.tid, replay.relative(record.begin_ns)) else {
            unknown_threads += 1;
            continue;
        };
        let Some(life) = replay.thread_table.life(thread) else { continue };
        let start_ns = replay.relative(record.begin_ns.saturating_sub(edges.before_ns)).max(life.start_ns);
        let end_ns =
            replay.relative(record.h.time_ns.saturating_add(edges.after_ns)).min(life.end_ns.unwrap_or(u64::MAX));
        let (start_ns, end_ns) = recorded(start_ns, end_ns, pauses);
        if end_ns <= start_ns {
            continue;
        }
        let kind = sources.kind(record);
        let span_ns = end_ns - start_ns;
        let is_part = matches!(kind, Delay::Steal | Delay::Frequency);
        let delay_ns = if is_part { record.detail.min(span_ns) } else { span_ns };
        let source = sources.source(kind, record);
        let row = DelayRow { thread, kind: kind.code(), start_ns, end_ns, delay_ns, cpu: record.cpu, source };
        sources.tables.delays.push(row);
    }
    let DelayTables { delays, sources } = sources.tables;
    (DelayTables { delays: in_order(&delays), sources }, unknown_threads)
}

/// The part of `start_ns .. end_ns` outside of pauses: from the end of the pause that it begins in, up to the next pause. The
/// kernel side learns a moment later that a program wants a pause.
fn recorded(start_ns: u64, end_ns: u64, pauses: &Pauses) -> (u64, u64) {
    let next = pauses.start_ns.partition_point(|pause_ns| *pause_ns <= start_ns);
    let before = next.checked_sub(1).map_or(0, |pause| pauses.end_ns[pause]);
    (start_ns.max(before), pauses.start_ns.get(next).map_or(end_ns, |pause_ns| end_ns.min(*pause_ns)))
}

/// What no hook saw of a delay.
fn edges(record: &DelayRecord, facts: &DelayFacts) -> Edges {
    match Delay::from_code(record.kind) {
        Delay::MinorFault | Delay::MajorFault => facts.edges.page_fault,
        Delay::SystemCall => facts.edges.system_call,
        Delay::Ipi => facts.edges.interrupt,
        _ => Edges::default(),
    }
}

/// How far it is from one CPU to another.
fn distance(places: &[CpuPlace], from: u64, to: u16) -> &'static str {
    let place = |cpu: u64| places.iter().find(|place| u64::from(place.cpu) == cpu);
    match (place(from), place(u64::from(to))) {
        (Some(from), Some(to)) if from.node != to.node => ", another NUMA node",
        (Some(from), Some(to)) if from.cache != to.cache => ", another cache",
        (Some(_), Some(_)) => ", the same cache",
        _ => "",
    }
}

/// By start, the outer ones first.
fn in_order(delays: &Delays) -> Delays {
    let mut order: Vec<usize> = (0..delays.len()).collect();
    order.sort_by_key(|&row| (delays.start_ns[row], Reverse(delays.end_ns[row])));
    delays.permuted(&order)
}

/// Whether functions of the kernel are to be named in any of the records.
pub fn tells_functions(records: &[DelayRecord]) -> bool {
    records.iter().any(|record| function_of(record).is_some())
}

/// The address of the kernel's function that a record tells of.
fn function_of(record: &DelayRecord) -> Option<u64> {
    let tells = matches!(Delay::from_code(record.kind), Delay::Ipi | Delay::KernelWork) && record.detail != 0;
    tells.then_some(record.detail)
}

/// The names of the kernel's functions that the records tell of.
fn functions(records: &[DelayRecord], files: &KernelFiles) -> BTreeMap<u64, String> {
    let addresses: BTreeSet<u64> = records.iter().filter_map(function_of).collect();
    kernel::names(&addresses, files)
}

struct Sources<'f> {
    facts: &'f DelayFacts,
    functions: BTreeMap<u64, String>,
    ids: FastMap<String, DelaySourceId>,
    tables: DelayTables,
}

impl Sources<'_> {
    fn function(&self, address: u64) -> Option<&str> {
        self.functions.get(&address).map(String::as_str)
    }

    fn kind(&self, record: &DelayRecord) -> Delay {
        let kind = Delay::from_code(record.kind);
        let flushes = |name: &str| name.starts_with("flush_tlb") || name.contains("flush_tlb_func");
        match kind {
            Delay::Ipi if self.function(record.detail).is_some_and(flushes) => Delay::TlbShootdown,
            kind => kind,
        }
    }

    fn source(&mut self, kind: Delay, record: &DelayRecord) -> DelaySourceId {
        let Some(name) = self.name(kind, record) else { return DelaySourceId::NONE };
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        let id = DelaySourceId::new(self.tables.sources.push(DelaySourceRow { name: name.clone() }));
        self.ids.insert(name, id);
        id
    }

    fn name(&self, kind: Delay, record: &DelayRecord) -> Option<String> {
        let number = usize::try_from(record.detail).unwrap_or(usize::MAX);
        let text = c_string(&record.text);
        Some(match kind {
            Delay::Migration => {
                let distance = distance(&self.facts.places, record.detail, record.cpu);
                format!("CPU {} to {}{distance}", record.detail, record.cpu)
            }
            Delay::Preemption | Delay::KernelWork | Delay::RunQueue => {
                let thread = format!("{text} ({})", record.other_tid);
                match self.function(record.detail).filter(|_| kind == Delay::KernelWork) {
                    Some(function) => format!("{thread}: {function}"),
                    None => thread,
                }
            }
            Delay::IdleExit => match self.facts.idle_states.get(number) {
                Some(name) => format!("idle state {number}: {name}"),
                None => format!("idle state {}", record.detail),
            },
            Delay::Frequency => format!("CPU {} at {} MHz", record.cpu, record.other_tid / 1000),
            Delay::Timer => "local timer".into(),
            Delay::Interrupt => match record.vector {
                delay_vector::PLATFORM => "platform interrupt".into(),
                delay_vector::THERMAL => "thermal interrupt".into(),
                _ => format!("{text} (irq {})", record.detail),
            },
            Delay::SoftInterrupt => {
                SOFT_INTERRUPTS.get(number).map_or_else(|| format!("vector {number}"), |name| (*name).to_owned())
            }
            Delay::Ipi | Delay::TlbShootdown => match (record.vector, self.function(record.detail)) {
                (_, Some(function)) => function.to_owned(),
                (delay_vector::RESCHEDULE, _) => "reschedule".into(),
                (delay_vector::IRQ_WORK, _) => "irq work".into(),
                _ => "function call".into(),
            },
            Delay::SystemCall => Syscall::name_of(i16::try_from(number).unwrap_or(-1)),
            Delay::Signal => signal_name(number),
            Delay::MinorFault | Delay::MajorFault | Delay::BlockIo if !text.is_empty() => text,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::DelayEdges;
    use dwell_store::tables::PauseRow;

    use super::*;

    #[test]
    fn faults_calls_and_other_cpus_interrupts_have_edges() {
        let edge = |before_ns| Edges { before_ns, after_ns: 1 };
        let edges_measured = DelayEdges { page_fault: edge(3), system_call: edge(5), interrupt: edge(7) };
        let facts = DelayFacts { edges: edges_measured, ..DelayFacts::default() };
        let of = |kind: Delay| edges(&DelayRecord { kind: kind.code(), ..DelayRecord::zeroed() }, &facts);
        assert_eq!([Delay::MinorFault, Delay::SystemCall, Delay::Ipi].map(of), [edge(3), edge(5), edge(7)]);
        assert_eq!([Delay::Preemption, Delay::Timer].map(of), [Edges::default(); 2], "seen whole, or not measured");
    }

    #[test]
    fn what_is_in_a_pause_is_cut() {
        let mut pauses = Pauses::default();
        pauses.push(PauseRow { start_ns: 100, end_ns: 200 });
        pauses.push(PauseRow { start_ns: 300, end_ns: 400 });
        let of = |start_ns, end_ns| recorded(start_ns, end_ns, &pauses);
        assert_eq!([of(10, 50), of(210, 290)], [(10, 50), (210, 290)]);
        assert_eq!([of(50, 250), of(150, 250), of(150, 350)], [(50, 100), (200, 250), (200, 300)]);
        let (start_ns, end_ns) = of(120, 180);
        assert!(end_ns <= start_ns, "nothing of it");
    }

    #[test]
    fn moves_tell_how_far() {
        let place = |cpu, node, cache| CpuPlace { cpu, node, cache };
        let places = [place(0, 0, 0), place(1, 0, 0), place(2, 0, 1), place(3, 1, 2)];
        let to = [1, 2, 3, 9].map(|to| distance(&places, 0, to));
        assert_eq!(to, [", the same cache", ", another cache", ", another NUMA node", ""]);
    }
}
