//! What is counted: plain sums, so that blocks add up to functions, phases and the whole.

use std::ops::{Add, AddAssign};

/// Ticks in a cycle: every width up to 10, and 12, divides it, so that a slot is a whole number of ticks and sums are exact.
pub const TICKS_PER_CYCLE: u64 = 2520;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What some executions did, and where their cycles went. Everything is additive.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counts {
            /// The names of the counters, in order.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// The values of the counters, in the order of [`Counts::NAMES`].
            pub fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

counts! {
    /// How often a block was entered.
    executions,
    /// Instructions, as hardware counts them: a repeated string instruction is one.
    instructions,
    /// Ticks whose slots were used by what the program asked for.
    retiring,
    /// Iterations of repeated string instructions but the first: emulators and cachegrind count these as instructions too.
    string_iterations,
    /// Slots that the instructions take in the core (fused µops).
    uops,
    /// Memory reads.
    loads,
    /// Memory writes.
    stores,
    /// Instructions that can change the flow.
    branches,
    /// Branches whose direction or target was predicted wrongly.
    mispredicts,
    /// Direct branches that were taken and that the front end did not know (its BTB): found when they are decoded.
    resteers,
    /// Interrupts and exceptions: the flow went where no branch led.
    interruptions,
    /// Lines of code that were not in L1I.
    l1i_misses,
    /// Loads that were not served by L1D.
    l1d_load_misses,
    /// Stores that did not find their line in L1D.
    l1d_store_misses,
    /// Lines of code that were not in L2 (of those that L1I lacked).
    l2_code_misses,
    /// Loads that were not in L2.
    l2_load_misses,
    /// Stores that were not in L2.
    l2_store_misses,
    /// Lines of code from memory.
    llc_code_misses,
    /// Loads from memory.
    llc_load_misses,
    /// Stores whose line came from memory.
    llc_store_misses,
    /// Pages of code that were not in the ITLB.
    itlb_misses,
    /// Data accesses whose page was not in the DTLB.
    dtlb_misses,
    /// Misses of the second-level TLB, for code and data: the page tables were walked.
    walks,
    /// Windows of code that the decoded-µop cache lacked.
    uop_cache_misses,
    /// Ticks until the right path came behind a wrong prediction.
    bad_speculation,
    /// Ticks without µops: a miss of L1I or ITLB, a branch that the BTB lacked.
    frontend_latency,
    /// Ticks without µops: decoders or µop cache deliver fewer than the core takes.
    frontend_bandwidth,
    /// Ticks in which the window was full, or the ports taken, behind something else than a memory access that missed L1D.
    backend_core,
    /// Ticks in which the window or the store buffer was full behind a memory access that missed L1D or the DTLB.
    backend_memory,
}

impl Add for Counts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// The shares of the four-way top-down split; they sum to 1, or are all 0 where no cycle passed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TopDown {
    /// Slots that the program's instructions used.
    pub retiring: f64,
    /// Slots lost to wrong predictions.
    pub bad_speculation: f64,
    /// Slots for which the front end had nothing.
    pub frontend_bound: f64,
    /// Slots that the back end could not take.
    pub backend_bound: f64,
    /// The part of `backend_bound` that waited on memory.
    pub memory_bound: f64,
}

/// A level of the memory hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The first-level caches.
    L1,
    /// The second level.
    L2,
    /// The last-level cache.
    Llc,
    /// Memory.
    Memory,
}

impl Counts {
    /// Ticks in all: the sum of the split.
    pub fn ticks(&self) -> u64 {
        self.retiring
            + self.bad_speculation
            + self.frontend_latency
            + self.frontend_bandwidth
            + self.backend_core
            + self.backend_memory
    }

    /// Cycles in all.
    pub fn cycles(&self) -> f64 {
        self.ticks() as f64 / TICKS_PER_CYCLE as f64
    }

    /// Cycles per instruction; 0 without instructions.
    pub fn cpi(&self) -> f64 {
        ratio(self.cycles(), self.instructions)
    }

    /// Misses of a level, of code, loads and stores; of [`Level::Memory`] none.
    pub fn misses(&self, level: Level) -> u64 {
        match level {
            Level::L1 => self.l1i_misses + self.l1d_load_misses + self.l1d_store_misses,
            Level::L2 => self.l2_code_misses + self.l2_load_misses + self.l2_store_misses,
            Level::Llc => self.llc_code_misses + self.llc_load_misses + self.llc_store_misses,
            Level::Memory => 0,
        }
    }

    /// Misses of a level per instruction.
    pub fn mpi(&self, level: Level) -> f64 {
        ratio(self.misses(level) as f64, self.instructions)
    }

    /// Wrong predictions per thousand instructions.
    pub fn branch_mpki(&self) -> f64 {
        ratio(self.mispredicts as f64 * 1000.0, self.instructions)
    }

    /// The four-way split as shares.
    pub fn topdown(&self) -> TopDown {
        let ticks = self.ticks();
        TopDown {
            retiring: ratio(self.retiring as f64, ticks),
            bad_speculation: ratio(self.bad_speculation as f64, ticks),
            frontend_bound: ratio((self.frontend_latency + self.frontend_bandwidth) as f64, ticks),
            backend_bound: ratio((self.backend_core + self.backend_memory) as f64, ticks),
            memory_bound: ratio(self.backend_memory as f64, ticks),
        }
    }
}

fn ratio(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}
