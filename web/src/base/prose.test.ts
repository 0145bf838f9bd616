import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { prose, type Sentence } from './prose';
import { lossText, setLanguage } from './texts';
import { lossesJa } from './texts/generated-ja';
import { noticesJa } from './texts/notices-ja';
import { sentencesJa } from './texts/sentences-ja';

afterEach(() => setLanguage('en'));

const source = (path: string) => readFileSync(new URL(`../../../crates/${path}`, import.meta.url), 'utf8');
const values = (template: string) => [...new Set([...template.matchAll(/\{(\w+)/g)].map(([, name]) => name))].sort();

test('every sentence of the server has words in Japanese, with the same values', () => {
  const table = source('analyze/src/sentences.rs');
  const english = [...table.matchAll(/^ {4}[A-Z_]+ = "([\w-]+)",\s*"((?:[^"\\]|\\.)*)";$/gm)];
  expect(english.length).toBeGreaterThan(60);
  const known = english.map(([, id = '']) => id).filter((id) => id !== 'plain');
  expect(Object.keys(sentencesJa).sort()).toEqual([...known].sort());
  for (const [, id = '', text = ''] of english) {
    if (id !== 'plain') expect(values(sentencesJa[id] ?? ''), id).toEqual(values(text));
  }
});

test('every remark of collection and finalization has words in Japanese, with the same values', () => {
  const table = source('analyze/src/notices.rs');
  const english = [...table.matchAll(/\bnotice\(\s*"([\w-]+)",\s*"((?:[^"\\]|\\[\s\S])*)",?\s*\)/g)];
  expect(english.length).toBeGreaterThan(30);
  expect(Object.keys(noticesJa).sort()).toEqual(english.map(([, id = '']) => id).sort());
  for (const [, id = '', text = ''] of english) expect(values(noticesJa[id] ?? ''), id).toEqual(values(text));
});

test('a loss is explained in the chosen language', () => {
  expect(lossText('samples_lost', 'Samples …')).toBe('Samples …');
  setLanguage('ja');
  expect(lossText('samples_lost', 'Samples …')).toBe(lossesJa.samples_lost);
  expect(lossText('of_a_later_version', 'Later.')).toBe('Later.');
});

test('a sentence has its values in either language; an unknown one stays English', () => {
  const range: Sentence = { id: 'range', values: { from: { ns: 1.5e9 }, to: { ns: 3.2e9 }, share: { share: 0.1234 } } };
  const late: Sentence = { id: 'barrier-late', values: { place: { place: null } } };
  expect(prose('As it came.', [range])).toBe('As it came.');
  setLanguage('ja');
  expect(prose('As it came.', [range, late])).toBe(
    '1.50 s から 3.20 s まで: 経過時間の 12.3 %。最後に到着したスレッドは主に 不明な場所 にいました。',
  );
  expect(prose('As it came.', [range, { id: 'later', values: {} }])).toBe('As it came.');
  expect(prose('A notice.', undefined)).toBe('A notice.');
});
