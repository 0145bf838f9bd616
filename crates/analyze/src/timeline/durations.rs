//! How long intervals off the CPU lasted.

use dwell_model::ObjectId;
use dwell_query::Analysis;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::sites::NOWHERE;
use dwell_query::measure::bins::middle_of;
use dwell_query::measure::distribution::Distribution;
use dwell_query::measure::histogram::{Histogram, add, of_bins};
use dwell_query::measure::lengths::Run;
use dwell_query::measure::site::Site;
use dwell_query::question::error::QueryError;
use dwell_query::question::filter::Filter;
use dwell_query::question::query::Query;
use dwell_query::question::words::words;

words! { "duration";
    /// Which duration of an interval off the CPU.
    DurationKind {
        Wait = "wait", "Wait Time", "Time blocked, of intervals with a known object.";
        OffCpu = "off_cpu", "Time off the CPU", "From leaving the CPU to running again.";
        Runnable = "runnable", "Time in the Run Queue", "From being ready to running.";
    }
}

/// The durations of what the query lets through, of intervals begun in its range, right to 1 %. Zero durations are left
/// out.
pub fn histogram(analysis: &Analysis, query: &Query, of: DurationKind) -> Result<Histogram, QueryError> {
    Ok(durations(&Fold::new(&analysis.trace, query)?, None, of))
}

/// The same of a fold; with `named`, a filter of objects, of waits on these only.
pub fn durations(fold: &Fold<'_>, named: Option<&Filter>, of: DurationKind) -> Histogram {
    let is_named = |object: ObjectId| {
        let name = || object.get().and_then(|row| fold.trace.objects.name.get(row));
        named.is_none_or(|named| name().is_some_and(|name| named.matches(name)))
    };
    let takes = |site: &Site| site.selected && is_named(site.key.object);
    let mut bins: Vec<(u64, u64)> = Vec::new();
    if of == DurationKind::Wait {
        let mut add_all = |all: &Distribution| all.for_each_bin(|bin, count| add(&mut bins, middle_of(bin), count));
        if let Some(by_object) = fold.lengths_by_object() {
            by_object.iter().filter(|(object, _)| is_named(**object)).for_each(|(_, lengths)| add_all(lengths));
        } else {
            let target_of = |site: usize| if takes(&fold.sums.sites[site]) { 0 } else { NOWHERE };
            let add_run = |all: &mut Distribution, _, run: &Run| all.add(run);
            fold.lengths(target_of, Distribution::default, add_run).iter().for_each(add_all);
        }
        return of_bins(&bins);
    }
    let rows = &fold.trace.events().off_cpu;
    let looked_at = fold.rows();
    // Rows of slices stand for those of all the time.
    let stands_for = (1.0 / looked_at.share.max(1e-9)).round() as u64;
    for (row, site) in &looked_at.rows {
        let (row, site) = (*row as usize, *site as usize);
        let wait_ns = if of == DurationKind::OffCpu { rows.wait_ns(row) } else { 0 };
        if takes(&fold.sums.sites[site]) {
            add(&mut bins, wait_ns.saturating_add(rows.runnable_ns(row)), stands_for.max(1));
        }
    }
    of_bins(&bins)
}
