// What moves while the reader zooms, pans and points: kept outside of React, drawn once a frame by whoever shows part of
// it. When a movement has ended, the view's state is told, so that the link and the history have whole steps.

import { begin } from '../../base/activity';
import { type Viewport, wholeNs, within } from './viewport';

const SETTLED_MS = 220;

export class Scene {
  view: Viewport;
  /** Size of the drawn time in px; the same for bands, axis, charts. */
  width = 0;
  /** Height of the place in which bands are seen. */
  height = 0;
  scrollTop = 0;
  /** The pointer over the time, px; y is of the bands' place and null elsewhere. */
  pointer: { x: number; y: number | null } | null = null;
  /** The range that is being selected, before the state is told. */
  mark: Viewport | null = null;
  /** Counts what changes the bands; a moved pointer does not. */
  revision = 0;
  /** Whether the movement under way changes how much time is shown. */
  zooming = false;

  private readonly painters = new Set<() => void>();
  private readonly settledListeners = new Set<(view: Viewport) => void>();
  private frame = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private told: Viewport;
  /** Ends the activity of a movement; the page is not idle before the state knows where it ended. */
  private moving: (() => void) | undefined;

  constructor(
    readonly elapsedNs: number,
    zoom: Viewport | null,
    private readonly requestFrame: (paint: () => void) => void = (paint) => requestAnimationFrame(paint),
  ) {
    this.view = within(zoom ?? { from: 0, to: elapsedNs }, elapsedNs);
    this.told = wholeNs(this.view);
  }

  /** Calls `paint` in every frame in which something has changed. */
  onFrame(paint: () => void): () => void {
    this.painters.add(paint);
    this.invalidate();
    return () => void this.painters.delete(paint);
  }

  /** Calls `listener` when the view has come to rest. */
  onSettled(listener: (view: Viewport) => void): () => void {
    this.settledListeners.add(listener);
    return () => void this.settledListeners.delete(listener);
  }

  readonly invalidate = (): void => {
    this.revision += 1;
    this.redraw();
  };

  /** Draws what is not as it was drawn, the bands only if they have changed. */
  readonly redraw = (): void => {
    if (this.frame) return;
    this.frame = true;
    this.requestFrame(() => {
      this.frame = false;
      for (const paint of this.painters) paint();
    });
  };

  /** Moves the view; the state is told when it rests. */
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

  /** Home and End: as much time as now, at the start or the end of the collection; false for other keys. */
  toEnd(key: string): boolean {
    const length = this.view.to - this.view.from;
    if (key === 'Home') this.moveTo({ from: 0, to: length });
    else if (key === 'End') this.moveTo({ from: this.elapsedNs - length, to: this.elapsedNs });
    return key === 'Home' || key === 'End';
  }

  /** The state has another view (undo, a link, a finding): shows it. The echo of what was told is not followed, since
   * whole ns would make the closest looks jump. */
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

  /** The range under the pointer's drag; null: none. */
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
    // What is near may be asked for now.
    this.invalidate();
    const whole = wholeNs(this.view);
    if (whole.from === this.told.from && whole.to === this.told.to) return;
    this.told = whole;
    for (const listener of this.settledListeners) listener(this.view);
  }
}
