//! That a program did not end by itself: what it took so long for is not all that there was to do.

use dwell_model::signal_name;
use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::sentences::say;

/// Bits of what wait(2) reports that tell the signal.
const SIGNAL: i32 = 0x7f;
const SIGKILL: i32 = 9;
/// What a shell, and Dwell, report of a program that a signal ended is so much more than the signal.
const BY_SIGNAL: i32 = 128;
/// Signals of faults of a program's own: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
const FAULTS: &[i32] = &[4, 5, 6, 7, 8, 11, 31];

/// Processes that crashed, and that the program was killed. That it kills its own children is nobody's concern.
pub fn ended_by_signal(fold: &Fold<'_>) -> Vec<Sentence> {
    let (processes, mut told) = (&fold.trace.processes, Vec::new());
    if !fold.query.explains_all() {
        return told;
    }
    // Of one that still ran nothing is known.
    let signal = |process: &usize| processes.exit_code[*process].max(0) & SIGNAL;
    let time = |process: usize| Word::Ns(processes.end_ns[process].saturating_sub(processes.start_ns[process]));
    let (name, pid) = (|process: usize| processes.name[process].clone(), |process: usize| processes.pid[process]);
    let all = || 0..processes.pid.len();
    let crashed: Vec<usize> = all().filter(|process| FAULTS.contains(&signal(process))).collect();
    if let Some((first, others)) = crashed.split_first() {
        let (name, pid, time) = (name(*first), pid(*first), time(*first));
        let (signal, others) = (signal_name(signal(first) as usize), others.len() as u64);
        told.push(say!(PROGRAM_CRASHED, name = name, pid = pid, signal = signal, time = time, others = others));
    }
    let is_killed = fold.trace.manifest.exit_status == Some(BY_SIGNAL + SIGKILL);
    if let Some(process) = all().filter(|_| is_killed).find(|process| signal(process) == SIGKILL) {
        told.push(say!(PROGRAM_KILLED, name = name(process), pid = pid(process), time = time(process)));
    }
    told
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;

    fn told(exit_code: i32, exit_status: Option<i32>) -> Vec<String> {
        let mut trace = trace("a: ####");
        trace.processes.exit_code[0] = exit_code;
        trace.processes.name[0] = "shop".into();
        trace.manifest.exit_status = exit_status;
        let query = Query::default();
        ended_by_signal(&Fold::new(&trace, &query).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn programs_that_did_not_end_by_themselves_are_told() {
        let of = |found: Vec<String>| found.first().cloned().unwrap_or_default();
        assert!(of(told(11, Some(139))).contains("crashed with SIGSEGV"));
        assert!(of(told(11 | 0x80, Some(139))).contains("crashed with SIGSEGV"), "it left a core file");
        assert!(of(told(9, Some(137))).contains("killed by SIGKILL"));
        assert_eq!(told(9, Some(0)), [""; 0], "its parent did that, and went on");
        assert_eq!(told(15, Some(143)), [""; 0], "it was asked to end");
        assert_eq!(told(9 << 8, Some(9)), [""; 0]);
        assert_eq!(told(-1, None), [""; 0]);
    }
}
