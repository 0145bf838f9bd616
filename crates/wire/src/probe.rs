//! Probes with values (`--probe`): what the hook reads at a hit, and what it writes.

use crate::declare::{constants, enums, records};
use crate::header::RecordHeader;

constants! {
    /// Most values that a probe reads.
    MOST_PROBE_VALUES: usize = 8, MOST_PROBE_VALUES;
    /// Most texts among them.
    MOST_PROBE_TEXTS: usize = 4, MOST_PROBE_TEXTS;
    /// Most bytes of a text that are kept.
    PROBE_TEXT_BYTES: usize = 64, PROBE_TEXT_BYTES;
    /// Most places of all probes together.
    MOST_PROBE_SITES: usize = 1024, MOST_PROBE_SITES;
}

enums! {
    /// Numbers of [`ProbeSite::types`] and [`ProbeHitRecord::types`].
    probe_type: u8 = probe_type, PROBE_ {
        /// No value.
        NONE = 0,
        /// A number without sign.
        UNSIGNED = 1,
        /// A number with a sign.
        SIGNED = 2,
        /// A number without sign that people read in base 16.
        HEX = 3,
        /// A text that ends with a zero; the value is its address.
        TEXT = 4,
    }
    /// Numbers of [`ProbeSite::source`].
    probe_source: u8 = probe_source, PROBE_IN_ {
        /// In a register.
        REGISTER = 0,
        /// In memory, at base + index * scale + displacement.
        MEMORY = 1,
        /// It is the displacement.
        CONSTANT = 2,
    }
}

records! {
    /// What the hook reads at one place of a probe; the collector writes it. Entry i of each array is of value i. Registers
    /// are numbered as they lie in the kernel's `pt_regs`.
    ProbeSite = probe_site, 136 {
        /// Of the place in memory, or the constant.
        displacement: [u64; MOST_PROBE_VALUES],
        /// One of [`probe_type`] each.
        types: [u8; MOST_PROBE_VALUES],
        /// One of [`probe_source`] each.
        source: [u8; MOST_PROBE_VALUES],
        /// The register, or the one that the place in memory counts from.
        base: [u8; MOST_PROBE_VALUES],
        /// The register that is added to it, times `scale`.
        index: [u8; MOST_PROBE_VALUES],
        /// 0 = no such register.
        scale: [u8; MOST_PROBE_VALUES],
        /// Bytes that are read, 1 to 8.
        size: [u8; MOST_PROBE_VALUES],
        /// Bits that are cut off the front of what was read.
        shift: [u8; MOST_PROBE_VALUES],
        /// Whether what was read has a sign that fills these bits.
        is_signed: [u8; MOST_PROBE_VALUES],
        /// Number in the manifest's list of probes.
        probe: u32,
        /// Values.
        count: u32,
    }
    /// The fixed part of a PROBE_HIT record: a thread hit a probe with values. Behind it are the texts, 64 bytes each, in the
    /// order of the values.
    ProbeHitRecord = record_probe_hit, 96 {
        /// `tid`: the thread.
        h: RecordHeader,
        /// Its process.
        tgid: u32,
        /// Number in the manifest's list of probes.
        probe: u16,
        /// Bit i: value i could not be read.
        faulted: u8,
        /// Bit i: the text of value i is longer than what is kept.
        cut: u8,
        /// One of [`probe_type`] each; what follows NONE is no value.
        types: [u8; MOST_PROBE_VALUES],
        /// The numbers; of a text, its bytes that are kept.
        values: [u64; MOST_PROBE_VALUES],
    }
}
