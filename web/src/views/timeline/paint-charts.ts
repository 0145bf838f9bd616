// Draws the curves below the bands and the overview of the whole time.

import type { Charts } from '../../api/types';
import type { Palette } from '../../base/palette';
import { chartColumns, rangeX, type Series } from '../../logic/timeline/charts';
import type { Viewport } from '../../logic/timeline/viewport';

export interface ChartPicture {
  charts: Charts;
  series: Series;
  view: Viewport;
  width: number;
  height: number;
  palette: Palette;
  /** Where on the scale the target is; null: no line. */
  target: number | null;
  cursor: number | null;
}

/** Mean as an area, peak as a line, the target as a dashed one. */
export function paintChart(context: CanvasRenderingContext2D, picture: ChartPicture): void {
  const { charts, series, view, width, height, palette, target, cursor } = picture;
  const columns = chartColumns(charts, series, view, Math.ceil(width));
  const room = height - 3;
  const y = (value: number) => height - Math.min(1, value) * room;
  context.fillStyle = palette.ground.ground;
  context.fillRect(0, 0, width, height);
  context.fillStyle = palette.state.running;
  context.globalAlpha = 0.55;
  context.beginPath();
  context.moveTo(0, height);
  for (const [x, column] of columns.entries()) {
    const top = y(column?.mean ?? 0);
    context.lineTo(x, top);
    context.lineTo(x + 1, top);
  }
  context.lineTo(width, height);
  context.fill();
  context.globalAlpha = 1;
  strokePeaks(context, columns, y, palette.state.running);
  if (target !== null) {
    context.strokeStyle = palette.ground.faint;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(0, Math.round(y(target)) + 0.5);
    context.lineTo(width, Math.round(y(target)) + 0.5);
    context.stroke();
    context.setLineDash([]);
  }
  if (cursor === null) return;
  context.fillStyle = palette.ground.faint;
  context.fillRect(Math.round(cursor), 0, 1, height);
}

function strokePeaks(
  context: CanvasRenderingContext2D,
  columns: readonly ({ peak: number } | null)[],
  y: (value: number) => number,
  color: string,
): void {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.globalAlpha = 0.75;
  context.beginPath();
  for (const [x, column] of columns.entries()) {
    if (column) context.lineTo(x + 0.5, y(column.peak));
  }
  context.stroke();
  context.globalAlpha = 1;
}

export interface OverviewPicture {
  charts: Charts;
  whole: Viewport;
  view: Viewport;
  range: Viewport | null;
  excluded: readonly Viewport[];
  mark: Viewport | null;
  width: number;
  height: number;
  palette: Palette;
}

/** Runnable threads behind running ones over the whole time; what is not shown below is shaded, handles at its ends. */
export function paintOverview(context: CanvasRenderingContext2D, picture: OverviewPicture): void {
  const { charts, whole, view, width, height, palette } = picture;
  context.fillStyle = palette.ground.panel;
  context.fillRect(0, 0, width, height);
  const series = (id: string) => charts.series.find((one) => one.id === id);
  const ready = series('concurrency');
  const running = series('running');
  const most = Math.max(1e-9, ...(ready?.mean ?? []), ...(running?.mean ?? []));
  const bars = (one: Series | undefined, color: string) => {
    if (!one) return;
    context.fillStyle = color;
    for (const [x, column] of chartColumns(charts, { ...one, max: most }, whole, Math.ceil(width)).entries()) {
      const high = Math.round((column?.mean ?? 0) * (height - 2));
      if (high > 0) context.fillRect(x, height - high, 1, high);
    }
  };
  bars(ready, palette.state.preempted);
  bars(running, palette.state.running);
  shadeFiltered(context, picture);
  const { x0, x1 } = rangeX(view, whole, width);
  context.fillStyle = palette.ground.ground;
  context.globalAlpha = 0.5;
  context.fillRect(0, 0, x0, height);
  context.fillRect(x1, 0, width - x1, height);
  context.globalAlpha = 1;
  context.fillStyle = palette.ground.text;
  for (const x of [Math.max(0, Math.round(x0) - 1), Math.min(width - 2, Math.round(x1) - 1)]) {
    context.fillRect(x, 0, 2, height);
    context.fillRect(x - 2, height / 2 - 6, 6, 12);
  }
}

/** A bar on top says what the filter lets through. */
function shadeFiltered(context: CanvasRenderingContext2D, picture: OverviewPicture): void {
  const { whole, range, excluded, mark, width, height, palette } = picture;
  const bar = (part: Viewport, color: string, top: number, high: number, alpha: number) => {
    const { x0, x1 } = rangeX(part, whole, width);
    context.fillStyle = color;
    context.globalAlpha = alpha;
    context.fillRect(x0, top, Math.max(1, x1 - x0), high);
    context.globalAlpha = 1;
  };
  if (range) {
    bar(range, palette.ground.accent, 0, 3, 1);
    bar(range, palette.ground.accent, 3, height - 3, 0.14);
  }
  for (const part of excluded) bar(part, palette.ground.ground, 0, height, 0.75);
  if (mark) bar(mark, palette.ground.accent, 0, height, 0.25);
}
