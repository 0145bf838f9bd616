import { expect, test } from 'vitest';
import { filterOf, filtersOf, GROUPINGS, levelAt } from './grouping';

test('a row stands for a filter by its name, or by the number in it', () => {
  expect(filterOf('function', 'push(int)')).toEqual({ key: 'function', value: 'push(int)' });
  expect(filterOf('thread', 'worker (1) (28541)')).toEqual({ key: 'tid', value: '28541' });
  expect(filterOf('thread', 'worker')).toBeNull();
  expect(filterOf('source-line', 'a.c:3')).toBeNull();
});

test('filtering in by a nested row takes the rows above it along, the innermost of each key', () => {
  const grouping = ['object', 'function', 'callers'];
  expect(levelAt(grouping, 7)).toBe('callers');
  expect(filtersOf(grouping, ['queue_lock', 'lock', 'push_item', 'worker'])).toEqual([
    { key: 'object', value: 'queue_lock' },
    { key: 'function', value: 'worker' },
  ]);
});

test('groupings are offered once', () => {
  expect(new Set(GROUPINGS.map(String)).size).toBe(GROUPINGS.length);
});
