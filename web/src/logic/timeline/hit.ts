// The band, time and event under the pointer, found in the data and not on the screen.

import type { TileBand } from '../../api/tile';
import { STATES, type State } from '../../base/palette';
import type { BandRow } from './band';
import { rowAt } from './bands';
import { FLAG_MANY, firstEndingAfter, type Part } from './columns';
import { type BandSpans, type Span, spanAt } from './lanes';
import { timeAt, type Viewport } from './viewport';

export interface Hit {
  row: number;
  /** ns since the start; not whole. */
  time: number;
  /** What the band did then; null without an event, or before its tile has arrived. */
  piece: Piece | null;
  /** The task at that place. */
  span: Span | null;
}

export interface Piece {
  state: State;
  from: number;
  to: number;
  /** Whether events share the pixel: the state is that of most of the time. */
  many: boolean;
  /** Row of the objects table. */
  object: number | null;
}

const NO_OBJECT = 0xffffffff;

export interface Place {
  x: number;
  /** From the top of the first band. */
  y: number;
  width: number;
}

/** The band, the time and the event at a place. */
export function hitTest(
  place: Place,
  view: Viewport,
  rows: readonly BandRow[],
  partsOf: (band: number) => { parts: readonly Part[]; states: Uint8Array },
  spansOf: (band: number) => BandSpans | undefined = () => undefined,
): Hit | null {
  const index = rowAt(rows, place.y);
  const row = rows[index];
  if (!row) return null;
  const time = timeAt(place.x, view, place.width);
  const down = place.y - row.top;
  if (row.lanes > 0 && down >= row.stateHeight) {
    return { row: index, time, piece: null, span: spanAt(row, spansOf(row.band.id), down, view, place) };
  }
  const { parts, states } = partsOf(row.band.id);
  // A pixel of tolerance on both sides makes events narrower than a pixel reachable.
  const slack = (view.to - view.from) / Math.max(place.width, 1) / 2;
  const piece = pieceAt(parts, states, time) ?? nearest(parts, states, time, slack);
  return { row: index, time, piece, span: null };
}

export function pieceAt(parts: readonly Part[], states: Uint8Array, time: number): Piece | null {
  const part = parts.find(({ from, to }) => from <= time && time < to);
  if (!part) return null;
  const at = firstEndingAfter(part.data.end, time);
  if ((part.data.start[at] ?? Number.POSITIVE_INFINITY) > time) return null;
  return joined(parts, part, at, states);
}

/** The event that begins or ends within `slack` of the time. */
function nearest(parts: readonly Part[], states: Uint8Array, time: number, slack: number): Piece | null {
  for (const part of parts) {
    if (part.to <= time - slack || part.from >= time + slack) continue;
    const at = firstEndingAfter(part.data.end, time - slack);
    if ((part.data.start[at] ?? Number.POSITIVE_INFINITY) < time + slack) return joined(parts, part, at, states);
  }
  return null;
}

/** The event at an index, joined with its pieces in the neighbouring tiles. */
function joined(parts: readonly Part[], part: Part, at: number, states: Uint8Array): Piece {
  const piece = pieceOf(part.data, at, states);
  const index = parts.indexOf(part);
  for (let next = index + 1; next < parts.length && piece.to >= (parts[next]?.from ?? 0); next += 1) {
    const data = parts[next]?.data;
    const follows = data && pieceOf(data, firstEndingAfter(data.end, piece.to), states);
    if (!follows || follows.from > piece.to || !alike(piece, follows)) break;
    piece.to = follows.to;
  }
  for (let before = index - 1; before >= 0 && piece.from <= (parts[before]?.to ?? 0); before -= 1) {
    const data = parts[before]?.data;
    const leads = data && pieceOf(data, firstEndingAfter(data.end, piece.from - 1), states);
    if (!leads || leads.to < piece.from || !alike(piece, leads)) break;
    piece.from = leads.from;
  }
  return piece;
}

function alike(a: Piece, b: Piece): boolean {
  return a.state === b.state && a.object === b.object && !a.many && !b.many;
}

function pieceOf(data: TileBand, at: number, states: Uint8Array): Piece {
  const object = data.object[at] ?? NO_OBJECT;
  return {
    state: STATES[states[data.state[at] ?? 0] ?? 0] ?? 'absent',
    from: data.start[at] ?? Number.POSITIVE_INFINITY,
    to: data.end[at] ?? Number.POSITIVE_INFINITY,
    many: ((data.flags[at] ?? 0) & FLAG_MANY) !== 0,
    object: object === NO_OBJECT ? null : object,
  };
}
