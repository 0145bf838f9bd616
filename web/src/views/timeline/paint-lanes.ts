// Draws tasks, frames and markers below a thread's state, or in a band of their own. They are not states, so they are grey:
// shades tell neighbours apart.

import type { Info } from '../../api/types';
import type { Palette } from '../../base/palette';
import type { BandRow } from '../../logic/timeline/band';
import { type BandSpans, firstAfter, type Lane, laneBox } from '../../logic/timeline/lanes';
import { type Viewport, xOf } from '../../logic/timeline/viewport';

export interface LanePicture {
  view: Viewport;
  width: number;
  palette: Palette;
  types: Info['task_types'];
}

const TEXT_PX = 24;

/** The lanes of one band whose top is at `top` px. */
export function paintLanes(
  context: CanvasRenderingContext2D,
  row: BandRow,
  top: number,
  spans: BandSpans | undefined,
  picture: LanePicture,
): void {
  if (!spans || row.lanes === 0) return;
  context.font = '10px system-ui, "Noto Sans", "Noto Sans CJK JP", sans-serif';
  context.textBaseline = 'middle';
  for (const [lane, data] of spans.lanes.slice(0, row.lanes).entries()) {
    const box = laneBox(row, lane);
    paintLane(context, data, { top: top + box.top, height: box.height }, picture);
  }
  paintMarkers(context, spans.markers, top + row.stateHeight, picture);
}

function paintLane(
  context: CanvasRenderingContext2D,
  { start, end, type }: Lane,
  { top, height }: { top: number; height: number },
  { view, width, palette, types }: LanePicture,
): void {
  const { ground } = palette;
  const shades = [ground['line-strong'], ground.line, ground.bar];
  for (let at = firstAfter(end, view.from); at < start.length && (start[at] ?? 0) < view.to; at += 1) {
    const x0 = Math.max(-1, xOf(start[at] ?? 0, view, width));
    const x1 = Math.min(width + 1, xOf(end[at] ?? 0, view, width));
    const known = types[type[at] ?? -1];
    const isFrame = known?.kind === 'frame';
    context.fillStyle = isFrame ? ground.raised : (shades[(type[at] ?? 0) % shades.length] ?? ground.line);
    // A gap of a pixel separates neighbours that are wide enough.
    const wide = Math.max(x1 - x0 > 3 ? x1 - x0 - 1 : x1 - x0, 0.7);
    context.fillRect(x0, top, wide, height);
    if (isFrame) {
      context.fillStyle = ground.faint;
      context.fillRect(x0, top, Math.min(1, wide), height);
    }
    if (wide < TEXT_PX || height < 7 || !known) continue;
    context.fillStyle = ground.text;
    const room = Math.floor((wide - 6) / 5.2);
    const text = known.name.length <= room ? known.name : `${known.name.slice(0, Math.max(0, room - 1))}…`;
    context.fillText(text, Math.max(x0, 0) + 3, top + height / 2 + 0.5, wide - 4);
  }
}

/** Draws a triangle that points down at each marker. */
function paintMarkers(
  context: CanvasRenderingContext2D,
  { time }: BandSpans['markers'],
  bottom: number,
  { view, width, palette }: LanePicture,
): void {
  context.fillStyle = palette.ground.text;
  for (let at = firstAfter(time, view.from - 1); at < time.length && (time[at] ?? 0) < view.to; at += 1) {
    const x = xOf(time[at] ?? 0, view, width);
    context.beginPath();
    context.moveTo(x - 3.5, bottom - 6);
    context.lineTo(x + 3.5, bottom - 6);
    context.lineTo(x, bottom);
    context.fill();
  }
}
