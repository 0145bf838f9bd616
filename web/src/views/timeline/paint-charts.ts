// Draws the curves below the bands and the overview of the whole time.

import type { Charts } from '../../api/types';
import type { Palette } from '../../base/palette';
import { type Curve, curveOver, rangeX, type Series } from '../../logic/timeline/charts';
import { type CurveInks, fillCurve } from '../../logic/timeline/curve-pixels';
import type { Viewport } from '../../logic/timeline/viewport';

/** The pixels of a curve, reused from frame to frame. */
export class CurveImage {
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);

  /** Draws a curve over the whole canvas, with one value per pixel column. */
  draw(context: CanvasRenderingContext2D, curve: Curve, inks: CurveInks): void {
    const { width, height } = context.canvas;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    fillCurve(this.pixels, width, height, curve, inks);
    context.putImageData(this.image, 0, 0);
  }
}

export interface ChartPicture {
  width: number;
  height: number;
  palette: Palette;
  /** The target's fraction of the scale; null for no line. */
  target: number | null;
  cursor: number | null;
}

/** Draws over a curve: the target as a dashed line, and the cursor. */
export function paintMarks(context: CanvasRenderingContext2D, picture: ChartPicture): void {
  const { width, height, palette, target, cursor } = picture;
  if (target !== null) {
    const y = Math.round(height - Math.min(1, target) * (height - 3)) + 0.5;
    context.strokeStyle = palette.ground.faint;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
  }
  if (cursor === null) return;
  context.fillStyle = palette.ground.faint;
  context.fillRect(Math.round(cursor), 0, 1, height);
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

/** Runnable threads behind running ones over the whole time. */
export function paintLoad(context: CanvasRenderingContext2D, picture: OverviewPicture): void {
  const { charts, whole, width, height, palette } = picture;
  context.fillStyle = palette.ground.panel;
  context.fillRect(0, 0, width, height);
  const series = (id: string) => charts.series.find((one) => one.id === id);
  const ready = series('concurrency');
  const running = series('running');
  const most = Math.max(1e-9, ...(ready?.mean ?? []), ...(running?.mean ?? []));
  const bars = (one: Series | undefined, color: string) => {
    if (!one) return;
    context.fillStyle = color;
    const { mean } = curveOver(charts, { ...one, max: most }, whole, Math.ceil(width));
    for (const [x, value] of mean.entries()) {
      const high = Math.round((value || 0) * (height - 2));
      if (high > 0) context.fillRect(x, height - high, 1, high);
    }
  };
  bars(ready, palette.state.preempted);
  bars(running, palette.state.running);
}

/** Draws over the load: the filters, a shade outside the visible time, and the handles at its ends. */
export function paintShown(context: CanvasRenderingContext2D, picture: OverviewPicture): void {
  const { whole, view, width, height, palette } = picture;
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

/** A bar on top marks the time that the filters keep. */
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
