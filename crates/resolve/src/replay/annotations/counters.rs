//! Counters and the values that they took.

use std::hash::RandomState;

use dwell_model::{CounterId, CounterKind, ProcessId};
use dwell_store::Table;
use dwell_store::tables::{CounterRow, CounterValueRow, CounterValues, Counters};

use super::counted::UnkeptCounts;
use super::event_context::EventContext;
use crate::input::texts::{TextId, Texts};
use crate::interner::Interner;

/// Most counters of a trace.
const MOST_COUNTERS: usize = 1 << 16;
/// Most values of all counters.
const MOST_VALUES: usize = 250_000_000;

/// A counter is its name in its domain in its process, however many copies of ITT's stub declare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    process: ProcessId,
    domain: TextId,
    name: TextId,
}

#[derive(Clone, Copy, Debug)]
struct State {
    kind: CounterKind,
    value: f64,
}

/// Every counter so far.
#[derive(Default)]
pub struct CounterBook {
    keys: Interner<Key, RandomState>,
    states: Vec<State>,
    values: CounterValues,
}

impl CounterBook {
    /// The counter is set to `value`, or `value` is added to it.
    pub fn count(
        &mut self,
        context: &EventContext,
        (domain, name): (TextId, TextId),
        what: (CounterKind, f64),
        counted: &mut UnkeptCounts,
    ) {
        let (kind, value) = what;
        if !value.is_finite() {
            counted.values += 1;
            return;
        }
        let key = Key { process: context.process, domain, name };
        let is_full = self.states.len() >= MOST_COUNTERS && self.keys.get(&key).is_none();
        if self.values.len() >= MOST_VALUES || is_full {
            counted.rows += 1;
            return;
        }
        let counter = self.keys.intern(key);
        if counter == self.states.len() {
            self.states.push(State { kind, value: 0.0 });
        }
        let state = &mut self.states[counter];
        if kind == CounterKind::Sum {
            state.value += value;
        } else {
            // A counter that is also set is not a sum.
            *state = State { kind, value };
        }
        let row = CounterValueRow {
            counter: CounterId::new(counter),
            time_ns: context.at_ns,
            thread: context.thread,
            value: state.value,
        };
        self.values.push(row);
    }

    /// The tables.
    pub fn finish(self, texts: &Texts) -> (Counters, CounterValues) {
        let mut counters = Counters::default();
        for (key, state) in self.keys.keys().iter().zip(&self.states) {
            counters.push(CounterRow {
                domain: texts.show(key.domain, "domain"),
                name: texts.show(key.name, "counter"),
                process: key.process,
                kind: state.kind.code(),
                unit: String::new(),
            });
        }
        (counters, self.values.in_order_of(|values| &values.time_ns))
    }
}
