import { expect, test } from 'vitest';
import { ROW_HEIGHT, scrollTo, visibleRows } from './window';

test('only the rows on the screen are drawn, with a few around them', () => {
  expect(visibleRows(0, 220, 1_000_000, 0)).toEqual({ first: 0, last: 10 });
  expect(visibleRows(1000 * ROW_HEIGHT, 220, 1_000_000, 2)).toEqual({ first: 998, last: 1012 });
  expect(visibleRows(0, 220, 3)).toEqual({ first: 0, last: 3 });
  // Scrolled beyond the end: the list became shorter.
  expect(visibleRows(5000, 220, 3)).toEqual({ first: 3, last: 3 });
});

test('moving to a row scrolls as little as needed', () => {
  const height = 11 * ROW_HEIGHT;
  expect(scrollTo(5, 0, height)).toBe(0);
  expect(scrollTo(10, 0, height)).toBe(ROW_HEIGHT);
  expect(scrollTo(2, 5 * ROW_HEIGHT, height)).toBe(2 * ROW_HEIGHT);
});
