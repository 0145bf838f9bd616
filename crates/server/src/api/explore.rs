//! The pieces that a person who looks around asks for.

use dwell_analyze::explore::{
    FilterValues, Flame, FlameQuery, FlameWeight, Grid, GridQuery, LatencyPane, Order, PathPlace, StackKind, StackPane,
    filter_values, flame, grid, latency_pane, parse_grid_levels, stack_pane,
};
use dwell_analyze::timeline::Histogram;
use dwell_analyze::{FilterKey, Fold};

use super::params::Params;
use super::words;
use crate::problem::Problem;

/// Entries of a filter's list, unless asked otherwise.
const ENTRIES: usize = 1000;
/// Rows of a grid, unless asked otherwise.
const ROWS: usize = 200;
/// Share of a flame graph's node that can be seen on a wide screen.
const SEEN: f64 = 0.0005;

fn place(params: &Params) -> Result<PathPlace, Problem> {
    let path = params.text(words::PATH).map(serde_json::from_str).transpose();
    let path = path.map_err(|_| Problem::query("`path` is a JSON array of the keys of rows"))?;
    let levels = parse_grid_levels(params.text(words::GROUP_BY).unwrap_or_default())?;
    Ok(PathPlace { levels, path: path.unwrap_or_default(), subject: params.query.subject.clone() })
}

/// One level of a tree grid.
pub fn rows(fold: &Fold<'_>, params: &Params) -> Result<Grid, Problem> {
    let place = place(params)?;
    if place.levels.is_empty() {
        return Err(Problem::query("`group-by` is missing").hint("such as object,function,callers"));
    }
    let query = GridQuery {
        place,
        offset: params.number(words::OFFSET)?.unwrap_or(0),
        limit: params.number(words::LIMIT)?.unwrap_or(ROWS),
        search: params.text(words::SEARCH).unwrap_or_default().to_owned(),
        order: params.order(),
        descending: params.text(words::DESCENDING).map_or(params.order() != Order::Name, |word| word != "0"),
    };
    Ok(grid(fold, &query))
}

/// One of the stacks behind a row.
pub fn stacks(fold: &Fold<'_>, params: &Params) -> Result<StackPane, Problem> {
    let kind = StackKind::parse(params.text(words::KIND).unwrap_or(StackKind::All.id()))?;
    let index = params.number(words::INDEX)?.unwrap_or(0);
    Ok(stack_pane(fold, &place(params)?, kind, index))
}

/// The intervals of one type, as they are drawn.
pub fn latency(fold: &Fold<'_>, _: &Params) -> Result<LatencyPane, Problem> {
    Ok(latency_pane(fold)?)
}

/// How long the waits on a socket lasted, or on all.
pub fn socket_lengths(fold: &Fold<'_>, params: &Params) -> Result<Histogram, Problem> {
    Ok(dwell_analyze::socket_lengths(fold, params.query.subject.as_deref())?)
}

/// The flame graph.
pub fn flames(fold: &Fold<'_>, params: &Params) -> Result<Flame, Problem> {
    let query = FlameQuery {
        weight: FlameWeight::parse(params.text(words::WEIGHT).unwrap_or(FlameWeight::Both.id()))?,
        inverted: params.flag(words::INVERTED),
        by_thread: params.flag(words::BY_THREAD),
        min_share: params.number(words::MIN_SHARE)?.unwrap_or(SEEN),
    };
    Ok(flame(fold, &query))
}

/// The entries of a filter.
pub fn filters(fold: &Fold<'_>, params: &Params) -> Result<FilterValues, Problem> {
    let key = FilterKey::parse(params.text(words::KEY).unwrap_or_default())?;
    let limit = params.number(words::LIMIT)?.unwrap_or(ENTRIES);
    Ok(filter_values(fold, key, params.text(words::SEARCH).unwrap_or_default(), limit))
}
