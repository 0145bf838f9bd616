import { expect, test } from 'vitest';
import { bytes, count, duration, instant, percent, real, span } from './units';

// The first cases are those of crates/cli/src/text/units.rs: the screen and the terminal say the same.
test('durations have three significant digits and a fitting unit', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [7, '7 ns'],
    [999, '999 ns'],
    [1_000, '1.00 µs'],
    [1_904_000, '1.90 ms'],
    [12_349_000, '12.3 ms'],
    [999_400, '999 µs'],
    [999_600, '1.00 ms'],
    [9_996_000, '10.0 ms'],
    [8_330_000_000, '8.33 s'],
    [123_400_000_000, '123 s'],
    [4_000_000_000_000, '4,000 s'],
    [-1_904_000, '-1.90 ms'],
    [Number.NaN, '–'],
  ];
  for (const [ns, text] of cases) expect(duration(ns), String(ns)).toBe(text);
});

test('fractions, counts and sizes', () => {
  expect(percent(0.615)).toBe('61.5 %');
  expect(percent(1)).toBe('100 %');
  expect(percent(0.9996)).toBe('100 %');
  expect(percent(0)).toBe('0 %');
  expect(percent(0.00042)).toBe('0.04 %');
  expect(percent(1e-9)).toBe('<0.01 %');
  expect(percent(Number.NaN)).toBe('–');
  expect(real(-2.126)).toBe('-2.13');
  expect(real(1240.4)).toBe('1,240');
  expect(count(4210)).toBe('4,210');
  expect(count(1_234_567)).toBe('1,234,567');
  expect(bytes(12_345_678)).toBe('12.3 MB');
  expect(bytes(12)).toBe('12 B');
});

test('points in time have the decimals that tell neighbours apart', () => {
  expect(instant(1_500_000_000, 10_000_000)).toBe('1.50 s');
  expect(instant(1_500_000_000, 1_000)).toBe('1.500000 s');
  expect(instant(2_500, 10)).toBe('2.50 µs');
  expect(span(1_500_000_000, 3_200_000_000)).toBe('1.50–3.20 s');
});
