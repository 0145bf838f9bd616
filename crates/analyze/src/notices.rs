//! Remarks of collection, finalization and merging. A result has them as English text, which people and SQL read where it
//! lies; who shows them in another language needs to know which sentence each is, with which values. This table says so: it
//! repeats what those crates write (a test of the product compares them), and a text that fits no row stays as it came.

use dwell_view::{Piece, Prose, Sentence, SentenceDef, Word, pieces};

const fn notice(id: &'static str, text: &'static str, japanese: &'static str) -> SentenceDef {
    SentenceDef { id, text, japanese }
}

/// Every remark, one that could be taken for another after that.
pub static NOTICES: &[SentenceDef] = &[
    notice(
        "wakes-from-interrupts",
        "Wake-ups from interrupts that hit a running thread are taken for that thread's on this kernel.",
        "このカーネルでは、実行中のスレッドに割り込んだ処理による起床が、そのスレッドによるものとみなされます。",
    ),
    notice(
        "without-bpf",
        "Recorded without BPF ({error}): waits and their number are exact where the losses name no lost perf records; \
         wakers outside the profiled program, and how long a thread that such a waker woke waited for a CPU, are not known.",
        "BPF なしで記録しました ({error})。損失に失われた perf レコードがなければ、待機とその回数は正確です。\
         プロファイル対象外からの起床と、その起床から CPU を得るまでの時間は分かりません。",
    ),
    notice(
        "kernel-unseen",
        "What the kernel did is not known: a plain user sees that where kernel.perf_event_paranoid is 1 or less.",
        "カーネルが何をしたかは分かりません。一般ユーザーに見えるのは kernel.perf_event_paranoid が 1 以下の場合だ\
         けです。",
    ),
    notice(
        "calls-untraced",
        "System calls could not be traced: what short waits were for is not known.",
        "システムコールをトレースできませんでした。短い待機が何を待ったかは分かりません。",
    ),
    notice(
        "system-calls-uncounted-without-bpf",
        "System calls are not counted without BPF.",
        "BPF なしではシステムコールは数えられません。",
    ),
    notice(
        "fewer-calls-traced",
        "The program creates many threads: to keep that cheap, fewer system calls were traced from then on, at last only \
         futexes; waits in others are known where they last some milliseconds.",
        "プログラムが多くのスレッドを作成するため、負荷を抑えるよう以後はトレースするシステムコールを減らし、\
         最後は futex だけにしました。ほかの待機は数ミリ秒続いた場合に分かります。",
    ),
    notice(
        "wakers-unknown",
        "Who ended a wait is not known on this kernel ({error}).",
        "このカーネルでは、誰が待機を終わらせたかは分かりません ({error})。",
    ),
    notice(
        "socket-waits-unexplained",
        "Why waits on sockets took long is not known on this kernel ({error}).",
        "このカーネルでは、ソケットの待機が長い理由は分かりません ({error})。",
    ),
    notice(
        "system-calls-uncounted",
        "System calls are not counted on this kernel ({error}).",
        "このカーネルでは、システムコールは数えられません ({error})。",
    ),
    notice(
        "delays-unseen",
        "What delays threads is not seen on this kernel ({error}).",
        "このカーネルでは、スレッドを遅らせるものは見えません ({error})。",
    ),
    notice(
        "tracepoints-missing",
        "Not seen on this kernel, which has no tracepoints for them, {kinds}: {missing}.",
        "このカーネルにはトレースポイントがないため見えないもの ({kinds} 種類): {missing}。",
    ),
    notice(
        "hook-refused",
        "Not seen on this kernel, which refuses the hook {hook}: {missing} ({error}).",
        "このカーネルがフック {hook} を拒否するため見えないもの: {missing} ({error})。",
    ),
    notice(
        "faults-unseen",
        "Page faults are not seen on this machine ({error}).",
        "このマシンではページフォルトは見えません ({error})。",
    ),
    notice(
        "delay-edges-unmeasured",
        "What enters and leaves the kernel around delays is unexplained: it could not be measured ({error}).",
        "遅延の前後でカーネルに入り、カーネルから出る時間は説明なしとなります。測定できませんでした ({error})。",
    ),
    notice(
        "running-delays-late",
        "What delays threads while they run is known from {seconds} s on, when a program first announced something.",
        "実行中のスレッドを遅らせるものは、プログラムが最初に通知を行った {seconds} 秒以降から分かります。",
    ),
    notice(
        "requests-unseen",
        "Requests on sockets are not seen on this kernel ({error}).",
        "このカーネルでは、ソケットの要求は見えません ({error})。",
    ),
    notice(
        "code-not-split",
        "Running time is not split over code on this kernel ({error}).",
        "このカーネルでは、実行時間をコードに配分できません ({error})。",
    ),
    notice(
        "threads-not-sampled",
        "Threads whose running code was not sampled: {threads} ({error}).",
        "実行中のコードがサンプリングされなかったスレッド: {threads} ({error})。",
    ),
    notice(
        "collector-died",
        "The collector ended without closing the result: recorded are the first {seconds} s; what happened in the last \
         moments before its end, its losses and the program's exit status are missing.",
        "収集プログラムが結果を閉じずに終了しました。記録されたのは最初の {seconds} 秒です。終了直前の出来事、損失、\
         プログラムの終了ステータスは含まれていません。",
    ),
    notice(
        "code-looked-up",
        "Which files programs mapped was read from /proc every 20 ms: code that was there for less is not named ({error}).",
        "プログラムがマップしたファイルは 20 ms ごとに /proc から読み取られました。\
         それより短い間だけあったコードには名前がありません ({error})。",
    ),
    notice(
        "asker-unknown",
        "Who asked for the work of other threads is not known ({error}).",
        "他のスレッドの仕事を誰が依頼したかは分かりません ({error})。",
    ),
    notice(
        "sockets-before",
        "Sockets that were open before are known from their first use on ({error}).",
        "収集前から開いていたソケットは、最初に使われたときから分かります ({error})。",
    ),
    notice(
        "sockets-until",
        "Sockets are known up to {seconds} s only ({error}).",
        "ソケットは {seconds} s までしか分かりません ({error})。",
    ),
    notice(
        "itt-not-recorded",
        "What the program announces through ITT is not recorded: {why}.",
        "プログラムが ITT で通知することは記録されていません: {why}。",
    ),
    notice(
        "recording-ended",
        "Recording ended when the program asked for it; the program ran on.",
        "プログラムの要求で記録を終了しました。プログラムは実行を続けました。",
    ),
    notice(
        "collector-late",
        "Dwell's own thread waited {count} times for a CPU, up to {seconds} s, as it does behind real-time threads: stacks \
         through code that was mapped meanwhile may be cut, and the losses name what found no room.",
        "Dwell 自身のスレッドはリアルタイム・スレッドなどのために {count} 回、最長 {seconds} 秒 CPU を待ちました。\
         その間にマップされたコードを通るスタックは切れていることがあり、空きがなかったものは損失に示されます。",
    ),
    notice(
        "made-tracer",
        "The program asked its parent, which is Dwell, to trace it; Dwell let it run on untraced.",
        "プログラムは親である Dwell に自身のトレースを求めました。Dwell はトレースせずに実行を続けさせました。",
    ),
    notice(
        "data-limit",
        "Recording stopped at the data limit; the program ran on.",
        "データの上限に達したため記録を停止しました。プログラムは実行を続けました。",
    ),
    notice(
        "outliers-kept",
        "Outliers that were kept, each a result: {outliers} ({folder}).",
        "{outliers} 個の外れ値を、それぞれ 1 つの結果として保存しました: {folder}。",
    ),
    notice(
        "outliers-not-kept",
        "Not every outlier could be kept ({failure}).",
        "保存できなかった外れ値があります ({failure})。",
    ),
    notice(
        "no-intel-pt",
        "No instructions are traced: this machine has no Intel PT.",
        "命令はトレースされていません。このマシンには Intel PT がありません。",
    ),
    notice(
        "intel-pt-unusable",
        "No instructions are traced: Intel PT cannot be used ({error}).",
        "命令はトレースされていません。Intel PT を使用できません ({error})。",
    ),
    notice("no-unwind-table", "Stacks through {path}: {reason}.", "{path} を通るスタック: {reason}。"),
    notice(
        "file-changed",
        "{now} is not the file that was profiled as {path} (its build id or date differs): code in it has no names.",
        "{now} は、{path} としてプロファイルされたファイルではありません (ビルド ID または日付が異なります)。\
         その中のコードには名前がありません。",
    ),
    notice(
        "file-missing",
        "{path} could not be read: code in it has no names; give its folder with --search-dir.",
        "{path} を読み取れませんでした。その中のコードには名前がありません。\
         フォルダーを --search-dir で指定してください。",
    ),
    notice(
        "restarted",
        "The machine was restarted since the collection: kernel code has no names.",
        "収集の後にマシンが再起動されたため、カーネルのコードには名前がありません。",
    ),
    notice(
        "kernel-names-hidden",
        "Kernel code has no names: /proc/kallsyms hides addresses from this user (kernel.kptr_restrict, CAP_SYSLOG). Block I/O \
         and locks in the kernel are not told apart, nor what other CPUs interrupted for.",
        "カーネルのコードには名前がありません。/proc/kallsyms がこのユーザーにアドレスを見せないためで\
         す (kernel.kptr_restrict、CAP_SYSLOG)。カーネル内のブロック I/O とロック、\
         および他の CPU による割り込みの理由は区別されません。",
    ),
    notice(
        "symbols-unread",
        "The symbols of {path} could not be read: {reason}.",
        "{path} のシンボルを読み取れませんでした: {reason}。",
    ),
    notice(
        "debug-information-unread",
        "The debug information of {path} is not read: {reason}. Names are of its symbol table, without source lines.",
        "{path} のデバッグ情報は読み取られません: {reason}。名前はシンボルテーブルのもので、ソース行はありません。",
    ),
    notice(
        "debuginfod-failed",
        "The debuginfod server {server} is not used any more: {why}.",
        "debuginfod サーバー {server} はもう使われません: {why}。",
    ),
    notice(
        "functions-not-listed",
        "{functions} functions that threads were in are not listed by dwell source: their code is too large.",
        "コードが大きすぎるため、実行された {functions} 個の関数は dwell source で表示できません。",
    ),
    notice(
        "more-without-symbols",
        "{files} more files have no symbols.",
        "さらに {files} 個のファイルにシンボルがありません。",
    ),
    notice(
        "code-map-damaged",
        "modules/{name}, which names code made at run time, is damaged ({fault}): {pieces} pieces of code were read.",
        "実行時に生成されたコードの名前を持つ modules/{name} は壊れています ({fault})。\
         {pieces} 個のコードを読み取りました。",
    ),
    notice(
        "code-map-unread",
        "modules/{name}, which names code made at run time, could not be read: {error}.",
        "実行時に生成されたコードの名前を持つ modules/{name} を読み取れませんでした: {error}。",
    ),
    notice(
        "code-map-cut",
        "{name} names more code made at run time than is kept, {most} pieces in all: neither its later pieces nor those of the \
         maps after it have names.",
        "{name} には、実行時に生成されたコードが上限 (合計 {most} 個) より多くあります。残りと、\
         それより後のマップのコードには名前がありません。",
    ),
    notice("spool-unread", "The spool could not be read: {error}.", "スプールを読み取れませんでした: {error}。"),
    notice(
        "chunk-rest",
        "{bytes} bytes of a chunk are no records.",
        "チャンクの {bytes} バイトはレコードではありません。",
    ),
    notice(
        "bytes-unread",
        "{bytes} bytes of {name} could not be read: {reason}.",
        "{name} の {bytes} バイトを読み取れませんでした: {reason}。",
    ),
    notice(
        "of-two-hosts",
        "Of two hosts, {hosts}: {how}; of {connections} connections between them both ends are known, of {linked} waits the \
         thread at the far end, and of {explained} what it did meanwhile.",
        "2 つのホスト {hosts} の結果です: {how}。その間の {connections} 本の接続は両端が分かり、\
         {linked} 回の待機は相手側のスレッドが、{explained} 回はその間の動作が分かります。",
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
