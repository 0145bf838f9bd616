// A curve as pixels: means as an area, peaks as a line over it. Canvas paths of thousands of points take longer to draw than
// all bands.

import type { Palette } from '../../base/palette';
import type { Curve } from './charts';
import { mix, pixel, rgb } from './ink';

export interface CurveInks {
  ground: number;
  area: number;
  /** Colours of the line, over the area and over the background. */
  line: number;
  lineOnGround: number;
}

export function curveInks({ ground, state }: Palette): CurveInks {
  const [base, color] = [rgb(ground.ground), rgb(state.running)];
  const area = mix(base, color, 0.55);
  return {
    ground: pixel(base),
    area: pixel(area),
    line: pixel(mix(area, color, 0.75)),
    lineOnGround: pixel(mix(base, color, 0.75)),
  };
}

/** Empty rows above the highest value. */
const FREE = 3;

/** Draws a curve of `width` columns into rows of `pixels`, the top one first. */
export function fillCurve(
  pixels: Uint32Array,
  width: number,
  height: number,
  { mean, peak }: Curve,
  inks: CurveInks,
): void {
  pixels.fill(inks.ground, 0, width * height);
  const room = Math.max(1, height - FREE);
  const rowsOf = (value: number) => Math.round(Math.max(0, Math.min(1, value)) * room);
  let before = -1;
  for (let x = 0; x < width; x += 1) {
    const value = mean[x] ?? Number.NaN;
    if (Number.isNaN(value)) {
      before = -1;
      continue;
    }
    const filled = rowsOf(value);
    for (let up = 0; up < filled; up += 1) pixels[(height - 1 - up) * width + x] = inks.area;
    const top = Math.max(0, rowsOf(peak[x] ?? 0) - 1);
    const [low, high] = before < 0 ? [top, top] : [Math.min(before, top), Math.max(before, top)];
    for (let up = low; up <= high; up += 1) {
      pixels[(height - 1 - up) * width + x] = up < filled ? inks.line : inks.lineOnGround;
    }
    before = top;
  }
}
