// Charts below the bands: values by pixel, the curve as points, and the value under the cursor.

import type { Charts } from '../../api/types';
import { timeAt, type Viewport, xOf } from './viewport';

export type Series = Charts['series'][number];

/** What the charts are asked for a viewport: a little more on both sides, on a grid of their own, so that panning does
 * not ask again at every step. */
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

/** One column of the screen: px from the left, heights as fractions of the scale. */
export interface ChartColumn {
  mean: number;
  peak: number;
}

/** The columns of a series over a viewport: the average of the means and the highest of the peaks that fall into each;
 * null where the data does not reach. */
export function chartColumns(charts: Charts, series: Series, view: Viewport, width: number): (ChartColumn | null)[] {
  const bins = series.mean.length;
  const length = (charts.to - charts.from) / Math.max(bins, 1);
  return Array.from({ length: width }, (_, x) => {
    const first = Math.floor((timeAt(x, view, width) - charts.from) / length);
    const last = Math.max(first, Math.ceil((timeAt(x + 1, view, width) - charts.from) / length) - 1);
    if (last < 0 || first >= bins) return null;
    return columnOf(series, Math.max(first, 0), Math.min(last, bins - 1));
  });
}

function columnOf({ mean, peak, max }: Series, first: number, last: number): ChartColumn {
  let [sum, highest] = [0, 0];
  for (let bin = first; bin <= last; bin += 1) {
    sum += mean[bin] ?? 0;
    highest = Math.max(highest, peak[bin] ?? 0);
  }
  return { mean: sum / (last - first + 1) / Math.max(max, 1e-9), peak: highest / Math.max(max, 1e-9) };
}

/** The value of a series at a time; null: there is none. */
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

/** What of the overview's range is at x: its handles are `reach` px wide on both sides. */
export function gripAt(x: number, range: Viewport, whole: Viewport, width: number, reach = 6): Grip {
  const { x0, x1 } = rangeX(range, whole, width);
  const [left, right] = [Math.abs(x - x0), Math.abs(x - x1)];
  if (Math.min(left, right) <= reach) return left < right || (left === right && x < x0) ? 'from' : 'to';
  return x0 < x && x < x1 ? 'middle' : 'outside';
}
