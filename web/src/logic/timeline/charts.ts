// Charts below the bands: values by pixel, the curve as points, and the value under the cursor.

import type { Charts } from '../../api/types';
import { type Viewport, xOf } from './viewport';

export type Series = Charts['series'][number];

/** The request of the charts for a viewport: a little more on both sides, aligned to a grid, so that panning does not send
 * a request at every step. */
export function chartQuestion(
  view: Viewport,
  width: number,
  elapsedNs: number,
): { from: number; to: number; width: number } {
  const span = view.to - view.from;
  const grid = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(span / 4, 1))));
  const from = Math.max(0, Math.floor((view.from - span / 4) / grid) * grid);
  const to = Math.max(from + 1, Math.min(Math.ceil(elapsedNs), Math.ceil((view.to + span / 4) / grid) * grid));
  const columns = Math.round(((to - from) / Math.max(span, 1)) * width);
  return { from, to, width: Math.max(1, Math.min(columns, 8192)) };
}

/** A curve by columns of the screen, heights as fractions of the scale; NaN outside the data. */
export interface Curve {
  mean: Float64Array;
  peak: Float64Array;
}

/** The curve of a series over a viewport: in each column the average of the means and the highest of the peaks. */
export function curveOver({ from, to }: Viewport, series: Series, view: Viewport, width: number): Curve {
  const bins = series.mean.length;
  const curve = { mean: new Float64Array(width).fill(Number.NaN), peak: new Float64Array(width).fill(Number.NaN) };
  const length = (to - from) / Math.max(bins, 1);
  const step = (view.to - view.from) / width / length;
  const start = (view.from - from) / length;
  const scale = Math.max(series.max, 1e-9);
  for (let x = 0; x < width; x += 1) {
    // The tolerance keeps rounding from taking the next column's data.
    const first = Math.floor(start + x * step + 1e-9);
    const last = Math.max(first, Math.ceil(start + (x + 1) * step - 1e-9) - 1);
    if (last >= 0 && first < bins) {
      setColumn(curve, x, series, { first: Math.max(first, 0), last: Math.min(last, bins - 1), scale });
    }
  }
  return curve;
}

interface Bins {
  first: number;
  last: number;
  scale: number;
}

function setColumn(curve: Curve, x: number, { mean, peak }: Series, { first, last, scale }: Bins): void {
  let [sum, highest] = [0, 0];
  for (let bin = first; bin <= last; bin += 1) {
    sum += mean[bin] ?? 0;
    highest = Math.max(highest, peak[bin] ?? 0);
  }
  curve.mean[x] = sum / (last - first + 1) / scale;
  curve.peak[x] = highest / scale;
}

/** The value of a series at a time; null without a value. */
export function valueAt(charts: Charts, series: Series, time: number): { mean: number; peak: number } | null {
  const bin = Math.floor(((time - charts.from) / Math.max(charts.to - charts.from, 1)) * series.mean.length);
  const [mean, peak] = [series.mean[bin], series.peak[bin]];
  return mean === undefined || peak === undefined ? null : { mean, peak };
}

/** A range as px, kept within the width. */
export function rangeX(range: Viewport, view: Viewport, width: number): { x0: number; x1: number } {
  const clamp = (x: number) => Math.min(Math.max(x, 0), width);
  return { x0: clamp(xOf(range.from, view, width)), x1: clamp(xOf(range.to, view, width)) };
}

export type Grip = 'from' | 'to' | 'middle' | 'outside';

/** The part of the overview's range at x; its handles reach `reach` px to both sides. */
export function gripAt(x: number, range: Viewport, whole: Viewport, width: number, reach = 6): Grip {
  const { x0, x1 } = rangeX(range, whole, width);
  const [left, right] = [Math.abs(x - x0), Math.abs(x - x1)];
  if (Math.min(left, right) <= reach) return left < right || (left === right && x < x0) ? 'from' : 'to';
  return x0 < x && x < x1 ? 'middle' : 'outside';
}
