import { expect, test } from 'vitest';
import type { Info } from '../api/types';
import { EMPTY } from '../state/view-state';
import { around, onlyWait, showWait, sumParts, waiter } from './sockets';

const thread = (id: number, tid: number, start_ns: number, end_ns: number) => ({ id, tid, start_ns, end_ns });
const info = { elapsed_ns: 5000, threads: [thread(0, 7, 0, 100), thread(1, 7, 200, 900), thread(2, 8, 0, 900)] };
const facts = info as unknown as Info;

test('a wait belongs to the thread that lived then', () => {
  const of = (tid: number, startNs: number) => waiter({ tid, startNs, waitNs: 1 }, facts.threads);
  expect([of(7, 50), of(7, 200), of(7, 150), of(8, 150), of(9, 1)]).toEqual([0, 1, null, 2, null]);
});

test('the timeline shows a wait with the time before and after it, within the collection', () => {
  expect(around({ startNs: 3000, waitNs: 600 }, 5000)).toEqual({ from: 1800, to: 4800 });
  expect(around({ startNs: 10, waitNs: 4000 }, 5000)).toEqual({ from: 0, to: 5000 });
  const shown = showWait({ ...EMPTY, task: 3 }, { tid: 7, startNs: 300, waitNs: 5 }, facts);
  expect(shown).toMatchObject({ tab: 'platform', picked: { thread: 1, at: 300 }, task: null });
  expect(showWait(EMPTY, { tid: 9, startNs: 300, waitNs: 5 }, facts).picked).toBeNull();
  expect(onlyWait(EMPTY, { tid: 7, startNs: 300, waitNs: 5 }).range).toEqual({ from: 300, to: 305 });
});

test('times of several sockets are added, the largest first', () => {
  const sum = sumParts([{ idle: 3, peer: 4 }, { idle: 5 }, {}]);
  expect(Object.entries(sum)).toEqual([
    ['idle', 8],
    ['peer', 4],
  ]);
});
