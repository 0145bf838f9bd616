// Layout of the charts of interval lengths: percentiles as in HdrHistogram, and each interval over time.

import type { Info, LatencyPane } from '../api/types';
import type { ViewState } from '../state/view-state';
import { around } from './sockets';
import type { Parts } from './values';

/** An axis of decades: the place of a length, and the labels. */
export interface LengthAxis {
  y(ns: number): number;
  ticks: { ns: number; y: number }[];
}

/** Logarithmic, from the shortest at the bottom to the longest at the top. */
export function lengthAxis(shortest: number, longest: number, top: number, bottom: number): LengthAxis {
  const low = Math.log10(Math.max(shortest, 1)) - 0.05;
  const high = Math.max(Math.log10(Math.max(longest, 1)) + 0.05, low + 0.5);
  const y = (ns: number) => bottom - ((Math.log10(Math.max(ns, 1)) - low) / (high - low)) * (bottom - top);
  const decades = Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, at) => 10 ** (Math.ceil(low) + at));
  return { y, ticks: decades.map((ns) => ({ ns, y: y(ns) })) };
}

export interface PercentileCurve {
  path: string;
  axis: LengthAxis;
  /** 0 %, 90 %, 99 %, … as far as the number of intervals allows. */
  ticks: { label: string; x: number }[];
  x(part: number): number;
}

/** A logarithmic axis of the share above a percentile: each nine has the same width. */
export function percentileCurve(
  { percentiles, count }: Pick<LatencyPane, 'percentiles' | 'count'>,
  { width, top, bottom }: { width: number; top: number; bottom: number },
): PercentileCurve {
  const nines = Math.max(1, Math.log10(Math.max(count, 10)));
  const x = (part: number) => (Math.min(nines, -Math.log10(Math.max(1 - part, 1e-15))) / nines) * width;
  const lengths = percentiles.map(([, ns]) => ns);
  const axis = lengthAxis(lengths[0] ?? 1, lengths.at(-1) ?? 1, top, bottom);
  const points = percentiles.map(([part, ns]) => `${x(part).toFixed(1)} ${axis.y(ns).toFixed(1)}`);
  const whole = Array.from({ length: Math.floor(nines) }, (_, at) => at + 1);
  const label = (nine: number) => (nine === 1 ? '90 %' : `99${nine > 2 ? `.${'9'.repeat(nine - 2)}` : ''} %`);
  const ticks = [{ label: '0 %', x: 0 }, ...whole.map((nine) => ({ label: label(nine), x: x(1 - 10 ** -nine) }))];
  return { path: points.length > 0 ? `M${points.join('L')}` : '', axis, ticks, x };
}

/** Times by cause, from the column `causes` of the report `latency`. */
export function causeParts(causes: unknown, unexplainedNs: number): Parts {
  const known = typeof causes === 'object' && causes !== null ? Object.entries(causes) : [];
  const parts = Object.fromEntries(known.map(([cause, did]) => [cause, Number(did?.total_ns ?? 0)]));
  return unexplainedNs > 0 ? { ...parts, unexplained: unexplainedNs } : parts;
}

/** The times, the largest first. */
export function ordered(parts: Parts): Parts {
  return Object.fromEntries(Object.entries(parts).sort(([, a], [, b]) => b - a));
}

/** The timeline at an outlier, with its thread picked at its start. */
export function showOutlier(
  state: ViewState,
  outlier: LatencyPane['outliers'][number],
  { elapsed_ns }: Info,
): ViewState {
  const { thread, start_ns: startNs, length_ns: waitNs } = outlier;
  const zoom = around({ startNs, waitNs }, elapsed_ns);
  return { ...state, tab: 'platform', bands: 'thread', zoom, picked: { thread, at: startNs }, task: null };
}
