import { expect, test } from 'vitest';
import { rateText, valueText } from './counters';

test('counters are shown in full as long as they can be read', () => {
  expect(valueText(1460, 'B')).toBe('1,460 B');
  expect(valueText(8, '')).toBe('8');
  expect(valueText(-0.25, '')).toBe('-0.250');
  expect(valueText(12_300_000, 'B')).toBe('12.3 M B');
  expect(rateText(12_345, '')).toBe('12.3 k /s');
  expect(rateText(0, 'B')).toBe('0 B/s');
});
