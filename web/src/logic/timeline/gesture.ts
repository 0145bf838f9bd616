// Interprets pointer movements over the bands, without knowing any element. A drag on the bands selects time; on the axis,
// or with Shift or the middle button, it moves the view; a press without a movement is a click.

import { panBy, timeAt, type Viewport } from './viewport';

/** A press that moves less than this is a click, px. */
export const CLICK_PX = 4;

export interface Press {
  x: number;
  y: number;
  onAxis: boolean;
  shift: boolean;
  button: number;
}

export interface Drag {
  kind: 'select' | 'pan';
  start: Press;
  /** The view when the press began; a pan starts from it, so that errors do not accumulate. */
  view: Viewport;
  scrollTop: number;
  /** Whether it moved too far for a click. */
  moved: boolean;
}

export type Effect =
  | { kind: 'none' }
  | { kind: 'select'; range: Viewport; done: boolean }
  | { kind: 'pan'; view: Viewport; scrollTop: number; done: boolean }
  | { kind: 'click'; x: number; y: number };

export interface Frame {
  width: number;
  elapsedNs: number;
}

export function beginDrag(start: Press, view: Viewport, scrollTop: number): Drag | null {
  if (start.button !== 0 && start.button !== 1) return null;
  const pan = start.onAxis || start.shift || start.button === 1;
  return { kind: pan ? 'pan' : 'select', start, view, scrollTop, moved: false };
}

/** The pointer moved: the new drag, and what to do. */
export function moveDrag(drag: Drag, x: number, y: number, frame: Frame): [Drag, Effect] {
  const far = Math.abs(x - drag.start.x) >= CLICK_PX || (drag.kind === 'pan' && Math.abs(y - drag.start.y) >= CLICK_PX);
  const next = drag.moved || far ? { ...drag, moved: true } : drag;
  return [next, next.moved ? effectOf(next, x, y, frame, false) : { kind: 'none' }];
}

/** The pointer was released. */
export function endDrag(drag: Drag, x: number, y: number, frame: Frame): Effect {
  return drag.moved ? effectOf(drag, x, y, frame, true) : { kind: 'click', x, y };
}

function effectOf(drag: Drag, x: number, y: number, { width, elapsedNs }: Frame, done: boolean): Effect {
  if (drag.kind === 'pan') {
    const view = panBy(drag.view, drag.start.x - x, width, elapsedNs);
    return { kind: 'pan', view, scrollTop: drag.scrollTop + drag.start.y - y, done };
  }
  const times = [drag.start.x, x].map((at) => Math.min(Math.max(timeAt(at, drag.view, width), 0), elapsedNs));
  return { kind: 'select', range: { from: Math.min(...times), to: Math.max(...times) }, done };
}
