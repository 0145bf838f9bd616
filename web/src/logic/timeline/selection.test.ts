import { expect, test } from 'vitest';
import { causesOf, sumsOf } from './selection';

const document = {
  rows: [
    { who: 'worker-N', kind: 'slept', place: 'nap (a.c:3)', waited_for: null, behind: null, wait_ns: 90 },
    { who: 'main', kind: 'cpus-taken', place: null, waited_for: null, behind: null, wait_ns: 50 },
    { who: 'main', kind: 'device', place: 'load (a.c:9)', waited_for: 'read(a.txt)', behind: null, wait_ns: 0 },
  ],
  notes: [],
  notes_parts: [
    [{ id: 'range', values: { from: { ns: 5 }, to: { ns: 9 } } }],
    [{ id: 'time-account', values: { life: { ns: 30 }, running: { ns: 20 }, idle: { ns: 10 }, own: { ns: 0 } } }],
  ],
};

test('the sums are those of the account, without what is zero', () => {
  expect(sumsOf(document)).toEqual([
    { of: 'running', ns: 20 },
    { of: 'idle', ns: 10 },
  ]);
  expect(sumsOf({ rows: [], notes: [] })).toEqual([]);
});

test('the causes are the first that explain waits, in words', () => {
  expect(causesOf(document, 3)).toEqual([
    { id: 'slept|worker-N|nap (a.c:3)', who: 'worker-N', text: 'slept in nap', ns: 90 },
    { id: 'cpus-taken|main', who: 'main', text: 'had no CPU: other programs ran', ns: 50 },
  ]);
  expect(causesOf(document, 1).length).toBe(1);
});
