//! What delayed threads: the table, and the names of who or what did it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{Delay, DelaySourceId, Syscall};
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{DelayRecord, delay_vector};
use dwell_store::tables::{DelayRow, DelaySourceRow, Delays};
use dwell_store::{DelayTables, Table};

use crate::hash::FastMap;
use crate::kernel;
use crate::replay::Replay;

/// Names of the kernel's soft interrupts (include/linux/interrupt.h), by vector.
const SOFT_INTERRUPTS: &[&str] =
    &["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// Names of signals, by number.
const SIGNALS: &[&str] = &[
    "signal 0",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The tables of `records`, and how many are of threads that nothing else is known of. `this_boot`: whether addresses of the kernel still mean what they did.
pub fn resolve(records: &[DelayRecord], replay: &Replay, this_boot: bool) -> (DelayTables, u64) {
    let functions = if this_boot { functions(records) } else { BTreeMap::new() };
    let mut sources = Sources { functions, ids: FastMap::default(), tables: DelayTables::default() };
    let mut strangers = 0;
    for record in records {
        let (start_ns, end_ns) = (replay.relative(record.begin_ns), replay.relative(record.h.time_ns));
        let Some(thread) = replay.lives.find_at(record.h.tid, start_ns) else {
            strangers += 1;
            continue;
        };
        if end_ns <= start_ns {
            continue;
        }
        let kind = sources.kind(record);
        let span_ns = end_ns - start_ns;
        let delay_ns = if kind == Delay::Steal { record.detail.min(span_ns) } else { span_ns };
        let source = sources.source(kind, record);
        let row = DelayRow { thread, kind: kind.code(), start_ns, end_ns, delay_ns, cpu: record.cpu, source };
        sources.tables.delays.push(row);
    }
    let DelayTables { delays, sources } = sources.tables;
    (DelayTables { delays: in_order(&delays), sources }, strangers)
}

/// By start, the outer ones first.
fn in_order(delays: &Delays) -> Delays {
    let mut order: Vec<usize> = (0..delays.len()).collect();
    order.sort_by_key(|&row| (delays.start_ns[row], Reverse(delays.end_ns[row])));
    delays.permuted(&order)
}

/// The names of the kernel's functions that the records tell of.
fn functions(records: &[DelayRecord]) -> BTreeMap<u64, String> {
    let tells = |record: &&DelayRecord| {
        matches!(Delay::from_code(record.kind), Delay::Ipi | Delay::KernelWork) && record.detail != 0
    };
    let addresses: BTreeSet<u64> = records.iter().filter(tells).map(|record| record.detail).collect();
    kernel::names(&addresses)
}

struct Sources {
    functions: BTreeMap<u64, String>,
    ids: FastMap<String, DelaySourceId>,
    tables: DelayTables,
}

impl Sources {
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
            Delay::Migration => format!("CPU {} to {}", record.detail, record.cpu),
            Delay::Preemption | Delay::KernelWork | Delay::RunQueue => {
                let thread = format!("{text} ({})", record.other_tid);
                match self.function(record.detail).filter(|_| kind == Delay::KernelWork) {
                    Some(function) => format!("{thread}: {function}"),
                    None => thread,
                }
            }
            Delay::IdleExit => format!("idle state {}", record.detail),
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
            Delay::Signal => SIGNALS.get(number).map_or_else(|| format!("signal {number}"), |name| (*name).to_owned()),
            Delay::MinorFault | Delay::MajorFault if !text.is_empty() => text,
            _ => return None,
        })
    }
}
