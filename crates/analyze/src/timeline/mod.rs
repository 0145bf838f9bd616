//! The timeline: bands, what was done in them drawn as fine as the pixels are, curves, arrows, and what is known of
//! one interval. The work is in proportion to the pixels where the trace has more than these.

mod arrows;
mod band_tile;
mod bands;
mod charts;
mod counters;
mod durations;
mod grid;
mod interval;
mod spans;
#[cfg(test)]
mod tests;
mod tile;
mod wait_chain;

pub use self::arrows::{Arrow, Arrows, arrows};
pub use self::band_tile::{BandTile, CLIPPED, MANY};
pub use self::bands::{Band, BandOrder, bands, bands_of, task_bands};
pub use self::charts::{Charts, Series, charts};
pub use self::counters::{CounterCurve, CounterCurves, counters};
pub use self::durations::{DurationKind, durations, histogram};
#[cfg(test)]
pub(crate) use self::grid::coarse_band;
pub use self::interval::{IntervalInfo, interval_at};
pub use self::spans::{BandSpans, LaneSpans, MarkerSpans, TaskInfo, spans, task_at};
pub use self::tile::{Tile, TileRequest, tile};
pub use self::wait_chain::{ChainPiece, ChainWait, WaitChain, wait_chain};
pub use dwell_query::history::band_kind::BandKind;
pub use dwell_query::history::states::TimelineState;
pub use dwell_query::measure::histogram::{Bin, Histogram, Hump};
pub use dwell_query::stacks::frames::StackFrame;
