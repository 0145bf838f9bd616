// One band of the timeline: its row on the screen, its height, and its lanes of tasks.

import type { Bands } from '../../api/types';

/** A band; `state` is false when it shows only tasks. */
export type Band = Bands['bands'][number] & { state?: boolean };

export const BAND_HEIGHT = 20;
export const EXPANDED_HEIGHT = 40;
/** A lane's height, px; in a band of tasks, lanes share the height. */
const LANE_HEIGHT = 10;
/** The most lanes below a thread's state; the detail of a task shows deeper ones. */
const MOST_LANES = 6;

/** A band in its place, px from the top of the first. */
export interface BandRow {
  band: Band;
  top: number;
  height: number;
  pinned: boolean;
  expanded: boolean;
  /** Number of visible lanes of tasks. */
  lanes: number;
  /** Height of its state and samples; the lanes are below. */
  stateHeight: number;
}

/** Number of lanes that an expanded band shows. */
export function lanesOf(band: Band): number {
  return Math.min(band.lanes ?? 0, MOST_LANES);
}

/** The height and lanes of a band; a band without a state consists of lanes. */
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
