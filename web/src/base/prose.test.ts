import { afterEach, expect, test } from 'vitest';
import { prose, type Sentence } from './prose';
import { lossText, setLanguage } from './texts';
import { lossesJa } from './texts/generated-ja';

afterEach(() => setLanguage('en'));

test('a loss is explained in the chosen language', () => {
  expect(lossText('samples_lost', 'Samples …')).toBe('Samples …');
  setLanguage('ja');
  expect(lossText('samples_lost', 'Samples …')).toBe(lossesJa.samples_lost);
  expect(lossText('of_a_later_version', 'Later.')).toBe('Later.');
});

test('a sentence has its values in either language; an unknown one stays English', () => {
  const range: Sentence = { id: 'range', values: { from: { ns: 1.5e9 }, to: { ns: 3.2e9 }, share: { share: 0.1234 } } };
  const created: Sentence = { id: 'created-at', values: { place: { place: null } } };
  expect(prose('As it came.', [range])).toBe('As it came.');
  setLanguage('ja');
  expect(prose('As it came.', [range, created])).toBe(
    '1.50 s から 3.20 s まで: 経過時間の 12.3 %。不明な場所 で作成されました。',
  );
  expect(prose('As it came.', [range, { id: 'later', values: {} }])).toBe('As it came.');
  expect(prose('A notice.', undefined)).toBe('A notice.');
});

test('terms of zero are left out of an account', () => {
  setLanguage('ja');
  const times = { life: 3e6, running: 2e6, queue: 1e6, demand: 0, structure: 0, own: 0, idle: 0 };
  const values = Object.fromEntries(Object.entries(times).map(([name, ns]) => [name, { ns }]));
  const account: Sentence = { id: 'time-account', values: { ...values, threads: { count: 1 } } };
  expect(prose('1 thread …', [account])).toBe('1 個のスレッドの時間 3.00 ms = 実行 2.00 ms + 実行キュー 1.00 ms。');
});
