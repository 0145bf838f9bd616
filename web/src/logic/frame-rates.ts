// The histogram of frame rates in the report `frames`: its slow, good and fast bars.

import type { Class } from '../base/palette';

export interface RateBin {
  from_rate: number;
  to_rate: number;
  count: number;
}

export type Speed = 'slow' | 'good' | 'fast';

/** The colours of the utilization classes mean the same here: too low, ideal, more than needed. */
export const SPEED_CLASSES: Record<Speed, Class> = { slow: 'poor', good: 'ideal', fast: 'over' };

export interface RateBar extends RateBin {
  speed: Speed;
  /** Fraction of the highest bar. */
  height: number;
}

/** The bars in order of rate: slow ones first, fast ones last, by the counts of the report. */
export function rateBars(bins: readonly RateBin[], counts: Record<Speed, number>): RateBar[] {
  const most = Math.max(...bins.map(({ count }) => count), 1);
  let before = 0;
  return [...bins]
    .sort((a, b) => a.from_rate - b.from_rate)
    .map((bin) => {
      const middle = before + bin.count / 2;
      before += bin.count;
      const speed = middle < counts.slow ? 'slow' : middle <= counts.slow + counts.good ? 'good' : 'fast';
      return { ...bin, speed, height: bin.count / most };
    });
}
