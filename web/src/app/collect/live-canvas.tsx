// Draws what the threads of a running collection did: the threads that ran as a curve, a band for each thread, the time below.

import { type PointerEvent, useState } from 'react';
import type { CollectionPicture } from '../../api/types';
import { type Palette, palette } from '../../base/palette';
import { t } from '../../base/texts';
import { percent, real } from '../../base/units';
import { cellsOf, columnsOf, type LiveCell, type LiveColumn, stateOf, togetherAt, viewOf } from '../../logic/live';
import { axisOf } from '../../logic/timeline/axis';
import { timeAt, xOf } from '../../logic/timeline/viewport';
import { usePreferences } from '../../state/preferences';
import { Canvas, useSize } from '../../views/parts/canvas';

export const CURVE_HEIGHT = 44;
export const BAND_HEIGHT = 18;
const AXIS_HEIGHT = 18;
const GAP = 4;

/** Px from the top of the first band. */
export const BANDS_TOP = CURVE_HEIGHT + GAP;

export function LiveCanvas({ picture }: { picture: CollectionPicture }) {
  const { theme } = usePreferences();
  const { box, size } = useSize<HTMLDivElement>();
  const [pointer, setPointer] = useState<[x: number, y: number] | null>(null);
  const height = BANDS_TOP + picture.bands.length * BAND_HEIGHT + AXIS_HEIGHT;
  const follow = ({ nativeEvent }: PointerEvent) => setPointer([nativeEvent.offsetX, nativeEvent.offsetY]);
  return (
    <div className="live-drawing">
      <div ref={box}>
        <Canvas
          size={{ width: size.width, height }}
          draw={(context) => paint(context, picture, size.width, palette(theme))}
          role="img"
          aria-label={t('live.bands')}
          onPointerMove={follow}
          onPointerLeave={() => setPointer(null)}
        />
      </div>
      <p className="faint live-hover">{pointer ? hovered(picture, size.width, pointer) : ' '}</p>
    </div>
  );
}

function paint(context: CanvasRenderingContext2D, picture: CollectionPicture, width: number, colors: Palette): void {
  const together = togetherAt(picture, width);
  const view = viewOf(picture);
  const columns = columnsOf(picture, together);
  const places = columns.map(({ from, to }): [number, number] => {
    const x0 = Math.round(xOf(from, view, width));
    return [x0, Math.max(1, Math.round(xOf(to, view, width)) - x0)];
  });
  const bottom = BANDS_TOP + picture.bands.length * BAND_HEIGHT;
  for (const [at, { as }] of columns.entries()) {
    const [x, wide] = places[at] ?? [0, 0];
    context.fillStyle = as === 'paused' ? colors.state.paused : colors.ground.panel;
    if (as !== 'unseen') context.fillRect(x, 0, wide, bottom);
  }
  paintCurve(context, columns, places, colors);
  for (const [row, band] of picture.bands.entries()) {
    const top = BANDS_TOP + row * BAND_HEIGHT + 1;
    for (const [at, cell] of cellsOf(band, together).entries()) {
      const [x, wide] = places[at] ?? [0, 0];
      if (cell) paintCell(context, cell, { x, wide, top }, colors);
    }
  }
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const { x, text } of axisOf(view, width).ticks) {
    context.fillStyle = colors.ground['line-strong'];
    context.fillRect(Math.round(x), bottom, 1, text === null ? 3 : 6);
    context.fillStyle = colors.ground.faint;
    const fits = text !== null && x + context.measureText(text).width + 4 <= width;
    if (fits) context.fillText(text, Math.round(x) + 3, bottom + AXIS_HEIGHT / 2 + 1);
  }
}

/** The most threads that ran at a time are the height; the number stands beside it. */
function paintCurve(
  context: CanvasRenderingContext2D,
  columns: readonly LiveColumn[],
  places: readonly [number, number][],
  colors: Palette,
): void {
  const most = Math.max(1, ...columns.map(({ concurrency }) => concurrency ?? 0));
  context.fillStyle = colors.state.running;
  for (const [at, { concurrency }] of columns.entries()) {
    const [x, wide] = places[at] ?? [0, 0];
    const high = ((concurrency ?? 0) / most) * (CURVE_HEIGHT - 14);
    context.fillRect(x, CURVE_HEIGHT - high, wide, high);
  }
  context.fillStyle = colors.ground.line;
  context.fillRect(0, CURVE_HEIGHT, context.canvas.width, 1);
  context.fillStyle = colors.ground.faint;
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'top';
  context.fillText(t('live.scale', { count: real(most) }), 3, 1);
}

/** From below: it ran, it was ready; the rest it waited. */
function paintCell(
  context: CanvasRenderingContext2D,
  { running, runnable, waits }: LiveCell,
  { x, wide, top }: { x: number; wide: number; top: number },
  colors: Palette,
): void {
  const high = BAND_HEIGHT - 3;
  const [ran, ready] = [running * high, runnable * high];
  context.fillStyle = waits ? colors.state[stateOf(waits)] : colors.ground.panel;
  context.fillRect(x, top, wide, high - ran - ready);
  context.fillStyle = colors.state.preempted;
  context.fillRect(x, top + high - ran - ready, wide, ready);
  context.fillStyle = colors.state.running;
  context.fillRect(x, top + high - ran, wide, ran);
}

/** What is under the pointer, in words. */
function hovered(picture: CollectionPicture, width: number, [x, y]: [number, number]): string {
  const time = timeAt(x, viewOf(picture), width);
  const at = Math.floor((time - picture.begin_ns) / picture.column_ns);
  const when = `${(Math.max(0, time) / 1e9).toFixed(1)} s`;
  const band = picture.bands[Math.floor((y - BANDS_TOP) / BAND_HEIGHT)];
  if (picture.columns[at] === 'p') return `${when} · ${t('state.paused')}`;
  if (picture.columns[at] !== 'l') return `${when} · ${t('live.unseen')}`;
  if (!band) return `${when} · ${t('live.ran', { count: real(picture.concurrency[at] ?? 0) })}`;
  const cell = cellsOf(band, 1)[at];
  if (!cell) return `${when} · ${band.name} · ${t('state.absent')}`;
  const rest = 1 - cell.running - cell.runnable;
  const parts = [
    `${t('state.running')} ${percent(cell.running)}`,
    `${t('live.queue')} ${percent(cell.runnable)}`,
    ...(cell.waits ? [`${t(`live.kind.${cell.waits}`)} ${percent(Math.max(0, rest))}`] : []),
  ];
  return `${when} · ${band.name} · ${parts.join(' · ')}`;
}
