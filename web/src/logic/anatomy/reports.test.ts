import { expect, test } from 'vitest';
import type { ViewDocument } from '../../api/types';
import { mixed, phaseColor } from '../../base/phases';
import { bufferPlot } from './buffers';
import { packetLanes } from './packets';
import { splitOf, withSplit } from './split';

function view(columns: string[], ...rows: unknown[][]): ViewDocument {
  return {
    columns: columns.map((id) => ({ id, title: id, help: '', kind: 'real' as const })),
    rows: rows.map((values) => ({ depth: 0, values })),
    notes: [],
    notes_parts: [],
    total: {},
  };
}

test('the split of the slots sums to all of them, memory apart from the core', () => {
  const columns = ['function', 'cpi', 'frontend_bound', 'backend_bound', 'memory_bound', 'bad_speculation', 'retiring'];
  const document = view(columns, ['f', 1.5, 0.25, 0.5, 0.25, 0.125, 0.125]);
  const shown = withSplit(document);
  expect(shown.columns.map(({ id }) => id).slice(0, 4)).toEqual(['function', 'cpi', 'split', 'frontend_bound']);
  const [row] = shown.rows;
  const split = row && splitOf(shown, row);
  expect(split).toEqual({
    retiring: 0.125,
    bad_speculation: 0.125,
    frontend_bound: 0.25,
    core_bound: 0.25,
    memory_bound: 0.25,
  });
  expect(withSplit(view(['phase'], ['IP']))).toEqual(view(['phase'], ['IP']));
});

test('lanes are as long as their packets, the longest fills the width', () => {
  const lanes = packetLanes(
    view(['packet', 'packet_cycles', 'device', 'tcp', 'other'], [1, 200, 50, 150, 0], [2, 100, 100, 0, 0]),
  );
  expect(lanes.map(({ packet, parts }) => [packet, parts.map(({ id, share }) => [id, share])])).toEqual([
    [
      1,
      [
        ['device', 0.25],
        ['tcp', 0.75],
      ],
    ],
    [2, [['device', 0.5]]],
  ]);
});

test('sizes stand on a logarithmic axis, figures on one that suits their range', () => {
  const room = { width: 300, top: 0, bottom: 100 };
  const wide = bufferPlot(
    [64, 512, 4096, 32_768].map((bytes) => ({ bytes, value: bytes * 10 })),
    room,
  );
  expect(wide.points.map(({ x }) => Math.round(x))).toEqual([0, 100, 200, 300]);
  expect(wide.lines.map(({ value }) => value)).toEqual([100, 1000, 10_000, 100_000, 1_000_000]);
  const narrow = bufferPlot(
    [64, 128].map((bytes) => ({ bytes, value: bytes / 64 })),
    room,
  );
  expect(narrow.lines.map(({ value, y }) => [value, y])).toEqual([
    [0, 100],
    [0.5, 75],
    [1, 50],
    [1.5, 25],
    [2, 0],
  ]);
  expect(bufferPlot([{ bytes: 64, value: 0 }], room).points).toHaveLength(1);
});

test('every phase has a colour, an unknown one always the same', () => {
  expect(phaseColor('mine')).toBe(phaseColor('mine'));
  expect(phaseColor('mine')).toMatch(/^#[0-9a-f]{6}$/);
  expect(mixed('#ff0000', '#0000ff', 0.5)).toBe('#800080');
});
