import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { CAUSES, DELAYS } from './palette';
import { browserLanguage, help, problemHint, problemText, setLanguage, t, title, word } from './texts';
import { en } from './texts/en';
import { ja } from './texts/ja';
import { problemHintsJa, problemsJa } from './texts/problems-ja';
import { helpJa, titleJa } from './texts/words-ja';

afterEach(() => setLanguage('en'));

test('a text speaks the chosen language and fills names in', () => {
  expect(t('filter.shown', { share: '98.9 %' })).toBe('98.9 % is shown');
  setLanguage('ja');
  expect(t('filter.shown', { share: '98.9 %' })).toBe('98.9 % を表示中');
  expect(title('wait_ns', 'Wait Time')).toBe('待機時間');
  expect(title('a-metric-of-a-later-version', 'Later')).toBe('Later');
  expect(help('thread', 'Thread, by name and id.')).not.toMatch(/Thread/);
  expect(title('count', 'Count')).toBe('回数');
  expect(title('count', 'Frames')).toBe('フレーム数');
  expect(help('share', 'Part of the elapsed time.')).toBe('経過時間に対する割合。');
  expect(title('oversubscription_ns', 'Named otherwise here')).toBe('オーバーサブスクリプション');
});

test('each text has the same names to fill in, in both languages', () => {
  const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const key of Object.keys(en) as (keyof typeof en)[]) expect(names(ja[key]), key).toEqual(names(en[key]));
});

test('every text is used', () => {
  const source = new URL('..', import.meta.url);
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const code = files
    .filter((name) => !name.startsWith('base/texts/'))
    .map((name) => readFileSync(new URL(name, source), 'utf8'))
    .join('\n');
  // Texts of a table's rows: t(`tab.${tab}`).
  const prefixes = [...code.matchAll(/`([\w.-]+\.)\$\{/g)].map(([, prefix]) => prefix ?? '');
  for (const [, kind] of code.matchAll(/\bword\('([\w-]+)'/g)) prefixes.push(`${kind}.`);
  const used = (key: string) => code.includes(`'${key}'`) || prefixes.some((prefix) => key.startsWith(prefix));
  expect(Object.keys(en).filter((key) => !used(key))).toEqual([]);
});

test('every metric and finding of the documentation has words in Japanese', () => {
  const page = (name: string) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8');
  const metrics = [...page('metrics').matchAll(/^\| `(\w+)` \|/gm)].map(([, id]) => id ?? '');
  const findings = [...page('findings').matchAll(/^\| \[.*\| `([\w-]+)` \|/gm)].map(([, id]) => id ?? '');
  expect(metrics.length).toBeGreaterThan(20);
  expect(findings.length).toBeGreaterThan(5);
  expect([...metrics, ...findings].filter((id) => !titleJa[id] || !helpJa[id])).toEqual([]);
});

test('every cause of a wait on a socket has a colour and words', () => {
  const text = readFileSync(new URL('../../../docs/sockets.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| cause | '), text.indexOf('Only what runs under Dwell'));
  const rows = [...table.matchAll(/^\| ([a-z, -]+) \|/gm)].flatMap(([, ids]) => (ids ?? '').split(', ')).slice(1);
  expect(rows.length).toBeGreaterThan(14);
  expect([...CAUSES].sort()).toEqual([...rows].sort());
  for (const id of rows) expect(word('cause', id), id).not.toBe(id);
});

test('every cause of a delay has a colour and words', () => {
  const text = readFileSync(new URL('../../../docs/latency.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| cause | what'), text.indexOf('`unexplained` is the rest'));
  const cells = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, ids]) => (ids ?? '').match(/[a-z-]+/g) ?? []);
  expect(cells.length).toBeGreaterThan(20);
  expect(DELAYS.filter((id) => id !== 'running').sort()).toEqual([...cells].sort());
  for (const id of cells) expect(word('cause', id), id).not.toBe(id);
});

test('every problem of the server has words in Japanese, and nothing else has', () => {
  const text = readFileSync(new URL('../../../crates/server/src/problem.rs', import.meta.url), 'utf8');
  const kinds = [...text.matchAll(/^ {4}\w+ = "([\w-]+)", [A-Z_]+;$/gm)].map(([, id]) => id ?? '');
  expect(kinds.length).toBeGreaterThan(15);
  expect(Object.keys(problemsJa).sort()).toEqual([...kinds, 'offline'].sort());
  expect(Object.keys(problemHintsJa).filter((kind) => !problemsJa[kind])).toEqual([]);
  expect(problemText('no-result', 'there is no such result')).toBe('there is no such result');
  setLanguage('ja');
  expect(problemText('missing', 'there is no such task')).toMatch(/^要求された.*there is no such task/);
  expect(problemText('of a later version', 'so it is')).toBe('so it is');
  expect(problemHint('damaged', 'again')).toMatch(/dwell finalize/);
});

test('the language is the first of the browser that has a catalogue', () => {
  expect(browserLanguage(['fr-FR', 'ja-JP', 'en'])).toBe('ja');
  expect(browserLanguage(['fr'])).toBe('en');
});
