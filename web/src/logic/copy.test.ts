import { expect, test } from 'vitest';
import type { Flame, ViewDocument } from '../api/types';
import { foldedStacks, histogramRows, reportCsv, reportText } from './copy';

const report: ViewDocument = {
  columns: [
    { id: 'name', title: 'Name', help: '', kind: 'text' },
    { id: 'wait_by_class', title: 'Wait', help: '', kind: 'by_class' },
    { id: 'wait_count', title: 'Waits', help: '', kind: 'count' },
  ],
  rows: [
    { depth: 0, values: ['a, "b"', { idle: 1, poor: 2e6, ok: 0, ideal: 0, over: 0 }, 4210] },
    { depth: 1, values: ['c', null, 1] },
  ],
  notes: [],
  notes_parts: [],
  total: {},
};

test('a report is copied as it is shown, or exactly', () => {
  expect(reportText(report)).toBe('Name\tWait\tWaits\na, "b"\t2.00 ms\t4,210\n  c\t\t1\n');
  expect(reportCsv(report)).toBe(
    'name,wait_by_class_idle,wait_by_class_poor,wait_by_class_ok,wait_by_class_ideal,wait_by_class_over,wait_count\r\n' +
      '"a, ""b""",1,2000000,0,0,0,4210\r\nc,,,,,,1\r\n',
  );
});

test('only bins with waits are copied', () => {
  const bin = { from_ns: 1, to_ns: 2, count: 0, total_ns: 0 };
  expect(histogramRows({ bins: [bin, { ...bin, count: 3, total_ns: 5 }], humps: [] })).toEqual([[1, 2, 3, 5]]);
});

test('a flame graph is copied as folded stacks', () => {
  const flame = {
    parent: [-1, 0, 0],
    name: [0, 1, 2],
    self_ns: [5, 7, 0],
    names: ['main', 'a;b', 'c'],
  } as Partial<Flame>;
  expect(foldedStacks(flame as Flame)).toBe('main 5\nmain;a:b 7\n');
});
