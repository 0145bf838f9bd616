import { expect, test } from 'vitest';
import type { Info } from '../api/types';
import { EMPTY } from '../state/view-state';
import { causeParts, lengthAxis, ordered, percentileCurve, showOutlier } from './latency';

test('each nine of the percentiles has the same room, as far as there are that many intervals', () => {
  const percentiles: [number, number][] = [
    [0, 1e3],
    [0.9, 1e4],
    [0.99, 1e5],
    [1, 1e6],
  ];
  const curve = percentileCurve({ percentiles, count: 1000 }, { width: 300, top: 0, bottom: 100 });
  expect(curve.ticks.map(({ label }) => label)).toEqual(['0 %', '90 %', '99 %', '99.9 %']);
  expect(curve.ticks.map(({ x }) => Math.round(x))).toEqual([0, 100, 200, 300]);
  expect(curve.x(1)).toBe(300);
  expect(curve.path.match(/[ML]/g)).toHaveLength(4);
  expect(percentileCurve({ percentiles: [], count: 0 }, { width: 300, top: 0, bottom: 100 }).path).toBe('');
});

test('lengths are on a logarithmic axis with a label for each decade', () => {
  const { y, ticks } = lengthAxis(1e3, 1e6, 0, 100);
  expect(ticks.map(({ ns }) => ns)).toEqual([1e3, 1e4, 1e5, 1e6]);
  expect(y(1e4) - y(1e5)).toBeCloseTo(y(1e5) - y(1e6));
  expect(y(1e6)).toBeGreaterThanOrEqual(0);
  expect(y(1e3)).toBeLessThanOrEqual(100);
});

test('causes of a row become parts, with the unexplained time', () => {
  const causes = { lock: { total_ns: 5, count: 1 }, timer: { total_ns: 2, count: 1 } };
  expect(causeParts(causes, 3)).toEqual({ lock: 5, timer: 2, unexplained: 3 });
  expect(causeParts(null, 0)).toEqual({});
  expect(Object.keys(ordered({ a: 1, b: 3, c: 2 }))).toEqual(['b', 'c', 'a']);
});

test('an outlier is shown where it begins', () => {
  const outlier = { id: 't3', thread: 4, start_ns: 1e6, length_ns: 1e5, cause: 'lock', causes: {} };
  const shown = showOutlier(EMPTY, outlier, { elapsed_ns: 1e9 } as Info);
  expect(shown).toMatchObject({ tab: 'platform', picked: { thread: 4, at: 1e6 }, zoom: { from: 8e5, to: 13e5 } });
});
