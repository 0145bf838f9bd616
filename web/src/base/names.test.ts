import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { blameText, nameText, shortText } from './names';
import { setLanguage } from './texts';
import { OBJECTS_JA } from './texts/names-ja';

afterEach(() => setLanguage('en'));

test('a name of the server is Japanese on a Japanese screen, and English on an English one', () => {
  const names: [name: string, of: string, japanese: string][] = [
    ['Sleep in sleep_until', 'object', 'sleep_until のスリープ'],
    ['Threads joined in unknown code #2', 'object', '不明なコード のスレッドの終了 #2'],
    ['Mutex 0x1a2b3c4d', 'object', 'ミューテックス 0x1a2b3c4d'],
    ['Block I/O', 'object', 'ブロック I/O'],
    ['Child processes of make', 'object', 'make の子プロセス'],
    ['Child process sh (12)', 'object', '子プロセス sh (12)'],
    ['Thread worker (consume)', 'object', 'スレッド worker (consume)'],
    ['47 connections to TCP 10.0.0.1:80', 'object', 'TCP 10.0.0.1:80 への 47 個の接続'],
    ['3 × Mutex 0x1a2b3c4d', 'alike-objects', '3 × ミューテックス 0x1a2b3c4d'],
    ['12,257 threads conv', 'object', '12,257 個のスレッド conv'],
    ['80 files with page faults', 'object', '80 個のファイルのページフォルト'],
    ['[no object]', 'object', '[オブジェクトなし]'],
    ['[not sampled]', 'function', '[サンプルなし]'],
    ['[no thread of the program] 3.1 s', 'function', '[プログラム外] 3.1 s'],
    ['mutex', 'object-type', 'ミューテックス'],
    ['waiting, timed-out', 'wait-kind', '待機中、タイムアウト'],
  ];
  for (const [name, of] of names) expect(nameText(name, of)).toBe(name);
  setLanguage('ja');
  for (const [name, of, japanese] of names) expect(nameText(name, of)).toBe(japanese);
});

test('a name of the program stays as it is', () => {
  setLanguage('ja');
  for (const name of ['queue_lock', 'Pool::mtx + 0x18', 'Mutex', 'TCP 127.0.0.1:* -> 127.0.0.1:80', '/var/log'])
    expect(nameText(name, 'object')).toBe(name);
  expect(nameText('Sleep in sleep_until', 'function')).toBe('Sleep in sleep_until');
  expect(nameText('[kworker/0:1] (17)', 'thread')).toBe('[kworker/0:1] (17)');
});

test('a row of blame names two things', () => {
  setLanguage('ja');
  expect(blameText('queue_lock (mutex)', 'object')).toBe('queue_lock (ミューテックス)');
  expect(blameText('Sleep in nap, at worker_main', 'holder-waiting')).toBe('nap のスリープ、worker_main');
  expect(blameText('[timer] in nap', 'waker')).toBe('[タイマー]、nap');
  expect(blameText('worker 3 (41) in release', 'waker')).toBe('worker 3 (41)、release');
  expect(blameText('[run queue]', 'holder-runnable')).toBe('[実行キュー]');
});

test('every type of object has a name in Japanese', () => {
  const table = readFileSync(new URL('../../../crates/model/src/object_type.rs', import.meta.url), 'utf8');
  const titles = [...table.matchAll(/^ {8}\w+ = \d+, "[\w-]+", "([^"]+)";$/gm)].map(([, title]) => title ?? '');
  expect(titles.length).toBeGreaterThan(20);
  expect(titles.filter((title) => !OBJECTS_JA[title])).toEqual([]);
});

test('long template arguments are collapsed', () => {
  const long = 'std::map<std::string, std::vector<std::pair<int, char> > >::find(int const&)';
  expect(shortText(long)).toBe('std::map<…>::find(int const&)');
  expect(shortText(`4 threads waited in ${long} for a<b>, which...`)).toBe(
    '4 threads waited in std::map<…>::find(int const&) for a<b>, which...',
  );
  for (const kept of [
    'a<b>',
    'operator<(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)',
    'open<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  ]) {
    expect(shortText(kept)).toBe(kept);
  }
});
