// Timelines written as text, for tests: each letter is a unit of time with an event, a dot is one without.
//   R running, S spin, L lock, C condition, I idle, N socket, D I/O, Z sleep, P preempted

import type { Tile, TileBand } from '../../api/tile';
import { STATES, type State } from '../../base/palette';

const LETTERS: Record<string, State> = {
  R: 'running',
  S: 'spin',
  L: 'lock',
  C: 'condition',
  I: 'idle',
  N: 'socket',
  D: 'io',
  Z: 'sleep',
  P: 'preempted',
};

export const ALL_STATES = Uint8Array.from(STATES, (_, at) => at);

/** A band with an event for each run of equal letters, `unit` ns per letter, from `origin` on. */
export function band(id: number, text: string, unit = 1, origin = 0): TileBand {
  const runs = [...text.matchAll(/([A-Z])\1*/g)].map(({ 0: run, index }) => ({
    from: index,
    to: index + run.length,
    run,
  }));
  return {
    id,
    start: Float64Array.from(runs, ({ from }) => origin + from * unit),
    end: Float64Array.from(runs, ({ to }) => origin + to * unit),
    object: Uint32Array.from(runs, () => 0xffffffff),
    state: Uint8Array.from(runs, ({ run }) => STATES.indexOf(LETTERS[run[0] ?? ''] ?? 'other-wait')),
    flags: new Uint8Array(runs.length),
    sampleTime: new Float64Array(0),
    sampleDensity: new Uint8Array(0),
  };
}

export function tile(from: number, to: number, bands: TileBand[], exact = true): Tile {
  const sizes = bands.map(({ id, start, sampleTime }) => ({ id, segments: start.length, samples: sampleTime.length }));
  return { header: { from, to, exact, states: [...STATES], bands: sizes }, bands };
}

/** Columns as text, in lower case where many events share a column. */
export function text(columns: { state: Uint8Array; many: Uint8Array }): string {
  const letter = (state: number) => Object.entries(LETTERS).find(([, name]) => name === STATES[state])?.[0] ?? '.';
  return [...columns.state]
    .map((state, at) => (columns.many[at] ? letter(state).toLowerCase() : letter(state)))
    .join('');
}

/** Random numbers, the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
