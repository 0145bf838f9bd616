// The state that changes while the reader zooms, pans and points. It lives outside React, and its painters draw once a
// frame. At the end of a movement the scene updates the view's state, so that the link and the history have whole steps.

import { begin } from '../../base/activity';
import { type Viewport, wholeNs, within } from './viewport';

const SETTLED_MS = 220;

export class Scene {
  view: Viewport;
  /** Width of the drawn time in px; the same for bands, axis, charts. */
  width = 0;
  /** Height of the visible part of the bands. */
  height = 0;
  scrollTop = 0;
  /** The pointer over the time, px; y counts from the top of the visible bands, and is null elsewhere. */
  pointer: { x: number; y: number | null } | null = null;
  /** The range of the selection under way. */
  mark: Viewport | null = null;
  /** Counts the changes of the bands; a moved pointer is none. */
  revision = 0;
  /** Whether the movement under way changes how much time is shown. */
  zooming = false;

  private readonly painters = new Set<() => void>();
  private readonly settledListeners = new Set<(view: Viewport) => void>();
  private frame = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private told: Viewport;
  /** Ends the activity of a movement; the page stays busy until the state has its end. */
  private moving: (() => void) | undefined;

  constructor(
    readonly elapsedNs: number,
    zoom: Viewport | null,
    private readonly requestFrame: (paint: () => void) => void = (paint) => requestAnimationFrame(paint),
  ) {
    this.view = within(zoom ?? { from: 0, to: elapsedNs }, elapsedNs);
    this.told = wholeNs(this.view);
  }

  /** Calls `paint` in every frame with a change. */
  onFrame(paint: () => void): () => void {
    this.painters.add(paint);
    this.invalidate();
    return () => void this.painters.delete(paint);
  }

  /** Calls `listener` when the view comes to rest. */
  onSettled(listener: (view: Viewport) => void): () => void {
    this.settledListeners.add(listener);
    return () => void this.settledListeners.delete(listener);
  }

  readonly invalidate = (): void => {
    this.revision += 1;
    this.redraw();
  };

  /** Draws what has changed, the bands only if they did. */
  readonly redraw = (): void => {
    if (this.frame) return;
    this.frame = true;
    this.requestFrame(() => {
      this.frame = false;
      for (const paint of this.painters) paint();
    });
  };

  /** Moves the view; the state follows when it rests. */
  moveTo(view: Viewport, restAfterMs = SETTLED_MS): void {
    const next = within(view, this.elapsedNs);
    const [before, after] = [this.view.to - this.view.from, next.to - next.from];
    this.zooming ||= Math.abs(after - before) > before * 1e-9;
    this.view = next;
    this.invalidate();
    this.moving ??= begin();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), restAfterMs);
  }

  /** Home and End move the view to the start or the end of the collection; false for other keys. */
  toEnd(key: string): boolean {
    const length = this.view.to - this.view.from;
    if (key === 'Home') this.moveTo({ from: 0, to: length });
    else if (key === 'End') this.moveTo({ from: this.elapsedNs - length, to: this.elapsedNs });
    return key === 'Home' || key === 'End';
  }

  /** Shows the state's new view (undo, a link, a finding). Ignores the echo of the scene's own update: its whole ns would make
   * high zooms jump. */
  follow(zoom: Viewport | null): void {
    const next = within(zoom ?? { from: 0, to: this.elapsedNs }, this.elapsedNs);
    const whole = wholeNs(next);
    if (whole.from === this.told.from && whole.to === this.told.to) return;
    this.stop();
    this.view = next;
    this.told = whole;
    this.invalidate();
    for (const listener of this.settledListeners) listener(this.view);
  }

  /** Sets the range of the selection under way; null: none. */
  select(mark: Viewport | null): void {
    this.mark = mark;
    this.redraw();
  }

  scrollTo(top: number): void {
    if (top === this.scrollTop) return;
    this.scrollTop = top;
    this.invalidate();
  }

  resize(width: number, height: number): void {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.invalidate();
  }

  point(pointer: Scene['pointer']): void {
    this.pointer = pointer;
    this.redraw();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.zooming = false;
    this.moving?.();
    this.moving = undefined;
  }

  /** Whether a movement is under way. */
  get isMoving(): boolean {
    return this.moving !== undefined;
  }

  /** Whether the view shows the whole collection. */
  get isWhole(): boolean {
    return this.view.to - this.view.from >= this.elapsedNs - 1;
  }

  private settle(): void {
    this.stop();
    // Tiles near the view may be requested now.
    this.invalidate();
    const whole = wholeNs(this.view);
    if (whole.from === this.told.from && whole.to === this.told.to) return;
    this.told = whole;
    for (const listener of this.settledListeners) listener(this.view);
  }
}
