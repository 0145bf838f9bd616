//! The table of what was lost: the collector's counters and ours. What each means is in `dwell_model::losses`.

use dwell_model::losses as loss;
use dwell_store::tables::{LossRow, Losses, OffCpu, Samples, Stacks};
use dwell_store::{LossTime, Manifest};

use crate::code::jit::AnnouncedCodes;
use crate::input::itt::Decoder;
use crate::replay::annotations::UnkeptCounts;

/// What programs said and could not be kept.
pub fn of_annotations(counted: &UnkeptCounts, decoder: &Decoder, code: &AnnouncedCodes) -> [(&'static str, u64); 13] {
    [
        (loss::ITT_EVENTS_LOST, counted.lost),
        (loss::ITT_BYTES_DAMAGED, decoder.damaged),
        (loss::ITT_THREADS_UNKNOWN, counted.unknown_threads),
        (loss::ITT_ENDS_UNMATCHED, counted.unmatched_ends),
        (loss::ITT_TASKS_TOO_DEEP, counted.deep),
        (loss::ITT_IDS_DROPPED, counted.ids),
        (loss::ITT_ROWS_DROPPED, counted.rows),
        (loss::ITT_VALUES_DROPPED, counted.values),
        (loss::ITT_NAMES_DROPPED, decoder.texts.dropped + counted.names),
        (loss::ITT_CODE_DROPPED, code.budget.refused),
        (loss::ITT_OBJECTS_DROPPED, counted.objects),
        (loss::ITT_WAITS_UNENDED, counted.unended_waits),
        (loss::ITT_ASKERS_UNKNOWN, counted.askers),
    ]
}

/// How many samples and waits have a stack that is not complete, by why it ends: StackEnd 2 to 5.
pub fn cut_stacks(off_cpu: &OffCpu, samples: &Samples, stacks: &Stacks) -> [(&'static str, u64); 4] {
    let names =
        [loss::STACKS_CUT_NO_TABLE, loss::STACKS_CUT_UNREADABLE, loss::STACKS_CUT_TOO_DEEP, loss::STACKS_CUT_RULE];
    let mut counted = names.map(|name| (name, 0));
    let sampled = samples.stack.iter().zip(&samples.estimated).filter(|(_, estimated)| !**estimated);
    for stack in off_cpu.stack.iter().chain(sampled.map(|(stack, _)| stack)) {
        let end = stack.get().and_then(|row| stacks.end.get(row)).and_then(|end| usize::from(*end).checked_sub(2));
        if let Some((_, count)) = end.and_then(|end| counted.get_mut(end)) {
            *count += 1;
        }
    }
    counted
}

/// The table: the collector's counters, then ours; zeros are left out. Losses of a
/// bounded recording from before its first kept event are not losses of the result.
pub fn table(manifest: &Manifest, ours: &[(&'static str, u64)]) -> Losses {
    let mut losses = Losses::default();
    let theirs = manifest.losses.iter().map(|(name, count)| row(name, *count, &manifest.loss_times, manifest.start_ns));
    let ours = ours.iter().map(|(name, count)| row(name, *count, &[], manifest.start_ns));
    for row in theirs.chain(ours).filter(|row| row.count > 0) {
        losses.push(row);
    }
    losses
}

/// `count` losses of this name, with their time where the collector knows it.
fn row(name: &str, count: u64, all_times: &[LossTime], start_ns: u64) -> LossRow {
    let doc = loss::meaning(name).unwrap_or("Counted by the collector.");
    let times = || all_times.iter().filter(|time| time.name == name);
    let within = || times().filter(|time| time.end_ns > start_ns);
    let earlier: u64 = times().filter(|time| time.end_ns <= start_ns).map(|time| time.count).sum();
    let since_start = |time_ns: u64| time_ns.saturating_sub(start_ns);
    LossRow {
        name: name.to_owned(),
        count: count.saturating_sub(earlier),
        doc: doc.to_owned(),
        start_ns: within().map(|time| since_start(time.start_ns)).min().unwrap_or(0),
        end_ns: within().map(|time| since_start(time.end_ns)).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_before_the_kept_events_is_no_loss() {
        let time = |name: &str, count, start_ns, end_ns| LossTime { name: name.to_owned(), count, start_ns, end_ns };
        let times = [
            time("switches_lost", 4, 20, 60),
            time("switches_lost", 2, 90, 120),
            time("switches_lost", 3, 140, 150),
            time("objects_lost", 2, 70, 100),
        ];
        let of = |name, count| {
            let row = row(name, count, &times, 100);
            (row.count, row.start_ns, row.end_ns)
        };
        assert_eq!(of("switches_lost", 9), (5, 0, 50));
        assert_eq!(of("objects_lost", 2), (0, 0, 0));
        assert_eq!(of("stacks_lost", 3), (3, 0, 0), "the time is not known");
    }
}
