import { expect, test } from 'vitest';
import type { IntervalInfo } from '../../api/types';
import { EMPTY } from '../../state/view-state';
import { viewToSee, walkFrom, walkTo } from './walk';

const ELAPSED = 1_000_000;
const interval = (facts: Partial<IntervalInfo>) =>
  ({ start_ns: 0, end_ns: 0, wait_ns: 0, waker_thread: null, holder_thread: null, ...facts }) as IntervalInfo;

test('the waker is found at the end of the wait, the holder at its start', () => {
  const wait = interval({ start_ns: 100, end_ns: 500, wait_ns: 300, waker_thread: 7, holder_thread: 3 });
  expect(walkFrom(wait, ELAPSED)).toEqual({ waker: { thread: 7, at: 400 }, holder: { thread: 3, at: 100 } });
  expect(walkFrom({ ...wait, waker_thread: null }, ELAPSED).waker).toBeNull();
  expect(walkFrom({ ...wait, wait_ns: 0 }, ELAPSED)).toEqual({ waker: null, holder: null });
  expect(walkFrom(wait, 400).waker?.at).toBe(399);
});

test('the view stays where it shows the interval, and else moves to it', () => {
  const view = { from: 1000, to: 2000 };
  expect(viewToSee(view, { from: 1200, to: 1300 }, 1250, ELAPSED)).toEqual(view);
  // It lies elsewhere: as long a view.
  expect(viewToSee(view, { from: 5200, to: 5300 }, 5250, ELAPSED)).toEqual({ from: 4750, to: 5750 });
  // Too short to see: a fifth of a shorter view.
  const near = viewToSee({ from: 0, to: ELAPSED }, { from: 500, to: 600 }, 500, ELAPSED);
  expect(near).toEqual({ from: 300, to: 800 });
  // Longer than the view: around the instant.
  expect(viewToSee(view, { from: 0, to: 90_000 }, 50_000, ELAPSED)).toEqual({ from: 49_500, to: 50_500 });
  expect(viewToSee(view, { from: 0, to: 90_000 }, 1500, ELAPSED)).toEqual(view);
});

test('a walk shows the band of the thread', () => {
  const state = { ...EMPTY, bands: 'cpu' as const, pinned: [2], hidden: [7], search: 'x', mark: { from: 1, to: 2 } };
  const target = interval({ start_ns: 500, end_ns: 600 });
  expect(walkTo(state, { thread: 7, at: 550 }, target, ELAPSED)).toEqual({
    ...EMPTY,
    picked: { thread: 7, at: 550 },
    zoom: { from: 300, to: 800 },
  });
  const threads = { ...EMPTY, pinned: [2], hidden: [7, 8] };
  const walked = walkTo(threads, { thread: 7, at: 5e5 }, interval({ start_ns: 4e5, end_ns: 6e5 }), ELAPSED);
  expect([walked.pinned, walked.hidden, walked.zoom]).toEqual([[2], [8], null]);
});
