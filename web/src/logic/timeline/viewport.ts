// The visible part of the collection, and its arithmetic. Times are ns since the start as numbers: every ns is exact below
// 2^53 (104 days), and a viewport that follows the pointer has fractions finer than a pixel. It is the only state, without
// a scale factor beside it, so nothing can drift.

export interface Viewport {
  from: number;
  to: number;
}

/** The shortest view, ns: shorter ones would show nothing more. */
export const SHORTEST_NS = 10;

/** The viewport of a whole collection. */
export function wholeOf(elapsedNs: number): Viewport {
  return { from: 0, to: Math.max(elapsedNs, SHORTEST_NS) };
}

export function spanOf({ from, to }: Viewport): number {
  return to - from;
}

/** The place of a time, px from the left edge. */
export function xOf(time: number, { from, to }: Viewport, width: number): number {
  return ((time - from) / (to - from)) * width;
}

/** The time under a place. */
export function timeAt(x: number, { from, to }: Viewport, width: number): number {
  return from + (x / Math.max(width, 1)) * (to - from);
}

/** The viewport, moved and shortened to lie within the collection, and not shorter than the shortest view. */
export function within(view: Viewport, elapsedNs: number): Viewport {
  const whole = wholeOf(elapsedNs);
  const span = Math.min(Math.max(view.to - view.from, SHORTEST_NS), whole.to);
  const from = Math.min(Math.max(view.from, 0), whole.to - span);
  return { from, to: from + span };
}

/** Zooms by `factor` (below 1: in). The time under `x` stays there, except at the ends of the collection. */
export function zoomAbout(view: Viewport, x: number, width: number, factor: number, elapsedNs: number): Viewport {
  const longest = wholeOf(elapsedNs).to;
  const span = Math.min(Math.max((view.to - view.from) * factor, SHORTEST_NS), longest);
  const anchor = timeAt(x, view, width);
  const from = anchor - (x / Math.max(width, 1)) * span;
  return within({ from, to: from + span }, elapsedNs);
}

/** Moves by `dx` px: the time at x moves to x - dx. */
export function panBy(view: Viewport, dx: number, width: number, elapsedNs: number): Viewport {
  const shift = (dx / Math.max(width, 1)) * (view.to - view.from);
  return within({ from: view.from + shift, to: view.to + shift }, elapsedNs);
}

/** Shows a range with a little room on both sides. */
export function showRange({ from, to }: Viewport, elapsedNs: number, room = 0.05): Viewport {
  const margin = (to - from) * room;
  return within({ from: from - margin, to: to + margin }, elapsedNs);
}

/** The zoom factor of a wheel event: a notch of a mouse equals the same distance on a touchpad. */
export function wheelFactor(delta: number, mode: number): number {
  const px = mode === 1 ? delta * 33 : mode === 2 ? delta * 400 : delta;
  return Math.exp(Math.max(-600, Math.min(600, px)) / 420);
}

/** The range in whole ns, as links and the server need it; never empty. */
export function wholeNs({ from, to }: Viewport): Viewport {
  const start = Math.max(0, Math.floor(from));
  return { from: start, to: Math.max(start + 1, Math.ceil(to)) };
}

/** The overlap of both; null: none. */
export function overlap(a: Viewport, b: Viewport): Viewport | null {
  const from = Math.max(a.from, b.from);
  const to = Math.min(a.to, b.to);
  return from < to ? { from, to } : null;
}
