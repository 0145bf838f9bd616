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
    /// Most comparisons of a probe's condition.
    MOST_PROBE_TERMS: usize = 8, MOST_PROBE_TERMS;
    /// Most of them with a text.
    MOST_PROBE_TERM_TEXTS: usize = 4, MOST_PROBE_TERM_TEXTS;
    /// Words of the texts that a condition compares with: 64 bytes each.
    PROBE_TERM_WORDS: usize = 32, PROBE_TERM_WORDS;
    /// Most addresses that are followed to a value.
    MOST_PROBE_STEPS: usize = 4, MOST_PROBE_STEPS;
    /// Of all values of a probe.
    PROBE_STEPS: usize = 32, PROBE_STEPS;
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
        /// A field of an event of the kernel, at the displacement.
        EVENT = 3,
        /// The address of such a field.
        EVENT_ADDRESS = 4,
        /// The address that such a field tells: the offset of a text in the event.
        EVENT_OFFSET = 5,
    }
    /// Bits of [`ProbeSite::term_orders`]: how a value that meets a comparison may lie to the constant.
    probe_order: u8 = probe_order, PROBE_ORDER_ {
        /// Less; of texts, another one.
        LESS = 1,
        /// Equal.
        EQUAL = 2,
        /// Greater; of texts, another one.
        GREATER = 4,
    }
}

records! {
    /// What the hook reads at one place of a probe; the collector writes it. Entry i of each array is of value i. Registers
    /// are numbered as they lie in the kernel's `pt_regs`.
    ProbeSite = probe_site, 832 {
        /// What the values of a hit that is recorded are compared with; of a text, its bytes.
        term_operands: [u64; MOST_PROBE_TERMS],
        /// Texts to compare with, 64 bytes each, filled up with zeros.
        term_words: [u64; PROBE_TERM_WORDS],
        /// Bits of [`probe_order`] each.
        term_orders: [u8; MOST_PROBE_TERMS],
        /// Number of the value each.
        term_values: [u8; MOST_PROBE_TERMS],
        /// Of a text: its number among the probe's texts.
        term_slots: [u8; MOST_PROBE_TERMS],
        /// Of a text: number of the one in `term_words` that it is compared with.
        term_texts: [u8; MOST_PROBE_TERMS],
        /// Of the place in memory or in the event, or the constant.
        displacement: [u64; MOST_PROBE_VALUES],
        /// What is added to an address before it is followed: four of each value, of which `steps` are used.
        step_offsets: [u64; PROBE_STEPS],
        /// What is added to an address at last, when a text lies there.
        ends: [u64; MOST_PROBE_VALUES],
        /// How many addresses are followed.
        steps: [u8; MOST_PROBE_VALUES],
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
        /// Bytes that are read at last, 1 to 8; addresses before have 8.
        size: [u8; MOST_PROBE_VALUES],
        /// Bits that are cut off the front of what was read.
        left: [u8; MOST_PROBE_VALUES],
        /// Bits by which it is shifted back then.
        right: [u8; MOST_PROBE_VALUES],
        /// Whether what was read has a sign that fills these bits.
        is_signed: [u8; MOST_PROBE_VALUES],
        /// Of a text: bytes of its array; 255 when it has no such end.
        text_bytes: [u8; MOST_PROBE_VALUES],
        /// Number in the manifest's list of probes.
        probe: u32,
        /// Comparisons; all must hold.
        terms: u32,
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

const _: () = assert!(PROBE_TERM_WORDS * 8 == MOST_PROBE_TERM_TEXTS * PROBE_TEXT_BYTES);
const _: () = assert!(PROBE_STEPS == MOST_PROBE_VALUES * MOST_PROBE_STEPS);
