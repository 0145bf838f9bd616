import { expect, test } from 'vitest';
import { hasChildren, matchingRows, shownRows, sortedRows } from './report-tree';

/** `a 3` at depth 0, `. b 2` at depth 1: an outline as rows. */
function rows(outline: string) {
  return outline
    .trim()
    .split('\n')
    .map((line) => {
      const [, dots = '', name, number] = /^\s*([. ]*?)(\w+) (\d+)$/.exec(line) ?? [];
      return { depth: dots.replaceAll(' ', '').length, values: [name, Number(number)] };
    });
}

const tree = rows(`
  a 3
  . b 1
  . . c 1
  . d 2
  e 9
`);
const names = (some: { values: unknown[] }[]) => some.map(({ values }) => values[0]).join('');

test('a closed row hides its subtree and nothing else', () => {
  expect(hasChildren(tree)).toEqual([true, true, false, false, false]);
  expect(shownRows(tree, new Set([1]))).toEqual([0, 1, 3, 4]);
  expect(shownRows(tree, new Set([0]))).toEqual([0, 4]);
  expect(shownRows(tree, new Set())).toEqual([0, 1, 2, 3, 4]);
});

test('a search shows matching rows and their ancestors', () => {
  expect(matchingRows(tree, 'C')).toEqual([0, 1, 2]);
  expect(matchingRows(tree, '')).toHaveLength(5);
  expect(matchingRows(tree, 'nothing')).toEqual([]);
});

test('sorting orders siblings and keeps subtrees together', () => {
  const number = ({ values }: { values: unknown[] }) => values[1] as number;
  expect(names(sortedRows(tree, number, true))).toBe('eadbc');
  expect(names(sortedRows(tree, number, false))).toBe('abcde'.replace('abcde', 'abcde'));
  const text = ({ values }: { values: unknown[] }) => values[0] as string;
  expect(names(sortedRows(tree, text, true))).toBe('eadbc');
});
