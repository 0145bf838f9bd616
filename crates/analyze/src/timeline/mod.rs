//! The timeline: bands, what was done in them drawn as fine as the pixels are, curves, arrows, and what is known of
//! one interval. The work is in proportion to the pixels where the trace has more than these.

mod arrows;
mod bands;
mod charts;
mod counters;
mod grid;
mod groups;
mod histogram;
mod interval;
mod lanes;
mod pieces;
mod pyramid;
mod states;
#[cfg(test)]
mod tests;
mod tile;

pub use arrows::{Arrow, Arrows, arrows};
pub use bands::{Band, BandOrder, bands, bands_of, task_bands};
pub(crate) use charts::Columns;
pub use charts::{Charts, Series, charts};
pub(crate) use counters::CounterRows;
pub use counters::{CounterCurve, CounterCurves, counters};
#[cfg(test)]
pub(crate) use grid::coarse_band;
pub(crate) use histogram::histogram_of;
pub use histogram::{Bin, DurationKind, Histogram, Hump, durations, histogram};
pub(crate) use interval::frames;
pub use interval::{IntervalInfo, StackFrame, interval_at};
pub(crate) use lanes::Lanes;
pub use lanes::{BandSpans, LaneSpans, MarkerSpans, TaskInfo, spans, task_at};
pub(crate) use pyramid::Pyramids;
pub use states::TimelineState;
pub(crate) use states::states_of;
pub use tile::{BandTile, CLIPPED, MANY, Tile, TileRequest, tile};

use crate::query::words;

words! { "kind of band";
    /// What a band of the timeline is.
    BandKind {
        Thread = "thread", "Thread", "A band per thread.";
        Process = "process", "Process", "A band per process: all its threads.";
        Object = "object", "Sync Object", "A band per object: when threads waited on it.";
        Cpu = "cpu", "CPU", "A band per CPU: when threads of the program ran on it.";
        Task = "task", "Task", "A band per name of tasks and frames: when any thread was in one.";
    }
}
