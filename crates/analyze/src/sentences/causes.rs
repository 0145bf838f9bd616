//! What is said of root causes, and what to do about them.

use dwell_model::MessageDef;

sentence_table! {
    CAUSE_SLEPT = "cause-slept", "{who} slept in {place}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} でスリープしました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_RAN = "cause-ran", "{who} ran {place}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} を実行していました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_IN_KERNEL = "cause-in-kernel", "{share} of it was in the kernel, for {call}.",
        "その {share} はカーネルの中で、{call} のためです。";
    CAUSE_REPEATED = "cause-repeated", "That is {count} sleeps of {each} each, on average.",
        "{count} 回のスリープで、平均 {each} です。";
    CAUSE_VAIN_LOCK = "cause-vain-lock", "Right before {count} of these {all} waits[, {each} each on average,] an attempt to lock {object} failed.",
        "この待機 {all} 回[ (平均 {each})] のうち {count} 回の直前に、{object} のロックを試みて失敗しています。";
    CAUSE_VAIN_HOLDER = "cause-vain-holder", "Mostly {holder} had it.",
        "保持していたのは主に {holder} です。";
    CAUSE_VAIN_CONNECTION = "cause-vain-connection", "Right before {count} of these {all} waits[, {each} each on average,] its connection to {object} was refused.",
        "この待機 {all} 回[ (平均 {each})] のうち {count} 回の直前に、{object} への接続が拒否されています。";
    CAUSE_INSIDE = "cause-inside", "{share} of it was in {function}.",
        "その {share} は {function} の中です。";
    CAUSE_COLLECTED = "cause-collected", "{who} collected garbage: explains {wait} of waits[ within {wall}].",
        "{who} はガベージ・コレクションを実行していました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_QUEUED = "cause-queued", "{who} was in the run queue: explains {wait} of waits[ within {wall}].",
        "{who} は実行キューにありました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_QUEUED_BEHIND = "cause-queued-behind", "{who} was in the run queue behind {behind}: explains {wait} of waits[ within {wall}].",
        "{who} は {behind} の後ろで実行キューにありました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_TIMED_OUT = "cause-timed-out", "{who} waited for {label} until its time-out in {place}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} で {label} をタイムアウトまで待ちました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_LOOP_TIMER = "cause-loop-timer", "{who} waited in its event loop for a timer of its own in {place}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} のイベントループで自身のタイマーを待ちました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_REQUESTS_LIMITED = "cause-requests-limited",
        "{asked} requests to {who} waited at once on average while any did, about {each} each, but {who} asked {endpoint}[ and {others} more] over no more than {connections} connections: the others waited inside of it, while it waited in {place}. Explains {wait} of waits[ within {wall}].",
        "{who} への要求が平均 {asked} 件同時に、それぞれ約 {each} 待っていましたが、{who} が {endpoint} [ほか {others} か所] に問い合わせた接続は {connections} 本までです。{who} が {place} で待つ間、残りの要求はその中で待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_REQUESTS_OVER_ONE = "cause-requests-over-one",
        "{asked} requests to {who} waited at once on average while any did, about {each} each, while it waited in {place} for answers of {endpoint}, all over one connection: explains {wait} of waits[ within {wall}].",
        "{who} への要求が平均 {asked} 件同時に、それぞれ約 {each} 待っていました。その間 {who} は {place} で、1 本の接続を通して {endpoint} の応答を待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_REQUESTS_FOR_OTHER = "cause-requests-for-other",
        "{asked} requests to {who} waited at once on average while any did, about {each} each, while it waited in {place} for answers of {endpoint}[ and {others} more], {mean} at once on average: explains {wait} of waits[ within {wall}].",
        "{who} への要求が平均 {asked} 件同時に、それぞれ約 {each} 待っていました。その間 {who} は {place} で {endpoint} [ほか {others} か所] の応答 (同時に平均 {mean} 件) を待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_REQUESTS_FOR_TIMER = "cause-requests-for-timer",
        "{asked} requests to {who} waited at once on average while any did, about {each} each, while it waited in {place}, mostly for timers of its own: explains {wait} of waits[ within {wall}].",
        "{who} への要求が平均 {asked} 件同時に、それぞれ約 {each} 待っていました。その間 {who} は {place} で、主に自身のタイマーを待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_ACCEPT_QUEUE = "cause-accept-queue",
        "{waiting} connections to {who} ({endpoint}[ and {others} more]) waited at once to be accepted, on average in {wall} of time, {most} at most ({limit} may)[; one waited for {longest} or longer].",
        "{who} への接続 ({endpoint} [ほか {others} か所]) が、{wall} の間、平均 {waiting} 件、最大 {most} 件 (上限 {limit}) 同時に、受け付けられるのを待っていました[。{longest} 以上待った接続があります]。";
    CAUSE_ACCEPT_WAITED = "cause-accept-waited",
        "{waiting} connections to {who} ({endpoint}[ and {others} more]) waited at once to be accepted, on average in {wall} of time, {most} at most ({limit} may)[; one waited for {longest} or longer]. Meanwhile its threads that should accept, {threads} in number, waited for {label} in {place}, for {share} of that time.",
        "{who} への接続 ({endpoint} [ほか {others} か所]) が、{wall} の間、平均 {waiting} 件、最大 {most} 件 (上限 {limit}) 同時に、受け付けられるのを待っていました[。{longest} 以上待った接続があります]。その間、受け付けるはずの {threads} 個のスレッドは、その {share} の時間、{place} で {label} を待っていました。";
    CAUSE_ACCEPT_RAN = "cause-accept-ran",
        "{waiting} connections to {who} ({endpoint}[ and {others} more]) waited at once to be accepted, on average in {wall} of time, {most} at most ({limit} may)[; one waited for {longest} or longer]. Meanwhile its threads that should accept, {threads} in number, ran or were ready to run, mostly in {place}, for {share} of that time.",
        "{who} への接続 ({endpoint} [ほか {others} か所]) が、{wall} の間、平均 {waiting} 件、最大 {most} 件 (上限 {limit}) 同時に、受け付けられるのを待っていました[。{longest} 以上待った接続があります]。その間、受け付けるはずの {threads} 個のスレッドは、その {share} の時間、主に {place} で実行中または実行可能でした。";
    REQUESTS_OF_ALL = "requests-of-all", "How many requests waited, and how long each, is of the whole recording.",
        "待っていた要求の数とそれぞれの時間は、記録全体のものです。";
    CAUSE_UNFINISHED = "cause-unfinished", "{who} waited for {label} to the end of the recording in {place}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} で {label} を記録の終わりまで待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_ENDED_BY = "cause-ended-by", "{who} waited for {label} in {place}, ended by {by}: explains {wait} of waits[ within {wall}].",
        "{who} は {place} で {label} を待ち、{by} が待機を終わらせました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_IO_QUOTA = "cause-io-quota",
        "{who} waited for {label} in {place}, held back by the I/O quota of its control group: explains {wait} of waits[ within {wall}].",
        "{who} は {place} で {label} を待ち、コントロールグループの I/O クォータに抑えられていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_MEMORY_LIMIT = "cause-memory-limit",
        "{who} waited for {label} in {place}, at the memory limit of its control group: explains {wait} of waits[ within {wall}].",
        "{who} は {place} で {label} を待ちました。コントロールグループがメモリーの上限に達していました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_UNBORN = "cause-unborn", "{who} did not exist yet: explains {wait} of waits[ within {wall}].",
        "{who} はまだ存在していませんでした。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_ENDED = "cause-ended", "{who} had exited, and the kernel took away its memory and files: explains {wait} of waits[ within {wall}].",
        "{who} は終了し、カーネルがそのメモリーとファイルを解放していました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_DEADLOCK = "cause-deadlock", "Deadlock: {threads} threads wait to the end for what the next one has: {circles}. That explains {wait} of waits[ within {wall}].",
        "デッドロック: {threads} 個のスレッドが、次のスレッドの持つものを最後まで待っています ({circles})。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_STOPPED = "cause-stopped", "{who} stood still, {label}: explains {wait} of waits[ within {wall}].",
        "{who} は停止していました ({label})。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_CIRCLE = "cause-circle", "{who} waited for others that waited for it: explains {wait} of waits[ within {wall}].",
        "{who} は、自分を待つ他のスレッドを待っていました。待機 {wait} の原因です[。影響があったのは {wall} の間です]。";
    CAUSE_OVERSUBSCRIBED = "cause-oversubscribed",
        "More threads were ready than CPUs[, mostly at {place}]: {wait} in run queues behind the program's own threads[, within {wall}].",
        "CPU より多くのスレッドが実行可能でした[。場所は主に {place} です]。プログラム自身のスレッドの後ろで実行キューに {wait} ありました[。影響があったのは {wall} の間です]。";
    CAUSE_AFFINITY = "cause-affinity",
        "The program's threads kept to {cpus}, mostly at {place}: {wait} in run queues behind one another[, within {wall}].",
        "プログラムのスレッドは {cpus} だけで実行されていました。場所は主に {place} です。互いの後ろで実行キューに {wait} ありました[。影響があったのは {wall} の間です]。";
    CAUSE_COLLECTOR_RAN = "cause-collector-ran", "The garbage collector had the CPUs: {wait} in run queues behind the program's own threads[, within {wall}].",
        "ガベージ・コレクターが CPU を使っていました。プログラム自身のスレッドの後ろで実行キューに {wait} ありました[。影響があったのは {wall} の間です]。";
    COLLECTOR_SHARE = "collector-share", "It ran for {ran}, {share} of the CPU time.", "その実行は {ran} で、CPU 時間の {share} です。";
    CAUSE_CPUS_TAKEN = "cause-cpus-taken", "Other programs had the CPUs[, {name} first]: {wait} in run queues behind them at most[, within {wall}].",
        "他のプログラム[ (最も長いのは {name})] が CPU を使っていました。その後ろで実行キューに最大 {wait} ありました[。影響があったのは {wall} の間です]。";
    CAUSE_LOW_PRIORITY = "cause-low-priority",
        "Threads with a low priority ({priority}) had no CPU while other programs had them[, {name} first]: {wait} in run queues behind these at most[, within {wall}].",
        "優先度の低い ({priority}) スレッドは、他のプログラム[ (最も長いのは {name})] が CPU を使っている間、CPU を得られませんでした。その後ろで実行キューに最大 {wait} ありました[。影響があったのは {wall} の間です]。";
    CAUSE_QUOTA = "cause-quota", "The CPU quota[ of {group}] was used up: {wait} in run queues until the next period[, within {wall}].",
        "[{group} の ]CPU クォータを使い切りました。次の周期まで実行キューに {wait} ありました[。影響があったのは {wall} の間です]。";
    CAUSE_RAN_ALWAYS = "cause-ran-always",
        "{who} ran {place} for {served} of {elapsed}: whatever needs it waits for that.",
        "{who} は {elapsed} のうち {served} の間、{place} を実行していました。これを必要とする処理はその間待ちます。";
    CAUSE_PROCESSES_IN_TURN = "cause-processes-in-turn", "There are {count} such processes, one after another, each of which lives for {each} on average.",
        "このようなプロセスは {count} 個あり、順番に動いていて、それぞれの寿命は平均 {each} です。";
    CAUSE_THREADS_IN_TURN = "cause-threads-in-turn", "There are {count} such threads, one after another, each of which lives for {each} on average.",
        "このようなスレッドは {count} 個あり、順番に動いていて、それぞれの寿命は平均 {each} です。";
    CAUSE_ASKED_ADDRESS = "cause-asked-address", "Nearly all that it asked was at {endpoint}.", "問い合わせのほとんどは {endpoint} に対するものでした。";
    CAUSE_RAN_IN_TURN_BETWEEN = "cause-ran-in-turn-between", "Between these waits it ran {places}.", "これらの待機の間には、{places} を実行していました。";
    CAUSE_RAN_BETWEEN = "cause-ran-between", "Between these waits it ran mostly {place}.", "これらの待機の間には、主に {place} を実行していました。";
    CAUSE_ALSO_OF_LOCK = "cause-also-of-lock", "More waits for {label} are because {parts}.",
        "{label} への待機には、ほかにも原因があります: {parts}。";
    CAUSE_PIECES = "cause-pieces", "Most of it: {pieces}.", "主な部分: {pieces}。";
    END_RAN = "end-ran", "{who} ran {place} for {part} of the program's {elapsed}.",
        "{who} は {place} を、プログラムの {elapsed} のうち {part} の間実行しました。";
    END_COLLECTED = "end-collected", "{who} collected garbage for {part} of the program's {elapsed}.",
        "{who} は、プログラムの {elapsed} のうち {part} の間、ガベージを回収しました。";
    END_SLEPT = "end-slept", "{who} slept in {place} for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間スリープしました。";
    END_TIMED_OUT = "end-timed-out",
        "{who} waited for {label} until its time-out in {place} for {part} of the program's {elapsed}.",
        "{who} は {place} で {label} をタイムアウトまで、プログラムの {elapsed} のうち {part} の間待ちました。";
    END_LOOP_TIMER = "end-loop-timer",
        "{who} waited in its event loop for a timer of its own in {place} for {part} of the program's {elapsed}.",
        "{who} は {place} のイベントループで、プログラムの {elapsed} のうち {part} の間、自身のタイマーを待ちました。";
    END_AWAITED = "end-awaited",
        "{who} waited for {label} in {place}, ended by {by}, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ちました (待機を終わらせたもの: {by})。";
    END_DEVICE = "end-device", "{who} waited for {label} in {place}, ended by the device, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ち、デバイスが待機を終わらせました。";
    END_IO_QUOTA = "end-io-quota",
        "{who} waited for {label} in {place}, held back by the I/O quota of its control group, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ち、コントロールグループの I/O クォータに抑えられていました。";
    END_MEMORY_LIMIT = "end-memory-limit",
        "{who} waited for {label} in {place}, at the memory limit of its control group, for {part} of the program's {elapsed}.",
        "{who} は {place} で、プログラムの {elapsed} のうち {part} の間 {label} を待ちました。コントロールグループがメモリーの上限に達していました。";
    CAUSE_CALLED_BY = "cause-called-by", "Called by {callers}.", "呼び出し元: {callers}。";
    CAUSE_SLEPT_FOR_OUTSIDE = "cause-slept-for-outside", "{who} slept in {place} for {served} while clients outside of the recording waited for it.",
        "{who} は、記録の外から要求を受けているのに、{place} で {served} の間スリープしていました。要求した側はその間待っていました。";
    CAUSE_SLEPT_FOR_CLIENTS = "cause-slept-for-clients", "{who} slept in {place} for {served} while those waited who had asked it.",
        "{who} は要求を受けているのに、{place} で {served} の間スリープしていました。要求した側はその間待っていました。";
    CAUSE_RAN_FOR_CLIENTS = "cause-ran-for-clients", "{who} ran {place} for {served} while those waited who had asked it.",
        "{who} は要求を受けているのに、{place} を {served} の間実行していました。要求した側はその間待っていました。";
    CAUSE_TIMED_OUT_FOR_OUTSIDE = "cause-timed-out-for-outside", "{who} waited in vain for {label} in {place}, for {served} until its time-outs, while clients outside of the recording waited for it.",
        "{who} は、記録の外から要求を受けているのに、{place} で {label} をタイムアウトまで {served} の間むなしく待ちました。要求した側はその間待っていました。";
    CAUSE_RAN_FOR_OUTSIDE = "cause-ran-for-outside", "{who} ran {place} for {served} while clients outside of the recording waited for it.",
        "{who} は、記録の外から要求を受けているのに、{place} を {served} の間実行していました。要求した側はその間待っていました。";
    CAUSE_SLEPT_FOR_ASKED = "cause-slept-for-asked", "{who} slept in {place} for {served}, and {asker} waited for it: whoever asks that one from outside the recording waits, too.",
        "{who} は {place} で {served} の間スリープし、{asker} はその終わりを待っていました。記録の外から {asker} に要求する側も待ちます。";
    CAUSE_RAN_FOR_ASKED = "cause-ran-for-asked", "{who} ran {place} for {served}, and {asker} waited for it: whoever asks that one from outside the recording waits, too.",
        "{who} は {place} を {served} の間実行し、{asker} はその終わりを待っていました。記録の外から {asker} に要求する側も待ちます。";
    CAUSE_SLEPT_FOR_PARENT = "cause-slept-for-parent", "{who} slept in {place} for {served}, and {asker} waited for it.", "{who} は {place} で {served} の間スリープし、{asker} はその終わりを待っていました。";
    CAUSE_SLEPT_IN_WORKER = "cause-slept-in-worker",
        "{who} slept in {place} for {served}, in what it was given to do. What was given to it meanwhile waits in its queue, where no thread is seen to wait.",
        "{who} は、与えられた仕事のうち {place} で {served} の間スリープしていました。その間に与えられた仕事はキューで待ち、待っているスレッドは見えません。";
    CAUSE_RAN_FOR_PARENT = "cause-ran-for-parent", "{who} ran {place} for {served}, and {asker} waited for it.", "{who} は {place} を {served} の間実行し、{asker} はその終わりを待っていました。";
    CAUSE_SLEPT_WITHIN = "cause-slept-within", "The sleep is in {function}.", "スリープは {function} の中です。";
    MEANWHILE_RAN = "meanwhile-ran", "Meanwhile {who} ran {place} for {time}.", "その間、{who} は {place} を {time} 実行していました。";
    MEANWHILE_AT_WORK = "meanwhile-at-work", "Meanwhile {who} ran or was ready to, mostly in {place}, for {time}.", "その間、{who} は主に {place} を {time} 実行していたか、実行可能でした。";
    MEANWHILE_SLEPT = "meanwhile-slept", "Meanwhile {who} slept in {place} for {time}.", "その間、{who} は {place} で {time} スリープしていました。";
    MEANWHILE_WAITED = "meanwhile-waited", "Meanwhile {who} waited in {place} for {time}.",
        "その間、{who} は {place} で {time} 待っていました。";
    MEANWHILE_ASKED = "meanwhile-asked", "Meanwhile {who} waited for an answer in {place} for {time}.", "その間、{who} は {place} で応答を {time} 待っていました。";
    MEANWHILE_POLLED = "meanwhile-polled",
        "Meanwhile {who} slept in {place} {count} times, {time} together, and went on when this ended.",
        "その間、{who} は {place} で {count} 回、合計 {time} スリープし、これが終わると先に進みました。";
    CAUSE_CHAIN = "cause-chain", "{time}: {chain}.", "{time}: {chain}。";
    QUEUED_WAITS = "queued-waits", "Waits of {wait} are because of that, most of them: {chain}.",
        "これによる待機は {wait} で、最も長いのは: {chain}。";
    ADVICE_CPUS_TAKEN = "advice-cpus-taken",
        "Measure again on a quiet machine. Where the neighbours stay: give the program CPUs of its own (taskset, a cpuset, CPU requests), or lower the others' weight (nice, cpu.weight, SCHED_IDLE).",
        "静かなマシンで測り直してください。他のプログラムが残る場合は、専用の CPU を割り当てる (taskset、cpuset.cpus) か、他のプログラムの重みを下げてください (cpu.weight、SCHED_IDLE)。";
    ADVICE_LOW_PRIORITY = "advice-low-priority",
        "{priority} lets everybody else go first. Where the program is to be done sooner, start it without that (nice, chrt --idle, Nice= or CPUSchedulingPolicy= of its unit); else let it run when the machine has less to do.",
        "{priority} では、他のすべてが優先されます。早く終わらせたい場合は、この指定なしで開始してください (優先度を下げる指定やユニットの設定を外す)。それ以外では、マシンが空いている時間に実行してください。";
    ADVICE_CPU_QUOTA = "advice-cpu-quota",
        "Raise or remove the quota (cpu.max, a container's CPU limit), allow bursts (cpu.max.burst), or start no more threads than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS).",
        "クォータ (cpu.max、コンテナーの CPU 制限) を上げるか外す、バーストを許可する (cpu.max.burst)、またはスレッドをクォータの CPU 数以下にしてください (GOMAXPROCS、OMP_NUM_THREADS)。";
    ADVICE_OVERSUBSCRIPTION = "advice-oversubscription",
        "If all of them compute, the CPUs are the limit: fewer take as long. Where they wait for one another (at barriers, for locks) or spin, start as many as there are CPUs, and let nested parallel regions and libraries share one pool (OMP_NUM_THREADS, a common TBB arena).",
        "すべてが計算しているなら、CPU が限界で、スレッドを減らしても所要時間は変わりません。互いに待つ (バリア、ロック) かスピンする場合は、CPU の数だけ開始し、入れ子の並列リージョンとライブラリーには 1 つのプールを共有させてください。";
    ADVICE_FEWER_ASKED = "advice-fewer-asked",
        "{asked} requests wait at once on average, but it asks {endpoint} for {asks} at a time only: they wait for their turns within the program. Let it ask for more at once (more workers or connections, a larger pool), or make these answers faster.",
        "平均 {asked} 個の要求が同時に待っていますが、{endpoint} に同時に問い合わせているのは {asks} 個だけで、残りはプログラムの中で順番を待っています。同時に問い合わせる数を増やす (ワーカー、接続、プール) か、その応答を速くしてください。";
    ADVICE_LOADS_MODULES = "advice-loads-modules",
        "Modules are loaded there: import what is not always needed where it is used, load fewer or smaller packages, or keep the process (a server, workers that are forked after the import).",
        "モジュールを読み込んでいます。常に必要でないものは使う場所で読み込む、読み込むパッケージを減らす、プロセスを使い続ける (サーバー、読み込み後にフォークするワーカー) のいずれかにしてください。";
    ADVICE_TOO_MANY_PROCESSES = "advice-too-many-processes",
        "Run as many processes at once as there are CPUs (make -j, xargs -P, the size of a pool), and keep them rather than start one for each piece of work.",
        "同時に実行するプロセスを CPU の数までにし (-j や -P の値、プールの大きさ)、処理ごとに起動せず使い続けてください。";
    ADVICE_TOO_MANY_REQUESTS = "advice-too-many-requests",
        "Requests ask for more CPU time than there is: make what they run there faster, let no more of them in at once than there are CPUs, or give the program more CPUs (of Python and Ruby, more processes).",
        "要求が使える以上の CPU 時間を必要としています。そこで実行される処理を速くするか、同時に処理する要求を CPU の数までに抑えるか、CPU を増やしてください (Python や Ruby ではプロセスを増やします)。";
    ADVICE_AFFINITY = "advice-affinity",
        "Let them run on all CPUs, or bind each to one of its own: an affinity (sched_setaffinity, pthread_setaffinity_np, taskset, OMP_PLACES, numactl) or a cpuset keeps them there.",
        "すべての CPU で実行できるようにするか、スレッドごとに別の CPU に割り当ててください。アフィニティー (sched_setaffinity、pthread_setaffinity_np、taskset、OMP_PLACES、numactl) または cpuset により、そこに留められています。";
    ADVICE_SLEPT_UNDER_LOCK = "advice-slept-under-lock", "Do not sleep while others need {label}: release it before, or sleep elsewhere.",
        "他のスレッドが {label} を必要とする間はスリープせず、先に解放するか、別の場所でスリープしてください。";
    ADVICE_POLLED = "advice-polled", "It looks again and again whether others are ready: what they did meanwhile is what to make faster.", "他のスレッドの完了を繰り返し確認しています。高速化すべきなのは、その間に他のスレッドが行っていた処理です。";
    ADVICE_POLLS_OR_PACED = "advice-polls-or-paced",
        "If each goes at the pace at which it is meant to go, nothing is wrong. Else it looks again and again whether others are ready: what they did meanwhile is what to make faster.",
        "それぞれが意図した周期で動いているなら、問題はありません。そうでなければ、他のスレッドの完了を繰り返し確認しています。高速化すべきなのは、その間に他のスレッドが行っていた処理です。";
    ADVICE_POLLED_BY_OTHERS = "advice-polled-by-others",
        "Others look again and again whether they may go on: give back what they need (a lock file, a transaction) before this sleep, and let them wait for something that wakes them.",
        "他のスレッドが、先に進めるかどうかを繰り返し確認しています。このスリープの前に、それらが必要とするもの (ロックファイル、トランザクション) を返し、起床させてくれるものを待つようにしてください。";
    ADVICE_LOCK_LOOKED_FOR = "advice-lock-looked-for",
        "Others look again and again for the lock that is held meanwhile (a transaction, a lock file): do this before it is taken or after it is given back.",
        "その間に保持されているロック (トランザクション、ロックファイル) を、他のスレッドが繰り返し確認しています。ロックを取得する前か、解放した後に行ってください。";
    ADVICE_POLLED_PACED = "advice-polled-paced",
        "If the program is meant to run for that long, and the others have work of their own at their pace, nothing is wrong. Else these look again and again whether they may go on: give back what they need (a lock file, a transaction) before this sleep, and let them wait for something that wakes them.",
        "意図した実行時間で、他のスレッドがそれぞれの周期で動いているだけなら、問題はありません。そうでなければ、それらは先に進めるかどうかを繰り返し確認しています。このスリープの前に、必要とされるもの (ロックファイル、トランザクション) を返し、起床させてくれるものを待つようにしてください。";
    ADVICE_POLLED_LOCK = "advice-polled-lock",
        "It looks again and again whether a lock is free: what keeps it is whoever has that lock. Hold it for less, or wait for it in a way that wakes up.",
        "ロックが空いたかどうかを繰り返し確認しています。待たせているのはそのロックの保持者です。保持時間を短くするか、空いたときに起床する待ち方にしてください。";
    ADVICE_VAIN_LOCK = "advice-vain-lock",
        "It looks again and again whether {object} is free: what keeps it is whoever has locked that. Hold the lock for less (of a database: shorter transactions), or wait for it in a call that wakes up (flock without LOCK_NB, fcntl with F_SETLKW).",
        "{object} が空いたかどうかを繰り返し確認しています。待たせているのはロックの保持者です。保持時間を短くするか (データベースならトランザクションを短く)、空いたときに起床する呼び出し (ノンブロッキングでないロック) で待ってください。";
    ADVICE_VAIN_LOCK_HELD = "advice-vain-lock-held",
        "It looks again and again whether {object} is free: what keeps it is {holder}. Have that hold the lock for less (of a database: shorter transactions), or wait for it in a call that wakes up (flock without LOCK_NB, fcntl with F_SETLKW).",
        "{object} が空いたかどうかを繰り返し確認しています。待たせているのは {holder} です。その保持時間を短くするか (データベースならトランザクションを短く)、空いたときに起床する呼び出し (ノンブロッキングでないロック) で待ってください。";
    ADVICE_VAIN_CONNECTION = "advice-vain-connection",
        "Nobody listened at {object} when it tried: have that listen sooner, or start this one once it is ready. Waiting for less between the tries only notices sooner that it is there.",
        "試みた時点で {object} で待ち受けるプログラムがありませんでした。待ち受けを早く始めさせるか、準備ができてからこちらを開始してください。試みの間隔を短くしても、準備できたことに早く気付くだけです。";
    ADVICE_SLEPT = "advice-slept", "Let it be woken when there is something to do (a condition variable, an event, a descriptor), or sleep for less.",
        "スリープの代わりに、仕事ができたときに起床させる (条件変数、イベント、ディスクリプター) か、スリープを短くしてください。";
    ADVICE_PACED = "advice-paced", "If the program is meant to go at that pace (a ticker, a limit of the rate), nothing is wrong. Else let it be woken when there is something to do (a condition variable, an event, a descriptor), or sleep for less.",
        "意図した周期 (定期実行、速度の制限) なら、問題はありません。そうでなければ、仕事ができたときに起床させる (条件変数、イベント、ディスクリプター) か、スリープを短くしてください。";
    ADVICE_RETRY = "advice-retry",
        "It waits before it tries again: find out why what it tries fails. Waiting for less only asks more often.",
        "再試行の前に待っています。試みている処理が失敗する理由を調べてください。待機を短くしても、問い合わせが増えるだけです。";
    ADVICE_RATE = "advice-rate",
        "A limit of the rate lets it wait: raise the limit as far as those bear it who are asked, ask for several things at once, or ask for less.",
        "レート制限によって待っています。相手が耐えられる範囲で制限を上げる、複数をまとめて問い合わせる、または問い合わせを減らしてください。";
    ADVICE_SAFEPOINT_LATE = "advice-safepoint-late", "The JVM looks there again and again whether all threads have stopped: look for one that runs on (a long loop without a call, a large copy) or has no CPU, and for who stops them so often (stack dumps, biased locks, a profiler): `-Xlog:safepoint` says why.",
        "JVM は、全スレッドが停止したかどうかを繰り返し確認しています。止まらずに動き続けるスレッド (呼び出しのない長いループ、大きなコピー) や CPU を得られないスレッド、そして頻繁に停止させているもの (スタックダンプ、プロファイラーなど) を探してください。理由は JVM のセーフポイントのログで分かります。";
    ADVICE_SLEPT_BETWEEN = "advice-slept-between",
        "If that is the pace at which it is meant to go (a sensor, a ticker), nothing is wrong. Else sleep for less, let it be woken when there is something to do, or have more threads do it at once.",
        "意図した周期 (センサーやティッカーなど) なら、問題はありません。そうでなければ、スリープを短くする、仕事ができたときに起床させる、または複数のスレッドで同時に行ってください。";
    ADVICE_SLEPT_MEANWHILE = "advice-slept-meanwhile",
        "Others wait meanwhile: sleep for less, let it be woken when there is something to do, or have more threads do it at once.",
        "その間、他のスレッドが待っています。スリープを短くする、仕事ができたときに起床させる、または複数のスレッドで同時に行ってください。";
    ADVICE_SLEPT_FOR_OUTSIDE = "advice-slept-for-outside",
        "Whoever asks waits as long, though other threads of {who} are free: sleep for less, or let it be woken when there is something to do.",
        "{who} の他のスレッドは空いていますが、要求した側は同じだけ待ちます。スリープを短くするか、仕事ができたときに起床させてください。";
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
    ADVICE_LATE_FOR_BARRIER = "advice-late-for-barrier",
        "Other programs kept threads from their CPUs, and all wait at {label} for the last one: measure again on a quiet machine. If it stays so, share the work more evenly: smaller pieces, dynamic scheduling, work stealing.",
        "他のプログラムが CPU を使ったため遅れたスレッドを、全員が {label} で待ちました。静かなマシンで測り直してください。それでも変わらなければ、仕事をより均等に分けてください: 小さな単位、動的スケジューリング、ワークスチール。";
    ADVICE_BETWEEN_REGIONS = "advice-between-regions",
        "One thread does this alone, outside the parallel regions: do it in parallel, beside them, or do less of it.",
        "並列領域の外で、1 つのスレッドだけがこれを実行しています。並列に実行する、並列領域と同時に実行する、または処理を減らしてください。";
    ADVICE_ADDRESS_SPACE = "advice-address-space",
        "All threads of a process share the kernel's lock of its address space: map, unmap and touch new memory less often (keep and reuse it, larger pieces, huge pages), or use processes.",
        "プロセスのすべてのスレッドは、アドレス空間のカーネル・ロックを共有します。メモリーのマップ、アンマップ、新しいページへのアクセスを減らす (再利用、大きな単位、ヒュージページ) か、プロセスを分けてください。";
    ADVICE_FULL = "advice-full", "Its reader does not keep up with {label}: make it faster or read more at once, write less, or let writers go on (a larger buffer, another thread).",
        "{label} の読み手が追いついていません。読み手を速くするか一度に多く読む、書き込みを減らす、または書き手を待たせない (大きなバッファー、別スレッド) ようにしてください。";
    ADVICE_GIL = "advice-gil",
        "One thread at a time runs Python code: let processes do the work that computes (multiprocessing, ProcessPoolExecutor), use a free-threaded build, or call code that releases the GIL while it computes.",
        "Python のコードを実行できるのは同時に 1 つのスレッドだけです。計算はプロセスで行う (multiprocessing)、フリースレッド版を使う、または計算中に GIL を解放するコードを呼び出してください。";
    ADVICE_GVL = "advice-gvl",
        "One thread at a time runs Ruby code: let processes do the work that computes (forked workers, such as Puma's), or call code that releases the lock while it computes.",
        "Ruby のコードを実行できるのは同時に 1 つのスレッドだけです。計算は子プロセスのワーカーで行うか、計算中にロックを解放するコードを呼び出してください。";
    ADVICE_TURNS = "advice-turns", "Threads take turns at {label}: do less in a turn, do not wait in it, or let more of them in at once.",
        "スレッドは {label} で交替しています。1 回の番で行う処理を減らす、その中で待たない、または同時に入れるスレッドを増やしてください。";
    ADVICE_CONNECTIONS = "advice-connections", "{label} is used up: give back what was taken before this, or make the pool larger.",
        "{label} を使い切っています。この処理の前に返すか、プールを大きくしてください。";
    ADVICE_POOL_WAITS_FOR_ITSELF = "advice-pool-waits-for-itself",
        "All {threads} threads of {who} wait here at once: if what they wait for is queued for the same pool, nobody is left to do it. Give it a pool of its own, or do not wait for it in a worker.",
        "{who} の {threads} 個のスレッドすべてがここで同時に待っています。待っているものが同じプールのキューにあるなら、それを行うスレッドが残っていません。別のプールに任せるか、ワーカーの中で待たないでください。";
    ADVICE_PERMITS = "advice-permits", "Only a few at a time get past {label}: let more in at once (a larger pool), ask for less, or make {place} faster.",
        "{label} を通れるのは同時に少数だけです。同時に入れる数を増やす (プールを大きくする)、問い合わせを減らす、または {place} を速くしてください。";
    ADVICE_RAN = "advice-ran", "Make this faster, or have more threads do it at once.",
        "この処理を速くするか、複数のスレッドで同時に行ってください。";
    ADVICE_RAN_IN_WORKER = "advice-ran-in-worker", "Make this faster (do less of it, keep what it found, let native code do it), or have more worker threads do it at once: a larger pool (maxThreads), smaller pieces of work.",
        "これを速くする (減らす、結果を保存する、ネイティブコードに任せる) か、ワーカースレッドを増やして同時に行ってください (プールを大きくする、仕事を小さく分ける)。";
    ADVICE_RAN_IN_SCRIPT = "advice-ran-in-script", "Make this faster (do less of it, keep what it found, let native code do it), or have several processes do it at once: of one process, {language} runs one thread at a time.",
        "この処理を速くする (減らす、結果を保持する、ネイティブコードに任せる) か、複数のプロセスで同時に行ってください。1 つのプロセスの中で {language} が同時に実行するスレッドは 1 つです。";
    ADVICE_RAN_IN_NATIVE = "advice-ran-in-native",
        "Most of it is native code in {module} already: ask that for less (fewer calls, smaller or less exact data), keep what it gives, or see whether it can use more threads.",
        "その大部分はすでに {module} のネイティブコードの中です。呼び出しやデータを減らす、結果を保持する、またはより多くのスレッドを使えるかを調べてください。";
    ADVICE_RAN_IN_PACKAGE = "advice-ran-in-package",
        "Most of it is in {function}: call that less often or for more at once, keep what it gives, or have several processes do it: of one process, {language} runs one thread at a time.",
        "その大部分は {function} の中です。呼び出しを減らすかまとめる、結果を保持する、または複数のプロセスで行ってください。1 つのプロセスの中で {language} が同時に実行するスレッドは 1 つです。";
    ADVICE_RAN_IN_KERNEL = "advice-ran-in-kernel",
        "Most of it is the kernel's work for {call}: make fewer of these calls, each for more at once.",
        "その大部分は {call} のためのカーネルの処理です。まとめて行い、呼び出しの回数を減らしてください。";
    ADVICE_RAN_IN_FUTEX = "advice-ran-in-futex",
        "Most of it is the kernel's work for futex, by which threads wait for locks and wake one another: take locks less often (do more each time, or give each thread its own part and add up at the end), and wake others for more at once.",
        "その大部分は、スレッドがロックを待ち、互いを起床させる futex のためのカーネルの処理です。ロックを取る回数を減らし (1 回にまとめて処理する、スレッドごとに持って最後に合計する)、起床もまとめて行ってください。";
    ADVICE_RAN_IN_FAULTS = "advice-ran-in-faults",
        "Most of it is the kernel's work for page faults, each for a page that is touched for the first time: touch less memory, use again what is there, take larger pages (MADV_HUGEPAGE), or start fewer processes.",
        "その大部分は、初めて触れたページごとに起きるページフォールトのためのカーネルの処理です。触れるメモリーを減らす、既にあるものを再利用する、大きなページを使う (MADV_HUGEPAGE)、または開始するプロセスを減らしてください。";
    ADVICE_PROCESSES_IN_TURN = "advice-processes-in-turn",
        "Let one process do the work of many of these, or run those at once that need not wait for one another (make -j, xargs -P).",
        "1 つのプロセスに多くの分をまとめて処理させるか、互いを待つ必要のないものを同時に実行してください。";
    ADVICE_RAN_EVERYWHERE = "advice-ran-everywhere", "Make this faster, or do less of it: the CPUs that the program may use are busy, so that more threads do not help.",
        "この処理を速くするか、減らしてください。プログラムが使える CPU はすべて動作中なので、スレッドを増やしても役に立ちません。";
    ADVICE_DEADLOCK = "advice-deadlock", "Take these locks in one order everywhere, or all at once (std::scoped_lock, std::lock, try_lock and go back); call nothing that takes another lock while one is held.",
        "これらのロックをすべての場所で同じ順序で、または一度にすべて取得してください。ロックを保持したまま、別のロックを取得するものを呼び出さないでください。";
    ADVICE_STOPPED = "advice-stopped", "Find out who stops it: job control of a shell, a debugger, a supervisor.", "誰が停止させているかを調べてください: シェルのジョブ制御、デバッガー、監視プログラムなど。";
    ADVICE_ONCE = "advice-once", "Do it earlier, at the start or in the background, or make it faster: all who need {label} wait for the first.",
        "{label} を必要とするすべてのスレッドが最初の 1 つを待ちます。開始時やバックグラウンドで先に行うか、速くしてください。";
    ADVICE_RWLOCK_UNFINISHED = "advice-rwlock-unfinished", "Either readers that overlap never let a writer in: let writers go first (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, another kind of lock), or have readers keep {label} for less. Or whoever has it did not give it back: look for a thread that waits itself while it has it (a deadlock), or returned without releasing it.",
        "重なり合う読み取り側が書き込み側を入れないか、{label} を持つスレッドが解放していません。前者なら書き込み側を優先する (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP など) か、読み取りの保持を短くしてください。後者なら、保持したまま待機しているスレッド (デッドロック) や、解放せずに戻ったスレッドを探してください。";
    ADVICE_LOCK_UNFINISHED = "advice-lock-unfinished", "Whoever has {label} did not give it back: look for a thread that waits itself while it has it (a deadlock), that ended or returned without releasing it, or that works for so long.",
        "{label} を持つスレッドが解放していません。保持したまま自身も待機している (デッドロック)、解放せずに終了または戻った、あるいは長く処理しているスレッドを探してください。";
    ADVICE_COLLECTED = "advice-collected",
        "Allocate less, keep less alive, or give the heap more room ({settings}); a collector that works beside the program stops it for less.",
        "メモリーの割り当てと生存するオブジェクトを減らすか、ヒープを大きくしてください ({settings})。プログラムと並行して動作するコレクターは停止時間が短くなります。";
    ADVICE_LIBUV_POOL = "advice-libuv-pool",
        "A thread of libuv's pool does this, which is for all files, names, compression and cryptography: make the pool larger (UV_THREADPOOL_SIZE, 4 unless it is set), or give this a worker of its own (worker_threads).",
        "これは、ファイル、名前解決、圧縮、暗号のすべてに使われる共用のプールのスレッドが行っています。プールを大きくするか (UV_THREADPOOL_SIZE、既定は 4)、専用のワーカーに移してください。";
    ADVICE_COLLECTION_ASKED = "advice-collection-asked",
        "The program asks for these collections itself, at {place}: leave that to the runtime, or do it when nobody waits (-XX:+DisableExplicitGC of the JVM leaves it out).",
        "このガベージコレクションはプログラム自身が {place} で要求しています。ランタイムに任せるか、誰も待っていないときに行ってください (JVM には無効にするオプションもあります)。";
    ADVICE_POOL = "advice-pool", "{threads} {threads|thread|threads} of {who} {threads|was|were} without work for {idle} of {threads|its|their} time only: add workers, or make {place} faster.",
        "{who} の {threads} 個のスレッドに仕事がなかった時間は {idle} だけです。ワーカーを増やすか、{place} を速くしてください。";
    ADVICE_POOL_OR_PACE = "advice-pool-or-pace",
        "If that is the pace at which it is meant to go (a sensor, a ticker), nothing is wrong. Else {threads} {threads|thread|threads} of {who} {threads|was|were} without work for {idle} of {threads|its|their} time only: add workers, or make {place} faster.",
        "意図した周期 (センサーやティッカーなど) なら、問題はありません。そうでなければ、{who} の {threads} 個のスレッドに仕事がなかった時間は {idle} だけです。ワーカーを増やすか、{place} を速くしてください。";
    ADVICE_POOL_OF_ONE = "advice-pool-of-one",
        "The only thread of {who} had work for {busy} of its time, and whoever asks waits for it: make {place} faster, have another thread or process do it, or run more of them.",
        "{who} の唯一のスレッドは時間の {busy} の間処理中で、要求する側はこれを待っています。{place} を速くする、別のスレッドやプロセスに任せる、または数を増やしてください。";
    ADVICE_TRANSACTION_OPEN = "advice-transaction-open",
        "Its client keeps a transaction open meanwhile, and others wait for {label}: commit before doing anything else (a call to another service, a pause), and keep transactions short.",
        "その間クライアントがトランザクションを開いたままで、他が {label} を待っています。他の処理 (別のサービスの呼び出し、停止) の前にコミットし、トランザクションを短くしてください。";
    ADVICE_POOL_OUTSIDE = "advice-pool-outside",
        "{threads} {threads|thread|threads} of {who} {threads|spends|spend} {share} of {threads|its|their} time here, and none is free: whoever asks waits for one. Add workers, or record what they wait for: `dwell collect threading --target-pid PID`.",
        "{who} の {threads} 個のスレッドは時間の {share} をここで過ごし、空きがありません。要求する側は空きを待っています。ワーカーを増やすか、待っている相手も記録してください: `dwell collect threading --target-pid PID`。";
    ADVICE_LOOP_ANSWERS = "advice-loop-answers",
        "The loop has nothing else to do until these answers come. If requests wait meanwhile, ask for more at once (a larger pool of connections, no lock around the question), or make them faster: `dwell collect threading --target-pid PID` records who answers.",
        "これらの応答が来るまで、ループにはほかにすることがありません。その間に要求が待っているなら、同時により多く問い合わせる (接続プールを大きくする、問い合わせをロックで囲まない) か、応答を速くしてください。応答する側は `dwell collect threading --target-pid PID` で記録できます。";
    ADVICE_FEW_AT_A_TIME = "advice-few-at-a-time",
        "Only {count} of {who} {count|works|work} at a time, while {waiters} wait on average: raise what lets no more in (a limit of connections, a pool, one worker), or make {place} faster.",
        "平均 {waiters} 個が待つ間、{who} で同時に動いているのは {count} 個だけです。同時に入れる数の制限 (接続数、プール、ワーカー数) を上げるか、{place} を速くしてください。";
    ADVICE_LOCK_NOT_HELD = "advice-lock-not-held", "This is not done under {label}, which was free meanwhile, or kept for a thread that had no CPU yet: wake fewer threads at once, or give the program more CPUs.",
        "これは {label} を保持せずに行われています。その間ロックは空いていたか、起床したスレッドにまだ CPU がありませんでした。同時に起床させるスレッドを減らすか、CPU を増やしてください。";
    ADVICE_QUEUED_HOLDER = "advice-queued-holder", "Who holds {label} has no CPU, and keeps all others: hold it for less, and neither yield nor wait in it; or give it a higher priority (of a pthread mutex PTHREAD_PRIO_INHERIT does that), or the program more CPUs.", "{label} の保持者に CPU がなく、他のすべてを待たせています。保持する時間を短くし、保持中に CPU を譲ったり待機したりしないか、保持者の優先度を上げる (ミューテックスでは PTHREAD_PRIO_INHERIT) か、プログラムに CPU を増やしてください。";
    ADVICE_QUEUED = "advice-queued", "More threads are ready than there are CPUs: run fewer at once, give the program more CPUs, or give this thread a higher priority.",
        "CPU より多くのスレッドが実行可能です。同時に実行するスレッドを減らすか、CPU を増やすか、このスレッドの優先度を上げてください。";
    ADVICE_QUEUED_OWN = "advice-queued-own", "Other threads of the program had the CPUs, not many more than there are: make what these ran faster, or give the program more CPUs.",
        "プログラムの他のスレッドが CPU を使っていました。スレッドの数は CPU よりあまり多くありません。それらの処理を速くするか、CPU を増やしてください。";
    ADVICE_QUEUED_FIBERS = "advice-queued-fibers",
        "It was ready, and the runtime ran others: compute in fewer goroutines at once, or let more run (GOMAXPROCS, or the CPU limit that it follows).",
        "実行可能でしたが、ランタイムは他のゴルーチンを実行していました。同時に計算するゴルーチンを減らすか、並列度 (GOMAXPROCS、または CPU の制限) を上げてください。";
    ADVICE_QUEUED_OTHERS = "advice-queued-others", "Other programs had the CPUs: the account of the run queue in `dwell report explain` says how long, and which were seen.",
        "他のプログラムが CPU を使っていました。その時間と名前は `dwell report explain` の実行キューの内訳にあります。";
    ADVICE_QUEUED_WAKING = "advice-queued-waking",
        "Most of it is what a CPU needs to take up a thread that was woken: hand over less often, more at once.",
        "その大半は、起床したスレッドが CPU に載るまでの時間です。受け渡しの回数を減らし、一度に多く渡してください。";
    ADVICE_QUEUED_BESIDE = "advice-queued-beside", "Other programs had the other CPUs: the account of the run queue in `dwell report explain` says how long, and which were seen.",
        "他のプログラムが残りの CPU を使っていました。その時間と名前は `dwell report explain` の実行キューの内訳にあります。";
    ADVICE_QUEUED_QUOTA = "advice-queued-quota", "Other programs had the CPU, or a quota was used up: the account of the run queue in `dwell report explain` says which.",
        "他のプログラムが CPU を使っていたか、クォータを使い切りました。`dwell report explain` に実行キューの内訳があります。";
    ADVICE_LOCK_TIMED_OUT = "advice-lock-timed-out",
        "Another thread had {label} all the time (`dwell report blame` names it): hold it for less, and take locks in one order everywhere.",
        "別のスレッドがずっと {label} を保持していました (`dwell report blame` で確認できます)。保持時間を短くし、ロックを取得する順序を統一してください。";
    ADVICE_LOOP_TIMED_OUT = "advice-loop-timed-out", "If that is a time-out (wait_for, tokio::time::timeout, AbortSignal.timeout), what it waited for did not come: find out who was to answer (an early return, an error that is swallowed, a sender or a promise that nobody uses). Else it is a sleep or a delay (asyncio.sleep, setTimeout), which may be meant.",
        "これがタイムアウト (asyncio.wait_for など) であれば、待っていたものは届きませんでした。誰が応答するはずだったか (途中での終了、握りつぶされたエラー、使われない送信側) を調べてください。そうでなければスリープや遅延 (asyncio.sleep など) で、意図したものかもしれません。";
    ADVICE_LOOP_PACED = "advice-loop-paced", "If the program is meant to go at that pace, nothing is wrong. Else look for the sleep, the delay or the interval that set the timer (asyncio.sleep, tokio::time::sleep, setTimeout, setInterval, timer:sleep, pg_sleep, timerfd_settime, Thread.sleep of a virtual thread), first where a lock or a permit is held meanwhile.",
        "意図した周期なら、問題はありません。そうでなければ、タイマーを設定したスリープ、遅延、間隔 (asyncio.sleep など) を探してください。特に、その間ロックや許可を保持している場所です。";
    ADVICE_REQUESTS_LIMITED = "advice-requests-limited",
        "Look for what lets no more than {connections} in: the size of the pool of connections or of clients, a semaphore, a limit per host (TCPConnector(limit=), maxSockets, max_connections). Raise it as far as {endpoint} bears it, or make its answers faster.",
        "同時に {connections} 件までに制限しているもの (接続プールの大きさ、セマフォ、ホストごとの上限など) を探し、{endpoint} が耐えられる範囲で増やすか、応答を速くしてください。";
    ADVICE_REQUESTS_ONE_BY_ONE = "advice-requests-one-by-one",
        "It asks {endpoint} for one thing at a time. Where one question does not need the answer to another, ask both at once (asyncio.gather, Promise.all, join!, a batch). Where many wait for that connection already, let more in: a pool, a larger limit per host, no lock around the question. If it carries many at once (HTTP/2, gRPC, a pipeline), make the answers faster.",
        "{endpoint} に一度に 1 件ずつ問い合わせています。互いの結果を必要としない問い合わせは同時に行ってください (asyncio.gather、Promise.all など)。すでに多くがその接続を待っている場合は、プールやホストごとの上限を増やすか、問い合わせを囲むロックをなくしてください。一度に多くを運ぶ接続であれば、応答を速くしてください。";
    ADVICE_DATAGRAMS = "advice-datagrams",
        "If datagrams come unasked (a forwarder, a stream), nothing is wrong. Else {count} answers took {mean} each on average, one at a time: ask for several things at once. `dwell collect threading --target-pid PID` records who answers.",
        "データグラムが要求なしに届くもの (転送やストリームなど) であれば、問題はありません。そうでなければ、{count} 件の応答に平均 {mean} ずつ、1 件ずつかかっています。複数を同時に問い合わせてください。応答する側は `dwell collect threading --target-pid PID` で記録できます。";
    ADVICE_CLIENT_ONE_BY_ONE = "advice-client-one-by-one",
        "If it waits there for messages or jobs, nothing is wrong. Else it asks {endpoint} for one thing at a time: where one question does not need the answer to another, ask both at once (asyncio.gather, Promise.all, join!, a batch); where many wait for that connection already, let more in (a pool, a larger limit per host, no lock around the question).",
        "そこでメッセージやジョブを待っているのであれば問題はありません。そうでなければ {endpoint} に一度に 1 件ずつ問い合わせています。互いの結果を必要としない問い合わせは同時に行い (asyncio.gather、Promise.all など)、すでに多くがその接続を待っている場合は、プールやホストごとの上限を増やすか、問い合わせを囲むロックをなくしてください。";
    ADVICE_CLIENT_LIMITED = "advice-client-limited",
        "If it is meant to ask no more at once, or waits there for messages or jobs, nothing is wrong. Else look for what lets no more than {connections} in: the size of the pool of connections or of clients, a semaphore, a limit per host (TCPConnector(limit=), maxSockets, max_connections). Raise it as far as {endpoint} bears it, or make its answers faster.",
        "これ以上同時に問い合わせないことが意図どおりか、そこでメッセージやジョブを待っているのであれば問題はありません。そうでなければ、同時に {connections} 件までに制限しているもの (接続プールの大きさ、セマフォ、ホストごとの上限など) を探し、{endpoint} が耐えられる範囲で増やすか、応答を速くしてください。";
    ADVICE_ONE_IN_USE = "advice-one-in-use",
        "Of the {connections} connections to {endpoint} hardly more than one waits for an answer at a time: look for a lock or a semaphore that is kept while it waits for the answer (asyncio.Lock, tokio::sync::Mutex), and ask at once what does not need the answer to another question (asyncio.gather, Promise.all, join!).",
        "{endpoint} への {connections} 本の接続のうち、同時に応答を待っているのはほぼ 1 本だけです。応答を待つ間に保持しているロックやセマフォ (asyncio.Lock など) を探し、互いの結果を必要としない問い合わせは同時に行ってください (asyncio.gather、Promise.all など)。";
    ADVICE_ANSWERED_WITHIN = "advice-answered-within",
        "This program answers at {endpoint} itself: look at what its own threads do for an answer, make that faster, or have more of them do it at once. If more wait than are asked at once, let more ask (a pool, a limit of connections).",
        "{endpoint} ではこのプログラム自身が応答しています。応答のために自身のスレッドが何をしているかを調べ、それを速くするか、同時に行う数を増やしてください。待つ数が同時に問い合わせる数より多いなら、問い合わせる数 (プール、接続数の上限) を増やしてください。";
    ADVICE_REQUESTS_FOR_OTHER = "advice-requests-for-other",
        "Nothing in this program keeps these requests: make the answers of {endpoint} faster, keep them for later (a cache), or ask for several things at once. `dwell collect threading --target-pid PID` records that program.",
        "このプログラムの中に要求を待たせているものはありません。{endpoint} の応答を速くする、結果を保存する (キャッシュ)、または複数を同時に問い合わせてください。そのプログラムは `dwell collect threading --target-pid PID` で記録できます。";
    ADVICE_ACCEPT_KEPT_ALIVE = "advice-accept-kept-alive",
        "All workers are taken by connections on which they wait for the next request. Use more workers (MaxRequestWorkers, --threads), let idle connections end sooner (KeepAliveTimeout), or use a server that needs no worker for an idle connection (an event loop, the event MPM).",
        "すべてのワーカーが、次の要求を待つ接続に使われています。ワーカーを増やす、アイドルの接続を早く閉じる (キープアライブの時間を短くする)、またはアイドルの接続にワーカーを使わないサーバー (イベントループ) にしてください。";
    ADVICE_ACCEPT_LIMIT = "advice-accept-limit",
        "The event loop has time and does not accept: look for a limit of open connections (maxconn, worker_connections) or of open files (`ulimit -n`, LimitNOFILE), and raise it, or let idle connections end sooner.",
        "イベントループには時間があるのに受け付けていません。接続数の上限またはオープンファイル数の上限を確かめて増やすか、アイドルの接続を早く閉じてください。";
    ADVICE_ACCEPT_RAN = "advice-accept-ran",
        "They have no time to accept: make what they run faster, or have more workers, as many as there are CPUs.",
        "受け付ける時間がありません。実行している処理を速くするか、ワーカーを CPU の数まで増やしてください。";
    ADVICE_ACCEPT_WAITED = "advice-accept-waited",
        "What keeps these threads keeps every new connection: make it shorter, use more workers, or let a thread that does nothing else accept.",
        "これらのスレッドを待たせるものが、新しい接続をすべて待たせます。それを短くする、ワーカーを増やす、または受け付けだけをするスレッドを使ってください。";
    ADVICE_REQUESTS_FOR_TIMER = "advice-requests-for-timer",
        "Look for what lets requests wait for a time: a limit of the rate, a sleep or back-off (asyncio.sleep, tokio::time::sleep, setTimeout), first where a semaphore or lock is held meanwhile, a batch that waits until it is full. Requests that are meant to wait (long polls) need nothing.",
        "要求を一定時間待たせているもの (レート制限、asyncio.sleep などのスリープや再試行の間隔、いっぱいになるまで待つバッチ) を探してください。特に、その間セマフォやロックを保持している場所です。待つことが目的の要求 (ロングポーリング) はこのままで構いません。";
    ADVICE_TIMED_OUT = "advice-timed-out", "Nobody ended the wait before its time-out. If that is a timer (a delay, a clock, a retry), look for what set it; else find out why nobody answered, and ask again sooner.",
        "タイムアウトまで誰も待機を終わらせませんでした。タイマー (遅延、クロック、再試行) であれば、それを設定した場所を探してください。そうでなければ、応答がない理由を調べ、より早く再試行してください。";
    ADVICE_NO_DATAGRAM = "advice-no-datagram",
        "Nothing came back until the time-out: whoever is asked by datagrams there (a name server, a time server) does not answer. Find out why, ask another one first, or wait for less and keep what is known.",
        "タイムアウトまで何も返りませんでした。データグラムで問い合わせた相手 (ネームサーバーや時刻サーバー) が応答していません。理由を調べ、先に別の相手に問い合わせるか、待つ時間を短くして結果を保持してください。";
    ADVICE_END_TIMED_OUT = "advice-end-timed-out", "Nobody ended the wait before its time-out: wake the thread when there is something to do, or let it wait for less.",
        "タイムアウトまで誰も待機を終わらせませんでした。必要なときにスレッドを起こすか、タイムアウトを短くしてください。";
    ADVICE_TIMED_OUT_FOR_OUTSIDE = "advice-timed-out-for-outside", "What it waited for did not come. If it takes something from a pool: look for a path that does not give back what it took (an error, an early return), and give it back in a `finally`, a `with` or a destructor; else find out who was to answer.",
        "待っていたものは来ませんでした。プールから取る場合は、取ったものを返さない経路 (エラーや途中での終了) を探し、必ず返すようにしてください。そうでなければ、誰が応えるはずだったかを調べてください。";
    ADVICE_TIMED_OUT_EXPECTED = "advice-timed-out-expected", "Nothing came until the time-out, though {expected} usually answers: find out why it did not, and ask again sooner.",
        "通常は {expected} が応答しますが、タイムアウトまで何も届きませんでした。応答しなかった理由を調べ、より早く再試行してください。";
    ADVICE_OUTSIDE = "advice-outside", "Record that program too: `dwell collect threading --target-pid PID`, or start both under one shell.",
        "そのプログラムも記録してください: `dwell collect threading --target-pid PID`、または両方を 1 つのシェルから起動します。";
    ADVICE_FILE_SERVER = "advice-file-server", "Most likely another program serves that file system (FUSE: sshfs, a cloud's folder), and each wait is a question to it: ask for fewer files or less of them, let the kernel keep what it said (attr_timeout, entry_timeout, a cache), or make it faster. `dwell collect threading --target-pid PID` records it.",
        "おそらくそのファイルシステムは別のプログラム (FUSE など) が提供しており、待機のたびに問い合わせています。問い合わせるファイルを減らす、応答をカーネルに保持させる (attr_timeout、entry_timeout、キャッシュ)、または提供側を速くしてください。提供側は `dwell collect threading --target-pid PID` で記録できます。";
    ADVICE_BLOCKS_LOOP = "advice-blocks-loop",
        "This thread runs an event loop, and does nothing else of the loop meanwhile: await it, or do it in another thread (asyncio.to_thread, run_in_executor, spawn_blocking, an executor of its own).",
        "このスレッドはイベントループを実行しており、その間このスレッドではループのほかの処理は進みません。非同期に待つか、別のスレッドで行ってください (asyncio.to_thread、run_in_executor、spawn_blocking など)。";
    ADVICE_SENDS_UNASKED = "advice-sends-unasked",
        "If these are events as they occur (a subscription, a stream, a queue), nothing is wrong. Else the other end is slow to send: look there.",
        "起きたことを知らせるデータ (購読、ストリーム、キュー) なら問題ありません。そうでなければ相手の送信が遅いので、そちらを調べてください。";
    ADVICE_ONE_AT_A_TIME = "advice-one-at-a-time",
        "{count} answers took {mean} each on average, one at a time[ in each of {threads} threads]: ask for several things at once (a batch, a join, a pipeline, more connections). `dwell collect threading --target-pid PID` records who answers.",
        "{count} 件の応答を[ {threads} 個のスレッドでそれぞれ] 1 件ずつ、平均 {mean} 待ちました。複数をまとめて問い合わせてください (一括処理、パイプライン、より多くの接続など)。応答する側は `dwell collect threading --target-pid PID` で記録できます。";
    ADVICE_KERNEL = "advice-kernel", "The kernel did that in a thread of its own (write-back, RCU, a driver): do what it waits for less often.",
        "カーネル自身のスレッド (書き戻し、RCU、ドライバーなど) が処理していました。その呼び出しの回数を減らしてください。";
    ADVICE_NETWORK = "advice-network", "`dwell collect threading --analyze threading,sockets` tells what the other end and TCP did.",
        "`dwell collect threading --analyze threading,sockets` で、相手側と TCP の動作が分かります。";
    ADVICE_HELD_BACK = "advice-held-back",
        "Both ends are on this machine. Where these waits last 40 ms or more each, TCP holds small pieces back (Nagle's algorithm, delayed ACKs): send a message at once, or set TCP_NODELAY. `dwell collect threading --analyze threading,sockets` tells.",
        "両端は同じマシンにあります。待機がそれぞれ 40 ms 以上なら、TCP が小さな断片を保留しています (Nagle アルゴリズム、遅延 ACK)。メッセージを一度に送るか TCP_NODELAY を設定してください。`dwell collect threading --analyze threading,sockets` で分かります。";
    ADVICE_DELAYED_ACK = "advice-delayed-ack",
        "Both ends are on this machine, and {count} times the data came by a timer, after {mean} on average: most likely TCP held back a small piece (Nagle's algorithm) until the other end's delayed ACK. Send a message at once (one writev, a buffer), or set TCP_NODELAY.",
        "両端は同じマシンにあり、{count} 回、データは平均 {mean} 後にタイマーによって届きました。TCP が小さな断片を、相手の遅延 ACK まで保留している可能性が高いです (Nagle アルゴリズム)。メッセージを一度に送る (バッファーにまとめる) か、TCP_NODELAY を設定してください。";
    ADVICE_BACKLOG = "advice-backlog",
        "Both ends are on this machine, and connecting took {mean} on average, {count} {count|time|times}: most likely whoever listens has no room for more connections, and TCP asks again after 1 s. Accept sooner (more threads, nothing slow in the loop that accepts), or allow more to wait: listen(), net.core.somaxconn.",
        "両端は同じマシンにあり、接続に平均 {mean} かかりました ({count} 回)。おそらく待ち受ける側の接続キューに空きがなく、TCP は 1 秒後に再要求しています。早く受け付ける (スレッドを増やす、受け付けるループで遅い処理をしない) か、キューを大きくしてください: listen()、net.core.somaxconn。";
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
    ADVICE_CUT_OFF = "advice-cut-off", "The recording ended first, and other threads of the process were at work meanwhile: what they did may be what it waits for. Record until it ends.",
        "記録が先に終わりました。その間、同じプロセスの別のスレッドが動作しており、それを待っている可能性があります。終わるまで記録してください。";
    ADVICE_UNFINISHED_USUAL = "advice-unfinished-usual", "The recording ended first: such waits ended before, as the larger cause says.",
        "記録が先に終わりました。同様の待機は、より大きな原因が示すとおり、それまでは終わっていました。";
    ADVICE_UNFINISHED = "advice-unfinished", "Nothing came for as long as was recorded: find out who should answer.",
        "記録の間に何も届きませんでした。誰が応答すべきかを調べてください。";
    ADVICE_UNFINISHED_FIBER = "advice-unfinished-fiber", "It was found there at each look. If it never went on, look for who should have ended it: a Done or an Unlock that an early return leaves out, a channel that nobody receives from or closes, a notification that came before the wait, rows that are not closed. `dwell collect threading --fibers exact` tells whether it went on.",
        "毎回ここで待っていました。一度も進んでいないなら、終わらせるはずだったものを探してください: 終了や解放の呼び出しを抜かして途中で戻る経路、受信されない、または閉じられないチャネル、待機より前の通知、閉じられていない行。進んだかどうかは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_POOL_USED_UP = "advice-pool-used-up", "All connections were taken: look for who takes a second one while it has the first, or does not give back what it took (an error, an early return, rows that are not closed). Else make the pool larger, or each use shorter.",
        "すべての接続が使用中でした。1 つ目を持ったまま 2 つ目を取る処理や、取ったものを返さない経路 (エラー、途中で戻る処理、閉じられていない行) を探してください。そうでなければ、プールを大きくするか、1 回の使用を短くしてください。";
    ADVICE_NEW_CONNECTION = "advice-new-connection", "It waits until a connection is made, or one is free where their number is limited: keep connections and use them again (read each answer to its end and close its body, MaxIdleConnsPerHost), and raise the limit (MaxConnsPerHost) if there is one.",
        "接続の確立、または数が制限されている場合は空きを待っています。接続を保持して再利用し (応答を最後まで読んで閉じる)、ホストごとの上限があれば増やしてください。";
    ADVICE_IN_TURN = "advice-in-turn", "Have several of them run at once (make -j, xargs -P, a pool; of std::async keep the futures until all have begun), or let each take less.",
        "複数を同時に実行する (並列ビルド、プール。非同期の呼び出しでは、すべてを開始するまで戻り値を保持する) か、それぞれの時間を短くしてください。";
    ADVICE_LOCK_STANDS_STILL = "advice-lock-stands-still", "No thread of the program is left that could give it back: most likely threads wait for each other (a deadlock), each with a lock that another one wants. Have all take their locks in one order, or look for who ended or returned without releasing {label}.",
        "これを解放できるスレッドは残っていません。互いに相手が必要とするロックを持ったまま待っている (デッドロック) と考えられます。すべてのスレッドが同じ順序でロックを取るようにするか、{label} を解放せずに終了または戻ったスレッドを探してください。";
    ADVICE_STANDS_STILL = "advice-stands-still", "No thread of the program is left that could end it: look for a notification that came before the wait, a count that is never reached since somebody ended early (an exception), a queue that nobody fills or closes, or workers that wait for work which only they could do.",
        "これを終わらせられるスレッドは残っていません。待機より前に行われた通知、途中で終わったスレッド (例外など) のために達しないカウント、誰も書き込まない、または閉じないキュー、自分たちにしかできない作業を待つワーカーを探してください。";
    ADVICE_ENDED = "advice-ended", "The more memory a program has when it exits, and the more of its files wait to be written, the longer this takes: have it give back less at once, or start it less often.",
        "終了時に持つメモリーや書き込み待ちのファイルが多いほど、これには時間がかかります。一度に解放する量を減らすか、起動の回数を減らしてください。";
    ADVICE_UNFINISHED_SHORT = "advice-unfinished-short", "The recording ended soon after this wait began: record for longer to see how it ends.",
        "この待機が始まってすぐに記録が終わりました。どう終わるかを見るには、より長く記録してください。";
    ADVICE_TOOLS = "advice-tools", "The program does not hold that: the kernel does for work of its own, or a tool that looks at the program, Dwell too (a profiler's probes, a reader of /proc/PID/maps). Without such a tool the wait is gone, most likely.",
        "プログラム自身が保持しているものではありません。カーネルの内部処理か、プログラムを調べるツール (Dwell を含むプロファイラーのプローブ、/proc の読み取り) が保持しています。そのようなツールがなければ、おそらくこの待機はなくなります。";
    ADVICE_CIRCLE = "advice-circle",
        "Each of them waits for another one of them, and what began it was not seen: look at what each does in its turn (`dwell report critical-path`).",
        "互いに待ち合っており、最初の原因は記録されていません。それぞれが自分の番に何をしているかを見てください (`dwell report critical-path`)。";
    ADVICE_UNSEEN = "advice-unseen", "Who ended it was not seen: `dwell report losses` says what is missing.",
        "待機を終わらせたものは記録されていません。`dwell report losses` で欠けているものが分かります。";
    ADVICE_INTERRUPT = "advice-interrupt", "An interrupt of a device or a timer ended it, and no thread: make the call that waits for that less often.",
        "スレッドではなく、デバイスまたはタイマーの割り込みが終わらせました。これを待つ呼び出しの回数を減らしてください。";
    ADVICE_MEANWHILE_WAITED = "advice-meanwhile-waited", "It waits for goroutines that it started, and these wait themselves: look there for what does not come or lets few in (a lock, a pool, a condition that was signalled before the wait, a channel). `dwell collect threading --fibers exact` sees who ended what.",
        "自分が開始したゴルーチンを待っており、それらも待っています。そこで、届かないもの、または少数しか通さないもの (ロック、プール、待機より前に通知された条件、チャネル) を探してください。何が何を終わらせたかは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_MEANWHILE_RAN = "advice-meanwhile-ran", "If what others ran meanwhile is what gives the answer, make it faster, do less of it, or let fewer ask at once than there are CPUs for it.",
        "その間に他のスレッドが実行していたものが応答を作っているのであれば、それを速くするか減らす、または CPU の数に合わせて同時に問い合わせる数を減らしてください。";
    ADVICE_MEANWHILE = "advice-meanwhile", "Look first at what others did meanwhile; `dwell collect threading --fibers exact` sees who ended it.",
        "まず、その間に他のスレッドがしていたことを調べてください。待機を終わらせたものは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_MEANWHILE_PACED = "advice-meanwhile-paced", "If the program is meant to go at the pace of these sleeps, nothing is wrong. Else look at these first: sleep for less, or have more of them do it at once; `dwell collect threading --fibers exact` sees who ended the wait.",
        "プログラムがこれらのスリープの周期で動く想定なら、問題はありません。そうでなければ、そのスリープを短くするか、同時に行う数を増やしてください。待機を終わらせたものは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_WAIT_GROUP_OF_FIBERS = "advice-wait-group-of-fibers", "It waits for goroutines that it started: what these did meanwhile is the cause. `dwell report fibers` says what each did, and `dwell collect threading --fibers exact` sees who was the last.",
        "開始したゴルーチンの終了を待っています。原因は、その間にそれらがしていたことです。それぞれの動作は `dwell report fibers` で、最後に終わったものは `dwell collect threading --fibers exact` で分かります。";
    ADVICE_UNSEEN_OF_FIBERS = "advice-unseen-of-fibers", "Who ended it cannot be seen of sampled goroutines: `dwell collect threading --fibers exact` sees it. A ticker's channel keeps its pace.",
        "サンプリングしたゴルーチンでは、待機を終わらせたものは分かりません。`dwell collect threading --fibers exact` で分かります。ティッカーのチャネルなら、その周期です。";
}
