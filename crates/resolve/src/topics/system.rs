//! The machine's counters: readings become counters and what they have counted since the collection began.
//!
//! A counter of the kernel runs since boot, and may wrap at 32 bits, begin anew (an interface was taken away and plugged in
//! again), or go back a little (I/O wait time). What comes out never falls.

use std::collections::BTreeMap;

use dwell_model::system::{INTERFACE_COUNTERS, MACHINE_COUNTERS, NETWORK, Rate};
use dwell_model::{CounterId, CounterKind, ProcessId, ThreadId};
use dwell_store::Annotations;
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{COUNTER_UNKNOWN, INTERFACE_FOREIGN, InterfaceHeader};
use dwell_store::tables::{CounterRow, CounterValueRow};

use crate::input::meta::Meta;

/// Where counters of 32 bits wrap.
const WRAP: u64 = 1 << 32;

/// What the readings are of, and what could not be told from them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SystemCounts {
    /// Times that an interface's counter began anew.
    pub began_anew: u64,
    /// Interfaces that were gone before the last reading.
    pub gone: u64,
}

/// Adds the counters of the readings to `annotations`. `relative` gives the tables' time of a CLOCK_MONOTONIC time.
pub fn add(meta: &Meta, relative: &dyn Fn(u64) -> u64, annotations: &mut Annotations) -> SystemCounts {
    let mut series: BTreeMap<Name, Series> = BTreeMap::new();
    let mut take = |interface: Option<Interface>, time_ns: u64, values: &[u64]| {
        let definitions = if interface.is_some() { INTERFACE_COUNTERS } else { MACHINE_COUNTERS };
        for (place, (definition, &value)) in definitions.iter().zip(values).enumerate() {
            if value != COUNTER_UNKNOWN {
                let new = || Series::new(value, definition.rate() == Rate::Share);
                series.entry(Name { interface, place }).or_insert_with(new).take(relative(time_ns), value);
            }
        }
    };
    meta.machine.iter().for_each(|(header, values)| take(None, header.h.time_ns, values));
    for (header, values) in &meta.interfaces {
        take(Some(Interface::of(header)), header.h.time_ns, values);
    }
    let began_anew = interfaces_replugged(&series);
    write(series, annotations);
    SystemCounts { began_anew, gone: gone(&meta.interfaces) }
}

/// Each counter of an interface begins anew with it.
fn interfaces_replugged(series: &BTreeMap<Name, Series>) -> u64 {
    let mut times: BTreeMap<Option<Interface>, u64> = BTreeMap::new();
    for (name, series) in series {
        let most = times.entry(name.interface).or_default();
        *most = series.began_anew.max(*most);
    }
    times.values().sum()
}

/// A counter: those of the machine first, then by interface, in the order of their definitions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    interface: Option<Interface>,
    place: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interface {
    foreign: bool,
    network: u64,
    name: [u8; 16],
}

impl Interface {
    fn of(header: &InterfaceHeader) -> Self {
        Self { foreign: header.flags & INTERFACE_FOREIGN != 0, network: header.network, name: header.name }
    }

    /// `Network eth0`; of another namespace, `Network eth0 (net:4026532281)`, as /proc/PID/ns has it.
    fn domain(&self) -> String {
        let name = c_string(&self.name);
        if self.foreign { format!("{NETWORK} {name} (net:{})", self.network) } else { format!("{NETWORK} {name}") }
    }
}

impl Name {
    fn row(&self) -> CounterRow {
        let (definition, domain) = match &self.interface {
            None => (&MACHINE_COUNTERS[self.place], MACHINE_COUNTERS[self.place].domain.to_owned()),
            Some(interface) => (&INTERFACE_COUNTERS[self.place], interface.domain()),
        };
        let kind = CounterKind::Sum.code();
        let (name, unit) = (definition.name.to_owned(), definition.unit.to_owned());
        CounterRow { domain, name, process: ProcessId::NONE, kind, unit }
    }
}

/// What one counter has counted since its first reading.
struct Series {
    last: u64,
    /// Whether a fall is none: times, which the kernel may correct.
    holds: bool,
    sum: u64,
    began_anew: u64,
    /// Time and sum; of a run of equal sums only the first and the last.
    points: Vec<(u64, u64)>,
}

impl Series {
    fn new(first: u64, holds: bool) -> Self {
        Self { last: first, holds, sum: 0, began_anew: 0, points: Vec::new() }
    }

    fn take(&mut self, time_ns: u64, value: u64) {
        let increase = if value >= self.last {
            value - self.last
        } else if self.holds {
            return self.point(time_ns);
        } else {
            self.fallen(value)
        };
        self.last = value;
        self.sum = self.sum.saturating_add(increase);
        self.point(time_ns);
    }

    /// The increase to a lower value: past 2^32, when the counter stood in the last quarter before it and is now in the
    /// first; else it began anew at 0.
    fn fallen(&mut self, value: u64) -> u64 {
        let wrapped = (WRAP - WRAP / 4..WRAP).contains(&self.last) && value < WRAP / 4;
        if wrapped {
            return WRAP - self.last + value;
        }
        self.began_anew += 1;
        value
    }

    fn point(&mut self, time_ns: u64) {
        let equal = |at: usize| self.points.len().checked_sub(at).is_some_and(|at| self.points[at].1 == self.sum);
        if equal(1) && equal(2) {
            self.points.pop();
        }
        self.points.push((time_ns, self.sum));
    }
}

/// Interfaces that were not there any more when their network namespace was read last.
fn gone(interfaces: &[(InterfaceHeader, Vec<u64>)]) -> u64 {
    let (mut networks, mut seen) = (BTreeMap::new(), BTreeMap::new());
    for (header, _) in interfaces {
        networks.insert(header.network, header.h.time_ns);
        seen.insert(Interface::of(header), header.h.time_ns);
    }
    seen.iter().filter(|(interface, last)| networks.get(&interface.network) != Some(last)).count() as u64
}

/// Appends counters that ever counted anything, and puts their values between those that are there.
fn write(series: BTreeMap<Name, Series>, annotations: &mut Annotations) {
    let mut rows: Vec<CounterValueRow> = Vec::new();
    let Annotations { counters, counter_values, .. } = annotations;
    for (name, series) in series {
        // The kinds of errors and soft interrupts that did not occur are no news.
        if series.sum == 0 && name.is_rare() {
            continue;
        }
        let counter = CounterId::new(counters.push(name.row()));
        let value = |&(time_ns, sum): &(u64, u64)| CounterValueRow {
            counter,
            time_ns,
            thread: ThreadId::NONE,
            value: sum as f64,
        };
        rows.extend(series.points.iter().map(value));
    }
    rows.sort_by_key(|row| row.time_ns);
    for row in rows {
        counter_values.push(row);
    }
    *counter_values = std::mem::take(counter_values).in_order_of(|values| &values.time_ns);
}

impl Name {
    /// Whether it is left out when it counted nothing.
    fn is_rare(&self) -> bool {
        match &self.interface {
            None => MACHINE_COUNTERS[self.place].domain == dwell_model::system::SOFT_INTERRUPTS,
            Some(_) => ["Receive Errors", "Receive Drops", "Send Errors", "Send Drops"]
                .contains(&INTERFACE_COUNTERS[self.place].name),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::wire::{MachineHeader, RecordHeader};
    use proptest::prelude::*;

    use super::*;

    fn h(time_ns: u64) -> RecordHeader {
        RecordHeader { time_ns, ..RecordHeader::zeroed() }
    }

    fn series(values: &[u64]) -> Series {
        let mut series = Series::new(values[0], false);
        values.iter().enumerate().for_each(|(time, &value)| series.take(time as u64, value));
        series
    }

    fn interface(time_ns: u64, name: &[u8], network: u64, flags: u32, received: u64) -> (InterfaceHeader, Vec<u64>) {
        let mut kept = [0; 16];
        kept[..name.len()].copy_from_slice(name);
        (InterfaceHeader { h: h(time_ns), count: 1, flags, network, name: kept }, vec![received])
    }

    #[test]
    fn a_counter_of_32_bits_wraps_and_a_replugged_one_begins_anew() {
        let wrapped = series(&[WRAP - 1000, WRAP - 10, 90]);
        assert_eq!((wrapped.sum, wrapped.began_anew), (1090, 0));
        let replugged = series(&[5_000_000_000, 5_000_000_100, 70, 80]);
        assert_eq!((replugged.sum, replugged.began_anew), (180, 1));
    }

    #[test]
    fn time_that_goes_back_is_held() {
        let mut series = Series::new(100, true);
        [100, 150, 140, 145, 160].iter().enumerate().for_each(|(time, &value)| series.take(time as u64, value));
        assert_eq!((series.sum, series.began_anew), (60, 0));
        assert_eq!(series.points, [(0, 0), (1, 50), (3, 50), (4, 60)]);
    }

    #[test]
    fn readings_become_counters_among_the_programs_own() {
        let mut annotations = Annotations::default();
        let own = annotations.counters.push(CounterRow {
            domain: String::new(),
            name: "queue".into(),
            process: ProcessId::new(0),
            kind: 1,
            unit: String::new(),
        });
        let own = CounterId::new(own);
        annotations.counter_values.push(CounterValueRow {
            counter: own,
            time_ns: 15,
            thread: ThreadId::new(0),
            value: 3.0,
        });
        let machine = [(1010, 7_000), (1020, 9_000)]
            .map(|(time, user)| (MachineHeader { h: h(time), count: 1, cpus: 2 }, vec![user]));
        let interfaces = [
            interface(1010, b"lo", 1, 0, 40),
            interface(1010, b"veth0", 2, INTERFACE_FOREIGN, 5),
            interface(1020, b"lo", 1, 0, 90),
            interface(1020, b"eth1", 2, INTERFACE_FOREIGN, 5),
        ];
        let mut meta = Meta::default();
        (meta.machine, meta.interfaces) = (machine.into(), interfaces.into());
        let counted = add(&meta, &|time| time - 1000, &mut annotations);
        assert_eq!(counted, SystemCounts { began_anew: 0, gone: 1 });
        let named: Vec<_> = annotations
            .counters
            .domain
            .iter()
            .zip(&annotations.counters.name)
            .map(|(a, b)| format!("{a}/{b}"))
            .collect();
        let received =
            ["Network lo", "Network eth1 (net:2)", "Network veth0 (net:2)"].map(|it| format!("{it}/Bytes Received"));
        assert_eq!(named[..2], ["/queue", "Processor/User Time"]);
        assert_eq!(named[2..], received);
        let values = &annotations.counter_values;
        assert!(values.time_ns.is_sorted());
        let of = |row: usize| {
            let points = values.counter.iter().zip(values.time_ns.iter().zip(&values.value));
            points.filter(|(id, _)| id.get() == Some(row)).map(|(_, (time, value))| (*time, *value)).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [(15, 3.0)]);
        assert_eq!(of(1), [(10, 0.0), (20, 2000.0)]);
        assert_eq!(of(2), [(10, 0.0), (20, 50.0)]);
    }

    #[test]
    fn what_is_not_known_has_no_counter() {
        let mut annotations = Annotations::default();
        let machine = [(MachineHeader { h: h(1), count: 2, cpus: 1 }, vec![COUNTER_UNKNOWN, 5])];
        let mut meta = Meta::default();
        meta.machine = machine.into();
        add(&meta, &|time| time, &mut annotations);
        assert_eq!(annotations.counters.name, ["Nice Time"]);
    }

    proptest! {
        #[test]
        fn sums_never_fall_whatever_is_read(values in proptest::collection::vec(any::<u64>(), 1..50), holds: bool) {
            let mut series = Series::new(values[0], holds);
            values.iter().enumerate().for_each(|(time, &value)| series.take(time as u64, value));
            prop_assert!(series.points.is_sorted());
            prop_assert_eq!(series.points.last().map(|point| point.0), Some(values.len() as u64 - 1));
        }

        #[test]
        fn a_counter_that_only_grows_is_counted_exactly(steps in proptest::collection::vec(0..1_000_000_u64, 1..50), first in 0..WRAP) {
            // The same as seen through 32 bits.
            let all: Vec<u64> = steps.iter().scan(first, |at, step| { *at += step; Some(*at) }).collect();
            let total: u64 = all[all.len() - 1] - all[0];
            let narrow: Vec<u64> = all.iter().map(|value| value % WRAP).collect();
            prop_assert_eq!(series(&all).sum, total);
            prop_assert_eq!(series(&narrow).sum, total);
        }
    }
}
