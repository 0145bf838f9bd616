import { describe, expect, it } from 'vitest';
import type { Band } from './band';
import { arrangedBands, heightOf, NOTHING_ARRANGED, rowAt, scrollToRow, toggled, visibleBands } from './bands';

const bands: Band[] = ['main', 'io-1', 'io-2', 'worker 7'].map((label, id) => ({
  id,
  label,
  process: id < 3 ? 'server' : 'helper',
  start_ns: 0,
  end_ns: 100,
  lanes: 0,
  values: {},
}));
const labels = (by: Partial<typeof NOTHING_ARRANGED>) =>
  arrangedBands(bands, { ...NOTHING_ARRANGED, ...by }).map(({ band }) => band.label);

describe('bands', () => {
  it('puts pinned ones first, in the order of pinning', () => {
    expect(labels({ pinned: [2, 0] })).toEqual(['io-2', 'main', 'io-1', 'worker 7']);
  });

  it('leaves out hidden bands and those that the search does not match, but no pinned band', () => {
    expect(labels({ hidden: [0] })).toEqual(['io-1', 'io-2', 'worker 7']);
    expect(labels({ search: 'IO server' })).toEqual(['io-1', 'io-2']);
    expect(labels({ search: 'helper', pinned: [1] })).toEqual(['io-1', 'worker 7']);
    expect(labels({ pinned: [99] })).toEqual(['main', 'io-1', 'io-2', 'worker 7']);
  });

  it('packs without gaps, expanded ones twice as high', () => {
    const rows = arrangedBands(bands, { ...NOTHING_ARRANGED, expanded: [1] });
    expect(rows.map(({ top, height }) => [top, height])).toEqual([
      [0, 20],
      [20, 40],
      [60, 20],
      [80, 20],
    ]);
    expect(heightOf(rows)).toBe(100);
    expect([-1, 0, 19, 20, 59, 60, 99, 100].map((y) => rowAt(rows, y))).toEqual([-1, 0, 0, 1, 1, 2, 3, -1]);
    expect(visibleBands(rows, 25, 50)).toEqual([1, 3]);
    expect(visibleBands(rows, 0, 1000)).toEqual([0, 4]);
    expect(visibleBands([], 0, 100)).toEqual([0, 0]);
  });

  it('scrolls no further than needed', () => {
    const [first, , third] = arrangedBands(bands, NOTHING_ARRANGED);
    expect(first && scrollToRow(first, 30, 100)).toBe(0);
    expect(third && scrollToRow(third, 0, 50)).toBe(10);
    expect(third && scrollToRow(third, 0, 100)).toBe(0);
    expect(toggled([1, 2], 2)).toEqual([1]);
    expect(toggled([1], 2)).toEqual([1, 2]);
  });
});
