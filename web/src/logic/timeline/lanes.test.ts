import { expect, test } from 'vitest';
import type { Band } from './band';
import { arrangedBands, NOTHING_ARRANGED } from './bands';
import { hitTest } from './hit';
import { type BandSpans, laneBox, spanQuestion } from './lanes';

const band = (id: number, lanes: number, state = true): Band => ({
  id,
  label: `b${id}`,
  process: '',
  start_ns: 0,
  end_ns: 100,
  lanes,
  values: {},
  state,
});
const spans: BandSpans = {
  id: 0,
  lanes: [
    { start: [0, 500], end: [400, 501], type: [1, 2], task: [7, null] },
    { start: [100], end: [200], type: [3], task: [8] },
  ],
  markers: { time: [], type: [], count: [] },
};
const nothing = () => ({ parts: [], states: new Uint8Array() });
const view = { from: 0, to: 1000 };

test('a band with tasks is as high as its lanes need, when these are shown', () => {
  const bands = [band(0, 2), band(1, 0), band(2, 9), band(3, 3, false)];
  const heights = (tasks: boolean, expanded: number[] = []) =>
    arrangedBands(bands, { ...NOTHING_ARRANGED, tasks, expanded }).map(({ height, lanes }) => [height, lanes]);
  expect(heights(false)).toEqual([
    [20, 0],
    [20, 0],
    [20, 0],
    [32, 3],
  ]);
  expect(heights(true)).toEqual([
    [40, 2],
    [20, 0],
    [80, 6],
    [32, 3],
  ]);
  // The reader's choice inverts each.
  expect(heights(true, [0, 3])).toEqual([
    [20, 0],
    [20, 0],
    [80, 6],
    [64, 3],
  ]);
});

test('a task is found in its lane, and a thread above it', () => {
  const rows = arrangedBands([band(0, 2)], { ...NOTHING_ARRANGED, tasks: true });
  const at = (x: number, y: number) => hitTest({ x, y, width: 100 }, view, rows, nothing, () => spans);
  expect(at(20, 10)?.span).toBeNull();
  expect(at(20, 24)?.span).toEqual({ from: 0, to: 400, type: 1, task: 7, lane: 0 });
  expect(at(15, 34)?.span).toEqual({ from: 100, to: 200, type: 3, task: 8, lane: 1 });
  expect(at(30, 34)?.span).toBeNull();
  // A task narrower than a pixel.
  expect(at(49.6, 24)?.span).toMatchObject({ from: 500, task: null });
  const row = rows[0];
  expect(row && [laneBox(row, 0), laneBox(row, 1)]).toEqual([
    { top: 20, height: 8.5 },
    { top: 29.5, height: 8.5 },
  ]);
});

test('the request names only bands that show lanes', () => {
  const rows = arrangedBands([band(4, 2), band(5, 0), band(6, 1)], { ...NOTHING_ARRANGED, tasks: true });
  expect(spanQuestion(view, 100, 1000, rows)).toMatchObject({ from: 0, to: 1000, bands: '4,6' });
});
