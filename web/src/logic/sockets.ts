// Waits on sockets: their places on the timeline, and their causes in sum.

import type { Info } from '../api/types';
import { filterInRange } from '../state/actions';
import type { Range, ViewState } from '../state/view-state';
import type { Parts } from './values';

/** One wait of the report `socket-waits`. */
export interface Wait {
  tid: number;
  startNs: number;
  waitNs: number;
}

/** The thread that waited: ids are reused, so the one that lived then. Null if none of this id did. */
export function waiter({ tid, startNs }: Wait, threads: Info['threads']): number | null {
  const lived = (thread: Info['threads'][number]) => thread.start_ns <= startNs && startNs <= thread.end_ns;
  return threads.find((thread) => thread.tid === tid && lived(thread))?.id ?? null;
}

/** A range with the wait in its middle fifth. */
export function around({ startNs, waitNs }: Pick<Wait, 'startNs' | 'waitNs'>, elapsedNs: number): Range {
  const margin = Math.max(2 * waitNs, 1000);
  return { from: Math.max(0, startNs - margin), to: Math.min(elapsedNs, startNs + waitNs + margin) };
}

/** The timeline at a wait, with the wait picked. */
export function showWait(state: ViewState, wait: Wait, { threads, elapsed_ns }: Info): ViewState {
  const thread = waiter(wait, threads);
  const picked = thread === null ? null : { thread, at: wait.startNs };
  return { ...state, tab: 'platform', bands: 'thread', zoom: around(wait, elapsed_ns), picked, task: null };
}

/** Only the time of a wait. */
export function onlyWait(state: ViewState, { startNs, waitNs }: Wait): ViewState {
  return filterInRange(state, { from: startNs, to: startNs + Math.max(waitNs, 1) });
}

/** Sums of the times of several sockets, the largest first. */
export function sumParts(all: readonly Parts[]): Parts {
  const sums = new Map<string, number>();
  for (const parts of all) for (const [name, ns] of Object.entries(parts)) sums.set(name, (sums.get(name) ?? 0) + ns);
  return Object.fromEntries([...sums].sort(([, a], [, b]) => b - a));
}
