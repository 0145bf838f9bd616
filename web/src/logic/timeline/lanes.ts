// Tasks, frames and markers of a band: the places of their lanes, the task at a place, and the request for them.

import type { BandRow } from './band';
import { chartQuestion } from './charts';
import { timeAt, type Viewport } from './viewport';

/** Columns of one lane, as the server gives them. */
export interface Lane {
  start: number[];
  end: number[];
  /** Rows of the task types. */
  type: number[];
  /** Row of the task; null: several, shorter than a pixel. */
  task: (number | null)[];
}

export interface BandSpans {
  id: number;
  lanes: Lane[];
  markers: { time: number[]; type: number[]; count: number[] };
}

/** One task, or several that share a pixel. */
export interface Span {
  from: number;
  to: number;
  type: number;
  task: number | null;
  lane: number;
}

/** The place of a lane, px from the top of its band. */
export function laneBox(row: BandRow, lane: number): { top: number; height: number } {
  const { first, room } = lanePlace(row);
  const height = room / Math.max(row.lanes, 1);
  return { top: first + lane * height, height: Math.max(1, height - 1) };
}

/** Lanes lie below the state, or fill a band that has no state. */
function lanePlace({ height, stateHeight }: BandRow): { first: number; room: number } {
  return stateHeight === 0 ? { first: 1, room: height - 3 } : { first: stateHeight, room: height - stateHeight - 1 };
}

/** The task at a time and a height in a band, or within a pixel of it. */
export function spanAt(
  row: BandRow,
  spans: BandSpans | undefined,
  y: number,
  view: Viewport,
  place: { x: number; width: number },
): Span | null {
  const lane = spans?.lanes.findIndex((_, lane) => {
    const { top, height } = laneBox(row, lane);
    return lane < row.lanes && y >= top && y <= top + height;
  });
  if (!spans || lane === undefined || lane < 0) return null;
  const [from, to] = [timeAt(place.x - 1, view, place.width), timeAt(place.x + 1, view, place.width)];
  const { start, end, type, task } = spans.lanes[lane] ?? { start: [], end: [], type: [], task: [] };
  const at = firstAfter(end, from);
  if ((start[at] ?? Number.POSITIVE_INFINITY) > to) return null;
  return { from: start[at] ?? 0, to: end[at] ?? 0, type: type[at] ?? 0, task: task[at] ?? null, lane };
}

/** Index of the first number above `value`, of numbers in order. */
export function firstAfter(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

export interface SpanQuestion {
  from: number;
  to: number;
  width: number;
  /** Ids of the bands, in order. */
  bands: string;
}

/** The request for the visible bands that show lanes. */
export function spanQuestion(view: Viewport, width: number, elapsedNs: number, rows: readonly BandRow[]): SpanQuestion {
  const ids = rows.filter(({ lanes }) => lanes > 0).map(({ band }) => band.id);
  return { ...chartQuestion(view, width, elapsedNs), bands: ids.join(',') };
}
