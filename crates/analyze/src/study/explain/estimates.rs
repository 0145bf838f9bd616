//! Explanations from slices of the time, where all of it takes too long for an instant answer.

use dwell_query::engine::fold::Fold;
use dwell_query::engine::row_sampling::{sampled_parts, slices};
use dwell_query::question::windows::{Part, Windows};

use crate::study::explain::walked_parts::usual_parts;
use crate::study::explain::{Explanation, explain_in_parts, explain_within};

/// Steps of a walk that an instant answer may take: some more than the usual two for each row that is looked at closely.
const MOST_STEPS: u64 = 2_500_000;
/// Steps that the walk over slices is to take then, about.
const SLICED_STEPS: f64 = 1e6;

/// Explains the waits of a fold from slices of the time, where the rows are too many to be walked at once, or take too many steps: all times are
/// estimates then, those of the slices in proportion. An instant answer costs the rows of the slices and one pass over all.
pub fn estimate<'f, 't>(fold: &'f Fold<'t>) -> Explanation<'f, 't> {
    in_steps(fold, MOST_STEPS, SLICED_STEPS)
}

/// The same with so many steps, and so many over slices where that is not enough.
fn in_steps<'f, 't>(fold: &'f Fold<'t>, most_steps: u64, sliced_steps: f64) -> Explanation<'f, 't> {
    let windows = &fold.sums.windows;
    let (parts, share) = sampled_parts(fold.trace, windows);
    if share < 1.0 {
        return of_slices(fold, &parts, share);
    }
    let explanation = explain_in_parts(fold, windows, (usual_parts(fold.trace), most_steps));
    if !explanation.is_cut {
        return explanation;
    }
    let (parts, share) = slices(windows, sliced_steps / explanation.steps as f64);
    of_slices(fold, &parts, share)
}

fn of_slices<'f, 't>(fold: &'f Fold<'t>, slices: &[Part], share: f64) -> Explanation<'f, 't> {
    let mut explanation = explain_within(fold, &Windows::of_parts(slices));
    explanation.share = share;
    explanation.scale(1.0 / share.max(f64::MIN_POSITIVE));
    explanation
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;
    use crate::study::explain::explain;

    #[test]
    fn a_walk_that_takes_too_long_is_one_over_slices() {
        // Enough rows for several parts.
        let trace = trace(&format!("a: {}\nb: {}", "1m".repeat(50_000), "m1".repeat(50_000)));
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let whole = explain(&fold);
        assert!(!whole.is_cut && whole.steps > 100_000, "{}", whole.steps);
        assert_eq!(in_steps(&fold, whole.steps * 2, SLICED_STEPS).share, 1.0);
        let estimated = in_steps(&fold, whole.steps / 2, whole.steps as f64 / 4.0);
        assert!(!estimated.is_cut, "a walk that was left is no answer");
        assert!((0.2..0.3).contains(&estimated.share), "{}", estimated.share);
        let ratio = estimated.demand_ns as f64 / whole.demand_ns as f64;
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }
}
