// One band of the timeline: its row on the screen, how high it is, and how many lanes of tasks it shows.

import type { Bands } from '../../api/types';

/** `state` is false where a band has no state of its own: one of tasks. */
export type Band = Bands['bands'][number] & { state?: boolean };

export const BAND_HEIGHT = 20;
export const EXPANDED_HEIGHT = 40;
/** A lane's height, px; in a band of tasks they share the room. */
const LANE_HEIGHT = 10;
/** Lanes that are drawn below a thread's state: deeper ones are seen in the detail of a task. */
const MOST_LANES = 6;

/** A band in its place, px from the top of the first. */
export interface BandRow {
  band: Band;
  top: number;
  height: number;
  pinned: boolean;
  expanded: boolean;
  /** Lanes of tasks that it shows. */
  lanes: number;
  /** Height of its state and samples; the lanes are below. */
  stateHeight: number;
}

/** Lanes of a band that are drawn when it is expanded. */
export function lanesOf(band: Band): number {
  return Math.min(band.lanes ?? 0, MOST_LANES);
}

/** A band without a state of its own is all lanes. */
export function heightsOf(band: Band, expanded: boolean): Pick<BandRow, 'height' | 'lanes' | 'stateHeight'> {
  const lanes = lanesOf(band);
  if (band.state === false) {
    const height = Math.max(BAND_HEIGHT, lanes * LANE_HEIGHT + 2);
    return { height: expanded ? 2 * height : height, lanes, stateHeight: 0 };
  }
  if (!expanded) return { height: BAND_HEIGHT, lanes: 0, stateHeight: BAND_HEIGHT };
  if (lanes === 0) return { height: EXPANDED_HEIGHT, lanes: 0, stateHeight: EXPANDED_HEIGHT };
  const height = Math.max(EXPANDED_HEIGHT, BAND_HEIGHT + lanes * LANE_HEIGHT);
  return { height, lanes, stateHeight: BAND_HEIGHT };
}
