// The way along the chain of a wait: from an interval to the thread that ended it, or that held the lock.

import type { IntervalInfo } from '../../api/types';
import type { Instant, Range, ViewState } from '../../state/view-state';
import { type Viewport, wholeNs, within } from './viewport';

/** Where a link of an interval leads; null for no thread of the program. */
export interface Walk {
  waker: Instant | null;
  holder: Instant | null;
}

/** The thread that ended a wait, at that instant, and the one that held the lock when the wait began. */
export function walkFrom(interval: IntervalInfo, elapsedNs: number): Walk {
  const { start_ns: start, wait_ns: wait, waker_thread: waker, holder_thread: holder } = interval;
  const instant = (thread: number | null, at: number) =>
    thread === null || wait === 0 ? null : { thread, at: Math.max(0, Math.min(at, elapsedNs - 1)) };
  return { waker: instant(waker, start + wait), holder: instant(holder, start) };
}

/** An interval narrower than this part of the view is too narrow to see. */
const NARROW = 0.01;
/** The part of the view that such an interval fills after the walk. */
const FILLED = 0.2;

/** The view that shows `target`: the same view if it does so already; else one around it, as long or, for a short one, shorter. */
export function viewToSee(view: Viewport, target: Range, at: number, elapsedNs: number): Viewport {
  const length = target.to - target.from;
  const span = view.to - view.from;
  const isSeen =
    at >= view.from && at < view.to && (length >= span || (target.from >= view.from && target.to <= view.to));
  if (isSeen && length >= span * NARROW) return view;
  const next = length < span * NARROW ? length / FILLED : span;
  const middle = length < next ? (target.from + target.to) / 2 : at;
  return within({ from: middle - next / 2, to: middle + next / 2 }, elapsedNs);
}

/** When an interval began, and when it ended. */
type Bounds = Pick<IntervalInfo, 'start_ns' | 'end_ns'>;

/** Picks what a thread did at an instant. `target` is that interval, if it is known. */
export function walkTo(state: ViewState, instant: Instant, target: Bounds | null, elapsedNs: number): ViewState {
  const { thread, at } = instant;
  const shown = state.zoom ?? { from: 0, to: elapsedNs };
  const range = target
    ? { from: target.start_ns, to: target.end_ns }
    : { from: at, to: at + (shown.to - shown.from) * NARROW };
  const view = viewToSee(shown, range, at, elapsedNs);
  const isWhole = view.to - view.from >= elapsedNs - 1;
  const hidden = state.bands === 'thread' ? state.hidden.filter((id) => id !== thread) : [];
  return {
    ...state,
    ...(state.bands === 'thread' ? {} : { bands: 'thread' as const, pinned: [], expanded: [] }),
    hidden,
    search: '',
    mark: null,
    task: null,
    picked: instant,
    zoom: isWhole ? null : wholeNs(view),
  };
}
