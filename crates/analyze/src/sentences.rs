//! What Dwell says in sentences: the evidence of findings and the notes of reports. One table has the English and
//! the Japanese; who shows the latter gets each sentence's id and typed values (`*_parts` in JSON) and fills in the template.
//! What other crates said is in `notices.rs`.

use dwell_view::{PLAIN, SentenceDef};

/// Declares the table.
macro_rules! sentences {
    ($($name:ident = $id:literal, $text:literal, $japanese:literal;)*) => {
        /// Every sentence.
        pub static SENTENCES: &[SentenceDef] = &[PLAIN, $(SentenceDef { id: $id, text: $text, japanese: $japanese },)*];

        /// The definitions by name.
        pub(crate) mod def {
            use super::SentenceDef;
            $(pub static $name: SentenceDef = SentenceDef { id: $id, text: $text, japanese: $japanese };)*
        }
    };
}

sentences! {
    CREATED_AT = "created-at", "It was created at {place}.",
        "{place} で作成されました。";
    WITHIN_TASK = "within-task", "{share} of it lies within the task {task}.",
        "そのうち {share} はタスク {task} の中です。";
    OVERSUBSCRIPTION = "oversubscription",
        "{share} of the CPU time more than {cpus} threads were ready, {ready} on average of the run; they spent {queued} in run queues, {part} of what they ran.",
        "CPU 時間の {share} で {cpus} 個より多いスレッドが実行可能でした (実行全体の平均は {ready} 個)。実行キューで過ごした時間は {queued} で、実行した時間の {part} です。";
    CPUS_TAKEN = "cpus-taken",
        "The program's threads were ready for {denied} of CPU time that they did not get, {share} of what they could have run. In the recording other programs had their CPUs: {names}.",
        "プログラムのスレッドは、得られなかった CPU 時間 {denied} の間も実行可能でした (実行できたはずの時間の {share})。記録中に CPU を使っていた他のプログラム: {names}。";
    CPU_QUOTA = "cpu-quota",
        "Its control group may use {runtime} of CPU time in {period}: it had used that up in {throttled} of {periods} periods. Threads were ready for {denied} of CPU time that they did not get.",
        "コントロールグループが {period} に使える CPU 時間は {runtime} で、{periods} 周期のうち {throttled} 周期で使い切りました。スレッドは、得られなかった CPU 時間 {denied} の間も実行可能でした。";
    CPU_QUOTA_NEEDED = "cpu-quota-needed", "It could have used {cpus} CPUs on average; the quota is {has}.",
        "平均 {cpus} 個の CPU を使えたはずですが、クォータは {has} 個です。";
    SINGLE_THREADED_PHASE = "single-threaded-phase",
        "From {from} to {to}, {share} of the run, only thread {thread} ran, mostly in {place}; {target} threads could have.",
        "{from} から {to} まで (実行の {share}) は、スレッド {thread} だけが主に {place} で実行されました。{target} 個のスレッドが実行できたはずです。";
    NAGLE_DELAYED_ACK = "nagle-delayed-ack",
        "{held} of {waits} waits on it last {median} by the median, the others {usual}: {share} of its wait time is for data that Nagle's algorithm holds until a delayed ACK.",
        "このソケットの {waits} 回の待機のうち {held} 回は中央値 {median}、それ以外は {usual} です。待機時間の {share} は、Nagle アルゴリズムが遅延 ACK まで保留したデータを待つ時間です。";
    NAGLE_SITE = "nagle-site", "{pieces} held pieces of {bytes} bytes are sent by {place}.",
        "保留された {bytes} バイトの断片 {pieces} 個は {place} が送信しています。";
    NAGLE_SITE_CALLED = "nagle-site-called",
        "{pieces} held pieces of {bytes} bytes are sent by {place}, called by {caller}.",
        "保留された {bytes} バイトの断片 {pieces} 個は {place} が送信しています (呼び出し元: {caller})。";
    NAGLE_GAIN = "nagle-gain", "Without, about {gain} less.",
        "これがなければ約 {gain} 短くなります。";
    SOCKET_CAUSE = "socket-cause", "{cost} in {waits} waits, {median} by the median, {share} of its wait time.",
        "{waits} 回の待機で {cost} (中央値 {median})。待機時間の {share} です。";
    SENT_AGAIN = "sent-again", "This end sent {segments} segments again.",
        "この端は {segments} 個のセグメントを再送しました。";
    RECEIVE_BUFFER = "receive-buffer", "The receive buffer there is {bytes} bytes.",
        "相手側の受信バッファーは {bytes} バイトです。";
    SEND_BUFFER = "send-buffer", "The send buffer is {bytes} bytes.",
        "送信バッファーは {bytes} バイトです。";
    CHATTY = "chatty", "{turns} questions of {bytes} bytes on average took a round trip each.",
        "平均 {bytes} バイトの要求 {turns} 件が、それぞれ 1 往復かかりました。";
    CHATTY_SHORTEST = "chatty-shortest",
        "{turns} questions of {bytes} bytes on average took a round trip each; the shortest is {round_trip}.",
        "平均 {bytes} バイトの要求 {turns} 件が、それぞれ 1 往復かかりました。最短の往復時間は {round_trip} です。";
    SHORTEST_ROUND_TRIP = "shortest-round-trip", "The shortest round trip is {round_trip}.",
        "最短の往復時間は {round_trip} です。";
    CONNECTION_CHURN = "connection-churn",
        "{connections} connections, {rate} a second, were closed after {turns} questions at most; they lived {life} by the median, and took {made} to be made at least.",
        "{connections} 本の接続 (毎秒 {rate} 本) が、多くても {turns} 件の要求の後に閉じられました。存続時間の中央値は {life} で、接続に少なくとも合計 {made} かかりました。";
    QUEUED = "queued",
        "{connections} connections came and waited {queued} in sum to be accepted, at least: {each} each on average. Up to {most} waited at once, of {limit} that may.",
        "{connections} 個の接続が、受け付けられるまで少なくとも合計 {queued} (平均 {each}) 待ちました。同時に待ったのは最大 {most} 個 (上限 {limit}) です。";
    DROPPED = "dropped", "{drops} {drops|was|were} dropped because the queue was full.",
        "キューに空きがないため {drops} 個が破棄されました。";
    BEHIND_SLOW = "behind-slow",
        "{long} of {waits} waits on it last {length} by the median, the others {usual}: {share} of its wait time. Then {questions} questions were on their way by the median, whose answers came behind the slow one.",
        "{waits} 回の待機のうち {long} 回は {length} (中央値)、ほかは {usual} で、待機時間の {share} です。そのとき {questions} 個 (中央値) の要求が送信済みで、その応答は遅い応答の後になりました。";
    SMALL_READS = "small-reads",
        "{short} of {all} receives, {bytes} bytes on average, left more behind that had come; receiving took {cpu} of CPU time, {share} of it by these calls.",
        "{all} 回の受信のうち {short} 回 (平均 {bytes} バイト) は、届いていたデータを残しました。受信の CPU 時間は {cpu} で、その {share} がこれらの呼び出しです。";
    COUNTER_BEFORE = "counter-before",
        "{counter} (set right before the wait) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.",
        "{counter} (待機の直前に設定) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。";
    COUNTER_AFTER = "counter-after",
        "{counter} (set right after the wait) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.",
        "{counter} (待機の直後に設定) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。";
    COUNTER_MEANWHILE = "counter-meanwhile",
        "{counter} (when the wait began) is {long_value} at the {long_count} long waits of about {long_wait}, and {short_value} at the {short_count} short ones of about {short_wait}; separation {separation}. The long ones took {total}, {share} of one thread's time.",
        "{counter} (待機の開始時の値) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。";
    EVENT_LOOP_BLOCKED = "event-loop-blocked",
        "As far as samples show, {turns} {turns|turn|turns} of the loop took 10 ms or more, {all} in all: {longest} at most, {median} by the median, where the others take {usual}. It ran for {running} of that time and waited for {waiting}; {share} of it is in {place} and what that calls.",
        "サンプルで分かる範囲では、ループの {turns} 回の反復が 10 ms 以上かかり、合計 {all}、最長 {longest}、中央値 {median} です (ほかの反復の中央値は {usual})。その時間のうち実行が {running}、待機が {waiting} で、{share} は {place} とその呼び出し先です。";
    FINE_GRAINED_WAITS = "fine-grained-waits",
        "{waits} waits on {name} took {each} each on average; with {queued} in run queues they took {share} of one thread's time.",
        "{name} の待機は {waits} 回、平均 {each} です。実行キューの {queued} を含めると、1 スレッドの時間の {share} を占めます。";
    FINE_GRAINED_OTHERS = "fine-grained-others", "{objects} more {objects|object|objects} of this kind {objects|is|are} waited on there as often.",
        "同じ場所で同じ種類のオブジェクト {objects} 個も同じように待機しています。";
    THUNDERING_HERD = "thundering-herd",
        "{times} times {threads} threads were woken together from {name}; {share} of them waited again at once.",
        "{name} から平均 {threads} 個のスレッドが {times} 回同時に起床し、そのうち {share} はすぐにまた待機しました。";
    SPINNING = "spinning",
        "{spin} of CPU time ({share}) was spent spinning, {part} of it in {function} called from {place}.",
        "CPU 時間のうち {spin} ({share}) がスピンに費やされました。その {part} は {place} から呼び出された {function} です。";
    THREAD_CHURN = "thread-churn",
        "{threads} threads, {rate} per second, lived {life} on average; they queued {queued} for their first CPU.",
        "{threads} 個のスレッド (毎秒 {rate} 個) の寿命は平均 {life} でした。最初の CPU を待つ時間は合計 {queued} です。";
    PROCESS_CHURN = "process-churn",
        "{processes} processes, {rate} per second, lived {life} on average; they queued {queued} for their first CPU.",
        "{processes} 個のプロセス (毎秒 {rate} 個) の寿命は平均 {life} でした。最初の CPU を待つ時間は合計 {queued} です。";
    OUTLIERS = "outliers",
        "{outliers} of {count} are outliers, up to {longest} where {median} is usual; {cost}, {share} of their time over the median, is for this. The worst is {id}: dwell report outlier {id}.",
        "{count} 個のうち {outliers} 個が外れ値です (最長 {longest}、通常は {median})。中央値を超える時間のうち {cost} ({share}) がこの原因によるものです。最悪の区間は {id}: dwell report outlier {id}。";

    DATA_LOST = "data-lost", "Data was lost: {lost}. See dwell report losses.",
        "データが失われました: {lost}。dwell report losses を参照してください。";
    STACKS_CUT = "stacks-cut", "{share} of {stacks} stacks are cut short.",
        "{stacks} 個のスタックのうち {share} が途中で切れています。";
    DETAIL_MISSING = "detail-missing", "Some detail is missing: {lost}.",
        "一部の詳細が欠けています: {lost}。";
    SEE_LOSSES = "see-losses", "See dwell report losses.",
        "dwell report losses を参照してください。";
    MORE_REMARKS = "more-remarks", "{remarks} more {remarks|remark|remarks} on the recording: dwell report losses.",
        "記録についての注記があと {remarks} 件あります: dwell report losses。";
    NOTHING_LOST = "nothing-lost", "Nothing was lost.",
        "失われたものはありません。";
    ENDED_BADLY = "ended-badly", "The collection did not end properly: its end is the last event recorded.",
        "収集は正常に終了しませんでした。記録された最後のイベントを終わりとしています。";
    MISPLACED = "misplaced",
        "{rows} intervals overlap others of their thread or lie outside its life; they were cut.",
        "{rows} 個の区間が、同じスレッドの他の区間と重なるか、スレッドの寿命の外にあるため、切り詰めました。";
    FILTERED_NOTHING = "filtered-nothing", "The filters leave nothing to show.",
        "フィルターの結果、表示するものがありません。";
    FILTERED_CPU = "filtered-cpu", "By the filters, {cpu} of the CPU time is shown.",
        "フィルターにより、CPU 時間の {cpu} を表示しています。";
    FILTERED_WAIT = "filtered-wait", "By the filters, {wait} of the wait time is shown.",
        "フィルターにより、待機時間の {wait} を表示しています。";
    FILTERED = "filtered", "By the filters, {cpu} of the CPU time and {wait} of the wait time is shown.",
        "フィルターにより、CPU 時間の {cpu} と待機時間の {wait} を表示しています。";
    RANGE = "range", "Only from {from} to {to}: {share} of the elapsed time.",
        "{from} から {to} まで: 経過時間の {share}。";
    RANGE_WITHOUT = "range-without", "Only from {from} to {to}, without {left_out}: {share} of the elapsed time.",
        "{from} から {to} まで ({left_out} を除く): 経過時間の {share}。";
    ALL_WITHOUT = "all-without", "All without {left_out}: {share} of the elapsed time.",
        "{left_out} を除く全体: 経過時間の {share}。";
    IDLE_LAST = "idle-last", "{idle} of the wait time ({share}) is of idle workers and event loops, ranked last.",
        "待機時間のうち {idle} ({share}) は仕事のないワーカーとイベントループの待機で、順位は最後です。";
    IDLE_RANKED = "idle-ranked",
        "{idle} of the wait time ({share}) is of idle workers and event loops, ranked like any other.",
        "待機時間のうち {idle} ({share}) は仕事のないワーカーとイベントループの待機で、他と同じように順位付けしています。";
    UNKNOWN_TIME = "unknown-time",
        "{unknown} were spent off the CPU for reasons that the trace does not say; it is no part of Wait Time.",
        "{unknown} はトレースから理由が分からない CPU 外の時間で、待機時間には含みません。";
    ESTIMATED = "estimated",
        "CPU time is exact by thread; by function it is sampled: {estimated} is of threads too short for a sample and placed where they left the CPU.",
        "CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{estimated} はサンプルが得られないほど短いスレッドのもので、CPU を離れた場所に割り当てました。";
    NO_SAMPLE = "no-sample", "CPU time is exact by thread; by function it is sampled: {missing} has no sample.",
        "CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{missing} にはサンプルがありません。";
    ESTIMATED_NO_SAMPLE = "estimated-no-sample",
        "CPU time is exact by thread; by function it is sampled: {estimated} is of threads too short for a sample and placed where they left the CPU, {missing} has no sample.",
        "CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{estimated} はサンプルが得られないほど短いスレッドのもので、CPU を離れた場所に割り当てました。{missing} にはサンプルがありません。";
    ROWS_CUT = "rows-cut", "{rows} more rows are left out by the limit.",
        "上限により、あと {rows} 行を省略しました。";
    NOTHING_FOUND = "nothing-found", "Nothing that Dwell looks for was found beside the causes of waits, which `dwell report explain` tells.",
        "待機の原因 (`dwell report explain` が示します) のほかに、Dwell が調べる問題は見つかりませんでした。";
    CAUSE_SLEPT = "cause-slept", "{who} slept in {place}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} でスリープしました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_RAN = "cause-ran", "{who} ran {place}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} を実行していました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_COLLECTED = "cause-collected", "{who} collected garbage: explains {wait} of waits, in {wall} of time.",
        "{who} はガベージ・コレクションを実行していました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_QUEUED = "cause-queued", "{who} was in the run queue: explains {wait} of waits, in {wall} of time.",
        "{who} は実行キューにありました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_QUEUED_BEHIND = "cause-queued-behind", "{who} was in the run queue behind {behind}: explains {wait} of waits, in {wall} of time.",
        "{who} は {behind} の後ろで実行キューにありました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_TIMED_OUT = "cause-timed-out", "{who} waited for {label} until its time-out in {place}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} で {label} をタイムアウトまで待ちました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_LOOP_TIMER = "cause-loop-timer", "{who} waited in its event loop for a timer of its own in {place}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} のイベントループで自身のタイマーを待ちました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_UNFINISHED = "cause-unfinished", "{who} waited for {label} to the end of the recording in {place}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} で {label} を記録の終わりまで待っていました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_ENDED_BY = "cause-ended-by", "{who} waited for {label} in {place}, ended by {by}: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} で {label} を待ち、{by} が待機を終わらせました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_IO_QUOTA = "cause-io-quota",
        "{who} waited for {label} in {place}, held back by the I/O quota of its control group: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} で {label} を待ち、コントロールグループの I/O クォータに抑えられていました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_MEMORY_LIMIT = "cause-memory-limit",
        "{who} waited for {label} in {place}, at the memory limit of its control group: explains {wait} of waits, in {wall} of time.",
        "{who} は {place} で {label} を待ちました。コントロールグループがメモリーの上限に達していました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_UNBORN = "cause-unborn", "{who} did not exist yet: explains {wait} of waits, in {wall} of time.",
        "{who} はまだ存在していませんでした。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_ENDED = "cause-ended", "{who} had ended: explains {wait} of waits, in {wall} of time.",
        "{who} は終了していました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_DEADLOCK = "cause-deadlock", "Deadlock: {threads} threads wait to the end for what the next one has, the last for what the first has: explains {wait} of waits, in {wall} of time.",
        "デッドロック: {threads} 個のスレッドが、次のスレッド (最後のスレッドは最初のスレッド) の持つものを最後まで待っています。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_CIRCLE = "cause-circle", "{who} waited for others that waited for it: explains {wait} of waits, in {wall} of time.",
        "{who} は、自分を待つ他のスレッドを待っていました。待機 {wait} の原因で、影響があったのは {wall} の間です。";
    CAUSE_OVERSUBSCRIBED = "cause-oversubscribed",
        "More threads were ready than CPUs, mostly at {place}: {wait} in run queues behind the program's own threads, in {wall} of time.",
        "CPU より多くのスレッドが実行可能でした。場所は主に {place} です。プログラム自身のスレッドの後ろで実行キューに {wait} あり、影響があったのは {wall} の間です。";
    CAUSE_COLLECTOR_RAN = "cause-collector-ran", "The garbage collector had the CPUs: {wait} in run queues behind the program's own threads, in {wall} of time.",
        "ガベージ・コレクターが CPU を使っていました。プログラム自身のスレッドの後ろで実行キューに {wait} あり、影響があったのは {wall} の間です。";
    COLLECTOR_SHARE = "collector-share", "It ran for {ran}, {share} of the CPU time.", "その実行は {ran} で、CPU 時間の {share} です。";
    CAUSE_CPUS_TAKEN = "cause-cpus-taken", "Other programs had the CPUs, {name} first: {wait} in run queues behind them at most, in {wall} of time.",
        "他のプログラム (最も長いのは {name}) が CPU を使っていました。その後ろで実行キューに最大 {wait} あり、影響があったのは {wall} の間です。";
    CAUSE_QUOTA = "cause-quota", "The CPU quota of {group} was used up: {wait} in run queues until the next period, in {wall} of time.",
        "{group} の CPU クォータを使い切りました。次の周期まで実行キューに {wait} あり、影響があったのは {wall} の間です。";
    END_SLEPT = "end-slept", "{who} slept in {place} for {part} of the program's {elapsed}: its end waited for that.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間スリープしました。プログラムの終了はこれを待っていました。";
    END_TIMED_OUT = "end-timed-out",
        "{who} waited for {label} until its time-out in {place} for {part} of the program's {elapsed}: its end waited for that.",
        "{who} は {place} で {label} をタイムアウトまで、プログラムの {elapsed} のうち {part} の間待ちました。プログラムの終了はこれを待っていました。";
    END_LOOP_TIMER = "end-loop-timer",
        "{who} waited in its event loop for a timer of its own in {place} for {part} of the program's {elapsed}: its end waited for that.",
        "{who} は {place} のイベントループで、プログラムの {elapsed} のうち {part} の間、自身のタイマーを待ちました。プログラムの終了はこれを待っていました。";
    END_AWAITED = "end-awaited",
        "{who} waited for {label} in {place}, ended by {by}, for {part} of the program's {elapsed}: its end waited for that.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ちました (待機を終わらせたもの: {by})。プログラムの終了はこれを待っていました。";
    END_DEVICE = "end-device", "{who} waited for {label} in {place}, ended by the device, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ち、デバイスが待機を終わらせました。";
    END_IO_QUOTA = "end-io-quota",
        "{who} waited for {label} in {place}, held back by the I/O quota of its control group, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ち、コントロールグループの I/O クォータに抑えられていました。";
    END_MEMORY_LIMIT = "end-memory-limit",
        "{who} waited for {label} in {place}, at the memory limit of its control group, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ちました。コントロールグループがメモリーの上限に達していました。";
    CAUSE_CALLED_BY = "cause-called-by", "Called by {callers}.", "呼び出し元: {callers}。";
    CAUSE_SLEPT_FOR_OUTSIDE = "cause-slept-for-outside", "{who} slept in {place} for {served}, though others ask it from outside the recording: they waited meanwhile.",
        "{who} は、記録の外から要求を受けているのに、{place} で {served} の間スリープしていました。要求した側はその間待っていました。";
    CAUSE_SLEPT_WITHIN = "cause-slept-within", "The sleep is in {function}.", "スリープは {function} の中です。";
    MEANWHILE_RAN = "meanwhile-ran", "Meanwhile {who} ran {place} for {time}.", "その間、{who} は {place} を {time} 実行していました。";
    MEANWHILE_SLEPT = "meanwhile-slept", "Meanwhile {who} slept in {place} for {time}.", "その間、{who} は {place} で {time} スリープしていました。";
    CAUSE_CHAIN = "cause-chain", "{time}: {chain}.", "{time}: {chain}。";
    QUEUED_WAITS = "queued-waits", "Waits of {wait} are because of that, most of them: {chain}.",
        "これによる待機は {wait} で、最も長いのは: {chain}。";
    ADVICE_CPUS_TAKEN = "advice-cpus-taken",
        "Measure again on a quiet machine. Where the neighbours stay: give the program CPUs of its own (taskset, a cpuset, CPU requests), or lower the others' weight (nice, cpu.weight, SCHED_IDLE).",
        "静かなマシンで測り直してください。他のプログラムが残る場合は、専用の CPU を割り当てる (taskset、cpuset.cpus) か、他のプログラムの重みを下げてください (cpu.weight、SCHED_IDLE)。";
    ADVICE_CPU_QUOTA = "advice-cpu-quota",
        "Raise or remove the quota (cpu.max, a container's CPU limit), allow bursts (cpu.max.burst), or start no more threads than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS).",
        "クォータ (cpu.max、コンテナーの CPU 制限) を上げるか外す、バーストを許可する (cpu.max.burst)、またはスレッドをクォータの CPU 数以下にしてください (GOMAXPROCS、OMP_NUM_THREADS)。";
    ADVICE_OVERSUBSCRIPTION = "advice-oversubscription",
        "Start as many computing threads as there are CPUs; let nested parallel regions and libraries share one pool (OMP_NUM_THREADS, a common TBB arena).",
        "計算スレッドは CPU の数だけ開始し、入れ子の並列リージョンとライブラリーには 1 つのプールを共有させてください。";
    ADVICE_SLEPT_UNDER_LOCK = "advice-slept-under-lock", "Do not sleep while others need {label}: release it before, or sleep elsewhere.",
        "他のスレッドが {label} を必要とする間はスリープせず、先に解放するか、別の場所でスリープしてください。";
    ADVICE_POLLED = "advice-polled", "It looks again and again whether others are ready: what they did meanwhile is what to make faster.", "他のスレッドの完了を繰り返し確認しています。高速化すべきなのは、その間に他のスレッドが行っていた処理です。";
    ADVICE_SLEPT = "advice-slept", "Let it be woken when there is something to do (a condition variable, an event, a descriptor), or sleep for less.",
        "スリープの代わりに、仕事ができたときに起床させる (条件変数、イベント、ディスクリプター) か、スリープを短くしてください。";
    ADVICE_SLEPT_MEANWHILE = "advice-slept-meanwhile",
        "Others wait meanwhile: sleep for less, let it be woken when there is something to do, or have more threads do it at once.",
        "その間、他のスレッドが待っています。スリープを短くする、仕事ができたときに起床させる、または複数のスレッドで同時に行ってください。";
    ADVICE_HEAP_LOCK = "advice-heap-lock",
        "All threads share one heap of malloc: allocate less where they run side by side (keep and reuse memory), allow more arenas (MALLOC_ARENA_MAX), or use an allocator with a cache for each thread (jemalloc, mimalloc, tcmalloc).",
        "すべてのスレッドが malloc の 1 つのヒープを共有しています。並行する処理での割り当てを減らす (再利用)、アリーナを増やす (MALLOC_ARENA_MAX)、またはスレッドごとのキャッシュを持つアロケーター (jemalloc、mimalloc、tcmalloc) を使ってください。";
    ADVICE_TIME_ZONE_LOCK = "advice-time-zone-lock",
        "localtime_r, mktime and strftime take one lock of the process: convert times once, keep them in UTC (gmtime_r takes none), or use a library of time zones that has no such lock.",
        "localtime_r、mktime、strftime はプロセスに 1 つのロックを取ります。時刻の変換を減らす、UTC のまま保持する (gmtime_r はロックを取りません)、またはこのロックのないライブラリーを使ってください。";
    ADVICE_STREAM_LOCK = "advice-stream-lock",
        "All threads write to or read from one stream of stdio, one at a time: gather lines and hand them over at once, or let one thread write for all.",
        "すべてのスレッドが 1 つの stdio ストリームを交替で使っています。行をまとめて渡すか、1 つのスレッドに書かせてください。";
    ADVICE_WAITED_UNDER_LOCK = "advice-waited-under-lock", "Do not wait while others need {label}: take the call out of the locked region, or release it before.",
        "他のスレッドが {label} を必要とする間は待機しないでください。呼び出しをロック区間から出すか、その前に解放します。";
    ADVICE_RAN_UNDER_LOCK = "advice-ran-under-lock", "Do less while holding {label}: move this work out of it, or split the lock.",
        "{label} を保持している間の処理を減らすか、ロックを分割してください。";
    ADVICE_BEFORE_BARRIER = "advice-before-barrier", "Share the work before {label} more evenly: smaller pieces, dynamic scheduling, work stealing.",
        "{label} の前の仕事を、より均等に分けてください: 小さな単位、動的スケジューリング、ワークスチール。";
    ADVICE_ADDRESS_SPACE = "advice-address-space",
        "All threads of a process share the kernel's lock of its address space: map, unmap and touch new memory less often (keep and reuse it, larger pieces, huge pages), or use processes.",
        "プロセスのすべてのスレッドは、アドレス空間のカーネル・ロックを共有します。メモリーのマップ、アンマップ、新しいページへのアクセスを減らす (再利用、大きな単位、ヒュージページ) か、プロセスを分けてください。";
    ADVICE_FULL = "advice-full", "Its reader does not keep up with {label}: make it faster or read more at once, write less, or let writers go on (a larger buffer, another thread).",
        "{label} の読み手が追いついていません。読み手を速くするか一度に多く読む、書き込みを減らす、または書き手を待たせない (大きなバッファー、別スレッド) ようにしてください。";
    ADVICE_GIL = "advice-gil",
        "One thread at a time runs Python code: let processes do the work that computes (multiprocessing, ProcessPoolExecutor), use a free-threaded build, or call code that releases the GIL while it computes.",
        "Python のコードを実行できるのは同時に 1 つのスレッドだけです。計算はプロセスで行う (multiprocessing)、フリースレッド版を使う、または計算中に GIL を解放するコードを呼び出してください。";
    ADVICE_TURNS = "advice-turns", "Threads take turns at {label}: do less in a turn, do not wait in it, or let more of them in at once.",
        "スレッドは {label} で交替しています。1 回の番で行う処理を減らす、その中で待たない、または同時に入れるスレッドを増やしてください。";
    ADVICE_PERMITS = "advice-permits", "Only a few at a time get past {label}: let more in at once (a larger pool), ask for less, or make {place} faster.",
        "{label} を通れるのは同時に少数だけです。同時に入れる数を増やす (プールを大きくする)、問い合わせを減らす、または {place} を速くしてください。";
    ADVICE_RAN = "advice-ran", "Make this faster, or have more threads do it at once.",
        "この処理を速くするか、複数のスレッドで同時に行ってください。";
    ADVICE_DEADLOCK = "advice-deadlock", "Take these locks in one order everywhere, or all at once (std::scoped_lock, std::lock, try_lock and go back); call nothing that takes another lock while one is held.",
        "これらのロックをすべての場所で同じ順序で、または一度にすべて取得してください。ロックを保持したまま、別のロックを取得するものを呼び出さないでください。";
    ADVICE_LOCK_UNFINISHED = "advice-lock-unfinished", "Whoever has {label} did not give it back: look for a thread that waits itself while it has it (a deadlock), that ended or returned without releasing it, or that works for so long.",
        "{label} を持つスレッドが解放していません。保持したまま自身も待機している (デッドロック)、解放せずに終了または戻った、あるいは長く処理しているスレッドを探してください。";
    ADVICE_COLLECTED = "advice-collected",
        "Allocate less, keep less alive, or give the heap more room; a collector that works beside the program stops it for less.",
        "メモリーの割り当てと生存するオブジェクトを減らすか、ヒープを大きくしてください。プログラムと並行して動作するコレクターは停止時間が短くなります。";
    ADVICE_POOL = "advice-pool", "{threads} {threads|thread|threads} of {who} {threads|was|were} without work for {idle} of {threads|its|their} time only: add workers, or make {place} faster.",
        "{who} の {threads} 個のスレッドに仕事がなかった時間は {idle} だけです。ワーカーを増やすか、{place} を速くしてください。";
    ADVICE_FEW_AT_A_TIME = "advice-few-at-a-time",
        "Only {count} of {who} {count|works|work} at a time, while {waiters} wait on average: raise what lets no more in (a limit of connections, a pool, one worker), or make {place} faster.",
        "平均 {waiters} 個が待つ間、{who} で同時に動いているのは {count} 個だけです。同時に入れる数の制限 (接続数、プール、ワーカー数) を上げるか、{place} を速くしてください。";
    ADVICE_QUEUED_HOLDER = "advice-queued-holder", "Who holds {label} has no CPU, and keeps all others: hold it for less, and neither yield nor wait in it; or give the program more CPUs.", "{label} の保持者に CPU がなく、他のすべてを待たせています。保持する時間を短くし、保持中に CPU を譲ったり待機したりしないか、プログラムに CPU を増やしてください。";
    ADVICE_QUEUED = "advice-queued", "More threads are ready than there are CPUs: run fewer at once, give the program more CPUs, or give this thread a higher priority.",
        "CPU より多くのスレッドが実行可能です。同時に実行するスレッドを減らすか、CPU を増やすか、このスレッドの優先度を上げてください。";
    ADVICE_QUEUED_FIBERS = "advice-queued-fibers",
        "It was ready, and the runtime ran others: compute in fewer goroutines at once, or let more run (GOMAXPROCS, or the CPU limit that it follows).",
        "実行可能でしたが、ランタイムは他のゴルーチンを実行していました。同時に計算するゴルーチンを減らすか、並列度 (GOMAXPROCS、または CPU の制限) を上げてください。";
    ADVICE_QUEUED_OTHERS = "advice-queued-others", "Other programs had the CPU, or a quota was used up: `dwell report explain` has the account of the run queue.",
        "他のプログラムが CPU を使っていたか、クォータを使い切りました。`dwell report explain` に実行キューの内訳があります。";
    ADVICE_LOCK_TIMED_OUT = "advice-lock-timed-out",
        "Another thread had {label} all the time (`dwell report blame` names it): hold it for less, and take locks in one order everywhere.",
        "別のスレッドがずっと {label} を保持していました (`dwell report blame` で確認できます)。保持時間を短くし、ロックを取得する順序を統一してください。";
    ADVICE_LOOP_TIMER = "advice-loop-timer", "Look for the sleep or delay that set the timer (asyncio.sleep, tokio::time::sleep, setTimeout, timer:sleep, pg_sleep, Thread.sleep of a virtual thread), first where a lock or a permit is held meanwhile.",
        "タイマーを設定したスリープや遅延 (asyncio.sleep など) を探してください。特に、その間ロックや許可を保持している場所です。";
    ADVICE_TIMED_OUT = "advice-timed-out", "Nothing came until the time-out: find out why nobody answered, and ask again sooner.",
        "タイムアウトまで何も届きませんでした。応答がない理由を調べ、より早く再試行してください。";
    ADVICE_END_TIMED_OUT = "advice-end-timed-out", "Nobody ended the wait before its time-out: wake the thread when there is something to do, or let it wait for less.",
        "タイムアウトまで誰も待機を終わらせませんでした。必要なときにスレッドを起こすか、タイムアウトを短くしてください。";
    ADVICE_TIMED_OUT_EXPECTED = "advice-timed-out-expected", "Nothing came until the time-out, though {expected} usually answers: find out why it did not, and ask again sooner.",
        "通常は {expected} が応答しますが、タイムアウトまで何も届きませんでした。応答しなかった理由を調べ、より早く再試行してください。";
    ADVICE_OUTSIDE = "advice-outside", "Record that program too: `dwell collect threading --target-pid PID`, or start both under one shell.",
        "そのプログラムも記録してください: `dwell collect threading --target-pid PID`、または両方を 1 つのシェルから起動します。";
    ADVICE_KERNEL = "advice-kernel", "The kernel did that in a thread of its own (write-back, RCU, a driver): do what it waits for less often.",
        "カーネル自身のスレッド (書き戻し、RCU、ドライバーなど) が処理していました。その呼び出しの回数を減らしてください。";
    ADVICE_NETWORK = "advice-network", "`dwell collect threading --analyze threading,sockets` tells what the other end and TCP did.",
        "`dwell collect threading --analyze threading,sockets` で、相手側と TCP の動作が分かります。";
    ADVICE_HELD_BACK = "advice-held-back",
        "Both ends are on this machine. Where these waits last 40 ms or more each, TCP holds small pieces back (Nagle's algorithm, delayed ACKs): send a message at once, or set TCP_NODELAY. `dwell collect threading --analyze threading,sockets` tells.",
        "両端は同じマシンにあります。待機がそれぞれ 40 ms 以上なら、TCP が小さな断片を保留しています (Nagle アルゴリズム、遅延 ACK)。メッセージを一度に送るか TCP_NODELAY を設定してください。`dwell collect threading --analyze threading,sockets` で分かります。";
    ADVICE_DEVICE = "advice-device", "Read less or ahead of time, keep it in memory, or use a faster device.",
        "読み取りを減らす、先読みする、メモリーに保持する、またはより速いデバイスを使ってください。";
    ADVICE_DEVICE_WRITE = "advice-device-write", "Wait for the device less often: write more at once, let several commits share one sync, or use a faster device.",
        "デバイスを待つ回数を減らしてください。一度に多く書き込む、複数のコミットで同期を共有する、またはより速いデバイスを使ってください。";
    ADVICE_IO_QUOTA = "advice-io-quota",
        "The device is not what is slow: raise the quota (io.max, docker's --device-read-bps and --device-write-bps), or read and write less.",
        "遅いのはデバイスではありません。クォータを上げる (io.max、docker の --device-read-bps と --device-write-bps) か、読み書きを減らしてください。";
    ADVICE_MEMORY_LIMIT = "advice-memory-limit",
        "The group is full, so that each page that is read throws out another one: raise the limit (memory.max, memory.high, docker's --memory), or use less memory at a time.",
        "グループのメモリーに空きがなく、ページを読むたびに別のページが追い出されます。上限を上げる (memory.max、memory.high、docker の --memory) か、同時に使うメモリーを減らしてください。";
    ADVICE_UNFINISHED = "advice-unfinished", "Nothing came for as long as was recorded: find out who should answer.",
        "記録の間に何も届きませんでした。誰が応答すべきかを調べてください。";
    ADVICE_UNSEEN = "advice-unseen", "Who ended it was not seen: `dwell report losses` says what is missing.",
        "待機を終わらせたものは記録されていません。`dwell report losses` で欠けているものが分かります。";
    ADVICE_MEANWHILE = "advice-meanwhile", "Look first at what others did meanwhile; `dwell collect threading --fibers exact` sees who ended it.",
        "まず、その間に他のスレッドがしていたことを調べてください。待機を終わらせたものは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_UNSEEN_OF_FIBERS = "advice-unseen-of-fibers", "Who ended it cannot be seen of sampled goroutines: `dwell collect threading --fibers exact` sees it.",
        "サンプリングしたゴルーチンでは、待機を終わらせたものは分かりません。`dwell collect threading --fibers exact` で分かります。";
    EXPLAINED_BY_SLICES = "explained-by-slices", "Estimated from {share} of the time, in slices: dwell report explain looks at all of it.",
        "時間の {share} を区切って調べた推定です。すべてを調べるには dwell report explain を使ってください。";
    TIME_ACCOUNT = "time-account",
        "{threads} {threads|thread|threads} lived {life} = running {running}[ + run queue {queue}][ + waits on others {demand}][ + joins and children {structure}][ + own sleeps {own}][ + idle {idle}].",
        "{threads} 個のスレッドの時間 {life} = 実行 {running}[ + 実行キュー {queue}][ + 他への待機 {demand}][ + 結合と子プロセス {structure}][ + 自らのスリープ {own}][ + アイドル {idle}]。";
    FIBER_ACCOUNT = "fiber-account",
        "{threads} goroutines and threads lived {life} = running {running}[ + ready {queue}][ + waits on others {demand}][ + joins and children {structure}][ + own sleeps {own}][ + idle {idle}].",
        "{threads} 個のゴルーチンとスレッドの時間 {life} = 実行 {running}[ + 実行可能 {queue}][ + 他への待機 {demand}][ + 結合と子プロセス {structure}][ + 自らのスリープ {own}][ + アイドル {idle}]。";
    QUEUE_ACCOUNT = "queue-account",
        "Of {queue} in the run queue[, the program's own threads had the CPU for {own}][, waking up took {waking}][, other programs had the CPU for {others} at most{names}][, a CPU quota stopped the program for {quota}][, who had the CPU for {unknown} is not known].",
        "実行キューの {queue} の内訳[、プログラム自身のスレッドが CPU を使用 {own}][、起床にかかった時間 {waking}][、他のプログラムが使用 (最大) {others}{names}][、CPU クォータによる停止 {quota}][、不明 {unknown}]。";
    PATH_CAUSES = "path-causes", "The program's {elapsed} went by with: {causes}.",
        "プログラムの {elapsed} の内訳: {causes}。";
    NOT_HELD_UP = "not-held-up",
        "No thread was held up by another for long: waits on others {demand} (a cause is told that delays anybody for {least} or more), run queue {queue}.",
        "他のスレッドに長く待たされたスレッドはありません: 他への待機 {demand} ({least} 以上、誰かを遅らせた原因を示します)、実行キュー {queue}。";
    CAUSES_CUT = "causes-cut", "{causes} smaller {causes|cause explains|causes explain} {wait} more: dwell report explain.",
        "さらに小さい {causes} 個の原因が {wait} の待機を説明します: dwell report explain。";
    PATH = "path", "The path has {segments} segments on {threads} threads and lasts {length}.",
        "パスは {threads} 個のスレッドの {segments} 区間からなり、長さは {length} です。";
    PATH_UNFILTERED = "path-unfiltered", "The critical path is the whole program's: filters do not apply.",
        "クリティカル・パスはプログラム全体のものです。フィルターは適用されません。";
    PATH_GAIN = "path-gain", "A gain is an upper bound: another path may be as long.",
        "短縮は上限です。同じ長さの別のパスがあるかもしれません。";
    BLAME_LONGEST = "blame-longest",
        "Holders of {name} were followed through its longest waits: {seen} of the wait time.",
        "{name} の保持者は、最も長い待機について調べました: 待機時間の {seen}。";
    BLAME_SLICES = "blame-slices",
        "Holders of {name} were followed through waits in slices of the time: {seen} of the wait time.",
        "{name} の保持者は、時間の一部の待機について調べました: 待機時間の {seen}。";
    NOBODY_WAITED = "nobody-waited", "Nobody waited on it.",
        "これを待ったスレッドはありません。";
    HOLDER_TAKEN = "holder-taken", "The holder during a wait is taken to be the thread that ended it.",
        "待機を終わらせたスレッドを、その間の保持者とみなしています。";
    NO_TASKS = "no-tasks", "The program said of no tasks: ITT calls, or `dwell collect --task-probe`, make them.",
        "プログラムはタスクを通知していません。ITT の呼び出しか `dwell collect --task-probe` で作られます。";
    NO_PROBES = "no-probes", "No probe was set: `dwell collect --probe 'NAME=uprobe:FUNCTION(VALUE=arg0:u64)'` sets them.",
        "プローブは設定されていません。`dwell collect --probe 'NAME=uprobe:FUNCTION(VALUE=arg0:u64)'` で設定します。";
    TOO_DEEP = "too-deep", "{tasks} tasks lie in more than 64 others; their time counts as that of the 64th.",
        "{tasks} 個のタスクは 64 個より多いタスクの中にあります。その時間は 64 番目のものとして数えます。";
    FRAME_RATES = "frame-rates",
        "Slow frames: below {slow} a second; fast ones: above {fast} (--frame-rates).",
        "遅いフレーム: 毎秒 {slow} 未満、速いフレーム: 毎秒 {fast} 超 (--frame-rates)。";
    NO_COUNTERS = "no-counters", "The program has no counters, or gave them no value.",
        "プログラムにカウンターがないか、値が設定されていません。";
    NOT_CORRELATED = "not-correlated",
        "No counter separates short and long waits on an object by {separation} or more, or the waits on no object are of two lengths.",
        "オブジェクトの短い待機と長い待機を {separation} 以上に分けるカウンターがないか、長さが 2 種類に分かれる待機がありません。";
    SLICES = "slices", "Waits are of slices of the time, {share} of it.",
        "待機は時間の一部 ({share}) のものです。";
    NO_FIBERS = "no-fibers",
        "No fibers were seen: Dwell knows the goroutines of Go 1.18 to 1.26.",
        "ファイバーは観測されていません。Dwell が対応するのは Go 1.18 から 1.26 までのゴルーチンです。";
    FIBERS_SAMPLED = "fibers-sampled",
        "Fibers are sampled: they were looked at every {interval} on average, and a change is taken as of the middle between two looks.",
        "ファイバーはサンプリングされています。平均 {interval} ごとに観測し、変化は 2 回の観測の中間とみなします。";
    THREADS_HIDDEN = "threads-hidden",
        "The program asked that {threads} {threads|thread|threads} be left out: {cpu} of CPU time and {wait} of waiting, which all sums contain. --filter thread=NAME shows them.",
        "プログラムの指定により {threads} 個のスレッドを除いています: CPU 時間 {cpu}、待機時間 {wait}。合計には含まれます。--filter thread=NAME で表示できます。";
    THREADS_PAUSED = "threads-paused",
        "{threads} {threads|thread|threads} began and ended while recording was paused.",
        "{threads} 個のスレッドは、記録の一時停止中に始まり、終わりました。";
    SOCKETS_NOT_RECORDED = "sockets-not-recorded",
        "Sockets were not recorded: `dwell collect threading --analyze threading,sockets -- PROGRAM` does it.",
        "ソケットは記録されていません。`dwell collect threading --analyze threading,sockets -- PROGRAM` で記録できます。";
    EVENTS_NOT_COUNTED = "events-not-counted",
        "No events were counted: `dwell collect threading --events page-faults,context-switches -- PROGRAM` does it.",
        "イベントは数えられていません。`dwell collect threading --events page-faults,context-switches -- PROGRAM` で数えられます。";
    EVENTS_WHOLE = "events-whole",
        "Counts are those of each thread's whole time in the collection; filters choose threads, ranges cut nothing.",
        "回数は収集全体での各スレッドのものです。フィルターはスレッドを選び、範囲では絞り込まれません。";
    SOCKETS_WHOLE = "sockets-whole",
        "Bytes and calls are those of the whole collection and all threads; waits are those selected.",
        "バイト数と呼び出し回数は収集全体と全スレッドのもの、待機は選択されたものです。";
    BYTES_UNSEEN = "bytes-unseen",
        "{bytes} bytes were taken from TCP by splice or by programs that are not profiled: they are not in Bytes Received.",
        "{bytes} バイトは splice または記録されていないプログラムが TCP から受け取りました。受信バイト数には含まれません。";
    SOCKETS_HIDDEN = "sockets-hidden",
        "Sockets that are neither TCP, UDP nor Unix are hidden ({sockets}); --filter object-type=socket shows those that were waited on.",
        "TCP、UDP、Unix 以外のソケットは隠しています ({sockets})。待機されたものは --filter object-type=socket で表示できます。";
    NO_INTERVALS = "no-intervals",
        "There are no intervals: the program said of no tasks, and no thread waited. `dwell collect latency --interval` makes some of functions, probes, system calls and sockets.",
        "区間がありません。プログラムはタスクを通知せず、待機したスレッドもありません。`dwell collect latency --interval` で関数、プローブ、システムコール、ソケットから区間を作れます。";
    OUTLIER_LIMIT = "outlier-limit", "Outliers are intervals longer than {limit}.",
        "外れ値は {limit} より長い区間です。";
    OUTLIER_RULE = "outlier-rule",
        "Outliers are intervals longer than the median of their type and {distances} times the median of all distances from it, which counts as at least {least} and a {part}th of the median. Their time is what is over the median.",
        "外れ値は、種類ごとの中央値に、中央値からの距離の中央値 (少なくとも {least} かつ中央値の {part} 分の 1 とします) の {distances} 倍を加えた長さを超える区間です。その時間は中央値を超える分です。";
    DELAYS_NOT_RECORDED = "delays-not-recorded",
        "Interrupts, page faults, system calls and the like were not recorded: `dwell collect latency` does.",
        "割り込み、ページフォルト、システムコールなどは記録されていません。`dwell collect latency` で記録できます。";
    TIMELINES = "timelines", "Timelines: {signs}.",
        "タイムライン: {signs}。";
    OUTLIER = "outlier",
        "`{name}` of {thread} at {start} took {length}: {over} more than the median of {median}; number {rank} of {outliers} outliers.",
        "{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} より {over} 長く、{outliers} 個の外れ値の {rank} 番目です。";
    INTERVAL_OVER_MEDIAN = "interval-over-median",
        "`{name}` of {thread} at {start} took {length}: {over} more than the median of {median}; no outlier.",
        "{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} より {over} 長いですが、外れ値ではありません。";
    OUTLIER_BELOW_MEDIAN = "outlier-below-median",
        "`{name}` of {thread} at {start} took {length}: no more than the median of {median}; number {rank} of {outliers} outliers.",
        "{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} 以下で、{outliers} 個の外れ値の {rank} 番目です。";
    INTERVAL_BELOW_MEDIAN = "interval-below-median",
        "`{name}` of {thread} at {start} took {length}: no more than the median of {median}; no outlier.",
        "{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} 以下で、外れ値ではありません。";
    OUTLIER_SPLIT = "outlier-split", "Of what is over the median: {parts}.",
        "中央値を超える分の内訳: {parts}。";
    LINES_CUT = "lines-cut", "The {lines} shortest lines are left out.",
        "最も短い {lines} 行を省略しました。";
    COMPARED = "compared", "Difference = first - second, ratio = second / first. Elapsed: {first} and {second}.",
        "差 = 1 番目 - 2 番目、比 = 2 番目 / 1 番目。経過時間: {first} と {second}。";

    NO_CODE = "no-code", "There is no machine code:",
        "機械語はありません: ";
    CODE_MADE = "code-made", "its code was made at run time and lies in no file.",
        "コードは実行時に生成され、ファイルにはありません。";
    CODE_INTERPRETED = "code-interpreted", "an interpreter runs it.",
        "インタープリターが実行しています。";
    CODE_OF_KERNEL = "code-of-kernel", "Dwell keeps no code of the kernel.",
        "Dwell はカーネルのコードを保存しません。";
    CODE_NOT_KEPT = "code-not-kept",
        "threads spent too little time in it to keep its code, or {path} does not say where it ends.",
        "コードを保存するには実行時間が短すぎたか、{path} からはコードの終わりが分かりません。";
    CODE_NOT_READ = "code-not-read",
        "{path} could not be read at finalization, has no symbols, or was finalized in fast mode.",
        "最終処理のときに {path} を読み取れなかったか、シンボルがないか、高速モードで処理されました。";
    NO_LINES = "no-lines",
        "{module} has no source lines: build it with -g, or install its debug information and collect again.",
        "{module} にはソース行の情報がありません。-g でビルドするか、デバッグ情報をインストールしてから収集し直してください。";
    NO_TEXT = "no-text", "The result does not have the text of {file}.",
        "結果に {file} のテキストがありません。";
    TEXT_NOT_FOUND = "text-not-found",
        "{file} was not found at finalization: give its folder with --search-dir when collecting.",
        "最終処理のときに {file} が見つかりませんでした。収集時にフォルダーを --search-dir で指定してください。";
    TEXT_NOT_READABLE = "text-not-readable",
        "{file} was not copied: it is not readable for the result's user, or for the owner of {module}.",
        "{file} はコピーされていません。結果のユーザーか、{module} の所有者が読み取れません。";
    TEXT_TOO_LARGE = "text-too-large", "{file} was not copied: it is too large.",
        "{file} はコピーされていません。大きすぎます。";
    NO_TEXT_FILE = "no-text-file", "{file} was not copied: it is no text.",
        "{file} はコピーされていません。テキストではありません。";
    TEXT_NEWER = "text-newer", "{file} is newer than the program: lines may have moved.",
        "{file} はプログラムより新しいため、行がずれているかもしれません。";
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
mod tests;
