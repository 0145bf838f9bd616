//! Remarks of collection, finalization and merging. A result has them as English text, which people and SQL read where it
//! lies; who shows them in another language needs to know which sentence each is, with which values. This table says so: it
//! repeats what those crates write (a test of the product compares them), and a text that fits no row stays as it came.

use dwell_view::{Piece, Prose, Sentence, SentenceDef, Word, pieces};

const fn notice(id: &'static str, text: &'static str) -> SentenceDef {
    SentenceDef { id, text }
}

/// Every remark, one that could be taken for another after that.
pub static NOTICES: &[SentenceDef] = &[
    notice(
        "wakes-from-interrupts",
        "Wake-ups from interrupts that hit a running thread are taken for that thread's on this kernel.",
    ),
    notice(
        "without-bpf",
        "Recorded without BPF ({error}): waits and their number are exact where the losses name no lost perf records; \
         wakers outside the profiled program, and how long a thread that such a waker woke waited for a CPU, are not known.",
    ),
    notice(
        "kernel-unseen",
        "What the kernel did is not known: a plain user sees that where kernel.perf_event_paranoid is 1 or less.",
    ),
    notice("calls-untraced", "System calls could not be traced: what short waits were for is not known."),
    notice("system-calls-uncounted-without-bpf", "System calls are not counted without BPF."),
    notice(
        "fewer-calls-traced",
        "The program creates many threads: to keep that cheap, fewer system calls were traced from then on, at last only \
         futexes; waits in others are known where they last some milliseconds.",
    ),
    notice("wakers-unknown", "Who ended a wait is not known on this kernel ({error})."),
    notice("socket-waits-unexplained", "Why waits on sockets took long is not known on this kernel ({error})."),
    notice("system-calls-uncounted", "System calls are not counted on this kernel ({error})."),
    notice("delays-unseen", "What delays threads is not seen on this kernel ({error})."),
    notice("tracepoints-missing", "Not seen on this kernel, which has no tracepoints for them, {kinds}: {missing}."),
    notice("hook-refused", "Not seen on this kernel, which refuses the hook {hook}: {missing} ({error})."),
    notice("faults-unseen", "Page faults are not seen on this machine ({error})."),
    notice(
        "delay-edges-unmeasured",
        "What enters and leaves the kernel around delays is unexplained: it could not be measured ({error}).",
    ),
    notice(
        "running-delays-late",
        "What delays threads while they run is known from {seconds} s on, when a program first announced something.",
    ),
    notice("requests-unseen", "Requests on sockets are not seen on this kernel ({error})."),
    notice("code-not-split", "Running time is not split over code on this kernel ({error})."),
    notice("threads-not-sampled", "Threads whose running code was not sampled: {threads} ({error})."),
    notice(
        "collector-died",
        "The collector ended without closing the result: recorded are the first {seconds} s; what happened in the last \
         moments before its end, its losses and the program's exit status are missing.",
    ),
    notice(
        "code-looked-up",
        "Which files programs mapped was read from /proc every 20 ms: code that was there for less is not named ({error}).",
    ),
    notice("asker-unknown", "Who asked for the work of other threads is not known ({error})."),
    notice("sockets-before", "Sockets that were open before are known from their first use on ({error})."),
    notice("sockets-until", "Sockets are known up to {seconds} s only ({error})."),
    notice("itt-not-recorded", "What the program announces through ITT is not recorded: {why}."),
    notice("recording-ended", "Recording ended when the program asked for it; the program ran on."),
    notice(
        "collector-late",
        "Dwell's own thread waited {count} times for a CPU, up to {seconds} s, as it does behind real-time threads: stacks \
         through code that was mapped meanwhile may be cut, and the losses name what found no room.",
    ),
    notice("made-tracer", "The program asked its parent, which is Dwell, to trace it; Dwell let it run on untraced."),
    notice("data-limit", "Recording stopped at the data limit; the program ran on."),
    notice("outliers-kept", "Outliers that were kept, each a result: {outliers} ({folder})."),
    notice("outliers-not-kept", "Not every outlier could be kept ({failure})."),
    notice("no-intel-pt", "No instructions are traced: this machine has no Intel PT."),
    notice("intel-pt-unusable", "No instructions are traced: Intel PT cannot be used ({error})."),
    notice("no-unwind-table", "Stacks through {path}: {reason}."),
    notice(
        "file-changed",
        "{now} is not the file that was profiled as {path} (its build id or date differs): code in it has no names.",
    ),
    notice("file-missing", "{path} could not be read: code in it has no names; give its folder with --search-dir."),
    notice("restarted", "The machine was restarted since the collection: kernel code has no names."),
    notice(
        "kernel-names-hidden",
        "Kernel code has no names: /proc/kallsyms hides addresses from this user (kernel.kptr_restrict, CAP_SYSLOG). Block I/O \
         and locks in the kernel are not told apart, nor what other CPUs interrupted for.",
    ),
    notice("symbols-unread", "The symbols of {path} could not be read: {reason}."),
    notice(
        "debug-information-unread",
        "The debug information of {path} is not read: {reason}. Names are of its symbol table, without source lines.",
    ),
    notice("debuginfod-failed", "The debuginfod server {server} is not used any more: {why}."),
    notice(
        "functions-not-listed",
        "{functions} functions that threads were in are not listed by dwell source: their code is too large.",
    ),
    notice("more-without-symbols", "{files} more files have no symbols."),
    notice(
        "code-map-damaged",
        "modules/{name}, which names code made at run time, is damaged ({fault}): {pieces} pieces of code were read.",
    ),
    notice("code-map-unread", "modules/{name}, which names code made at run time, could not be read: {error}."),
    notice(
        "code-map-cut",
        "{name} names more code made at run time than is kept, {most} pieces in all: neither its later pieces nor those of the \
         maps after it have names.",
    ),
    notice("spool-unread", "The spool could not be read: {error}."),
    notice("chunk-rest", "{bytes} bytes of a chunk are no records."),
    notice("bytes-unread", "{bytes} bytes of {name} could not be read: {reason}."),
    notice(
        "of-two-hosts",
        "Of two hosts, {hosts}: {how}; of {connections} connections between them both ends are known, of {linked} waits the \
         thread at the far end, and of {explained} what it did meanwhile.",
    ),
];

/// A remark of a result, as the sentence that it is.
pub fn told(text: &str) -> Prose {
    let sentence = NOTICES.iter().find_map(|def| Some(Sentence::new(def, values(def, text)?)));
    sentence.map_or_else(|| Prose::plain(text), Prose::from)
}

/// The values with which the template reads like the text; `None` if there are none. A value ends where the text behind it is
/// met first, the last one at the end.
fn values(def: &'static SentenceDef, text: &str) -> Option<Vec<(&'static str, Word)>> {
    let mut pieces = pieces(def.text).peekable();
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(literal) => rest = rest.strip_prefix(literal)?,
            Piece::Value(name) => {
                let Some(Piece::Text(behind)) = pieces.next() else { return None };
                let (value, after) = match pieces.peek() {
                    None => (rest.strip_suffix(behind)?, ""),
                    Some(_) => rest.split_once(behind)?,
                };
                values.push((name, Word::from(value)));
                rest = after;
            }
            Piece::Number(..) => return None,
        }
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_known_by_its_text_and_keeps_its_values() {
        let text = "/lib/x (1).so could not be read: code in it has no names; give its folder with --search-dir.";
        let told = told(text);
        assert_eq!(told.to_string(), text);
        assert_eq!(told.parts()[0]["id"], "file-missing");
        assert_eq!(told.parts()[0]["values"]["path"]["text"], "/lib/x (1).so");
        let text = "Stacks through /opt/a: b.so: it has (two). tables.";
        assert_eq!(super::told(text).parts()[0]["values"]["reason"]["text"], "b.so: it has (two). tables");
    }

    #[test]
    fn a_text_of_nobody_stays_as_it_came() {
        for text in
            ["", "A later version says something else.", "Threads whose running code was not", "7 bytes of a chunk"]
        {
            assert_eq!(told(text).to_string(), text);
            assert_eq!(told(text).parts()[0]["id"], "plain");
        }
    }

    #[test]
    fn every_remark_is_known_as_itself() {
        for def in NOTICES {
            let text: String = def.text.chars().filter(|letter| !"{}".contains(*letter)).collect();
            assert_eq!(told(&text).parts()[0]["id"], def.id);
        }
    }
}
