//! A machine as a TOML file describes it. The files of [`crate::MACHINES`] are examples with the sources of their numbers.

use serde::Deserialize;

/// A machine: what a trace is replayed on. Latencies are cycles of the core's clock, from the access to the data's use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Machine {
    /// What it is, for people.
    pub title: String,
    /// The core's clock, which makes nanoseconds of cycles.
    pub clock_ghz: f64,
    /// First-level cache of code; without one, code that the µop cache lacks comes from the next level.
    pub l1i: Option<CacheLevel>,
    /// First-level cache of data.
    pub l1d: CacheLevel,
    /// Second level, for code and data.
    pub l2: Option<CacheLevel>,
    /// Last level, for code and data.
    pub llc: Option<CacheLevel>,
    /// What is behind the caches.
    pub memory: MemoryDescription,
    /// Translation of addresses.
    pub tlb: Translation,
    /// Prediction of branches.
    pub branch: Branch,
    /// Fetch and decoding.
    pub frontend: FrontendDescription,
    /// The out-of-order core.
    pub core: CoreDescription,
}

/// Which line of a set goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one used longest ago.
    Lru,
    /// The one to which a tree of bits points.
    Plru,
    /// Any, by a fixed sequence of random numbers.
    Random,
}

/// What becomes of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// They stay until the line goes; a miss brings the line.
    Back,
    /// They go to the next level at once; a miss does not bring the line.
    Through,
}

/// How what a level holds is related to the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// Filled by every miss; what goes here goes from the levels before it too.
    Inclusive,
    /// Filled by every miss; what goes here may stay before it.
    NonInclusive,
    /// Filled by what the level before it drops; a hit moves the line there.
    Victim,
}

/// What a level fetches unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetcher {
    /// The line behind one that missed.
    NextLine,
    /// The line that makes a pair of 128 bytes with one that missed.
    Adjacent,
    /// Where an instruction's accesses go by equal steps (L1D).
    Stride,
    /// Lines ahead of a run up or down in a page (L2).
    Stream,
}

/// One level of cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheLevel {
    /// Bytes in all, in KiB.
    pub size_kib: u64,
    /// Ways of each set.
    pub ways: usize,
    /// Bytes of a line.
    pub line: u64,
    /// Slices over which addresses are hashed; each has a power of two of sets.
    #[serde(default = "one")]
    pub slices: u64,
    /// Cycles from the access to the data's use, when it is here.
    pub latency: u64,
    /// Which line of a set goes.
    #[serde(default = "lru")]
    pub replacement: Replacement,
    /// What becomes of stores.
    #[serde(default = "back")]
    pub write: WritePolicy,
    /// How its content is related to the levels before it.
    #[serde(default = "non_inclusive")]
    pub inclusion: Inclusion,
    /// What it fetches unasked.
    #[serde(default)]
    pub prefetch: Vec<Prefetcher>,
    /// How many misses it can have under way; 0: any number.
    #[serde(default)]
    pub misses_in_flight: usize,
    /// Ways kept for some addresses (Cache Allocation; LLC only).
    #[serde(default)]
    pub reserve: Vec<Reservation>,
}

/// Ways of the LLC that only some accesses fill (Intel's Cache Allocation Technology, AMD's PQoS); all accesses hit in them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reservation {
    /// How many ways.
    pub ways: usize,
    /// Which accesses.
    #[serde(flatten)]
    pub of: Reserved,
}

/// Whose lines go into reserved ways.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reserved {
    /// What is accessed lies in this range of addresses: "user", "kernel", or "BEGIN-END" in hexadecimal.
    Addresses(String),
    /// The code that accesses lies in this range.
    Code(String),
    /// A thread of the trace accesses.
    Thread(u32),
}

/// Memory behind the caches.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryDescription {
    /// Cycles from the access to the data's use, unloaded.
    pub latency: u64,
    /// What one core gets, bytes per cycle.
    pub bytes_per_cycle: f64,
}

/// A translation look-aside buffer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tlb {
    /// Pages that it holds.
    pub entries: u64,
    /// Ways of each set.
    pub ways: usize,
}

/// Translation of addresses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Translation {
    /// Pages of code.
    pub code: Tlb,
    /// Pages of data of 4 KiB.
    pub data: Tlb,
    /// Pages of data of 2 MiB and more.
    pub data_large: Tlb,
    /// The second level, if there is one.
    pub second: Option<Tlb>,
    /// Cycles more when a translation comes from the second level.
    pub second_latency: u64,
    /// How many page walks can be under way.
    pub walkers: usize,
    /// Entries of the cache of page-directory entries, which shorten a walk to one access.
    pub directory_entries: u64,
}

/// How directions are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predictor {
    /// One table of two-bit counters, indexed by address and history.
    Gshare,
    /// Tables of growing history, the longest that knows the branch decides (Seznec and Michaud 2006).
    Tage,
}

/// Prediction of branches.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Branch {
    /// How directions are predicted.
    pub predictor: Predictor,
    /// log2 of the entries of each table.
    pub table_bits: u32,
    /// Branches of history: gshare's, or the longest of TAGE's tables.
    pub history: u32,
    /// Targets of branches that are known.
    pub btb_entries: u64,
    /// Ways of the BTB's sets.
    pub btb_ways: usize,
    /// Depth of the return stack.
    pub return_stack: usize,
    /// Cycles from the branch's execution to the first µop of the right path.
    pub mispredict_penalty: u64,
    /// Cycles lost when a taken direct branch is only found while it is decoded.
    pub resteer_penalty: u64,
}

/// The cache of decoded µops (Intel's DSB, AMD's op cache; the P4's trace cache).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UopCache {
    /// Entries.
    pub entries: u64,
    /// Ways of each set.
    pub ways: usize,
    /// µops of an entry.
    pub uops: u64,
    /// Bytes of code whose µops share entries.
    pub window: u64,
    /// µops that it delivers per cycle.
    pub width: u64,
    /// Cycles to change between it and the decoders.
    pub switch_penalty: u64,
}

/// Fetch and decoding.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FrontendDescription {
    /// Instructions decoded per cycle.
    pub decode_width: u64,
    /// Bytes fetched for the decoders per cycle.
    pub fetch_bytes: u64,
    /// µops that wait between front end and core.
    pub queue: u64,
    /// Cycles that prediction and fetch run ahead of decoding, which hide misses of L1I.
    #[serde(default)]
    pub fetch_ahead: u64,
    /// The cache of decoded µops, if there is one.
    pub uop_cache: Option<UopCache>,
}

/// The out-of-order core.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoreDescription {
    /// µops renamed per cycle: the slots of the top-down split.
    pub width: u64,
    /// µops retired per cycle.
    pub retire_width: u64,
    /// µops between rename and retirement (reorder buffer).
    pub window: usize,
    /// µops that wait for a port (scheduler).
    pub scheduler: u64,
    /// Stores between rename and L1D.
    pub store_buffer: usize,
    /// Cycles until a load has what a store before it wrote.
    pub forward_latency: u64,
    /// Whether a copy of a register costs no cycle.
    pub move_elimination: bool,
    /// Bytes that a repeated string instruction moves per cycle.
    pub string_bytes: u64,
    /// How many units of each kind there are.
    pub ports: Ports,
    /// What each class of instructions costs.
    pub classes: Classes,
}

/// How many operations of each kind start per cycle.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ports {
    /// Integer.
    pub alu: u64,
    /// Integer multiplication.
    pub multiply: u64,
    /// Vector integer and logic.
    pub vector: u64,
    /// Floating-point addition and multiplication.
    pub float: u64,
    /// Division and square root.
    pub divide: u64,
    /// Loads.
    pub load: u64,
    /// Stores.
    pub store: u64,
    /// Branches.
    pub branch: u64,
}

/// What an instruction of a class costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cost {
    /// Cycles from its operands to its result.
    pub latency: u64,
    /// Slots that it takes.
    #[serde(default = "one")]
    pub uops: u64,
    /// Cycles for which its unit is taken.
    #[serde(default = "one")]
    pub busy: u64,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $variant:ident,)*) => {
        /// What each class of instructions costs.
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Classes {
            $($(#[$doc])* pub $name: Cost,)*
        }

        /// A class of instructions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Class {
            $($(#[$doc])* $variant,)*
        }

        impl Classes {
            /// The cost of a class.
            pub fn cost(&self, class: Class) -> Cost {
                match class {
                    $(Class::$variant => self.$name,)*
                }
            }

            /// All costs with their names in the file.
            pub(crate) fn named(&self) -> [(&'static str, Cost); [$(Class::$variant),*].len()] {
                [$((stringify!($name), self.$name)),*]
            }
        }
    };
}

classes! {
    /// Copies, and loads and stores but for the access itself.
    copy Copy,
    /// Integer addition, logic, comparison; conditional moves.
    alu Alu,
    /// Shifts and rotations by a variable or through the carry.
    shift Shift,
    /// Counting and scanning bits, CRC32.
    bits Bits,
    /// Integer multiplication.
    multiply Multiply,
    /// Integer division, up to 32 bits.
    divide Divide,
    /// Integer division of 64 bits.
    divide_wide DivideWide,
    /// Jumps, calls and returns.
    branch Branch,
    /// Vector integer and logic.
    vector Vector,
    /// Vector integer multiplication.
    vector_multiply VectorMultiply,
    /// Moves within and between vectors.
    shuffle Shuffle,
    /// Floating-point addition, comparison.
    float_add FloatAdd,
    /// Floating-point multiplication.
    float_multiply FloatMultiply,
    /// Multiplication and addition in one.
    fused_multiply FusedMultiply,
    /// Floating-point division.
    float_divide FloatDivide,
    /// Square root.
    float_root FloatRoot,
    /// Conversions.
    convert Convert,
    /// Moves between integer and vector registers.
    cross Cross,
    /// AES, SHA, carry-less multiplication.
    crypto Crypto,
    /// Locked read-modify-write; later loads wait.
    atomic Atomic,
    /// Fences: what is behind waits for what is before.
    fence Fence,
    /// Microcoded, not serialising: string instructions, far moves, x87 functions, time stamps.
    microcode Microcode,
    /// Serialising and privileged: CPUID, system registers, system calls and returns from them, ports.
    system System,
}

fn one() -> u64 {
    1
}

fn lru() -> Replacement {
    Replacement::Lru
}

fn back() -> WritePolicy {
    WritePolicy::Back
}

fn non_inclusive() -> Inclusion {
    Inclusion::NonInclusive
}

impl Ports {
    /// All numbers with their names in the file.
    pub(crate) fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("alu", self.alu),
            ("multiply", self.multiply),
            ("vector", self.vector),
            ("float", self.float),
            ("divide", self.divide),
            ("load", self.load),
            ("store", self.store),
            ("branch", self.branch),
        ]
    }
}
