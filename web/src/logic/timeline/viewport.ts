// The part of the collection that the timeline shows, and its arithmetic. Times are numbers of ns since the start: below
// 2^53 (104 days) every ns is exact, and a viewport that moves under the pointer has fractions finer than any pixel.
// Nothing here is an animation or a scale factor kept apart, so there is nothing to drift.

export interface Viewport {
  from: number;
  to: number;
}

/** The closest look, ns: below it there is nothing to tell apart. */
export const SHORTEST_NS = 10;

/** The viewport of a whole collection. */
export function wholeOf(elapsedNs: number): Viewport {
  return { from: 0, to: Math.max(elapsedNs, SHORTEST_NS) };
}

export function spanOf({ from, to }: Viewport): number {
  return to - from;
}

/** Where a time is drawn, px from the left edge. */
export function xOf(time: number, { from, to }: Viewport, width: number): number {
  return ((time - from) / (to - from)) * width;
}

/** The time under a place. */
export function timeAt(x: number, { from, to }: Viewport, width: number): number {
  return from + (x / Math.max(width, 1)) * (to - from);
}

/** The viewport moved, and shortened if need be, to lie within the collection and not be closer than the closest look. */
export function within(view: Viewport, elapsedNs: number): Viewport {
  const whole = wholeOf(elapsedNs);
  const span = Math.min(Math.max(view.to - view.from, SHORTEST_NS), whole.to);
  const from = Math.min(Math.max(view.from, 0), whole.to - span);
  return { from, to: from + span };
}

/** Zooms by `factor` (below 1: closer) so that the time under `x` stays there, unless an end of the collection is met. */
export function zoomAbout(view: Viewport, x: number, width: number, factor: number, elapsedNs: number): Viewport {
  const longest = wholeOf(elapsedNs).to;
  const span = Math.min(Math.max((view.to - view.from) * factor, SHORTEST_NS), longest);
  const anchor = timeAt(x, view, width);
  const from = anchor - (x / Math.max(width, 1)) * span;
  return within({ from, to: from + span }, elapsedNs);
}

/** Moves by `dx` px: what was at x is at x - dx. */
export function panBy(view: Viewport, dx: number, width: number, elapsedNs: number): Viewport {
  const shift = (dx / Math.max(width, 1)) * (view.to - view.from);
  return within({ from: view.from + shift, to: view.to + shift }, elapsedNs);
}

/** Shows a range with a little room on both sides. */
export function showRange({ from, to }: Viewport, elapsedNs: number, room = 0.05): Viewport {
  const margin = (to - from) * room;
  return within({ from: from - margin, to: to + margin }, elapsedNs);
}

/** The factor of a wheel event: the same for a notch of a mouse and for as much of a touchpad. */
export function wheelFactor(delta: number, mode: number): number {
  const px = mode === 1 ? delta * 33 : mode === 2 ? delta * 400 : delta;
  return Math.exp(Math.max(-600, Math.min(600, px)) / 420);
}

/** Whole ns, as links and the server have them; never empty. */
export function wholeNs({ from, to }: Viewport): Viewport {
  const start = Math.max(0, Math.floor(from));
  return { from: start, to: Math.max(start + 1, Math.ceil(to)) };
}

/** The part that both have; null: none. */
export function overlap(a: Viewport, b: Viewport): Viewport | null {
  const from = Math.max(a.from, b.from);
  const to = Math.min(a.to, b.to);
  return from < to ? { from, to } : null;
}
