//! Remarks of collection, finalization and merging for the reader of a result: one row per remark.
//!
//! A remark is stored as the id of its row and its values. Whoever shows it fills in the template of the reader's language.

use std::collections::BTreeMap;
use std::fmt;

use crate::message::{MessageDef, TemplatePiece, template_pieces};

/// A remark with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The id of its row.
    pub id: String,
    /// What stands for each name.
    pub values: BTreeMap<String, String>,
}

impl Notice {
    /// A remark of the table; [`notice!`](crate::notice) also checks that these are its values.
    pub fn new<const N: usize>(def: &MessageDef, values: [(&str, String); N]) -> Self {
        let values = values.map(|(name, value)| (name.to_owned(), value));
        Self { id: def.id.to_owned(), values: values.into() }
    }

    /// Its row; `None` where Dwell knows no such remark.
    pub fn def(&self) -> Option<&'static MessageDef> {
        NOTICES.iter().find(|def| def.id == self.id)
    }
}

/// The English; what lacks stays empty.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        template_pieces(self.def().map_or("", |def| def.text)).try_for_each(|piece| match piece {
            TemplatePiece::Text(text) => f.write_str(text),
            TemplatePiece::Value(name) | TemplatePiece::Number(name, ..) => {
                f.write_str(self.values.get(name).map_or("", String::as_str))
            }
        })
    }
}

/// `notice!(NAME, value = …, …)`: the remark `NAME` of the table. Other values than its own do not compile.
#[macro_export]
macro_rules! notice {
    ($def:ident $(, $name:ident = $value:expr)* $(,)?) => {{
        const { assert!($crate::notices::takes($crate::notices::$def.text, &[$(stringify!($name)),*])) };
        $crate::notices::Notice::new(&$crate::notices::$def, [$((stringify!($name), $value.to_string())),*])
    }};
}

/// Whether a template has exactly these values.
pub const fn takes(text: &str, names: &[&str]) -> bool {
    let (text, mut at, mut seen) = (text.as_bytes(), 0, 0u64);
    while at < text.len() {
        if text[at] == b'{' {
            let mut name = 0;
            while name < names.len() && !has_name(text, at + 1, names[name].as_bytes()) {
                name += 1;
            }
            if name == names.len() {
                return false;
            }
            seen |= 1 << name;
        }
        at += 1;
    }
    seen == (1 << names.len()) - 1
}

/// Whether `name` and a closing brace stand at `from`.
const fn has_name(text: &[u8], from: usize, name: &[u8]) -> bool {
    let mut at = 0;
    while at < name.len() {
        if from + at >= text.len() || text[from + at] != name[at] {
            return false;
        }
        at += 1;
    }
    from + at < text.len() && text[from + at] == b'}'
}

/// Declares the table.
macro_rules! notices {
    ($($name:ident = $id:literal, $text:literal, $japanese:literal;)*) => {
        /// Every remark, one whose text could be taken for another's after that.
        pub static NOTICES: &[MessageDef] = &[$($name,)*];

        $(#[doc = $text] pub const $name: MessageDef = MessageDef { id: $id, text: $text, japanese: $japanese };)*
    };
}

notices! {
    WAKES_FROM_INTERRUPTS = "wakes-from-interrupts",
        "Wake-ups from interrupts that hit a running thread are taken for that thread's on this kernel.",
        "このカーネルでは、実行中のスレッドに割り込んだ処理による起床が、そのスレッドによるものとみなされます。";
    WITHOUT_BPF = "without-bpf",
        "Recorded without BPF ({error}): waits and their number are exact where the losses name no lost perf records; wakers outside the profiled program, how long a thread that such a waker woke waited for a CPU, which waits are of one call to take a lock, and where locks were created, are not known.",
        "BPF なしで記録しました ({error})。損失に失われた perf レコードがなければ、待機とその回数は正確です。プロファイル対象外からの起床、その起床から CPU を得るまでの時間、ロックを取得する 1 回の呼び出しに属する待機、ロックの作成場所は分かりません。";
    KERNEL_UNSEEN = "kernel-unseen",
        "What the kernel did is not known: a plain user sees that where kernel.perf_event_paranoid is 1 or less.",
        "カーネルが何をしたかは分かりません。一般ユーザーに見えるのは kernel.perf_event_paranoid が 1 以下の場合だけです。";
    CALLS_UNTRACED = "calls-untraced",
        "System calls could not be traced: what short waits were for is not known.",
        "システムコールをトレースできませんでした。短い待機が何を待ったかは分かりません。";
    SYSTEM_CALLS_UNCOUNTED_WITHOUT_BPF = "system-calls-uncounted-without-bpf",
        "System calls are not counted without BPF.",
        "BPF なしではシステムコールは数えられません。";
    FEWER_CALLS_TRACED = "fewer-calls-traced",
        "The program creates many threads: to keep that cheap, fewer system calls were traced from then on, at last only futexes; waits in others are known where they last some milliseconds.",
        "プログラムが多くのスレッドを作成するため、負荷を抑えるよう以後はトレースするシステムコールを減らし、最後は futex だけにしました。ほかの待機は数ミリ秒続いた場合に分かります。";
    WAKERS_UNKNOWN = "wakers-unknown",
        "Who ended a wait is not known on this kernel ({error}).",
        "このカーネルでは、誰が待機を終わらせたかは分かりません ({error})。";
    HOLDERS_UNKNOWN = "holders-unknown",
        "Who holds file locks and who stops a program is not known on this kernel ({error}).",
        "このカーネルでは、ファイルロックの保持者とプログラムを停止させたプロセスは分かりません ({error})。";
    IO_QUOTAS_UNKNOWN = "io-quotas-unknown",
        "Which waits for devices an I/O quota caused is not known on this kernel ({error}).",
        "このカーネルでは、デバイスの待機のうち I/O クォータによるものは分かりません ({error})。";
    CONNECTS_UNKNOWN = "connects-unknown",
        "How often programs open connections is not known on this kernel ({error}).",
        "このカーネルでは、プログラムが接続を開く頻度は分かりません ({error})。";
    OPEN_REQUESTS_UNKNOWN = "open-requests-unknown",
        "How many requests waited for their answers is not known on this kernel ({error}).",
        "このカーネルでは、応答を待つ要求の数は分かりません ({error})。";
    SOCKET_WAITS_UNEXPLAINED = "socket-waits-unexplained",
        "Why waits on sockets took long is not known on this kernel ({error}).",
        "このカーネルでは、ソケットの待機が長い理由は分かりません ({error})。";
    SYSTEM_CALLS_UNCOUNTED = "system-calls-uncounted",
        "System calls are not counted on this kernel ({error}).",
        "このカーネルでは、システムコールは数えられません ({error})。";
    DELAYS_UNSEEN = "delays-unseen",
        "What delays threads is not seen on this kernel ({error}).",
        "このカーネルでは、スレッドを遅らせるものは見えません ({error})。";
    TRACEPOINTS_MISSING = "tracepoints-missing",
        "Not seen on this kernel, which has no tracepoints for them, {kinds}: {missing}.",
        "このカーネルにはトレースポイントがないため見えないもの ({kinds} 種類): {missing}。";
    HOOK_REFUSED = "hook-refused",
        "Not seen on this kernel, which refuses the hook {hook}: {missing} ({error}).",
        "このカーネルがフック {hook} を拒否するため見えないもの: {missing} ({error})。";
    FAULTS_UNSEEN = "faults-unseen",
        "Page faults are not seen on this machine ({error}).",
        "このマシンではページフォルトは見えません ({error})。";
    DELAY_EDGES_UNMEASURED = "delay-edges-unmeasured",
        "What enters and leaves the kernel around delays is unexplained: it could not be measured ({error}).",
        "遅延の前後でカーネルに入り、カーネルから出る時間は説明なしとなります。測定できませんでした ({error})。";
    RUNNING_DELAYS_LATE = "running-delays-late",
        "What delays threads while they run is known from {seconds} s on, when a program first announced something.",
        "実行中のスレッドを遅らせるものは、プログラムが最初に通知を行った {seconds} 秒以降から分かります。";
    REQUESTS_UNSEEN = "requests-unseen",
        "Requests on sockets are not seen on this kernel ({error}).",
        "このカーネルでは、ソケットの要求は見えません ({error})。";
    CODE_NOT_SPLIT = "code-not-split",
        "Running time is not split over code on this kernel ({error}).",
        "このカーネルでは、実行時間をコードに配分できません ({error})。";
    CALLS_NOT_COUNTED = "calls-not-counted",
        "Calls that read and write are not counted of threads that lived at the end ({error}).",
        "終了時に存在したスレッドについて、読み書きの呼び出しは数えられていません ({error})。";
    CPUS_NOT_SAMPLED = "cpus-not-sampled",
        "CPUs on which running code was not sampled: {cpus} ({error}).",
        "実行中のコードがサンプリングされなかった CPU: {cpus} ({error})。";
    COLLECTOR_DIED = "collector-died",
        "The collector ended without closing the result: recorded are the first {seconds} s; what happened in the last moments before its end, its losses and the program's exit status are missing.",
        "収集プログラムが結果を閉じずに終了しました。記録されたのは最初の {seconds} 秒です。終了直前の出来事、損失、プログラムの終了ステータスは含まれていません。";
    CODE_LOOKED_UP = "code-looked-up",
        "Which files programs mapped was read from /proc every 20 ms: code that was there for less is not named ({error}).",
        "プログラムがマップしたファイルは 20 ms ごとに /proc から読み取られました。それより短い間だけあったコードには名前がありません ({error})。";
    SNAPSHOT_PAUSED = "snapshot-paused",
        "Recording was paused when this result was made of a collection that went on.",
        "進行中の収集からこの結果を作ったとき、記録は一時停止していました。";
    JOINING_UNSEEN = "joining-unseen",
        "Processes that joined later are not recorded, but for those that recorded ones forked: that takes BPF.",
        "後から加わったプロセスは、記録中のプロセスがフォークしたものを除いて記録されていません (BPF が必要です)。";
    CREATIONS_UNKNOWN = "creations-unknown",
        "Where locks were created is not known ({error}).",
        "ロックがどこで作成されたかは分かりません ({error})。";
    CREATIONS_TOO_MANY = "creations-too-many",
        "Programs of this machine initialised more than 10,000 locks on one CPU, faster than 500 in a second: from then on Dwell did not record where locks are created, so as not to slow them down.",
        "このマシンのプログラムが、1 つの CPU で 1 秒に 500 個を超える速さで 10,000 個を超えるロックを初期化しました。プログラムを遅くしないため、以後はロックの作成場所を記録していません。";
    ASKER_UNKNOWN = "asker-unknown",
        "Who asked for the work of other threads is not known ({error}).",
        "他のスレッドの仕事を誰が依頼したかは分かりません ({error})。";
    SOCKETS_BEFORE = "sockets-before",
        "Sockets that were open before are known from their first use on ({error}).",
        "収集前から開いていたソケットは、最初に使われたときから分かります ({error})。";
    SOCKETS_UNTIL = "sockets-until",
        "Sockets are known up to {seconds} s only ({error}).",
        "ソケットは {seconds} s までしか分かりません ({error})。";
    ITT_NOT_RECORDED = "itt-not-recorded",
        "What the program announces through ITT is not recorded: {why}.",
        "プログラムが ITT で通知することは記録されていません: {why}。";
    RECORDING_ENDED = "recording-ended",
        "Recording ended when the program asked for it; the program ran on.",
        "プログラムの要求で記録を終了しました。プログラムは実行を続けました。";
    COLLECTOR_LATE = "collector-late",
        "Dwell's own thread got no CPU for up to {seconds} s ({count}×), as behind real-time threads. Stacks through code that was mapped meanwhile may be cut short; what found no room is counted among the losses.",
        "Dwell 自身のスレッドはリアルタイム・スレッドなどのために {count} 回、最長 {seconds} 秒 CPU を待ちました。その間にマップされたコードを通るスタックは切れていることがあり、空きがなかったものは損失に示されます。";
    COLLECTOR_AHEAD = "collector-ahead",
        "Dwell's own thread had real-time priority {own} while it recorded, since threads of the program have up to {theirs}.",
        "プログラムのスレッドのリアルタイム優先度が最高 {theirs} のため、Dwell 自身のスレッドは記録中に優先度 {own} で動作しました。";
    MADE_TRACER = "made-tracer",
        "The program asked its parent, which is Dwell, to trace it; Dwell let it run on untraced.",
        "プログラムは親である Dwell に自身のトレースを求めました。Dwell はトレースせずに実行を続けさせました。";
    RUNS_ON = "runs-on",
        "The recording ended with the launched program; {processes} of its processes ran on: {names}. `--target-pid` records them.",
        "記録は起動したプログラムとともに終わりました。{processes} 個のプロセスは実行を続けました: {names}。`--target-pid` で記録できます。";
    PROGRAM_RUNS_ON = "program-runs-on",
        "The recording ended before the launched program, which runs on: {names}.",
        "記録は起動したプログラムより先に終わり、プログラムは実行を続けています: {names}。";
    DATA_LIMIT = "data-limit",
        "Recording stopped at the data limit; the program ran on.",
        "データの上限に達したため記録を停止しました。プログラムは実行を続けました。";
    OUTLIERS_KEPT = "outliers-kept",
        "Outliers that were kept, each a result: {outliers} ({folder}).",
        "{outliers} 個の外れ値を、それぞれ 1 つの結果として保存しました: {folder}。";
    OUTLIERS_NOT_KEPT = "outliers-not-kept",
        "Not every outlier could be kept ({failure}).",
        "保存できなかった外れ値があります ({failure})。";
    OUTLIER_KEPT = "outlier-kept",
        "Kept because an interval of thread {thread} took {length} ns, from {begin} ns on.",
        "スレッド {thread} の区間に {length} ナノ秒かかったため保存しました (開始は {begin} ナノ秒)。";
    NO_INTEL_PT = "no-intel-pt",
        "No instructions are traced: this machine has no Intel PT.",
        "命令はトレースされていません。このマシンには Intel PT がありません。";
    INTEL_PT_UNUSABLE = "intel-pt-unusable",
        "No instructions are traced: Intel PT cannot be used ({error}).",
        "命令はトレースされていません。Intel PT を使用できません ({error})。";
    NO_UNWIND_TABLE = "no-unwind-table",
        "Stacks through {path}: {reason}.",
        "{path} を通るスタック: {reason}。";
    GO_VERSION_UNKNOWN = "go-version-unknown",
        "The goroutines of a program were not looked at: it is made with {version}, and Dwell knows Go 1.18 to 1.26.",
        "プログラムのゴルーチンは観測されていません。{version} で作られていますが、Dwell が対応するのは Go 1.18 から 1.26 までです。";
    GOROUTINES_NOT_FOUND = "goroutines-not-found",
        "The goroutines of a program ({version}) were not looked at: its file does not say where they are.",
        "プログラム ({version}) のゴルーチンは観測されていません。その場所がファイルから分かりません。";
    JAVA_CODE_UNREAD = "java-code-unread",
        "Java methods of process {pid} have no names: {reason}.",
        "プロセス {pid} の Java メソッドには名前がありません: {reason}。";
    JAVA_LOCKS_UNREAD = "java-locks-unread",
        "Java locks of process {pid} have neither class nor owner: {reason}.",
        "プロセス {pid} の Java のロックには、クラスも所有者もありません: {reason}。";
    GOROUTINES_NOT_EXACT = "goroutines-not-exact",
        "Goroutines of a program were looked at now and then, not at each change of state ({error}).",
        "プログラムのゴルーチンは、状態が変わるたびにではなく、ときどき観測されました ({error})。";
    FILE_CHANGED = "file-changed",
        "{now} is not the file that was profiled as {path} (its build id or date differs): code in it has no names.",
        "{now} は、{path} としてプロファイルされたファイルではありません (ビルド ID または日付が異なります)。その中のコードには名前がありません。";
    FILE_MISSING = "file-missing",
        "{path} could not be read: code in it has no names; give its folder with --search-dir.",
        "{path} を読み取れませんでした。その中のコードには名前がありません。フォルダーを --search-dir で指定してください。";
    RESTARTED = "restarted",
        "The machine was restarted since the collection: kernel code has no names.",
        "収集の後にマシンが再起動されたため、カーネルのコードには名前がありません。";
    KERNEL_NAMES_HIDDEN = "kernel-names-hidden",
        "Kernel code has no names: /proc/kallsyms hides addresses from this user (kernel.kptr_restrict, CAP_SYSLOG). Block I/O and locks in the kernel are not told apart, nor what other CPUs interrupted for.",
        "カーネルのコードには名前がありません。/proc/kallsyms がこのユーザーにアドレスを見せないためです (kernel.kptr_restrict、CAP_SYSLOG)。カーネル内のブロック I/O とロック、および他の CPU による割り込みの理由は区別されません。";
    SYMBOLS_UNREAD = "symbols-unread",
        "The symbols of {path} could not be read: {reason}.",
        "{path} のシンボルを読み取れませんでした: {reason}。";
    DEBUG_INFORMATION_UNREAD = "debug-information-unread",
        "The debug information of {path} is not read: {reason}. Names are of its symbol table, without source lines.",
        "{path} のデバッグ情報は読み取られません: {reason}。名前はシンボルテーブルのもので、ソース行はありません。";
    DEBUGINFOD_FAILED = "debuginfod-failed",
        "The debuginfod server {server} is not used any more: {why}.",
        "debuginfod サーバー {server} はもう使われません: {why}。";
    FUNCTIONS_NOT_LISTED = "functions-not-listed",
        "{functions} functions that threads were in are not listed by dwell source: their code is too large.",
        "コードが大きすぎるため、実行された {functions} 個の関数は dwell source で表示できません。";
    MORE_WITHOUT_SYMBOLS = "more-without-symbols",
        "{files} more files have no symbols.",
        "さらに {files} 個のファイルにシンボルがありません。";
    CODE_UNNAMED = "code-unnamed",
        "Code made at run time has no names ({count} addresses): {how}.",
        "実行時に生成されたコードに名前がありません (アドレス {count} 個): {how}。";
    CODE_MAP_DAMAGED = "code-map-damaged",
        "modules/{name}, which names code made at run time, is damaged ({fault}): {pieces} pieces of code were read.",
        "実行時に生成されたコードの名前を持つ modules/{name} は壊れています ({fault})。{pieces} 個のコードを読み取りました。";
    CODE_MAP_UNREAD = "code-map-unread",
        "modules/{name}, which names code made at run time, could not be read: {error}.",
        "実行時に生成されたコードの名前を持つ modules/{name} を読み取れませんでした: {error}。";
    CODE_MAP_CUT = "code-map-cut",
        "{name} names more code made at run time than is kept, {most} pieces in all: neither its later pieces nor those of the maps after it have names.",
        "{name} には、実行時に生成されたコードが上限 (合計 {most} 個) より多くあります。残りと、それより後のマップのコードには名前がありません。";
    SPOOL_UNREAD = "spool-unread",
        "The spool could not be read: {error}.",
        "スプールを読み取れませんでした: {error}。";
    CHUNK_REST = "chunk-rest",
        "{bytes} bytes of a chunk are no records.",
        "チャンクの {bytes} バイトはレコードではありません。";
    BYTES_UNREAD = "bytes-unread",
        "{bytes} bytes of {name} could not be read: {reason}.",
        "{name} の {bytes} バイトを読み取れませんでした: {reason}。";
    OF_TWO_HOSTS = "of-two-hosts",
        "Of two hosts, {hosts}: {how}; of {connections} connections between them both ends are known, of {linked} waits the thread at the far end, and of {explained} what it did meanwhile.",
        "2 つのホスト {hosts} の結果です: {how}。その間の {connections} 本の接続は両端が分かり、{linked} 回の待機は相手側のスレッドが、{explained} 回はその間の動作が分かります。";
    IMPORTED_FROM_PERF = "imported-from-perf",
        "Imported from a file of perf: which lock, file or socket a wait was for, and who held it, is not in it.",
        "perf のファイルからインポートしました。待機の対象のロック、ファイル、ソケットと、その保持者は含まれていません。";
    IMPORTED_SAMPLES_ONLY = "imported-samples-only",
        "The file has samples only: a thread is taken to run for one period before each, and what it did in between is not known, and stands as a wait for \"time between samples\"; perf record --switch-events records that.",
        "ファイルにはサンプルしかありません。スレッドは各サンプルの前の 1 周期だけ実行していたとみなされ、その間の状態は分からず、「time between samples」の待機となります。perf record --switch-events で記録されます。";
    IMPORTED_SWITCHES_SAMPLED = "imported-switches-sampled",
        "The file has some of the context switches only, which tell nothing, as -F and -c ask of every event: perf record -a -e cpu-clock -e sched:sched_switch without them records all. What a thread did between its samples is not known, and stands as a wait for \"time between samples\".",
        "ファイルにはコンテキスト・スイッチの一部しかなく、何も分かりません (-F と -c はすべてのイベントに適用されます)。それらを指定しない perf record -a -e cpu-clock -e sched:sched_switch ではすべてが記録されます。サンプルの間の状態は分からず、「time between samples」の待機となります。";
    IMPORTED_WAITS_WITHOUT_STACKS = "imported-waits-without-stacks",
        "The file tells when threads left their CPUs, but not where in the code: perf record -a -e sched:sched_switch records that.",
        "ファイルからはスレッドが CPU を離れた時刻は分かりますが、コードの位置は分かりません。perf record -a -e sched:sched_switch で記録されます。";
    IMPORTED_WITHOUT_WAKERS = "imported-without-wakers",
        "The file does not tell who ended a wait, nor how long a woken thread waited for a CPU: perf record -a -e sched:sched_waking records that.",
        "ファイルからは、誰が待機を終わらせたか、起床したスレッドがどれだけ CPU を待ったかは分かりません。perf record -a -e sched:sched_waking で記録されます。";
    IMPORTED_ARRIVALS_UNSEEN = "imported-arrivals-unseen",
        "The file does not tell when threads came back to a CPU in {count} cases: there, the time off the CPU is too long. Of single programs, perf traces switches only when threads leave; with --switch-events, or -a, it records both.",
        "スレッドが CPU に戻った時刻が {count} 件でファイルから分からず、そこでは CPU 外の時間が長すぎます。perf は個別のプログラムのスイッチを、スレッドが離れるときにしか記録しません。--switch-events か -a では両方が記録されます。";
    IMPORTED_STACK_COPIES = "imported-stack-copies",
        "The file has copies of stacks (--call-graph dwarf), which are not unwound: of the program, only the sampled function is known. With --call-graph fp all callers are.",
        "ファイルにはスタックのコピー (--call-graph dwarf) があり、これはたどられません。プログラムについてはサンプルされた関数だけが分かります。--call-graph fp ではすべての呼び出し元が分かります。";
    IMPORTED_EVENTS_UNUSED = "imported-events-unused",
        "Events of the file that are not in the result: {events}.",
        "ファイルのイベントのうち、結果に含まれないもの: {events}。";
    IMPORTED_CUT = "imported-cut",
        "The file ends early, as when perf is killed: the result has what was written until then.",
        "ファイルは、perf が強制終了されたときのように途中で終わっています。結果にはそれまでに書かれたものがあります。";
    PACKED_WITHOUT = "packed-without",
        "When this result was packed, texts were left out and are empty: {parts}.",
        "この結果をパックしたとき、次のテキストは除かれました (空です): {parts}。";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_remark_is_its_template_with_the_values() {
        let remark = crate::notice!(SOCKETS_UNTIL, seconds = 3, error = "no {memory}");
        assert_eq!(remark.to_string(), "Sockets are known up to 3 s only (no {memory}).");
        assert_eq!(Notice { id: "later".to_owned(), values: BTreeMap::new() }.to_string(), "");
        assert_eq!(
            Notice { id: "sockets-until".to_owned(), values: BTreeMap::new() }.to_string(),
            "Sockets are known up to  s only ()."
        );
    }

    #[test]
    fn a_template_takes_its_values_only() {
        for (names, taken) in
            [(&["a", "bc"][..], true), (&["a"], false), (&["a", "b"], false), (&["a", "bc", "d"], false)]
        {
            assert_eq!(takes("{a} of {bc}, {a}.", names), taken, "{names:?}");
        }
        assert!(takes("Nothing.", &[]) && !takes("{a", &["a"]));
    }

    #[test]
    fn ids_are_distinct() {
        let ids: BTreeSet<&str> = NOTICES.iter().map(|def| def.id).collect();
        assert_eq!(ids.len(), NOTICES.len());
    }
}
