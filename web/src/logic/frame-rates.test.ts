import { expect, test } from 'vitest';
import { rateBars } from './frame-rates';

test('bars are slow, good and fast, as many frames as the report counted', () => {
  const bins = [
    { from_rate: 60, to_rate: 120, count: 1 },
    { from_rate: 10, to_rate: 20, count: 3 },
    { from_rate: 30, to_rate: 60, count: 6 },
  ];
  const bars = rateBars(bins, { slow: 3, good: 6, fast: 1 });
  expect(bars.map(({ from_rate, speed, height }) => [from_rate, speed, height])).toEqual([
    [10, 'slow', 0.5],
    [30, 'good', 1],
    [60, 'fast', 1 / 6],
  ]);
  expect(rateBars([], { slow: 0, good: 0, fast: 0 })).toEqual([]);
});
