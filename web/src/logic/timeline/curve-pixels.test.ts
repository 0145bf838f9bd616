import { expect, it } from 'vitest';
import { type CurveInks, fillCurve } from './curve-pixels';

const inks: CurveInks = { ground: 0, area: 1, line: 2, lineOnGround: 3 };

/** Columns of pixels from the bottom up, as text. */
function drawn(mean: number[], peak: number[], height: number): string[] {
  const width = mean.length;
  const pixels = new Uint32Array(width * height).fill(9);
  fillCurve(pixels, width, height, { mean: Float64Array.from(mean), peak: Float64Array.from(peak) }, inks);
  return mean.map((_, x) => Array.from({ length: height }, (_, up) => pixels[(height - 1 - up) * width + x]).join(''));
}

it('fills to the mean and draws the peaks as one line', () => {
  // Ten rows; the upper three stay free.
  expect(drawn([0.3, 0.3, 0], [0.3, 1, 1], 10)).toEqual(['1200000000', '1233333000', '0000003000']);
});

it('draws nothing without data, and restarts the line after the gap', () => {
  expect(drawn([1, Number.NaN, 0.5], [1, Number.NaN, 0.5], 7)).toEqual(['1112000', '0000000', '1200000']);
});
