import { describe, expect, test } from 'vitest';
import type { ChartTile } from '../../api/types';
import { boxAt, CALL_HEIGHT, ChartTiles, cycleText, cycleTicks, phaseStrip } from './chart';

const TICKS = 1 << 20;

/** Pieces as [depth, begin, end, call, phase], times since the start of the trace. */
function tile(from: number, pieces: [number, number, number, number, number][]): ChartTile {
  const column = (at: number) => pieces.map((piece) => piece[at] ?? 0);
  return {
    from,
    to: from + 1024,
    depth: column(0),
    begin: column(1).map((time) => time - from),
    end: column(2).map((time) => time - from),
    call: column(3),
    calls: pieces.map(() => 1),
    ticks: pieces.map(([, begin, end]) => end - begin),
    function: column(3),
    phase: column(4),
    names: Object.fromEntries(pieces.map((piece) => [piece[3], `f${piece[3]}`])),
  };
}

describe('tiles', () => {
  test('a piece that lies in two tiles is drawn once, over both', () => {
    const tiles = new ChartTiles(TICKS);
    const view = { from: 512, to: 1536 };
    const wanted = tiles.wanted(view, 1024);
    expect(wanted).toEqual([
      { level: 0, index: 0 },
      { level: 0, index: 1 },
    ]);
    const pieces: [number, number, number, number, number][] = [
      [0, 0, 2000, 1, 0],
      [1, 1000, 1100, 2, 1],
    ];
    for (const id of wanted) tiles.add(id, tile(id.index * 1024, pieces));
    const boxes = tiles.boxes(view, 1024);
    expect(boxes.map(({ call, x, width }) => [call, x, width])).toEqual([
      [1, -2, 1028],
      [2, 488, 100],
    ]);
  });

  test('until a tile arrives, the closest coarser one is drawn', () => {
    const tiles = new ChartTiles(TICKS);
    const view = { from: 4096, to: 5120 };
    expect(tiles.boxes(view, 1024)).toEqual([]);
    tiles.add({ level: 10, index: 0 }, tile(0, [[0, 4000, 5000, 7, 0]]));
    tiles.add({ level: 3, index: 0 }, tile(0, [[0, 4100, 4600, 8, 0]]));
    expect(tiles.boxes(view, 1024).map(({ call, x }) => [call, x])).toEqual([[8, 4]]);
    tiles.add({ level: 0, index: 4 }, tile(4096, [[0, 4200, 4300, 9, 0]]));
    expect(tiles.boxes(view, 1024).map(({ call }) => call)).toEqual([9]);
    expect(tiles.has({ level: 0, index: 4 })).toBe(true);
  });
});

test('the pointer finds the call in its row, and the strip shows the innermost one', () => {
  const tiles = new ChartTiles(TICKS);
  tiles.add(
    { level: 0, index: 0 },
    tile(0, [
      [0, 0, 1000, 1, 0],
      [1, 100, 200, 2, 1],
      [1, 200, 210, 3, 2],
    ]),
  );
  const boxes = tiles.boxes({ from: 0, to: 1024 }, 1024);
  expect(boxAt(boxes, 150, CALL_HEIGHT / 2)?.call).toBe(1);
  expect(boxAt(boxes, 150, CALL_HEIGHT * 1.5)?.call).toBe(2);
  expect(boxAt(boxes, 205, CALL_HEIGHT * 1.5)?.call).toBe(3);
  expect(boxAt(boxes, 500, CALL_HEIGHT * 1.5)).toBeNull();
  const strip = phaseStrip(boxes, 1024);
  expect([strip[50], strip[150], strip[205], strip[300], strip[1010]]).toEqual([0, 1, 2, 0, -1]);
});

test('labels of the axis are round cycles, with the digits that a step needs', () => {
  const labels = cycleTicks({ from: 0, to: 2520 * 1000 }, 1000, 2520);
  expect(labels.map(({ text }) => text)).toEqual(['0', '200', '400', '600', '800', '1,000']);
  expect(labels[1]?.x).toBe(200);
  expect([cycleText(1_234_000, 2000), cycleText(1_234_567, 10), cycleText(12_000_000, 2e6)]).toEqual([
    '1.234 M',
    '1,234,567',
    '12 M',
  ]);
});
