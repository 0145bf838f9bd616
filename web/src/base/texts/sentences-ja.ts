// 日本語 for the server's sentences: the evidence of findings and the notes of reports. Ids and names of values are those of
// crates/analyze/src/sentences.rs, whose English is the source; a test compares them.

export const sentencesJa: Record<string, string> = {
  'lock-convoy':
    '{threads} 個のスレッドが {name} を {waits} 回、合計 {wait} 待ちました。誰かが待っている間 (時間の {share}) に待っていたスレッドは平均 {queue} 個です。',
  'within-task': 'そのうち {share} はタスク {task} の中です。',
  'gil-contention':
    '{threads} 個のスレッドが GIL を {waits} 回、合計 {wait} 待ちました。誰かが待っている間 (時間の {share}) に待っていたスレッドは平均 {queue} 個です。',
  'gil-holder': '保持していたスレッドは主に {place} を実行していました (その時間の {share})。',
  'lock-held-across-wait':
    'スレッドが {name} を待っていた時間のうち {held} ({share}) は、保持しているスレッド自身が待っていました。主に `{on}` を {place} で待っています。',
  oversubscription:
    'CPU 時間の {share} で {cpus} 個より多いスレッドが実行可能でした (実行全体の平均は {ready} 個)。実行キューで過ごした時間は {queued} で、実行した時間の {part} です。',
  'single-threaded-phase':
    '{from} から {to} まで (実行の {share}) は、スレッド {thread} だけが主に {place} で実行されました。{target} 個のスレッドが実行できたはずです。',
  'barrier-imbalance':
    '{threads} 個のスレッドが {name} で {wait} 待ちました。1 個あたり {each} で、スレッドの時間の {share} です。',
  'barrier-late': '最後に到着したスレッドは主に {place} にいました。',
  'barrier-spin': '仕事のないスレッドがバリアーで CPU 時間 {spin} (全体の {share}) を消費しました。',
  'nagle-delayed-ack':
    'このソケットの {waits} 回の待機のうち {held} 回は中央値 {median}、それ以外は {usual} です。待機時間の {share} は、Nagle アルゴリズムが遅延 ACK まで保留したデータを待つ時間です。',
  'nagle-site': '保留された {bytes} バイトの断片 {pieces} 個は {place} が送信しています。',
  'nagle-site-called':
    '保留された {bytes} バイトの断片 {pieces} 個は {place} が送信しています (呼び出し元: {caller})。',
  'nagle-gain': 'これがなければ約 {gain} 短くなります。',
  'socket-cause': '{waits} 回の待機で {cost} (中央値 {median})。待機時間の {share} です。',
  'sent-again': 'この端は {segments} 個のセグメントを再送しました。',
  'receive-buffer': '相手側の受信バッファーは {bytes} バイトです。',
  'send-buffer': '送信バッファーは {bytes} バイトです。',
  chatty: '平均 {bytes} バイトの要求 {turns} 件が、それぞれ 1 往復かかりました。',
  'chatty-shortest':
    '平均 {bytes} バイトの要求 {turns} 件が、それぞれ 1 往復かかりました。最短の往復時間は {round_trip} です。',
  'shortest-round-trip': '最短の往復時間は {round_trip} です。',
  'connection-churn':
    '{connections} 本の接続 (毎秒 {rate} 本) が、多くても {turns} 件の要求の後に閉じられました。存続時間の中央値は {life} で、接続に少なくとも合計 {made} かかりました。',
  queued:
    '{connections} 個の接続が、受け付けられるまで少なくとも合計 {queued} (平均 {each}) 待ちました。同時に待ったのは最大 {most} 個 (上限 {limit}) です。',
  dropped: 'キューに空きがないため {drops} 個が破棄されました。',
  'behind-slow':
    '{waits} 回の待機のうち {long} 回は {length} (中央値)、ほかは {usual} で、待機時間の {share} です。そのとき {questions} 個 (中央値) の要求が送信済みで、その応答は遅い応答の後になりました。',
  'small-reads':
    '{all} 回の受信のうち {short} 回 (平均 {bytes} バイト) は、届いていたデータを残しました。受信の CPU 時間は {cpu} で、その {share} がこれらの呼び出しです。',
  'counter-before':
    '{counter} (待機の直前に設定) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。',
  'counter-after':
    '{counter} (待機の直後に設定) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。',
  'counter-meanwhile':
    '{counter} (待機の開始時の値) は、約 {long_wait} の長い待機 {long_count} 回では {long_value}、約 {short_wait} の短い待機 {short_count} 回では {short_value} です。分離度は {separation}。長い待機は合計 {total} で、1 スレッドの時間の {share} です。',
  'sleep-polling': '{place} は {threads} 個のスレッドで {sleeps} 回、平均 {each}、合計 {all} スリープしました。',
  'fine-grained-waits':
    '{name} の待機は {waits} 回、平均 {each} です。実行キューの {queued} を含めると、1 スレッドの時間の {share} を占めます。',
  'thundering-herd':
    '{name} から平均 {threads} 個のスレッドが {times} 回同時に起床し、そのうち {share} はすぐにまた待機しました。',
  spinning:
    'CPU 時間のうち {spin} ({share}) がスピンに費やされました。その {part} は {place} から呼び出された {function} です。',
  'thread-churn':
    '{threads} 個のスレッド (毎秒 {rate} 個) の寿命は平均 {life} でした。最初の CPU を待つ時間は合計 {queued} です。',
  outliers:
    '{count} 個のうち {outliers} 個が外れ値です (最長 {longest}、通常は {median})。中央値を超える時間のうち {cost} ({share}) がこの原因によるものです。最悪の区間は {id}: dwell report outlier {id}。',

  losses: '記録されなかったものがあります: {lost}。損失のレポートを参照してください。',
  'nothing-lost': '失われたものはありません。',
  'put-back':
    'カーネルがどのフックにも示さず、カーネル自身の実行時間の記録から補われたコンテキスト・スイッチ: {count}。',
  'stacks-cut': '{stacks} 個のスタックのうち {share} が完全です。',
  'stacks-cut-why': '{stacks} 個のスタックのうち {share} が完全です。途切れた理由: {why}。',
  'ended-badly': '収集は正常に終了しませんでした。記録された最後のイベントを終わりとしています。',
  misplaced: '{rows} 個の区間が、同じスレッドの他の区間と重なるか、スレッドの寿命の外にあるため、切り詰めました。',
  'filtered-nothing': 'フィルターの結果、表示するものがありません。',
  'filtered-cpu': 'フィルターにより、CPU 時間の {cpu} を表示しています。',
  'filtered-wait': 'フィルターにより、待機時間の {wait} を表示しています。',
  filtered: 'フィルターにより、CPU 時間の {cpu} と待機時間の {wait} を表示しています。',
  range: '{from} から {to} まで: 経過時間の {share}。',
  'range-without': '{from} から {to} まで ({left_out} を除く): 経過時間の {share}。',
  'all-without': '{left_out} を除く全体: 経過時間の {share}。',
  'idle-last': '待機時間のうち {idle} ({share}) は仕事のないワーカーとイベントループの待機で、順位は最後です。',
  'idle-ranked':
    '待機時間のうち {idle} ({share}) は仕事のないワーカーとイベントループの待機で、他と同じように順位付けしています。',
  'unknown-time': '{unknown} はトレースから理由が分からない CPU 外の時間で、待機時間には含みません。',
  estimated:
    'CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{estimated} はサンプルが得られないほど短いスレッドのもので、CPU を離れた場所に割り当てました。',
  'no-sample':
    'CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{missing} にはサンプルがありません。',
  'estimated-no-sample':
    'CPU 時間はスレッドごとに正確です。関数への配分はサンプルによります。{estimated} はサンプルが得られないほど短いスレッドのもので、CPU を離れた場所に割り当てました。{missing} にはサンプルがありません。',
  'rows-cut': '上限により、あと {rows} 行を省略しました。',
  'nothing-found': 'Dwell が調べる問題は見つかりませんでした。',
  path: 'パスは {threads} 個のスレッドの {segments} 区間からなり、長さは {length} です。',
  'path-unfiltered': 'クリティカル・パスはプログラム全体のものです。フィルターは適用されません。',
  'path-gain': '短縮は上限です。同じ長さの別のパスがあるかもしれません。',
  'blame-longest': '{name} の保持者は、最も長い待機について調べました: 待機時間の {seen}。',
  'blame-slices': '{name} の保持者は、時間の一部の待機について調べました: 待機時間の {seen}。',
  'nobody-waited': 'これを待ったスレッドはありません。',
  'holder-taken': '待機を終わらせたスレッドを、その間の保持者とみなしています。',
  'no-tasks': 'プログラムはタスクを通知していません。ITT の呼び出しか `dwell collect --task-probe` で作られます。',
  'too-deep': '{tasks} 個のタスクは 64 個より多いタスクの中にあります。その時間は 64 番目のものとして数えます。',
  'frame-rates': '遅いフレーム: 毎秒 {slow} 未満、速いフレーム: 毎秒 {fast} 超 (--frame-rates)。',
  'no-counters': 'プログラムにカウンターがないか、値が設定されていません。',
  'not-correlated':
    'オブジェクトの短い待機と長い待機を {separation} 以上に分けるカウンターがないか、長さが 2 種類に分かれる待機がありません。',
  slices: '待機は時間の一部 ({share}) のものです。',
  'threads-hidden':
    'プログラムの指定により {threads} 個のスレッドを除いています: CPU 時間 {cpu}、待機時間 {wait}。合計には含まれます。--filter thread=NAME で表示できます。',
  'sockets-not-recorded':
    'ソケットは記録されていません。`dwell collect threading --analyze threading,sockets -- PROGRAM` で記録できます。',
  'bytes-unseen':
    '{bytes} バイトは splice または記録されていないプログラムが TCP から受け取りました。受信バイト数には含まれません。',
  'sockets-whole': 'バイト数と呼び出し回数は収集全体と全スレッドのもの、待機は選択されたものです。',
  'sockets-hidden':
    'TCP、UDP、Unix 以外のソケットは隠しています ({sockets})。待機されたものは --filter object-type=socket で表示できます。',
  'no-intervals':
    '区間がありません。プログラムはタスクを通知せず、待機したスレッドもありません。`dwell collect latency --interval` で関数、プローブ、システムコール、ソケットから区間を作れます。',
  'outlier-limit': '外れ値は {limit} より長い区間です。',
  'outlier-rule':
    '外れ値は、種類ごとの中央値に、中央値からの距離の中央値 (少なくとも {least} かつ中央値の {part} 分の 1 とします) の {distances} 倍を加えた長さを超える区間です。その時間は中央値を超える分です。',
  'delays-not-recorded':
    '割り込み、ページフォルト、システムコールなどは記録されていません。`dwell collect latency` で記録できます。',
  timelines: 'タイムライン: {signs}。',
  outlier:
    '{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} より {over} 長く、{outliers} 個の外れ値の {rank} 番目です。',
  'interval-over-median':
    '{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} より {over} 長いですが、外れ値ではありません。',
  'outlier-below-median':
    '{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} 以下で、{outliers} 個の外れ値の {rank} 番目です。',
  'interval-below-median':
    '{thread} の `{name}` ({start} に開始) は {length} かかりました。中央値 {median} 以下で、外れ値ではありません。',
  'outlier-split': '中央値を超える分の内訳: {parts}。',
  'lines-cut': '最も短い {lines} 行を省略しました。',
  'no-code': '機械語はありません: ',
  'code-made': 'コードは実行時に生成され、ファイルにはありません。',
  'code-interpreted': 'インタープリターが実行しています。',
  'code-of-kernel': 'Dwell はカーネルのコードを保存しません。',
  'code-not-kept': 'コードを保存するには実行時間が短すぎたか、{path} からはコードの終わりが分かりません。',
  'code-not-read': '最終処理のときに {path} を読み取れなかったか、シンボルがないか、高速モードで処理されました。',
  'no-lines':
    '{module} にはソース行の情報がありません。-g でビルドするか、デバッグ情報をインストールしてから収集し直してください。',
  'no-text': '結果に {file} のテキストがありません。',
  'text-not-found':
    '最終処理のときに {file} が見つかりませんでした。収集時にフォルダーを --search-dir で指定してください。',
  'text-not-readable': '{file} はコピーされていません。結果のユーザーか、{module} の所有者が読み取れません。',
  'text-too-large': '{file} はコピーされていません。大きすぎます。',
  'no-text-file': '{file} はコピーされていません。テキストではありません。',
  'text-newer': '{file} はプログラムより新しいため、行がずれているかもしれません。',
  compared: '差 = 1 番目 - 2 番目、比 = 2 番目 / 1 番目。経過時間: {first} と {second}。',
};
