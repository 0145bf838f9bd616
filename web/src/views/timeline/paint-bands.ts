// Draws the bands: states and samples from a texture, and on a second canvas the marks that follow the pointer.

import type { Palette } from '../../base/palette';
import type { ArrowShape } from '../../logic/timeline/arrows';
import type { Axis } from '../../logic/timeline/axis';
import { BAND_HEIGHT, type BandRow } from '../../logic/timeline/band';
import { type Columns, newColumns, type Part, paintColumns } from '../../logic/timeline/columns';
import type { BandSpans } from '../../logic/timeline/lanes';
import { fillTexture, type Inks, STATE_ROWS, TEXTURE_ROWS } from '../../logic/timeline/texture';
import type { Viewport } from '../../logic/timeline/viewport';
import { xOf } from '../../logic/timeline/viewport';
import { type LanePicture, paintLanes } from './paint-lanes';

export interface BandPicture {
  rows: readonly BandRow[];
  partsOf: (band: number) => { parts: readonly Part[]; states: Uint8Array };
  view: Viewport;
  width: number;
  height: number;
  scrollTop: number;
  palette: Palette;
  inks: Inks;
  axis: Axis;
  ratio: number;
  spansOf: (band: number) => BandSpans | undefined;
  types: LanePicture['types'];
}

/** The picture of the bands' columns, reused from frame to frame. */
export class Texture {
  private readonly canvas = document.createElement('canvas');
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private columns: Columns = newColumns(0);

  /** Draws the bands' columns, one below the other. */
  fill({ rows, partsOf, view, width, inks, ratio }: BandPicture): HTMLCanvasElement {
    const columns = Math.max(1, Math.round(width * ratio));
    const image = this.imageOf(columns, rows.length * TEXTURE_ROWS);
    for (const [at, { band }] of rows.entries()) {
      const { parts, states } = partsOf(band.id);
      paintColumns(parts, view, this.columns, states);
      fillTexture(this.pixels, at * TEXTURE_ROWS, this.columns, inks);
    }
    this.canvas.getContext('2d')?.putImageData(image, 0, 0, 0, 0, columns, rows.length * TEXTURE_ROWS);
    return this.canvas;
  }

  private imageOf(width: number, height: number): ImageData {
    if (this.image && this.image.width === width && this.image.height >= height) return this.image;
    const rows = Math.max(height, 24 * TEXTURE_ROWS);
    this.image = new ImageData(width, rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.columns = newColumns(width);
    this.canvas.width = width;
    this.canvas.height = rows;
    return this.image;
  }
}

/** The places of a band's state and samples, px from its top. */
export function bandParts(height: number): { state: number; stateHeight: number; ticks: number; ticksHeight: number } {
  const ticksHeight = height > BAND_HEIGHT ? 7 : 3;
  return { state: 2, stateHeight: height - ticksHeight - 5, ticks: height - ticksHeight - 1, ticksHeight };
}

export function paintBands(context: CanvasRenderingContext2D, picture: BandPicture, texture: Texture): void {
  const { rows, width, height, scrollTop, palette, axis } = picture;
  context.fillStyle = palette.ground.ground;
  context.fillRect(0, 0, width, height);
  context.fillStyle = palette.ground.panel;
  for (const { text, x } of axis.ticks) if (text !== null) context.fillRect(Math.round(x), 0, 1, height);
  if (rows.length === 0) return;
  const source = texture.fill(picture);
  context.imageSmoothingEnabled = false;
  for (const [at, row] of rows.entries()) {
    const top = row.top - scrollTop;
    if (row.stateHeight > 0) {
      const { state, stateHeight, ticks, ticksHeight } = bandParts(row.stateHeight);
      const from = at * TEXTURE_ROWS;
      context.drawImage(source, 0, from, source.width, STATE_ROWS, 0, top + state, width, stateHeight);
      context.drawImage(source, 0, from + STATE_ROWS, source.width, 1, 0, top + ticks, width, ticksHeight);
    }
    paintLanes(context, row, top, picture.spansOf(row.band.id), picture);
    context.fillStyle = row.pinned ? palette.ground['line-strong'] : palette.ground.line;
    context.fillRect(0, top + row.height - 1, width, 1);
  }
}

export function paintAxis(
  context: CanvasRenderingContext2D,
  axis: Axis,
  width: number,
  height: number,
  palette: Palette,
): void {
  const { panel, faint, text, line } = palette.ground;
  context.fillStyle = panel;
  context.fillRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const baseWidth = axis.base ? context.measureText(axis.base.text).width + 12 : 0;
  for (const { x, text: label } of axis.ticks) {
    context.fillStyle = line;
    context.fillRect(Math.round(x), label === null ? height - 4 : height - 8, 1, 8);
    context.fillStyle = faint;
    const room = label !== null && x >= baseWidth && x + context.measureText(label).width + 4 <= width;
    if (room) context.fillText(label, Math.round(x) + 3, height / 2 - 1);
  }
  if (!axis.base) return;
  context.fillStyle = text;
  context.fillText(axis.base.text, 4, height / 2 - 1);
}

export interface OverlayPicture {
  view: Viewport;
  width: number;
  height: number;
  palette: Palette;
  /** The selected time. */
  mark: Viewport | null;
  /** The time that the filters keep; the rest is dimmed. */
  range: Viewport | null;
  excluded: readonly Viewport[];
  /** Outlines of the hovered and the picked interval, of the pieces that explain it, and of the waits in between; tops and
   * heights in px on the canvas. */
  outlines: { time: Viewport; top: number; height: number; as: 'hovered' | 'picked' | 'piece' | 'between' }[];
  arrows: { shape: ArrowShape; strong: boolean }[];
  cursor: number | null;
}

export function paintOverlay(context: CanvasRenderingContext2D, picture: OverlayPicture): void {
  const { width, height, palette } = picture;
  context.clearRect(0, 0, width, height);
  dim(context, picture);
  for (const { shape, strong } of picture.arrows) paintArrow(context, shape, strong, palette);
  for (const outline of picture.outlines) paintOutline(context, outline, picture);
  paintMark(context, picture);
  if (picture.cursor !== null) {
    context.fillStyle = palette.ground.faint;
    context.fillRect(Math.round(picture.cursor), 0, 1, height);
  }
}

function dim(
  context: CanvasRenderingContext2D,
  { view, width, height, palette, range, excluded }: OverlayPicture,
): void {
  context.fillStyle = palette.ground.ground;
  context.globalAlpha = 0.68;
  const shade = (from: number, to: number) => {
    const [x0, x1] = [Math.max(0, xOf(from, view, width)), Math.min(width, xOf(to, view, width))];
    if (x0 < x1) context.fillRect(x0, 0, x1 - x0, height);
  };
  if (range) {
    shade(view.from, range.from);
    shade(range.to, view.to);
  }
  for (const part of excluded) shade(part.from, part.to);
  context.globalAlpha = 1;
}

function paintMark(context: CanvasRenderingContext2D, { view, width, height, palette, mark }: OverlayPicture): void {
  if (!mark) return;
  const [x0, x1] = [xOf(mark.from, view, width), xOf(mark.to, view, width)];
  context.fillStyle = palette.ground.accent;
  context.globalAlpha = 0.16;
  context.fillRect(x0, 0, x1 - x0, height);
  context.globalAlpha = 1;
  context.fillRect(Math.round(x0), 0, 1, height);
  context.fillRect(Math.round(x1) - 1, 0, 1, height);
}

function paintOutline(
  context: CanvasRenderingContext2D,
  { time, top, height, as }: OverlayPicture['outlines'][number],
  { view, width, palette }: OverlayPicture,
): void {
  const x0 = Math.max(-4, xOf(time.from, view, width));
  const x1 = Math.min(width + 4, xOf(time.to, view, width));
  if (x1 < 0 || x0 > width) return;
  const strong = as === 'picked' || as === 'piece';
  context.strokeStyle = as === 'piece' || as === 'between' ? palette.ground.accent : palette.ground.text;
  context.lineWidth = strong ? 2 : 1;
  context.setLineDash(as === 'between' ? [4, 3] : []);
  const inset = strong ? 0 : 0.5;
  const [left, right] = [Math.round(x0) + inset, Math.max(Math.round(x1) - inset, Math.round(x0) + 2)];
  context.strokeRect(left, top - 1 + inset, right - left, height + 2 - 2 * inset);
  context.setLineDash([]);
}

function paintArrow(
  context: CanvasRenderingContext2D,
  { x0, y0, x1, y1 }: ArrowShape,
  strong: boolean,
  palette: Palette,
): void {
  context.strokeStyle = palette.ground.text;
  context.fillStyle = palette.ground.text;
  context.globalAlpha = strong ? 1 : 0.45;
  context.lineWidth = strong ? 1.5 : 1;
  const down = Math.sign(y1 - y0) || 1;
  const tip = y1 - down * 5;
  context.beginPath();
  context.arc(x0, y0, 2, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  context.moveTo(x0, y0);
  // A bow, which differs from the cursor's straight line.
  context.bezierCurveTo(x0 + 10, y0 + (tip - y0) * 0.4, x1 - 10, y0 + (tip - y0) * 0.6, x1, tip);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 3.5, tip - down);
  context.lineTo(x1 + 3.5, tip - down);
  context.fill();
  context.globalAlpha = 1;
}
