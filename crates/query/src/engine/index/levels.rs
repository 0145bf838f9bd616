//! How the time is cut into blocks, and what these were summed for.

use dwell_store::Trace;

use crate::engine::target::target_concurrency;
use crate::measure::utilization::Thresholds;
use crate::question::query::Query;
use crate::question::windows::{Part, elapsed_ns};

/// Number of the section of the index that has the [`Head`].
pub const HEAD_SECTION: u64 = 100;
/// Blocks of one level that make a block of the next.
pub const FAN_OUT: u64 = 4;

/// What the blocks were summed for: the result's own target concurrency and the default limits of the classes.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Head {
    /// Blocks of the lowest level: a power of [`FAN_OUT`].
    pub blocks: u64,
    /// Length of the collection, ns.
    pub elapsed_ns: u64,
    /// T.
    pub target: u64,
    /// Upper limits of Poor, Ok and Ideal.
    pub limits: [f64; 3],
}

impl Head {
    /// For the whole of `trace`.
    pub fn of(trace: &Trace, blocks: u64) -> Self {
        let target = u64::from(target_concurrency(trace, &Query::default()));
        Self { blocks, elapsed_ns: elapsed_ns(trace), target, limits: limits(&Thresholds::default()) }
    }
}

/// The limits of the classes, in order.
pub fn limits(thresholds: &Thresholds) -> [f64; 3] {
    [thresholds.poor, thresholds.ok, thresholds.ideal]
}

/// Start of block `block` of `count`.
pub fn edge(elapsed_ns: u64, count: u64, block: u64) -> u64 {
    (u128::from(elapsed_ns) * u128::from(block) / u128::from(count.max(1))) as u64
}

/// Number of blocks of each level.
pub fn levels(blocks: u64) -> Vec<u64> {
    std::iter::successors(Some(blocks), |count| (*count > 1).then_some(count / FAN_OUT)).collect()
}

/// Parts of the time in pieces of equal length, in order.
pub fn pieces(parts: &[Part], of_each: u64) -> Vec<Part> {
    let cut = |part: &Part| {
        let (from, span) = (part.from, part.to - part.from);
        let part = *part;
        (0..of_each).map(move |piece| Part {
            from: from + edge(span, of_each, piece),
            to: from + edge(span, of_each, piece + 1),
            to_the_end: part.to_the_end && piece + 1 == of_each,
        })
    };
    parts.iter().flat_map(cut).filter(|piece| piece.from < piece.to).collect()
}
