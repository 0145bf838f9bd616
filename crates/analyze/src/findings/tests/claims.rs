//! What a finding claims is what the reports show, on every selection.

use super::*;

/// Every claim of every finding of a question holds in the report that it names.
fn claims_hold(trace: &Trace, query: &Query) -> usize {
    let fold = Fold::new(trace, query).unwrap();
    let mut checked = 0;
    for (def, finding) in findings_of(&fold) {
        for claim in finding.claims {
            let view = crate::report(Report::parse(claim.report).unwrap(), trace, &claim.query).unwrap();
            let at = view.columns.iter().position(|column| column.id == claim.column);
            let at = at.unwrap_or_else(|| panic!("no column {} in {:?}", claim.column, claim.report));
            let of_row = |row: &Row| match row.values[at] {
                Value::Ns(number) | Value::Count(number) => number,
                _ => 0,
            };
            let is_meant = |row: &&Row| {
                row.depth == 0
                    && claim.rows.as_ref().is_none_or(|(column, value)| {
                        let at = view.columns.iter().position(|it| it.id == *column).unwrap();
                        matches!(&row.values[at], Value::Text(text) if text == value)
                    })
            };
            let sum: u64 = view.rows.iter().filter(is_meant).map(of_row).sum();
            let holds = match claim.relation {
                Relation::Is => sum == claim.number,
                Relation::AtLeast => sum >= claim.number,
            };
            assert!(holds, "{}: {sum} is not {:?} {} by {:?}", def.id, claim.relation, claim.number, claim.arguments());
            checked += 1;
        }
    }
    checked
}

/// Findings of a part of the time or of the threads speak of what the reports show of it.
#[test]
fn claims_hold_under_filters_and_ranges() {
    let mut spinning = repeated(&CONVOY_LINES, 3);
    let frame = spinning.frames.function.iter().position(|name| name == "f1").unwrap();
    spinning.frames.function[frame] = "pthread_spin_lock".into();
    let mut locking = spinning.clone();
    locking.frames.function[frame] = "pthread_mutex_lock".into();
    let mut hasty = repeated(&[("a", "##mm"), ("b", "mm##")], 400);
    faster(&mut hasty, 100);
    let mut checked = 0;
    for trace in [&spinning, &locking, &hasty] {
        let elapsed = trace.elapsed_ns();
        for from in (0..8).map(|part| part * elapsed / 8 + part * 313) {
            for to in [from + elapsed / 3, elapsed] {
                for filter in
                    [None, Some("thread=a"), Some("object=m"), Some("utilization=poor"), Some("wait-length=2ms-")]
                {
                    let filters = filter.iter().map(|text| Filter::parse(text).unwrap()).collect();
                    checked += claims_hold(trace, &Query { range: Some((from, to)), filters, ..Query::default() });
                }
            }
        }
        checked += claims_hold(trace, &Query::default());
    }
    assert!(checked > 60, "{checked} claims");
}

const CONVOY_LINES: [(&str, &str); 4] = [
    ("main", "##jjjjjjjjjjjjjjjjjjj##"),
    ("a", "  1ss1mmmm11ss1mmm#    "),
    ("b", "  mmmm1ss1mmmmm1ss1    "),
    ("d", "  #mmmmmmm1ss1mmmm-11  "),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn claims_hold_on_any_trace(lines in crate::tests::laws::lines(), times in 1..8usize, range in prop::option::of((0..50_000_000u64, 1..50_000_000u64)), filter in 0..6usize) {
        let lines: Vec<(&str, Vec<char>)> = ["a", "b", "c", "d", "e"].into_iter().zip(lines.into_iter().map(|cells| cells.repeat(times))).collect();
        let trace = build(&lines, 2);
        let filter = ["thread=a", "object=m", "utilization=idle", "idle=yes", "wait-length=3ms-"].get(filter);
        let filters = filter.map(|text| Filter::parse(text).unwrap()).into_iter().collect();
        let range = range.map(|(from, length)| (from, from + length)).filter(|(from, _)| *from < trace.elapsed_ns());
        claims_hold(&trace, &Query { range, filters, ..Query::default() });
    }
}
