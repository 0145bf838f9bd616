//! What can be lost, and what is missing because of it: one row per counter.
//!
//! From these rows come the counters of the BPF programs (the build script of `capture` makes `enum loss` of them), the texts of
//! the table `losses` in a result, and the Japanese of the page. Who counts elsewhere names a row by its constant.

/// What a loss does to a result, the worst first.
///
/// Data was lost where waits, switches, threads or processes are missing or wrong; a result is degraded where names, stacks or the detail
/// of one topic are; what was put back or lies within a definition is information. A row of the table has what its loss is at worst:
/// [`severity`] makes information of one that touches a negligible part of what it is a part of. Where that part cannot be measured
/// (a single lost switch may hide the longest wait), the loss stays what it is at worst, however small its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Waits, switches, threads or processes are missing or wrong: every view warns of it.
    DataLoss,
    /// Names, stacks or the detail of a topic are missing: one note under a view.
    Degraded,
    /// Put back, within the definition, or negligible: only the report of the losses has it.
    Information,
}

impl Severity {
    /// Its name in reports.
    pub fn id(self) -> &'static str {
        match self {
            Self::DataLoss => "data-loss",
            Self::Degraded => "degraded",
            Self::Information => "information",
        }
    }
}

/// A loss that touches less than this part is negligible.
pub const NEGLIGIBLE: f64 = 0.01;

/// A counter of what was lost.
#[derive(Clone, Copy, Debug)]
pub struct LossDef {
    /// Its name in a result: `switches_lost`.
    pub id: &'static str,
    /// What it does to a result at worst.
    pub severity: Severity,
    /// What was lost, and what is missing because of it.
    pub text: &'static str,
    /// The same in Japanese.
    pub japanese: &'static str,
}

/// Declares a list of counters, and a constant for the name of each.
macro_rules! losses {
    ($(#[$doc:meta])* $list:ident; $($name:ident = $id:literal, $severity:ident, $text:literal, $japanese:literal;)*) => {
        $(#[$doc])*
        pub static $list: &[LossDef] = &[$(LossDef {
            id: $id,
            severity: Severity::$severity,
            text: $text,
            japanese: $japanese,
        },)*];

        $(#[doc = $text] pub const $name: &str = $id;)*
    };
}

losses! {
    /// What the BPF programs count. Their `enum loss` has the constants of these rows, in this order.
    IN_BPF;

    SWITCHES_LOST = "switches_lost", DataLoss,
        "Context switches that found no room in the kernel's buffer: as many waits, preemptions and switches are not counted, what ran between them counts as off the CPU for no known reason, and intervals around them are too long.",
        "カーネルのバッファーに空きがなかったコンテキスト・スイッチ。その数だけ待機、プリエンプション、スイッチが数えられず、その間の実行は理由不明の CPU 外の時間となり、前後の区間は長すぎます。";
    SAMPLES_LOST = "samples_lost", Degraded,
        "Samples that found no room in the kernel's buffer; their time went to the next ones.",
        "カーネルのバッファーに空きがなかったサンプル。その時間は次のサンプルに割り当てました。";
    STACKS_LOST = "stacks_lost", Degraded,
        "Stacks that found no room in the kernel's buffer; their events have no stack.",
        "カーネルのバッファーに空きがなかったスタック。そのイベントにはスタックがありません。";
    OBJECTS_LOST = "objects_lost", Degraded,
        "Descriptions of objects that found no room in the kernel's buffer; the objects have no names.",
        "カーネルのバッファーに空きがなかったオブジェクトの説明。オブジェクトに名前がありません。";
    THREAD_RECORDS_LOST = "thread_records_lost", DataLoss,
        "Births, ends and names of threads that found no room in the kernel's buffer.",
        "カーネルのバッファーに空きがなかったスレッドの作成、終了、名前。";
    EVENT_COUNTS_LOST = "event_counts_lost", Degraded,
        "Times on a CPU of which it is not known what the thread counted of events (`--events`), mostly since it came there past the hook; its counts are too low.",
        "スレッドのイベント数 (`--events`) が分からない CPU 上の期間。主にフックを通らずに CPU に移った場合です。その数は少なすぎます。";
    THREADS_NOT_TRACKED = "threads_not_tracked", DataLoss,
        "Threads for which the kernel had no memory; nothing of them was recorded.",
        "カーネルにメモリーがなかったスレッド。何も記録されていません。";
    USER_STACKS_EMPTY = "user_stacks_empty", Degraded,
        "User stacks that could not be read; their events have no user frames.",
        "読み取れなかったユーザー・スタック。そのイベントにはユーザーのフレームがありません。";
    SWITCHES_UNSEEN = "switches_unseen", Information,
        "Switches that passed no hook, as under some hypervisors those from and to their own agent; put back from the kernel's account of running time, to about a millisecond.",
        "どのフックも通らなかったコンテキスト・スイッチ (一部のハイパーバイザーで自身のエージェントとの切り替え)。カーネルの実行時間の記録から約 1 ミリ秒の精度で補いました。";
    STACK_COPIES_SKIPPED = "stack_copies_skipped", Degraded,
        "Stacks that unwind tables alone do not lead through and that were not copied either, since that was done often enough; they are cut.",
        "アンワインド表だけではたどれず、回数の上限によりコピーもしなかったスタック。途中で切れています。";
    SCRIPT_FRAMES_UNREADABLE = "script_frames_unreadable", Degraded,
        "Stacks whose frames of Python, PHP or Ruby could not be read to their end; they show the interpreter's own functions there.",
        "Python、PHP、Ruby のフレームを最後まで読み取れなかったスタック。そこにはインタープリター自身の関数が表示されます。";
    SCRIPT_FUNCTION_CUT = "script_function_cut", Degraded,
        "Functions of Python or Ruby whose line table was too long or could not be read; they have the line of their beginning.",
        "行番号表が長すぎるか読み取れなかった Python または Ruby の関数。先頭の行になります。";
    TASK_PROBES_LOST = "task_probes_lost", Degraded,
        "Passes of task probes that found no room in the kernel's buffer; their tasks are missing or cut.",
        "カーネルのバッファーに空きがなかったタスク・プローブの通過。そのタスクは欠けるか切れています。";
    PROBE_HITS_LOST = "probe_hits_lost", Degraded,
        "Hits of probes that found no room in the kernel's buffer; they and their values are missing.",
        "カーネルのバッファーに空きがなかったプローブの通過。その値とともに欠けています。";
    SOCKETS_LOST = "sockets_lost", Degraded,
        "Calls on sockets beyond those that fit into the kernel's table at once; they are not counted.",
        "カーネルの表に同時に収まらなかったソケットの呼び出し。数えていません。";
    SOCKET_WAITS_LOST = "socket_waits_lost", Degraded,
        "Records of waits on sockets, of held data and of delayed ACKs that found the ring full.",
        "リングに空きがなかった、ソケットの待機、保留されたデータ、遅延 ACK のレコード。";
    STITCHES_LOST = "stitches_lost", Degraded,
        "Places that asked for the work of other threads and found no room in the kernel's buffer; that work shows only its own stack.",
        "他のスレッドの仕事を依頼した場所のうち、カーネルのバッファーに空きがなかったもの。その仕事は自身のスタックだけを示します。";
    DELAYS_LOST = "delays_lost", Degraded,
        "Records of delays, and of requests on sockets, that found no room in the kernel's buffer; what they tell is unexplained.",
        "カーネルのバッファーに空きがなかった、遅延とソケット上の要求のレコード。その内容は説明なしとなります。";
    CREATIONS_LOST = "creations_lost", Degraded,
        "Calls that initialised a lock and were not recorded, because there were too many or the kernel's buffer had no room; where these locks were created is not known.",
        "多すぎたか、カーネルのバッファーに空きがなかったために記録されなかった、ロックを初期化する呼び出し。それらのロックの作成場所は分かりません。";
    FIBER_STATES_LOST = "fiber_states_lost", DataLoss,
        "Changes of state of goroutines that found no room in the kernel's buffer; the state before lasts too long.",
        "カーネルのバッファーに空きがなかったゴルーチンの状態変化。その前の状態が長すぎます。";
    FIBER_STACKS_LOST = "fiber_stacks_lost", Degraded,
        "Stacks of goroutines that were not taken, because the kernel's buffer was in use; their waits have no place.",
        "カーネルのバッファーが使用中で取得されなかったゴルーチンのスタック。その待機には場所がありません。";
    VAIN_TRIES_LEFT_OUT = "vain_tries_left_out", Information,
        "Tries in vain for locks of files and connections beyond 100 in 100 ms on a CPU, or without room in the kernel's buffer; what slept after them may not be explained by them.",
        "ファイルのロックや接続の失敗した試みのうち、CPU ごとに 100 ミリ秒に 100 回を超えたか、カーネルのバッファーに空きがなかったもの。その後のスリープはそれで説明されないことがあります。";
    CONNECTS_UNCOUNTED = "connects_uncounted", Information,
        "Connections to more addresses within seconds than are counted, 4,096; how often programs connect to these is not known.",
        "数秒間に数えられる 4,096 個を超えるアドレスへの接続。それらへの接続の頻度は分かりません。";
    PROGRAMS_OUT_OF_SCOPE = "programs_out_of_scope", DataLoss,
        "Programs that the user may not look at, such as those that take on another user's rights when they are started; they are missing.",
        "開始時に他のユーザーの権限を得るものなど、このユーザーが見ることのできないプログラム。含まれません。";
}

losses! {
    /// What the collector counts outside of BPF, and finalization.
    ELSEWHERE;

    HOOKS_SKIPPED = "hooks_skipped", DataLoss,
        "Times that the kernel left a hook out because the same one was running on that CPU; what it would have recorded is missing.",
        "同じフックが同じ CPU で実行中だったため、カーネルがフックを省いた回数。その記録は含まれません。";
    COLLECTIONS_CUT_OFF = "collections_cut_off", DataLoss,
        "Collections whose collector ended before it could close the result; the last moments and what else was lost are not known.",
        "収集プログラムが結果を閉じる前に終了した収集。最後の瞬間と、ほかに失われたものは分かりません。";
    LATE_RECORDS = "late_records", Information,
        "Records that came later than the order of time allows; their times were moved up.",
        "時刻の順序が許すより遅れて届いたレコード。時刻を後ろに動かしました。";
    SPOOL_BYTES_LOST = "spool_bytes_lost", DataLoss,
        "Bytes of the raw trace that could not be read; what they told is missing.",
        "読み取れなかった生トレースのバイト。その内容は含まれません。";
    THREADS_MADE_UP = "threads_made_up", DataLoss,
        "Threads whose creation was not recorded; they begin at their first event, and may lack a name.",
        "作成が記録されなかったスレッド。最初のイベントから始まり、名前がないことがあります。";
    THREAD_ENDS_LOST = "thread_ends_lost", DataLoss,
        "Threads whose end was not recorded; they end where their id is used again.",
        "終了が記録されなかったスレッド。ID が再び使われた時点で終わりとします。";
    REPAIRED_INTERVALS = "repaired_intervals", DataLoss,
        "Intervals off the CPU whose beginning or end was lost; they have no reason and inexact bounds.",
        "始まりか終わりが失われた CPU 外の区間。理由がなく、境界は不正確です。";
    STACKS_MISSING = "stacks_missing", Degraded,
        "Stacks that events name and no record explains; these events have no stack.",
        "イベントが指すが記録のないスタック。そのイベントにはスタックがありません。";
    BUILD_ID_MISMATCH = "build_id_mismatch", Degraded,
        "Files that changed since the collection; their code and data have no names.",
        "収集後に変更されたファイル。コードとデータに名前がありません。";
    FILES_UNREADABLE = "files_unreadable", Degraded,
        "Files with code that are gone, damaged or not allowed to be read; their code and data have no names.",
        "なくなったか、壊れているか、読み取りが許されないコードのファイル。コードとデータに名前がありません。";
    PERF_RECORDS_LOST = "perf_records_lost", DataLoss,
        "Records of switches, calls and samples that found no room in the buffers of perf; the intervals around them are inexact.",
        "perf のバッファーに空きがなかった、スイッチ、システムコール、サンプルのレコード。前後の区間は不正確です。";
    PERF_RECORDS_UNREADABLE = "perf_records_unreadable", DataLoss,
        "Records of an imported file that are cut or make no sense; what they told is missing.",
        "インポートしたファイルの、途中で切れているか意味をなさないレコード。その内容は欠けています。";
    PERF_RECORDS_LATE = "perf_records_late", Degraded,
        "Records of an imported file that stand far behind later ones; they were moved to these ones' time.",
        "インポートしたファイルの、後の時刻のレコードより大きく遅れて現れるレコード。その時刻に移しました。";
    CALLS_UNSEEN = "calls_unseen", Degraded,
        "Waits in system calls that were not traced and too short to be looked up; their objects are not known.",
        "トレースしておらず、調べるには短すぎたシステムコールでの待機。待った対象は不明です。";
    THREADS_WITHOUT_EVENTS = "threads_without_events", DataLoss,
        "Threads that ran already and could not be recorded, as the kernel refused more events.",
        "すでに実行中で、カーネルがイベントの追加を拒んだため記録できなかったスレッド。";
    STATES_HIDDEN = "states_hidden", Degraded,
        "Threads that ran already and that this user may not trace (kernel.yama.ptrace_scope); known from their next switch on.",
        "すでに実行中で、このユーザーがトレースできないスレッド (kernel.yama.ptrace_scope)。次のスイッチ以後が分かります。";
    STACK_COPIES_LOST = "stack_copies_lost", Degraded,
        "Stacks that unwind tables alone do not lead through and that there was no time to walk; their events have no stack.",
        "アンワインド表だけではたどれず、たどる時間がなかったスタック。そのイベントにはスタックがありません。";
    UNWIND_FILES_UNREADABLE = "unwind_files_unreadable", Degraded,
        "Files with code that could not be read; stacks through them need frame pointers.",
        "読み取れなかったコードのファイル。それを通るスタックにはフレーム・ポインターが必要です。";
    UNWIND_FILES_WITHOUT_TABLE = "unwind_files_without_table", Degraded,
        "Files with code but no usable unwind information; stacks through them need frame pointers.",
        "使えるアンワインド情報がないコードのファイル。それを通るスタックにはフレーム・ポインターが必要です。";
    UNWIND_FILES_REPLACED = "unwind_files_replaced", Degraded,
        "Files replaced on disk while they were mapped; stacks through them need frame pointers.",
        "マップ中にディスク上で置き換えられたファイル。それを通るスタックにはフレーム・ポインターが必要です。";
    UNWIND_TABLE_SPACE = "unwind_table_space", Degraded,
        "Unwind tables that found no room; stacks through their files need frame pointers.",
        "空きがなかったアンワインド表。そのファイルを通るスタックにはフレーム・ポインターが必要です。";
    UNWIND_MAPPINGS = "unwind_mappings", Degraded,
        "Mappings beyond the 336 of a process that stacks are walked through by tables.",
        "スタックを表でたどるプロセスあたり 336 個を超えたマッピング。";
    UNWIND_PROCESSES = "unwind_processes", Degraded,
        "Times that a process was not noted since as many as there is room for ran at once; its stacks need frame pointers, its functions of Python, PHP or Ruby are not shown.",
        "同時に実行されたプロセスが上限を超えたため登録されなかった回数。スタックにはフレーム・ポインターが必要で、Python、PHP、Ruby の関数は表示されません。";
    UNWIND_ENTRIES = "unwind_entries", Degraded,
        "Entries of unwind information that could not be used; stacks through their functions need frame pointers.",
        "使えなかったアンワインド情報の項目。その関数を通るスタックにはフレーム・ポインターが必要です。";
    STACKS_CUT_NO_TABLE = "stacks_cut_no_table", Degraded,
        "Samples and waits whose stack ends in code without unwind information or frame pointers.",
        "アンワインド情報もフレーム・ポインターもないコードでスタックが終わるサンプルと待機。";
    STACKS_CUT_UNREADABLE = "stacks_cut_unreadable", Degraded,
        "Samples and waits whose stack ends at memory that could not be read.",
        "読み取れなかったメモリーでスタックが終わるサンプルと待機。";
    STACKS_CUT_TOO_DEEP = "stacks_cut_too_deep", Degraded,
        "Samples and waits whose stack has more than 127 frames; the outermost are missing.",
        "スタックが 127 フレームを超えるサンプルと待機。最も外側のフレームが欠けています。";
    STACKS_CUT_RULE = "stacks_cut_rule", Degraded,
        "Samples and waits whose stack ends at a rule of its unwind information that could not be followed.",
        "たどれなかったアンワインド規則でスタックが終わるサンプルと待機。";
    SEEDED_STACKS_LOST = "seeded_stacks_lost", Degraded,
        "Threads that waited when recording began and moved on before their stack was walked; that wait has no stack.",
        "記録の開始時に待っていて、スタックをたどる前に動き出したスレッド。その待機にはスタックがありません。";
    JIT_MAPS_UNREADABLE = "jit_maps_unreadable", Degraded,
        "Maps and logs of code made at run time that were not taken whole: not the process's own regular files, too large, or unreadable; their code has no names.",
        "全体を取り込めなかった実行時コードのマップとログ (プロセス自身の通常ファイルではない、大きすぎる、読み取れない)。コードに名前がありません。";
    JAVA_LOCKS_UNTOLD = "java_locks_untold", Degraded,
        "Waits for Java locks beyond the most that are told of a process (65,536); they are named by their place.",
        "プロセスごとの上限 (65,536) を超えた Java のロックでの待ち。場所で名付けられます。";
    JAVA_METHODS_UNNAMED = "java_methods_unnamed", Degraded,
        "Methods in Java's interpreter whose name could not be read, since their process had ended, or what lay there was none; their frames are called Interpreter.",
        "名前を読み取れなかった、Java インタープリターのメソッド (プロセスが終了していた、またはメソッドではなかった)。そのフレームはインタープリターの名前で表示されます。";
    JAVA_LINES_UNTOLD = "java_lines_untold", Degraded,
        "Places in Java's compiled code whose lines, and what is inlined there, were not read, since their process had ended, or more than 65,536 came at once; their frames have the compiled method's name.",
        "プロセスが終了していたか、一度に 65,536 個を超えたため、行とインライン化されたメソッドを読み取れなかった、コンパイル済み Java コードの場所。そのフレームにはコンパイルされたメソッドの名前が付きます。";
    JAVASCRIPT_FUNCTIONS_UNNAMED = "javascript_functions_unnamed", Degraded,
        "Functions of JavaScript whose name could not be read, since their process had ended, or they had moved; their frames are addresses.",
        "名前を読み取れなかった JavaScript の関数 (プロセスが終了していた、または移動していた)。そのフレームはアドレスで表示されます。";
    MODULES_NOT_KEPT = "modules_not_kept", Degraded,
        "Files with code that their path does not lead to (another mount namespace, deleted, replaced) and that could not be copied; their code has no names.",
        "パスからたどれず (別のマウント名前空間、削除、置き換え)、コピーもできなかったコードのファイル。コードに名前がありません。";
    PROCESSES_CLOSED = "processes_closed", Degraded,
        "Processes that Dwell may not look into (another user's without CAP_SYS_PTRACE, or refused by a security module): code that they had mapped before or made at run time has no names, their stacks need frame pointers, and files that only they see are missing.",
        "Dwell が内部を調べられないプロセス (CAP_SYS_PTRACE がない他のユーザーのもの、またはセキュリティー・モジュールが拒否)。以前にマップされたコードと実行時に作られたコードには名前がなく、スタックにはフレーム・ポインターが必要で、そのプロセスだけに見えるファイルは含まれません。";
    INTERPRETERS_UNKNOWN = "interpreters_unknown", Degraded,
        "Files with a version of CPython, PHP or Ruby that Dwell does not know; the functions of their scripts are not shown.",
        "Dwell が知らないバージョンの CPython、PHP、Ruby のファイル。スクリプトの関数は表示されません。";
    INTERFACES_REPLUGGED = "interfaces_replugged", Degraded,
        "Times that a network interface's counters began anew, as when it is plugged in again; its traffic just before is not counted.",
        "ネットワーク・インターフェイスのカウンターが最初から始まった回数 (差し直しなど)。直前の通信は数えません。";
    INTERFACES_GONE = "interfaces_gone", Degraded,
        "Network interfaces that were taken away; their traffic since the reading before is not counted.",
        "収集中になくなったネットワーク・インターフェイス。最後に読み取った後の通信は数えません。";
    SYSTEM_READINGS_FAILED = "system_readings_failed", Information,
        "Readings of the machine's counters that failed; what happened then is told by the next one.",
        "マシンのカウンターの読み取りに失敗した回数。その間のことは次の読み取りに含まれます。";
    INTERFACES_LEFT_OUT = "interfaces_left_out", Degraded,
        "Network interfaces beyond the 256 of a network namespace that are read.",
        "ネットワーク名前空間あたり 256 個を超えたネットワーク・インターフェイス。";
    NETWORKS_LEFT_OUT = "networks_left_out", Degraded,
        "Network namespaces of programs beyond the 8 that are read; the traffic there is not shown.",
        "読み取る 8 個を超える、プログラムのネットワーク名前空間。そこの通信は表示されません。";
    ITT_EVENTS_LOST = "itt_events_lost", Degraded,
        "Things that programs said of themselves through ITT and that their buffers had no room for; tasks around them are cut.",
        "プログラムが ITT で通知し、バッファーに空きがなかったもの。前後のタスクは切れています。";
    OUTLIERS_OVER_LIMIT = "outliers_over_limit", Information,
        "Times at which outliers came beyond those that --trigger-limit or --data-limit let through.",
        "--trigger-limit または --data-limit を超えて外れ値が来た回数。";
    OUTLIERS_NOT_KEPT = "outliers_not_kept", Degraded,
        "Outliers whose results could not be written.",
        "結果を書き込めなかった外れ値。";
    INTERVALS_NOT_WATCHED = "intervals_not_watched", Degraded,
        "Intervals that the trigger did not look at: too many were open at once, or within one another.",
        "トリガーが調べなかった区間。同時に開いていたもの、または入れ子が多すぎました。";
    ITT_NAMES_LOST = "itt_names_lost", Degraded,
        "Names and pieces of code that a program gave through ITT beyond what its file holds; they are missing.",
        "プログラムが ITT で与えた名前とコードのうち、ファイルに収まらなかったもの。含まれません。";
    ITT_EVENTS_WITHOUT_RING = "itt_events_without_ring", Degraded,
        "Things said through ITT by threads for which there was no memory; they are missing.",
        "メモリーがなかったスレッドが ITT で通知したもの。含まれません。";
    ITT_FILE_BYTES_DAMAGED = "itt_file_bytes_damaged", Degraded,
        "Bytes in programs' files for ITT that are no records; what they told is missing.",
        "ITT 用のファイルの中でレコードではないバイト。その内容は含まれません。";
    ITT_FILES_REFUSED = "itt_files_refused", Information,
        "Files in the folder for ITT that no recorded program made, or that were cut while they were read; left alone.",
        "記録対象のプログラムが作ったものではないか、読み取り中に切り詰められた ITT 用のファイル。使っていません。";
    ITT_FILES_CUT = "itt_files_cut", Degraded,
        "Programs' files for ITT that held more at the end than was read; what came last is missing.",
        "最後に読み取った分より多くを含んでいた ITT 用のファイル。最後の部分は含まれません。";
    ITT_BYTES_DAMAGED = "itt_bytes_damaged", Degraded,
        "Bytes that programs wrote for ITT and that make no sense; what they told is missing.",
        "プログラムが ITT 用に書いた意味をなさないバイト。その内容は含まれません。";
    ITT_THREADS_UNKNOWN = "itt_threads_unknown", Degraded,
        "Things said through ITT or task probes by threads of which nothing else is known; they are missing.",
        "他に何も分からないスレッドが ITT かタスク・プローブで通知したもの。含まれません。";
    ITT_ENDS_UNMATCHED = "itt_ends_unmatched", Degraded,
        "Ends of tasks, frames or events whose beginning was not recorded; they are missing.",
        "始まりが記録されなかったタスク、フレーム、イベントの終わり。含まれません。";
    ITT_TASKS_TOO_DEEP = "itt_tasks_too_deep", Degraded,
        "Tasks within 512 others of their thread; they are missing.",
        "スレッドの 512 個より多いタスクの中にあるタスク。含まれません。";
    ITT_IDS_DROPPED = "itt_ids_dropped", Degraded,
        "Tasks, regions or frames beyond the million that can be open by their ids at once; they have no end.",
        "同時に開ける 100 万個を超えたタスク、リージョン、フレーム。終わりがありません。";
    ITT_ROWS_DROPPED = "itt_rows_dropped", Degraded,
        "Tasks, data, values or waits beyond those that a result holds; they are missing.",
        "結果が持てる数を超えたタスク、データ、値、待機。含まれません。";
    ITT_VALUES_DROPPED = "itt_values_dropped", Degraded,
        "Values of counters or tasks that are no numbers; they are missing.",
        "数値ではないカウンターやタスクの値。含まれません。";
    ITT_CODE_DROPPED = "itt_code_dropped", Degraded,
        "Code made at run time that programs told of beyond what a result holds; it has no names.",
        "プログラムが通知した実行時コードのうち、結果が持てる数を超えたもの。名前がありません。";
    ITT_NAMES_DROPPED = "itt_names_dropped", Degraded,
        "Names and texts beyond the million that a result holds; they show as unknown.",
        "結果が持てる 100 万個を超えた名前とテキスト。不明と表示されます。";
    ITT_OBJECTS_DROPPED = "itt_objects_dropped", Degraded,
        "Synchronization objects beyond the million that a result holds; waits for them have the kernel's object.",
        "結果が持てる 100 万個を超えた同期オブジェクト。その待機はカーネルのオブジェクトになります。";
    ITT_ASKERS_UNKNOWN = "itt_askers_unknown", Information,
        "Pieces of work that were asked for before the probe for it was in place, or half a million askings earlier; they show only their own stacks.",
        "収集より前か、50 万回以上前に依頼された仕事。自身のスタックだけを示します。";
    ITT_WAITS_UNENDED = "itt_waits_unended", Degraded,
        "Waits that programs announced and whose end they did not announce; they are missing.",
        "プログラムが始まりだけを通知した待機。含まれません。";
    GOROUTINES_TORN = "goroutines_torn", Information,
        "Goroutines that moved while they were looked at; that look at them is missing.",
        "読み取り中に動いたゴルーチン。その回の観測は含まれません。";
    GOROUTINES_UNREADABLE = "goroutines_unreadable", Degraded,
        "Goroutines whose memory could not be read; they are missing.",
        "メモリーを読み取れなかったゴルーチン。含まれません。";
    GOROUTINES_LEFT_OUT = "goroutines_left_out", Degraded,
        "Goroutines beyond the most that are looked at (1,048,576 of a process); they are missing.",
        "観測の上限 (プロセスごとに 1,048,576) を超えたゴルーチン。含まれません。";
    GO_PROCESSES_LEFT_OUT = "go_processes_left_out", Degraded,
        "Go programs beyond the most that are looked at (64 at a time); their goroutines are missing.",
        "観測の上限 (同時に 64) を超えた Go プログラム。そのゴルーチンは含まれません。";
    DELAYS_OF_UNKNOWN_THREADS = "delays_of_unknown_threads", Information,
        "Delays of threads of which nothing else is known; they are missing.",
        "他に何も分からないスレッドの遅延。含まれません。";
    SOCKET_WAITS_UNMATCHED = "socket_waits_unmatched", Degraded,
        "Records of waits on sockets whose thread, interval or socket is not known; why these waits were so long is missing.",
        "スレッド、区間、ソケットのいずれかが分からない、ソケットの待機のレコード。なぜ長かったかは分かりません。";
    MAPPINGS_OUT_OF_SCOPE = "mappings_out_of_scope", Degraded,
        "Files that programs mapped which the user may not look at; where their code lies is not recorded.",
        "このユーザーが見ることのできないプログラムのマッピング。コードの位置は記録していません。";
    MAPPINGS_LOST = "mappings_lost", Degraded,
        "Mappings that were not recorded; code in them has no names.",
        "記録されなかったマッピング。そのコードに名前がありません。";
}

/// Every counter.
pub fn all() -> impl Iterator<Item = &'static LossDef> {
    IN_BPF.iter().chain(ELSEWHERE)
}

/// What a loss of this name means.
pub fn meaning(id: &str) -> Option<&'static str> {
    all().find(|loss| loss.id == id).map(|loss| loss.text)
}

/// How bad a loss of this name is that touches `part` of what it is a part of, where that is known. One of a later version may be
/// the worst.
pub fn severity(id: &str, part: Option<f64>) -> Severity {
    let worst = all().find(|loss| loss.id == id).map_or(Severity::DataLoss, |loss| loss.severity);
    if part.is_some_and(|part| part < NEGLIGIBLE) { Severity::Information } else { worst }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_distinct_and_every_loss_is_explained() {
        let ids: BTreeSet<&str> = all().map(|loss| loss.id).collect();
        assert_eq!(ids.len(), all().count());
        for loss in all() {
            assert!(loss.text.ends_with('.') && loss.japanese.ends_with('。'), "{}", loss.id);
        }
        assert!(meaning(SWITCHES_LOST).is_some_and(|text| text.starts_with("Context switches")));
        assert_eq!(meaning("of_a_later_version"), None);
    }

    #[test]
    fn what_is_negligible_is_information_and_what_is_not_measured_stays() {
        assert_eq!(severity(SWITCHES_LOST, None), Severity::DataLoss);
        assert_eq!(severity(SAMPLES_LOST, None), Severity::Degraded);
        assert_eq!(severity(SWITCHES_UNSEEN, None), Severity::Information);
        assert_eq!(severity(SWITCHES_UNSEEN, Some(0.5)), Severity::Information);
        assert_eq!(severity(REPAIRED_INTERVALS, Some(0.001 / 3.0)), Severity::Information);
        assert_eq!(severity(REPAIRED_INTERVALS, Some(NEGLIGIBLE)), Severity::DataLoss);
        assert_eq!(severity("of_a_later_version", None), Severity::DataLoss);
        assert!(Severity::DataLoss < Severity::Degraded && Severity::Degraded < Severity::Information);
    }
}
