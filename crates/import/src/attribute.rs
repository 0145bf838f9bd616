//! Events as perf opened them: `struct perf_event_attr` of include/uapi/linux/perf_event.h.

use crate::cursor::Cursor;

/// Bits of [`Attribute::sample_type`], in the order in which a sample has the parts (but IDENTIFIER, which is first).
pub mod part {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const STACK_USER: u64 = 1 << 13;
    pub const IDENTIFIER: u64 = 1 << 16;
}

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const TYPE_HW_CACHE: u32 = 3;
const TYPE_BREAKPOINT: u32 = 5;
const SOFTWARE_CPU_CLOCK: u64 = 0;
const SOFTWARE_TASK_CLOCK: u64 = 1;
const SOFTWARE_DUMMY: u64 = 9;
const FLAG_FREQUENCY: u64 = 1 << 10;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_CONTEXT_SWITCH: u64 = 1 << 26;
/// The parts of the first version (PERF_ATTR_SIZE_VER0).
const LEAST_BYTES: usize = 64;
const NS_PER_S: u64 = 1_000_000_000;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    ty: u32,
    /// Which one of its type: of a tracepoint the number of its format.
    pub config: u64,
    period_or_frequency: u64,
    /// What its samples have: bits of [`part`].
    pub sample_type: u64,
    /// What a read value in its samples has.
    pub read_format: u64,
    flags: u64,
}

impl Attribute {
    /// Parses `struct perf_event_attr`; none where it is cut.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes);
        let (ty, size) = (cursor.u32()?, cursor.u32()? as usize);
        // Files of the first version have size 0.
        if size != 0 && (size < LEAST_BYTES || size > bytes.len()) {
            return None;
        }
        Some(Self {
            ty,
            config: cursor.u64()?,
            period_or_frequency: cursor.u64()?,
            sample_type: cursor.u64()?,
            read_format: cursor.u64()?,
            flags: cursor.u64()?,
        })
    }

    /// Whether its samples have this part.
    pub fn has(&self, part: u64) -> bool {
        self.sample_type & part != 0
    }

    /// Whether its other records end with thread, time and CPU.
    pub fn has_trailer(&self) -> bool {
        self.flags & FLAG_SAMPLE_ID_ALL != 0
    }

    /// Whether it records context switches (`--switch-events`).
    pub fn records_switches(&self) -> bool {
        self.flags & FLAG_CONTEXT_SWITCH != 0
    }

    /// Whether it is a tracepoint.
    pub fn is_tracepoint(&self) -> bool {
        self.ty == TYPE_TRACEPOINT
    }

    /// Whether samples are taken of some of its events only, as `-F` asks of tracepoints, too.
    pub fn takes_some_only(&self) -> bool {
        self.flags & FLAG_FREQUENCY != 0 || self.period_or_frequency > 1
    }

    /// Whether it never happens: perf opens one to get records of mappings by it.
    pub fn is_idle(&self) -> bool {
        self.ty == TYPE_SOFTWARE && self.config == SOFTWARE_DUMMY
    }

    /// Whether its periods are nanoseconds of running.
    pub fn is_clock(&self) -> bool {
        self.ty == TYPE_SOFTWARE && matches!(self.config, SOFTWARE_CPU_CLOCK | SOFTWARE_TASK_CLOCK)
    }

    /// Whether it counts what a processor does, so that its samples are spread over running time.
    pub fn is_of_processor(&self) -> bool {
        let of_processor = !matches!(self.ty, TYPE_SOFTWARE | TYPE_TRACEPOINT | TYPE_HW_CACHE | TYPE_BREAKPOINT);
        of_processor && self.period_or_frequency != 0
    }

    /// Whether `other` counts the same, perhaps on other cores of a hybrid processor.
    pub fn counts_as(&self, other: &Self) -> bool {
        let event = |one: &Self| if one.ty == TYPE_HARDWARE { one.config & 0xffff_ffff } else { one.config };
        self.is_clock() == other.is_clock() && event(self) == event(other) && !other.is_tracepoint()
    }

    /// The running time that a sample stands for, ns; none where its event is no clock and samples by count.
    pub fn sampled_ns(&self, period: Option<u64>) -> Option<u64> {
        let by_frequency = || NS_PER_S.checked_div(self.period_or_frequency);
        match (self.is_clock(), self.flags & FLAG_FREQUENCY != 0) {
            (true, true) => period.or_else(by_frequency),
            (true, false) => Some(period.unwrap_or(self.period_or_frequency)),
            (false, true) => by_frequency(),
            (false, false) => None,
        }
    }
}
