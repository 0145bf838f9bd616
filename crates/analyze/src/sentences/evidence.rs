//! The evidence of findings, accounts, and the notes of reports.

use dwell_model::MessageDef;

sentence_table! {
    CREATED_AT = "created-at", "It was created at {place}.",
        "{place} で作成されました。";
    WITHIN_TASK = "within-task", "{share} of it lies within the task {task}.",
        "そのうち {share} はタスク {task} の中です。";
    OVERSUBSCRIPTION = "oversubscription",
        "In {share} of the CPU time that the program took, more than {cpus} {cpus|thread|threads} had work at once: {ready} on average while any had.",
        "プログラムの CPU 時間の {share} で、{cpus} 個より多いスレッドに同時に仕事がありました (仕事があった間の平均は {ready} 個)。";
    CPUS_TAKEN = "cpus-taken",
        "The program's threads got {share} of the CPU time for which they were ready.[ Other programs and the kernel ran for {others}.][ Seen in front of its threads: {names}.]",
        "プログラムのスレッドが得たのは、実行可能だった CPU 時間の {share} です。[他のプログラムとカーネルは CPU を {others} 使いました。][その前にいたもの: {names}。]";
    CPU_QUOTA = "cpu-quota",
        "Its control group may use {runtime} of CPU time in {period}: it had used that up in {throttled} of {periods} periods. Threads were ready for {denied} of CPU time that they did not get.",
        "コントロールグループが {period} に使える CPU 時間は {runtime} で、{periods} 周期のうち {throttled} 周期で使い切りました。スレッドは、得られなかった CPU 時間 {denied} の間も実行可能でした。";
    CPU_QUOTA_BY_PERIOD = "cpu-quota-by-period",
        "Its threads ran again when periods of {period} began, after {stopped} in which they had no CPU.",
        "スレッドは {period} の周期の始まりで再び実行され、それまで {stopped} の間 CPU を得られませんでした。";
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
    NAGLE_HELD_AT_LOOKS = "nagle-held-at-looks",
        "On {connections} connections at once on average the last piece of what {process} had sent was held until the one before it was acknowledged, which the other end delays: its reader waits for the rest. What is sent in one piece is not held. The calls that send the pieces: --analyze threading,sockets.",
        "平均 {connections} 個の接続で、{process} が送った最後の断片が、直前の断片の確認応答を相手が遅らせている間、保留されていました。読み手は残りを待ちます。1 回で送れば保留されません。断片を送る呼び出しは --analyze threading,sockets で分かります。";
    SLOW_READER = "slow-reader",
        "For {time}, on {connections} connections at once on average, {process} had more to send than the other end read: its receive window was full. What waits for such a send to end waits for that reader.",
        "{time} の間、平均 {connections} 個の接続で、{process} が送ろうとした量を相手が読み取れず、受信ウィンドウが満杯でした。その送信の完了を待つ処理は、その読み手を待っています。";
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
    CONNECTIONS_OPENED = "connections-opened",
        "{process} opened {connections} connections to {endpoint}, {rate} a second, for a request or two each: each lived {life} on average. To connect took {made} in sum[; with what encryption and logging in need, the functions that make connections ran and waited for {work}].",
        "{process} は {endpoint} への接続を {connections} 本 (毎秒 {rate} 本) 開き、それぞれ要求 1、2 件にしか使いませんでした。存続時間は平均 {life} です。接続に合計 {made} かかりました。[暗号化とログインを含めると、接続を作る関数の実行と待機は合計 {work} です。]";
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
    MEMORY_CHURN = "memory-churn",
        "{process} spent {cpu}, {share} of its CPU time, on memory that it takes from the kernel and gives back: {faults} in page faults, {calls} in munmap, mmap and their kin.",
        "{process} は CPU 時間の {share} にあたる {cpu} を、カーネルからのメモリーの取得と返却に費やしました。ページフォルトが {faults}、マップとその解除などの呼び出しが {calls} です。";
    GARBAGE_COLLECTION = "garbage-collection",
        "{process} spent {cpu}, {share} of its CPU time, on collecting garbage.",
        "{process} は CPU 時間の {share} にあたる {cpu} をガベージ・コレクションに費やしました。";
    SMALL_FILE_READS = "small-file-reads",
        "{process} made {calls} calls that read, of {bytes} {bytes|byte|bytes} each on average; they took {cpu}, {share} of its CPU time.",
        "{process} は読み取りの呼び出しを {calls} 回行いました (平均 {bytes} バイト)。CPU 時間の {share} にあたる {cpu} がこれらに費やされました。";
    SMALL_WRITES = "small-writes",
        "{process} made {calls} calls that write, of {bytes} {bytes|byte|bytes} each on average; they took {cpu}, {share} of its CPU time.",
        "{process} は書き込みの呼び出しを {calls} 回行いました (平均 {bytes} バイト)。CPU 時間の {share} にあたる {cpu} がこれらに費やされました。";
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
        "{spent} of CPU time ({share}) was spent spinning, {part} of it in {function} called from {place}.",
        "CPU 時間のうち {spent} ({share}) がスピンに費やされました。その {part} は {place} から呼び出された {function} です。";
    LOCK_TRAFFIC = "lock-traffic",
        "{spent} of CPU time ({share}) went into taking and releasing locks, {part} of it in {function} called from {place}.",
        "CPU 時間のうち {spent} ({share}) がロックの取得と解放に費やされました。その {part} は {place} から呼び出された {function} です。";
    THREAD_CHURN = "thread-churn",
        "{threads} threads, {rate} per second, lived {life} on average; they queued {queued} for their first CPU.",
        "{threads} 個のスレッド (毎秒 {rate} 個) の寿命は平均 {life} でした。最初の CPU を待つ時間は合計 {queued} です。";
    PROCESS_CHURN = "process-churn",
        "{processes} processes ({names}), {rate} per second, lived {life} on average; they queued {queued} for their first CPU.",
        "{processes} 個のプロセス ({names}、毎秒 {rate} 個) の寿命は平均 {life} でした。最初の CPU を待つ時間は合計 {queued} です。";
    SERIAL_CHILDREN = "serial-children",
        "{parent} ran {name} {children} times, one after another, {each} each on average; one of them was there for {lived}, {share} of the time. They and what they started kept {cpus} CPUs busy meanwhile, and {target} may be used.",
        "{parent} は {name} を {children} 個、順番に実行しました (平均 {each})。そのうちの 1 つが動いていた時間は {lived} ({share}) です。その間、子プロセスとその子孫が使った CPU は {cpus} 個で、{target} 個を使えます。";
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
    SELF_TIMES = "self-times", "Times are of the functions themselves; CPU Time: Total has what they call, too. dwell report top-down and dwell report caller-callee FUNCTION show who calls whom.",
        "時間は関数自身のものです。「CPU 時間: 合計」は関数が呼び出したものを含みます。呼び出し関係は dwell report top-down と dwell report caller-callee FUNCTION で表示できます。";
    ALIKE_ROWS = "alike-rows", "{rows} rows are of objects called {name}: --group-by alike-objects sums those that are alike.",
        "{rows} 行は {name} という名前のオブジェクトです。--group-by alike-objects で同種のものを合計できます。";
    EXPLAINED_BY_SLICES = "explained-by-slices", "Estimated from {share} of the time, in slices: dwell report explain --exact looks at all of it.",
        "時間の {share} を区切って調べた推定です。すべてを調べるには dwell report explain --exact を使ってください。";
    TIME_ACCOUNT = "time-account",
        "{threads} {threads|thread|threads} lived {life} = running {running}[ + run queue {queue}][ + waits on others {demand}][ + joins and children {structure}][ + own sleeps {own}][ + idle {idle}].",
        "{threads} 個のスレッドの時間 {life} = 実行 {running}[ + 実行キュー {queue}][ + 他への待機 {demand}][ + 結合と子プロセス {structure}][ + 自らのスリープ {own}][ + アイドル {idle}]。";
    FIBER_ACCOUNT = "fiber-account",
        "{threads} goroutines and threads lived {life} = running {running}[ + on threads without a CPU {stalled}][ + ready {queue}][ + waits on others {demand}][ + joins and children {structure}][ + own sleeps {own}][ + idle {idle}].[ Goroutines were looked at every {looks}: these times are estimates, but for the running time.][ Goroutines were looked at every {looks_alone}: these times are estimates.]",
        "{threads} 個のゴルーチンとスレッドの時間 {life} = 実行 {running}[ + CPU のないスレッド上 {stalled}][ + 実行可能 {queue}][ + 他への待機 {demand}][ + 結合と子プロセス {structure}][ + 自らのスリープ {own}][ + アイドル {idle}]。[ゴルーチンは {looks} ごとに観測したため、実行時間以外は推定です。][ゴルーチンは {looks_alone} ごとに観測したため、これらの時間は推定です。]";
    QUEUE_ACCOUNT = "queue-account",
        "Of {queue} in the run queue[, the program's own threads had the CPU for {own}][, waking up took {waking}][, other programs had the CPU for {others} at most{names}][, a CPU quota stopped the program for {quota}][, one of its threads had the CPU while another CPU was idle for {idle}][, a hypervisor had the CPU for {stolen} at most][, who had the CPU for {unknown} is not known].",
        "実行キューの {queue} の内訳[、プログラム自身のスレッドが CPU を使用 {own}][、起床にかかった時間 {waking}][、他のプログラムが使用 (最大) {others}{names}][、CPU クォータによる停止 {quota}][、別の CPU が空いていたのに自身のスレッドの後ろで待機 {idle}][、ハイパーバイザーが使用 (最大) {stolen}][、不明 {unknown}]。";
    PROGRAM_KILLED = "program-killed",
        "{name} (process {pid}) was killed by SIGKILL after {time}. If nobody meant that, the kernel ended it for want of memory: look at its memory limit, and at `dmesg`.",
        "{name} (プロセス {pid}) は {time} 後に SIGKILL で終了しました。意図したものでなければ、メモリー不足のためカーネルが終了させました。メモリーの上限とカーネルのログを確認してください。";
    PROGRAM_CRASHED = "program-crashed", "{name} (process {pid}) crashed with {signal} after {time}[, and so did {others} {others|other|others}].",
        "{name} (プロセス {pid}) は {time} 後に {signal} で異常終了しました[。ほか {others} 件]。";
    PATH_CAUSES = "path-causes", "The program's {elapsed} went by with: {causes}.",
        "プログラムの {elapsed} の内訳: {causes}。";
    HARDLY_ASKED = "hardly-asked", "Hardly anything ran in the {elapsed}: it waited for requests, or for its time. If it should have done more, look at what its threads wait for: {waits}[, and {rest} more].",
        "{elapsed} の間、ほとんど何も実行されていません。要求、または時刻を待っていました。もっと動作しているはずなら、スレッドが待っているものを確認してください: {waits}[、ほか {rest} 件]。";
    HARDLY_RAN = "hardly-ran", "Hardly anything ran in the {elapsed}. If the program hangs, it is because of what it waits for: {waits}[, and {rest} more].",
        "{elapsed} の間、ほとんど何も実行されませんでした。プログラムが止まっているなら、次の待機が理由です: {waits}[、ほか {rest} 件]。";
    MOSTLY_HEARD = "mostly-heard", "Most of the time {who} waited for {label}[ in {place}]: {count} {count|time|times} for {mean} {count|on|each, on} average. If these are events as they occur (a subscription, a stream, a queue), nothing is wrong. Else the other end is slow to send: look there.",
        "{who} はほとんどの時間 {label} を待っていました[ ({place})]: {count} 回、平均 {mean}。発生した順に届くイベント (購読、ストリーム、キュー) であれば、問題はありません。そうでなければ相手側の送信が遅いため、そちらを調べてください。";
    MOSTLY_SLEPT = "mostly-slept", "Its threads slept most of the time: {sleeps}. If that is the pace at which it is meant to go (a ticker, a limit of the rate), nothing is wrong. Else sleep for less, let them be woken when there is something to do, or have more threads do it at once.",
        "スレッドはほとんどの時間スリープしていました: {sleeps}。意図した周期 (定期実行、速度の制限) なら、問題はありません。そうでなければ、スリープを短くする、仕事ができたときに起床させる、または複数のスレッドで同時に行ってください。";
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
    NO_OPEN_REQUESTS = "no-open-requests", "No profiled process was asked, or asked anybody, over TCP, as far as looks at its connections found.",
        "TCP で要求を受けた、または送ったプロセスは、接続を調べた範囲では見つかりませんでした。";
    REQUESTS_TOLD = "requests-told", "{rate} requests a second came to [{processes} processes of ]{process} ({port}), and waited about {each} each: {open} at once on average.",
        "[{processes} 個のプロセスの ]{process} ({port}) には毎秒 {rate} 件の要求があり、それぞれ約 {each} 待ちました (同時に平均 {open} 件)。";
    REQUESTS_OPEN = "requests-open",
        "{open} requests to [{processes} processes of ]{process} ({port}) waited at once on average, {each} each, and neither what its threads ran nor whom they waited for explains that. If these are no clients that wait for what is still to happen (a chat, a subscription), look for a limit or a timer that does: dwell report open-requests, dwell report waits.",
        "[{processes} 個のプロセスの ]{process} ({port}) への要求が同時に平均 {open} 件、それぞれ {each} 待っていましたが、スレッドの実行や他への待機では説明できません。まだ起きていないことを待つクライアント (チャット、購読) でなければ、待たせている制限やタイマーを探してください: dwell report open-requests、dwell report waits。";
    REQUESTS_BEHIND_SLEEPS = "requests-behind-sleeps",
        "{open} requests to [{processes} processes of ]{process} ({port}) waited at once on average, {each} each: perhaps for these sleeps. A sleep in a thread that runs an event loop, or the tasks of a runtime, keeps all of them: let the task sleep without its thread (the sleep of the runtime itself), or give the work a thread of its own (spawn_blocking, to_thread).",
        "[{processes} 個のプロセスの ]{process} ({port}) への要求が同時に平均 {open} 件、それぞれ {each} 待っていました。これらのスリープのためかもしれません。イベントループやランタイムのタスクを実行するスレッドでスリープすると、すべてのタスクが待たされます。スレッドを止めずにタスクだけをスリープさせる (ランタイム自身のスリープ) か、専用のスレッドで実行してください (spawn_blocking、to_thread)。";
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
    NOT_SELECTED = "not-selected", "What is selected has nothing of {name}.",
        "選択範囲に {name} はありません。";
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
    STANDS_STILL = "stands-still", "All threads have waited for {wall}, and none for anything but another one of the program: {waits}. If no signal or other program is to wake one, nobody can: look for a notification that came before the wait, a lock that was not released, a queue that nobody closes, or workers that wait for work which only they could do.",
        "すべてのスレッドが {wall} の間、プログラムの他のスレッドだけを待っています: {waits}。シグナルや他のプログラムが起こすのでなければ、誰も起こせません: 待機より前に行われた通知、解放されていないロック、閉じられていないキュー、自分たちにしかできない作業を待つワーカーを探してください。";
}
