// Layout of the CPU-utilization and thread-concurrency histograms: a bar for each number of threads, class limits
// between them, the average and the target as lines.

import { CLASSES, type Class } from '../base/palette';
import type { Thresholds } from '../state/view-state';

export const DEFAULT_THRESHOLDS: Thresholds = { poor: 0.5, ok: 0.85, ideal: 1.15 };

/** The class of `running` threads, as crates/analyze/src/sweep.rs defines it. */
export function classOf(running: number, target: number, { poor, ok, ideal }: Thresholds): Class {
  const share = running / target;
  if (running === 0) return 'idle';
  if (share <= poor) return 'poor';
  if (share <= ok) return 'ok';
  return share <= ideal ? 'ideal' : 'over';
}

export interface HistogramBar {
  /** Number of threads; with `to` above `from`, several numbers share the bar. */
  from: number;
  to: number;
  ns: number;
  name: Class;
  x: number;
  width: number;
  /** Fraction of the plot's height. */
  height: number;
}

export interface ClassHistogram {
  bars: HistogramBar[];
  /** Numbers of threads per bar. */
  step: number;
  /** The place of a number of threads on the axis; a fraction lies between bars. */
  xOf(threads: number): number;
  threadsAt(x: number): number;
}

/**
 * Bars of `values` (entry i: ns at i threads) over `width` px. The axis includes the target and the highest number that
 * occurs; if more numbers occur than fit, neighbours share a bar.
 */
export function layoutHistogram(
  values: readonly number[],
  target: number,
  thresholds: Thresholds,
  width: number,
): ClassHistogram {
  const highest = Math.max(
    values.findLastIndex((ns) => ns > 0),
    Math.ceil(target * Math.min(thresholds.ideal, 2)),
    1,
  );
  const step = Math.max(1, Math.ceil((highest + 1) / Math.max(4, Math.floor(width / 9))));
  const count = Math.ceil((highest + 1) / step);
  const pitch = width / count;
  const sums = Array.from({ length: count }, (_, bar) =>
    values.slice(bar * step, (bar + 1) * step).reduce((sum, ns) => sum + ns, 0),
  );
  const most = Math.max(...sums, 1);
  const gap = Math.min(4, pitch * 0.15);
  const bars = sums.map((ns, bar) => ({
    from: bar * step,
    to: Math.min(highest, (bar + 1) * step - 1),
    ns,
    name: classOf(bar * step, target, thresholds),
    x: bar * pitch + gap / 2,
    width: pitch - gap,
    height: ns / most,
  }));
  return {
    bars,
    step,
    xOf: (threads) => ((threads + 0.5) / step) * pitch,
    threadsAt: (x) => (x / pitch) * step - 0.5,
  };
}

/**
 * The limits after the reader moved limit `which` to `threads`, the last number of the class. The limit becomes that
 * number over T; limits never cross.
 */
export function moveLimit(limits: Thresholds, which: keyof Thresholds, threads: number, target: number): Thresholds {
  const share = Math.max(0.5, Math.floor(threads + 0.5) + 0.25) / target;
  const rounded = Math.round(share * 1000) / 1000;
  switch (which) {
    case 'poor':
      return { ...limits, poor: Math.min(rounded, limits.ok) };
    case 'ok':
      return { ...limits, ok: Math.min(Math.max(rounded, limits.poor), limits.ideal) };
    case 'ideal':
      return { ...limits, ideal: Math.max(rounded, limits.ok) };
  }
}

/** Time average of the numbers of threads. */
export function average(values: readonly number[]): number {
  const total = values.reduce((sum, ns) => sum + ns, 0);
  return total === 0 ? 0 : values.reduce((sum, ns, threads) => sum + ns * threads, 0) / total;
}

/** Share of the time in each class. */
export function classShares(values: readonly number[], target: number, limits: Thresholds): [Class, number][] {
  const total = values.reduce((sum, ns) => sum + ns, 0);
  const sums = new Map<Class, number>(CLASSES.map((name) => [name, 0]));
  values.forEach((ns, threads) => {
    const name = classOf(threads, target, limits);
    sums.set(name, (sums.get(name) ?? 0) + ns);
  });
  return [...sums].map(([name, ns]) => [name, total === 0 ? 0 : ns / total]);
}
