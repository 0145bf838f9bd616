import { expect, test } from 'vitest';
import type { IntervalInfo, WaitChain } from '../../api/types';
import { type ChainPiece, chainArrows, chainOf } from './chain';
import { deedText } from './describe';

const piece = (thread: number, start_ns: number, end_ns: number, rest: Partial<ChainPiece> = {}): ChainPiece => ({
  thread,
  start_ns,
  end_ns,
  kind: 'running',
  place: 'work',
  object: '',
  behind: '',
  ...rest,
});

const chain: WaitChain = {
  thread: 1,
  start_ns: 10,
  end_ns: 50,
  pieces: [piece(2, 10, 20), piece(2, 20, 25, { kind: 'slept' }), piece(3, 25, 40), piece(2, 45, 50)],
  waits: [],
  more: 1,
  more_ns: 5,
};

test('arrows lead from each piece to the next one at another thread, also over pieces that are not shown', () => {
  const arrows = chainArrows(chain, 60).map(({ waker, woken, time_ns, run_ns }) => [waker, woken, time_ns, run_ns]);
  expect(arrows).toEqual([
    [2, 3, 25, 25],
    [3, 2, 40, 45],
    [2, 1, 50, 60],
  ]);
  // A wait that a timer ended leads nowhere.
  expect(chainArrows({ ...chain, pieces: [piece(1, 10, 50, { kind: 'slept' })] }, 60)).toEqual([]);
});

test('a chain belongs to its wait only', () => {
  const interval = (thread: number, start_ns: number) => ({ thread, start_ns, end_ns: start_ns + 45 }) as IntervalInfo;
  expect(chainOf(chain, interval(1, 10))).toBe(chain);
  expect(chainOf(chain, interval(2, 10))).toBeNull();
  expect(chainOf(chain, interval(1, 11))).toBeNull();
  expect(chainOf({ ...chain, pieces: [] }, interval(1, 10))).toBeNull();
});

test('each piece says what happened', () => {
  expect(deedText(piece(1, 0, 1))).toBe('ran work');
  expect(deedText(piece(1, 0, 1, { place: '' }))).toMatch(/^ran .*unknown/);
  expect(deedText(piece(1, 0, 1, { kind: 'run-queue', behind: 'server' }))).toMatch(/behind server$/);
  expect(deedText(piece(1, 0, 1, { kind: 'run-queue', behind: '[no thread]' }))).toBe('was in the run queue');
  expect(deedText(piece(1, 0, 1, { kind: 'network', object: 'socket' }))).toMatch(/^waited for socket;/);
});
