// 日本語 for the remarks of collection, finalization and merging. Ids and names of values are those of
// crates/analyze/src/notices.rs, whose English is the source; a test compares them.

export const noticesJa: Record<string, string> = {
  'wakes-from-interrupts':
    'このカーネルでは、実行中のスレッドに割り込んだ処理による起床が、そのスレッドによるものとみなされます。',
  'collector-died':
    '収集プログラムが結果を閉じずに終了しました。記録されたのは最初の {seconds} 秒です。終了直前の出来事、損失、プログラムの終了ステータスは含まれていません。',
  'without-bpf':
    'BPF なしで記録しました ({error})。損失に失われた perf レコードがなければ、待機とその回数は正確です。プロファイル対象外からの起床と、その起床から CPU を得るまでの時間は分かりません。',
  'kernel-unseen':
    'カーネルが何をしたかは分かりません。一般ユーザーに見えるのは kernel.perf_event_paranoid が 1 以下の場合だけです。',
  'calls-untraced': 'システムコールをトレースできませんでした。短い待機が何を待ったかは分かりません。',
  'system-calls-uncounted-without-bpf': 'BPF なしではシステムコールは数えられません。',
  'fewer-calls-traced':
    'プログラムが多くのスレッドを作成するため、負荷を抑えるよう以後はトレースするシステムコールを減らし、最後は futex だけにしました。ほかの待機は数ミリ秒続いた場合に分かります。',
  'wakers-unknown': 'このカーネルでは、誰が待機を終わらせたかは分かりません ({error})。',
  'socket-waits-unexplained': 'このカーネルでは、ソケットの待機が長い理由は分かりません ({error})。',
  'system-calls-uncounted': 'このカーネルでは、システムコールは数えられません ({error})。',
  'delays-unseen': 'このカーネルでは、スレッドを遅らせるものは見えません ({error})。',
  'tracepoints-missing': 'このカーネルにはトレースポイントがないため見えないもの ({kinds} 種類): {missing}。',
  'hook-refused': 'このカーネルがフック {hook} を拒否するため見えないもの: {missing} ({error})。',
  'faults-unseen': 'このマシンではページフォルトは見えません ({error})。',
  'delay-edges-unmeasured':
    '遅延の前後でカーネルに入り、カーネルから出る時間は説明なしとなります。測定できませんでした ({error})。',
  'running-delays-late':
    '実行中のスレッドを遅らせるものは、プログラムが最初に通知を行った {seconds} 秒以降から分かります。',
  'requests-unseen': 'このカーネルでは、ソケットの要求は見えません ({error})。',
  'code-not-split': 'このカーネルでは、実行時間をコードに配分できません ({error})。',
  'threads-not-sampled': '実行中のコードがサンプリングされなかったスレッド: {threads} ({error})。',
  'code-looked-up':
    'プログラムがマップしたファイルは 20 ms ごとに /proc から読み取られました。それより短い間だけあったコードには名前がありません ({error})。',
  'asker-unknown': '他のスレッドの仕事を誰が依頼したかは分かりません ({error})。',
  'sockets-before': '収集前から開いていたソケットは、最初に使われたときから分かります ({error})。',
  'sockets-until': 'ソケットは {seconds} s までしか分かりません ({error})。',
  'itt-not-recorded': 'プログラムが ITT で通知することは記録されていません: {why}。',
  'recording-ended': 'プログラムの要求で記録を終了しました。プログラムは実行を続けました。',
  'collector-late':
    'Dwell 自身のスレッドはリアルタイム・スレッドなどのために {count} 回、最長 {seconds} 秒 CPU を待ちました。その間にマップされたコードを通るスタックは切れていることがあり、空きがなかったものは損失に示されます。',
  'made-tracer':
    'プログラムは親である Dwell に自身のトレースを求めました。Dwell はトレースせずに実行を続けさせました。',
  'data-limit': 'データの上限に達したため記録を停止しました。プログラムは実行を続けました。',
  'outliers-kept': '{outliers} 個の外れ値を、それぞれ 1 つの結果として保存しました: {folder}。',
  'outliers-not-kept': '保存できなかった外れ値があります ({failure})。',
  'no-intel-pt': '命令はトレースされていません。このマシンには Intel PT がありません。',
  'intel-pt-unusable': '命令はトレースされていません。Intel PT を使用できません ({error})。',
  'no-unwind-table': '{path} を通るスタック: {reason}。',
  'file-changed':
    '{now} は、{path} としてプロファイルされたファイルではありません (ビルド ID または日付が異なります)。その中のコードには名前がありません。',
  'file-missing':
    '{path} を読み取れませんでした。その中のコードには名前がありません。フォルダーを --search-dir で指定してください。',
  restarted: '収集の後にマシンが再起動されたため、カーネルのコードには名前がありません。',
  'kernel-names-hidden':
    'カーネルのコードには名前がありません。/proc/kallsyms がこのユーザーにアドレスを見せないためです (kernel.kptr_restrict、CAP_SYSLOG)。カーネル内のブロック I/O とロック、および他の CPU による割り込みの理由は区別されません。',
  'symbols-unread': '{path} のシンボルを読み取れませんでした: {reason}。',
  'debug-information-unread':
    '{path} のデバッグ情報は読み取られません: {reason}。名前はシンボルテーブルのもので、ソース行はありません。',
  'debuginfod-failed': 'debuginfod サーバー {server} はもう使われません: {why}。',
  'functions-not-listed': 'コードが大きすぎるため、実行された {functions} 個の関数は dwell source で表示できません。',
  'more-without-symbols': 'さらに {files} 個のファイルにシンボルがありません。',
  'code-map-damaged':
    '実行時に生成されたコードの名前を持つ modules/{name} は壊れています ({fault})。{pieces} 個のコードを読み取りました。',
  'code-map-unread': '実行時に生成されたコードの名前を持つ modules/{name} を読み取れませんでした: {error}。',
  'code-map-cut':
    '{name} には、実行時に生成されたコードが上限 (合計 {most} 個) より多くあります。残りと、それより後のマップのコードには名前がありません。',
  'spool-unread': 'スプールを読み取れませんでした: {error}。',
  'chunk-rest': 'チャンクの {bytes} バイトはレコードではありません。',
  'bytes-unread': '{name} の {bytes} バイトを読み取れませんでした: {reason}。',
  'of-two-hosts':
    '2 つのホスト {hosts} の結果です: {how}。その間の {connections} 本の接続は両端が分かり、{linked} 回の待機は相手側のスレッドが、{explained} 回はその間の動作が分かります。',
};
