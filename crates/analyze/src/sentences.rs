//! What Dwell says in sentences: the evidence of findings and the notes of reports. One table has the English; who shows it in
//! another language gets each sentence's id and typed values (`*_parts` in JSON) and has a template of its own by that id.
//! What other crates said is in `notices.rs`.

use dwell_view::{PLAIN, SentenceDef};

/// Declares the table.
macro_rules! sentences {
    ($($name:ident = $id:literal, $text:literal;)*) => {
        /// Every sentence.
        pub static SENTENCES: &[SentenceDef] = &[PLAIN, $(SentenceDef { id: $id, text: $text },)*];

        /// The definitions by name.
        pub(crate) mod def {
            use super::SentenceDef;
            $(pub static $name: SentenceDef = SentenceDef { id: $id, text: $text };)*
        }
    };
}

sentences! {
    LOCK_CONVOY = "lock-convoy",
        "{threads} {threads|thread|threads} waited {wait} for {name} in {waits} waits; while any did ({share} of the time), {queue} did on average.";
    WITHIN_TASK = "within-task", "{share} of it lies within the task {task}.";
    GIL_CONTENTION = "gil-contention",
        "{threads} {threads|thread|threads} waited {wait} for the GIL in {waits} waits; while any did ({share} of the time), {queue} did on average.";
    GIL_HOLDER = "gil-holder", "Who held it ran mostly in {place}: {share} of that time.";
    LOCK_HELD_ACROSS_WAIT = "lock-held-across-wait",
        "For {held} ({share}) of the time that threads waited for {name}, its holder was waiting itself, mostly on `{on}`, at {place}.";
    OVERSUBSCRIPTION = "oversubscription",
        "{share} of the CPU time more than {cpus} threads were ready, {ready} on average of the run; they spent {queued} in run queues, {part} of what they ran.";
    SINGLE_THREADED_PHASE = "single-threaded-phase",
        "From {from} to {to}, {share} of the run, only thread {thread} ran, mostly in {place}; {target} threads could have.";
    BARRIER_IMBALANCE = "barrier-imbalance",
        "{threads} {threads|thread|threads} waited {wait} at {name}, {each} each and {share} of their time.";
    BARRIER_LATE = "barrier-late", "The last to arrive was mostly in {place}.";
    BARRIER_SPIN = "barrier-spin", "Threads without work burnt {spin} of CPU time at barriers, {share} of all.";
    NAGLE_DELAYED_ACK = "nagle-delayed-ack",
        "{held} of {waits} waits on it last {median} by the median, the others {usual}: {share} of its wait time is for data that Nagle's algorithm holds until a delayed ACK.";
    NAGLE_SITE = "nagle-site", "{pieces} held pieces of {bytes} bytes are sent by {place}.";
    NAGLE_SITE_CALLED = "nagle-site-called",
        "{pieces} held pieces of {bytes} bytes are sent by {place}, called by {caller}.";
    NAGLE_GAIN = "nagle-gain", "Without, about {gain} less.";
    SOCKET_CAUSE = "socket-cause", "{cost} in {waits} waits, {median} by the median, {share} of its wait time.";
    SENT_AGAIN = "sent-again", "This end sent {segments} segments again.";
    RECEIVE_BUFFER = "receive-buffer", "The receive buffer there is {bytes} bytes.";
    SEND_BUFFER = "send-buffer", "The send buffer is {bytes} bytes.";
    CHATTY = "chatty", "{turns} questions of {bytes} bytes on average took a round trip each.";
    CHATTY_SHORTEST = "chatty-shortest",
        "{turns} questions of {bytes} bytes on average took a round trip each; the shortest is {round_trip}.";
    SHORTEST_ROUND_TRIP = "shortest-round-trip", "The shortest round trip is {round_trip}.";
    CONNECTION_CHURN = "connection-churn",
        "{connections} connections, {rate} a second, were closed after {turns} questions at most; they lived {life} by the median, and took {made} to be made at least.";
    QUEUED = "queued",
        "{connections} connections came and waited {queued} in sum to be accepted, at least: {each} each on average. Up to {most} waited at once, of {limit} that may.";
    DROPPED = "dropped", "{drops} {drops|was|were} dropped because the queue was full.";
    BEHIND_SLOW = "behind-slow",
        "{long} of {waits} waits on it last {length} by the median, the others {usual}: {share} of its wait time. Then {questions} questions were on their way by the median, whose answers came behind the slow one.";
    SMALL_READS = "small-reads",
        "{short} of {all} receives, {bytes} bytes on average, left more behind that had come; receiving took {cpu} of CPU time, {share} of it by these calls.";
    COUNTER_BEFORE = "counter-before",
        "{counter} (set right before the wait) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.";
    COUNTER_AFTER = "counter-after",
        "{counter} (set right after the wait) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.";
    COUNTER_MEANWHILE = "counter-meanwhile",
        "{counter} (when the wait began) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.";
    SLEEP_POLLING = "sleep-polling",
        "{place} slept {sleeps} times for {each} on average, {all} in all, on {threads} {threads|thread|threads}.";
    FINE_GRAINED_WAITS = "fine-grained-waits",
        "{waits} waits on {name} took {each} each on average; with {queued} in run queues they took {share} of one thread's time.";
    THUNDERING_HERD = "thundering-herd",
        "{times} times {threads} threads were woken together from {name}; {share} of them waited again at once.";
    SPINNING = "spinning",
        "{spin} of CPU time ({share}) was spent spinning, {part} of it in {function} called from {place}.";
    THREAD_CHURN = "thread-churn",
        "{threads} threads, {rate} per second, lived {life} on average; they queued {queued} for their first CPU.";
    OUTLIERS = "outliers",
        "{outliers} of {count} are outliers, up to {longest} where {median} is usual; {cost}, {share} of their time over the median, is for this. The worst is {id}: dwell report outlier {id}.";

    LOSSES = "losses", "Not everything was recorded: {lost}. See the losses report.";
    NOTHING_LOST = "nothing-lost", "Nothing was lost.";
    PUT_BACK = "put-back",
        "Switches that the kernel showed to no hook, put back from its account of running time: {count}.";
    STACKS_CUT = "stacks-cut", "{share} of {stacks} stacks are complete.";
    STACKS_CUT_WHY = "stacks-cut-why", "{share} of {stacks} stacks are complete; cut: {why}.";
    ENDED_BADLY = "ended-badly", "The collection did not end properly: its end is the last event recorded.";
    MISPLACED = "misplaced",
        "{rows} intervals overlap others of their thread or lie outside its life; they were cut.";
    FILTERED_NOTHING = "filtered-nothing", "The filters leave nothing to show.";
    FILTERED_CPU = "filtered-cpu", "By the filters, {cpu} of the CPU time is shown.";
    FILTERED_WAIT = "filtered-wait", "By the filters, {wait} of the wait time is shown.";
    FILTERED = "filtered", "By the filters, {cpu} of the CPU time and {wait} of the wait time is shown.";
    RANGE = "range", "Only from {from} to {to}: {share} of the elapsed time.";
    RANGE_WITHOUT = "range-without", "Only from {from} to {to}, without {left_out}: {share} of the elapsed time.";
    ALL_WITHOUT = "all-without", "All without {left_out}: {share} of the elapsed time.";
    IDLE_LAST = "idle-last", "{idle} of the wait time ({share}) is of idle workers and event loops, ranked last.";
    IDLE_RANKED = "idle-ranked",
        "{idle} of the wait time ({share}) is of idle workers and event loops, ranked like any other.";
    UNKNOWN_TIME = "unknown-time",
        "{unknown} were spent off the CPU for reasons that the trace does not say; it is no part of Wait Time.";
    ESTIMATED = "estimated",
        "CPU time is exact by thread; by function it is sampled: {estimated} is of threads too short for a sample and placed where they left the CPU.";
    NO_SAMPLE = "no-sample", "CPU time is exact by thread; by function it is sampled: {missing} has no sample.";
    ESTIMATED_NO_SAMPLE = "estimated-no-sample",
        "CPU time is exact by thread; by function it is sampled: {estimated} is of threads too short for a sample and placed where they left the CPU, {missing} has no sample.";
    ROWS_CUT = "rows-cut", "{rows} more rows are left out by the limit.";
    NOTHING_FOUND = "nothing-found", "Nothing that Dwell looks for was found.";
    PATH = "path", "The path has {segments} segments on {threads} threads and lasts {length}.";
    PATH_UNFILTERED = "path-unfiltered", "The critical path is the whole program's: filters do not apply.";
    PATH_GAIN = "path-gain", "A gain is an upper bound: another path may be as long.";
    BLAME_LONGEST = "blame-longest",
        "Holders of {name} were followed through its longest waits: {seen} of the wait time.";
    BLAME_SLICES = "blame-slices",
        "Holders of {name} were followed through waits in slices of the time: {seen} of the wait time.";
    NOBODY_WAITED = "nobody-waited", "Nobody waited on it.";
    HOLDER_TAKEN = "holder-taken", "The holder during a wait is taken to be the thread that ended it.";
    NO_TASKS = "no-tasks", "The program said of no tasks: ITT calls, or `dwell collect --task-probe`, make them.";
    TOO_DEEP = "too-deep", "{tasks} tasks lie in more than 64 others; their time counts as that of the 64th.";
    FRAME_RATES = "frame-rates",
        "Slow frames: below {slow} a second; fast ones: above {fast} (--frame-rates).";
    NO_COUNTERS = "no-counters", "The program has no counters, or gave them no value.";
    NOT_CORRELATED = "not-correlated",
        "No counter separates short and long waits on an object by {separation} or more, or the waits on no object are of two lengths.";
    SLICES = "slices", "Waits are of slices of the time, {share} of it.";
    THREADS_HIDDEN = "threads-hidden",
        "The program asked that {threads} {threads|thread|threads} be left out: {cpu} of CPU time and {wait} of waiting, which all sums contain. --filter thread=NAME shows them.";
    SOCKETS_NOT_RECORDED = "sockets-not-recorded",
        "Sockets were not recorded: `dwell collect threading --analyze threading,sockets -- PROGRAM` does it.";
    SOCKETS_WHOLE = "sockets-whole",
        "Bytes and calls are those of the whole collection and all threads; waits are those selected.";
    BYTES_UNSEEN = "bytes-unseen",
        "{bytes} bytes were taken from TCP by splice or by programs that are not profiled: they are not in Bytes Received.";
    SOCKETS_HIDDEN = "sockets-hidden",
        "Sockets that are neither TCP, UDP nor Unix are hidden ({sockets}); --filter object-type=socket shows those that were waited on.";
    NO_INTERVALS = "no-intervals",
        "There are no intervals: the program said of no tasks, and no thread waited. `dwell collect latency --interval` makes some of functions, probes, system calls and sockets.";
    OUTLIER_LIMIT = "outlier-limit", "Outliers are intervals longer than {limit}.";
    OUTLIER_RULE = "outlier-rule",
        "Outliers are intervals longer than the median of their type and {distances} times the median of all distances from it, which counts as at least {least} and a {part}th of the median. Their time is what is over the median.";
    DELAYS_NOT_RECORDED = "delays-not-recorded",
        "Interrupts, page faults, system calls and the like were not recorded: `dwell collect latency` does.";
    TIMELINES = "timelines", "Timelines: {signs}.";
    OUTLIER = "outlier",
        "`{name}` of {thread} at {start} took {length}: {over} more than the median of {median}; number {rank} of {outliers} outliers.";
    INTERVAL_OVER_MEDIAN = "interval-over-median",
        "`{name}` of {thread} at {start} took {length}: {over} more than the median of {median}; no outlier.";
    OUTLIER_BELOW_MEDIAN = "outlier-below-median",
        "`{name}` of {thread} at {start} took {length}: no more than the median of {median}; number {rank} of {outliers} outliers.";
    INTERVAL_BELOW_MEDIAN = "interval-below-median",
        "`{name}` of {thread} at {start} took {length}: no more than the median of {median}; no outlier.";
    OUTLIER_SPLIT = "outlier-split", "Of what is over the median: {parts}.";
    LINES_CUT = "lines-cut", "The {lines} shortest lines are left out.";
    COMPARED = "compared", "Difference = first - second, ratio = second / first. Elapsed: {first} and {second}.";

    NO_CODE = "no-code", "There is no machine code:";
    CODE_MADE = "code-made", "its code was made at run time and lies in no file.";
    CODE_INTERPRETED = "code-interpreted", "an interpreter runs it.";
    CODE_OF_KERNEL = "code-of-kernel", "Dwell keeps no code of the kernel.";
    CODE_NOT_KEPT = "code-not-kept",
        "threads spent too little time in it to keep its code, or {path} does not say where it ends.";
    CODE_NOT_READ = "code-not-read",
        "{path} could not be read at finalization, has no symbols, or was finalized in fast mode.";
    NO_LINES = "no-lines",
        "{module} has no source lines: build it with -g, or install its debug information and collect again.";
    NO_TEXT = "no-text", "The result does not have the text of {file}.";
    TEXT_NOT_FOUND = "text-not-found",
        "{file} was not found at finalization: give its folder with --search-dir when collecting.";
    TEXT_NOT_READABLE = "text-not-readable",
        "{file} was not copied: it is not readable for the result's user, or for the owner of {module}.";
    TEXT_TOO_LARGE = "text-too-large", "{file} was not copied: it is too large.";
    NO_TEXT_FILE = "no-text-file", "{file} was not copied: it is no text.";
    TEXT_NEWER = "text-newer", "{file} is newer than the program: lines may have moved.";
}

/// `say!(NAME, value = …, …)`: the sentence `NAME` of the table.
macro_rules! say {
    ($def:ident $(, $name:ident = $value:expr)* $(,)?) => {
        dwell_view::Sentence::new(
            &$crate::sentences::def::$def,
            vec![$((stringify!($name), dwell_view::Word::from($value))),*],
        )
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use dwell_view::{Prose, Word};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sentence_is_its_template_with_the_values() {
        let waited = |threads: usize| {
            say!(
                LOCK_CONVOY,
                threads = threads,
                wait = Word::Ns(8_330_000_000),
                name = "{name} 100 %",
                waits = 12u64,
                share = Word::part(1, 3),
                queue = Word::Real(2.04, 1),
            )
        };
        let expected = "4 threads waited 8.33 s for {name} 100 % in 12 waits; while any did (33.3 % of the time), 2.0 did on \
                        average.";
        assert_eq!(waited(4).to_string(), expected);
        assert!(waited(1).to_string().starts_with("1 thread waited"));
        let task = say!(WITHIN_TASK, share = Word::part(0, 0), task = "t");
        let prose = Prose::from(waited(4)).and([task]);
        assert_eq!(prose.to_string(), format!("{expected} 0.0 % of it lies within the task t."));
        assert_eq!(prose.parts()[1]["values"], json!({ "share": { "share": 0.0 }, "task": { "text": "t" } }));
        assert_eq!(
            say!(BARRIER_LATE, place = None::<String>).to_string(),
            "The last to arrive was mostly in an unknown place."
        );
    }

    #[test]
    fn ids_are_unique_and_braces_are_paired() {
        let ids: std::collections::BTreeSet<&str> = SENTENCES.iter().map(|def| def.id).collect();
        assert_eq!(ids.len(), SENTENCES.len());
        for def in SENTENCES {
            assert_eq!(def.text.matches('{').count(), def.text.matches('}').count(), "{}", def.id);
        }
    }
}
