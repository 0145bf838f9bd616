import { expect, test } from 'vitest';
import type { CollectionPicture, PictureBand } from '../api/types';
import { cellsOf, columnsOf, nowOf, togetherAt, viewOf } from './live';

const band: PictureBand = { pid: 1, tid: 2, name: 'worker', threads: 1, cells: 'z0-00a00a......0zb' };
const picture: CollectionPicture = {
  begin_ns: -1e8,
  column_ns: 25e7,
  columns: 'lllp.l',
  concurrency: [1, 0.5, 0, null, null, 3],
  by_process: false,
  bands: [band],
  account: null,
  looks_per_second: 10,
  cost: 0.001,
  note: '',
};

test('cells are parts and a kind of wait', () => {
  expect(cellsOf(band, 1)).toEqual([
    { running: 1, runnable: 0, waits: null },
    { running: 0, runnable: 0, waits: 'lock' },
    { running: 0, runnable: 0, waits: 'lock' },
    null,
    null,
    { running: 0, runnable: 1, waits: 'condition' },
  ]);
  expect(cellsOf(band, 2)[0]).toEqual({ running: 0.5, runnable: 0, waits: 'lock' });
});

test('columns narrower than a pixel are drawn together', () => {
  expect(viewOf(picture)).toEqual({ from: 0, to: 20e9 });
  expect(togetherAt(picture, 800)).toBe(1);
  expect(togetherAt(picture, 20)).toBe(4);
  expect(columnsOf(picture, 1).map(({ as }) => as)).toEqual([
    'looked',
    'looked',
    'looked',
    'paused',
    'unseen',
    'looked',
  ]);
  expect(columnsOf(picture, 2)[0]).toEqual({ from: 0, to: 4e8, as: 'looked', concurrency: 0.75 });
});

test('what a band does now is what it did in the last column that was looked at', () => {
  expect(nowOf(band, picture.columns)).toBe('preempted');
  expect(nowOf({ ...band, cells: 'z0-00a00a' }, 'lll')).toBe('lock');
  expect(nowOf({ ...band, cells: 'z0-' }, picture.columns)).toBeNull();
});
