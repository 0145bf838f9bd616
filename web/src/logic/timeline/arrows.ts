// Wake-ups as arrows from the waker's band to the band of the thread that it woke.

import type { Arrows } from '../../api/types';
import type { BandRow } from './band';
import { type Viewport, xOf } from './viewport';

export type Arrow = Arrows['arrows'][number];

export interface ArrowShape {
  arrow: Arrow;
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export interface Sheet {
  view: Viewport;
  width: number;
  height: number;
  scrollTop: number;
}

/** The visible arrows: both ends are among the bands. */
export function arrowShapes(arrows: readonly Arrow[], rows: readonly BandRow[], sheet: Sheet): ArrowShape[] {
  const places = new Map(rows.map((row) => [row.band.id, row.top + row.height / 2 - sheet.scrollTop]));
  return arrows.flatMap((arrow) => {
    const [y0, y1] = [places.get(arrow.waker), places.get(arrow.woken)];
    if (y0 === undefined || y1 === undefined) return [];
    const x0 = xOf(arrow.time_ns, sheet.view, sheet.width);
    const x1 = xOf(arrow.run_ns, sheet.view, sheet.width);
    const seen = x1 >= 0 && x0 <= sheet.width && Math.max(y0, y1) >= 0 && Math.min(y0, y1) <= sheet.height;
    return seen ? [{ arrow, x0, y0, x1, y1 }] : [];
  });
}

/** The arrow that ends a thread's wait at about `time`; null: none. */
export function arrowOfWait(arrows: readonly Arrow[], thread: number, from: number, to: number): Arrow | null {
  return arrows.find(({ woken, time_ns }) => woken === thread && from < time_ns && time_ns <= to + 1) ?? null;
}
