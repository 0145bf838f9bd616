import { describe, expect, it } from 'vitest';
import { arrangedBands, NOTHING_ARRANGED } from './bands';
import { ALL_STATES, band } from './fixture';
import { hitTest, pieceAt } from './hit';

const bands = [0, 1].map((id) => ({ id, label: `t${id}`, process: '', start_ns: 0, end_ns: 1, lanes: 0, values: {} }));
const rows = arrangedBands(bands, NOTHING_ARRANGED);
const timelines = ['RRRRLLLL..', 'IIIIIIIIIP'];
const partsOf = (id: number) => ({
  parts: [{ data: band(id, timelines[id] ?? '', 100), from: 0, to: 1000 }],
  states: ALL_STATES,
});

describe('hit testing', () => {
  const view = { from: 0, to: 1000 };

  it('finds the band, the time and the event', () => {
    expect(hitTest({ x: 50, y: 5, width: 100 }, view, rows, partsOf)).toEqual({
      row: 0,
      time: 500,
      piece: { state: 'lock', from: 400, to: 800, many: false, object: null },
      span: null,
    });
    expect(hitTest({ x: 95, y: 25, width: 100 }, view, rows, partsOf)?.piece?.state).toBe('preempted');
    expect(hitTest({ x: 95, y: 5, width: 100 }, view, rows, partsOf)?.piece).toBeNull();
    expect(hitTest({ x: 95, y: 40, width: 100 }, view, rows, partsOf)).toBeNull();
  });

  it('finds an event that is narrower than a pixel', () => {
    const data = {
      parts: [{ data: band(0, `${'.'.repeat(499)}D${'.'.repeat(500)}`), from: 0, to: 1000 }],
      states: ALL_STATES,
    };
    const hit = hitTest({ x: 49.6, y: 5, width: 100 }, view, rows, () => data);
    expect(hit?.piece).toMatchObject({ state: 'io', from: 499, to: 500 });
  });

  it('joins an event that tiles have cut', () => {
    const parts = [
      { data: band(0, 'RRLL', 1), from: 0, to: 4 },
      { data: band(0, 'LLLL', 1, 4), from: 4, to: 8 },
      { data: band(0, 'LPPP', 1, 8), from: 8, to: 12 },
    ];
    for (const time of [2, 3.5, 5, 8.5])
      expect(pieceAt(parts, ALL_STATES, time)).toMatchObject({ state: 'lock', from: 2, to: 9 });
    expect(pieceAt(parts, ALL_STATES, 9)).toMatchObject({ state: 'preempted', from: 9, to: 12 });
  });
});
