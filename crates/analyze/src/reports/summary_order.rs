//! In which order the summary tells causes and findings: as one list, which the terminal, the page and agents share.

use dwell_view::{Row, Value, View};

use crate::tables::columns::{columns, columns_of};

columns! {
    /// What the order consists of.
    ORDER;

    plain "list", "List", "Of which list: explanation or findings.",
        "一覧", "どちらの一覧か: 原因または検出結果。";
    plain "row", "Row", "Which row of it, from 0.",
        "行", "その一覧の何行目か。0 から数えます。";
}

/// What orders a cause.
pub struct CauseWeight {
    /// The time that it explains: of waits, of the way to the program's end, or of threads that others asked from outside, ns.
    pub ns: u64,
    /// Where it ran, if the cause is that something ran.
    pub ran_at: Option<String>,
    /// Whether what the program ran there was to make connections.
    pub connects: bool,
    /// If threads were in run queues behind the program's own: where these ran mostly, and how long all of them did, ns.
    pub queued_behind: Option<(String, u64)>,
}

/// What orders a finding.
pub struct FindingWeight {
    /// Its cost, ns.
    pub cost_ns: u64,
    /// Its place in the program; empty where it has none.
    pub place: String,
    /// Whether it only says that waits are short and many. The causes say because of what they are.
    pub is_of_short_waits: bool,
    /// Whether it says that connections are made too often.
    pub is_of_connections: bool,
}

/// One list of causes and findings, each in the order in which it is given. The causes keep their order, which puts first what leads to the
/// others; a finding comes before those that explain less than it costs, and in place of the cause that something ran where it says what that is:
/// such causes are left out, and do not count as rows.
pub fn order(causes: &[CauseWeight], findings: &[FindingWeight]) -> View {
    let mut ranked: Vec<(u64, usize)> =
        findings.iter().enumerate().map(|(row, finding)| (rank(causes, finding), row)).collect();
    // The largest one last, from where they are taken; of equal ones the first row.
    ranked.sort_by_key(|(ns, row)| (*ns, std::cmp::Reverse(*row)));
    let (mut rows, mut told) = (Vec::new(), 0);
    for at in 0..causes.len() {
        let largest_ns = causes[at..].iter().map(|cause| cause.ns).max().unwrap_or(0);
        while let Some((_, finding)) = ranked.pop_if(|(ns, _)| *ns > largest_ns) {
            rows.push(row_of("findings", finding));
        }
        if let Some(at) = ranked.iter().rposition(|(_, finding)| tells(&findings[*finding], &causes[at])) {
            rows.push(row_of("findings", ranked.remove(at).1));
        }
        if !is_told(&causes[at], findings) {
            rows.push(row_of("explanation", told));
            told += 1;
        }
    }
    rows.extend(ranked.into_iter().rev().map(|(_, finding)| row_of("findings", finding)));
    View { columns: columns_of(ORDER), rows, ..View::default() }
}

fn rank(causes: &[CauseWeight], finding: &FindingWeight) -> u64 {
    if finding.is_of_short_waits {
        return finding.cost_ns / 2;
    }
    let is_behind = |cause: &&CauseWeight| tells(finding, cause) || keeps_queue(finding, cause);
    let told = causes.iter().filter(is_behind).map(|cause| cause.ns).max();
    told.map_or(finding.cost_ns, |ns| finding.cost_ns.max(ns.saturating_add(1)))
}

/// Whether most of what the threads ran behind which others queued is what the finding tells of.
fn keeps_queue(finding: &FindingWeight, cause: &CauseWeight) -> bool {
    let is_it = |(at, ran_ns): &(String, u64)| *at == finding.place && finding.cost_ns >= ran_ns / 2;
    !finding.is_of_short_waits && cause.queued_behind.as_ref().is_some_and(is_it)
}

/// Whether a finding tells of the cause.
pub fn is_told(cause: &CauseWeight, findings: &[FindingWeight]) -> bool {
    findings.iter().any(|finding| tells(finding, cause))
}

/// Whether the finding says what it is that ran there, if that is the cause. That threads wait often and briefly there does not.
fn tells(finding: &FindingWeight, cause: &CauseWeight) -> bool {
    let is_there = cause.ran_at.as_ref() == Some(&finding.place);
    let is_it = is_there || (finding.is_of_connections && cause.connects);
    !finding.is_of_short_waits && is_it && finding.cost_ns >= cause.ns / 2
}

fn row_of(list: &str, row: usize) -> Row {
    Row { depth: 0, values: vec![Value::Text(list.into()), Value::Count(row as u64)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(ns: u64) -> CauseWeight {
        CauseWeight { ns, ran_at: None, connects: false, queued_behind: None }
    }

    fn finding(cost_ns: u64, place: &str) -> FindingWeight {
        FindingWeight { cost_ns, place: place.into(), is_of_short_waits: false, is_of_connections: false }
    }

    /// The order as `c0 f1 …`.
    fn told(causes: &[CauseWeight], findings: &[FindingWeight]) -> String {
        let name = |row: &Row| match &row.values[..] {
            [Value::Text(list), Value::Count(row)] => format!("{}{row}", if list == "findings" { 'f' } else { 'c' }),
            _ => "?".into(),
        };
        order(causes, findings).rows.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn causes_keep_their_order_and_findings_come_before_what_explains_less() {
        let causes = [waits(900), waits(100), waits(500)];
        assert_eq!(told(&causes, &[finding(10, ""), finding(1000, ""), finding(600, "")]), "f1 c0 f2 c1 c2 f0");
        assert_eq!(told(&[], &[finding(10, ""), finding(10, "")]), "f0 f1");
    }

    #[test]
    fn what_a_finding_says_of_a_place_is_told_in_place_of_that_it_ran_there() {
        let ran = [CauseWeight { ran_at: Some("write_row (a.c:1)".into()), ..waits(100) }];
        assert_eq!(told(&ran, &[finding(80, "write_row (a.c:1)")]), "f0");
        let short = [FindingWeight { is_of_short_waits: true, ..finding(500, "write_row (a.c:1)") }];
        assert!(!is_told(&ran[0], &short), "that waits are short is not what ran there");
        let beside = [waits(90), CauseWeight { ran_at: Some("write_row (a.c:1)".into()), ..waits(100) }, waits(70)];
        assert_eq!(told(&beside, &[finding(80, "write_row (a.c:1)")]), "f0 c0 c1");
        let before = [CauseWeight { ran_at: Some("write_row (a.c:1)".into()), ..waits(100) }, waits(200)];
        assert_eq!(told(&before, &[finding(80, "write_row (a.c:1)")]), "f0 c0", "it stands where the cause stood");
        assert_eq!(told(&ran, &[finding(20, "write_row (a.c:1)")]), "c0 f0", "that is a small part of it");
        assert_eq!(told(&ran, &[finding(80, "other (a.c:2)")]), "c0 f0");
    }

    #[test]
    fn that_waits_are_short_comes_behind_what_they_are_because_of() {
        let short = FindingWeight { is_of_short_waits: true, ..finding(150, "") };
        assert_eq!(told(&[waits(100)], &[short]), "c0 f0");
    }
    #[test]
    fn that_connections_are_made_too_often_is_told_in_place_of_the_work_that_this_takes() {
        let handshakes = [waits(200), CauseWeight { connects: true, ..waits(100) }];
        let often = [FindingWeight { is_of_connections: true, ..finding(50, "") }];
        assert_eq!(told(&handshakes, &often), "c0 f0");
        assert_eq!(told(&[waits(100)], &often), "c0 f0", "the program runs something else");
        assert!(is_told(&handshakes[1], &often) && !is_told(&waits(100), &often));
        let little = [FindingWeight { is_of_connections: true, ..finding(10, "") }];
        assert!(!is_told(&handshakes[1], &little), "another program's connections may be meant");
    }

    #[test]
    fn what_most_of_the_cpu_time_goes_to_comes_before_the_queue_for_it() {
        let queue = |at: &str| CauseWeight { queued_behind: Some((at.into(), 100)), ..waits(1000) };
        let first = |cause: CauseWeight, cost_ns: u64| {
            let view = order(&[cause], &[finding(cost_ns, "fill (a.c:1)")]);
            view.rows[0].values[0].clone()
        };
        assert_eq!(first(queue("fill (a.c:1)"), 60), Value::Text("findings".into()));
        assert_eq!(first(queue("fill (a.c:1)"), 40), Value::Text("explanation".into()), "a small part of it");
        assert_eq!(first(queue("other (b.c:1)"), 60), Value::Text("explanation".into()), "it runs elsewhere");
    }
}
