import { expect, test } from 'vitest';
import type { Histogram } from '../api/types';
import { between, brushed, humpRange, layoutWaits, lengthFilter } from './wait-histogram';

/** The recipe's two populations: many fast waits of about 1 ms, few slow ones of about 200 ms. */
const step = 2 ** 0.25;
const bins = Array.from({ length: 80 }, (_, at) => {
  const from_ns = 1000 * step ** at;
  const count = Math.round(1000 * Math.exp(-(((at - 40) / 3) ** 2)) + 10 * Math.exp(-(((at - 70) / 2) ** 2)));
  return { from_ns, to_ns: from_ns * step, count, total_ns: count * from_ns * 1.09 };
});
const humps = [
  { centre_ns: 1e6, count: 5000, total_ns: 5e9 },
  { centre_ns: 1.9e8, count: 35, total_ns: 7e9 },
  { centre_ns: 1.1e6, count: 1, total_ns: 1e6 },
];
const layout = layoutWaits({ bins, humps } as Histogram, 600);

test('both populations are visible: one by number, the other by time', () => {
  const fast = layout.bars.filter(({ fromNs }) => fromNs < 1e7);
  const slow = layout.bars.filter(({ fromNs }) => fromNs > 1e8);
  expect(Math.max(...fast.map(({ up }) => up))).toBe(1);
  expect(Math.max(...slow.map(({ down }) => down))).toBe(1);
  expect(Math.max(...fast.map(({ down }) => down))).toBeGreaterThan(0.3);
});

test('the axis is logarithmic with a tick for each decade', () => {
  const [a, b, c] = layout.ticks;
  expect((b?.ns ?? 0) / (a?.ns ?? 1)).toBeCloseTo(10);
  expect((b?.x ?? 0) - (a?.x ?? 0)).toBeCloseTo((c?.x ?? 0) - (b?.x ?? 0));
  expect(layout.nsAt(layout.xOf(12_345))).toBeCloseTo(12_345, 3);
  expect(layout.bars.every(({ x, width }) => x >= 0 && x + width <= 600)).toBe(true);
});

test('humps have labels, side by side or on two lines', () => {
  expect(layout.humps.map(({ count, line }) => [count, line])).toEqual([
    [5000, 0],
    [35, 0],
    [1, 1],
  ]);
  expect(layout.humps.every(({ x }) => x >= 60 && x <= 540)).toBe(true);
  const crowded = [1, 2, 3, 4].map((count) => ({ centre_ns: 1e6 + count, count, total_ns: count }));
  expect(layoutWaits({ bins, humps: crowded } as Histogram, 600).humps.map(({ count }) => count)).toEqual([4, 3]);
});

test('a brush covers whole bins, in either direction', () => {
  const range = brushed(layout, layout.xOf(3e8), layout.xOf(5e7));
  expect(range).toEqual(brushed(layout, layout.xOf(5e7), layout.xOf(3e8)));
  const slow = bins
    .filter(({ from_ns, to_ns }) => to_ns > 5e7 && from_ns < 3e8)
    .reduce((sum, { count }) => sum + count, 0);
  expect(between(layout.bars, range?.fromNs ?? 0, range?.toNs ?? 0).count).toBe(slow);
  expect(brushed(layout, 0, 0.001)).toBeNull();
});

test('a brush covers a whole hump, and nothing of another one', () => {
  const [fast, slow] = [humpRange(layout, 1e6), humpRange(layout, 1.9e8)];
  if (!fast || !slow) throw new Error('two humps');
  expect(fast.fromNs).toBeLessThan(1e6);
  expect(fast.toNs).toBeGreaterThan(1e6);
  expect(fast.toNs).toBeLessThan(slow.fromNs);
  expect(between(layout.bars, slow.fromNs, slow.toNs).count).toBeGreaterThan(25);
  expect(humpRange(layoutWaits({ bins: [], humps: [] }, 300), 1e6)).toBeNull();
});

test('no waits make an empty chart', () => {
  const empty = layoutWaits({ bins: [], humps: [] }, 300);
  expect(empty.bars).toEqual([]);
  expect(empty.ticks.length).toBeGreaterThan(0);
});

test('brushed lengths become a filter with readable limits', () => {
  expect(lengthFilter({ fromNs: 931_322, toNs: 1_107_543 })).toBe('931us-1108us');
  expect(lengthFilter({ fromNs: 512, toNs: 609 })).toBe('512-609');
});
