// Layout of the histogram of wait lengths: a logarithmic axis; the number of waits upwards, their time downwards, each
// scaled to its own highest bar, so that many short waits and a few long ones are both visible.

import type { Histogram } from '../api/types';

export interface WaitBar {
  fromNs: number;
  toNs: number;
  count: number;
  totalNs: number;
  x: number;
  width: number;
  /** Parts of the highest bar upwards and downwards, 0 to 1. */
  up: number;
  down: number;
}

export interface WaitHistogram {
  bars: WaitBar[];
  /** Decades of the axis. */
  ticks: { ns: number; x: number }[];
  /**
   * Humps with a label, the largest by number or time first. A label that would overlap another one moves a line down, or
   * disappears if that line is taken too.
   */
  humps: { x: number; line: number; centreNs: number; count: number; totalNs: number }[];
  xOf(ns: number): number;
  nsAt(x: number): number;
}

/** Width of a hump's label, px. */
const NAME_PX = 132;

export function layoutWaits({ bins, humps }: Histogram, width: number): WaitHistogram {
  const used = bins.filter(({ count }) => count > 0);
  const first = Math.max(used[0]?.from_ns ?? 1e3, 1);
  const last = Math.max(used.at(-1)?.to_ns ?? 1e6, first * 2);
  // Half a bin of air on both sides, and at least a decade.
  const low = Math.log10(first) - 0.1;
  const high = Math.max(Math.log10(last) + 0.1, low + 1);
  const xOf = (ns: number) => ((Math.log10(Math.max(ns, 1)) - low) / (high - low)) * width;
  const nsAt = (x: number) => 10 ** (low + (x / width) * (high - low));
  const mostCount = Math.max(...used.map(({ count }) => count), 1);
  const mostTime = Math.max(...used.map(({ total_ns }) => total_ns), 1);
  const bars = used.map(({ from_ns: fromNs, to_ns: toNs, count, total_ns: totalNs }) => {
    const x = xOf(fromNs);
    return {
      fromNs,
      toNs,
      count,
      totalNs,
      x,
      width: Math.max(xOf(toNs) - x - 0.5, 0.5),
      up: count / mostCount,
      down: totalNs / mostTime,
    };
  });
  const decades = Array.from(
    { length: Math.ceil(high) - Math.floor(low) + 1 },
    (_, at) => 10 ** (Math.floor(low) + at),
  );
  const ticks = decades.map((ns) => ({ ns, x: xOf(ns) })).filter(({ x }) => x >= 0 && x <= width);
  return { bars, ticks, humps: named(humps, xOf, width), xOf, nsAt };
}

function named(humps: Histogram['humps'], xOf: (ns: number) => number, width: number): WaitHistogram['humps'] {
  const placed: WaitHistogram['humps'] = [];
  const mostCount = Math.max(...humps.map(({ count }) => count), 1);
  const mostTime = Math.max(...humps.map(({ total_ns }) => total_ns), 1);
  const size = ({ count, total_ns }: Histogram['humps'][number]) => Math.max(count / mostCount, total_ns / mostTime);
  const order = [...humps].sort((a, b) => size(b) - size(a));
  for (const { centre_ns: centreNs, count, total_ns: totalNs } of order) {
    // A label stays within the chart.
    const x = Math.min(Math.max(xOf(centreNs), NAME_PX / 2), Math.max(width - NAME_PX / 2, NAME_PX / 2));
    const free = (line: number) => placed.every((other) => other.line !== line || Math.abs(other.x - x) >= NAME_PX);
    const line = [0, 1].find(free);
    if (line !== undefined) placed.push({ x, line, centreNs, count, totalNs });
  }
  return placed;
}

/** Number and time of the waits between two lengths, of the bins whose middle lies there. */
export function between(bars: readonly WaitBar[], fromNs: number, toNs: number): { count: number; totalNs: number } {
  const inside = bars.filter(({ fromNs: from, toNs: to }) => (from + to) / 2 >= fromNs && (from + to) / 2 < toNs);
  return {
    count: inside.reduce((sum, { count }) => sum + count, 0),
    totalNs: inside.reduce((sum, { totalNs }) => sum + totalNs, 0),
  };
}

/** Lower bars than this fraction of a hump's height are outside it. */
const FOOT = 0.1;

/** The lengths of a hump: its neighbouring bars above its foot, at most half the way to the next hump. */
export function humpRange({ bars, humps }: WaitHistogram, centreNs: number): { fromNs: number; toNs: number } | null {
  const others = humps.map(({ centreNs: other }) => other).filter((other) => other !== centreNs);
  const middle = (other: number) => Math.sqrt(other * centreNs);
  const low = Math.max(0, ...others.filter((other) => other < centreNs).map(middle));
  const high = Math.min(Number.POSITIVE_INFINITY, ...others.filter((other) => other > centreNs).map(middle));
  const near = bars.filter(({ fromNs, toNs }) => toNs > low && fromNs < high);
  const size = ({ up, down }: WaitBar) => Math.max(up, down);
  const top = near.findIndex(({ toNs }) => toNs > centreNs);
  const peak = near[top] ?? near.at(-1);
  if (!peak) return null;
  const belongs = (bar: WaitBar | undefined) => bar !== undefined && size(bar) >= FOOT * size(peak);
  let [first, last] = [near.indexOf(peak), near.indexOf(peak)];
  while (belongs(near[first - 1])) first -= 1;
  while (belongs(near[last + 1])) last += 1;
  const [from, to] = [near[first] ?? peak, near[last] ?? peak];
  return { fromNs: Math.round(from.fromNs), toNs: Math.round(to.toNs) };
}

/** The lengths that a brush from one x to another covers: whole bins. */
export function brushed(layout: WaitHistogram, from: number, to: number): { fromNs: number; toNs: number } | null {
  const [left, right] = from < to ? [from, to] : [to, from];
  const hit = layout.bars.filter((bar) => bar.x + bar.width > left && bar.x < right);
  const [first, last] = [hit[0], hit.at(-1)];
  return first && last ? { fromNs: Math.round(first.fromNs), toNs: Math.round(last.toNs) } : null;
}

/** These lengths as a value of the filter `wait-length`, in whole microseconds if they are long enough. */
export function lengthFilter({ fromNs, toNs }: { fromNs: number; toNs: number }): string {
  const exact = fromNs < 1e5;
  return exact ? `${fromNs}-${toNs}` : `${Math.floor(fromNs / 1e3)}us-${Math.ceil(toNs / 1e3)}us`;
}
