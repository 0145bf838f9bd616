// The chart of calls over the clock: which tiles a view needs, where it draws their pieces, and what the pointer is over.
// Times are ticks of the model's clock.

import type { ChartTile } from '../../api/types';
import { levelFor, type TileId, tilesOver, tileTime } from '../timeline/tiles';
import { type Viewport, xOf } from '../timeline/viewport';

/** Height of a call, px. */
export const CALL_HEIGHT = 18;
/** Tiles in memory. */
const MOST_TILES = 96;

/** The drawn piece of a call, or of several calls that share a pixel. */
export interface Box {
  depth: number;
  x: number;
  width: number;
  begin: number;
  end: number;
  call: number;
  calls: number;
  phase: number;
  name: string;
  /** The share of it that the calls take. */
  covered: number;
}

const nameOf = ({ level, index }: TileId) => `${level}/${index}`;

/** Tiles of one question (a trace on a machine, all calls or some); drops the least recently used ones. */
export class ChartTiles {
  private readonly kept = new Map<string, ChartTile>();

  constructor(private readonly ticks: number) {}

  /** The tiles over a view, at the level of its pixels. */
  wanted(view: Viewport, width: number): TileId[] {
    const level = levelFor((view.to - view.from) / Math.max(width, 1));
    return tilesOver(view, level, this.ticks);
  }

  has(tile: TileId): boolean {
    return this.kept.has(nameOf(tile));
  }

  add(tile: TileId, data: ChartTile): void {
    this.kept.set(nameOf(tile), data);
    const [oldest] = this.kept.keys();
    if (this.kept.size > MOST_TILES && oldest !== undefined) this.kept.delete(oldest);
  }

  /** The tile, or until it arrives the closest coarser one. */
  best(tile: TileId): ChartTile | null {
    for (let { level, index } = tile; level < 64; level += 1, index = Math.floor(index / 2)) {
      const name = nameOf({ level, index });
      const found = this.kept.get(name);
      if (!found) continue;
      this.kept.delete(name);
      this.kept.set(name, found);
      return found;
    }
    return null;
  }

  /** The pieces to draw for a view, each once. */
  boxes(view: Viewport, width: number): Box[] {
    const boxes: Box[] = [];
    let drawnTo = Number.NEGATIVE_INFINITY;
    for (const tile of this.wanted(view, width)) {
      const data = this.best(tile);
      const { from, to } = tileTime(tile);
      if (data) take(boxes, data, { from: Math.max(from, view.from), to: Math.min(to, view.to) }, drawnTo);
      drawnTo = to;
    }
    for (const box of boxes) place(box, view, width);
    return boxes;
  }
}

/** Adds the pieces in a range, except those that began before `drawnTo`: the previous tile added them. */
function take(boxes: Box[], data: ChartTile, range: Viewport, drawnTo: number): void {
  for (let at = 0; at < data.depth.length; at += 1) {
    const begin = data.from + (data.begin[at] ?? 0);
    const end = data.from + (data.end[at] ?? 0);
    if (end <= range.from || begin >= range.to || begin < drawnTo) continue;
    boxes.push({
      depth: data.depth[at] ?? 0,
      x: 0,
      width: 0,
      begin,
      end,
      call: data.call[at] ?? 0,
      calls: data.calls[at] ?? 1,
      phase: data.phase[at] ?? 0,
      name: data.names[data.function[at] ?? -1] ?? '',
      covered: Math.min(1, (data.ticks[at] ?? 0) / Math.max(end - begin, 1)),
    });
  }
}

function place(box: Box, view: Viewport, width: number): void {
  const left = Math.max(xOf(box.begin, view, width), -2);
  box.x = left;
  box.width = Math.min(xOf(box.end, view, width), width + 2) - left;
}

/** The piece at a place; `y` counts from the first depth. */
export function boxAt(boxes: readonly Box[], x: number, y: number): Box | null {
  const depth = Math.floor(y / CALL_HEIGHT);
  const near = boxes.filter((box) => box.depth === depth && x >= box.x - 1 && x <= box.x + box.width + 1);
  // Of several near pieces, the one whose middle is nearest.
  const distance = (box: Box) => Math.max(0, box.x - x, x - box.x - box.width);
  return near.reduce<Box | null>((best, box) => (best && distance(best) <= distance(box) ? best : box), null);
}

/** The phase of the innermost call at each pixel; -1 without a call. */
export function phaseStrip(boxes: readonly Box[], width: number): Int16Array {
  const phases = new Int16Array(Math.max(width, 0)).fill(-1);
  const depths = new Int16Array(Math.max(width, 0)).fill(-1);
  for (const box of boxes) {
    const [from, to] = [Math.max(0, Math.floor(box.x)), Math.min(width, Math.ceil(box.x + box.width))];
    for (let x = from; x < to; x += 1) {
      if ((depths[x] ?? 0) > box.depth || box.covered < 0.5) continue;
      depths[x] = box.depth;
      phases[x] = box.phase;
    }
  }
  return phases;
}

/** The shortest view: a few cycles. */
export function closest(ticksPerCycle: number): number {
  return 8 * ticksPerCycle;
}

/** Rounds, as 1, 2 or 5 times a power of ten, up. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((digit) => digit * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** Labels of the axis, in cycles. */
export function cycleTicks(view: Viewport, width: number, ticksPerCycle: number): { x: number; text: string }[] {
  const [from, to] = [view.from / ticksPerCycle, view.to / ticksPerCycle];
  const step = Math.max(1, roundUp(((to - from) / Math.max(width, 1)) * 110));
  const labels: { x: number; text: string }[] = [];
  for (let cycle = Math.ceil(from / step) * step; cycle <= to; cycle += step) {
    labels.push({ x: xOf(cycle * ticksPerCycle, view, width), text: cycleText(cycle, step) });
  }
  return labels;
}

/** `1.25 M`, `840 k`, `12`: enough digits for a step. */
export function cycleText(cycles: number, step: number): string {
  const [unit, scale] = cycles >= 1e6 && step >= 1e3 ? ([' M', 1e6] as const) : (['', 1] as const);
  const decimals = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
  const text = (cycles / scale).toFixed(decimals);
  return `${text.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',')}${unit}`;
}
