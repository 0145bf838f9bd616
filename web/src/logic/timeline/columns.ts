// One band's events as columns of the screen: the state of each pixel, whether many events share it, and its number of
// samples. The cost depends on the pixels of the screen and of the server's tiles, not on the number of events.

import type { TileBand } from '../../api/tile';
import { STATES } from '../../base/palette';
import type { Viewport } from './viewport';

export const NO_STATE = 255;
/** Bits of a tile's flags. */
export const FLAG_MANY = 1;
export const FLAG_CLIPPED = 2;

/** Part of a band's data, to draw between two times. Parts of one band follow one another in time. */
export interface Part {
  data: TileBand;
  from: number;
  to: number;
}

export interface Columns {
  width: number;
  /** Index into STATES, or NO_STATE. */
  state: Uint8Array;
  /** 1: more events than the column can show. */
  many: Uint8Array;
  /** 0: no sample; up to 255. */
  samples: Uint8Array;
}

export function newColumns(width: number): Columns {
  return {
    width,
    state: new Uint8Array(width),
    many: new Uint8Array(width),
    samples: new Uint8Array(width),
  };
}

/** Draws parts into columns, one after another, and decides each column when the next begins. It shows the state with the
 * most time; time without events does not count, so that a short event in an empty column stays visible. */
class Painter {
  private column = -1;
  /** The column's only state and its time; with more than one state, `weight` has the time of each. */
  private state = NO_STATE;
  private stateWeight = 0;
  private mixed = false;
  private readonly weight = new Float64Array(STATES.length);
  private inside = 0;
  private insideState = NO_STATE;
  private flagged = false;

  constructor(private readonly out: Columns) {}

  /** An event from x0 to x1, in columns; `whole`: both of its ends are its own. */
  add(x0: number, x1: number, state: number, flags: number, whole: boolean): void {
    const first = Math.max(0, Math.floor(x0));
    const last = Math.min(this.out.width - 1, Math.ceil(x1) - 1);
    if (last < first) {
      if (first < this.out.width && x1 >= 0) this.enter(first, 0, state);
      return;
    }
    const many = (flags & FLAG_MANY) !== 0;
    this.enter(first, Math.min(x1, first + 1) - Math.max(x0, first), state);
    this.flagged ||= many;
    if (first === last) {
      if (whole && x0 >= 0 && x1 <= this.out.width) this.within(state);
      return;
    }
    this.settle();
    if (last > first + 1) {
      this.out.state.fill(state, first + 1, last);
      if (many) this.out.many.fill(1, first + 1, last);
    }
    this.enter(last, x1 - last, state);
    this.flagged ||= many;
  }

  /** Decides the current column. */
  settle(): void {
    if (this.column < 0) return;
    const most = this.mixed ? this.heaviest() : this.state;
    this.out.state[this.column] = most;
    const hidden = this.inside > 1 || (this.inside === 1 && this.insideState !== most);
    this.out.many[this.column] = this.flagged || hidden ? 1 : 0;
    this.column = -1;
  }

  private heaviest(): number {
    let most = 0;
    for (let state = 1; state < this.weight.length; state += 1) {
      if ((this.weight[state] ?? 0) > (this.weight[most] ?? 0)) most = state;
    }
    this.weight.fill(0);
    return most;
  }

  private enter(column: number, time: number, state: number): void {
    // Even the smallest weight counts.
    const weight = Math.max(time, 1e-9);
    if (column !== this.column) {
      this.settle();
      this.column = column;
      this.inside = 0;
      this.flagged = false;
      this.mixed = false;
      this.state = state;
      this.stateWeight = weight;
    } else if (!this.mixed && state === this.state) {
      this.stateWeight += weight;
    } else {
      if (!this.mixed) this.weight[this.state] = this.stateWeight;
      this.mixed = true;
      this.weight[state] = (this.weight[state] ?? 0) + weight;
    }
  }

  private within(state: number): void {
    this.inside += 1;
    this.insideState = state;
  }
}

/** Draws a band. `states` maps the tile's states to STATES. */
export function paintColumns(parts: readonly Part[], view: Viewport, out: Columns, states: Uint8Array): void {
  out.state.fill(NO_STATE);
  out.many.fill(0);
  out.samples.fill(0);
  const painter = new Painter(out);
  const scale = out.width / (view.to - view.from);
  for (const part of parts) {
    const from = Math.max(part.from, view.from);
    const to = Math.min(part.to, view.to);
    const { start, end, state, flags, sampleTime, sampleDensity } = part.data;
    for (let at = firstEndingAfter(end, from); at < start.length; at += 1) {
      const begin = start[at] ?? 0;
      const finish = end[at] ?? 0;
      if (begin >= to) break;
      const clipped = begin < from || finish > to || ((flags[at] ?? 0) & FLAG_CLIPPED) !== 0;
      const x0 = (Math.max(begin, from) - view.from) * scale;
      const x1 = (Math.min(finish, to) - view.from) * scale;
      painter.add(x0, x1, states[state[at] ?? 0] ?? 0, flags[at] ?? 0, !clipped);
    }
    paintSamples(out, from, to, { sampleTime, sampleDensity, origin: view.from, scale });
  }
  painter.settle();
}

interface Samples {
  sampleTime: Float64Array;
  sampleDensity: Uint8Array;
  origin: number;
  scale: number;
}

function paintSamples(out: Columns, from: number, to: number, samples: Samples): void {
  const { sampleTime, sampleDensity, origin, scale } = samples;
  for (let at = firstNotBefore(sampleTime, from); at < sampleTime.length; at += 1) {
    const time = sampleTime[at] ?? 0;
    if (time >= to) break;
    const column = Math.floor((time - origin) * scale);
    const density = (out.samples[column] ?? 0) + Math.max(1, sampleDensity[at] ?? 1);
    if (column >= 0 && column < out.width) out.samples[column] = Math.min(255, density);
  }
}

/** Index of the first of the ascending `ends` that is above `time`. */
export function firstEndingAfter(ends: Float64Array, time: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first of the ascending `times` that is not below `time`. */
function firstNotBefore(times: Float64Array, time: number): number {
  const at = firstEndingAfter(times, time);
  return at > 0 && times[at - 1] === time ? at - 1 : at;
}

/** Maps the states of a tile's header to indices of STATES; an unknown state becomes other-wait. */
export function stateNumbers(names: readonly string[]): Uint8Array {
  return Uint8Array.from(names, (name) => {
    const at = (STATES as readonly string[]).indexOf(name);
    return at >= 0 ? at : STATES.indexOf('other-wait');
  });
}
