import { expect, test } from 'vitest';
import { heading, hottest, hottestOf, type Instruction, type SourceLine, sameSpot } from './source';

const line = (file: string, number: number, cpu_ns = 0, inlined_from: string | null = null): SourceLine => ({
  file,
  line: number,
  text: '',
  cpu_ns,
  cpu_total_ns: cpu_ns,
  wait_ns: 0,
  wait_total_ns: 0,
  waits: 0,
  inlined_from,
});

test('the line with the most time comes first', () => {
  expect(hottest([line('a.c', 1), line('a.c', 2, 5), line('a.c', 3, 2)])).toBe(1);
  expect(hottest([])).toBe(0);
});

test('lines and instructions belong together when file and line agree', () => {
  expect(sameSpot({ file: 'a.c', line: 3 }, line('a.c', 3))).toBe(true);
  expect(sameSpot({ file: 'b.c', line: 3 }, line('a.c', 3))).toBe(false);
  expect(sameSpot({ file: null, line: null }, { file: null, line: null })).toBe(false);
});

test('a line leads to its instruction with the most time', () => {
  const instruction = (line: number, wait_ns: number) => ({ file: 'a.c', line, cpu_ns: 0, wait_ns }) as Instruction;
  const code = [instruction(1, 9), instruction(2, 0), instruction(3, 0), instruction(2, 5)];
  expect(hottestOf(code, { file: 'a.c', line: 2 })).toBe(3);
  expect(hottestOf(code, { file: 'a.c', line: 3 })).toBe(2);
  expect(hottestOf(code, { file: 'a.c', line: 4 })).toBe(-1);
});

test('a heading stands where file or inlined function change', () => {
  const lines = [
    line('a.c', 1),
    line('a.c', 2),
    line('x.h', 7, 0, 'get'),
    line('x.h', 8, 0, 'get'),
    line('x.h', 9, 0, 'put'),
  ];
  expect(lines.map((_, at) => heading(lines, at))).toEqual(['a.c', null, 'get', null, 'put']);
});
