//! The timeline's documents, and its drawings, which are binary: a page draws a million segments a second from columns
//! and could not parse them as text.

use dwell_analyze::timeline::{
    Arrows, Band, BandKind, BandOrder, BandSpans, BandTile, Charts, CounterCurves, DurationKind, Histogram,
    IntervalInfo, TaskInfo, Tile, TileRequest, TimelineState, WaitChain, arrows, bands_of, charts, counters, durations,
    interval_at, spans, task_at, task_bands, tile, wait_chain,
};
use dwell_analyze::{Analysis, Filter, FilterKey, Fold, Query};
use dwell_view::answer;

use super::params::Params;
use super::words::{self, RequestWord};
use crate::problem::Problem;

/// Bands of one drawing: more fit on no screen.
const MOST_BANDS: usize = 4096;
/// Arrows of one answer, unless asked otherwise.
const ARROWS: usize = 1000;
/// Pixels, unless asked otherwise, and at most.
const WIDTH: usize = 1000;
const MOST_WIDTH: usize = 1 << 14;

answer! {
    /// Bands, in order.
    pub struct Bands {
        /// The bands.
        pub bands: Vec<Band>,
    }
}

answer! {
    /// Tasks, frames and markers of bands, lane by lane. Tasks shorter than a pixel are merged into one span without a task.
    pub struct TaskSpans {
        /// Start, ns.
        pub from: u64,
        /// End, ns.
        pub to: u64,
        /// The bands that were asked for.
        pub bands: Vec<BandSpans>,
    }
}

answer! {
    /// The head of a drawing, which is binary, little endian:
    ///
    ///   u32 length of the header; the header as JSON, padded with blanks so that the arrays start at a multiple of 8
    ///   for each band in order:
    ///     f64 start[n], f64 end[n] in ns
    ///     u32 object[n]: 0xffffffff is none
    ///     u8 state[n]: index into `states`; of merged segments, the state with the most time in the pixel
    ///     u8 flags[n]: 1 merged from several, 2 clipped; padded to a multiple of 8
    ///     f64 sample_time[m]: at most one a pixel
    ///     u8 sample_density[m], padded likewise
    pub struct TileHeader {
        /// Start, ns.
        pub from: u64,
        /// End, ns.
        pub to: u64,
        /// Whether no segments are merged.
        pub exact: bool,
        /// Ids of the states.
        pub states: Vec<&'static str>,
        /// The bands that were asked for.
        pub bands: Vec<TileHeaderBand>,
    }
}

answer! {
    /// How long the arrays of a band are.
    pub struct TileHeaderBand {
        /// Row of what the band is of.
        pub id: u32,
        /// n.
        pub segments: usize,
        /// m.
        pub samples: usize,
    }
}

fn kind(params: &Params) -> Result<BandKind, Problem> {
    Ok(BandKind::parse(params.text(words::BY).unwrap_or(BandKind::Thread.id()))?)
}

/// The range that is looked at; of a request without one, all.
fn range(analysis: &Analysis, params: &Params) -> (u64, u64) {
    params.query.range.unwrap_or((0, analysis.elapsed_ns()))
}

fn width(params: &Params) -> Result<usize, Problem> {
    Ok(params.number(words::WIDTH)?.unwrap_or(WIDTH).clamp(1, MOST_WIDTH))
}

/// Rows of a table, with commas between them.
fn rows(params: &Params, word: RequestWord) -> Result<Vec<u32>, Problem> {
    let all = params.all(word).flat_map(|list| list.split(',')).take(MOST_BANDS);
    let row = |text: &str| text.trim().parse();
    all.map(row).collect::<Result<_, _>>().map_err(|_| Problem::query(format!("`{}` is a list of numbers", word.0)))
}

/// What is to be folded for a list of bands; those of tasks need no fold.
pub fn folded_for_bands(params: &Params) -> Result<Option<Query>, Problem> {
    Ok(kind(params)?.asked(&params.query))
}

/// Bands in order.
pub fn order(analysis: &Analysis, fold: &Fold<'_>, params: &Params) -> Result<Bands, Problem> {
    listed(params, |by, order| Ok(bands_of(analysis, fold, by, order)))
}

/// Bands of tasks in order.
pub fn order_of_tasks(analysis: &Analysis, params: &Params) -> Result<Bands, Problem> {
    listed(params, |_, order| Ok(task_bands(analysis, &params.query, order)?))
}

fn listed(
    params: &Params,
    bands: impl FnOnce(BandKind, BandOrder) -> Result<Vec<Band>, Problem>,
) -> Result<Bands, Problem> {
    let order = BandOrder::parse(params.text(words::SORT).unwrap_or_default())?;
    let search = params.text(words::SEARCH).unwrap_or_default().to_lowercase();
    let mut bands = bands(kind(params)?, order)?;
    bands.retain(|band| search.is_empty() || band.label.to_lowercase().contains(&search));
    Ok(Bands { bands })
}

/// Curves below the bands.
pub fn curves(analysis: &Analysis, params: &Params) -> Result<Charts, Problem> {
    Ok(charts(analysis, &params.query, range(analysis, params), width(params)?)?)
}

/// Curves of the counters.
pub fn counter_curves(analysis: &Analysis, params: &Params) -> Result<CounterCurves, Problem> {
    let (from, to) = range(analysis, params);
    let wanted: Vec<&str> = params.all(words::COUNTER).collect();
    let by_name = |name: &str| wanted.is_empty() || wanted.contains(&name);
    Ok(counters(analysis, &by_name, (from, to, width(params)?)))
}

/// Tasks, frames and markers of bands.
pub fn task_spans(analysis: &Analysis, params: &Params) -> Result<TaskSpans, Problem> {
    let (from, to) = range(analysis, params);
    let (by, bands) = (kind(params)?, rows(params, words::BANDS)?);
    let bands = spans(analysis, &params.query, (by, &bands), (from, to, width(params)?));
    Ok(TaskSpans { from, to, bands })
}

/// What is known of one task.
pub fn task(analysis: &Analysis, params: &Params) -> Result<TaskInfo, Problem> {
    let row: u32 = params.needed_number(words::TASK)?;
    task_at(analysis.trace(), row).ok_or_else(|| Problem::missing("there is no such task"))
}

/// Who woke whom.
pub fn transitions(analysis: &Analysis, params: &Params) -> Result<Arrows, Problem> {
    let limit = params.number(words::LIMIT)?.unwrap_or(ARROWS).min(100 * ARROWS);
    Ok(arrows(analysis, range(analysis, params), &rows(params, words::THREAD)?, limit))
}

/// What is to be folded for durations: those of one object are among those that other filters let through, if there are any.
pub fn folded_for_durations(params: &Params) -> Result<Option<Query>, Problem> {
    let mut query = params.query.clone();
    if params.text(words::OBJECT).is_some() {
        query.filters.retain(|filter| filter.key != FilterKey::Object);
    }
    Ok(Some(query))
}

/// Durations, or those of one object.
pub fn lengths(_: &Analysis, fold: &Fold<'_>, params: &Params) -> Result<Histogram, Problem> {
    let object = params.text(words::OBJECT).map(|name| Filter { key: FilterKey::Object, value: name.to_owned() });
    let of = DurationKind::parse(params.text(words::OF).unwrap_or(DurationKind::Wait.id()))?;
    Ok(durations(fold, object.as_ref(), of))
}

/// What a thread did at an instant.
pub fn interval(analysis: &Analysis, params: &Params) -> Result<IntervalInfo, Problem> {
    let thread: u32 = params.needed_number(words::THREAD)?;
    let at: u64 = params.needed_number(words::AT)?;
    let interval = interval_at(analysis, &params.query, thread, at);
    interval.ok_or_else(|| Problem::missing("the thread was not alive then"))
}

/// What is to be folded for the chain of a wait: it is the same whatever the filters let through.
pub fn folded_for_chain(params: &Params) -> Result<Option<Query>, Problem> {
    let Query { call_stack_mode, inlines, .. } = params.query;
    Ok(Some(Query { call_stack_mode, inlines, ..Query::default() }))
}

/// Because of what a thread waited at an instant.
pub fn chain(analysis: &Analysis, fold: &Fold<'_>, params: &Params) -> Result<WaitChain, Problem> {
    let thread: u32 = params.needed_number(words::THREAD)?;
    let at: u64 = params.needed_number(words::AT)?;
    wait_chain(analysis, fold, thread, at).ok_or_else(|| Problem::missing("the thread was not alive then"))
}

/// A drawing, in the form that [`TileHeader`] describes.
pub fn drawing(analysis: &Analysis, params: &Params) -> Result<Vec<u8>, Problem> {
    let (from, to) = range(analysis, params);
    let request =
        TileRequest { from, to, width: width(params)?, by: kind(params)?, bands: rows(params, words::BANDS)? };
    Ok(bytes(&tile(analysis, &request)))
}

fn bytes(tile: &Tile) -> Vec<u8> {
    let band =
        |band: &BandTile| TileHeaderBand { id: band.id, segments: band.start.len(), samples: band.sample_time.len() };
    let header = TileHeader {
        from: tile.from,
        to: tile.to,
        exact: tile.exact,
        states: TimelineState::ALL.iter().map(|state| state.id()).collect(),
        bands: tile.bands.iter().map(band).collect(),
    };
    // Numbers, ids and words: always JSON.
    let header = serde_json::to_string(&header).unwrap_or_default();
    // The length's own four bytes come first.
    let length = (header.len() + 4).next_multiple_of(8) - 4;
    let mut bytes =
        Vec::with_capacity(length + tile.bands.iter().map(|band| band.start.len() * 24 + 64).sum::<usize>());
    bytes.extend(u32::try_from(length).unwrap_or(0).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.resize(length + 4, b' ');
    for band in &tile.bands {
        columns(&mut bytes, band);
    }
    bytes
}

fn columns(bytes: &mut Vec<u8>, band: &BandTile) {
    let times = |bytes: &mut Vec<u8>, times: &[u64]| {
        times.iter().for_each(|ns| bytes.extend((*ns as f64).to_le_bytes()));
    };
    let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(8), 0);
    times(bytes, &band.start);
    times(bytes, &band.end);
    band.object.iter().for_each(|object| bytes.extend(object.to_le_bytes()));
    bytes.extend(&band.state);
    bytes.extend(&band.flags);
    pad(bytes);
    times(bytes, &band.sample_time);
    bytes.extend(&band.sample_density);
    pad(bytes);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn columns_begin_at_multiples_of_eight() {
        let band = BandTile {
            id: 7,
            start: vec![1, 2, 3],
            end: vec![2, 3, 4],
            object: vec![u32::MAX, 0, 5],
            state: vec![0, 1, 2],
            flags: vec![0, 1, 2],
            sample_time: vec![2],
            sample_density: vec![9],
        };
        let bytes = bytes(&Tile { from: 1, to: 4, exact: false, bands: vec![band.clone(), band] });
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let header: Json = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        assert_eq!((4 + length) % 8, 0);
        assert_eq!(header["bands"][1], json!({ "id": 7, "segments": 3, "samples": 1 }));
        // Twice: 6 times, 3 objects and 6 small numbers to the next multiple, then a time and a number likewise.
        assert_eq!(bytes.len(), 4 + length + 2 * (48 + 24 + 16));
        let at = 4 + length;
        assert_eq!(f64::from_le_bytes(bytes[at + 24..at + 32].try_into().unwrap()), 2.0);
        assert_eq!(bytes[at + 48..at + 52], u32::MAX.to_le_bytes());
        assert_eq!(bytes[at + 60..at + 66], [0, 1, 2, 0, 1, 2]);
    }
}
