//! What a person who looks around asks for, a piece at a time: one level of a grid, one stack, the entries of a filter,
//! a flame graph. Like the reports, these are projections of the fold; unlike them, they answer in the shapes of the web
//! UI (`web/src/api/types.ts` is made of their structs).

mod filter_values;
mod flame;
mod grid;
mod latency_pane;
mod path;
mod stack_pane;

pub use filter_values::{FilterValues, filter_values};
pub use flame::{Flame, FlameQuery, FlameWeight, flame};
pub use grid::{Grid, GridQuery, Order, grid};
pub use latency_pane::{LatencyPane, OutlierPoint, latency_pane};
pub use path::{GridLevel, PathPlace, parse_grid_levels};
pub use stack_pane::{StackKind, StackPane, stack_pane};
