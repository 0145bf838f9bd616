import { describe, expect, it } from 'vitest';
import { random } from './fixture';
import {
  panBy,
  SHORTEST_NS,
  showRange,
  timeAt,
  type Viewport,
  wheelFactor,
  wholeNs,
  within,
  xOf,
  zoomAbout,
} from './viewport';

const HOUR = 3600e9;
const next = random(42);
const any = (least: number, most: number) => least * (most / least) ** next();

/** A random view of a collection of up to ten hours, from the highest zoom to all of it. */
function anyView(): { view: Viewport; elapsed: number; width: number } {
  const elapsed = Math.round(any(1e3, 10 * HOUR));
  const span = any(SHORTEST_NS, elapsed);
  const from = next() * (elapsed - span);
  return { view: { from, to: from + span }, elapsed, width: Math.round(any(200, 5120)) };
}

describe('viewport', () => {
  it('keeps the time under the pointer while zooming, at every scale', () => {
    for (let round = 0; round < 2000; round += 1) {
      const { view, elapsed, width } = anyView();
      const x = next() * width;
      const zoomed = zoomAbout(view, x, width, any(0.2, 5), elapsed);
      expect(zoomed.from).toBeGreaterThanOrEqual(0);
      expect(zoomed.to).toBeLessThanOrEqual(elapsed + 1e-6 * elapsed);
      expect(zoomed.to - zoomed.from).toBeGreaterThanOrEqual(SHORTEST_NS * (1 - 1e-3));
      if (zoomed.from === 0 || zoomed.to >= elapsed - 1) continue;
      const moved = Math.abs(xOf(timeAt(x, view, width), zoomed, width) - x);
      // Ten hours at 10 ns: a pixel is finer than the numbers, so an error of a hundredth is allowed.
      expect(moved).toBeLessThan(0.05 * Math.max(1, width / 500));
    }
  });

  it('returns after zooming in and out about one place', () => {
    for (let round = 0; round < 500; round += 1) {
      const { view, elapsed, width } = anyView();
      const x = next() * width;
      let there = view;
      for (let step = 0; step < 10; step += 1) there = zoomAbout(there, x, width, 0.8, elapsed);
      if (there.to - there.from <= SHORTEST_NS * 1.01) continue;
      for (let step = 0; step < 10; step += 1) there = zoomAbout(there, x, width, 1 / 0.8, elapsed);
      const px = (view.to - view.from) / width;
      expect(Math.abs(there.from - view.from)).toBeLessThan(0.1 * px + 0.01);
      expect(Math.abs(there.to - view.to)).toBeLessThan(0.1 * px + 0.01);
    }
  });

  it('pans without changing the span, and back to where it was', () => {
    for (let round = 0; round < 1000; round += 1) {
      const { view, elapsed, width } = anyView();
      const dx = (next() - 0.5) * width;
      const moved = panBy(view, dx, width, elapsed);
      const span = view.to - view.from;
      expect(Math.abs(moved.to - moved.from - span)).toBeLessThan(1e-6 * span + 0.005);
      expect(moved.from).toBeGreaterThanOrEqual(0);
      if (moved.from === 0 || moved.to >= elapsed - 1e-3) continue;
      expect(Math.abs(xOf(view.from, moved, width) + dx)).toBeLessThan(0.05 * Math.max(1, width / 500));
      const back = panBy(moved, -dx, width, elapsed);
      expect(Math.abs(back.from - view.from)).toBeLessThan(span / width + 0.01);
    }
  });

  it('separates neighbouring ns hours after the start', () => {
    const view = { from: 5 * HOUR, to: 5 * HOUR + 10 };
    const xs = Array.from({ length: 11 }, (_, ns) => xOf(view.from + ns, view, 1000));
    for (const [ns, x] of xs.entries()) expect(x).toBeCloseTo(ns * 100, 6);
  });

  it('never leaves the collection, however short that is', () => {
    expect(within({ from: -5, to: 5 }, 1000)).toEqual({ from: 0, to: 10 });
    expect(within({ from: 990, to: 1200 }, 1000)).toEqual({ from: 790, to: 1000 });
    expect(within({ from: -10, to: 5000 }, 1000)).toEqual({ from: 0, to: 1000 });
    expect(within({ from: 0, to: 4 }, 3)).toEqual({ from: 0, to: SHORTEST_NS });
    expect(showRange({ from: 0, to: 100 }, 1000)).toEqual({ from: 0, to: 110 });
  });

  it('writes whole ns that are not empty', () => {
    expect(wholeNs({ from: 1.5, to: 2.5 })).toEqual({ from: 1, to: 3 });
    expect(wholeNs({ from: 7, to: 7 })).toEqual({ from: 7, to: 8 });
  });

  it('zooms by the same factor for opposite turns', () => {
    expect(wheelFactor(120, 0) * wheelFactor(-120, 0)).toBeCloseTo(1, 12);
    expect(wheelFactor(3, 1)).toBeCloseTo(wheelFactor(99, 0), 12);
    expect(wheelFactor(1e9, 0)).toBeLessThan(5);
  });
});
