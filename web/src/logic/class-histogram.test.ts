import { expect, test } from 'vitest';
import { average, classOf, classShares, DEFAULT_THRESHOLDS, layoutHistogram, moveLimit } from './class-histogram';

test('classes are those of the analysis', () => {
  const names = [0, 1, 2, 3, 4, 5].map((running) => classOf(running, 4, DEFAULT_THRESHOLDS));
  expect(names).toEqual(['idle', 'poor', 'poor', 'ok', 'ideal', 'over']);
});

test('a bar for each number of threads, as high as its share of the highest', () => {
  const { bars, xOf, threadsAt, step } = layoutHistogram([50, 100, 0, 25], 2, DEFAULT_THRESHOLDS, 400);
  expect(step).toBe(1);
  expect(bars.map(({ height }) => height)).toEqual([0.5, 1, 0, 0.25]);
  expect(bars.map(({ name }) => name)).toEqual(['idle', 'poor', 'ideal', 'over']);
  expect(xOf(1)).toBe(150);
  expect(threadsAt(150)).toBe(1);
});

test('many threads share bars, and no time is lost', () => {
  const values = Array.from({ length: 1000 }, () => 1);
  const { bars, step } = layoutHistogram(values, 64, DEFAULT_THRESHOLDS, 360);
  expect(step).toBe(25);
  expect(bars.reduce((sum, { ns }) => sum + ns, 0)).toBe(1000);
});

test('a limit that is dragged includes the number under it and stops at its neighbour', () => {
  const moved = moveLimit(DEFAULT_THRESHOLDS, 'poor', 1, 4);
  expect(classOf(1, 4, moved)).toBe('poor');
  expect(classOf(2, 4, moved)).toBe('ok');
  expect(moveLimit(DEFAULT_THRESHOLDS, 'poor', 9, 4).poor).toBe(DEFAULT_THRESHOLDS.ok);
  expect(moveLimit(DEFAULT_THRESHOLDS, 'ok', 0, 4).ok).toBe(DEFAULT_THRESHOLDS.poor);
});

test('the average is weighted by time', () => {
  expect(average([1, 0, 3])).toBe(1.5);
  expect(average([])).toBe(0);
  expect(Object.fromEntries(classShares([1, 0, 3], 2, DEFAULT_THRESHOLDS))).toMatchObject({ idle: 0.25, ideal: 0.75 });
});
