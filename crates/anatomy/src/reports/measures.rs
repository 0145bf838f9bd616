//! What is shown of counts: one table, from which every report takes its columns.

use dwell_machine::{Counts, Level};
use dwell_view::{Column, Value};

/// A figure of some executions, seen against all of them.
pub struct Measure {
    /// Its column.
    pub column: Column,
    /// The figure of a part of the whole.
    pub value: fn(&Counts, &Counts) -> Value,
}

const fn column(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: false }
}

const fn detail(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: true }
}

/// Every figure.
pub static MEASURES: &[Measure] = &[
    Measure {
        column: column("cycles_share", "Cycles", "Share of the model's cycles."),
        value: |part, whole| share(part.cycles(), whole.cycles()),
    },
    Measure {
        column: column("instructions_share", "Instructions", "Share of the instructions."),
        value: |part, whole| share(part.instructions as f64, whole.instructions as f64),
    },
    Measure { column: column("cpi", "CPI", "Cycles per instruction."), value: |part, _| Value::Real(part.cpi()) },
    Measure {
        column: column("l1_mpi", "L1 MPI", "Misses of L1I and L1D per instruction."),
        value: |part, _| Value::Real(part.mpi(Level::L1)),
    },
    Measure {
        column: column("l2_mpi", "L2 MPI", "Misses of L2 per instruction."),
        value: |part, _| Value::Real(part.mpi(Level::L2)),
    },
    Measure {
        column: column("llc_mpi", "LLC MPI", "Misses of the last-level cache per instruction."),
        value: |part, _| Value::Real(part.mpi(Level::Llc)),
    },
    Measure {
        column: column("tlb_mpi", "TLB MPI", "Misses of the instruction and data TLBs per instruction."),
        value: |part, _| per_instruction(part, part.itlb_misses + part.dtlb_misses),
    },
    Measure {
        column: column("branch_mpki", "Branch MPKI", "Wrong predictions per thousand instructions."),
        value: |part, _| Value::Real(part.branch_mpki()),
    },
    Measure {
        column: column("frontend_bound", "Front-end bound", "Share of the slots for which the front end had nothing."),
        value: |part, _| Value::Fraction(part.topdown().frontend_bound),
    },
    Measure {
        column: detail("backend_bound", "Back-end bound", "Share of the slots that the back end could not take."),
        value: |part, _| Value::Fraction(part.topdown().backend_bound),
    },
    Measure {
        column: detail("memory_bound", "Memory bound", "The part of the back-end bound that waited on memory."),
        value: |part, _| Value::Fraction(part.topdown().memory_bound),
    },
    Measure {
        column: detail("bad_speculation", "Bad speculation", "Share of the slots lost to wrong predictions."),
        value: |part, _| Value::Fraction(part.topdown().bad_speculation),
    },
    Measure {
        column: detail("retiring", "Retiring", "Share of the slots that the program's instructions used."),
        value: |part, _| Value::Fraction(part.topdown().retiring),
    },
    Measure {
        column: detail("cycles", "Cycles", "Cycles of the model."),
        value: |part, _| Value::Count(part.cycles().round() as u64),
    },
    Measure {
        column: detail("instructions", "Instructions", "Instructions; a repeated string instruction is one."),
        value: |part, _| Value::Count(part.instructions),
    },
    Measure {
        column: detail("branches", "Branches", "Instructions that can change the flow."),
        value: |part, _| Value::Count(part.branches),
    },
    Measure {
        column: detail("accesses", "Memory accesses", "Loads and stores."),
        value: |part, _| Value::Count(part.loads + part.stores),
    },
    Measure {
        column: detail("l1i_misses", "L1I misses", "Lines of code that were not in L1I."),
        value: |part, _| Value::Count(part.l1i_misses),
    },
    Measure {
        column: detail("l1d_misses", "L1D misses", "Loads and stores that L1D had no line for."),
        value: |part, _| Value::Count(part.l1d_load_misses + part.l1d_store_misses),
    },
    Measure {
        column: detail("tlb_misses", "TLB misses", "Misses of the instruction and data TLBs."),
        value: |part, _| Value::Count(part.itlb_misses + part.dtlb_misses),
    },
];

/// The figures with these ids, in this order.
pub fn measures(ids: &[&str]) -> Vec<&'static Measure> {
    ids.iter().filter_map(|id| MEASURES.iter().find(|measure| measure.column.id == *id)).collect()
}

fn share(part: f64, whole: f64) -> Value {
    if whole > 0.0 { Value::Fraction(part / whole) } else { Value::None }
}

fn per_instruction(counts: &Counts, number: u64) -> Value {
    match counts.instructions {
        0 => Value::None,
        instructions => Value::Real(number as f64 / instructions as f64),
    }
}
