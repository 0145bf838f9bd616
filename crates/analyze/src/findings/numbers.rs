//! The numbers of findings: each has its place among those of the whole result, whatever an answer is about.

use dwell_model::FindingDef;
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;

use crate::findings::finding::Finding;

type Found = (&'static FindingDef, Finding);

/// Numbers the findings of `fold`; `found_in` finds those of any. Those of fibers have none: the whole result's are of threads.
pub fn number(fold: &Fold<'_>, findings: &mut [Found], found_in: impl Fn(&Fold<'_>) -> Vec<Found>) {
    if findings.is_empty() || fold.trace.fiber_threads > 0 {
        return;
    }
    if fold.query.is_of_whole() {
        findings.iter_mut().enumerate().for_each(|(at, (_, finding))| finding.number = Some(at + 1));
        return;
    }
    let query = Query::default();
    let Ok(whole) = Fold::new(fold.trace, &query) else { return };
    let of_whole = found_in(&whole);
    for found in findings {
        found.1.number = of_whole.iter().position(|other| is_same(found, other)).map(|at| at + 1);
    }
}

/// Whether two findings are of the same case: of the same stretch of time, where they are of one.
fn is_same((def, finding): &Found, (other_def, other): &Found) -> bool {
    let meet = match (finding.during, other.during) {
        (Some((from, to)), Some((other_from, other_to))) => from < other_to && other_from < to,
        (None, None) => true,
        _ => false,
    };
    def.id == other_def.id && finding.subject == other.subject && meet
}
