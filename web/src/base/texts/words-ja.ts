// 日本語 for words by id: grouping levels, filter keys, object types, reasons and outcomes of waits. Those of metrics, findings and
// columns are made of the server's tables.

import { ANATOMY_WORDS } from './anatomy-ja';
import { wordsJa } from './generated-ja';

/** id -> [題名, 説明]. */
const WORDS: Record<string, [title: string, help?: string]> = {
  over_median: ['中央値を超える分', '中央値を超える時間の内訳。'],

  'report-task-waits': ['タスク内の待機', ''],
  'report-correlation': ['カウンターと待機', ''],
  'report-markers': ['マーカー', ''],
  counter: ['カウンター', 'カウンターの名前。フィルターでは NAME<=8 のような条件で、その値だった時間。'],
  'report-tasks': ['タスク', ''],
  'report-frames': ['フレーム', ''],
  'report-counters': ['カウンター', ''],

  waiter: ['待つ側', ''],
  'holder-running': ['保持側: 実行中', ''],
  'holder-waiting': ['保持側: 待機中', ''],
  'holder-runnable': ['保持側: 実行キュー', ''],
  holder: ['保持側', ''],
  outside: ['プログラム外', ''],
  running: ['実行中', ''],
  waiting: ['待機中', ''],
  'run-queue': ['実行キュー', ''],
  paused: ['一時停止', ''],

  preempted: ['プリエンプション', ''],
  yielded: ['CPU を譲渡', ''],
  starting: ['開始中', ''],
  woken: ['起床', ''],
  'timed-out': ['タイムアウト', ''],
  interrupted: ['中断', ''],
  unfinished: ['未完了', ''],

  mutex: ['ミューテックス', ''],
  'condition-variable': ['条件変数', ''],
  rwlock: ['読み書きロック', ''],
  semaphore: ['セマフォー', ''],
  barrier: ['バリアー', ''],
  'spin-lock': ['スピンロック', ''],
  once: ['1 回限りの初期化', ''],
  'thread-join': ['スレッドの終了', ''],
  futex: ['futex', ''],
  stream: ['ストリーム', ''],
  event: ['イベント', ''],
  timer: ['タイマー', ''],
  sleep: ['スリープ', ''],
  'child-process': ['子プロセス', ''],
  signal: ['シグナル', ''],
  'io-uring': ['io_uring', ''],
  'page-fault': ['ページフォルト', ''],
  'block-io': ['ブロック I/O', ''],
  'kernel-lock': ['カーネル・ロック', ''],
  'file-lock': ['ファイルロック', ''],
  gil: ['GIL', ''],
  'jvm-monitor': ['JVM モニター', ''],
  'go-runtime': ['Go ランタイム', ''],
  'tbb-scheduler': ['TBB スケジューラー', ''],
  'openmp-barrier': ['OpenMP バリアー', ''],
  user: ['ユーザー定義', ''],
  unknown: ['不明', ''],

  function: ['関数', '時間を割り当てた関数 (コールスタック・モードによる)。'],
  'call-stack': ['コールスタック', 'スタック全体。'],
  'source-function': ['ソース関数', 'インライン化された関数を含む関数。'],
  module: ['モジュール', '関数を含むファイル。'],
  'source-file': ['ソースファイル', '関数のソースファイル。'],
  'source-line': ['ソース行', 'ソースファイルと行。'],
  thread: ['スレッド', 'スレッドの名前と ID。'],
  'thread-name': ['スレッド名', '同じ名前のすべてのスレッド。'],
  process: ['プロセス', 'プロセスの名前と ID。'],
  object: ['同期オブジェクト', '待機の対象。'],
  'alike-objects': [
    '同種のオブジェクト',
    '種類と名前が同じオブジェクト。1 つのアドレスへの接続、終了を待った同名のスレッドなど。',
  ],
  'object-type': ['オブジェクト・タイプ', '待機の対象の種類。'],
  'wait-kind': ['待機の種類', 'CPU を離れた理由と、待機の終わり方。'],
  waker: ['起床元', '待機を終わらせたスレッド、タイマー、ネットワーク。'],
  cpu: ['CPU', 'スレッドが実行された CPU。'],
  tid: ['スレッド ID', 'スレッドの ID。'],
  pid: ['プロセス ID', 'プロセスの ID。'],
  utilization: ['CPU 利用率', 'その間の利用率の区分: アイドル、低い、OK、理想的、過剰。'],
  reason: ['理由', 'CPU を離れた理由。'],
  outcome: ['結末', '待機の終わり方。'],
  'wait-length': ['待機の長さ', '待機の長さの範囲 FROM-TO (TO は含まない)。例: 100us-5ms、1ms-、-10us。'],
  idle: ['アイドル待機', '仕事のないワーカーの待機。'],
  task: ['タスク', 'プログラムが名付けたタスク。中のタスクを含みます。'],
  'task-type': ['タスクの種類', 'スレッドがいる最も内側のタスク。'],
};

const ALL = { ...ANATOMY_WORDS, ...wordsJa, ...WORDS };

export const titleJa: Record<string, string> = Object.fromEntries(
  Object.entries(ALL).map(([id, [title]]) => [id, title]),
);
export const helpJa: Record<string, string> = Object.fromEntries(
  Object.entries(ALL).flatMap(([id, [, help]]) => (help ? [[id, help]] : [])),
);
