// The picture of a collection that runs, as the server sends it, laid out for a width. Pure: drawn by app/collect/live-canvas.tsx.

import type { CollectionPicture, PictureBand } from '../api/types';
import type { State } from '../base/palette';
import type { Viewport } from './timeline/viewport';

/** Kinds of waits in the order of their letters (crates/live/src/wait.rs), and the states of the timeline that they are. */
export const WAIT_KINDS = [
  ['lock', 'lock'],
  ['condition', 'condition'],
  ['network', 'socket'],
  ['poll', 'idle'],
  ['stream', 'io'],
  ['disk', 'io'],
  ['page-fault', 'io'],
  ['sleep', 'sleep'],
  ['child', 'other-wait'],
  ['signal', 'other-wait'],
  ['other', 'other-wait'],
] as const satisfies readonly (readonly [kind: string, state: State])[];
export type WaitKind = (typeof WAIT_KINDS)[number][0];

const ALL = 35;
/** The axis is so long at least: a picture that has just begun grows into it. */
const SHORTEST_NS = 20e9;

/** A band in a part of the time: which parts of it the threads ran, were ready, and for what they waited most of the rest. */
export interface LiveCell {
  running: number;
  runnable: number;
  waits: WaitKind | null;
}

/** Columns that are drawn as one. */
export interface LiveColumn {
  from: number;
  to: number;
  as: 'looked' | 'paused' | 'unseen';
  concurrency: number | null;
}

export function stateOf(kind: WaitKind | null): State {
  return WAIT_KINDS.find(([id]) => id === kind)?.[1] ?? 'other-wait';
}

/** The time that the picture shows. */
export function viewOf({ begin_ns, column_ns, columns }: CollectionPicture): Viewport {
  const from = Math.max(0, begin_ns);
  return { from, to: Math.max(begin_ns + column_ns * columns.length, from + SHORTEST_NS) };
}

/** How many columns are drawn as one, so that none is narrower than a pixel. */
export function togetherAt(picture: CollectionPicture, width: number): number {
  const { from, to } = viewOf(picture);
  return Math.max(1, Math.ceil((to - from) / picture.column_ns / Math.max(width, 1)));
}

/** The columns, `together` as one. */
export function columnsOf(
  { begin_ns, column_ns, columns, concurrency }: CollectionPicture,
  together: number,
): LiveColumn[] {
  return groups(columns.length, together).map(([first, end]) => {
    const seen = columns.slice(first, end);
    const ran = concurrency.slice(first, end).filter((value) => value !== null);
    return {
      from: Math.max(0, begin_ns + first * column_ns),
      to: begin_ns + end * column_ns,
      as: seen.includes('l') ? 'looked' : seen.includes('p') ? 'paused' : 'unseen',
      concurrency: ran.length > 0 ? ran.reduce((sum, value) => sum + value, 0) / ran.length : null,
    };
  });
}

/** A band's cells, `together` as one; null: it was not there, or nobody looked. */
export function cellsOf({ cells }: PictureBand, together: number): (LiveCell | null)[] {
  const all = Array.from({ length: Math.floor(cells.length / 3) }, (_, at) => cellOf(cells.slice(3 * at, 3 * at + 3)));
  return groups(all.length, together).map(([first, end]) =>
    mean(all.slice(first, end).filter((cell) => cell !== null)),
  );
}

/** What a band does now; null: its threads have ended. */
export function nowOf(band: PictureBand, columns: string): State | null {
  // The last column may have begun just now.
  const at = columns.lastIndexOf('l');
  const cell = cellOf(band.cells.slice(3 * at, 3 * at + 3)) ?? cellOf(band.cells.slice(3 * at - 3, 3 * at));
  if (!cell) return null;
  const rest = 1 - cell.running - cell.runnable;
  if (cell.running >= Math.max(rest, cell.runnable)) return 'running';
  return cell.runnable >= rest ? 'preempted' : stateOf(cell.waits);
}

function cellOf(letters: string): LiveCell | null {
  const [ran, ready, kind] = letters;
  if (ran === undefined || ready === undefined || kind === undefined || ran === '.') return null;
  const waits = WAIT_KINDS[kind.charCodeAt(0) - 'a'.charCodeAt(0)]?.[0] ?? null;
  return { running: Number.parseInt(ran, 36) / ALL, runnable: Number.parseInt(ready, 36) / ALL, waits };
}

function mean(cells: LiveCell[]): LiveCell | null {
  if (cells.length === 0) return null;
  const of = (part: (cell: LiveCell) => number) => cells.reduce((sum, cell) => sum + part(cell), 0) / cells.length;
  const waited = new Map<WaitKind, number>();
  for (const { running, runnable, waits } of cells) {
    if (waits) waited.set(waits, (waited.get(waits) ?? 0) + 1 - running - runnable);
  }
  const longest = [...waited].sort(([, one], [, other]) => other - one)[0];
  return { running: of((cell) => cell.running), runnable: of((cell) => cell.runnable), waits: longest?.[0] ?? null };
}

function groups(length: number, together: number): [first: number, end: number][] {
  return Array.from({ length: Math.ceil(length / together) }, (_, at) => [
    at * together,
    Math.min(length, (at + 1) * together),
  ]);
}
