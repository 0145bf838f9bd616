// 日本語 for what the server cannot answer, by the names of crates/server/src/problem.rs; a test compares them. `{error}` is its
// English sentence, which has names and numbers.

export const problemsJa: Record<string, string> = {
  offline: 'サーバーが応答しません',
  question: '要求を処理できません ({error})',
  'unknown-name': '指定された名前のものはありません ({error})',
  ambiguous: '指定された名前に該当するものが複数あります ({error})',
  'bad-filter': 'フィルターの形式が正しくありません ({error})',
  'no-listing': 'この関数のコードは結果に含まれていません ({error})',
  'empty-range': '時間範囲が空です。収集時間内で、終了が開始より後でなければなりません',
  'too-long': '要求が長すぎます。フィルターを減らしてください',
  'too-large': 'このファイルはページには大きすぎます',
  'not-a-read': '結果は読み取り専用です',
  'other-host': 'このサーバーの名前ではないアドレスで開かれています',
  'other-page': '他のサイトのページからは要求できません',
  'other-user': 'この dwell view は、実行しているユーザーのプログラムにだけ応答します',
  'not-signed-in': 'このタブには、実行中の dwell view のトークンがありません',
  'starts-none': 'この dwell view は収集を開始できません',
  'not-collected': '収集できません ({error})',
  'collector-gone': '収集を担当するプロセスが終了しています',
  missing: '要求されたものはありません ({error})',
  'no-result': 'この結果はもうフォルダーにありません',
  'log-unread': 'ログを読み取れません ({error})',
  unreadable: 'ファイルを読み取れません ({error})',
  'not-a-result': 'Dwell の結果ではありません ({error})',
  'other-version': '別のバージョンの Dwell で書かれています ({error})',
  'not-finalized': '収集されましたが、最終処理が終わっていません ({error})',
  damaged: '途中で切れているか、書き込み後に変更されています ({error})',
  internal: 'このビューを計算できません',
};

export const problemHintsJa: Record<string, string> = {
  'not-signed-in': 'dwell view が表示したアドレスをこのタブで開いてください。終了している場合は再度実行してください',
  'other-host': 'dwell view が表示したアドレスを使ってください',
  'other-version': '書き込んだバージョンの Dwell で開くか、プログラムを記録し直してください',
  damaged: '生データが残っていれば dwell finalize でテーブルを作り直せます。なければ再度収集してください',
  internal: 'コマンドラインの同じレポートで原因が分かることがあります。不具合として報告してください',
};
