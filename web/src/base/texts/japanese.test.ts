// The Japanese texts hold no English, and one word for one thing.

import { expect, test } from 'vitest';
import { columnsJa, lossesJa, messagesJa } from './generated-ja';
import { ja } from './ja';
import { BRACKETS_JA, OBJECTS_JA } from './names-ja';
import { problemHintsJa, problemsJa } from './problems-ja';
import { helpJa, titleJa } from './words-ja';

const CATALOGUES: Record<string, string>[] = [
  ja,
  lossesJa,
  BRACKETS_JA,
  OBJECTS_JA,
  messagesJa,
  problemHintsJa,
  problemsJa,
  helpJa,
  titleJa,
  ...Object.values(columnsJa).flat(),
];
const texts = CATALOGUES.flatMap((catalogue) => Object.entries(catalogue));

/** Names that Japanese writes in Latin letters. */
const NAMES =
  `Dwell Intel numactl cpuset Python CPython Ruby Go Java JavaScript Node Redis OpenMP Unix NumPy Nagle Cork Shenandoah Netlink Vsock System Enter Esc Ctrl futex cgroup
  perf eventfd signalfd sigwait writev splice listen accept broadcast keep alive mlockall multiprocessing debuginfod taskset
  Firefox Profiler Perfetto OpenTelemetry pprof speedscope folded
  performance docker malloc jemalloc mimalloc tcmalloc mktime strftime stdio ms us`.split(/\s+/);

/** What a reader types as it stands: a command or option with what follows it, paths, identifiers with signs in them. */
const TYPED = [
  /\{[^}]*\}/g,
  /(\bdwell |\bperf record |--)[ -~]+/g,
  // The name of a wait, the same in every language.
  /「time between samples」/g,
  /ip -s link|nstat -az \| grep -i drop|cpupower idle-set -D 10|chrt -f/g,
  /\/\w+(\/[\w-]+)*|\bmodules\//g,
  /\w+[._=]\w*([._=]\w+)*/g,
];

/** Words of small letters; an abbreviation and a placeholder, CPU or NAME, has none. */
function english(text: string): string[] {
  const plain = TYPED.reduce((rest, typed) => rest.replace(typed, ' '), text);
  const words = plain.match(/[A-Za-z]{2,}/g) ?? [];
  return words.filter((word) => /[a-z]/.test(word) && !NAMES.includes(word));
}

test('no Japanese text has English words in it', () => {
  expect(english('Sleep in {place} は待機')).toEqual(['Sleep', 'in']);
  expect(texts.flatMap(([id, text]) => english(text).map((word) => `${id}: ${word}`))).toEqual([]);
});

test('one thing has one word', () => {
  const others: [word: string, instead: RegExp][] = [
    ['システムコール', /システム・コール/],
    ['待機', /ウェイト|待ち時間/],
    ['起床元', /起床させたもの|ウェイカー/],
    ['最終処理', /ファイナライズ/],
    ['収集プログラム', /コレクターが結果/],
    ['受け付け', /受け入れ/],
    ['リージョン', /タスク、領域/],
    ['テキスト', /本文/],
    ['クリア', /消去/],
    ['拡大', /ズーム/],
    ['選択範囲', /この選択(?!範囲)/],
    ['満杯', /(ウィンドウ|送信バッファー)に空きがない/],
    ['フォルダー', /ディレクトリ|フォルダ(?!ー)/],
    ['メモリー', /メモリ(?!ー)/],
    ['バッファー', /バッファ(?!ー)/],
    ['ユーザー', /ユーザ(?!ー)/],
    ['サーバー', /サーバ(?!ー)/],
    ['「」', /[“”]/],
  ];
  const wrong = others.flatMap(([word, instead]) =>
    texts.filter(([, text]) => instead.test(text)).map(([id]) => `${id}: say ${word}`),
  );
  expect(wrong).toEqual([]);
});
