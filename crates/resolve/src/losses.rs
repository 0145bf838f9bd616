//! The names of what was lost, and what is missing because of it: one table for the collector's counters and ours.

use dwell_store::tables::{LossRow, Losses, OffCpu, Samples, Stacks};
use dwell_store::{LossTime, Manifest};

use crate::code::jit::ToldCodes;
use crate::input::itt::Decoder;
use crate::replay::annotations::Counted;

/// Counters of finalization.
#[allow(missing_docs, reason = "DOCS says it")]
pub mod name {
    pub const KILLED: &str = "collections_cut_off";
    pub const LATE_RECORDS: &str = "late_records";
    pub const SPOOL_BYTES: &str = "spool_bytes_lost";
    pub const MADE_UP: &str = "threads_made_up";
    pub const UNSEEN_ENDS: &str = "thread_ends_lost";
    pub const REPAIRED: &str = "repaired_intervals";
    pub const STACKS: &str = "stacks_missing";
    pub const BUILD_ID: &str = "build_id_mismatch";
    pub const UNREADABLE: &str = "files_unreadable";
    pub const BEGAN_ANEW: &str = "interfaces_replugged";
    pub const GONE: &str = "interfaces_gone";
    pub const STRANGE_DELAYS: &str = "delays_of_unknown_threads";
    pub const UNMATCHED_SOCKET_WAITS: &str = "socket_waits_unmatched";
}

const DOCS: &[(&str, &str)] = &[
    (
        name::KILLED,
        "Collections whose collector ended before it could close the result; the last moments and what else was lost are not known.",
    ),
    (name::LATE_RECORDS, "Records that came later than the order of time allows; their times were moved up."),
    (name::SPOOL_BYTES, "Bytes of the raw trace that could not be read; what they told is missing."),
    (name::MADE_UP, "Threads whose creation was not recorded; they begin at their first event, and may lack a name."),
    (name::UNSEEN_ENDS, "Threads whose end was not recorded; they end where their id is used again."),
    (name::REPAIRED, "Intervals off the CPU whose beginning or end was lost; they have no reason and inexact bounds."),
    (name::STACKS, "Stacks that events name and no record explains; these events have no stack."),
    (name::BUILD_ID, "Files that changed since the collection; their code and data have no names."),
    (
        name::UNREADABLE,
        "Files with code that are gone, damaged or not allowed to be read; their code and data have no names.",
    ),
    (
        "switches_lost",
        "Context switches that found no room in the kernel's buffer: as many waits, preemptions and switches are not counted, what ran between them counts as off the CPU for no known reason, and intervals around them are too long.",
    ),
    ("samples_lost", "Samples that found no room in the kernel's buffer; their time went to the next ones."),
    ("stacks_lost", "Stacks that found no room in the kernel's buffer; their events have no stack."),
    ("objects_lost", "Descriptions of objects that found no room in the kernel's buffer; the objects have no names."),
    ("thread_records_lost", "Births, ends and names of threads that found no room in the kernel's buffer."),
    (
        "perf_records_lost",
        "Records of switches, calls and samples that found no room in the buffers of perf; the intervals around them are inexact.",
    ),
    (
        "calls_unseen",
        "Waits in system calls that were not traced and too short to be looked up; their objects are not known.",
    ),
    (
        "threads_without_events",
        "Threads that ran already and could not be recorded, as the kernel refused more events.",
    ),
    (
        "states_hidden",
        "Threads that ran already and that this user may not trace (kernel.yama.ptrace_scope); known from their next switch on.",
    ),
    ("threads_not_tracked", "Threads for which the kernel had no memory; nothing of them was recorded."),
    (
        "switches_unseen",
        "Switches that passed no hook, as under some hypervisors those from and to their own agent; put back from the kernel's account of running time, to about a millisecond.",
    ),
    (
        "stack_copies_skipped",
        "Stacks that unwind tables alone do not lead through and that were not copied either, since that was done often enough; they are cut.",
    ),
    (
        "stack_copies_lost",
        "Stacks that unwind tables alone do not lead through and that there was no time to walk; their events have no stack.",
    ),
    ("unwind_files_unreadable", "Files with code that could not be read; stacks through them need frame pointers."),
    (
        "unwind_files_without_table",
        "Files with code but no usable unwind information; stacks through them need frame pointers.",
    ),
    (
        "unwind_files_replaced",
        "Files replaced on disk while they were mapped; stacks through them need frame pointers.",
    ),
    ("unwind_table_space", "Unwind tables that found no room; stacks through their files need frame pointers."),
    ("unwind_mappings", "Mappings beyond the 336 of a process that stacks are walked through by tables."),
    (
        "unwind_processes",
        "Times that a process was not noted since as many as there is room for ran at once; its stacks need frame pointers, its Python functions are not shown.",
    ),
    (
        "unwind_entries",
        "Entries of unwind information that could not be used; stacks through their functions need frame pointers.",
    ),
    ("stacks_cut_no_table", "Samples and waits whose stack ends in code without unwind information or frame pointers."),
    ("stacks_cut_unreadable", "Samples and waits whose stack ends at memory that could not be read."),
    ("stacks_cut_too_deep", "Samples and waits whose stack has more than 127 frames; the outermost are missing."),
    (
        "stacks_cut_rule",
        "Samples and waits whose stack ends at a rule of its unwind information that could not be followed.",
    ),
    ("user_stacks_empty", "User stacks that could not be read; their events have no user frames."),
    (
        "seeded_stacks_lost",
        "Threads that waited when recording began and moved on before their stack was walked; that wait has no stack.",
    ),
    (
        "jit_maps_unreadable",
        "Maps and logs of code made at run time that were not taken whole: not the process's own regular files, too large, or unreadable; their code has no names.",
    ),
    (
        "modules_not_kept",
        "Files with code that their path does not lead to (another mount namespace, deleted, replaced) and that could not be copied; their code has no names.",
    ),
    (
        "processes_closed",
        "Processes that Dwell may not look into (another user's without CAP_SYS_PTRACE, or refused by a security module): code that they had mapped before or made at run time has no names, their stacks need frame pointers, and files that only they see are missing.",
    ),
    (
        "python_frames_unreadable",
        "Stacks whose Python frames could not be read to their end; they show the interpreter's own functions there.",
    ),
    (
        "python_code_cut",
        "Python functions whose line table was too long or could not be read; they have the line of their beginning.",
    ),
    (
        "interpreters_unknown",
        "Files with a version of CPython that Dwell does not know; their Python functions are not shown.",
    ),
    (
        name::BEGAN_ANEW,
        "Times that a network interface's counters began anew, as when it is plugged in again; its traffic just before is not counted.",
    ),
    (name::GONE, "Network interfaces that were taken away; their traffic since the reading before is not counted."),
    (
        "system_readings_failed",
        "Readings of the machine's counters that failed; what happened then is told by the next one.",
    ),
    ("interfaces_left_out", "Network interfaces beyond the 256 of a network namespace that are read."),
    ("networks_left_out", "Network namespaces of programs beyond the 8 that are read; the traffic there is not shown."),
    (
        "itt_events_lost",
        "Things that programs said of themselves through ITT and that their buffers had no room for; tasks around them are cut.",
    ),
    (
        "outliers_over_limit",
        "Times at which outliers came beyond those that --trigger-limit or --data-limit let through.",
    ),
    ("outliers_not_kept", "Outliers whose results could not be written."),
    (
        "intervals_not_watched",
        "Intervals that the trigger did not look at: too many were open at once, or within one another.",
    ),
    (
        "task_probes_lost",
        "Passes of task probes that found no room in the kernel's buffer; their tasks are missing or cut.",
    ),
    (
        "stitches_lost",
        "Places that asked for the work of other threads and found no room in the kernel's buffer; that work shows only its own stack.",
    ),
    (
        "itt_names_lost",
        "Names and pieces of code that a program gave through ITT beyond what its file holds; they are missing.",
    ),
    ("itt_events_without_ring", "Things said through ITT by threads for which there was no memory; they are missing."),
    ("itt_file_bytes_damaged", "Bytes in programs' files for ITT that are no records; what they told is missing."),
    (
        "itt_files_refused",
        "Files in the folder for ITT that no recorded program made, or that were cut while they were read; left alone.",
    ),
    ("itt_files_cut", "Programs' files for ITT that held more at the end than was read; what came last is missing."),
    ("itt_bytes_damaged", "Bytes that programs wrote for ITT and that make no sense; what they told is missing."),
    (
        "itt_threads_unknown",
        "Things said through ITT or task probes by threads of which nothing else is known; they are missing.",
    ),
    ("itt_ends_unmatched", "Ends of tasks, frames or events whose beginning was not recorded; they are missing."),
    ("itt_tasks_too_deep", "Tasks within 512 others of their thread; they are missing."),
    (
        "itt_ids_dropped",
        "Tasks, regions or frames beyond the million that can be open by their ids at once; they have no end.",
    ),
    ("itt_rows_dropped", "Tasks, data, values or waits beyond those that a result holds; they are missing."),
    ("itt_values_dropped", "Values of counters or tasks that are no numbers; they are missing."),
    ("itt_code_dropped", "Code made at run time that programs told of beyond what a result holds; it has no names."),
    ("itt_names_dropped", "Names and texts beyond the million that a result holds; they show as unknown."),
    (
        "itt_objects_dropped",
        "Synchronization objects beyond the million that a result holds; waits for them have the kernel's object.",
    ),
    (
        "itt_askers_unknown",
        "Pieces of work that were asked for before the probe for it was in place, or half a million askings earlier; they show only their own stacks.",
    ),
    ("itt_waits_unended", "Waits that programs announced and whose end they did not announce; they are missing."),
    ("sockets_lost", "Calls on sockets beyond those that fit into the kernel's table at once; they are not counted."),
    ("socket_waits_lost", "Records of waits on sockets, of held data and of delayed ACKs that found the ring full."),
    (name::STRANGE_DELAYS, "Delays of threads of which nothing else is known; they are missing."),
    (
        name::UNMATCHED_SOCKET_WAITS,
        "Records of waits on sockets whose thread, interval or socket is not known; why these waits were so long is missing.",
    ),
    (
        "delays_lost",
        "Records of delays, and of requests on sockets, that found no room in the kernel's buffer; what they tell is unexplained.",
    ),
    (
        "programs_out_of_scope",
        "Programs that the user may not look at, such as those that take on another user's rights when they are started; they are missing.",
    ),
    (
        "mappings_out_of_scope",
        "Files that programs mapped which the user may not look at; where their code lies is not recorded.",
    ),
    ("mappings_lost", "Mappings that were not recorded; code in them has no names."),
];

/// What programs said and could not be kept.
pub fn told(counted: &Counted, decoder: &Decoder, code: &ToldCodes) -> [(&'static str, u64); 13] {
    [
        ("itt_events_lost", counted.lost),
        ("itt_bytes_damaged", decoder.damaged),
        ("itt_threads_unknown", counted.strangers),
        ("itt_ends_unmatched", counted.unmatched_ends),
        ("itt_tasks_too_deep", counted.deep),
        ("itt_ids_dropped", counted.ids),
        ("itt_rows_dropped", counted.rows),
        ("itt_values_dropped", counted.values),
        ("itt_names_dropped", decoder.texts.dropped + counted.names),
        ("itt_code_dropped", code.room.refused),
        ("itt_objects_dropped", counted.objects),
        ("itt_waits_unended", counted.unended_waits),
        ("itt_askers_unknown", counted.askers),
    ]
}

/// How many samples and waits have a stack that is not complete, by why it ends: StackEnd 2 to 5.
pub fn cut_stacks(off_cpu: &OffCpu, samples: &Samples, stacks: &Stacks) -> [(&'static str, u64); 4] {
    let names = ["stacks_cut_no_table", "stacks_cut_unreadable", "stacks_cut_too_deep", "stacks_cut_rule"];
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
    let doc = DOCS.iter().find(|(known, _)| *known == name).map_or("Counted by the collector.", |(_, doc)| doc);
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
