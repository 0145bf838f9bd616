// Draws the chart of calls: the colour is the phase; calls that are not highlighted are grey.

import type { TraceInfo } from '../../api/types';
import { palette, type Theme } from '../../base/palette';
import { mixed, phaseColor } from '../../base/phases';
import { type Box, CALL_HEIGHT, cycleTicks, phaseStrip } from '../../logic/anatomy/chart';
import { type Viewport, xOf } from '../../logic/timeline/viewport';

export interface Picture {
  boxes: readonly Box[];
  /** The highlighted phases; null: all. */
  lit: readonly Box[] | null;
  /** Numbers of calls. */
  call: number | null;
  pointed: number | null;
  info: TraceInfo;
  theme: Theme;
  width: number;
  height: number;
  view: Viewport;
}

const FONT = '11.5px system-ui, "Noto Sans", "Noto Sans CJK JP", sans-serif';
const TEXT_PX = 28;
const PADDING = 4;

export function paintCalls(context: CanvasRenderingContext2D, picture: Picture, top: number): void {
  const { boxes, lit, info, theme, width, height, view } = picture;
  const { ground } = palette(theme);
  context.fillStyle = ground.ground;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = 'middle';
  const fills = info.phases.map((phase) => mixed(phaseColor(phase), ground.ground, theme === 'dark' ? 0.52 : 0.45));
  const pale = mixed(ground['line-strong'], ground.ground, 0.35);
  const paint = { context, top, height, letter: context.measureText('n').width };
  for (const box of boxes) {
    const fill = lit ? pale : (fills[box.phase] ?? pale);
    paintBox(paint, box, fill, lit ? ground.faint : ground.text);
  }
  for (const box of lit ?? []) paintBox(paint, box, fills[box.phase] ?? pale, ground.text);
  for (const box of boxes) {
    const isPicked = box.call === picture.call;
    if ((!isPicked && box.call !== picture.pointed) || box.calls > 1) continue;
    context.strokeStyle = ground.text;
    context.lineWidth = isPicked ? 2 : 1;
    context.strokeRect(box.x + 0.5, box.depth * CALL_HEIGHT - top + 0.5, Math.max(box.width - 1, 1), CALL_HEIGHT - 2);
  }
  if (info.missing !== null) paintMissing(context, xOf(info.missing, view, width), picture, ground.raised);
}

interface Paint {
  context: CanvasRenderingContext2D;
  top: number;
  height: number;
  /** Width of a letter, px. */
  letter: number;
}

function paintBox({ context, top, height, letter }: Paint, box: Box, fill: string, text: string): void {
  const { x, width, depth, name, covered } = box;
  const y = depth * CALL_HEIGHT - top;
  if (y + CALL_HEIGHT < 0 || y > height) return;
  context.fillStyle = fill;
  context.globalAlpha = 0.35 + 0.65 * covered;
  context.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.7), CALL_HEIGHT - 1);
  context.globalAlpha = 1;
  // The name of a call that begins left of the screen stays visible.
  const from = Math.max(x, 0);
  const room = Math.floor((x + width - from - 2 * PADDING) / letter);
  if (x + width - from < TEXT_PX || room < 2) return;
  context.fillStyle = text;
  const shown = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
  context.fillText(shown, from + PADDING, y + CALL_HEIGHT / 2, x + width - from - PADDING);
}

function paintMissing(context: CanvasRenderingContext2D, x: number, { width, height }: Picture, color: string): void {
  if (x >= width) return;
  context.fillStyle = color;
  context.fillRect(Math.max(x, 0), 0, width, height);
}

/** The strip: the innermost call's phase at each pixel, and the visible time. */
export function paintOverview(context: CanvasRenderingContext2D, picture: Picture, shown: Viewport): void {
  const { boxes, lit, info, theme, width, height, view } = picture;
  const { ground } = palette(theme);
  context.fillStyle = ground.panel;
  context.fillRect(0, 0, width, height);
  const strip = phaseStrip(lit ?? boxes, Math.ceil(width));
  for (let x = 0; x < strip.length; x += 1) {
    const phase = strip[x] ?? -1;
    if (phase < 0) continue;
    context.fillStyle = phaseColor(info.phases[phase] ?? '');
    context.fillRect(x, 3, 1, height - 6);
  }
  const [from, to] = [xOf(shown.from, view, width), xOf(shown.to, view, width)];
  context.fillStyle = ground.ground;
  context.globalAlpha = 0.66;
  context.fillRect(0, 0, from, height);
  context.fillRect(to, 0, width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = ground.accent;
  context.lineWidth = 2;
  context.strokeRect(from + 1, 1, Math.max(to - from - 2, 2), height - 2);
}

export function paintAxis(
  context: CanvasRenderingContext2D,
  { view, width, height, info, theme }: Pick<Picture, 'view' | 'width' | 'height' | 'info' | 'theme'>,
): void {
  const { ground } = palette(theme);
  context.fillStyle = ground.panel;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const { x, text } of cycleTicks(view, width, info.ticks_per_cycle)) {
    context.fillStyle = ground['line-strong'];
    context.fillRect(Math.round(x), height - 6, 1, 6);
    context.fillStyle = ground.faint;
    context.fillText(text, x + 4, height / 2);
  }
}
